// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Modes: each is proven by itself, and each change between them; and random systems that change modes in virtual time.

mod drafts;
mod systems;

use drafts::{Edit, model, plan, shown, state};
use systems::{Numbers, rules, s, share, system, task};
use taut_model::{
    BestEffort, ClassDraft, Draft, ModeDraft, Overrun, SchedulingPolicy, SectionDraft, ServiceDraft,
    ServiceStart, Shared, Size, TaskDraft,
};
use taut_plan::{ClassPlan, Plan, explain_mode};
use taut_planner::Planned;
use taut_sim::{Jitter, Placement, RunEnd, Scenario, SimEvent, SimEventKind, Simulation, Sink};
use taut_time::Duration;

fn service(name: &str) -> ServiceDraft {
    ServiceDraft { name: name.into(), persistent: Size::ZERO, start: ServiceStart::Boot, on_failure: None }
}

fn mode(name: &str, services: &[&str]) -> ModeDraft {
    ModeDraft { name: name.into(), services: services.iter().map(|name| (*name).to_owned()).collect() }
}

fn of(service: &str, mut task: TaskDraft) -> TaskDraft {
    task.service = Some(service.into());
    task
}

/// Services `x` and `y`, modes `first` with the one and `second` with the other.
fn in_turns(scheduler: SchedulingPolicy, tasks: Vec<TaskDraft>) -> Draft {
    let mut draft = system(1, scheduler, tasks);
    draft.services = vec![service("x"), service("y")];
    draft.modes = vec![mode("first", &["x"]), mode("second", &["y"])];
    draft
}

fn response(plan: &Plan, task: &str) -> Option<Duration> {
    match &plan.tasks[plan.task(task).expect("a task")].class {
        ClassPlan::RealTime { response, .. } => *response,
        ClassPlan::BestEffort {} => None,
    }
}

fn sum(a: Duration, b: Duration) -> Duration {
    a.checked_add(b).expect("small")
}

const POLICIES: [SchedulingPolicy; 2] = [SchedulingPolicy::FixedPriority, SchedulingPolicy::Edf];

/// 60 % in each mode, 110 % in all: proven with modes, and not without them, nor if one mode has both.
#[test]
fn what_fits_in_each_mode_alone_is_proven() {
    for scheduler in POLICIES {
        let tasks = vec![
            of("x", task(0, 0, 5, 10, 10, 0)),
            of("y", task(1, 0, 10, 20, 20, 0)),
            task(2, 0, 1, 10, 10, 0),
        ];
        let mut draft = in_turns(scheduler, tasks);
        let planned = plan(&draft);
        assert!(planned.plan.proven, "{}", shown(&planned.faults));
        assert_eq!((planned.faults.len(), planned.modes.len()), (0, 2));
        assert_eq!(planned.plan.first_mode.as_deref(), Some("first"));
        for mode in &planned.plan.modes {
            // The probe takes a part, too.
            assert!((600_000..620_000).contains(&mode.utilisation_ppm[0]), "{mode:?}");
        }
        assert!((600_000..620_000).contains(&planned.plan.cores[0].utilisation_ppm));
        draft.modes[1].services.push("x".into());
        let planned = plan(&draft);
        assert!(!planned.plan.proven);
        assert!(shown(&planned.faults).contains("in mode `second`, "), "{}", shown(&planned.faults));
        assert!(!shown(&planned.faults).contains("in mode `first`, "), "{}", shown(&planned.faults));
        draft.modes.clear();
        assert!(!plan(&draft).plan.proven);
    }
}

