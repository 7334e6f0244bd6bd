// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What executes on a core, and its locks and unlocks.

use taut_policy::{GlobalAnswer, Grant, LocalAnswer, LockParty, Locking, Scheduler};
use taut_time::Instant;

use super::{Halt, Moment, NONE, RESERVER, Simulation, State, refused};
use crate::calendar::NEVER;
use crate::program::{Guard, What};
use crate::{RunEnd, SimEventKind, Sink};

impl<L: Locking + Clone> Simulation<L> {
    /// The task that executes on a core has finished its step.
    pub(super) fn ended(&mut self, core: usize, moment: &mut Moment<'_, impl Sink>) -> Result<(), Halt> {
        let task = self.state.current[core] as usize;
        self.state.outcome.events += 1;
        self.state.boundary[core] = NEVER;
        self.touch(core);
        if moment.is_limited() {
            let rest = self.uncut(core);
            if rest > 0 {
                self.state.live[task].remaining = rest;
                return Ok(());
            }
        }
        self.step(task, moment.scenario);
        self.close(core, task, moment)
    }

    /// Executes the unlocks and the completion that the job has reached.
    pub(super) fn close(
        &mut self,
        core: usize,
        task: usize,
        moment: &mut Moment<'_, impl Sink>,
    ) -> Result<(), Halt> {
        loop {
            let op = self.op(task);
            let guard = match op.what {
                What::Unlock(guard) => guard,
                What::End => return self.complete(core, task, moment),
                What::Run | What::Lock(_) => return Ok(()),
            };
            let resource = op.resource as usize;
            self.emit(task, SimEventKind::Unlock(resource), moment);
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
                if self.state.reserves == Some(resource) {
                    refused(self.state.globals[resource].pass(party, RESERVER), task)?;
                } else {
                    self.release_reservation((task, party), resource, guard, moment)?;
                }
            }
            self.step(task, moment.scenario);
        }
    }

    /// Releases a global resource to the next waiter, if there is one.
    pub(super) fn release_reservation(
        &mut self,
        (task, party): (usize, LockParty),
        resource: usize,
        guard: Guard,
        moment: &mut Moment<'_, impl Sink>,
    ) -> Result<(), Halt> {
        match refused(self.state.globals[resource].release(party), task)? {
            Some(next) => self.granted(next, resource, guard, moment),
            None => Ok(()),
        }
    }

    /// A waiting task has been granted a global resource. Its core receives the grant at once, or in a driven run
    /// when the driver says so.
    fn granted(
        &mut self,
        grant: Grant,
        resource: usize,
        guard: Guard,
        moment: &mut Moment<'_, impl Sink>,
    ) -> Result<(), Halt> {
        let task = self.members[grant.party.core][grant.party.task] as usize;
        match self.state.on_the_way.get_mut(task) {
            Some(place) => *place = Some((grant, resource, guard)),
            None => self.give(grant, resource, guard, moment)?,
        }
        Ok(())
    }

    /// The core of a waiting task receives the grant of a global resource.
    pub(super) fn give(
        &mut self,
        grant: Grant,
        resource: usize,
        guard: Guard,
        moment: &mut Moment<'_, impl Sink>,
    ) -> Result<(), Halt> {
        let core = grant.party.core;
        let task = self.members[core][grant.party.task] as usize;
        self.touch(core);
        self.emit(task, SimEventKind::Locked(resource), moment);
        if guard == Guard::Spin {
            self.state.live[task].waits = false;
        } else {
            refused(self.state.cores[core].boost(grant.party.task, grant.rank), task)?;
        }
        self.step(task, moment.scenario);
        Ok(())
    }

    /// Decides on all cores on which something happened, lowest first, until nothing more happens at this instant.
    pub(super) fn settle_all(&mut self, moment: &mut Moment<'_, impl Sink>) -> Result<(), Halt> {
        while let Some(word) = self.state.touched.iter().position(|word| *word != 0) {
            let bit = self.state.touched[word].trailing_zeros() as usize;
            self.state.touched[word] &= !(1 << bit);
            self.settle(word * 64 + bit, moment)?;
        }
        Ok(())
    }

    pub(super) fn settle(&mut self, core: usize, moment: &mut Moment<'_, impl Sink>) -> Result<(), Halt> {
        loop {
            let limited = moment.is_limited();
            let chosen = if limited {
                self.decide_limited(core, moment.now)?
            } else {
                self.state.cores[core].decide()
            };
            let chosen = chosen.map_or(NONE, |local| self.members[core][local]);
            debug_assert_eq!(self.check(core), Ok(()), "core {core} at {}", moment.now);
            let current = self.state.current[core];
            if chosen != current {
                self.switch(core, current, chosen, moment);
            }
            if chosen == NONE || self.state.boundary[core] != NEVER {
                return Ok(());
            }
            let task = chosen as usize;
            if limited && self.relieve(core, task, moment)? {
                continue;
            }
            let op = self.op(task);
            match op.what {
                What::Run => {
                    self.state.boundary[core] = moment.now + self.state.live[task].remaining;
                    if limited {
                        self.cut(core, task);
                    }
                    return Ok(());
                }
                What::Lock(_) if self.state.live[task].waits => return Ok(()),
                What::Lock(guard) => self.lock(core, task, guard, op.resource as usize, moment)?,
                What::Unlock(_) | What::End => self.close(core, task, moment)?,
            }
        }
    }

    /// Another task executes on a core from now on.
    pub(super) fn switch(
        &mut self,
        core: usize,
        current: u32,
        chosen: u32,
        moment: &mut Moment<'_, impl Sink>,
    ) {
        if moment.is_limited() {
            self.switch_limited(core, current, chosen, moment);
        }
        if current != NONE {
            let boundary = self.state.boundary[core];
            if boundary != NEVER {
                self.state.live[current as usize].remaining = boundary - moment.now;
            }
            self.emit(current as usize, SimEventKind::Preempt, moment);
        }
        self.state.current[core] = chosen;
        self.state.boundary[core] = NEVER;
        if chosen == NONE {
            return;
        }
        let task = chosen as usize;
        let live = &mut self.state.live[task];
        let kind = if live.started { SimEventKind::Resume } else { SimEventKind::Start };
        live.started = true;
        let waited = core::mem::take(&mut live.waits);
        self.emit(task, kind, moment);
        if waited {
            // The task waited for a local resource. Now it runs, so it holds the resource.
            self.emit(task, SimEventKind::Locked(self.op(task).resource as usize), moment);
            self.step(task, moment.scenario);
        }
    }

    /// Checks the invariants of a core's rule. A rule of the caller's own may be wrong: a run under such a rule ends
    /// where the rule breaks mutual exclusion.
    fn check(&self, core: usize) -> Result<(), &'static str> {
        if self.is_checked { self.state.cores[core].check_state() } else { Ok(()) }
    }

    /// The instant that deadline floors count from.
    fn floors_from(&self, core: usize, now: u64) -> Instant {
        if !self.from_next[core] {
            return Instant::from_ns(now);
        }
        let next = self.members[core].iter().map(|task| self.state.sources[*task as usize].next_from(now));
        Instant::from_ns(next.min().unwrap_or(now))
    }

    /// The job that executes on a core requests a resource.
    pub(super) fn lock(
        &mut self,
        core: usize,
        task: usize,
        guard: Guard,
        resource: usize,
        moment: &mut Moment<'_, impl Sink>,
    ) -> Result<(), Halt> {
        let (granted, other) = if guard == Guard::Local {
            (self.request_local(core, task, resource, moment.now)?, None)
        } else {
            let (answer, other) = self.request_global(core, task, guard, resource, moment.at())?;
            (self.answered(core, task, guard, answer)?, other)
        };
        let kind = match guard {
            _ if granted => SimEventKind::Locked(resource),
            Guard::Spin => SimEventKind::Spin(resource),
            Guard::Local | Guard::Suspend => SimEventKind::Suspend(resource),
        };
        self.emit(task, kind, moment);
        if granted {
            self.step(task, moment.scenario);
        } else if moment.is_limited() && self.state.current[core] == NONE {
            self.runs_limited(task, false, moment);
        }
        other.map_or(Ok(()), |next| self.granted(next, resource, guard, moment))
    }

    /// Requests a local resource. Returns whether the job holds the resource now; otherwise the job has left its core.
    fn request_local(&mut self, core: usize, task: usize, resource: usize, now: u64) -> Result<bool, Halt> {
        let floors_from = self.floors_from(core, now);
        match refused(self.state.cores[core].lock(floors_from, resource), task)? {
            LocalAnswer::Granted => Ok(true),
            LocalAnswer::Waits => {
                self.state.live[task].waits = true;
                self.state.current[core] = NONE;
                Ok(false)
            }
            LocalAnswer::Broken => Err(RunEnd::Broken { task, resource }),
        }
    }

    /// Requests a global resource, and ends the resource's reservation if the request must do that. Returns the
    /// answer, and the grant that another job received because the reservation ended.
    fn request_global(
        &mut self,
        core: usize,
        task: usize,
        guard: Guard,
        resource: usize,
        at: Instant,
    ) -> Result<(GlobalAnswer, Option<Grant>), Halt> {
        let party = self.party(task);
        let State { cores, globals, reserves, is_queued, on_the_way, .. } = &mut self.state;
        if guard == Guard::Spin {
            refused(cores[core].pin(), task)?;
        }
        let global = &mut globals[resource];
        let mut answer = if *is_queued {
            let came = on_the_way[task].take_if(|(_, of, _)| *of == resource);
            came.map_or(GlobalAnswer::Waits, |(grant, ..)| GlobalAnswer::Granted(grant))
        } else {
            refused(global.request(at, party, self.fixed[task].priority), task)?
        };
        let mut other = None;
        if *reserves == Some(resource) {
            other = refused(global.release(RESERVER), task)?;
            if let Some(grant) = other.take_if(|next| next.party == party) {
                answer = GlobalAnswer::Granted(grant);
            }
        }
        Ok((answer, other))
    }

    /// A job receives the answer to its request for a global resource. Returns whether the job holds the resource now;
    /// otherwise it spins, or has left its core.
    fn answered(
        &mut self,
        core: usize,
        task: usize,
        guard: Guard,
        answer: GlobalAnswer,
    ) -> Result<bool, Halt> {
        let local = self.party(task).task;
        let State { cores, live, current, .. } = &mut self.state;
        match answer {
            GlobalAnswer::Granted(grant) => {
                if guard == Guard::Suspend {
                    refused(cores[core].boost(local, grant.rank), task)?;
                }
                Ok(true)
            }
            GlobalAnswer::Waits if guard == Guard::Spin => {
                live[task].waits = true;
                Ok(false)
            }
            GlobalAnswer::Waits => {
                refused(cores[core].suspend(), task)?;
                current[core] = NONE;
                Ok(false)
            }
        }
    }
}
