// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Random small systems, planned and run: no job takes longer than the plan says.

mod drafts;

use drafts::{Edit, empty, periodic, real_time};
use taut_model::{
    ArrivalDraft, BestEffort, ClassDraft, Draft, Locking, Overheads, Scheduler, SectionDraft, SegmentDraft,
    ServerDraft, ServerPolicy, Shared, TaskDraft, TaskSet,
};
use taut_plan::{ClassPlan, Plan};
use taut_sim::{
    CoreRule, End, Execution, GlobalRule, Jitter, Placement, Rules, Scenario, Simulation, Start, server,
};
use taut_time::Duration;

/// Numbers that a seed determines: SplitMix64.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, from: u64, to: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        from + (z ^ (z >> 31)) % (to - from + 1)
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.next(1, 100) <= percent
    }
}

/// Long against the platform probe, which no run has, so that bounds are not far from what can happen.
fn s(seconds: u64) -> Duration {
    Duration::from_ms(seconds * 1_000)
}

fn system(cores: u16, scheduler: Scheduler, tasks: Vec<TaskDraft>) -> Draft {
    let mut draft = empty(&(0..cores).collect::<Vec<_>>());
    let zero = Duration::ZERO;
    draft.platform.overheads =
        Overheads { release: zero, context_switch: zero, kernel_blocking: zero, lock: zero };
    draft.platform.scheduler = scheduler;
    draft.tasks = tasks;
    draft
}

/// A periodic task on a core, its times in seconds.
fn task(name: usize, core: u16, cost: u64, period: u64, deadline: u64, jitter: u64) -> TaskDraft {
    periodic(&format!("t{name}"), "1s", "1s", "1s").with(|task| {
        task.arrival = ArrivalDraft::Periodic { period: s(period), offset: Duration::ZERO };
        (task.deadline, task.wcet.value, task.jitter) = (s(deadline), s(cost), s(jitter));
        task.core = Some(core);
    })
}

fn share(draft: &mut Draft, numbers: &mut Numbers, protocol: impl Fn(&mut Numbers) -> Option<Locking>) {
    draft.resources =
        ["a", "b"].map(|name| Shared { name: name.into(), protocol: protocol(numbers) }).to_vec();
    for task in &mut draft.tasks {
        let task = real_time(task);
        let mut left = task.wcet.value;
        for resource in ["a", "b"] {
            let longest = s(numbers.next(1, 3));
            if longest <= left && numbers.chance(50) {
                left = left.saturating_sub(longest);
                task.sections.push(SectionDraft { resource: resource.into(), longest, count: 1 });
            }
        }
    }
}

/// The rules of a plan.
fn rules(plan: &Plan, set: &TaskSet) -> Rules {
    let mut rules = Rules::of(set, GlobalRule::Msrp);
    for (rule, resource) in rules.resources.iter_mut().zip(&plan.resources) {
        match resource.protocol {
            Locking::Mpcp => *rule = GlobalRule::Mpcp,
            Locking::FmlpPlus => *rule = GlobalRule::FmlpLong,
            Locking::Dfp => rules.cores.fill(CoreRule::Dfp { jitter: None }),
            Locking::Srp | Locking::Msrp => {}
        }
    }
    rules
}

/// What came of some systems.
#[derive(Debug, Default)]
struct Seen {
    /// Systems with a proof.
    proven: u32,
    /// Bounds that some run attained, but for what runs do not have: to a hundredth and the probe.
    attained: u32,
    bounds: u32,
}