/// The bound of a task is that of the mode in which it is largest, and each mode has its own.
#[test]
fn bounds_are_those_of_the_modes() {
    let tasks =
        vec![of("x", task(0, 0, 2, 10, 10, 0)), of("y", task(1, 0, 3, 15, 15, 0)), task(2, 0, 1, 30, 30, 0)];
    let plan = plan(&in_turns(SchedulingPolicy::FixedPriority, tasks)).plan;
    let at = |mode: usize, task: &str| {
        let found = plan.modes[mode].bounds.iter().find(|bound| bound.task == task);
        found.map(|bound| bound.response.expect("proven").as_ns() / 1_000_000_000)
    };
    assert_eq!([at(0, "t0"), at(0, "t1"), at(0, "t2")], [Some(2), None, Some(3)]);
    assert_eq!([at(1, "t0"), at(1, "t1"), at(1, "t2")], [None, Some(3), Some(4)]);
    let whole = plan.modes[1].bounds.iter().find(|bound| bound.task == "t2").and_then(|bound| bound.response);
    assert_eq!(response(&plan, "t2"), whole);
    let text = explain_mode(&plan, "second").expect("a mode");
    assert!(text.contains("  t1  responds within ") && !text.contains("t0"), "{text}");
}

/// stop: a period and the bound; idle: the busy period of the old mode; start: a period and the bound.
#[test]
fn changes_have_bounds() {
    let tasks = vec![
        of("x", task(0, 0, 2, 10, 10, 0)),
        of("x", task(1, 0, 3, 20, 20, 0)),
        of("y", task(2, 0, 4, 25, 25, 0)),
        task(3, 0, 1, 30, 30, 0),
    ];
    let mut draft = in_turns(SchedulingPolicy::FixedPriority, tasks);
    draft.modes.push(mode("none", &[]));
    let plan = plan(&draft).plan;
    assert!(plan.proven);
    // The probe takes a percent.
    let near = |time: Duration, seconds: u64| {
        (s(seconds)..sum(s(seconds), Duration::from_ms(seconds * 20))).contains(&time)
    };
    let change = |from: usize, to: usize| plan.change(from, to).expect("a change");
    let first = change(0, 1);
    assert!(
        near(first.stop, 25) && near(first.idle.expect("a bound"), 6) && near(first.start, 29),
        "{first:?}"
    );
    assert!(near(first.latency().expect("a bound"), 60));
    let back = change(1, 0);
    assert!(near(back.stop, 29) && near(back.idle.expect("a bound"), 5) && near(back.start, 25), "{back:?}");
    // Nothing starts, or nothing stops: nothing waits.
    let (away, again) = (change(0, 2), change(2, 0));
    assert!(near(away.stop, 25) && near(again.start, 25), "{away:?} {again:?}");
    assert_eq!((away.idle, away.start), (Some(Duration::ZERO), Duration::ZERO));
    assert_eq!((again.idle, again.stop), (Some(Duration::ZERO), Duration::ZERO));
    assert_eq!(plan.changes.len(), 6);
}

/// A change waits only for cores on which tasks both stop and start.
#[test]
fn a_change_waits_where_tasks_stop_and_start() {
    let tasks = vec![of("x", task(0, 0, 2, 10, 10, 0)), of("y", task(1, 1, 3, 10, 10, 0))];
    let mut draft = in_turns(SchedulingPolicy::FixedPriority, tasks);
    draft.platform.cores = vec![0, 1];
    let plan = plan(&draft).plan;
    assert_eq!(plan.change(0, 1).and_then(|change| change.idle), Some(Duration::ZERO));
}

/// A resource keeps its ceiling in a mode in which its most urgent user is idle: others wait for its sections there.
#[test]
fn ceilings_are_those_of_all_modes() {
    for scheduler in POLICIES {
        let locks = |task: TaskDraft, longest: u64| {
            task.with(|task| {
                task.sections.push(SectionDraft { resource: "r".into(), longest: s(longest), count: 1 });
            })
        };
        let tasks = vec![
            of("y", locks(task(0, 0, 1, 10, 10, 0), 1)),
            task(1, 0, 1, 20, 20, 0),
            locks(task(2, 0, 5, 40, 40, 0), 4),
        ];
        let mut draft = in_turns(scheduler, tasks);
        draft.resources = vec![Shared { name: "r".into(), protocol: None }];
        let with = plan(&draft).plan;
        assert!(with.proven);
        // Without the user of the other mode, nothing keeps `t1` from its processor.
        draft.tasks.remove(0);
        let without = plan(&draft).plan;
        let in_first = |plan: &Plan| {
            let bound = plan.modes[0].bounds.iter().find(|bound| bound.task == "t1");
            bound.and_then(|bound| bound.response).expect("proven")
        };
        let more = in_first(&with).saturating_sub(in_first(&without));
        assert!(more >= s(4), "{scheduler:?}: {} and {}", in_first(&with), in_first(&without));
    }
}

