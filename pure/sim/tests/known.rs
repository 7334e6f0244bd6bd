// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Runs whose every instant is known.

use taut_model::{ArrivalPattern, Body, Request, Resource, SchedulingPolicy, Segment, SetTask, TaskSet};
use taut_policy::queue::{LinkedList, Node};
use taut_policy::{AnyLocal, Attributes, LocalResource, Locking, Srp, SrpTask};
use taut_sim::{
    GlobalRule, LocalRule, Outcome, Rules, RulesFault, RunEnd, Scenario, Shares, SimEvent, SimEventKind,
    Simulation, Start,
};
use taut_time::Duration;

/// One unit of time.
fn units(count: u64) -> Duration {
    Duration::from_us(count)
}

fn task(core: usize, priority: u32, period: u64, body: Body) -> SetTask {
    SetTask {
        name: format!("{core}/{priority}"),
        core,
        priority,
        arrivals: ArrivalPattern::Sporadic,
        period: units(period),
        deadline: units(period),
        jitter: Duration::ZERO,
        body,
    }
}

fn run(length: u64) -> Segment {
    Segment::Normal(units(length))
}

fn section(resource: usize, length: u64) -> Segment {
    Segment::Section { resource, inside: vec![run(length)] }
}

fn set(cores: usize, resources: usize, tasks: Vec<SetTask>) -> TaskSet {
    let resource = |at: usize| Resource { name: format!("r{at}") };
    TaskSet::new(vec![SchedulingPolicy::FixedPriority; cores], (0..resources).map(resource).collect(), tasks)
        .expect("valid")
}

fn segments(segments: &[Segment]) -> Body {
    Body::Segments(segments.to_vec())
}

fn starts(times: &[u64], horizon: u64) -> Scenario {
    let at = Start::At(times.iter().copied().map(units).collect());
    Scenario { start: at, ..Scenario::worst(units(horizon)) }
}

/// Runs once, and returns the responses in units, the outcome, and the events.
fn play(set: &TaskSet, rules: &Rules, scenario: &Scenario) -> (Vec<u64>, Outcome, Vec<String>) {
    play_in(Simulation::new(set, rules).expect("fits"), scenario)
}

fn play_in<L: Locking + Clone>(
    mut simulation: Simulation<L>,
    scenario: &Scenario,
) -> (Vec<u64>, Outcome, Vec<String>) {
    let mut log = Vec::new();
    let mut sink = |event: SimEvent| {
        let kind = match event.kind {
            SimEventKind::Release { .. } => return,
            SimEventKind::Drop => "drop".to_owned(),
            SimEventKind::Start => "start".to_owned(),
            SimEventKind::Preempt => "preempt".to_owned(),
            SimEventKind::Resume => "resume".to_owned(),
            SimEventKind::Suspend(resource) => format!("suspend r{resource}"),
            SimEventKind::Spin(resource) => format!("spin r{resource}"),
            SimEventKind::Locked(resource) => format!("lock r{resource}"),
            SimEventKind::Unlock(resource) => format!("unlock r{resource}"),
            SimEventKind::Complete { .. } => "complete".to_owned(),
            SimEventKind::Exhausted => "exhausted".to_owned(),
            SimEventKind::Kill => "kill".to_owned(),
            SimEventKind::Miss => "miss".to_owned(),
        };
        log.push(format!("{} t{} {kind}", event.at.as_ns() / 1000, event.task));
    };
    let outcome = simulation.run(scenario, &mut sink).expect("fits").clone();
    let responses = outcome.tasks.iter().map(|task| task.response_max.as_ns() / 1000).collect();
    (responses, outcome, log)
}

