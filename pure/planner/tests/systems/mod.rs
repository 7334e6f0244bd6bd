// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Random small systems, and a check of their plans against runs.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

use taut_model::{
    ArrivalDraft, BestEffort, ClassDraft, Draft, LockingProtocol, OverheadSources, Overheads, Overrun,
    SchedulingPolicy, SectionDraft, ServerDraft, ServerPolicy, Shared, TaskDraft, TaskSet,
};
use taut_plan::{ClassPlan, Plan};
use taut_planner::Planned;
use taut_sim::{Execution, Jitter, LocalRule, Placement, Rules, RunEnd, Scenario, Simulation, Start};
use taut_time::Duration;

use crate::drafts::{Edit, empty, periodic, real_time};

/// Random numbers that a seed determines: SplitMix64.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self, from: u64, to: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        from + (z ^ (z >> 31)) % (to - from + 1)
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.next(1, 100) <= percent
    }
}

/// Long compared with the platform probe, which no run has, so that bounds are not far from what can happen.
pub fn s(seconds: u64) -> Duration {
    Duration::from_ms(seconds * 1_000)
}

pub fn system(cores: u16, scheduler: SchedulingPolicy, tasks: Vec<TaskDraft>) -> Draft {
    let mut draft = empty(&(0..cores).collect::<Vec<_>>());
    let zero = Duration::ZERO;
    draft.platform.overheads = Overheads {
        release: zero,
        context_switch: zero,
        kernel_blocking: zero,
        lock: zero,
        sources: OverheadSources::default(),
        copy: zero,
        device: zero,
    };
    draft.platform.scheduler = scheduler;
    draft.tasks = tasks;
    draft
}

/// A periodic task on a core, its times in seconds.
pub fn task(name: usize, core: u16, cost: u64, period: u64, deadline: u64, jitter: u64) -> TaskDraft {
    periodic(&format!("t{name}"), "1s", "1s", "1s").with(|task| {
        task.arrival = ArrivalDraft::Periodic { period: s(period), offset: Duration::ZERO };
        (task.deadline, task.wcet.value, task.jitter) = (s(deadline), s(cost), s(jitter));
        task.core = Some(core);
    })
}

pub fn share(
    draft: &mut Draft,
    numbers: &mut Numbers,
    protocol: impl Fn(&mut Numbers) -> Option<LockingProtocol>,
) {
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

/// The simulator's rules for a plan; floors count from the clock, as the analysis has them.
pub fn rules(plan: &Plan, set: &TaskSet) -> Rules {
    let mut rules = taut_sim::planned::rules(plan, set);
    for rule in rules.cores.iter_mut().filter(|rule| **rule == LocalRule::Dfp) {
        *rule = LocalRule::DfpByClock { jitter: None };
    }
    rules
}

/// Counts over some systems.
#[derive(Debug, Default)]
pub struct Seen {
    /// Systems with a proof.
    pub proven: u32,
    /// Bounds that some run attained, to within two percent, since runs have no probe.
    pub attained: u32,
    pub bounds: u32,
    /// Servers that are shown to get their budget.
    pub served: u32,
}

/// Plans a system, and runs it some times. Returns how many bounds are by offsets.
pub fn check(draft: &Draft, runs: u32, numbers: &mut Numbers, seen: &mut Seen) -> u32 {
    let mut by_offsets = 0;
    let (Some(model), _) = draft.clone().build() else { return 0 };
    let Planned { plan, model, .. } = Planned::make(&model, Vec::new());
    seen.proven += u32::from(plan.proven);
    let set = taut_planner::task_set(&model).expect("small");
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
        assert_eq!(outcome.end, RunEnd::Complete);
        outcome.tasks.iter().zip(&mut longest).for_each(|(task, longest)| {
            *longest = task.response_max.max(*longest);
        });
    }
    // The set has servers last, as tasks that may be released late by their back-to-back effect.
    let first = set.tasks().len() - plan.servers.len();
    for (server, at) in plan.servers.iter().zip(first..) {
        let Some(response) = server.response else { continue };
        let most = response.checked_add(set.tasks()[at].jitter).expect("small");
        assert!(longest[at] <= most, "{}: {} seen, {most} planned\n{set:#?}", server.name, longest[at]);
        seen.served += 1;
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

/// Random systems of two or three tasks per core.
pub fn tasks(
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

/// A random small system, times from ns to hours.
pub fn any(numbers: &mut Numbers) -> Draft {
    let cores = u16::try_from(numbers.next(1, 2)).expect("few");
    let scheduler = if numbers.chance(50) { SchedulingPolicy::Edf } else { SchedulingPolicy::FixedPriority };
    let mut draft = system(cores, scheduler, Vec::new());
    if numbers.chance(50) {
        draft.platform.overheads = empty(&[0]).platform.overheads;
    }
    let servers = scheduler == SchedulingPolicy::FixedPriority && numbers.chance(30);
    for at in 0..numbers.next(1, 5) {
        let unit = 10u64.pow(u32::try_from(numbers.next(0, 12)).expect("small"));
        let period = unit * numbers.next(2, 20);
        let cost = 1 + period / numbers.next(2, 8);
        let long = numbers.chance(20);
        let deadline = if long { period * 2 } else { numbers.next(cost.min(period), period) };
        let ns = Duration::from_ns;
        draft.tasks.push(periodic(&format!("t{at}"), "1s", "1s", "1s").with(|task| {
            let offset = if numbers.chance(30) { ns(period / 2) } else { Duration::ZERO };
            task.arrival = ArrivalDraft::Periodic { period: ns(period), offset };
            (task.deadline, task.wcet.value) = (ns(deadline), ns(cost));
            task.on_overrun = Overrun::RunOn;
            task.core = numbers
                .chance(60)
                .then(|| u16::try_from(numbers.next(0, u64::from(cores) - 1)).expect("few"));
            task.non_preemptive = if numbers.chance(15) { ns(cost / 2) } else { Duration::ZERO };
            if numbers.chance(15) {
                task.jitter = ns(deadline / 4);
            }
        }));
    }
    if servers {
        let alone = numbers.chance(50);
        if alone {
            let served = real_time(&mut draft.tasks[0]);
            (served.server, served.core, served.non_preemptive) = (Some("s".into()), None, Duration::ZERO);
        } else {
            let class = ClassDraft::BestEffort(BestEffort { min_gap: None, server: Some("s".into()) });
            draft.tasks.push(TaskDraft { name: "answers".into(), service: None, class });
        }
        let period = numbers.next(1, 100);
        draft.servers.push(ServerDraft {
            name: "s".into(),
            policy: ServerPolicy::Sporadic,
            budget: Duration::from_ms(1 + period / 4),
            period: Duration::from_ms(period),
            core: None,
            priority: None,
        });
    } else if numbers.chance(40) {
        share_some(&mut draft, numbers);
    }
    draft
}

fn share_some(draft: &mut Draft, numbers: &mut Numbers) {
    draft.resources = vec![Shared { name: "bus".into(), protocol: None }];
    for task in &mut draft.tasks {
        let task = real_time(task);
        let longest = Duration::from_ns(task.wcet.value.as_ns() / 3);
        if !longest.is_zero() && numbers.chance(60) {
            task.sections.push(SectionDraft { resource: "bus".into(), longest, count: 1 });
        }
    }
}
