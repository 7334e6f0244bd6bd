// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut sim`: seeded runs of a plan in virtual time, compared with its bounds.

use taut_model::TaskSet;
use taut_plan::{ClassPlan, Plan};
use taut_sim::planned::{limits, rules};
use taut_sim::{Limit, Rules, RunEnd, Scenario, SimEvent, SimEventKind, Simulation, TaskOutcome};
use taut_time::Duration;

use crate::arguments::{Format, Screen, Sim};
use crate::attend::Attendant;
use crate::columns::{columns, micros, share};
use crate::input::Files;
use crate::outcome::{Failure, Outcome};
use crate::say::{errln, out, outln};
use crate::task_set::{executions, in_mode, set};
use crate::trace::{self, Shown, Trace};

pub(crate) fn sim(arguments: &Sim, screen: &Screen) -> Result<Outcome, Failure> {
    let text = Files::find(&arguments.manifest)?.load()?;
    let Some(model) = text.model() else {
        text.show(None, screen);
        return Ok(Outcome::Usage);
    };
    if arguments.duration.is_zero() {
        return Err(Failure::Usage("--for 0s: the run needs a duration above 0".into()));
    }
    arguments.trace.as_deref().map_or(Ok(()), trace::writable)?;
    let planned = text.plan(model)?;
    let plan = &planned.plan;
    let set = set(in_mode(&planned, arguments.mode.as_deref())?)?;
    bearable(arguments, &set)?;
    let rules = rules(&planned.plan, &set);
    let recorded = arguments.like.as_deref().map_or(Ok(Vec::new()), |path| executions(path, &set))?;
    let scenario = |run: u32| Scenario { executions: recorded.clone(), ..scenario(arguments, run) };
    let limits = limits(&planned.plan, &set);
    let mut simulation = Simulation::new(&set, &rules).map_err(cannot)?;
    if !limits.is_empty() {
        simulation = simulation.limited(&limits).map_err(cannot)?;
    }
    let mut seen = Seen::new(plan, &set);
    simulate(&mut simulation, &scenario, &mut seen, arguments.runs, screen)?;
    let interrupted = seen.runs <= u64::from(arguments.runs);
    let shown = match (&arguments.trace, &seen.nearest) {
        (Some(path), Some(nearest)) => Some((
            path,
            show(
                arguments,
                plan,
                (&set, &rules, &limits),
                &mut simulation,
                &scenario(nearest.run),
                &seen,
                nearest,
            )?,
        )),
        _ => None,
    };
    let json_trace = shown.as_ref().map(|(path, trace)| trace.json(path));
    match arguments.format {
        Format::Human => {
            out!("{}", seen.text(plan, arguments, interrupted, shown.as_ref().map(|(_, trace)| trace)))
        }
        Format::Json => outln!("{:#}", seen.json(plan, arguments, interrupted, json_trace)),
    }
    if let Some((path, trace)) = &shown {
        trace::write(path, trace)?;
    }
    if seen.rows.iter().any(Row::exceeds) {
        errln!(
            "a simulated response is longer than its bound: please report this, with the manifest and the seed"
        );
        return Ok(Outcome::Internal);
    }
    Ok(trace::unless(interrupted, if seen.misses() { Outcome::No } else { Outcome::Yes }))
}

/// Simulates all runs, unless the user interrupts between two of them.
fn simulate(
    simulation: &mut Simulation,
    scenario: &dyn Fn(u32) -> Scenario,
    seen: &mut Seen<'_>,
    runs: u32,
    screen: &Screen,
) -> Result<(), Failure> {
    let mut attendant = Attendant::new(screen)?;
    for run in 0..=runs {
        let outcome = simulation.run(&scenario(run), &mut ()).map_err(cannot)?;
        if outcome.end != RunEnd::Complete {
            return Err(Failure::Internal(format!("run {run} ended with {:?}", outcome.end)));
        }
        seen.add(run, outcome.events, &outcome.tasks);
        if attendant.interrupted() {
            break;
        }
        attendant.report(|| format!("{run} of {runs} runs, {} events", seen.events));
    }
    attendant.done();
    Ok(())
}

/// The most arrivals in a run, which take some seconds: an interrupt is noticed only between runs.
const ARRIVALS_MAX: u128 = 50_000_000;

