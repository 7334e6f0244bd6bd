// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The search refutes wrong claims, and no right ones.

use proptest::prelude::*;
use taut_model::{ArrivalPattern, Body, Request, Resource, SchedulingPolicy, Segment, SetTask, TaskSet};
use taut_sim::{GlobalRule, Hunt, LocalRule, Rules, Simulation, Witness, is_legal};
use taut_time::Duration;

fn us(us: u64) -> Duration {
    Duration::from_us(us)
}

fn task(core: usize, priority: u32, cost: u64, period: u64, sections: &[(usize, u32, u64)]) -> SetTask {
    let request = |&(resource, count, length): &(usize, u32, u64)| Request {
        resource,
        count,
        length: us(length),
        outermost: true,
    };
    SetTask {
        name: format!("{core}/{priority}"),
        core,
        priority,
        arrivals: ArrivalPattern::Sporadic,
        period: us(period),
        deadline: us(period),
        jitter: Duration::ZERO,
        body: Body::Anywhere { cost: us(cost), requests: sections.iter().map(request).collect() },
    }
}

fn set(scheduler: SchedulingPolicy, resources: usize, tasks: Vec<SetTask>) -> TaskSet {
    let cores = tasks.iter().map(|task| task.core + 1).max().expect("some");
    let resource = |at: usize| Resource { name: format!("r{at}") };
    TaskSet::new(vec![scheduler; cores], (0..resources).map(resource).collect(), tasks).expect("valid")
}

/// The first witness, after a check that it is a true one.
fn hunt(set: &TaskSet, rules: &Rules, claims: &[Option<Duration>], seed: u64, runs: u64) -> Option<Witness> {
    let mut hunt = Hunt::new(set, rules, claims, seed).expect("fits");
    // Without claims there is nothing to do: the search would never reach that many runs.
    if claims.iter().all(Option::is_none) {
        return None;
    }
    while hunt.progress().witnesses.is_empty() && hunt.progress().runs < runs {
        hunt.step();
    }
    assert_eq!(hunt.progress().stuck, None);
    let witness = hunt.progress().witnesses.first()?.clone();
    assert!(is_legal(set, &witness.scenario), "{witness:?}");
    assert_eq!(Some(witness.claimed), claims[witness.task]);
    assert!(witness.reached > witness.claimed);
    let mut again = Simulation::new(set, rules).expect("fits");
    let outcome = again.run(&witness.scenario, &mut ()).expect("fits");
    assert_eq!(outcome.tasks[witness.task].response_max, witness.reached, "it is reproduced");
    Some(witness)
}

fn one(task: usize, claim: u64) -> Vec<Option<Duration>> {
    let mut claims = vec![None; task + 1];
    claims[task] = Some(us(claim));
    claims
}

/// The set of `mpcp_suspension_exceeds_the_published_jitter_term` without fixed instants: the equation of
/// [Lakshmanan09] claims 12000 for task 2. With the jitter R - C of [Chen19] the bound is 22000.
#[test]
fn lakshmanan09_claim_is_exceeded() {
    let tasks = vec![
        task(0, 4, 1_000, 2_000, &[]),
        task(0, 3, 5_000, 20_000, &[(0, 5, 10)]),
        task(0, 2, 1_000, 100_000, &[]),
        task(1, 1, 1_000, 2_000, &[(0, 1, 1_000)]),
    ];
    let set = set(SchedulingPolicy::FixedPriority, 1, tasks);
    let rules = Rules::of(&set, GlobalRule::Mpcp);
    let seeds = if cfg!(debug_assertions) { 1..2 } else { 0..10 };
    for seed in seeds {
        let witness = hunt(&set, &rules, &one(2, 12_000), seed, 1_000_000).expect("found");
        let arrivals: usize = witness.scenario.exactly.iter().map(|(_, times)| times.len()).sum();
        assert!(arrivals <= 25, "small: {arrivals}");
    }
    let runs = if cfg!(debug_assertions) { 5_000 } else { 200_000 };
    assert_eq!(
        hunt(&set, &rules, &[1_010, 20_000, 22_000, 1_100].map(|claim| Some(us(claim))), 0, runs),
        None
    );
}