/// [Lakshmanan09] charges a task that waits for remote sections with a jitter equal to its remote blocking; its jobs
/// come closer than that. Task 1 suspends five times, each time just while task 0 does not run, ends at 19959, and
/// its next job runs without waiting: both preempt task 2. The equation bounds task 2 by 12000.
#[test]
fn mpcp_suspension_exceeds_the_published_jitter_term() {
    let sections =
        |count, length| vec![Request { resource: 0, count, length: units(length), outermost: true }];
    let body = |cost, requests| Body::Anywhere { cost: units(cost), requests };
    let set = set(
        2,
        1,
        vec![
            task(0, 4, 2_000, body(1_000, vec![])),
            task(0, 3, 20_000, body(5_000, sections(5, 10))),
            task(0, 2, 100_000, body(1_000, vec![])),
            task(1, 1, 2_000, body(1_000, sections(1, 1_000))),
        ],
    );
    let times = |times: &[u64]| times.iter().copied().map(units).collect();
    let scenario = Scenario {
        exactly: vec![
            (0, (0..40).map(|at| units(2_000 * at)).collect()),
            (1, times(&[0, 20_000])),
            (2, times(&[9_999])),
            (3, times(&[999, 2_999, 4_999, 6_999, 8_999])),
        ],
        ..Scenario::worst(units(100_000))
    };
    let (responses, outcome, _) = play(&set, &Rules::of(&set, GlobalRule::Mpcp), &scenario);
    assert_eq!(responses, [1_009, 19_959, 21_960, 1_000]);
    assert_eq!(outcome.end, RunEnd::Complete);
    assert!(!outcome.missed());
}

/// Tasks of three cores request at 2, 3 and 4 a resource that a task of a fourth core holds from 1 to 6: they spin in
/// order of request, and nothing preempts them.
#[test]
fn msrp_spins_in_order_and_pinned() {
    let set = set(
        4,
        1,
        vec![
            task(0, 1, 100, segments(&[run(1), section(0, 5), run(1)])),
            task(1, 2, 100, segments(&[run(2), section(0, 2), run(1)])),
            task(2, 9, 100, segments(&[run(3), section(0, 3)])),
            task(3, 5, 100, segments(&[run(4), section(0, 1)])),
            // Released while the other task of its core spins: it waits until that task has released the resource.
            task(1, 7, 100, segments(&[run(1)])),
        ],
    );
    let (responses, _, log) = play(&set, &Rules::of(&set, GlobalRule::Msrp), &starts(&[0, 0, 0, 0, 3], 50));
    // r0: t0 1..6, t1 6..8, t2 8..11, t3 11..12.
    assert_eq!(responses, [7, 10, 11, 12, 6]);
    let of_core_1: Vec<_> =
        log.iter().filter(|line| line.contains(" t1 ") || line.contains(" t4 ")).collect();
    assert_eq!(
        of_core_1,
        [
            "0 t1 start",
            "2 t1 spin r0",
            "6 t1 lock r0",
            "8 t1 unlock r0",
            "8 t1 preempt",
            "8 t4 start",
            "9 t4 complete",
            "9 t1 resume",
            "10 t1 complete"
        ]
    );
}

/// The same under MPCP: the most urgent waiter is next, a waiting task lets others run, and a holder preempts them.
#[test]
fn mpcp_waits_by_priority_and_holds_boosted() {
    let set = set(
        4,
        1,
        vec![
            task(0, 1, 100, segments(&[run(1), section(0, 5), run(1)])),
            task(1, 2, 100, segments(&[run(2), section(0, 2), run(1)])),
            task(2, 9, 100, segments(&[run(3), section(0, 3)])),
            task(3, 5, 100, segments(&[run(4), section(0, 1)])),
            task(1, 7, 100, segments(&[run(9)])),
        ],
    );
    let (responses, _, log) = play(&set, &Rules::of(&set, GlobalRule::Mpcp), &starts(&[0, 0, 0, 0, 3], 50));
    // r0: t0 1..6, t2 6..9, t3 9..10, t1 10..12. t4 runs 3..10 and 12..14; t1 ends after it.
    assert_eq!(responses, [7, 15, 9, 10, 11]);
    let of_core_1: Vec<_> =
        log.iter().filter(|line| line.contains(" t1 ") || line.contains(" t4 ")).collect();
    assert_eq!(
        of_core_1,
        [
            "0 t1 start",
            "2 t1 suspend r0",
            "3 t4 start",
            "10 t1 lock r0",
            "10 t4 preempt",
            "10 t1 resume",
            "12 t1 unlock r0",
            "12 t1 preempt",
            "12 t4 resume",
            "14 t4 complete",
            "14 t1 resume",
            "15 t1 complete"
        ]
    );
}

