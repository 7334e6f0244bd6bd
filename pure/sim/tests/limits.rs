// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Budgets: what happens to jobs that take longer than they may, by hand; and that other tasks never notice more than
//! a budget.

mod random;

use random::Random;
use taut_analysis::uni::fp::preemptive::{self, Subject};
use taut_model::{ArrivalPattern, Body, Request, Resource, SchedulingPolicy, Segment, SetTask, TaskSet};
use taut_sim::{
    Execution, GlobalRule, Limit, LocalRule, Outcome, Overrun, Placement, Rules, RulesFault, RunEnd,
    Scenario, SimEvent, SimEventKind, Simulation,
};
use taut_time::Duration;

const POLICIES: [Overrun; 5] =
    [Overrun::RunOn, Overrun::SkipNext, Overrun::KillJob, Overrun::StopApp, Overrun::Demote];

fn ns(ns: u64) -> Duration {
    Duration::from_ns(ns)
}

fn task(priority: u32, period: u64, body: Body) -> SetTask {
    SetTask {
        name: format!("t{priority}"),
        core: 0,
        priority,
        arrivals: ArrivalPattern::Periodic,
        period: ns(period),
        deadline: ns(period),
        jitter: Duration::ZERO,
        body,
    }
}

fn plain(cost: u64) -> Body {
    Body::Anywhere { cost: ns(cost), requests: Vec::new() }
}

fn set(scheduler: SchedulingPolicy, tasks: Vec<SetTask>) -> TaskSet {
    let resources = ["r", "s"].map(|name| Resource { name: name.into() });
    TaskSet::new(vec![scheduler], resources.into(), tasks).expect("valid")
}

fn limit(overrun: Overrun, budget: u64) -> Limit {
    Limit { overrun, budget: (budget > 0).then_some(ns(budget)) }
}

/// The events in words, and the outcome.
fn ran(set: &TaskSet, limits: &[(usize, Limit)], scenario: &Scenario) -> (String, Outcome) {
    let rules = Rules::of(set, GlobalRule::Msrp);
    let mut simulation = Simulation::new(set, &rules).expect("fits").limited(limits).expect("fits");
    let mut log = Vec::new();
    let mut sink = |event: SimEvent| {
        let kind = match event.kind {
            SimEventKind::Release { .. } | SimEventKind::Miss => return,
            SimEventKind::Locked(resource) => format!("locks {resource}"),
            SimEventKind::Complete { .. } => "complete".into(),
            kind => format!("{kind:?}").to_lowercase(),
        };
        log.push(format!("{} {}{} {kind}", event.at.as_ns(), ["a", "b", "c"][event.task], event.job));
    };
    let outcome = simulation.run(scenario, &mut sink).expect("fits").clone();
    (log.join(", "), outcome)
}

/// a has a budget of 2 in 10, and its first job takes 8; b below it has 5 in 10.
#[test]
fn every_policy_by_hand() {
    let set = set(SchedulingPolicy::FixedPriority, vec![task(2, 10, plain(2)), task(1, 10, plain(5))]);
    let mut scenario = Scenario::worst(ns(20));
    scenario.excess = vec![(0, vec![(0, ns(6))])];
    let first = "0 a0 start, 2 a0 exhausted, ";
    let later = ", 10 a1 start, 12 a1 complete, ";
    let late = "8 a0 complete, 8 b0 start, 10 b0 preempt, 10 a1 start, 12 a1 complete, 12 b0 resume, \
                15 b0 complete, 15 b1 start, 20 b1 complete";
    let expected = [
        (format!("{first}{late}"), RunEnd::Complete),
        (format!("{first}{late}"), RunEnd::Complete),
        (
            format!("{first}2 a0 kill, 2 b0 start, 7 b0 complete{later}12 b1 start, 17 b1 complete"),
            RunEnd::Complete,
        ),
        ("0 a0 start, 2 a0 exhausted".to_owned(), RunEnd::Stopped { task: 0 }),
        (
            format!(
                "{first}2 a0 preempt, 2 b0 start, 7 b0 complete, 7 a0 resume, 10 a1 drop, 10 a0 preempt, \
                 10 b1 start, 15 b1 complete, 15 a0 resume, 18 a0 complete"
            ),
            RunEnd::Complete,
        ),
    ];
    for (policy, (log, end)) in POLICIES.into_iter().zip(expected) {
        let (found, outcome) = ran(&set, &[(0, limit(policy, 2))], &scenario);
        assert_eq!((found, outcome.end), (log, end), "{policy:?}");
        assert_eq!(outcome.tasks[0].exhausted, 1);
        assert_eq!(outcome.tasks[1].missed > 0, matches!(policy, Overrun::RunOn | Overrun::SkipNext));
        assert_eq!(outcome.tasks[0].killed, u64::from(policy == Overrun::KillJob));
        assert!(outcome.missed() || policy == Overrun::StopApp);
    }
    let (found, outcome) = ran(&set, &[], &scenario);
    assert_eq!(found, format!("0 a0 start, {late}"));
    assert_eq!(outcome.tasks[1].missed, 1, "and without a budget b is late");
}

