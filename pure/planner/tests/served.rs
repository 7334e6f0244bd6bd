// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Random cores with a server, planned and run: no job and no request takes longer than the plan says.

mod drafts;
mod systems;

use drafts::{Edit, queue};
use systems::{Numbers, Seen, check, s, share, system, task, tasks};
use taut_model::{
    ArrivalDraft, BestEffort, ClassDraft, NO_DEADLINE, SchedulingPolicy, ServerDraft, ServerPolicy,
    TaskDraft, TaskSet, TriggerDraft,
};
use taut_plan::ClassPlan;
use taut_planner::Planned;
use taut_sim::{Jitter, Scenario, server};
use taut_time::Duration;

#[test]
fn servers() {
    let mut numbers = Numbers(6);
    let (mut proven, mut near, mut bounds) = (0, 0, 0);
    for _ in 0..120 {
        let tasks =
            tasks(1, &mut numbers, |numbers, cost, period| numbers.next(cost.max(period / 2), period));
        let mut draft = system(1, SchedulingPolicy::FixedPriority, tasks);
        let policies = [ServerPolicy::Polling, ServerPolicy::Deferrable, ServerPolicy::Sporadic];
        let policy = policies[numbers.next(0, 2) as usize];
        let (budget, period) = (s(numbers.next(1, 4)), s(numbers.next(6, 20)));
        draft.servers.push(ServerDraft {
            name: "s".into(),
            policy,
            budget,
            period,
            core: None,
            priority: None,
        });
        draft.tasks.push(TaskDraft {
            name: "answers".into(),
            service: None,
            class: ClassDraft::BestEffort(BestEffort { min_gap: None, server: Some("s".into()) }),
        });
        let (Some(model), _) = draft.build() else { continue };
        let plan = Planned::make(&model, Vec::new()).plan;
        proven += u32::from(plan.proven);
        let found = &plan.servers[0];
        // The core without the task that stands for the server, and a server with more and more work beside it.
        let set = taut_planner::task_set(&model).expect("small");
        let mut tasks = set.tasks().to_vec();
        assert_eq!(tasks.pop().map(|last| last.name), Some("server s".to_owned()));
        let set = TaskSet::new(set.cores().to_vec(), Vec::new(), tasks).expect("a part of one");
        let mut longest = vec![Duration::ZERO; set.tasks().len()];
        for run in 0..12 {
            let start = Duration::from_ns(numbers.next(0, period.as_ns()));
            let priority = found.priority.into();
            let one = server::SimServer { policy, priority, budget, period, start };
            // Bursts; or requests of a whole budget, so far apart that none waits for the one before.
            let alone = run % 3 == 0;
            let mut requests = Vec::new();
            let mut arrival = Duration::ZERO;
            while arrival < s(300) {
                let cost = if alone { budget } else { s(numbers.next(1, 3)) };
                requests.push(server::ServerRequest { arrival, cost });
                let gap = if alone { s(60) } else { Duration::from_ms(numbers.next(0, 15_000)) };
                arrival = arrival.checked_add(gap).unwrap();
            }
            let jitter = if run % 2 == 0 { Jitter::Random } else { Jitter::First };
            let scenario = Scenario { seed: numbers.next(0, 1 << 40), jitter, ..Scenario::worst(s(300)) };
            let seen = server::run(&set, 0, &one, &requests, &scenario).expect("valid");
            longest.iter_mut().zip(&seen.tasks).for_each(|(longest, task)| *longest = *task.max(longest));
            if let (Some(served), true) = (found.served, alone) {
                let most = seen.requests.iter().max().copied().unwrap_or_default();
                assert!(most <= served, "{most} seen, {served} planned: {found:?} {set:#?}");
            }
        }
        for (task, longest) in plan.tasks.iter().zip(longest) {
            let ClassPlan::RealTime { response: Some(response), .. } = &task.class else { continue };
            assert!(
                longest <= *response,
                "{}: {longest} seen, {response} planned {found:?} {set:#?}",
                task.name
            );
            bounds += 1;
            near += u32::from(longest.as_ns() / 100 * 102 >= response.as_ns());
        }
    }
    assert!(proven > 25 && near * 3 > bounds, "{proven} proven, {near} of {bounds}");
}

