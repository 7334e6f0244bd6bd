// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::marker::PhantomData;

use taut_event::Kind;
use taut_policy::Uncontended;
use taut_sys::clock;
use taut_sys::interrupt::ThreadSlot;
use taut_sys::switched::SwitchMark;
use taut_time::Instant;

use crate::error::LockError;
use crate::jobs::Arrived;
use crate::key;
use crate::resource::{Poison, Resource};
use crate::shared::Shared;
use crate::state::State;
use crate::task::TaskId;

/// What a task does in each job.
///
/// It runs to completion on one of the core's threads, not always the same. It must not sleep, wait or do IO: while it is
/// asleep Linux runs the job below it, which the rule does not know; that one's next call then ends the process. What has to
/// wait may have a thread of its own, to which jobs in a server lend their place: [`Job::donate`].
pub trait Work: Send {
    /// One job. A panic stops the executor, and [`Setup::run`](crate::Setup::run) gives it on.
    fn run(&mut self, job: &mut Job<'_>);

    /// Of a task with [`Release::Polled`](crate::Release::Polled): whether there is something to do, and since when it has
    /// been. It keeps what it found for the job that is released then. Asked by the dispatcher, after a bell of the task
    /// has rung, and when a job of it is complete; only while the task has no job. An instant to come puts the release off
    /// until then. *Real-time*: must be bounded, and neither block nor lock. The dispatcher asks inside of the core's state,
    /// which a panic would leave half changed: so a panic in it ends the process, as a [`Found::Panic`](crate::Found::Panic)
    /// that [`Setup::on_violation`](crate::Setup::on_violation) is told of, and nobody can catch it.
    fn poll(&mut self, now_ns: u64) -> Option<u64> {
        let _ = now_ns;
        None
    }

    /// Of a task that is [`TaskSetup::admitted`](crate::TaskSetup::admitted): whether its release `next`, counted from 0, may
    /// begin a job, if it `begins` one. Those before it of which nothing was heard were dropped, and it may have to do
    /// something in their place before. `false` puts it off: asked again whenever the dispatcher looks, at the latest when one
    /// of [`Setup::listen_for_admission`](crate::Setup::admission_bell) has rung. Only while the task has no job. *Real-time*: must be
    /// bounded; it may wait for a lock that others have for a short time, and for nothing else. A panic is as one of a job.
    fn admit(&mut self, next: u64, begins: bool) -> bool {
        let _ = (next, begins);
        true
    }
}

impl<F: FnMut(&mut Job<'_>) + Send> Work for F {
    fn run(&mut self, job: &mut Job<'_>) {
        self(job);
    }
}

/// The job was told to end early: by its overrun policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Killed;

/// One instance of a task, while it runs. It cannot leave its thread.
#[derive(Debug)]
pub struct Job<'j> {
    pub(crate) shared: &'j Shared,
    pub(crate) worker: u32,
    pub(crate) task: u32,
    deadline_ns: u64,
    arrived: Arrived,
    /// Sections of what other cores use that it is in.
    pub(crate) depth: u32,
    /// What of a resource's key does not fit: see [`crate::key`].
    lacks: u64,
    /// Whether its thread has been switched out.
    pub(crate) watched: SwitchMark,
    /// Its thread's.
    thread_slot: &'j ThreadSlot,
    stays: PhantomData<*mut ()>,
}

impl<'j> Job<'j> {
    pub(crate) fn new(
        shared: &'j Shared,
        worker: u32,
        task: u32,
        arrived: Arrived,
        deadline_ns: u64,
        thread_slot: &'j ThreadSlot,
    ) -> Self {
        let listed = shared.listed.get(shared.words * task as usize).copied().unwrap_or(0);
        let lacks = key::lacks(shared.brand, listed);
        let watched = shared.watched;
        Self {
            shared,
            worker,
            task,
            deadline_ns,
            arrived,
            depth: 0,
            lacks,
            watched,
            thread_slot,
            stays: PhantomData,
        }
    }