/// Where jobs of one core wait for another, or a server serves a task over many busy periods, all must fit together.
#[test]
fn what_connects_cores_is_proven_together() {
    let two = |resource: bool| {
        let lock = |task: TaskDraft| {
            task.with(|task| {
                if resource {
                    task.sections.push(SectionDraft { resource: "r".into(), longest: s(1), count: 1 });
                }
            })
        };
        let tasks = vec![
            of("x", lock(task(0, 0, 6, 10, 10, 0))),
            of("y", task(1, 0, 6, 10, 10, 0)),
            lock(task(2, 1, 1, 10, 10, 0)),
        ];
        let mut draft = in_turns(SchedulingPolicy::FixedPriority, tasks);
        draft.platform.cores = vec![0, 1];
        if resource {
            draft.resources = vec![Shared { name: "r".into(), protocol: None }];
        }
        draft
    };
    assert!(plan(&two(false)).plan.proven);
    let planned = plan(&two(true));
    assert!(!planned.plan.proven && planned.modes.is_empty());
    assert_eq!(planned.plan.together.as_deref(), Some("tasks of several cores use `r`"));
    let mut light = two(true);
    for of in &mut light.tasks {
        drafts::real_time(of).wcet.value = s(1);
    }
    let planned = plan(&light);
    assert!(planned.plan.proven, "{}", shown(&planned.faults));
    assert!(planned.plan.changes.iter().all(|change| change.idle == Some(Duration::ZERO)));
    let lines = planned.plan.mode_lines().join("\n");
    assert!(lines.contains("all modes are proven as one: tasks of several cores use `r`"), "{lines}");

    let mut flows = in_turns(
        SchedulingPolicy::FixedPriority,
        vec![of("x", task(0, 0, 1, 10, 10, 0)), task(1, 0, 1, 10, 10, 0)],
    );
    let mut channel = state("x", "t0", "t1", "Sample");
    channel.flow = taut_model::Flow::Synchronous;
    flows.channels = vec![channel];
    assert_eq!(plan(&flows).plan.together.as_deref(), Some("the flow of `x` is synchronous"));
}

/// A core that is full in a mode may never be idle, so no change from it is bounded.
#[test]
fn a_change_from_a_full_core_has_no_bound() {
    let tasks = vec![of("x", task(0, 0, 10, 10, 10, 0)), of("y", task(1, 0, 1, 10, 10, 0))];
    let planned = plan(&in_turns(SchedulingPolicy::Edf, tasks));
    assert!(!planned.plan.proven);
    // The probe takes it above 100 %.
    assert!(planned.plan.change(0, 1).is_some_and(|change| change.latency().is_none()));
    let text = shown(&planned.faults);
    assert!(text.contains("the change from mode `first` to mode `second` has no bound"), "{text}");
    assert!(text.contains("  modes.first: core 0 may never be idle in it"), "{text}");
}

/// Cores that the manifest leaves open are chosen by what runs at the same time.
#[test]
fn open_cores_are_chosen_by_mode() {
    let open = |task: TaskDraft| task.with(|task| task.core = None);
    let tasks = vec![
        of("x", open(task(0, 0, 6, 10, 10, 0))),
        of("y", open(task(1, 0, 6, 10, 10, 0))),
        of("x", open(task(2, 0, 6, 10, 10, 0))),
        of("y", open(task(3, 0, 6, 10, 10, 0))),
    ];
    let mut draft = in_turns(SchedulingPolicy::FixedPriority, tasks);
    draft.platform.cores = vec![0, 1];
    let planned = plan(&draft);
    assert!(planned.plan.proven, "{}", shown(&planned.faults));
}