/// Checks that a run ends soon; if not, the error names the most frequent task and a duration that is short enough.
fn bearable(arguments: &Sim, set: &TaskSet) -> Result<(), Failure> {
    let arrivals = |time: Duration, period: Duration| u128::from(time.div_ceil(period).unwrap_or(u64::MAX));
    let all = |time: Duration| set.tasks().iter().map(|task| arrivals(time, task.period)).sum::<u128>();
    if all(arguments.duration) <= ARRIVALS_MAX {
        return Ok(());
    }
    let shorter = (0..64).map(|halved| Duration::from_ns(arguments.duration.as_ns() >> halved));
    let enough = shorter.into_iter().find(|&time| all(time) <= ARRIVALS_MAX).unwrap_or(Duration::from_ns(1));
    // Rounded down to one digit and zeros.
    let round = 10u64.pow(enough.as_ns().max(1).ilog10());
    let enough = Duration::from_ns(enough.as_ns() / round * round);
    let most = set.tasks().iter().min_by_key(|task| task.period);
    let most = most.map_or_else(String::new, |task| {
        let count = arrivals(arguments.duration, task.period);
        format!(", {count} of them of `{}`, one every {}", task.name, task.period)
    });
    Err(Failure::Usage(format!(
        "more than {ARRIVALS_MAX} arrivals in a run of {}{most}: use a shorter duration, as in `--for \
         {enough}`",
        arguments.duration
    )))
}

fn cannot(fault: taut_sim::RulesFault) -> Failure {
    Failure::Usage(format!("this cannot be simulated: {fault}"))
}

/// Run 0 is the worst case for tasks that share nothing; the others are random.
fn scenario(arguments: &Sim, run: u32) -> Scenario {
    match run {
        0 => Scenario::worst(arguments.duration),
        _ => Scenario::random(arguments.duration, arguments.seed.wrapping_add(run.into())),
    }
}

/// Repeats the run that came nearest to a bound, as a trace.
fn show(
    arguments: &Sim,
    plan: &Plan,
    (set, rules, limits): (&TaskSet, &Rules, &[(usize, Limit)]),
    simulation: &mut Simulation,
    scenario: &Scenario,
    seen: &Seen<'_>,
    nearest: &Nearest,
) -> Result<Trace, Failure> {
    let mut job = None;
    let mut look = |event: SimEvent| {
        if event.task == nearest.task && event.kind == (SimEventKind::Complete { response: nearest.response })
        {
            job.get_or_insert(event.job);
        }
    };
    simulation.run(scenario, &mut look).map_err(cannot)?;
    let bounds: Vec<_> = seen.rows.iter().map(|row| row.bound).collect();
    Trace::make(&Shown {
        plan,
        set,
        rules,
        limits,
        scenario,
        bounds: &bounds,
        task: nearest.task,
        job: job.unwrap_or(0),
        title: "longest simulated response",
        most: arguments.trace_for,
    })
}

/// Tasks with a deadline that run in a server, and that server.
fn unseen(plan: &Plan) -> impl Iterator<Item = (&str, &str)> {
    let members =
        plan.servers.iter().flat_map(|server| server.tasks.iter().map(|task| (task.as_str(), &*server.name)));
    members.filter(|(name, _)| {
        plan.task(name).is_some_and(|at| matches!(plan.tasks[at].class, ClassPlan::RealTime { .. }))
    })
}

/// The results of all runs.
struct Seen<'p> {
    rows: Vec<Row<'p>>,
    runs: u64,
    events: u64,
    nearest: Option<Nearest>,
}

/// The response that came nearest to its bound, or to its deadline if there is no bound.
struct Nearest {
    run: u32,
    task: usize,
    response: Duration,
    /// The response as a share of the bound or deadline, in millionths.
    share: u128,
}

/// The figures of a task.
struct Row<'p> {
    name: &'p str,
    deadline: Duration,
    bound: Option<Duration>,
    seen: TaskOutcome,
}

impl Row<'_> {
    fn exceeds(&self) -> bool {
        self.bound.is_some_and(|bound| self.seen.response_max > bound)
    }

    fn missed(&self) -> u64 {
        self.seen.missed + self.seen.dropped + self.seen.killed
    }

    /// What a line of the table says.
    fn cells(&self) -> [String; 7] {
        [
            self.name.to_owned(),
            micros(Some(self.seen.response_max)),
            micros(self.bound),
            share(self.permille()),
            micros(Some(self.deadline)),
            self.seen.completed.to_string(),
            self.missed().to_string(),
        ]
    }

    /// The longest response as a share of the bound, in thousandths.
    fn permille(&self) -> Option<u64> {
        let bound = self.bound?.as_ns().max(1);
        let share = u128::from(self.seen.response_max.as_ns()) * 1000 / u128::from(bound);
        Some(u64::try_from(share).unwrap_or(u64::MAX))
    }
}

fn row<'p>(plan: &'p Plan, name: &str) -> Row<'p> {
    let task = plan.task(name).map(|at| &plan.tasks[at]);
    let (deadline, bound) = match task.map(|task| &task.class) {
        Some(ClassPlan::RealTime { deadline, response, .. }) => (*deadline, *response),
        _ => (Duration::MAX, None),
    };
    Row { name: task.map_or("", |task| &task.name), deadline, bound, seen: TaskOutcome::default() }
}