/// Plans a system, and runs it some times. How many bounds are by offsets.
fn check(draft: &Draft, runs: u32, numbers: &mut Numbers, seen: &mut Seen) -> u32 {
    let mut by_offsets = 0;
    let (Some(model), _) = draft.clone().build() else { return 0 };
    let plan = Plan::make(&model, Vec::new()).plan;
    seen.proven += u32::from(plan.proven);
    let set = Plan::task_set(&model).expect("small");
    let mut simulation = Simulation::new(&set, &rules(&plan, &set)).expect("valid");
    let mut longest = vec![Duration::ZERO; set.tasks().len()];
    for run in 0..runs {
        let jitters = [Jitter::Random, Jitter::First, Jitter::Full, Jitter::None];
        let placements = [Placement::Random, Placement::Front, Placement::Back, Placement::Even];
        let scenario = Scenario {
            seed: numbers.next(0, u64::MAX - 1),
            start: if run == 0 { Start::Critical } else { Start::Random },
            jitter: jitters[numbers.next(0, 3) as usize],
            placement: placements[numbers.next(0, 3) as usize],
            execution: if run % 4 == 3 { Execution::Random { least_percent: 30 } } else { Execution::Full },
            ..Scenario::worst(s(400))
        };
        let outcome = simulation.run(&scenario, &mut ()).expect("it fits");
        assert_eq!(outcome.end, End::Complete);
        outcome.tasks.iter().zip(&mut longest).for_each(|(task, longest)| {
            *longest = task.response_max.max(*longest);
        });
    }
    for (task, longest) in plan.tasks.iter().zip(longest) {
        let ClassPlan::RealTime { response: Some(response), terms, test, .. } = &task.class else { continue };
        assert!(longest <= *response, "{}: {longest} seen, {response} planned\n{set:#?}", task.name);
        let sum = terms.iter().try_fold(Duration::ZERO, |sum, term| sum.checked_add(term.time));
        assert_eq!(sum, Some(*response), "{}: {terms:?}", task.name);
        by_offsets += u32::from(test.contains("with offsets"));
        seen.bounds += 1;
        seen.attained += u32::from(longest.as_ns() / 100 * 102 >= response.as_ns());
    }
    by_offsets
}

/// Systems of two or three tasks a core.
fn tasks(
    cores: u16,
    numbers: &mut Numbers,
    deadline: impl Fn(&mut Numbers, u64, u64) -> u64,
) -> Vec<TaskDraft> {
    let mut tasks = Vec::new();
    for core in 0..cores {
        for _ in 0..numbers.next(2, 3) {
            let period = numbers.next(10, 30);
            let cost = numbers.next(1, 7);
            let deadline = deadline(numbers, cost, period);
            let jitter = if numbers.chance(50) { 0 } else { numbers.next(0, (deadline - cost).min(6)) };
            tasks.push(task(tasks.len(), core, cost, period, deadline, jitter));
        }
    }
    tasks
}

#[test]
fn edf() {
    let (mut numbers, mut seen) = (Numbers(1), Seen::default());
    for round in 0..400u64 {
        let cores = 1 + u16::from(round % 2 == 1);
        let tasks =
            tasks(cores, &mut numbers, |numbers, cost, period| numbers.next(cost.max(period / 2), period));
        let mut draft = system(cores, Scheduler::Edf, tasks);
        match round % 4 {
            0 => {}
            1 => share(&mut draft, &mut numbers, |_| None),
            2 => share(&mut draft, &mut numbers, |_| Some(Locking::Dfp)),
            _ => share(&mut draft, &mut numbers, |_| None),
        }
        check(&draft, 12, &mut numbers, &mut seen);
    }
    assert!(seen.proven > 100 && seen.attained * 3 > seen.bounds, "{seen:?}");
}

#[test]
fn fixed_priority_with_deadlines_of_any_length() {
    let (mut numbers, mut seen) = (Numbers(2), Seen::default());
    for round in 0..400u64 {
        let cores = 1 + u16::from(round % 4 == 3);
        let tasks = tasks(cores, &mut numbers, |numbers, cost, period| {
            numbers.next(cost.max(period / 2), 4 * period)
        });
        let mut draft = system(cores, Scheduler::FixedPriority, tasks);
        if round % 2 == 1 {
            share(&mut draft, &mut numbers, |_| None);
        }
        check(&draft, 12, &mut numbers, &mut seen);
    }
    assert!(seen.proven > 100 && seen.attained * 3 > seen.bounds, "{seen:?}");
}