/// A job that completes just as its budget is used up has kept its budget.
#[test]
fn a_budget_that_is_just_enough() {
    let set = set(SchedulingPolicy::FixedPriority, vec![task(2, 10, plain(3)), task(1, 10, plain(5))]);
    for policy in POLICIES {
        let (_, outcome) =
            ran(&set, &[(0, limit(policy, 3)), (1, limit(policy, 5))], &Scenario::worst(ns(50)));
        assert_eq!((outcome.end, outcome.missed()), (RunEnd::Complete, false));
        assert!(outcome.tasks.iter().all(|task| task.exhausted == 0));
    }
}

/// No budgets: a, between b and c, is not complete when its next release is due at 10.
#[test]
fn late_releases_by_hand() {
    let set = set(
        SchedulingPolicy::FixedPriority,
        vec![task(2, 10, plain(4)), task(3, 40, plain(8)), task(1, 40, plain(3))],
    );
    let scenario = Scenario::worst(ns(20));
    let first = "0 b0 start, 8 b0 complete, 8 a0 start, ";
    let expected = [
        "12 a0 complete, 12 a1 start, 16 a1 complete, 16 c0 start, 19 c0 complete",
        "10 a1 drop, 12 a0 complete, 12 c0 start, 15 c0 complete",
        "10 a0 kill, 10 a1 start, 14 a1 complete, 14 c0 start, 17 c0 complete",
        "",
        "10 a1 drop, 10 a0 preempt, 10 c0 start, 13 c0 complete, 13 a0 resume, 15 a0 complete",
    ];
    for (policy, expected) in POLICIES.into_iter().zip(expected) {
        let (found, outcome) = ran(&set, &[(0, limit(policy, 0))], &scenario);
        assert_eq!(found, format!("{first}{expected}").trim_end_matches(", "), "{policy:?}");
        let end = if policy == Overrun::StopApp { RunEnd::Stopped { task: 0 } } else { RunEnd::Complete };
        assert_eq!(outcome.end, end);
    }
}

fn parts(parts: &[(Option<usize>, u64)]) -> Body {
    let part = |&(resource, time): &(Option<usize>, u64)| match resource {
        None => Segment::Normal(ns(time)),
        Some(resource) => Segment::Section { resource, inside: vec![Segment::Normal(ns(time))] },
    };
    Body::Segments(parts.iter().map(part).collect())
}