/// Servers beside tasks that lock. To those and to other servers, a server is a task that uses all of its budget.
#[test]
fn servers_beside_locks() {
    let mut numbers = Numbers(11);
    for (cores, policies) in [
        (1, [ServerPolicy::Polling, ServerPolicy::Deferrable, ServerPolicy::Sporadic].as_slice()),
        (2, &[ServerPolicy::Polling, ServerPolicy::Sporadic]),
    ] {
        let mut seen = Seen::default();
        for _ in 0..100 {
            let tasks = tasks(cores, &mut numbers, |numbers, cost, period| {
                numbers.next(cost.max(period / 2), period)
            });
            let mut draft = system(cores, SchedulingPolicy::FixedPriority, tasks);
            share(&mut draft, &mut numbers, |_| None);
            for at in 0..numbers.next(1, 2) {
                let name = format!("s{at}");
                draft.servers.push(ServerDraft {
                    name: name.clone(),
                    policy: policies[numbers.next(0, policies.len() as u64 - 1) as usize],
                    budget: s(numbers.next(1, 3)),
                    period: s(numbers.next(8, 30)),
                    core: Some(0),
                    priority: None,
                });
                draft.tasks.push(TaskDraft {
                    name: format!("answers-{at}"),
                    service: None,
                    class: ClassDraft::BestEffort(BestEffort { min_gap: None, server: Some(name) }),
                });
            }
            check(&draft, 12, &mut numbers, &mut seen);
        }
        println!("{cores} cores: {seen:?}");
        assert!(seen.proven > 10 && seen.served > 40 && seen.attained * 5 > seen.bounds, "{seen:?}");
    }
}

/// A real-time task alone in a server: its requests arrive as its jobs do.
#[test]
fn a_task_in_a_server() {
    let mut numbers = Numbers(7);
    let (mut shown, mut near) = (0, 0);
    for _ in 0..120 {
        let tasks =
            tasks(1, &mut numbers, |numbers, cost, period| numbers.next(cost.max(period / 2), period));
        let mut draft = system(1, SchedulingPolicy::FixedPriority, tasks);
        let policies = [ServerPolicy::Polling, ServerPolicy::Deferrable, ServerPolicy::Sporadic];
        let policy = policies[numbers.next(0, 2) as usize];
        let (budget, period) = (numbers.next(1, 4), numbers.next(6, 12));
        let (name, all) = ("s".to_owned(), (s(budget), s(period)));
        let priority = numbers.chance(50).then_some(98);
        draft.servers.push(ServerDraft {
            name,
            policy,
            budget: all.0,
            period: all.1,
            core: Some(0),
            priority,
        });
        let (every, jitter) = (numbers.next(10, 60), numbers.next(0, 4));
        draft.tasks.push(task(99, 0, numbers.next(1, 6), every, 80, jitter).with(|task| {
            (task.core, task.server) = (None, Some("s".into()));
        }));
        let (Some(model), _) = draft.build() else { continue };
        let plan = Planned::make(&model, Vec::new()).plan;
        let served = &plan.tasks[plan.tasks.len() - 1];
        let ClassPlan::RealTime { response: Some(response), wcet, terms, .. } = &served.class else {
            continue;
        };
        let sum = terms.iter().try_fold(Duration::ZERO, |sum, term| sum.checked_add(term.time));
        assert_eq!(sum, Some(*response), "{terms:?}");
        let set = taut_planner::task_set(&model).expect("small");
        let mut tasks = set.tasks().to_vec();
        tasks.pop();
        let set = TaskSet::new(set.cores().to_vec(), Vec::new(), tasks).expect("a part of one");
        let mut longest = Duration::ZERO;
        for run in 0..16 {
            let start = Duration::from_ns(numbers.next(0, all.1.as_ns()));
            let priority = plan.servers[0].priority.into();
            let one = server::SimServer { policy, priority, budget: all.0, period: all.1, start };
            let first = numbers.next(0, 20_000);
            let delays: Vec<Duration> = (0..300 / every)
                .map(|k| {
                    Duration::from_ms(if k == 0 { jitter * 1_000 } else { numbers.next(0, jitter * 1_000) })
                })
                .collect();
            let at = |(k, delay): (u64, &Duration)| server::ServerRequest {
                arrival: Duration::from_ms(first + k * every * 1_000).checked_add(*delay).unwrap(),
                cost: *wcet,
            };
            let requests: Vec<_> = (0..).zip(&delays).map(at).collect();
            let jitter = if run % 2 == 0 { Jitter::Random } else { Jitter::First };
            let scenario = Scenario { seed: numbers.next(0, 1 << 40), jitter, ..Scenario::worst(s(300)) };
            let seen = server::run(&set, 0, &one, &requests, &scenario).expect("valid");
            for (seen, delay) in seen.requests.iter().zip(&delays) {
                longest = longest.max(seen.checked_add(*delay).unwrap());
            }
        }
        assert!(longest <= *response, "{longest} seen, {response} planned {:?} {set:#?}", plan.servers);
        shown += 1;
        near += u32::from(longest.as_ns() / 100 * 125 >= response.as_ns());
    }
    assert!(shown > 25 && near * 5 > shown, "{near} of {shown}");
}