/// The same under FMLP for long resources: tasks suspend as under MPCP, but get the resource in order of request.
#[test]
fn fmlp_long_waits_in_order_and_holds_boosted() {
    let set = set(
        4,
        1,
        vec![
            task(0, 1, 100, segments(&[run(1), section(0, 5), run(1)])),
            task(1, 2, 100, segments(&[run(2), section(0, 2), run(1)])),
            task(2, 9, 100, segments(&[run(3), section(0, 3)])),
            task(3, 5, 100, segments(&[run(4), section(0, 1)])),
            task(1, 7, 100, segments(&[run(9)])),
        ],
    );
    let (responses, _, _) = play(&set, &Rules::of(&set, GlobalRule::FmlpLong), &starts(&[0, 0, 0, 0, 3], 50));
    // r0: t0 1..6, t1 6..8, t2 8..11, t3 11..12. t4 runs 3..6 and 8..14.
    assert_eq!(responses, [7, 15, 11, 12, 11]);
}

/// Two holders on one core: MPCP runs the one with the higher ceiling, FMLP the one that requested first.
#[test]
fn boosted_tasks_of_one_core() {
    // On other cores the least urgent task uses r0 and the most urgent one r1: r1 has the higher ceiling on core 0.
    let set = set(
        3,
        2,
        vec![
            task(0, 5, 100, segments(&[section(0, 4)])),
            task(0, 6, 100, segments(&[run(1), section(1, 4)])),
            task(1, 1, 100, segments(&[section(0, 2)])),
            task(2, 9, 100, segments(&[section(1, 3)])),
            // More urgent than all, but on core 0 itself: it does not count for the ceiling there.
            task(0, 10, 100, segments(&[section(0, 1)])),
        ],
    );
    let late = starts(&[1, 1, 0, 0, 30], 50);
    let (mpcp, ..) = play(&set, &Rules::of(&set, GlobalRule::Mpcp), &late);
    let (fmlp, ..) = play(&set, &Rules::of(&set, GlobalRule::FmlpLong), &late);
    // From 1: t1 is more urgent, runs 1..2, requests r1 and waits until 3. t0 requests r0 at 2, and is granted it at
    // once. MPCP: at 3 t1 preempts t0 until 7, t0 ends at 2 + 4 + 4 = 10. FMLP: t1 requested at 2 like t0, but t0
    // runs: until 6.
    assert_eq!((mpcp[0], mpcp[1]), (9, 6));
    assert_eq!((fmlp[0], fmlp[1]), (5, 9));
}

/// Local locks: the original ceiling lets a middle task run while another task holds the resource, the immediate one
/// does not.
#[test]
fn ceilings_on_one_core() {
    let set = set(
        1,
        1,
        vec![
            task(0, 3, 100, segments(&[run(1), section(0, 1)])),
            task(0, 2, 100, segments(&[run(2)])),
            task(0, 1, 100, segments(&[run(1), section(0, 3), run(1)])),
        ],
    );
    let scenario = starts(&[3, 2, 0], 50);
    let rules = |rule| Rules::all(&set, rule, GlobalRule::Mpcp);
    let (immediate, ..) = play(&set, &rules(LocalRule::Immediate), &scenario);
    let (original, _, log) = play(&set, &rules(LocalRule::Original), &scenario);
    assert_eq!(immediate, [3, 6, 9]);
    assert_eq!(original, [4, 6, 9]);
    assert!(log.contains(&"4 t0 suspend r0".to_owned()), "{log:?}");
    assert!(log.contains(&"6 t0 lock r0".to_owned()), "{log:?}");
}

/// A job that arrives before the last one of its task is complete waits for it; its response counts from its arrival.
#[test]
fn jobs_of_a_task_queue_up() {
    let mut only = task(0, 1, 4, segments(&[run(9)]));
    only.deadline = units(9);
    let set = set(1, 0, vec![only]);
    let (responses, outcome, _) = play(&set, &Rules::of(&set, GlobalRule::Msrp), &starts(&[0], 12));
    // The jobs of 0, 4 and 8 complete at 9, 18 and 27.
    assert_eq!(responses, [19]);
    let of = outcome.tasks[0];
    assert_eq!((of.released, of.completed, of.missed, of.dropped), (3, 3, 2, 0));
    let (_, outcome, _) = play(&set, &Rules::of(&set, GlobalRule::Msrp), &starts(&[0], 4_000));
    let of = outcome.tasks[0];
    assert_eq!((of.released + of.dropped, outcome.end), (1_000, RunEnd::Complete));
    assert!(of.dropped > 300 && of.released == of.completed);
}

