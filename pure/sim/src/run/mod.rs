// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The run: a calendar of releases, and for each core the end of the step that executes there.
//!
//! At one instant the order is: ends of sections and jobs, releases, and then, core by core, the decision and the
//! locks of the chosen task. So a job that ends when another is released does not wait for that job, and a task that
//! would lock at that instant does not lock before the release.

mod cores;
mod driven;
mod job;
mod limits;
mod serving;

pub use limits::Limit;
pub use serving::RecordedServer;

use std::collections::VecDeque;

use taut_model::{SetTask, TaskSet};
use taut_policy::{AnyLocal, Attributes, BandedCore, Grant, LockParty, Locking, Misuse};
use taut_time::Instant;

use crate::any::{self, AnyGlobal};
use crate::arrivals::{self, Source};
use crate::calendar::{Calendar, NEVER};
use crate::event::Watched;
use crate::program::{self, Guard, Op, Open, What};
use crate::random::Random;
use crate::rules::bears_suspension;
use crate::{
    GlobalRule, LocalRule, Outcome, Placement, Rules, RulesFault, RunEnd, Scenario, SimEvent, SimEventKind,
    Sink, TaskOutcome,
};

pub(crate) use driven::{Act, CoreStatus, END_OF_TIME};

/// The most jobs of a task that may wait behind one that is not complete. Further jobs are dropped, except in a
/// driven run: there the driver drops the jobs that must not arrive.
pub const BACKLOG_MAX: usize = 8;

/// No task.
const NONE: u32 = u32::MAX;

/// The step of a job that continues past its end.
const EXTRA: u32 = 0;

/// A set under rules; it can run any number of times. Construction allocates all memory: events allocate none, and a
/// run allocates only if the previous run did not complete.
///
/// `L` is the type of the cores' local rules: any of [`LocalRule`], or a rule of the caller's own
/// ([`Simulation::under`]).
#[derive(Clone, Debug)]
pub struct Simulation<L = AnyLocal> {
    tasks: Vec<SetTask>,
    /// Per task, the position of its job in `ops`, its core, its position on the core, its deadline and its priority.
    fixed: Vec<Fixed>,
    open: Vec<Option<Open>>,
    ops: Vec<Op>,
    /// The tasks of each core.
    members: Vec<Vec<u32>>,
    fresh: (Vec<BandedCore<L>>, Vec<AnyGlobal>),
    /// Per core, whether deadline floors count from the next release.
    from_next: Vec<bool>,
    /// Whether runs check the invariants of the cores' rules, where debug assertions are on.
    is_checked: bool,
    /// The guard of each resource.
    guards: Vec<Guard>,
    /// The longest total execution of all jobs that may be pending at once, in ns.
    work_max: u128,
    /// The limits of tasks, if any task has one.
    limits: Option<Box<limits::Limits>>,
    /// The servers of a driven run.
    serving: Option<Box<serving::Serving>>,
    state: State<L>,
}

#[derive(Clone, Copy, Debug)]
struct Fixed {
    begin: u32,
    core: u32,
    local: u32,
    deadline: u64,
    priority: u32,
}

/// The state of a run.
#[derive(Clone, Debug)]
struct State<L> {
    cores: Vec<BandedCore<L>>,
    globals: Vec<AnyGlobal>,
    /// Per core, the task that executes or spins.
    current: Vec<u32>,
    /// Per core, the instant at which the executing step ends.
    boundary: Vec<u64>,
    /// Cores on which something has happened at this instant, one bit each.
    touched: Vec<u64>,
    live: Vec<Live>,
    waiting: Vec<[Arrived; BACKLOG_MAX]>,
    /// In a driven run, per task, the jobs that do not fit into `waiting`; empty in other runs, which drop them.
    beyond: Vec<VecDeque<Arrived>>,
    sources: Vec<Source>,
    calendar: Calendar,
    random: Random,
    /// Jobs that are released and not complete.
    open: u64,
    /// Per task, by how many ns its job exceeds C, at its end.
    excess: Vec<u64>,
    /// A resource that the driver's present unlock reserves, or whose reservation its present request ends.
    reserves: Option<usize>,
    /// Whether the driver's present request is queued already.
    is_queued: bool,
    /// Per task, a grant that its core has not received yet; empty where cores receive grants at once.
    on_the_way: Vec<Option<(Grant, usize, Guard)>>,
    outcome: Outcome,
}

