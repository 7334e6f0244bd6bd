// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A job from its release to its completion.

use std::collections::VecDeque;

use taut_policy::{Locking, Scheduler};
use taut_time::{Duration, Instant};

use super::{Arrived, BACKLOG_MAX, Fixed, Halt, Moment, NONE, Simulation, refused};
use crate::arrivals::place;
use crate::program::What;
use crate::{Execution, Placement, Scenario, Shares, SimEvent, SimEventKind, Sink};

impl<L: Locking + Clone> Simulation<L> {
    /// Advances to the next step, which takes as long as the scenario says.
    pub(super) fn step(&mut self, task: usize, scenario: &Scenario) {
        self.state.live[task].at += 1;
        self.load(task, scenario);
    }

    pub(super) fn load(&mut self, task: usize, scenario: &Scenario) {
        let op = self.op(task);
        if op.what == What::Run {
            let part = |percent: u32| (u128::from(op.time) * u128::from(percent.min(100)) / 100) as u64;
            let time = match (self.state.live[task].share, scenario.execution) {
                (Some(share), _) => {
                    let whole = u128::from(Shares::WHOLE);
                    ((u128::from(op.time) * u128::from(share).min(whole) / whole) as u64).max(1)
                }
                (None, Execution::Full) => op.time,
                (None, Execution::Scaled { percent }) => part(percent).max(1),
                (None, Execution::Random { least_percent }) => {
                    let least = part(least_percent).max(1);
                    least + self.state.random.up_to(op.time - least)
                }
            };
            self.state.live[task].remaining = time;
        }
    }

    pub(super) fn release(&mut self, task: usize, moment: &mut Moment<'_, impl Sink>) -> Result<(), Halt> {
        let dropped =
            moment.is_limited() && self.state.live[task].active && self.is_late(task, moment.now)?;
        let state = &mut self.state;
        state.outcome.events += 1;
        let source = &mut state.sources[task];
        let live = &mut state.live[task];
        let arrived = Arrived { arrival: source.arrival, release: moment.now, job: live.jobs };
        live.jobs += 1;
        source.advance(moment.scenario, &mut state.random);
        state.calendar.set(task, source.release);
        self.arrive(task, arrived, dropped, moment)
    }

    /// A job begins, waits behind an earlier one of its task, or is dropped.
    pub(super) fn arrive(
        &mut self,
        task: usize,
        arrived: Arrived,
        dropped: bool,
        moment: &mut Moment<'_, impl Sink>,
    ) -> Result<(), Halt> {
        let state = &mut self.state;
        let live = &mut state.live[task];
        let mut event = SimEvent {
            at: moment.at(),
            task,
            job: arrived.job,
            kind: SimEventKind::Release { arrival: Instant::from_ns(arrived.arrival) },
        };
        let is_full = live.active && usize::from(live.behind) == BACKLOG_MAX;
        if dropped || is_full && state.beyond.is_empty() {
            state.outcome.tasks[task].dropped += 1;
            event.kind = SimEventKind::Drop;
            moment.sink.event(event);
            return Ok(());
        }
        state.outcome.tasks[task].released += 1;
        state.open += 1;
        moment.sink.event(event);
        if is_full {
            state.beyond[task].push_back(arrived);
            return Ok(());
        }
        if live.active {
            let place = (usize::from(live.first) + usize::from(live.behind)) % BACKLOG_MAX;
            state.waiting[task][place] = arrived;
            live.behind += 1;
            return Ok(());
        }
        self.begin(task, arrived, moment.now, moment.scenario)
    }

    /// A job becomes ready; its task has no other.
    pub(super) fn begin(
        &mut self,
        task: usize,
        arrived: Arrived,
        now: u64,
        scenario: &Scenario,
    ) -> Result<(), Halt> {
        let Fixed { begin, core, local, .. } = self.fixed[task];
        let live = &mut self.state.live[task];
        (live.now, live.at, live.active, live.started) = (arrived, begin, true, false);
        if self.limits.is_some() || !scenario.excess.is_empty() {
            self.begin_limited(task, arrived.job, scenario);
        }
        if let Some(open) = &mut self.open[task]
            && scenario.placement == Placement::Random
            && !open.exact
        {
            open.place(scenario.placement, &mut self.state.random, &mut self.ops[begin as usize..]);
        }
        let shares = place(&scenario.executions, task).and_then(|at| scenario.executions.get(at));
        let share = shares.map(|(_, shares)| shares.of(arrived.job, &mut self.state.random));
        self.state.live[task].share = share.map(|share| u32::try_from(share).unwrap_or(u32::MAX));
        self.load(task, scenario);
        let core = core as usize;
        self.touch(core);
        if let Some(requested) = self.request(core, task, now) {
            return refused(requested, task);
        }
        let arrival = Instant::from_ns(arrived.arrival);
        refused(self.state.cores[core].release(local as usize, arrival), task)
    }

    pub(super) fn complete(
        &mut self,
        core: usize,
        task: usize,
        moment: &mut Moment<'_, impl Sink>,
    ) -> Result<(), Halt> {
        let done = if !moment.is_limited() {
            self.state.cores[core].complete()
        } else if self.exceeds(task) {
            return Ok(());
        } else if let Some(done) = self.finish_served(core, task, moment.now) {
            done.map(|()| task)
        } else {
            self.finish_limited(core)
        };
        refused(done, task)?;
        let Arrived { arrival, release, .. } = self.state.live[task].now;
        let response = moment.now - arrival;
        let outcome = &mut self.state.outcome.tasks[task];
        outcome.completed += 1;
        outcome.response_max = outcome.response_max.max(Duration::from_ns(response));
        outcome.from_release_max = outcome.from_release_max.max(Duration::from_ns(moment.now - release));
        let missed = response > self.fixed[task].deadline;
        outcome.missed += u64::from(missed);
        self.emit(task, SimEventKind::Complete { response: Duration::from_ns(response) }, moment);
        if missed {
            self.emit(task, SimEventKind::Miss, moment);
        }
        self.leave(core, task, moment)
    }

    /// The job on the core is over; the next one of its task may begin.
    #[inline]
    pub(super) fn leave(
        &mut self,
        core: usize,
        task: usize,
        moment: &mut Moment<'_, impl Sink>,
    ) -> Result<(), Halt> {
        self.state.current[core] = NONE;
        self.state.open -= 1;
        let live = &mut self.state.live[task];
        live.active = false;
        if live.behind > 0 {
            let arrived = self.state.waiting[task][usize::from(live.first)];
            let before = usize::from(live.first);
            live.first = (live.first + 1) % BACKLOG_MAX as u8;
            match self.state.beyond.get_mut(task).and_then(VecDeque::pop_front) {
                // It takes the place of the first: the last place of a full ring.
                Some(next) => self.state.waiting[task][before] = next,
                None => live.behind -= 1,
            }
            self.begin(task, arrived, moment.now, moment.scenario)?;
        }
        Ok(())
    }
}