/// A task whose jobs are idle in a mode keeps its deadline there: its empty jobs are released all the same.
#[test]
fn an_idle_task_keeps_its_deadline() {
    let tasks = vec![of("x", task(0, 0, 9, 20, 20, 0)), of("y", task(1, 0, 1, 30, 5, 0))];
    let tasks: Vec<_> = tasks
        .into_iter()
        .zip([2, 1])
        .map(|(task, priority)| task.with(|task| task.priority = Some(priority)))
        .collect();
    let planned = plan(&in_turns(SchedulingPolicy::FixedPriority, tasks));
    assert!(!planned.plan.proven);
    let text = shown(&planned.faults);
    assert!(text.contains("in mode `first`, task `t1`"), "{text}");
}

/// Tasks of a service that is in no mode never run; the model of a mode does not have their work.
#[test]
fn a_service_in_no_mode_never_runs() {
    let tasks = vec![of("x", task(0, 0, 6, 10, 10, 0)), of("y", task(1, 0, 6, 10, 10, 0))];
    let mut draft = in_turns(SchedulingPolicy::FixedPriority, tasks);
    draft.modes.pop();
    let (built, faults) = draft.clone().build();
    assert!(built.is_some());
    let says = |fault: &taut_model::Fault| fault.message == "service `y` is in no mode: its tasks never run";
    assert_eq!(faults.iter().filter(|fault| says(fault)).count(), 1, "{}", shown(&faults));
    let planned = plan(&draft);
    assert!(planned.plan.proven && planned.plan.changes.is_empty());
    assert!(response(&planned.plan, "t1").is_some_and(|response| response < s(7)));
}

/// A best-effort task's thread does not start again, so its service is in every mode.
#[test]
fn a_best_effort_task_runs_in_every_mode() {
    let mut draft = in_turns(SchedulingPolicy::FixedPriority, vec![of("x", task(0, 0, 1, 10, 10, 0))]);
    draft.tasks.push(TaskDraft {
        name: "logs".into(),
        service: Some("x".into()),
        class: ClassDraft::BestEffort(BestEffort::default()),
    });
    let (built, faults) = draft.clone().build();
    assert!(built.is_none());
    assert!(shown(&faults).contains("task `logs` would end for good in mode `second`"), "{}", shown(&faults));
    draft.modes.pop();
    assert!(draft.build().0.is_some());
}

/// The same text gives the same plan, and what is written is read again.
#[test]
fn a_plan_with_modes_is_written_and_read() {
    let tasks = vec![of("x", task(0, 0, 5, 10, 10, 0)), of("y", task(1, 0, 5, 10, 10, 0))];
    let plan = plan(&in_turns(SchedulingPolicy::FixedPriority, tasks)).plan;
    let text = plan.to_lock().expect("a text");
    assert_eq!(Plan::from_lock(&text).expect("a plan"), plan);
}

/// Completions of a run, by task: the last one, and the first one at or after an instant.
struct Completions {
    last: Vec<Duration>,
    first: Vec<Option<Duration>>,
    longest: Vec<Duration>,
}

impl Completions {
    fn new(tasks: usize) -> Self {
        Self {
            last: vec![Duration::ZERO; tasks],
            first: vec![None; tasks],
            longest: vec![Duration::ZERO; tasks],
        }
    }
}

impl Sink for Completions {
    fn event(&mut self, event: SimEvent) {
        let SimEventKind::Complete { response } = event.kind else { return };
        let at = Duration::from_ns(event.at.as_ns());
        self.last[event.task] = at;
        self.first[event.task].get_or_insert(at);
        self.longest[event.task] = self.longest[event.task].max(response);
    }
}