/// The budget of a, 2, ends within its first section: a continues to the end of the section. Its second section is in
/// the background: a is lifted for it. So b, which arrives at 9 and uses the resource, waits for it; c, which does
/// not use it and is more urgent than both, does not wait.
#[test]
fn sections_are_not_cut() {
    let mut tasks = vec![
        task(2, 60, parts(&[(None, 1), (Some(0), 3), (None, 1), (Some(0), 3), (None, 1)])),
        task(1, 60, parts(&[(Some(0), 2)])),
        task(3, 60, plain(1)),
    ];
    tasks[1].arrivals = ArrivalPattern::Phased(ns(6));
    tasks[2].arrivals = ArrivalPattern::Phased(ns(7));
    let set = set(SchedulingPolicy::FixedPriority, tasks);
    let first = "0 a0 start, 1 a0 locks 0, 2 a0 exhausted, 4 a0 unlock(0), ";
    let (found, _) = ran(&set, &[(0, limit(Overrun::Demote, 2))], &Scenario::worst(ns(60)));
    let rest = "5 a0 locks 0, 7 a0 preempt, 7 c0 start, 8 c0 complete, 8 a0 resume, 9 a0 unlock(0), \
                9 a0 preempt, 9 b0 start, 9 b0 locks 0, 11 b0 unlock(0), 11 b0 complete, 11 a0 resume, 12 a0 complete";
    assert_eq!(found, format!("{first}{rest}"));
    let (found, _) = ran(&set, &[(0, limit(Overrun::KillJob, 2))], &Scenario::worst(ns(60)));
    let rest = "4 a0 kill, 6 b0 start, 6 b0 locks 0, 7 b0 preempt, 7 c0 start, 8 c0 complete, 8 b0 resume, \
                9 b0 unlock(0), 9 b0 complete";
    assert_eq!(found, format!("{first}{rest}"));
}

/// A random set of up to five tasks, each with sections of up to two resources if `sections`.
fn drawn(random: &mut Random, scheduler: SchedulingPolicy, sections: bool) -> TaskSet {
    let count = 2 + random.below(4);
    let tasks = (0..count).map(|at| {
        let period = 20 + random.below(80);
        let cost = 2 + random.below(2 * period / count / 2);
        let mut left = cost;
        let mut requests = Vec::new();
        for resource in (0..2).filter(|_| sections) {
            let length = random.below(4).min(left / 2);
            if length > 0 {
                left -= length;
                requests.push(Request { resource, count: 1, length: ns(length), outermost: true });
            }
        }
        let mut task = task(u32::try_from(at).expect("small") + 1, period, plain(cost));
        task.body = Body::Anywhere { cost: ns(cost), requests };
        task.arrivals = ArrivalPattern::Sporadic;
        task.jitter = ns(random.below(4) * random.below(3));
        task
    });
    let tasks = tasks.collect();
    set(scheduler, tasks)
}

fn scenario(random: &mut Random, set: &TaskSet, faulty: &[bool]) -> Scenario {
    let mut scenario = Scenario::random(ns(2_000), random.below(1 << 40));
    if random.below(2) == 0 {
        scenario = Scenario { seed: scenario.seed, ..Scenario::worst(ns(2_000)) };
        scenario.placement = Placement::Random;
    }
    scenario.execution = Execution::Random { least_percent: 60 };
    for at in (0..faulty.len()).filter(|at| faulty[*at]) {
        let often = 1 + random.below(4);
        let mut jobs = Vec::new();
        for job in 0..200 {
            if random.below(often) == 0 {
                jobs.push((job, ns(1 + random.below(3 * set.cost(at).as_ns()))));
            }
        }
        scenario.excess.push((at, jobs));
    }
    scenario
}

/// The longest section of a task that may block a task of some priority.
fn blocks(set: &TaskSet, task: usize, priority: u32) -> u64 {
    let ceiling =
        |resource: usize| set.users(resource).map(|user| set.tasks()[user].priority).max().unwrap_or(0);
    let blocks = set.requests(task).iter().filter(|request| ceiling(request.resource) >= priority);
    blocks.map(|request| request.length.as_ns()).max().unwrap_or(0)
}

