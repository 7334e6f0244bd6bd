// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Random sets under all rules, with the invariants asserted at every event.

use proptest::prelude::*;
use taut_model::{ArrivalPattern, Body, Request, Resource, SchedulingPolicy, Segment, SetTask, TaskSet};
use taut_sim::{
    Execution, Gaps, GlobalRule, Jitter, LocalRule, Placement, Rules, RunEnd, Scenario, SimEvent,
    SimEventKind, Simulation, Sink, Start,
};
use taut_time::Duration;

fn ns(ns: u64) -> Duration {
    Duration::from_ns(ns)
}

/// Checks what must hold in any run.
struct Checker<'a> {
    set: &'a TaskSet,
    rules: &'a Rules,
    scenario: &'a Scenario,
    now: u64,
    /// The holder of each resource.
    holder: Vec<Option<usize>>,
    /// The running task of each core.
    running: Vec<Option<usize>>,
    /// Per task: whether it spins, since when it runs, how long it has executed.
    spins: Vec<bool>,
    since: Vec<u64>,
    executed: Vec<u64>,
}

impl<'a> Checker<'a> {
    fn new(set: &'a TaskSet, rules: &'a Rules, scenario: &'a Scenario) -> Self {
        let tasks = set.tasks().len();
        Self {
            set,
            rules,
            scenario,
            now: 0,
            holder: vec![None; set.resources().len()],
            running: vec![None; set.cores().len()],
            spins: vec![false; tasks],
            since: vec![0; tasks],
            executed: vec![0; tasks],
        }
    }

    fn stops(&mut self, task: usize) {
        let core = self.set.tasks()[task].core;
        assert_eq!(self.running[core].take(), Some(task), "it stops and does not run");
        if !self.spins[task] {
            self.executed[task] += self.now - self.since[task];
        }
    }

    /// A ceiling keeps out the users of a resource that another task holds, except a task that holds a global
    /// resource: that is above all ceilings.
    fn may_run(&self, task: usize) {
        let own = &self.set.tasks()[task];
        if self.holder.iter().enumerate().any(|(at, who)| *who == Some(task) && !self.set.is_local(at)) {
            return;
        }
        for (resource, holder) in self.holder.iter().enumerate() {
            let Some(holder) = holder.filter(|holder| *holder != task) else { continue };
            if !self.set.is_local(resource) || self.set.tasks()[holder].core != own.core {
                continue;
            }
            let users = || self.set.users(resource).map(|task| &self.set.tasks()[task]);
            match self.rules.cores[own.core] {
                LocalRule::Immediate => {
                    assert!(users().all(|user| own.priority > user.priority), "the ceiling does not hold");
                }
                LocalRule::Srp => {
                    assert!(users().all(|user| own.deadline < user.deadline), "the ceiling does not hold");
                }
                _ => {}
            }
        }
    }
}

impl Sink for Checker<'_> {
    fn event(&mut self, event: SimEvent) {
        assert!(event.at.as_ns() >= self.now, "time goes back");
        self.now = event.at.as_ns();
        let task = event.task;
        let core = self.set.tasks()[task].core;
        match event.kind {
            SimEventKind::Release { .. } | SimEventKind::Drop | SimEventKind::Miss => {}
            SimEventKind::Exhausted | SimEventKind::Kill => panic!("there are no limits"),
            SimEventKind::Start | SimEventKind::Resume => {
                assert_eq!(self.running[core].replace(task), None, "two run");
                self.since[task] = self.now;
                self.may_run(task);
            }
            SimEventKind::Preempt => {
                assert!(!self.spins[task], "preempted while it spins");
                let pinned = |(at, who): (usize, &Option<usize>)| {
                    *who == Some(task)
                        && !self.set.is_local(at)
                        && self.rules.resources[at] == GlobalRule::Msrp
                };
                assert!(!self.holder.iter().enumerate().any(pinned), "preempted while it is pinned");
                self.stops(task);
            }
            SimEventKind::Suspend(_) => self.stops(task),
            SimEventKind::Spin(_) => {
                self.executed[task] += self.now - self.since[task];
                self.spins[task] = true;
            }
            SimEventKind::Locked(resource) => {
                assert_eq!(self.holder[resource].replace(task), None, "two hold a resource");
                if core::mem::take(&mut self.spins[task]) {
                    self.since[task] = self.now;
                }
            }
            SimEventKind::Unlock(resource) => assert_eq!(self.holder[resource].take(), Some(task)),
            SimEventKind::Complete { .. } => {
                self.stops(task);
                assert!(!self.holder.contains(&Some(task)), "it ends and holds something");
                let executed = core::mem::take(&mut self.executed[task]);
                let cost = self.set.cost(task).as_ns();
                assert!(executed <= cost && executed > 0);
                if self.scenario.execution == Execution::Full {
                    assert_eq!(executed, cost, "it executes as long as it says");
                }
            }
        }
    }
}

