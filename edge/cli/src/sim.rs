// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut sim`: seeded runs of a plan in virtual time, beside its bounds.

use std::io::{IsTerminal, Write};
use std::time::{Duration as Wall, Instant as WallInstant};

use taut_model::{Model, TaskSet};
use taut_plan::{ClassPlan, Locking, Plan, Scheduler};
use taut_sim::{CoreRule, End, GlobalRule, Rules, Scenario, Simulation, TaskOutcome};
use taut_time::Duration;

use crate::arguments::{Format, Screen, Sim};
use crate::input::Files;
use crate::outcome::{Failure, Outcome};

pub(crate) fn sim(arguments: &Sim, screen: &Screen) -> Result<Outcome, Failure> {
    let text = Files::find(&arguments.manifest)?.load()?;
    let Some(model) = text.model() else {
        text.show(None, screen);
        return Ok(Outcome::Usage);
    };
    let planned = text.plan(model);
    let plan = &planned.plan;
    let set = set(model)?;
    let rules = rules(plan, &set);
    let mut simulation = Simulation::new(&set, &rules)
        .map_err(|fault| Failure::Usage(format!("this cannot be simulated: {fault}")))?;
    let mut seen = vec![TaskOutcome::default(); set.tasks().len()];
    let mut events = 0u64;
    let begun = WallInstant::now();
    let mut told = begun;
    for run in 0..=arguments.runs {
        // The first is the worst for tasks that share nothing; the others are random.
        let scenario = match run {
            0 => Scenario::worst(arguments.duration),
            _ => Scenario::random(arguments.duration, arguments.seed.wrapping_add(run.into())),
        };
        let outcome = simulation
            .run(&scenario, &mut ())
            .map_err(|fault| Failure::Usage(format!("this cannot be simulated: {fault}")))?;
        if outcome.end != End::Complete {
            return Err(Failure::Internal(format!("run {run} ended with {:?}", outcome.end)));
        }
        events += outcome.events;
        outcome.tasks.iter().zip(&mut seen).for_each(|(found, seen)| join(seen, found));
        if std::io::stderr().is_terminal() && told.elapsed() > Wall::from_millis(200) {
            told = WallInstant::now();
            eprint!("\r{run} of {} runs, {events} events", arguments.runs);
            let _ = std::io::stderr().flush();
        }
    }
    if told != begun {
        eprintln!();
    }
    let rows: Vec<Row<'_>> =
        set.tasks().iter().zip(&seen).map(|(task, seen)| row(plan, &task.name, seen)).collect();
    let exceeded = rows.iter().any(Row::exceeds);
    let missed = rows.iter().any(|row| row.seen.missed > 0 || row.seen.dropped > 0);
    match arguments.format {
        Format::Human => print!("{}", table(plan, arguments, events, &rows)),
        Format::Json => println!("{:#}", json(plan, arguments, events, &rows)),
    }
    if exceeded {
        eprintln!(
            "a simulated response is longer than its bound: please report this, with the manifest and the seed"
        );
        return Ok(Outcome::Internal);
    }
    Ok(if missed { Outcome::No } else { Outcome::Yes })
}

/// The tasks of a model that has some.
pub(crate) fn set(model: &Model) -> Result<TaskSet, Failure> {
    let set = Plan::task_set(model).map_err(|faults| {
        let fault = faults.first().map(|fault| fault.what.to_string());
        Failure::Usage(format!("this cannot be simulated: {}", fault.unwrap_or_default()))
    })?;
    if set.tasks().is_empty() {
        return Err(Failure::Usage("there is no real-time task to simulate".into()));
    }
    Ok(set)
}

/// The locking rules of a plan.
pub(crate) fn rules(plan: &Plan, set: &TaskSet) -> Rules {
    let mut rules = Rules::of(set, GlobalRule::Msrp);
    for (rule, resource) in rules.resources.iter_mut().zip(&plan.resources) {
        *rule = match resource.protocol {
            Locking::Mpcp => GlobalRule::Mpcp,
            Locking::FmlpPlus => GlobalRule::FmlpLong,
            Locking::Msrp | Locking::Srp | Locking::Dfp => GlobalRule::Msrp,
        };
    }
    // A floor goes for a whole core: where one is asked for, on all.
    if plan.resources.iter().any(|resource| resource.protocol == Locking::Dfp) {
        for (rule, core) in rules.cores.iter_mut().zip(&plan.cores) {
            if core.scheduler == Scheduler::Edf {
                *rule = CoreRule::Dfp { jitter: None };
            }
        }
    }
    rules
}

fn join(seen: &mut TaskOutcome, found: &TaskOutcome) {
    seen.released += found.released;
    seen.completed += found.completed;
    seen.missed += found.missed;
    seen.dropped += found.dropped;
    seen.response_max = seen.response_max.max(found.response_max);
    seen.from_release_max = seen.from_release_max.max(found.from_release_max);
}

/// A task's figures.
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
}

fn row<'p>(plan: &'p Plan, name: &str, seen: &TaskOutcome) -> Row<'p> {
    let task = plan.task(name).map(|at| &plan.tasks[at]);
    let class = task.map(|task| &task.class);
    let (deadline, bound) = match class {
        Some(ClassPlan::RealTime { deadline, response, .. }) => (*deadline, *response),
        _ => (Duration::MAX, None),
    };
    Row { name: task.map_or("", |task| &task.name), deadline, bound, seen: *seen }
}

fn table(plan: &Plan, arguments: &Sim, events: u64, rows: &[Row<'_>]) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    let mut line = |arguments: std::fmt::Arguments<'_>| {
        let _ = writeln!(text, "{arguments}");
    };
    let runs = u64::from(arguments.runs) + 1;
    line(format_args!(
        "{}: {runs} runs of {}, {events} events, seed {}",
        plan.app, arguments.duration, arguments.seed
    ));
    line(format_args!(
        "  {:<16} {:>12} {:>12} {:>12} {:>10} {:>8}",
        "task", "simulated", "bound", "deadline", "jobs", "missed"
    ));
    for row in rows {
        let bound = row.bound.map_or_else(|| "-".to_owned(), |bound| bound.to_string());
        let missed = row.seen.missed + row.seen.dropped;
        line(format_args!(
            "  {:<16} {:>12} {bound:>12} {:>12} {:>10} {missed:>8}",
            row.name, row.seen.response_max, row.deadline, row.seen.completed
        ));
    }
    line(format_args!(
        "simulated: the longest of these runs, from arrival; a bound may be longer, never shorter"
    ));
    text
}

fn json(plan: &Plan, arguments: &Sim, events: u64, rows: &[Row<'_>]) -> serde_json::Value {
    let task = |row: &Row<'_>| {
        serde_json::json!({
            "name": row.name,
            "simulated_ns": row.seen.response_max.as_ns(),
            "bound_ns": row.bound.map(Duration::as_ns),
            "deadline_ns": row.deadline.as_ns(),
            "jobs": row.seen.completed,
            "missed": row.seen.missed + row.seen.dropped,
        })
    };
    serde_json::json!({
        "schema_version": 1,
        "app": plan.app,
        "runs": u64::from(arguments.runs) + 1,
        "horizon_ns": arguments.duration.as_ns(),
        "seed": arguments.seed,
        "events": events,
        "tasks": rows.iter().map(task).collect::<Vec<_>>(),
    })
}