#[test]
fn edf_with_deadlines_of_any_length() {
    let (mut numbers, mut seen) = (Numbers(3), Seen::default());
    for round in 0..300u64 {
        let cores = 1 + u16::from(round % 3 == 2);
        let tasks = tasks(cores, &mut numbers, |numbers, cost, period| {
            numbers.next(cost.max(period / 2), 4 * period)
        });
        let mut draft = system(cores, Scheduler::Edf, tasks);
        if round % 3 != 0 {
            share(&mut draft, &mut numbers, |numbers| {
                (numbers.chance(30) && cores == 1).then_some(Locking::Dfp)
            });
        }
        check(&draft, 12, &mut numbers, &mut seen);
    }
    assert!(seen.proven > 100 && seen.attained * 3 > seen.bounds, "{seen:?}");
}

/// Runs go by the offsets: without a common start the bounds would not hold.
#[test]
fn offsets() {
    let (mut numbers, mut seen) = (Numbers(4), Seen::default());
    let mut with_offsets = 0;
    for _ in 0..400 {
        let mut tasks = tasks(1, &mut numbers, |numbers, cost, _| numbers.next(cost, cost + 4));
        for task in &mut tasks {
            let task = real_time(task);
            let period = s([10, 15, 20, 20][numbers.next(0, 3) as usize]);
            task.arrival = ArrivalDraft::Periodic { period, offset: s(numbers.next(0, 19)) };
            if numbers.chance(20) {
                task.deadline = s(numbers.next(20, 40));
            }
        }
        let draft = system(1, Scheduler::FixedPriority, tasks);
        with_offsets += check(&draft, 12, &mut numbers, &mut seen);
    }
    assert!(with_offsets > 50 && seen.attained * 3 > seen.bounds, "{with_offsets} of {seen:?}");
}

/// Parts of a job of so many seconds, nested up to twice.
fn parts(seconds: u64, open: &[&str], numbers: &mut Numbers) -> Vec<SegmentDraft> {
    let mut left = seconds;
    let mut parts = Vec::new();
    while left > 0 {
        let run = numbers.next(1, left.min(3));
        left -= run;
        let hold = match open {
            [] => None,
            open => numbers.chance(60).then(|| open[numbers.next(0, open.len() as u64 - 1) as usize]),
        };
        let nests = hold.is_some() && numbers.chance(50);
        let inside: Vec<&str> = open.iter().copied().filter(|name| Some(*name) != hold).collect();
        parts.push(SegmentDraft {
            hold: hold.map(str::to_owned),
            run: (!nests).then_some(s(run)),
            segments: if nests { self::parts(run, &inside, numbers) } else { Vec::new() },
        });
    }
    parts
}

#[test]
fn segments() {
    let (mut numbers, mut seen) = (Numbers(5), Seen::default());
    for round in 0..400u64 {
        let cores = 1 + u16::from(round % 4 == 3);
        let scheduler = if round % 2 == 0 { Scheduler::FixedPriority } else { Scheduler::Edf };
        let tasks =
            tasks(cores, &mut numbers, |numbers, cost, period| numbers.next(cost.max(period / 2), period));
        let mut draft = system(cores, scheduler, tasks);
        let protocol = (scheduler == Scheduler::Edf && cores == 1 && round % 3 == 0).then_some(Locking::Dfp);
        draft.resources = ["a", "b", "c"].map(|name| Shared { name: name.into(), protocol }).to_vec();
        for task in &mut draft.tasks {
            let task = real_time(task);
            let seconds = task.wcet.value.as_ns() / 1_000_000_000;
            let used = numbers.next(0, seconds);
            // Those of several cores do not nest.
            let open: &[&str] = if cores == 1 { &["a", "b", "c"] } else { &["a"] };
            task.segments = parts(used, open, &mut numbers);
        }
        check(&draft, 12, &mut numbers, &mut seen);
    }
    assert!(seen.proven > 100 && seen.attained * 3 > seen.bounds, "{seen:?}");
}