impl<'p> Seen<'p> {
    /// Before the first run. Servers have no row: they come last in the set, where each stands for a task that uses
    /// all of its budget.
    fn new(plan: &'p Plan, set: &TaskSet) -> Self {
        let tasks = set.tasks().iter().filter(|task| plan.task(&task.name).is_some());
        let rows = tasks.map(|task| row(plan, &task.name)).collect();
        Self { rows, runs: 0, events: 0, nearest: None }
    }

    fn misses(&self) -> bool {
        self.rows.iter().any(|row| row.missed() > 0)
    }

    fn add(&mut self, run: u32, events: u64, tasks: &[TaskOutcome]) {
        self.runs += 1;
        self.events += events;
        for (task, (row, found)) in self.rows.iter_mut().zip(tasks).enumerate() {
            let seen = &mut row.seen;
            seen.released += found.released;
            seen.completed += found.completed;
            seen.missed += found.missed;
            seen.dropped += found.dropped;
            seen.killed += found.killed;
            seen.response_max = seen.response_max.max(found.response_max);
            seen.from_release_max = seen.from_release_max.max(found.from_release_max);
            let limit = row.bound.unwrap_or(row.deadline).as_ns().max(1);
            let response = found.response_max;
            let share = u128::from(response.as_ns()) * 1_000_000 / u128::from(limit);
            if found.completed > 0 && self.nearest.as_ref().is_none_or(|nearest| share > nearest.share) {
                self.nearest = Some(Nearest { run, task, response, share });
            }
        }
    }

    fn verdict(&self) -> String {
        let missed = self.rows.iter().filter(|row| row.missed() > 0);
        let missed: Vec<String> = missed.map(|row| format!("{} by `{}`", row.missed(), row.name)).collect();
        if missed.is_empty() {
            "no deadline missed".to_owned()
        } else {
            format!("deadlines missed: {}", missed.join(", "))
        }
    }

    fn text(&self, plan: &Plan, arguments: &Sim, interrupted: bool, trace: Option<&Trace>) -> String {
        use std::fmt::Write;
        let mut text = String::new();
        let _ = writeln!(
            text,
            "{}: {}; {}{} runs of {} in virtual time, seed {}",
            plan.app,
            self.verdict(),
            if interrupted { "interrupted after " } else { "" },
            self.runs,
            arguments.duration,
            arguments.seed
        );
        let rows: Vec<[String; 7]> = self.rows.iter().map(Row::cells).collect();
        text += &columns(["task", "simulated", "bound", "of bound", "deadline", "jobs", "missed"], &rows);
        text += "times in µs from arrival; simulated: the longest of these runs; a bound may be longer, never shorter\n";
        if let Some(run) = &arguments.like {
            let _ = writeln!(text, "jobs executed as long as in the run recorded in {}", run.display());
        }
        if self.rows.iter().any(|row| row.bound.is_none()) {
            text += "-: no bound is proven; `taut check` says why\n";
        }
        for (task, server) in unseen(plan) {
            let _ = writeln!(
                text,
                "not simulated: `{task}`; its server `{server}` is simulated, and uses all of its budgets"
            );
        }
        if let Some(nearest) = &self.nearest {
            let row = &self.rows[nearest.task];
            let limit = if row.bound.is_some() { "bound" } else { "deadline" };
            let near = share(u64::try_from(nearest.share / 1000).ok());
            let end = trace.map_or_else(
                || "; `--trace FILE` shows it".to_owned(),
                |trace| format!("\ntrace: {}", trace.extent()),
            );
            let _ = writeln!(
                text,
                "nearest: `{}` with {} in run {}, {near} of its {limit}{end}",
                row.name, nearest.response, nearest.run
            );
        }
        text
    }

    fn json(
        &self,
        plan: &Plan,
        arguments: &Sim,
        interrupted: bool,
        trace: Option<serde_json::Value>,
    ) -> serde_json::Value {
        let task = |row: &Row<'_>| {
            serde_json::json!({
                "name": row.name,
                "simulated_ns": row.seen.response_max.as_ns(),
                "bound_ns": row.bound.map(Duration::as_ns),
                "deadline_ns": row.deadline.as_ns(),
                "jobs": row.seen.completed,
                "missed": row.missed(),
            })
        };
        let nearest = self.nearest.as_ref().map(|nearest| {
            serde_json::json!({
                "run": nearest.run,
                "task": self.rows[nearest.task].name,
                "response_ns": nearest.response.as_ns(),
            })
        });
        serde_json::json!({
            "schema_version": 1,
            "app": plan.app,
            "runs": self.runs,
            "horizon_ns": arguments.duration.as_ns(),
            "seed": arguments.seed,
            "like": arguments.like,
            "interrupted": interrupted,
            "events": self.events,
            "tasks": self.rows.iter().map(task).collect::<Vec<_>>(),
            "nearest": nearest,
            "not_simulated": unseen(plan).map(|(task, _)| task).collect::<Vec<_>>(),
            "trace": trace,
        })
    }
}
