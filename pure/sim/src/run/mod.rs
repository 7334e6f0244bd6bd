// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The run: a calendar of releases, and for each core when what executes there ends.
//!
//! At one instant come, in this order, what ends by then (sections, jobs), releases, and, core by core, who runs and
//! what it asks for. So a job that ends when another is released does not wait for it, and one that would lock at that
//! instant does not lock before it.

mod cores;
mod driven;
mod job;
mod limits;
mod serving;

pub use limits::Limit;
pub use serving::Served;

use std::collections::VecDeque;

use taut_model::{SetTask, TaskSet};
use taut_policy::{AnyCore, Grant, Misuse, Party};
use taut_time::Instant;

use crate::any::{self, AnyGlobal, Users};
use crate::arrivals::{self, Source};
use crate::calendar::{Calendar, NEVER};
use crate::event::Watched;
use crate::program::{self, Guard, Op, Open, What};
use crate::random::Random;
use crate::{CoreRule, End, Event, Fault, Kind, Outcome, Placement, Rules, Scenario, Sink, TaskOutcome};

pub(crate) use driven::{Act, CoreStatus, END_OF_TIME};

/// Jobs of a task that may wait behind one that is not complete; those that come then are dropped, unless something else
/// drives the run: then it has dropped what is not to come.
pub const BACKLOG_MAX: usize = 8;

/// No task.
const NONE: u32 = u32::MAX;

/// The step of a job that goes on past its end.
const EXTRA: u32 = 0;

/// A set under rules, to be run as often as one likes. All memory is taken at the set-up: events take none, and a run
/// takes some only after one that did not come to its end.
#[derive(Clone, Debug)]
pub struct Simulation {
    tasks: Vec<SetTask>,
    /// Per task, where its job is among `ops`, and its position on its core.
    fixed: Vec<Fixed>,
    open: Vec<Option<Open>>,
    ops: Vec<Op>,
    /// Per core, its tasks.
    members: Vec<Vec<u32>>,
    fresh: (Vec<AnyCore>, Vec<AnyGlobal>),
    /// Per core, whether deadline floors count from the next release.
    from_next: Vec<bool>,
    /// Per resource.
    guards: Vec<Guard>,
    /// The longest that everything may take that is released at once.
    work_max: u128,
    /// What tasks may have, if that is said of some.
    limits: Option<Box<limits::Limits>>,
    /// Servers, of a run that something else drives.
    serving: Option<Box<serving::Serving>>,
    state: State,
}

#[derive(Clone, Copy, Debug)]
struct Fixed {
    begin: u32,
    core: u32,
    local: u32,
    deadline: u64,
    priority: u32,
}

/// What changes during a run.
#[derive(Clone, Debug)]
struct State {
    cores: Vec<AnyCore>,
    globals: Vec<AnyGlobal>,
    /// Per core, the task that executes or spins.
    current: Vec<u32>,
    /// Per core, when what executes ends its step.
    boundary: Vec<u64>,
    /// Cores on which something has happened at this instant, a bit each.
    touched: Vec<u64>,
    live: Vec<Live>,
    waiting: Vec<[Arrived; BACKLOG_MAX]>,
    /// Per task, those that wait behind as many; empty where those are dropped.
    beyond: Vec<VecDeque<Arrived>>,
    sources: Vec<Source>,
    calendar: Calendar,
    random: Random,
    /// Jobs that are released and not complete.
    open: u64,
    /// Per task, how much more than it may its job executes at its end.
    excess: Vec<u64>,
    /// A resource that nobody may have yet when it is given back, or may have again when it is asked for.
    keeps: Option<usize>,
    /// Whether who asks has asked before.
    looks: bool,
    /// Per task, what it was granted and its core has not been told; empty where cores are told at once.
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
    /// Of the step that it is at.
    remaining: u64,
    /// How much of each part it executes, in millionths, if the scenario says so of its task.
    share: Option<u32>,
    at: u32,
    active: bool,
    started: bool,
    /// It spins, or waits for a local resource.
    waits: bool,
    /// Jobs behind it, from `first` of the ring.
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

    /// Whether some task has a limit, or some job executes more than it may.
    const fn is_limited(&self) -> bool {
        S::LIMITED
    }
}

/// Has what was given back and nobody may have yet.
const KEEPER: Party = Party { core: usize::MAX, task: usize::MAX };

/// Why a run is given up.
type Halt = End;