/// A random system with modes on one or two cores.
fn drawn(numbers: &mut Numbers) -> Draft {
    let scheduler = POLICIES[usize::from(numbers.chance(50))];
    let cores = u16::try_from(numbers.next(1, 2)).expect("few");
    let mut tasks = Vec::new();
    for core in 0..cores {
        for _ in 0..numbers.next(3, 4) {
            let (period, cost) = (numbers.next(10, 30), numbers.next(1, 8));
            let deadline = numbers.next((cost + 2).min(period), period);
            let jitter = if numbers.chance(70) { 0 } else { numbers.next(0, (deadline - cost).min(4)) };
            let at = tasks.len();
            let mut one = task(at, core, cost, period, deadline, jitter);
            one.service =
                [None, Some("x"), Some("y"), Some("z")][numbers.next(0, 3) as usize].map(str::to_owned);
            tasks.push(one);
        }
    }
    let mut draft = system(cores, scheduler, tasks);
    draft.services = ["x", "y", "z"].map(service).to_vec();
    draft.modes = vec![mode("first", &["x", "z"]), mode("second", &["y", "z"])];
    if numbers.chance(30) {
        share(&mut draft, numbers, |_| None);
    }
    draft
}

/// What changes of mode in virtual time show.
#[derive(Debug, Default)]
struct Shown {
    proven: u32,
    changes: u32,
    /// Jobs beyond their bounds.
    beyond: u32,
    /// Changes that took longer than their bound.
    slow: u32,
    /// Changes that took at least half of their bound.
    near: u32,
}

/// Lets a random system change its mode at a random instant, as the runtime does. `waits`: the change waits until
/// the cores have been idle.
fn change_at_random(numbers: &mut Numbers, waits: bool, shown: &mut Shown) {
    let draft = drawn(numbers);
    let Planned { plan, model, .. } = Planned::make(&model(&draft), Vec::new());
    if !plan.proven || plan.together.is_some() {
        return;
    }
    shown.proven += 1;
    let set = taut_planner::task_set(&model).expect("small");
    let mut simulation = Simulation::new(&set, &rules(&plan, &set)).expect("valid");
    for (from, to) in [(0, 1), (1, 0)] {
        let change = plan.change(from, to).expect("a change");
        let asked = Duration::from_ms(numbers.next(0, 90_000));
        let runs = |at: usize, mode: usize| plan.runs_in(&plan.tasks[at], mode);
        // Where offsets were needed for a bound, all tasks begin at release 0, as the manifest says.
        let in_phase = plan.tasks.iter().any(|task| match &task.class {
            ClassPlan::RealTime { test, .. } => test.contains("with offsets"),
            ClassPlan::BestEffort {} => false,
        });
        let phase = |task: &taut_model::SetTask, numbers: &mut Numbers| {
            let latest = if in_phase { 0 } else { task.period.as_ns() / 1_000_000 };
            Duration::from_ms(numbers.next(0, latest))
        };
        let phases: Vec<Duration> = set.tasks().iter().map(|task| phase(task, numbers)).collect();
        let horizon = s(400);
        let arrivals = |at: usize, from: Duration, until: Duration| {
            let period = set.tasks()[at].period;
            let all = (0..).map(|k| sum(phases[at], period.checked_mul(k).expect("small")));
            all.skip_while(|time| *time < from).take_while(|time| *time < until).collect::<Vec<_>>()
        };
        // The first release at or after the request stops the task, in a job.
        let stops = |at: usize| {
            let last = arrivals(at, asked, horizon).first().copied().expect("a release");
            arrivals(at, Duration::ZERO, sum(last, Duration::from_ns(1)))
        };
        // Nothing is drawn while a run lasts: both runs are the same until the tasks start.
        let placement = [Placement::Front, Placement::Back, Placement::Even][numbers.next(0, 2) as usize];
        let delays: Vec<(usize, Vec<Duration>)> = set
            .tasks()
            .iter()
            .map(|task| (0..50).map(|_| Duration::from_ns(numbers.next(0, task.jitter.as_ns()))).collect())
            .enumerate()
            .collect();
        let scenario = |starts: Duration| Scenario {
            jitter: Jitter::None,
            placement,
            delays: delays.clone(),
            exactly: (0..set.tasks().len())
                .map(|at| {
                    let times = match (runs(at, from), runs(at, to)) {
                        (true, true) => arrivals(at, Duration::ZERO, horizon),
                        (true, false) => stops(at),
                        (false, true) => arrivals(at, starts, horizon),
                        (false, false) => Vec::new(),
                    };
                    (at, times)
                })
                .collect(),
            ..Scenario::worst(horizon)
        };
        let mut simulate = |starts: Duration| {
            let mut seen = Completions::new(set.tasks().len());
            let outcome = simulation.run(&scenario(starts), &mut seen).expect("it fits");
            assert_eq!(outcome.end, RunEnd::Complete);
            seen
        };
        // Nothing that starts changes what was before, so a run without it shows when all have stopped.
        let before = simulate(horizon);
        let stopping: Vec<usize> =
            (0..set.tasks().len()).filter(|at| runs(*at, from) && !runs(*at, to)).collect();
        let stopped = stopping.iter().map(|at| before.last[*at]).max().unwrap_or(asked).max(asked);
        let idle = if waits { change.idle.expect("a bound") } else { Duration::ZERO };
        let seen = simulate(sum(stopped, idle));
        assert!(stopping.iter().all(|at| seen.last[*at] == before.last[*at]));
        let starting = (0..set.tasks().len()).filter(|at| runs(*at, to) && !runs(*at, from));
        let reached = starting.filter_map(|at| seen.first[at]).max().unwrap_or(stopped);
        let took = reached.saturating_sub(asked);
        shown.changes += 1;
        shown.slow += u32::from(took > change.latency().expect("a bound"));
        shown.slow += u32::from(stopped.saturating_sub(asked) > change.stop);
        shown.near += u32::from(sum(took, took) > change.latency().expect("a bound"));
        for (of, longest) in plan.tasks.iter().zip(&seen.longest) {
            let bound = response(&plan, &of.name).expect("proven");
            shown.beyond += u32::from(*longest > bound);
        }
    }
}