    /// Where its thread says what it has, for whoever ends the process.
    pub fn thread_slot(&self) -> &'j ThreadSlot {
        self.thread_slot
    }

    /// The same job, for as long as this borrow: to be kept in something that is passed on.
    pub fn reborrow(&mut self) -> Job<'_> {
        Job { stays: PhantomData, ..*self }
    }

    /// Which job of its task it is, counted from 0; skipped releases count.
    pub fn number(&self) -> u64 {
        self.arrived.number
    }

    /// When it arrived, on the monotonic clock: for a periodic task the nominal instant.
    pub fn arrival(&self) -> Instant {
        Instant::from_ns(self.arrived.arrival_ns)
    }

    /// Its absolute deadline, as it stands without locks.
    pub fn deadline(&self) -> Instant {
        Instant::from_ns(self.arrived.arrival_ns.saturating_add(self.deadline_ns))
    }

    /// The time now, on the same clock. One clock read, no system call.
    pub fn now(&self) -> Instant {
        Instant::from_ns(clock::monotonic_ns())
    }

    /// Runs `section` with what a resource holds, while nobody else has it. Locks are given back in reverse order by
    /// construction, also when `section` panics: then the value is poisoned, for it may be half changed, and nobody gets it but
    /// by [`Job::recover`].
    ///
    /// *Real-time*: wait-free and without a system call, unless another job goes on meanwhile by the core's rule.
    ///
    /// # Errors
    /// [`LockError`]; then nothing has happened, and `section` was not called.
    #[inline]
    pub fn lock<T: Send, R>(
        &mut self,
        resource: &Resource<T>,
        section: impl FnOnce(&mut T, &mut Self) -> R,
    ) -> Result<R, LockError> {
        let held = self.take(resource)?;
        if let Some(by) = held.poison.by() {
            held.release();
            return Err(LockError::Poisoned { by });
        }
        Ok(held.run(resource, section))
    }

    /// As [`Job::lock`], also if a job panicked in the middle of a change: then `section` gets the task that this was, by its
    /// position on the core, and a value of which any part may be the old one or the new one. It makes it whole; what it leaves
    /// counts as whole when it returns, and not if it panics. `None` if the value is whole.
    ///
    /// *Real-time*: as [`Job::lock`].
    ///
    /// # Errors
    /// As [`Job::lock`], but for [`LockError::Poisoned`].
    pub fn recover<T: Send, R>(
        &mut self,
        resource: &Resource<T>,
        section: impl FnOnce(&mut T, Option<u32>, &mut Self) -> R,
    ) -> Result<R, LockError> {
        let held = self.take(resource)?;
        let by = held.poison.by();
        Ok(held.run(resource, |value, job| {
            let result = section(value, by, job);
            resource.cell.poison.clear();
            result
        }))
    }

    /// Takes a resource.
    #[inline(always)]
    fn take<'h, T>(&'h mut self, resource: &'h Resource<T>) -> Result<Held<'h, 'j>, LockError> {
        if !key::fits(resource.key, self.lacks) {
            self.look_up(resource.brand, resource.uncontended)?;
        }
        let uncontended = resource.uncontended;
        self.before_section();
        self.shared.acquire(self, uncontended)?;
        // For a panic; else it is given back by the one who took it, which is shorter.
        Ok(Held { job: self, uncontended, poison: &resource.cell.poison })
    }

    /// What has happened until now was in no section, or in one that has this one inside.
    #[inline(always)]
    pub(crate) fn before_section(&self) {
        if self.watched.is_lost() {
            self.switched_out(false);
        }
    }

    /// Finds out whether the job slept in the section that has just ended. One load, if it was not switched out.
    #[inline(always)]
    pub(crate) fn after_section(&self) {
        if self.watched.is_lost() {
            self.switched_out(true);
        }
    }

    /// The job's thread was switched out since it was looked last; whether it held something all the time. *Real-time*: two
    /// system calls, about a microsecond.
    #[cold]
    #[inline(never)]
    fn switched_out(&self, held: bool) {
        let Self { shared, worker, task, depth, .. } = *self;
        let account = shared.account(worker);
        account.catch_up();
        let switches = account.take();
        let blocked = switches.blocked;
        let held = held || depth > 0 || blocked > 0 && shared.holds(worker, task);
        let mut inside = shared.enter(worker, task);
        let State { log, tasks, .. } = inside.state();
        let slot = &mut tasks[task as usize];
        slot.outcome.count(switches);
        if held && blocked > 0 {
            slot.outcome.blocked_inside += blocked;
            log.job(clock::monotonic_ns(), Kind::Slept, task, slot.job.number, blocked);
        }
        inside.leave();
    }

    /// That a resource is of this core, and the task lists it, if its key does not tell.
    #[cold]
    #[inline(never)]
    fn look_up(&self, brand: u64, resource: Uncontended) -> Result<(), LockError> {
        if brand != self.shared.brand {
            return Err(LockError::Foreign);
        }
        let index = resource.resource();
        let word = self.shared.words * self.task as usize + index as usize / 64;
        let listed = self.shared.listed.get(word).is_some_and(|word| word & 1 << (index % 64) != 0);
        if listed { Ok(()) } else { Err(LockError::NotListed { task: self.task, resource: index }) }
    }

    /// A point at which the job may end early: it should if this is an error. Locks are such points too.
    ///
    /// *Real-time*: as a lock.
    ///
    /// # Errors
    /// [`Killed`].
    pub fn checkpoint(&mut self) -> Result<(), Killed> {
        let mut inside = self.shared.enter(self.worker, self.task);
        let killed = inside.state().tasks[self.task as usize].killed;
        inside.leave();
        if killed { Err(Killed) } else { Ok(()) }
    }

    /// Releases a job of a task of the same core; it arrives now. If the rule prefers it, it has run when this returns.
    ///
    /// *Real-time*: wait-free; one system call if another thread goes on.
    ///
    /// # Errors
    /// [`LockError::Foreign`] if the task is none of this core that is released by hand.
    pub fn release(&mut self, task: TaskId) -> Result<(), LockError> {
        self.release_as(task, None)
    }

    /// As [`Job::release`]; tests say when it arrived.
    pub(crate) fn release_as(&mut self, task: TaskId, arrival_ns: Option<u64>) -> Result<(), LockError> {
        let task = self.shared.by_hand(task).ok_or(LockError::Foreign)?;
        let mut inside = self.shared.enter(self.worker, self.task);
        let now_ns = clock::monotonic_ns();
        let reported = inside.state().release(task, arrival_ns.unwrap_or(now_ns), now_ns);
        self.shared.or_abort(self.task, reported);
        self.shared.decided_at(inside, self.worker, || now_ns);
        Ok(())
    }

    /// Keeps the core's state for a time, as no job does.
    #[cfg(test)]
    pub(crate) fn keep_inside(&mut self, work: impl FnOnce()) {
        let inside = self.shared.enter(self.worker, self.task);
        work();
        inside.leave();
    }
}