#[derive(Clone, Copy, Debug, Default)]
struct Arrived {
    arrival: u64,
    release: u64,
    job: u64,
}

/// A task's job.
#[derive(Clone, Copy, Debug, Default)]
struct Live {
    now: Arrived,
    /// The rest of its current step, in ns.
    remaining: u64,
    /// The share of each part that it executes, in millionths, if the scenario gives one.
    share: Option<u32>,
    at: u32,
    active: bool,
    started: bool,
    /// The job spins, or waits for a local resource.
    waits: bool,
    /// Jobs that wait behind it, from `first` of the ring.
    behind: u8,
    first: u8,
    /// Jobs that have arrived.
    jobs: u64,
}

/// An instant of a run.
struct Moment<'a, S> {
    now: u64,
    scenario: &'a Scenario,
    sink: &'a mut S,
}

impl<S: Sink> Moment<'_, S> {
    fn at(&self) -> Instant {
        Instant::from_ns(self.now)
    }

    /// Whether some task has a limit, or some job exceeds C.
    const fn is_limited(&self) -> bool {
        S::LIMITED
    }
}

/// The party that holds every reserved resource.
const RESERVER: LockParty = LockParty { core: usize::MAX, task: usize::MAX };

/// Why a run ends early.
type Halt = RunEnd;

/// The jobs of a set as programs, and the place of each task on its core.
struct Jobs {
    fixed: Vec<Fixed>,
    open: Vec<Option<Open>>,
    ops: Vec<Op>,
    members: Vec<Vec<u32>>,
    guards: Vec<Guard>,
}

impl Jobs {
    /// The jobs of a set whose global resources have the rules `globals`. `bears_suspension` says of a core whether its
    /// rule allows tasks to suspend themselves.
    fn of(
        set: &TaskSet,
        globals: &[GlobalRule],
        bears_suspension: impl Fn(usize) -> bool,
    ) -> Result<Self, RulesFault> {
        if globals.len() != set.resources().len() {
            return Err(RulesFault::Resources);
        }
        let guards: Vec<_> = (0..globals.len()).map(|at| program::guard(set, globals, at)).collect();
        let mut members = vec![Vec::new(); set.cores().len()];
        let (mut fixed, mut open) = (Vec::new(), Vec::new());
        let extra = [What::Run, What::End].map(|what| Op { what, resource: 0, time: 0 });
        let mut ops = extra.to_vec();
        for (at, task) in set.tasks().iter().enumerate() {
            let suspends = set.requests(at).iter().any(|request| guards[request.resource] == Guard::Suspend);
            if suspends && !bears_suspension(task.core) {
                return Err(RulesFault::Suspends { core: task.core });
            }
            let local: &mut Vec<u32> = &mut members[task.core];
            fixed.push(Fixed {
                begin: u32::try_from(ops.len()).map_err(|_| RulesFault::TooMany)?,
                core: task.core as u32,
                local: local.len() as u32,
                deadline: task.deadline.as_ns(),
                priority: task.priority,
            });
            local.push(u32::try_from(at).map_err(|_| RulesFault::TooMany)?);
            open.push(program::compile(&task.body, &guards, &mut ops)?);
        }
        Ok(Self { fixed, open, ops, members, guards })
    }
}

