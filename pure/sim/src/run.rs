// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The run: a calendar of releases, and for each core when what executes there ends.
//!
//! At one instant come, in this order, what ends by then (sections, jobs), releases, and, core by core, who runs and
//! what it asks for. So a job that ends when another is released does not wait for it, and one that would lock at that
//! instant does not lock before it.

use taut_model::{SetTask, TaskSet};
use taut_policy::{Answer, Grant, Locking, Misuse, Party, Request, Scheduler};
use taut_time::{Duration, Instant};

use crate::any::{self, AnyCore, AnyGlobal, Users};
use crate::arrivals::Source;
use crate::calendar::{Calendar, NEVER};
use crate::program::{self, Guard, Op, Open, What};
use crate::random::Random;
use crate::{End, Event, Execution, Fault, Kind, Outcome, Placement, Rules, Scenario, Sink, TaskOutcome};

/// Jobs of a task that may wait behind one that is not complete; those that come then are dropped.
pub const BACKLOG_MAX: usize = 8;

/// No task.
const NONE: u32 = u32::MAX;

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
    /// The longest that everything may take that is released at once.
    work_max: u128,
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
    sources: Vec<Source>,
    calendar: Calendar,
    random: Random,
    /// Jobs that are released and not complete.
    open: u64,
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
        let (mut fixed, mut open, mut ops) = (Vec::new(), Vec::new(), Vec::new());
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
            sources: Vec::with_capacity(count),
            calendar: Calendar::new(count),
            random: Random::new(0),
            open: 0,
            outcome: Outcome {
                tasks: vec![TaskOutcome::default(); count],
                end: End::Complete,
                last: Instant::from_ns(0),
                events: 0,
            },
        };
        Ok(Self { tasks, fixed, open, ops, members, fresh: (cores, globals), work_max, state })
    }

    /// Runs, and tells `sink` of every event.
    ///
    /// # Errors
    /// [`Fault::Overflow`] if horizon, jitter and all work together do not fit in 64 bits.
    pub fn run(&mut self, scenario: &Scenario, sink: &mut impl Sink) -> Result<&Outcome, Fault> {
        let latest = self.tasks.iter().map(|task| task.jitter.as_ns()).max().unwrap_or(0);
        let end = u128::from(scenario.horizon.as_ns()) + 2 * u128::from(latest) + self.work_max;
        if end >= u128::from(NEVER) {
            return Err(Fault::Overflow);
        }
        self.reset(scenario, latest);
        let end = match self.events(scenario, sink) {
            Err(halt) => halt,
            Ok(()) if self.state.open > 0 => End::Stuck,
            Ok(()) => End::Complete,
        };
        self.state.outcome.end = end;
        Ok(&self.state.outcome)
    }

    fn reset(&mut self, scenario: &Scenario, latest: u64) {
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
                if scenario.placement != Placement::Random {
                    let begin = self.fixed[at].begin as usize;
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
            self.state.outcome.last = Instant::from_ns(now);
            for core in 0..self.state.boundary.len() {
                if self.state.boundary[core] == now {
                    self.ended(core, now, scenario, sink)?;
                }
            }
            while let (task, time) = self.state.calendar.first()
                && time == now
            {
                self.release(task, now, scenario, sink)?;
            }
            self.settle_all(now, scenario, sink)?;
            if self.state.outcome.events >= scenario.steps_max {
                return Err(End::Steps);
            }
        }
    }

    fn tell(&self, task: usize, now: u64, kind: Kind, sink: &mut impl Sink) {
        let job = self.state.live[task].now.job;
        sink.event(Event { at: Instant::from_ns(now), task, job, kind });
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

    /// To the next step, which takes as long as the scenario says.
    fn step(&mut self, task: usize, scenario: &Scenario) {
        self.state.live[task].at += 1;
        self.load(task, scenario);
    }

    fn load(&mut self, task: usize, scenario: &Scenario) {
        let op = self.op(task);
        if op.what == What::Run {
            let part = |percent: u32| (u128::from(op.time) * u128::from(percent.min(100)) / 100) as u64;
            let time = match scenario.execution {
                Execution::Full => op.time,
                Execution::Scaled { percent } => part(percent).max(1),
                Execution::Random { least_percent } => {
                    let least = part(least_percent).max(1);
                    least + self.state.random.up_to(op.time - least)
                }
            };
            self.state.live[task].remaining = time;
        }
    }

    fn release(
        &mut self,
        task: usize,
        now: u64,
        scenario: &Scenario,
        sink: &mut impl Sink,
    ) -> Result<(), Halt> {
        let state = &mut self.state;
        state.outcome.events += 1;
        let source = &mut state.sources[task];
        let live = &mut state.live[task];
        let arrived = Arrived { arrival: source.arrival, release: now, job: live.jobs };
        live.jobs += 1;
        source.advance(scenario, &mut state.random);
        state.calendar.set(task, source.release);
        let mut event = Event {
            at: Instant::from_ns(now),
            task,
            job: arrived.job,
            kind: Kind::Release { arrival: Instant::from_ns(arrived.arrival) },
        };
        if live.active && usize::from(live.behind) == BACKLOG_MAX {
            state.outcome.tasks[task].dropped += 1;
            event.kind = Kind::Drop;
            sink.event(event);
            return Ok(());
        }
        state.outcome.tasks[task].released += 1;
        state.open += 1;
        sink.event(event);
        if live.active {
            let place = (usize::from(live.first) + usize::from(live.behind)) % BACKLOG_MAX;
            state.waiting[task][place] = arrived;
            live.behind += 1;
            return Ok(());
        }
        self.begin(task, arrived, scenario)
    }

    /// A job of a task that has no other may run.
    fn begin(&mut self, task: usize, arrived: Arrived, scenario: &Scenario) -> Result<(), Halt> {
        let Fixed { begin, core, local, .. } = self.fixed[task];
        let live = &mut self.state.live[task];
        (live.now, live.at, live.active, live.started) = (arrived, begin, true, false);
        if let Some(open) = &mut self.open[task]
            && scenario.placement == Placement::Random
        {
            open.place(scenario.placement, &mut self.state.random, &mut self.ops[begin as usize..]);
        }
        self.load(task, scenario);
        let core = core as usize;
        self.touch(core);
        let arrival = Instant::from_ns(arrived.arrival);
        refused(self.state.cores[core].release(local as usize, arrival), task)
    }

    /// What executes on a core has ended its step.
    fn ended(
        &mut self,
        core: usize,
        now: u64,
        scenario: &Scenario,
        sink: &mut impl Sink,
    ) -> Result<(), Halt> {
        let task = self.state.current[core] as usize;
        self.state.outcome.events += 1;
        self.state.boundary[core] = NEVER;
        self.step(task, scenario);
        self.touch(core);
        self.close(core, task, now, scenario, sink)
    }

    /// Unlocks and completes as far as the job is there.
    fn close(
        &mut self,
        core: usize,
        task: usize,
        now: u64,
        scenario: &Scenario,
        sink: &mut impl Sink,
    ) -> Result<(), Halt> {
        loop {
            let op = self.op(task);
            let guard = match op.what {
                What::Unlock(guard) => guard,
                What::End => return self.complete(core, task, now, scenario, sink),
                What::Run | What::Lock(_) => return Ok(()),
            };
            let resource = op.resource as usize;
            self.tell(task, now, Kind::Unlock(resource), sink);
            let rule = &mut self.state.cores[core];
            match guard {
                Guard::Local => refused(rule.unlock(resource), task)?,
                Guard::Spin => refused(rule.unpin(), task)?,
                Guard::Suspend => {
                    refused(rule.unboost(), task)?;
                }
            }
            if guard != Guard::Local {
                let party = self.party(task);
                let next = refused(self.state.globals[resource].release(party), task)?;
                if let Some(next) = next {
                    self.granted(next, resource, guard, now, scenario, sink)?;
                }
            }
            self.step(task, scenario);
        }
    }

    /// A task that waits has been granted a global resource.
    fn granted(
        &mut self,
        grant: Grant,
        resource: usize,
        guard: Guard,
        now: u64,
        scenario: &Scenario,
        sink: &mut impl Sink,
    ) -> Result<(), Halt> {
        let core = grant.party.core;
        let task = self.members[core][grant.party.task] as usize;
        self.touch(core);
        self.tell(task, now, Kind::Locked(resource), sink);
        if guard == Guard::Spin {
            self.state.live[task].waits = false;
        } else {
            refused(self.state.cores[core].boost(grant.party.task, grant.rank), task)?;
        }
        self.step(task, scenario);
        Ok(())
    }

    fn complete(
        &mut self,
        core: usize,
        task: usize,
        now: u64,
        scenario: &Scenario,
        sink: &mut impl Sink,
    ) -> Result<(), Halt> {
        refused(self.state.cores[core].complete(), task)?;
        self.state.current[core] = NONE;
        self.state.open -= 1;
        let Arrived { arrival, release, .. } = self.state.live[task].now;
        let response = now - arrival;
        let outcome = &mut self.state.outcome.tasks[task];
        outcome.completed += 1;
        outcome.response_max = outcome.response_max.max(Duration::from_ns(response));
        outcome.from_release_max = outcome.from_release_max.max(Duration::from_ns(now - release));
        let missed = response > self.fixed[task].deadline;
        outcome.missed += u64::from(missed);
        self.tell(task, now, Kind::Complete { response: Duration::from_ns(response) }, sink);
        if missed {
            self.tell(task, now, Kind::Miss, sink);
        }
        let live = &mut self.state.live[task];
        live.active = false;
        if live.behind > 0 {
            let arrived = self.state.waiting[task][usize::from(live.first)];
            live.first = (live.first + 1) % BACKLOG_MAX as u8;
            live.behind -= 1;
            self.begin(task, arrived, scenario)?;
        }
        Ok(())
    }

    /// Decides on all cores on which something happened, lowest first, until nothing more happens at this instant.
    fn settle_all(&mut self, now: u64, scenario: &Scenario, sink: &mut impl Sink) -> Result<(), Halt> {
        while let Some(word) = self.state.touched.iter().position(|word| *word != 0) {
            let bit = self.state.touched[word].trailing_zeros() as usize;
            self.state.touched[word] &= !(1 << bit);
            self.settle(word * 64 + bit, now, scenario, sink)?;
        }
        Ok(())
    }

    fn settle(
        &mut self,
        core: usize,
        now: u64,
        scenario: &Scenario,
        sink: &mut impl Sink,
    ) -> Result<(), Halt> {
        loop {
            let rule = &mut self.state.cores[core];
            let chosen = rule.decide().map_or(NONE, |local| self.members[core][local]);
            debug_assert_eq!(rule.check_state(), Ok(()), "core {core} at {now}");
            let current = self.state.current[core];
            if chosen != current {
                self.switch(core, current, chosen, now, scenario, sink);
            }
            if chosen == NONE || self.state.boundary[core] != NEVER {
                return Ok(());
            }
            let task = chosen as usize;
            let op = self.op(task);
            match op.what {
                What::Run => {
                    self.state.boundary[core] = now + self.state.live[task].remaining;
                    return Ok(());
                }
                What::Lock(_) if self.state.live[task].waits => return Ok(()),
                What::Lock(guard) => {
                    self.lock(core, task, guard, op.resource as usize, now, scenario, sink)?
                }
                What::Unlock(_) | What::End => self.close(core, task, now, scenario, sink)?,
            }
        }
    }

    /// Another task executes on a core.
    fn switch(
        &mut self,
        core: usize,
        current: u32,
        chosen: u32,
        now: u64,
        scenario: &Scenario,
        sink: &mut impl Sink,
    ) {
        if current != NONE {
            let boundary = self.state.boundary[core];
            if boundary != NEVER {
                self.state.live[current as usize].remaining = boundary - now;
            }
            self.tell(current as usize, now, Kind::Preempt, sink);
        }
        self.state.current[core] = chosen;
        self.state.boundary[core] = NEVER;
        if chosen == NONE {
            return;
        }
        let task = chosen as usize;
        let live = &mut self.state.live[task];
        let kind = if live.started { Kind::Resume } else { Kind::Start };
        live.started = true;
        let waited = core::mem::take(&mut live.waits);
        self.tell(task, now, kind, sink);
        if waited {
            // For a local resource: it runs, so it holds it.
            self.tell(task, now, Kind::Locked(self.op(task).resource as usize), sink);
            self.step(task, scenario);
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "who, where, what and when; a struct of them would have no name"
    )]
    fn lock(
        &mut self,
        core: usize,
        task: usize,
        guard: Guard,
        resource: usize,
        now: u64,
        scenario: &Scenario,
        sink: &mut impl Sink,
    ) -> Result<(), Halt> {
        let at = Instant::from_ns(now);
        let party = self.party(task);
        let State { cores, globals, live, current, .. } = &mut self.state;
        let rule = &mut cores[core];
        let granted = if guard == Guard::Local {
            match refused(rule.lock(at, resource), task)? {
                Answer::Granted => true,
                Answer::Waits => {
                    live[task].waits = true;
                    current[core] = NONE;
                    false
                }
                Answer::Broken => return Err(End::Broken { task, resource }),
            }
        } else {
            if guard == Guard::Spin {
                refused(rule.pin(), task)?;
            }
            match refused(globals[resource].request(at, party, self.fixed[task].priority), task)? {
                Request::Granted(grant) => {
                    if guard == Guard::Suspend {
                        refused(rule.boost(party.task, grant.rank), task)?;
                    }
                    true
                }
                Request::Waits if guard == Guard::Spin => {
                    live[task].waits = true;
                    false
                }
                Request::Waits => {
                    refused(rule.suspend(), task)?;
                    current[core] = NONE;
                    false
                }
            }
        };
        let kind = match guard {
            _ if granted => Kind::Locked(resource),
            Guard::Spin => Kind::Spin(resource),
            Guard::Local | Guard::Suspend => Kind::Suspend(resource),
        };
        self.tell(task, now, kind, sink);
        if granted {
            self.step(task, scenario);
        }
        Ok(())
    }
}

/// What a rule refuses ends the run.
fn refused<T>(result: Result<T, Misuse>, task: usize) -> Result<T, Halt> {
    result.map_err(|_| End::Misuse { task })
}
