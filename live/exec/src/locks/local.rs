// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Locks of one core: the fast path, and the slow path for everything else.

use taut_event::Kind;
use taut_policy::{LocalAnswer, Locking, Misuse, Uncontended};
use taut_sys::clock;
use taut_time::Instant;

use crate::error::LockError;
use crate::job::Job;
use crate::ready::settle::Caller;
use crate::resource::Poison;
use crate::shared::{Inside, Refused, Shared};
use crate::violation::ViolationKind;

impl Shared {
    /// Takes a local resource for the running job. Wait-free: 5 loads and 2 stores of the core's words, plus the
    /// rule's own, mostly 3 loads and 1 store. Under [`crate::LocalRule::Original`] the job may have to wait.
    #[inline(always)]
    pub(crate) fn acquire(&self, job: &Job<'_>, resource: Uncontended) -> Result<(), LockError> {
        match self.enter_fast(job.worker) {
            Ok(mut inside) => {
                // The fast path has no owner while a job spins for or holds a resource of several cores. So this job is in
                // no band above the local rule.
                if inside.state().rule.local_mut().lock_uncontended(resource) {
                    inside.leave_fast();
                    return Ok(());
                }
                self.acquire_nested(inside, job, resource)
            }
            Err(refused) => self.acquire_after_refusal(refused, job, resource),
        }
    }

    /// The job may take the fast path, but its section is nested, or the rule has more to do.
    #[cold]
    #[inline(never)]
    fn acquire_nested(
        &self,
        mut inside: Inside<'_>,
        job: &Job<'_>,
        resource: Uncontended,
    ) -> Result<(), LockError> {
        if inside.state().rule.local_mut().lock_fast(resource.resource() as usize) {
            inside.leave_fast();
            return Ok(());
        }
        self.acquire_slow(inside, job.worker, job.task, resource.resource())
    }

    #[cold]
    #[inline(never)]
    fn acquire_after_refusal(
        &self,
        refused: Refused,
        job: &Job<'_>,
        resource: Uncontended,
    ) -> Result<(), LockError> {
        let inside = self.enter_after_refusal(refused, job.worker, job.task);
        self.acquire_slow(inside, job.worker, job.task, resource.resource())
    }

    /// Asks the rule for the lock, also after the fast path has asked the local rule: one that lets no job wait changes
    /// nothing when it does not grant.
    fn acquire_slow(
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
        self.or_abort(task, state.lift());
        let answer = state.rule.lock(Instant::from_ns(state.next_release_bound_ns), resource as usize);
        if answer == Ok(LocalAnswer::Granted) {
            let mut locked_ns = None;
            let now = || *locked_ns.insert(clock::monotonic_ns());
            state.log.lock(now, Kind::Locked, task, number, resource);
            if state.serving.is_empty() {
                inside.leave();
            } else {
                // By now a server may have got a turn: a replay decides here, too.
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
        answer: Result<LocalAnswer, Misuse>,
        me: u32,
        task: u32,
        resource: u32,
    ) -> Result<(), LockError> {
        match answer {
            Ok(LocalAnswer::Granted) => inside.leave(),
            Ok(LocalAnswer::Waits) => {
                let state = inside.state();
                let now_ns = clock::monotonic_ns();
                state.wait(me, resource, now_ns);
                let chosen = self.or_abort(task, state.decide(|| now_ns));
                self.switch(inside, chosen, Caller::Waiting(me), me);
            }
            Ok(LocalAnswer::Broken) => self.found(task, ViolationKind::Broken { resource }),
            Err(Misuse::Again) => {
                inside.leave();
                return Err(LockError::Held { resource });
            }
            Err(Misuse::State) => {
                inside.leave();
                return Err(LockError::Nested);
            }
            Err(misuse) => self.found(task, ViolationKind::Refused(misuse)),
        }
        Ok(())
    }

    /// Whether the running job holds a local resource.
    pub(crate) fn holds(&self, me: u32, task: u32) -> bool {
        let mut inside = self.enter(me, task);
        let holds = inside.state().rule.local().holds();
        inside.leave();
        holds
    }

    /// Releases the resource that the running job took last. Wait-free like [`Shared::acquire`]; another job may then
    /// run in its place.
    #[inline(always)]
    pub(crate) fn release(&self, job: &Job<'_>, resource: Uncontended) {
        match self.enter_fast(job.worker) {
            Ok(mut inside) => {
                if inside.state().rule.local_mut().unlock_uncontended(resource) {
                    inside.leave_fast();
                } else {
                    self.release_nested(inside, job, resource);
                }
            }
            Err(refused) => self.release_after_refusal(refused, job, resource),
        }
    }

    /// The job may take the fast path, but its section is nested, or another thread has asked which job holds the
    /// resource, or another job may run now.
    #[cold]
    #[inline(never)]
    fn release_nested(&self, mut inside: Inside<'_>, job: &Job<'_>, resource: Uncontended) {
        match inside.state().rule.local_mut().unlock_fast(resource.resource() as usize) {
            Ok(true) => inside.leave_fast(),
            Ok(false) => self.decided(inside, job.worker),
            Err(misuse) => self.found(job.task, ViolationKind::Refused(misuse)),
        }
    }

    #[cold]
    #[inline(never)]
    fn release_after_refusal(&self, refused: Refused, job: &Job<'_>, resource: Uncontended) {
        let inside = self.enter_after_refusal(refused, job.worker, job.task);
        self.release_slow(inside, job.worker, job.task, resource.resource());
    }

    /// As [`Shared::release`], while a panic unwinds the section: the value may be half changed.
    #[cold]
    #[inline(never)]
    pub(crate) fn release_in_panic(&self, job: &Job<'_>, resource: Uncontended, poison: &Poison) {
        poison.put(job.task);
        self.release(job, resource);
        job.after_section();
    }

    fn release_slow(&self, mut inside: Inside<'_>, me: u32, task: u32, resource: u32) {
        let state = inside.state();
        self.or_abort(task, state.rule.unlock(resource as usize));
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