const LOCAL: usize = 2;
const GLOBAL: usize = 2;
const CORES: usize = 4;

/// Positions: the local resources of each core, then the global ones.
fn local(core: usize, which: usize) -> usize {
    core * LOCAL + which
}

fn task(core: usize) -> impl Strategy<Value = SetTask> {
    let part = prop_oneof![
        (1_u64..6).prop_map(|length| vec![Segment::Normal(ns(length))]),
        (0..LOCAL, 1_u64..4, any::<bool>()).prop_map(move |(which, length, nests)| {
            let mut inside = vec![Segment::Normal(ns(length))];
            if nests {
                let inner = Segment::Section {
                    resource: local(core, 1 - which),
                    inside: vec![Segment::Normal(ns(length))],
                };
                inside.push(inner);
            }
            vec![Segment::Section { resource: local(core, which), inside }]
        }),
        (0..GLOBAL, 1_u64..5).prop_map(|(which, length)| {
            let inside = vec![Segment::Normal(ns(length))];
            vec![Segment::Section { resource: CORES * LOCAL + which, inside }]
        }),
    ];
    let segments = prop::collection::vec(part, 1..4).prop_map(|parts| Body::Segments(parts.concat()));
    let request = (0..LOCAL + GLOBAL, 1_u32..3, 1_u64..4).prop_map(move |(which, count, length)| Request {
        resource: if which < LOCAL { local(core, which) } else { CORES * LOCAL + which - LOCAL },
        count,
        length: ns(length),
        outermost: true,
    });
    let anywhere = (0_u64..8, prop::collection::vec(request, 0..3)).prop_map(|(rest, requests)| {
        let sections: u64 = requests.iter().map(|r| u64::from(r.count) * r.length.as_ns()).sum();
        Body::Anywhere { cost: ns(1 + rest + sections), requests }
    });
    let body = prop_oneof![segments, anywhere];
    let arrivals = prop_oneof![
        Just(ArrivalPattern::Periodic),
        Just(ArrivalPattern::Sporadic),
        (0_u64..10).prop_map(|offset| ArrivalPattern::Phased(ns(offset))),
    ];
    (body, arrivals, 1_u32..8, 10_u64..80, 5_u64..100, 0_u64..6).prop_map(
        move |(body, arrivals, priority, period, deadline, jitter)| SetTask {
            name: String::new(),
            core,
            priority,
            arrivals,
            period: ns(period),
            deadline: ns(deadline),
            jitter: ns(jitter),
            body,
        },
    )
}

/// Sets of 1 to 4 cores. A global resource that only one core uses is local.
fn sets() -> impl Strategy<Value = TaskSet> {
    let on = |core| prop::collection::vec(task(core), 0..4);
    (1..=CORES, on(0), on(1), on(2), on(3)).prop_filter_map("nesting", |(cores, a, b, c, d)| {
        let tasks: Vec<_> = [a, b, c, d].into_iter().take(cores).flatten().collect();
        let resource = |at: usize| Resource { name: format!("r{at}") };
        let resources = (0..CORES * LOCAL + GLOBAL).map(resource).collect();
        TaskSet::new(vec![SchedulingPolicy::FixedPriority; cores], resources, tasks).ok()
    })
}

fn scenarios() -> impl Strategy<Value = Scenario> {
    let start = prop_oneof![Just(Start::Synchronous), Just(Start::Critical), Just(Start::Random)];
    let gaps = prop_oneof![Just(Gaps::Least), Just(Gaps::UpTo { percent: 70 })];
    let jitter =
        prop_oneof![Just(Jitter::None), Just(Jitter::First), Just(Jitter::Full), Just(Jitter::Random)];
    let execution = prop_oneof![
        Just(Execution::Full),
        Just(Execution::Scaled { percent: 60 }),
        Just(Execution::Random { least_percent: 20 })
    ];
    let placement = prop_oneof![
        Just(Placement::Front),
        Just(Placement::Back),
        Just(Placement::Even),
        Just(Placement::Random)
    ];
    (any::<u64>(), start, gaps, jitter, execution, placement).prop_map(
        |(seed, start, gaps, jitter, execution, placement)| Scenario {
            seed,
            start,
            gaps,
            jitter,
            execution,
            placement,
            ..Scenario::worst(ns(600))
        },
    )
}