impl<L> State<L> {
    /// The state before the first run.
    fn new(tasks: usize, cores: Vec<BandedCore<L>>, globals: Vec<AnyGlobal>) -> Self {
        Self {
            current: vec![NONE; cores.len()],
            boundary: vec![NEVER; cores.len()],
            touched: vec![0; cores.len().div_ceil(64)],
            cores,
            globals,
            live: vec![Live::default(); tasks],
            waiting: vec![[Arrived::default(); BACKLOG_MAX]; tasks],
            beyond: Vec::new(),
            sources: Vec::with_capacity(tasks),
            calendar: Calendar::new(tasks),
            random: Random::new(0),
            open: 0,
            excess: vec![0; tasks],
            reserves: None,
            is_queued: false,
            on_the_way: Vec::new(),
            outcome: Outcome {
                tasks: vec![TaskOutcome::default(); tasks],
                end: RunEnd::Complete,
                last: Instant::from_ns(0),
                events: 0,
            },
        }
    }
}

impl Simulation {
    /// Checks and prepares a set under rules.
    ///
    /// # Errors
    /// The reason why set and rules do not fit together.
    pub fn new(set: &TaskSet, rules: &Rules) -> Result<Self, RulesFault> {
        if rules.cores.len() != set.cores().len() {
            return Err(RulesFault::Cores);
        }
        let jobs = Jobs::of(set, &rules.resources, |core| bears_suspension(rules.cores[core]))?;
        let cores = any::cores(set, |core, of| AnyLocal::new(rules.cores[core], of))?;
        let mut simulation = Self::assembled(set, &rules.resources, jobs, cores);
        simulation.from_next = rules.cores.iter().map(|rule| *rule == LocalRule::Dfp).collect();
        simulation.is_checked = true;
        Ok(simulation)
    }
}