/// The bound of a task if the faulty tasks take their budgets and `more` times their longest sections: the section in
/// which the budget ends, or one in the background.
fn bound(set: &TaskSet, task: usize, budgets: &[Option<u64>], more: u64) -> Option<Duration> {
    let own = &set.tasks()[task];
    let longest = |at: usize| set.requests(at).iter().map(|one| one.length.as_ns()).max().unwrap_or(0);
    let of = |at: usize| preemptive::FpTask {
        cost: budgets[at].map_or(set.cost(at), |budget| ns(budget + more * longest(at))),
        period: set.tasks()[at].period,
        jitter: set.tasks()[at].jitter,
        arrivals: ArrivalPattern::Periodic,
    };
    let others = || (0..set.tasks().len()).filter(|at| *at != task);
    let higher: Vec<_> = others().filter(|at| set.tasks()[*at].priority > own.priority).map(of).collect();
    let lower = others().filter(|at| set.tasks()[*at].priority < own.priority);
    let blocking = ns(lower.map(|at| blocks(set, at, own.priority)).max().unwrap_or(0));
    let subject = Subject {
        task: of(task),
        deadline: own.deadline,
        blocking,
        blocking_attained: false,
        preemptible: true,
    };
    let verdict = preemptive::response(&subject, &higher).expect("small");
    verdict.holds().then(|| verdict.bound().map(|bound| bound.from_arrival)).flatten()
}

/// Faulty tasks, with budgets of up to C and any policy that isolates, never delay others beyond the bounds computed
/// with the budget plus a section as C. Without budgets they do.
#[test]
fn who_goes_wrong_does_not_delay_others() {
    let mut random = Random(0x0b0d_6e75);
    let (mut checked, mut nearest, mut broken, mut happened, mut blocked) = ([0; 2], [0; 2], 0, [0; 2], 0);
    for round in 0..2_000_u64 {
        let sections = round % 2 == 1;
        let set = drawn(&mut random, SchedulingPolicy::FixedPriority, sections);
        let faulty: Vec<_> = set.tasks().iter().map(|_| random.below(3) == 0).collect();
        let mut budgets = vec![None; faulty.len()];
        let mut limits = Vec::new();
        for at in (0..faulty.len()).filter(|at| faulty[*at]) {
            let cost = set.cost(at).as_ns();
            let budget = if random.below(2) == 0 { cost } else { 1 + random.below(cost) };
            let policy = [Overrun::KillJob, Overrun::Demote][random.below(2) as usize];
            budgets[at] = Some(budget);
            limits.push((at, limit(policy, budget)));
        }
        let scenario = scenario(&mut random, &set, &faulty);
        let core = if round % 4 < 2 { LocalRule::Immediate } else { LocalRule::Original };
        let rules = Rules::all(&set, core, GlobalRule::Msrp);
        let fresh = Simulation::new(&set, &rules).expect("fits");
        let mut limited = fresh.clone().limited(&limits).expect("fits");
        let mut fresh = fresh;
        let isolated = limited.run(&scenario, &mut ()).expect("fits").clone();
        // A second run equals the first: no state is left behind.
        assert_eq!(*limited.run(&scenario, &mut ()).expect("fits"), isolated);
        let free = fresh.run(&scenario, &mut ()).expect("fits");
        assert_eq!(isolated.end, RunEnd::Complete);
        for at in (0..faulty.len()).filter(|at| !faulty[*at]) {
            let Some(bound) = bound(&set, at, &budgets, 1) else { continue };
            let seen = isolated.tasks[at].response_max;
            blocked += u64::from(self::bound(&set, at, &budgets, 0).is_some_and(|less| seen > less));
            let case = (at, set.tasks(), &limits, scenario.seed);
            assert!(seen <= bound, "{seen:?} of {bound:?}: {case:?}");
            assert_eq!(isolated.tasks[at].missed + isolated.tasks[at].dropped, 0);
            broken += u64::from(free.tasks[at].response_max > bound);
            let which = usize::from(sections);
            checked[which] += 1;
            nearest[which] = nearest[which].max(seen.as_ns() * 100 / bound.as_ns());
        }
        happened[0] += isolated.tasks.iter().map(|task| task.killed).sum::<u64>();
        happened[1] +=
            isolated.tasks.iter().map(|task| task.exhausted - task.killed.min(task.exhausted)).sum::<u64>();
    }
    println!(
        "checked {checked:?}, nearest {nearest:?} %, broken without {broken}, killed, demoted {happened:?}"
    );
    assert!(checked.iter().all(|count| *count > 500));
    assert!(nearest.iter().all(|percent| *percent == 100), "{nearest:?}");
    assert!(broken > 300 && happened.iter().all(|count| *count > 1000));
    assert!(blocked > 0, "a budget alone leaves sections out");
}