const CORE_RULES: [LocalRule; 5] = [
    LocalRule::Immediate,
    LocalRule::Original,
    LocalRule::Srp,
    LocalRule::DfpByClock { jitter: None },
    LocalRule::Dfp,
];
const GLOBAL_RULES: [GlobalRule; 3] = [GlobalRule::Msrp, GlobalRule::Mpcp, GlobalRule::FmlpLong];

/// R = w + J, w = C + Σ ⌈(w + J_j) / T_j⌉ · C_j over the more urgent tasks, if it is no more than T.
fn response(set: &TaskSet, task: usize) -> Option<u64> {
    let own = &set.tasks()[task];
    let urgent = || {
        let tasks = set.tasks().iter().enumerate();
        tasks.filter(|(_, other)| other.core == own.core && other.priority > own.priority)
    };
    let mut window = 0;
    loop {
        let jobs = |other: &SetTask| (window + other.jitter.as_ns()).div_ceil(other.period.as_ns());
        let next = set.cost(task).as_ns()
            + urgent().map(|(at, other)| jobs(other) * set.cost(at).as_ns()).sum::<u64>();
        if next + own.jitter.as_ns() > own.period.as_ns() {
            return None;
        }
        if next == window {
            return Some(window + own.jitter.as_ns());
        }
        window = next.max(1);
    }
}

/// Tasks that share nothing, each with its own priority.
fn independent() -> impl Strategy<Value = TaskSet> {
    let task = (1_u64..12, 10_u64..80, 0_u64..12);
    prop::collection::vec(task, 1..7).prop_map(|tasks| {
        let task = |(at, (cost, period, jitter)): (usize, (u64, u64, u64))| SetTask {
            name: String::new(),
            core: at % 2,
            priority: at as u32,
            arrivals: ArrivalPattern::Sporadic,
            period: ns(period),
            deadline: ns(period),
            jitter: ns(jitter),
            body: Body::Anywhere { cost: ns(cost), requests: vec![] },
        };
        let tasks = tasks.into_iter().enumerate().map(task).collect();
        TaskSet::new(vec![SchedulingPolicy::FixedPriority; 2], vec![], tasks).expect("valid")
    })
}

proptest! {
    /// Without sharing, the worst scenario attains the response-time equation with jitter [Audsley93], and no other
    /// scenario exceeds it.
    #[test]
    fn the_critical_instant_is_the_equation(set in independent(), scenario in scenarios()) {
        let mut simulation = Simulation::new(&set, &Rules::of(&set, GlobalRule::Mpcp)).expect("fits");
        let worst = simulation.run(&Scenario::worst(ns(200)), &mut ()).expect("fits").clone();
        let other = simulation.run(&scenario, &mut ()).expect("fits");
        for task in 0..set.tasks().len() {
            if let Some(bound) = response(&set, task) {
                prop_assert_eq!(worst.tasks[task].response_max.as_ns(), bound);
                prop_assert!(other.tasks[task].response_max.as_ns() <= bound);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn hold_under_all_rules(set in sets(), scenario in scenarios()) {
        for core in CORE_RULES {
            for global in GLOBAL_RULES {
                let rules = Rules::all(&set, core, global);
                // Some rules do not allow suspension.
                let Ok(mut simulation) = Simulation::new(&set, &rules) else {
                    prop_assert!(matches!(core, LocalRule::DfpByClock { .. } | LocalRule::Dfp), "it bears suspension");
                    continue;
                };
                let mut checker = Checker::new(&set, &rules, &scenario);
                let outcome = simulation.run(&scenario, &mut checker).expect("fits").clone();
                prop_assert_eq!(outcome.end, RunEnd::Complete, "{:?}", rules);
                prop_assert!(outcome.tasks.iter().all(|task| task.completed == task.released));
                let again = simulation.run(&scenario, &mut ()).expect("fits");
                prop_assert_eq!(&outcome, again, "a run is what its seed says, told or not");
            }
        }
    }
}
