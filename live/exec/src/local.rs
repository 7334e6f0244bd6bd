// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Locks of one core: the short way for what nearly always happens, and the careful one.

use taut_event::Kind;
use taut_policy::{Answer, Light, Locking, Misuse};
use taut_sys::clock;
use taut_time::Instant;

use crate::error::LockError;
use crate::job::Job;
use crate::resource::Poison;
use crate::settle::Caller;
use crate::shared::{Inside, Refused, Shared};
use crate::violation::Found;

impl Shared {
    /// Takes a local resource for the job that runs. Wait-free, 5 loads and 2 stores of the core's words, and what the rule
    /// does, mostly 3 loads and 1 store; under [`crate::Rule::Original`] it may have to wait.
    #[inline(always)]
    pub(crate) fn acquire(&self, job: &Job<'_>, resource: Light) -> Result<(), LockError> {
        match self.enter_short(job.worker) {
            Ok(mut inside) => {
                // In no band: nothing of other cores is held here.
                if inside.state().rule.local_mut().lock_light(resource) {
                    inside.leave_as_it_was();
                    return Ok(());
                }
                self.acquire_inside(inside, job, resource)
            }
            Err(refused) => self.acquire_on(refused, job, resource),
        }
    }

    /// May pass, but it is a section inside of another, or there is more to it.
    #[cold]
    #[inline(never)]
    fn acquire_inside(
        &self,
        mut inside: Inside<'_>,
        job: &Job<'_>,
        resource: Light,
    ) -> Result<(), LockError> {
        if inside.state().rule.local_mut().lock_short(resource.resource() as usize) {
            inside.leave_as_it_was();
            return Ok(());
        }
        self.acquire_with_care(inside, job.worker, job.task, resource.resource())
    }

    #[cold]
    #[inline(never)]
    fn acquire_on(&self, refused: Refused, job: &Job<'_>, resource: Light) -> Result<(), LockError> {
        let inside = self.enter_on(refused, job.worker, job.task);
        self.acquire_with_care(inside, job.worker, job.task, resource.resource())
    }

    /// A local rule that lets nobody wait has changed nothing if it has not granted it, so it may be asked again.
    fn acquire_with_care(
        &self,
        mut inside: Inside<'_>,
        me: u32,
        task: u32,
        resource: u32,
    ) -> Result<(), LockError> {
        let state = inside.state();
        let slot = &state.tasks[task as usize];
        let number = slot.job.number;
        if slot.killed {
            inside.leave();
            return Err(LockError::Killed);
        }
        self.held(task, state.lift());
        let answer = state.rule.lock(Instant::from_ns(state.floor_ns), resource as usize);
        if answer == Ok(Answer::Granted) {
            let mut locked_ns = None;
            let now = || *locked_ns.insert(clock::monotonic_ns());
            state.log.lock(now, Kind::Locked, task, number, resource);
            if state.serving.is_empty() {
                inside.leave();
            } else {
                // Time may have given a server a turn: whoever replays this asks here, too.
                self.decided_at(inside, me, || locked_ns.unwrap_or_else(clock::monotonic_ns));
            }
            return Ok(());
        }
        self.not_granted(inside, answer, me, task, resource)
    }

    #[cold]
    #[inline(never)]
    fn not_granted(
        &self,
        mut inside: Inside<'_>,
        answer: Result<Answer, Misuse>,
        me: u32,
        task: u32,
        resource: u32,
    ) -> Result<(), LockError> {
        match answer {
            Ok(Answer::Granted) => inside.leave(),
            Ok(Answer::Waits) => {
                let state = inside.state();
                let now_ns = clock::monotonic_ns();
                state.wait(me, resource, now_ns);
                let chosen = self.held(task, state.decide(|| now_ns));
                self.switch(inside, chosen, Caller::Waiting(me), me);
            }
            Ok(Answer::Broken) => self.found(task, Found::Broken { resource }),
            Err(Misuse::Again) => {
                inside.leave();
                return Err(LockError::Held { resource });
            }
            Err(Misuse::State) => {
                inside.leave();
                return Err(LockError::Nested);
            }
            Err(misuse) => self.found(task, Found::Refused(misuse)),
        }
        Ok(())
    }

    /// Whether the job that runs holds a local resource.
    pub(crate) fn holds(&self, me: u32, task: u32) -> bool {
        let mut inside = self.enter(me, task);
        let holds = inside.state().rule.local().holds();
        inside.leave();
        holds
    }

    /// Gives back the resource that the job that runs took last. Wait-free as [`Shared::acquire`]; another job may go on in
    /// its place.
    #[inline(always)]
    pub(crate) fn give_back(&self, job: &Job<'_>, resource: Light) {
        match self.enter_short(job.worker) {
            Ok(mut inside) => {
                if inside.state().rule.local_mut().unlock_light(resource) {
                    inside.leave_as_it_was();
                } else {
                    self.give_back_inside(inside, job, resource);
                }
            }
            Err(refused) => self.give_back_on(refused, job, resource),
        }
    }

    /// May pass, but it is a section inside of another, or somebody has asked what is held, or another one may go on.
    #[cold]
    #[inline(never)]
    fn give_back_inside(&self, mut inside: Inside<'_>, job: &Job<'_>, resource: Light) {
        match inside.state().rule.local_mut().unlock_short(resource.resource() as usize) {
            Ok(true) => inside.leave_as_it_was(),
            Ok(false) => self.decided(inside, job.worker),
            Err(misuse) => self.found(job.task, Found::Refused(misuse)),
        }
    }

    #[cold]
    #[inline(never)]
    fn give_back_on(&self, refused: Refused, job: &Job<'_>, resource: Light) {
        let inside = self.enter_on(refused, job.worker, job.task);
        self.give_back_with_care(inside, job.worker, job.task, resource.resource());
    }

    /// The same, while a panic goes through the section: what it leaves may be half changed.
    #[cold]
    #[inline(never)]
    pub(crate) fn give_back_in_panic(&self, job: &Job<'_>, resource: Light, poison: &Poison) {
        poison.put(job.task);
        self.give_back(job, resource);
        job.after_section();
    }

    fn give_back_with_care(&self, mut inside: Inside<'_>, me: u32, task: u32, resource: u32) {
        let state = inside.state();
        self.held(task, state.rule.unlock(resource as usize));
        let number = state.tasks[task as usize].job.number;
        let mut unlocked_ns = None;
        let now = || *unlocked_ns.insert(clock::monotonic_ns());
        state.log.lock(now, Kind::Unlock, task, number, resource);
        #[cfg(test)]
        if self.deaf {
            return inside.leave();
        }
        self.decided_at(inside, me, || unlocked_ns.unwrap_or_else(clock::monotonic_ns));
    }
}