/// Under EDF: with budgets that add up to a utilization of at most 1, no deadline is missed, whichever task is
/// faulty.
#[test]
fn isolation_under_edf() {
    let mut random = Random(0x0edf_0b0d);
    let (mut checked, mut broken) = (0, 0);
    for round in 0..600 {
        let mut set = drawn(&mut random, SchedulingPolicy::Edf, false);
        let tasks =
            set.tasks().iter().map(|task| SetTask { jitter: Duration::ZERO, ..task.clone() }).collect();
        set = self::set(SchedulingPolicy::Edf, tasks);
        let costs = (0..set.tasks().len())
            .map(|at| set.cost(at).as_ns() as f64 / set.tasks()[at].period.as_ns() as f64);
        if costs.sum::<f64>() > 0.999 {
            continue;
        }
        let faulty: Vec<_> = set.tasks().iter().map(|_| random.below(3) == 0).collect();
        let scenario = scenario(&mut random, &set, &faulty);
        let policy = [Overrun::KillJob, Overrun::Demote][round % 2];
        let limits: Vec<_> = (0..faulty.len()).map(|at| (at, limit(policy, set.cost(at).as_ns()))).collect();
        let core = [LocalRule::Srp, LocalRule::DfpByClock { jitter: None }][round / 2 % 2];
        let rules = Rules::all(&set, core, GlobalRule::Msrp);
        let mut simulation = Simulation::new(&set, &rules).expect("fits");
        let free = simulation.run(&scenario, &mut ()).expect("fits").clone();
        let mut simulation = simulation.limited(&limits).expect("fits");
        let isolated = simulation.run(&scenario, &mut ()).expect("fits");
        for at in (0..faulty.len()).filter(|at| !faulty[*at]) {
            let seen = isolated.tasks[at];
            assert_eq!((seen.missed, seen.dropped, seen.exhausted, seen.killed), (0, 0, 0, 0));
            checked += 1;
            broken += u64::from(free.tasks[at].missed > 0);
        }
    }
    println!("{checked} checked, {broken} miss without budgets");
    assert!(checked > 500 && broken > 100);
}

/// Limits that no job reaches change nothing, whatever the policy.
#[test]
fn limits_that_are_kept_change_nothing() {
    let mut random = Random(0x0077_1e55);
    for round in 0..200 {
        let rule = [
            LocalRule::Immediate,
            LocalRule::Original,
            LocalRule::Srp,
            LocalRule::DfpByClock { jitter: None },
        ];
        let core = rule[round % 4];
        let scheduler = if round % 4 < 2 { SchedulingPolicy::FixedPriority } else { SchedulingPolicy::Edf };
        let set = drawn(&mut random, scheduler, true);
        let scenario = scenario(&mut random, &set, &vec![false; set.tasks().len()]);
        let rules = Rules::all(&set, core, GlobalRule::Msrp);
        let simulation = Simulation::new(&set, &rules).expect("fits");
        let log = |mut simulation: Simulation| {
            let mut log = Vec::new();
            simulation.run(&scenario, &mut |event| log.push(event)).expect("fits");
            log
        };
        let of = |policy, slack| {
            let limits = (0..set.tasks().len()).map(|at| (at, limit(policy, set.cost(at).as_ns() + slack)));
            simulation.clone().limited(&limits.collect::<Vec<_>>()).expect("fits")
        };
        let expected = log(simulation.clone());
        assert_eq!(log(of(Overrun::RunOn, 0)), expected);
        if !expected.iter().any(|event| event.kind == SimEventKind::Miss) {
            for policy in POLICIES {
                assert_eq!(log(of(policy, u64::from(round % 3 == 0))), expected);
            }
        }
    }
}