impl Simulation {
    /// Sets up.
    ///
    /// # Errors
    /// What does not fit together.
    pub fn new(set: &TaskSet, rules: &Rules) -> Result<Self, Fault> {
        if rules.cores.len() != set.cores().len() {
            return Err(Fault::Cores);
        }
        if rules.resources.len() != set.resources().len() {
            return Err(Fault::Resources);
        }
        let guards: Vec<_> =
            (0..rules.resources.len()).map(|at| program::guard(set, &rules.resources, at)).collect();
        let mut members = vec![Vec::new(); set.cores().len()];
        let (mut fixed, mut open) = (Vec::new(), Vec::new());
        let extra = [What::Run, What::End].map(|what| Op { what, resource: 0, time: 0 });
        let mut ops = extra.to_vec();
        for (at, task) in set.tasks().iter().enumerate() {
            let suspends = set.requests(at).iter().any(|request| guards[request.resource] == Guard::Suspend);
            if suspends && !rules.cores[task.core].bears_suspension() {
                return Err(Fault::Suspends { core: task.core });
            }
            let local: &mut Vec<u32> = &mut members[task.core];
            fixed.push(Fixed {
                begin: u32::try_from(ops.len()).map_err(|_| Fault::TooMany)?,
                core: task.core as u32,
                local: local.len() as u32,
                deadline: task.deadline.as_ns(),
                priority: task.priority,
            });
            local.push(u32::try_from(at).map_err(|_| Fault::TooMany)?);
            open.push(program::compile(&task.body, &guards, &mut ops)?);
        }
        let users = Users::of(set);
        let cores: Result<Vec<_>, _> =
            rules.cores.iter().enumerate().map(|(at, rule)| any::core(set, &users, at, *rule)).collect();
        let cores = cores?;
        let globals: Vec<_> =
            rules.resources.iter().enumerate().map(|(at, rule)| AnyGlobal::new(set, at, *rule)).collect();
        let (count, tasks) = (set.tasks().len(), set.tasks().to_vec());
        let job = |at| u128::from(set.cost(at).as_ns());
        let work_max = (0..count).map(job).sum::<u128>() * (BACKLOG_MAX as u128 + 1);
        let state = State {
            current: vec![NONE; cores.len()],
            boundary: vec![NEVER; cores.len()],
            touched: vec![0; cores.len().div_ceil(64)],
            cores: cores.clone(),
            globals: globals.clone(),
            live: vec![Live::default(); count],
            waiting: vec![[Arrived::default(); BACKLOG_MAX]; count],
            beyond: Vec::new(),
            sources: Vec::with_capacity(count),
            calendar: Calendar::new(count),
            random: Random::new(0),
            open: 0,
            excess: vec![0; count],
            keeps: None,
            looks: false,
            on_the_way: Vec::new(),
            outcome: Outcome {
                tasks: vec![TaskOutcome::default(); count],
                end: End::Complete,
                last: Instant::from_ns(0),
                events: 0,
            },
        };
        let from_next = rules.cores.iter().map(|rule| *rule == CoreRule::DfpNext).collect();
        let fresh = (cores, globals);
        Ok(Self {
            tasks,
            fixed,
            open,
            ops,
            members,
            fresh,
            from_next,
            guards,
            work_max,
            limits: None,
            serving: None,
            state,
        })
    }

    /// Tasks of its set.
    pub(crate) fn task_count(&self) -> usize {
        self.tasks.len()
    }

    /// Runs, and tells `sink` of every event.
    ///
    /// # Errors
    /// [`Fault::Overflow`] if horizon, jitter and all work together do not fit in 64 bits.
    pub fn run(&mut self, scenario: &Scenario, sink: &mut impl Sink) -> Result<&Outcome, Fault> {
        let latest = self.tasks.iter().map(|task| task.jitter.as_ns()).max().unwrap_or(0);
        let excess =
            scenario.excess.iter().flat_map(|(_, jobs)| jobs).map(|(_, more)| u128::from(more.as_ns()));
        let work_max = self.work_max + excess.sum::<u128>();
        let end = u128::from(scenario.horizon.as_ns()) + 2 * u128::from(latest) + work_max;
        if end >= u128::from(NEVER) {
            return Err(Fault::Overflow);
        }
        self.reset(scenario, latest);
        let ended = if self.limits.is_some() || !scenario.excess.is_empty() {
            self.events(scenario, &mut Watched(sink))
        } else {
            self.events(scenario, sink)
        };
        let end = match ended {
            Err(halt) => halt,
            Ok(()) if self.state.open > 0 => End::Stuck,
            Ok(()) => End::Complete,
        };
        self.state.outcome.end = end;
        Ok(&self.state.outcome)
    }

    fn reset(&mut self, scenario: &Scenario, latest: u64) {
        self.reset_limits();
        let state = &mut self.state;
        // A run that came to its end has left all rules as they were.
        if state.outcome.end != End::Complete {
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
                return Err(End::Steps);
            }
        }
    }

    fn emit(&self, task: usize, kind: Kind, moment: &mut Moment<'_, impl Sink>) {
        let job = self.state.live[task].now.job;
        moment.sink.event(Event { at: moment.at(), task, job, kind });
    }

    fn touch(&mut self, core: usize) {
        self.state.touched[core / 64] |= 1 << (core % 64);
    }

    fn party(&self, task: usize) -> Party {
        let Fixed { core, local, .. } = self.fixed[task];
        Party { core: core as usize, task: local as usize }
    }

    fn op(&self, task: usize) -> Op {
        self.ops[self.state.live[task].at as usize]
    }
}

/// What a rule refuses ends the run.
fn refused<T>(result: Result<T, Misuse>, task: usize) -> Result<T, Halt> {
    result.map_err(|_| End::Misuse { task })
}