impl<L: Locking + Clone> Simulation<L> {
    /// Checks and prepares a set under a local rule of the caller's own; `local` makes the rule of each core. The rule
    /// may be wrong: a run ends where the rule breaks mutual exclusion ([`RunEnd::Broken`]), and does not check the
    /// rule's invariants. `now` of [`Locking::lock`] is the simulated clock. No task may suspend itself.
    ///
    /// # Errors
    /// The reason why set and rules do not fit together.
    pub fn under(
        set: &TaskSet,
        globals: &[GlobalRule],
        local: impl Fn(Attributes<'_>) -> Result<L, Misuse>,
    ) -> Result<Self, RulesFault> {
        let jobs = Jobs::of(set, globals, |_| false)?;
        let cores = any::cores(set, |_, of| local(of))?;
        Ok(Self::assembled(set, globals, jobs, cores))
    }

    /// Floors count from the clock, and no run checks invariants.
    fn assembled(set: &TaskSet, globals: &[GlobalRule], jobs: Jobs, cores: Vec<BandedCore<L>>) -> Self {
        let Jobs { fixed, open, ops, members, guards } = jobs;
        let globals: Vec<_> =
            globals.iter().enumerate().map(|(at, rule)| AnyGlobal::new(set, at, *rule)).collect();
        let count = set.tasks().len();
        let job = |at| u128::from(set.cost(at).as_ns());
        Self {
            tasks: set.tasks().to_vec(),
            fixed,
            open,
            ops,
            members,
            from_next: vec![false; cores.len()],
            is_checked: false,
            guards,
            work_max: (0..count).map(job).sum::<u128>() * (BACKLOG_MAX as u128 + 1),
            limits: None,
            serving: None,
            state: State::new(count, cores.clone(), globals.clone()),
            fresh: (cores, globals),
        }
    }

    /// The number of tasks of the set.
    pub(crate) fn task_count(&self) -> usize {
        self.tasks.len()
    }

    /// Runs a scenario, and passes every event to `sink`.
    ///
    /// # Errors
    /// [`RulesFault::Overflow`] if the sum of horizon, jitter and all work does not fit in 64 bits.
    pub fn run(&mut self, scenario: &Scenario, sink: &mut impl Sink) -> Result<&Outcome, RulesFault> {
        let latest = self.tasks.iter().map(|task| task.jitter.as_ns()).max().unwrap_or(0);
        let excess =
            scenario.excess.iter().flat_map(|(_, jobs)| jobs).map(|(_, more)| u128::from(more.as_ns()));
        let work_max = self.work_max + excess.sum::<u128>();
        let end = u128::from(scenario.horizon.as_ns()) + 2 * u128::from(latest) + work_max;
        if end >= u128::from(NEVER) {
            return Err(RulesFault::Overflow);
        }
        self.reset(scenario, latest);
        let ended = if self.limits.is_some() || !scenario.excess.is_empty() {
            self.events(scenario, &mut Watched(sink))
        } else {
            self.events(scenario, sink)
        };
        let end = match ended {
            Err(halt) => halt,
            Ok(()) if self.state.open > 0 => RunEnd::Stuck,
            Ok(()) => RunEnd::Complete,
        };
        self.state.outcome.end = end;
        Ok(&self.state.outcome)
    }

    fn reset(&mut self, scenario: &Scenario, latest: u64) {
        self.reset_limits();
        let state = &mut self.state;
        // A completed run leaves all rules in their initial state.
        if state.outcome.end != RunEnd::Complete {
            state.cores.clone_from(&self.fresh.0);
            state.globals.clone_from(&self.fresh.1);
        }
        state.current.fill(NONE);
        state.boundary.fill(NEVER);
        state.touched.fill(0);
        state.live.fill(Live::default());
        state.open = 0;
        state.outcome.tasks.fill(TaskOutcome::default());
        (state.outcome.last, state.outcome.events) = (Instant::from_ns(0), 0);
        state.random = Random::new(scenario.seed);
        state.calendar.clear();
        state.sources.clear();
        for (at, task) in self.tasks.iter().enumerate() {
            let source = Source::new(task, at, latest, scenario, &mut state.random);
            state.calendar.set(at, source.release);
            state.sources.push(source);
            if let Some(open) = &mut self.open[at] {
                open.reset();
                let begin = self.fixed[at].begin as usize;
                if let Some(list) = arrivals::place(&scenario.placed, at) {
                    open.place_exactly(&scenario.placed[list].1, &mut self.ops[begin..]);
                } else if scenario.placement != Placement::Random {
                    open.place(scenario.placement, &mut state.random, &mut self.ops[begin..]);
                }
            }
        }
    }

    fn events(&mut self, scenario: &Scenario, sink: &mut impl Sink) -> Result<(), Halt> {
        loop {
            let (_, release) = self.state.calendar.first();
            let now = self.state.boundary.iter().fold(release, |least, time| least.min(*time));
            if now == NEVER {
                return Ok(());
            }
            let moment = &mut Moment { now, scenario, sink: &mut *sink };
            self.state.outcome.last = moment.at();
            for core in 0..self.state.boundary.len() {
                if self.state.boundary[core] == now {
                    self.ended(core, moment)?;
                }
            }
            while let (task, time) = self.state.calendar.first()
                && time == now
            {
                self.release(task, moment)?;
            }
            self.settle_all(moment)?;
            if self.state.outcome.events >= scenario.steps_max {
                return Err(RunEnd::Steps);
            }
        }
    }

    fn emit(&self, task: usize, kind: SimEventKind, moment: &mut Moment<'_, impl Sink>) {
        let job = self.state.live[task].now.job;
        moment.sink.event(SimEvent { at: moment.at(), task, job, kind });
    }

    fn touch(&mut self, core: usize) {
        self.state.touched[core / 64] |= 1 << (core % 64);
    }

    fn party(&self, task: usize) -> LockParty {
        let Fixed { core, local, .. } = self.fixed[task];
        LockParty { core: core as usize, task: local as usize }
    }

    fn op(&self, task: usize) -> Op {
        self.ops[self.state.live[task].at as usize]
    }
}

/// Makes the refusal of a rule the end of the run.
fn refused<T>(result: Result<T, Misuse>, task: usize) -> Result<T, Halt> {
    result.map_err(|_| RunEnd::Misuse { task })
}