#[test]
fn what_is_no_limit() {
    let set = set(SchedulingPolicy::Edf, vec![task(1, 10, plain(1))]);
    let rules = Rules::all(&set, LocalRule::Srp, GlobalRule::Msrp);
    let refused =
        |limit: (usize, Limit)| Simulation::new(&set, &rules).expect("fits").limited(&[limit]).err();
    assert_eq!(refused((1, limit(Overrun::RunOn, 1))), Some(RulesFault::Limit { task: 1 }));
    let none = Limit { overrun: Overrun::RunOn, budget: Some(Duration::ZERO) };
    assert_eq!(refused((0, none)), Some(RulesFault::Limit { task: 0 }));
    assert_eq!(refused((0, limit(Overrun::KillJob, 0))), None);
}

/// Two cores, local and global resources, any rules, any limits: the rules refuse nothing, all jobs end, and no job
/// that keeps its budget is ended early.
#[test]
fn limits_under_all_rules() {
    let mut random = Random(0x0611_0ba1);
    let globals = [GlobalRule::Msrp, GlobalRule::Mpcp, GlobalRule::FmlpLong];
    let mut happened = [0; 3];
    for round in 0..900 {
        let global = globals[round % 3];
        let cores = [
            LocalRule::Immediate,
            LocalRule::Original,
            LocalRule::Srp,
            LocalRule::DfpByClock { jitter: None },
        ];
        let core = cores[if global == GlobalRule::Msrp { round / 3 % 4 } else { round / 3 % 3 }];
        let drawn = drawn(&mut random, SchedulingPolicy::FixedPriority, true);
        let mut tasks = drawn.tasks().to_vec();
        tasks.iter_mut().for_each(|task| task.core = random.below(2) as usize);
        let set = TaskSet::new(vec![SchedulingPolicy::FixedPriority; 2], drawn.resources().to_vec(), tasks)
            .expect("valid");
        let faulty: Vec<_> = set.tasks().iter().map(|_| random.below(2) == 0).collect();
        let scenario = scenario(&mut random, &set, &faulty);
        let rules = Rules::all(&set, core, global);
        let mut limits = Vec::new();
        for (at, faulty) in faulty.iter().enumerate() {
            let policy = [0, 1, 2, 4].map(|at| POLICIES[at])[random.below(4) as usize];
            // Tasks that are not faulty may spin for longer than they execute.
            let cost = if *faulty { 1 + random.below(set.cost(at).as_ns()) } else { 10_000 };
            limits.push((at, limit(policy, if random.below(4) == 0 { 0 } else { cost })));
        }
        let simulation = Simulation::new(&set, &rules).expect("fits");
        let mut simulation = simulation.limited(&limits).expect("fits");
        let mut held = [None; 2];
        let mut check = |event: SimEvent| match event.kind {
            SimEventKind::Locked(resource) => assert_eq!(held[resource].replace(event.task), None),
            SimEventKind::Unlock(resource) => assert_eq!(held[resource].take(), Some(event.task)),
            SimEventKind::Kill | SimEventKind::Complete { .. } => assert!(!held.contains(&Some(event.task))),
            _ => {}
        };
        let outcome = simulation.run(&scenario, &mut check).expect("fits");
        assert_eq!(outcome.end, RunEnd::Complete, "{core:?} {global:?} {limits:?}");
        for task in &outcome.tasks {
            assert_eq!(task.released, task.completed + task.killed);
            let counts = [task.killed, task.exhausted, task.dropped];
            happened.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
    }
    println!("killed, exhausted, dropped: {happened:?}");
    assert!(happened.iter().all(|count| *count > 500));
}