/// Bounds that lack a term.
#[test]
fn what_leaves_blocking_out_is_exceeded() {
    let fixed = SchedulingPolicy::FixedPriority;
    let local = set(
        fixed,
        1,
        vec![task(0, 3, 10, 100, &[(0, 1, 5)]), task(0, 2, 20, 200, &[]), task(0, 1, 90, 900, &[(0, 1, 50)])],
    );
    let global = set(
        fixed,
        1,
        vec![
            task(0, 5, 100, 1_000, &[(0, 2, 10)]),
            task(0, 4, 200, 2_000, &[]),
            task(0, 3, 300, 4_000, &[(0, 1, 30)]),
            task(1, 2, 100, 1_000, &[(0, 1, 40)]),
            task(2, 1, 100, 1_000, &[(0, 1, 40)]),
        ],
    );
    let edf = set(
        SchedulingPolicy::Edf,
        1,
        vec![
            task(0, 0, 40, 100, &[(0, 1, 5)]),
            task(0, 0, 40, 200, &[]),
            task(0, 0, 200, 1_000, &[(0, 1, 80)]),
        ],
    );
    for (set, rules, claims) in [
        // C + ΣC, without the section of task 2.
        (&local, Rules::all(&local, LocalRule::Immediate, GlobalRule::Msrp), one(0, 10)),
        (&local, Rules::all(&local, LocalRule::Immediate, GlobalRule::Msrp), one(1, 30)),
        (&local, Rules::all(&local, LocalRule::Original, GlobalRule::Msrp), one(0, 10)),
        // Without spinning; without the pinned section of task 2; most of both. Each remote task arrives once during
        // a job.
        (&global, Rules::of(&global, GlobalRule::Msrp), one(0, 100)),
        (&global, Rules::of(&global, GlobalRule::Msrp), one(1, 300)),
        (&global, Rules::of(&global, GlobalRule::Msrp), one(0, 200)),
        (&global, Rules::of(&global, GlobalRule::Mpcp), one(0, 130)),
        (&global, Rules::of(&global, GlobalRule::Mpcp), one(1, 300)),
        (&global, Rules::of(&global, GlobalRule::FmlpLong), one(0, 170)),
        (&global, Rules::of(&global, GlobalRule::FmlpLong), one(1, 300)),
        // As if task 2 could always be preempted.
        (&edf, Rules::all(&edf, LocalRule::Srp, GlobalRule::Msrp), one(0, 100)),
        (&edf, Rules::all(&edf, LocalRule::DfpByClock { jitter: None }, GlobalRule::Msrp), one(0, 100)),
    ] {
        for seed in 0..3 {
            assert!(hunt(set, &rules, &claims, seed, 20_000).is_some(), "{rules:?} {claims:?} seed {seed}");
        }
    }
}

/// The same search again gives the same runs.
#[test]
fn a_seed_is_a_search() {
    let tasks = vec![task(0, 2, 10, 100, &[(0, 1, 5)]), task(1, 1, 90, 900, &[(0, 2, 40)])];
    let set = set(SchedulingPolicy::FixedPriority, 1, tasks);
    let rules = Rules::of(&set, GlobalRule::Msrp);
    let search = |seed| {
        let mut hunt = Hunt::new(&set, &rules, &[Some(us(49)), Some(us(1_000))], seed).expect("fits");
        (0..20).for_each(|_| _ = hunt.step());
        hunt.progress().clone()
    };
    assert_eq!(search(3), search(3));
    assert_ne!(search(3).events, search(4).events);
}