#[test]
fn servers() {
    let mut numbers = Numbers(6);
    let (mut proven, mut near, mut bounds) = (0, 0, 0);
    for _ in 0..500 {
        let tasks =
            tasks(1, &mut numbers, |numbers, cost, period| numbers.next(cost.max(period / 2), period));
        let mut draft = system(1, Scheduler::FixedPriority, tasks);
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
        let plan = Plan::make(&model, Vec::new()).plan;
        proven += u32::from(plan.proven);
        let found = &plan.servers[0];
        // The core without what stands for the server, and a server with more and more to do beside it.
        let set = Plan::task_set(&model).expect("small");
        let mut tasks = set.tasks().to_vec();
        assert_eq!(tasks.pop().map(|last| last.name), Some("server s".to_owned()));
        let set = TaskSet::new(set.cores().to_vec(), Vec::new(), tasks).expect("a part of one");
        let mut longest = vec![Duration::ZERO; set.tasks().len()];
        for run in 0..12 {
            let kind = match policy {
                ServerPolicy::Polling => server::Kind::Polling,
                ServerPolicy::Deferrable => server::Kind::Deferrable,
                ServerPolicy::Sporadic => server::Kind::Sporadic,
            };
            let start = Duration::from_ns(numbers.next(0, period.as_ns()));
            let priority = found.priority.into();
            let one = server::Server { kind, priority, budget, period, start };
            // Bursts; or requests of a budget, far apart but for what one takes before.
            let alone = run % 3 == 0;
            let mut requests = Vec::new();
            let mut arrival = Duration::ZERO;
            while arrival < s(300) {
                let cost = if alone { budget } else { s(numbers.next(1, 3)) };
                requests.push(server::Request { arrival, cost });
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
    assert!(proven > 100 && near * 3 > bounds, "{proven} proven, {near} of {bounds}");
}

/// A real-time task that is alone in a server: requests that come as its jobs do.
#[test]
fn a_task_in_a_server() {
    let mut numbers = Numbers(7);
    let (mut shown, mut near) = (0, 0);
    for _ in 0..500 {
        let tasks =
            tasks(1, &mut numbers, |numbers, cost, period| numbers.next(cost.max(period / 2), period));
        let mut draft = system(1, Scheduler::FixedPriority, tasks);
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
        let plan = Plan::make(&model, Vec::new()).plan;
        let served = &plan.tasks[plan.tasks.len() - 1];
        let ClassPlan::RealTime { response: Some(response), wcet, terms, .. } = &served.class else {
            continue;
        };
        let sum = terms.iter().try_fold(Duration::ZERO, |sum, term| sum.checked_add(term.time));
        assert_eq!(sum, Some(*response), "{terms:?}");
        let set = Plan::task_set(&model).expect("small");
        let mut tasks = set.tasks().to_vec();
        tasks.pop();
        let set = TaskSet::new(set.cores().to_vec(), Vec::new(), tasks).expect("a part of one");
        let mut longest = Duration::ZERO;
        for run in 0..16 {
            let kind = match policy {
                ServerPolicy::Polling => server::Kind::Polling,
                ServerPolicy::Deferrable => server::Kind::Deferrable,
                ServerPolicy::Sporadic => server::Kind::Sporadic,
            };
            let start = Duration::from_ns(numbers.next(0, all.1.as_ns()));
            let priority = plan.servers[0].priority.into();
            let one = server::Server { kind, priority, budget: all.0, period: all.1, start };
            let first = numbers.next(0, 20_000);
            let delays: Vec<Duration> = (0..300 / every)
                .map(|k| {
                    Duration::from_ms(if k == 0 { jitter * 1_000 } else { numbers.next(0, jitter * 1_000) })
                })
                .collect();
            let at = |(k, delay): (u64, &Duration)| server::Request {
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
    assert!(shown > 100 && near * 5 > shown, "{near} of {shown}");
}