fn changes(waits: bool, systems: u64) -> Shown {
    let mut shown = Shown::default();
    for seed in 0..systems {
        change_at_random(&mut Numbers(seed), waits, &mut shown);
    }
    shown
}

fn keep_their_bounds(systems: u64, proven: u32) {
    let shown = changes(true, systems);
    assert_eq!((shown.beyond, shown.slow), (0, 0), "{shown:?}");
    assert!(shown.proven >= proven && shown.near > shown.changes / 20, "{shown:?}");
}

/// No job exceeds its bound and no change takes longer than its bound, whenever it comes.
#[test]
fn no_run_with_changes_exceeds_a_bound() {
    keep_their_bounds(3_000, 300);
}

#[test]
#[ignore = "some minutes"]
fn no_run_of_ten_thousand_systems_exceeds_a_bound() {
    keep_their_bounds(36_000, 10_000);
}

/// The wait is needed: if tasks start as soon as the others have stopped, jobs of both modes are delayed by both.
#[test]
fn without_the_wait_bounds_are_exceeded() {
    let shown = changes(false, 3_000);
    assert!(shown.beyond > 0, "{shown:?}");
}

/// The example of the decision record: a task of both modes would be delayed by a task that stops, and by one that
/// starts.
#[test]
fn a_task_of_both_modes_is_not_delayed_twice() {
    let tasks = vec![
        of("x", task(0, 0, 4, 10, 10, 0)),
        of("y", task(1, 0, 4, 10, 10, 0)),
        task(2, 0, 5, 10, 10, 0).with(|task| task.on_overrun = Overrun::SkipNext),
    ];
    let planned = plan(&in_turns(SchedulingPolicy::FixedPriority, tasks));
    assert!(planned.plan.proven);
    assert!(response(&planned.plan, "t2").is_some_and(|bound| bound < s(10)));
    assert!(planned.plan.changes.iter().all(|change| change.idle.is_some_and(|idle| idle >= s(9))));
}