/// With jitter, a response time counts from the arrival; a separate figure counts from the release.
#[test]
fn two_response_times() {
    let mut first = task(0, 2, 10, segments(&[run(2)]));
    first.jitter = units(3);
    let set = set(1, 0, vec![first, task(0, 1, 10, segments(&[run(3)]))]);
    let rules = Rules::of(&set, GlobalRule::Msrp);
    let mut simulation = Simulation::new(&set, &rules).expect("fits");
    let outcome = simulation.run(&Scenario::worst(units(30)), &mut ()).expect("fits");
    let us = |time: Duration| time.as_ns() / 1000;
    assert_eq!((us(outcome.tasks[0].response_max), us(outcome.tasks[0].from_release_max)), (5, 2));
    assert_eq!(us(outcome.tasks[1].response_max), 5, "released with the first, which arrived before");
}

/// A(D2, r8, R1{R2}) and B(D11, r5, R1{R2}) under rules that the test brings: SRP, and SRP whose ceilings are too low,
/// so that A preempts B inside R1 and requests R1.
#[test]
fn a_rule_of_the_callers_own_runs_until_it_breaks() {
    let inner = |length| Segment::Section { resource: 1, inside: vec![run(length)] };
    let outer = |first, second| {
        segments(&[Segment::Section { resource: 0, inside: vec![run(first), inner(second), run(1)] }])
    };
    let mut tasks = vec![task(0, 2, 100, outer(1, 1)), task(0, 1, 100, outer(3, 2))];
    (tasks[0].deadline, tasks[1].deadline) = (units(2), units(11));
    let set = set(1, 2, tasks);
    let scenario = starts(&[8, 5], 20);
    let played = |floors: Option<[Duration; 2]>| {
        let srp = |of: Attributes<'_>| {
            let ready = LinkedList::new(vec![Node::EMPTY; of.deadlines.len()]);
            let (tasks, held) = ([SrpTask::EMPTY; 2], [LocalResource::EMPTY; 2]);
            Srp::new(ready, tasks, of.deadlines, held, floors.as_ref().map_or(of.floors, |floors| floors))
        };
        let simulation = Simulation::under(&set, &[GlobalRule::Msrp; 2], srp).expect("fits");
        play_in(simulation, &scenario)
    };
    assert_eq!(played(None), play(&set, &Rules::all(&set, LocalRule::Srp, GlobalRule::Msrp), &scenario));
    assert_eq!(played(None).0, [6, 6]);
    let (_, outcome, _) = played(Some([units(11); 2]));
    assert_eq!(outcome.end, RunEnd::Broken { task: 0, resource: 0 });
    assert_eq!(outcome.last.as_ns(), units(8).as_ns());
}

#[test]
fn what_does_not_fit_is_refused() {
    let shared = || segments(&[section(0, 1)]);
    let set = set(2, 1, vec![task(0, 1, 10, shared()), task(1, 2, 10, shared())]);
    let dfp = LocalRule::DfpByClock { jitter: None };
    let refused = |rules: Rules| Simulation::new(&set, &rules).err();
    assert_eq!(refused(Rules::all(&set, dfp, GlobalRule::Mpcp)), Some(RulesFault::Suspends { core: 0 }));
    assert_eq!(refused(Rules::all(&set, dfp, GlobalRule::Msrp)), None);
    assert_eq!(
        refused(Rules { cores: vec![dfp], resources: vec![GlobalRule::Msrp] }),
        Some(RulesFault::Cores)
    );
    assert_eq!(refused(Rules { cores: vec![dfp; 2], resources: vec![] }), Some(RulesFault::Resources));
    let own = |of: Attributes<'_>| AnyLocal::new(LocalRule::Srp, of);
    let refused = |globals| Simulation::under(&set, globals, own).err();
    assert_eq!(refused(&[GlobalRule::Mpcp]), Some(RulesFault::Suspends { core: 0 }));
    assert_eq!((refused(&[GlobalRule::Msrp]), refused(&[])), (None, Some(RulesFault::Resources)));
    let mut simulation = Simulation::new(&set, &Rules::of(&set, GlobalRule::Mpcp)).expect("fits");
    let run = simulation.run(&Scenario::worst(Duration::MAX), &mut ());
    assert_eq!(run.err(), Some(RulesFault::Overflow));
    let scenario = Scenario { steps_max: 100, ..Scenario::worst(Duration::from_s(1 << 32)) };
    assert_eq!(simulation.run(&scenario, &mut ()).map(|outcome| outcome.end), Ok(RunEnd::Steps));
}