/// R with jitter of [Audsley93]: exact for a task that shares nothing and completes before its next job arrives.
fn exact(tasks: &[SetTask], cost: impl Fn(usize) -> u64, at: usize) -> Option<u64> {
    let jitter = |at: usize| tasks[at].jitter.as_ns();
    let mut window = cost(at);
    loop {
        let above = tasks.iter().enumerate().filter(|(_, other)| other.priority > tasks[at].priority);
        let jobs = |other: usize| (window + jitter(other)).div_ceil(tasks[other].period.as_ns());
        let sum = cost(at) + above.map(|(other, _)| jobs(other) * cost(other)).sum::<u64>();
        if sum + jitter(at) > tasks[at].period.as_ns() {
            return None;
        }
        if sum == window {
            return Some(sum + jitter(at));
        }
        window = sum;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// The search reaches the exact bound, and does not exceed it.
    #[test]
    fn exact_bounds_are_reached_and_not_exceeded(
        tasks in prop::collection::vec((1..40_u64, 40..400_u64, 0..30_u64), 1..5),
        seed: u64,
    ) {
        let tasks: Vec<_> = tasks
            .iter()
            .enumerate()
            .map(|(at, (cost, period, jitter))| SetTask {
                jitter: us(*jitter),
                ..task(0, at as u32, *cost, *period, &[])
            })
            .collect();
        let set = set(SchedulingPolicy::FixedPriority, 0, tasks.clone());
        let rules = Rules::of(&set, GlobalRule::Msrp);
        let bounds: Vec<_> =
            (0..tasks.len()).map(|at| exact(&tasks, |at| set.cost(at).as_ns(), at)).collect();
        let claims: Vec<_> = bounds.iter().map(|bound| bound.map(Duration::from_ns)).collect();
        prop_assert_eq!(hunt(&set, &rules, &claims, seed, 1_000), None);
        for (at, bound) in bounds.iter().enumerate() {
            let mut claims = vec![None; tasks.len()];
            claims[at] = bound.map(|bound| Duration::from_ns(bound - 1));
            prop_assert!(bound.is_none() || hunt(&set, &rules, &claims, seed, 10_000).is_some(), "task {}", at);
        }
    }

    /// Every witness is a run of the set, for all kinds of arrivals, bodies and rules.
    #[test]
    fn witnesses_are_runs_of_the_set(
        tasks in prop::collection::vec(
            (0..2_usize, 1..40_u64, 60..300_u64, 0..30_u64, 0..3_usize, 0..3_usize, any::<bool>()), 2..6),
        global in prop::sample::select(vec![GlobalRule::Msrp, GlobalRule::Mpcp, GlobalRule::FmlpLong]),
        seed: u64,
    ) {
        let tasks: Vec<_> = tasks
            .iter()
            .enumerate()
            .map(|(at, &(core, cost, period, jitter, kind, sections, fixed))| {
                let sections: Vec<_> = (0..sections).map(|resource| (resource, 1, 5)).collect();
                let mut task = task(core, at as u32, cost + 10, period, &sections);
                task.jitter = us(jitter);
                task.arrivals = match kind {
                    0 => ArrivalPattern::Periodic,
                    1 => ArrivalPattern::Phased(us(period / 3)),
                    _ => ArrivalPattern::Sporadic,
                };
                if fixed {
                    let section = |resource| Segment::Section { resource, inside: vec![Segment::Normal(us(5))] };
                    let mut segments = vec![Segment::Normal(us(cost))];
                    segments.extend(sections.iter().map(|(resource, ..)| section(*resource)));
                    task.body = Body::Segments(segments);
                }
                task
            })
            .collect();
        let set = set(SchedulingPolicy::FixedPriority, 2, tasks);
        // A claim that every task exceeds sooner or later: its cost.
        for at in 0..set.tasks().len() {
            let mut claims = vec![None; set.tasks().len()];
            claims[at] = Some(set.cost(at));
            hunt(&set, &Rules::of(&set, global), &claims, seed, 300);
        }
    }
}