/// An aperiodic task: values that come at once are handled within the bound for what is in front of the last one, beside the time
/// in which the dispatcher does not listen.
#[test]
fn an_aperiodic_task() {
    let mut numbers = Numbers(8);
    let (mut shown, mut near) = (0, 0);
    for _ in 0..120 {
        let tasks =
            tasks(1, &mut numbers, |numbers, cost, period| numbers.next(cost.max(period / 2), period));
        let mut draft = system(1, SchedulingPolicy::FixedPriority, tasks);
        let policies = [ServerPolicy::Polling, ServerPolicy::Deferrable, ServerPolicy::Sporadic];
        let policy = policies[numbers.next(0, 2) as usize];
        let (budget, period) = (s(numbers.next(1, 4)), s(numbers.next(6, 12)));
        draft.servers.push(ServerDraft {
            name: "s".into(),
            policy,
            budget,
            period,
            core: Some(0),
            priority: numbers.chance(50).then_some(98),
        });
        draft.tasks.push(task(99, 0, numbers.next(1, 6), 1, 1, 0).with(|task| {
            let triggers = vec![TriggerDraft { channel: "orders".into(), key: "aperiodic.0".into() }];
            task.arrival = ArrivalDraft::Aperiodic { triggers };
            (task.core, task.server, task.deadline) = (None, Some("s".into()), NO_DEADLINE);
        }));
        draft.tasks.push(TaskDraft {
            name: "asks".into(),
            service: None,
            class: ClassDraft::BestEffort(BestEffort::default()),
        });
        draft.channels.push(queue("orders", "asks", "t99", "Sample", Some(6)));
        let (Some(model), faults) = draft.build() else { panic!("a manifest") };
        assert!(faults.is_empty(), "{faults:?}");
        let plan = Planned::make(&model, Vec::new()).plan;
        let found = &plan.servers[0];
        if !plan.proven {
            continue;
        }
        assert_eq!(found.backlog.iter().map(|of| of.behind).collect::<Vec<_>>(), [0, 1, 3, 5]);
        let whole = found.backlog[3].within;
        assert_eq!(plan.channels[0].latency, Some(whole), "what is behind five others fills the queue");
        let ClassPlan::RealTime { wcet, response: Some(alone), .. } = &plan.tasks[plan.tasks.len() - 2].class
        else {
            panic!("a bound")
        };
        let set = taut_planner::task_set(&model).expect("small");
        let mut tasks = set.tasks().to_vec();
        tasks.pop();
        let set = TaskSet::new(set.cores().to_vec(), Vec::new(), tasks).expect("a part of one");
        // A value is behind those that wait and the one in progress.
        for (count, within) in [(1, *alone)]
            .into_iter()
            .chain(found.backlog.iter().map(|of| (of.behind + 2, of.within.saturating_sub(period))))
        {
            let mut longest = Duration::ZERO;
            for run in 0..8 {
                let start = Duration::from_ns(numbers.next(0, period.as_ns()));
                let one =
                    server::SimServer { policy, priority: found.priority.into(), budget, period, start };
                let mut requests = Vec::new();
                let mut arrival = Duration::from_ms(numbers.next(0, 20_000));
                while arrival < s(2_000) {
                    requests.extend((0..count).map(|_| server::ServerRequest { arrival, cost: *wcet }));
                    let gap = Duration::from_ns(numbers.next(0, period.as_ns()));
                    arrival = arrival.checked_add(whole).and_then(|at| at.checked_add(gap)).unwrap();
                }
                let jitter = if run % 2 == 0 { Jitter::Random } else { Jitter::First };
                let scenario =
                    Scenario { seed: numbers.next(0, 1 << 40), jitter, ..Scenario::worst(s(2_100)) };
                let seen = server::run(&set, 0, &one, &requests, &scenario).expect("valid");
                longest = longest.max(seen.requests.iter().max().copied().unwrap_or_default());
            }
            assert!(longest <= within, "{count}: {longest} seen, {within} planned {found:?} {set:#?}");
            shown += 1;
            near += u32::from(longest.as_ns() / 100 * 125 >= within.as_ns());
        }
    }
    assert!(shown > 100 && near * 4 > shown, "{near} of {shown}");
}