/// A resource is held until this is dropped.
struct Held<'h, 'j> {
    job: &'h mut Job<'j>,
    uncontended: Uncontended,
    poison: &'h Poison,
}

impl<'j> Held<'_, 'j> {
    /// Lets `section` have the value of the resource, which is the one that was taken, and gives that back.
    #[inline(always)]
    fn run<T: Send, R>(self, resource: &Resource<T>, section: impl FnOnce(&mut T, &mut Job<'j>) -> R) -> R {
        // SAFETY:
        // - we hold it: the rule of its core (brand) has granted it to this job, and to no other until `self` is dropped,
        //   which is after the last use of the reference;
        // - this job does not have it twice: the rule refuses that;
        // - what the last holder did to it is seen: both were inside of the core's state in between (S1).
        let value = unsafe { &mut *resource.cell.get() };
        let result = section(value, self.job);
        self.release();
        result
    }

    #[inline(always)]
    fn release(self) {
        self.job.shared.release(self.job, self.uncontended);
        self.job.after_section();
        std::mem::forget(self);
    }
}

impl Drop for Held<'_, '_> {
    // The call is out of line, not this, which would need it in memory.
    #[inline(always)]
    fn drop(&mut self) {
        self.job.shared.release_in_panic(self.job, self.uncontended, self.poison);
    }
}