/// Exact delays replace the scenario's jitter; a job past the end of the list has none, and none is longer than J.
#[test]
fn jobs_are_as_late_as_is_said() {
    let late = SetTask { jitter: units(4), ..task(0, 2, 10, segments(&[run(2)])) };
    let set = set(1, 0, vec![late, task(0, 1, 20, segments(&[run(3)]))]);
    let scenario = Scenario {
        exactly: vec![(0, [0, 10, 20].map(units).to_vec()), (1, vec![units(3)])],
        delays: vec![(0, vec![units(4), units(9)])],
        ..Scenario::worst(units(30))
    };
    let (responses, outcome, log) = play(&set, &Rules::of(&set, GlobalRule::Msrp), &scenario);
    assert_eq!(responses, [6, 5]);
    let starts: Vec<_> = log.iter().filter(|line| line.ends_with("t0 start")).collect();
    assert_eq!(starts, ["4 t0 start", "14 t0 start", "20 t0 start"]);
    assert_eq!(outcome.end, RunEnd::Complete);
}

/// Execution times and gaps from a recording, and from a distribution.
#[test]
fn recorded_and_distributed_times() {
    let ns = Duration::from_ns;
    let task = |arrivals| SetTask {
        name: "t".into(),
        core: 0,
        priority: 1,
        arrivals,
        period: ns(100),
        deadline: ns(100),
        jitter: Duration::ZERO,
        body: Body::Segments(vec![Segment::Normal(ns(20)), Segment::Normal(ns(20))]),
    };
    let run = |scenario: &Scenario| {
        let set =
            TaskSet::new(vec![SchedulingPolicy::FixedPriority], vec![], vec![task(ArrivalPattern::Sporadic)])
                .expect("valid");
        let mut simulation = Simulation::new(&set, &Rules::of(&set, GlobalRule::Msrp)).expect("fits");
        let (mut arrivals, mut responses) = (Vec::new(), Vec::new());
        let mut sink = |event: SimEvent| match event.kind {
            SimEventKind::Release { arrival } => arrivals.push(arrival.as_ns()),
            SimEventKind::Complete { response } => responses.push(response.as_ns()),
            _ => {}
        };
        simulation.run(scenario, &mut sink).expect("fits");
        (arrivals, responses)
    };
    let recorded = Scenario {
        executions: vec![(0, Shares::recorded(&[ns(40), ns(10), ns(99)], ns(40)))],
        lengthened: vec![(0, Shares::recorded(&[ns(50), ns(0)], ns(100)))],
        ..Scenario::worst(ns(600))
    };
    // A time longer than C counts as C; the lists repeat.
    assert_eq!(run(&recorded), (vec![0, 150, 250, 400, 500], vec![40, 10, 40, 40, 10]));
    let half = vec![(0, Shares::Quantiles(vec![0, 250_000, 500_000]))];
    let distributed = Scenario { executions: half.clone(), lengthened: half, ..Scenario::worst(ns(400_000)) };
    let (arrivals, responses) = run(&distributed);
    let gaps: Vec<u64> = arrivals.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|gap| (100..=150).contains(gap)));
    let short = responses.iter().filter(|response| **response <= 10).count();
    assert!(responses.iter().all(|response| *response <= 20));
    // Half of all are below the middle quantile.
    assert!((2 * short).abs_diff(responses.len()) * 5 < responses.len(), "{short} of {}", responses.len());
}
