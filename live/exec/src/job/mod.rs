// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

pub(crate) mod change;
pub(crate) mod donation;

use std::marker::PhantomData;

use taut_event::Kind;
use taut_policy::Uncontended;
use taut_sys::clock;
use taut_sys::interrupt::ThreadSlot;
use taut_sys::switched::SwitchMark;
use taut_time::Instant;

use crate::error::LockError;
use crate::key;
use crate::ready::jobs::Arrived;
use crate::ready::state::State;
use crate::resource::{CoreResource, Poison};
use crate::shared::Shared;
use crate::task::TaskId;

/// What a task does in each job.
///
/// A job runs to completion on one of the core's worker threads, not always the same one. It must not sleep, wait or
/// do IO: while it sleeps, Linux runs the job below it without the rule's knowledge, and the next call of that job
/// ends the process. Code that has to wait may run on a thread of its own, to which a job in a server donates its
/// place: [`Job::donate`].
pub trait Work: Send {
    /// Runs one job. A panic stops the executor, and [`Setup::run`](crate::Setup::run) resumes the panic.
    fn run(&mut self, job: &mut Job<'_>);

    /// Learns when release 0 is, in ns of the monotonic clock. The dispatcher calls this once, before everything else; nothing
    /// is released before that instant.
    ///
    /// *Real-time*: must be bounded. A panic counts as a panic of a job.
    fn begin(&mut self, origin_ns: u64) {
        let _ = origin_ns;
    }

    /// For a task with [`Release::Polled`](crate::Release::Polled): the instant since which there is something to do,
    /// or `None`. `now_ns` and the result are ns of the monotonic clock. The work keeps what it found for the job that
    /// is released then. An instant in the future puts the release off until then; if the task is
    /// [`TaskSetup::reconsidered`](crate::TaskSetup::reconsidered), a later answer takes the place of this one.
    ///
    /// The dispatcher calls this after an event for the task, and when the task is resumed; the worker thread calls
    /// it when it completes a job of the task. Each calls it only while the task has no job.
    ///
    /// *Real-time*: must be bounded, and must neither block nor lock. The caller is inside the core's state, which a
    /// panic would leave half changed. So a panic here ends the process: the handler of
    /// [`Setup::on_violation`](crate::Setup::on_violation) gets a
    /// [`ViolationKind::Panic`](crate::ViolationKind::Panic), and nothing can catch the panic.
    fn poll(&mut self, now_ns: u64) -> Option<u64> {
        let _ = now_ns;
        None
    }

    /// For a task that is [`TaskSetup::admitted`](crate::TaskSetup::admitted): whether the task may go on with release
    /// `next`, counted from 0. If `begins`, that release begins a job. The executor has dropped each earlier release
    /// for which it did not call this; the work may have to do something in place of those first. `false` puts the release
    /// off: the dispatcher asks again at each of its scans, at the latest after an event of
    /// [`Setup::listen_for_admission`](crate::Setup::listen_for_admission). It asks only while the task has no job.
    ///
    /// *Real-time*: must be bounded. It may wait for a lock that others hold for a short time, and for nothing else.
    /// A panic counts as a panic of a job.
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

/// The overrun policy asked the job to end early.
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
    /// The processor time of the job's thread when the job began (ns).
    began_ns: u64,
    /// The number of sections of resources of several cores that the job is in.
    pub(crate) depth: u32,
    /// The bits of which a fitting resource key has none: see [`crate::key`].
    lacks: u64,
    /// Whether the job's thread has been switched out.
    pub(crate) watched: SwitchMark,
    /// The slot of the job's thread.
    thread_slot: &'j ThreadSlot,
    stays: PhantomData<*mut ()>,
}

impl<'j> Job<'j> {
    pub(crate) fn new(
        shared: &'j Shared,
        worker: u32,
        task: u32,
        arrived: Arrived,
        began_ns: u64,
        deadline_ns: u64,
        thread_slot: &'j ThreadSlot,
    ) -> Self {
        let listed = shared.listed.get(shared.listed_words * task as usize).copied().unwrap_or(0);
        let lacks = key::lacks(shared.brand, listed);
        let watched = shared.watched;
        Self {
            shared,
            worker,
            task,
            deadline_ns,
            arrived,
            began_ns,
            depth: 0,
            lacks,
            watched,
            thread_slot,
            stays: PhantomData,
        }
    }

    /// The slot in which the job's thread records which resource it has, for the thread that ends the process.
    pub fn thread_slot(&self) -> &'j ThreadSlot {
        self.thread_slot
    }

    /// The same job for the time of this borrow, for a caller that moves it into a value and passes that value on.
    pub fn reborrow(&mut self) -> Job<'_> {
        Job { stays: PhantomData, ..*self }
    }

    /// The job's number within its task, counted from 0; skipped releases count.
    pub fn number(&self) -> u64 {
        self.arrived.number
    }

    /// When the job arrived, on the monotonic clock. For a periodic task this is the nominal instant.
    pub fn arrival(&self) -> Instant {
        Instant::from_ns(self.arrived.arrival_ns)
    }

    /// The job's absolute deadline, without any effect of locks.
    pub fn deadline(&self) -> Instant {
        Instant::from_ns(self.arrived.arrival_ns.saturating_add(self.deadline_ns))
    }

    /// The time now, on the same clock. One clock read, no system call.
    pub fn now(&self) -> Instant {
        Instant::from_ns(clock::monotonic_ns())
    }

    /// The processor time that the job's thread had used when the job began (ns). What the job uses counts from there.
    pub fn began_ns(&self) -> u64 {
        self.began_ns
    }

    /// Runs `section` with the value of a resource, while no other job has the resource. Locks are released in reverse
    /// order by construction, also when `section` panics. A panic poisons the value, because it may be half changed;
    /// after that only [`Job::recover`] gives access to the value.
    ///
    /// *Real-time*: wait-free. No system call, unless the core's rule runs another job meanwhile, or the job's thread was
    /// switched out since its last section (two calls, about a microsecond).
    ///
    /// # Errors
    /// [`LockError`]; then nothing has happened, and `section` was not called.
    #[inline]
    pub fn lock<T: Send, R>(
        &mut self,
        resource: &CoreResource<T>,
        section: impl FnOnce(&mut T, &mut Self) -> R,
    ) -> Result<R, LockError> {
        let held = self.take(resource)?;
        if let Some(by) = held.poison.by() {
            held.release();
            return Err(LockError::Poisoned { by });
        }
        Ok(held.run(resource, section))
    }

    /// As [`Job::lock`], also if a job panicked in the middle of a change. Then `section` gets the position of that
    /// job's task on the core, and a value of which any part may be old or new. It must repair the value, which counts
    /// as whole when `section` returns, but not if `section` panics. If the value is whole already, `section` gets
    /// `None`.
    ///
    /// *Real-time*: as [`Job::lock`].
    ///
    /// # Errors
    /// As [`Job::lock`], but for [`LockError::Poisoned`].
    pub fn recover<T: Send, R>(
        &mut self,
        resource: &CoreResource<T>,
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
    fn take<'h, T>(&'h mut self, resource: &'h CoreResource<T>) -> Result<Held<'h, 'j>, LockError> {
        if !key::fits(resource.key, self.lacks) {
            self.look_up(resource.brand, resource.uncontended)?;
        }
        let uncontended = resource.uncontended;
        self.before_section();
        self.shared.acquire(self, uncontended)?;
        // `Held` releases the resource in a panic. Otherwise the caller that took the resource releases it, which is
        // shorter.
        Ok(Held { job: self, uncontended, poison: &resource.cell.poison })
    }

    /// Before a section: accounts for the switches so far, which happened outside this section.
    #[inline(always)]
    pub(crate) fn before_section(&self) {
        if self.watched.is_lost() {
            self.switched_out(false);
        }
    }

    /// After a section: checks whether the job slept in it. One load, if the job was not switched out.
    #[inline(always)]
    pub(crate) fn after_section(&self) {
        if self.watched.is_lost() {
            self.switched_out(true);
        }
    }

    /// Accounts for the switches of the job's thread since the last check. `held`: whether the job held something all
    /// that time. *Real-time*: two system calls, about a microsecond.
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

    /// Checks that a resource is of this core and that the task lists it, if the key does not show both.
    #[cold]
    #[inline(never)]
    fn look_up(&self, brand: u64, resource: Uncontended) -> Result<(), LockError> {
        if brand != self.shared.brand {
            return Err(LockError::Foreign);
        }
        let index = resource.resource();
        let word = self.shared.listed_words * self.task as usize + index as usize / 64;
        let listed = self.shared.listed.get(word).is_some_and(|word| word & 1 << (index % 64) != 0);
        if listed { Ok(()) } else { Err(LockError::NotListed { task: self.task, resource: index }) }
    }

    /// A point at which the job may end early: on an error the job should return. Each lock is such a point too.
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

    /// Releases a job of a task of the same core; it arrives now. If the rule prefers that job, the job has run when
    /// this call returns.
    ///
    /// *Real-time*: wait-free; if another thread runs next, a system call to wake it, and one for each thread that changes
    /// its level.
    ///
    /// # Errors
    /// [`LockError::Foreign`] if the task is not of this core, or is not released by hand.
    pub fn release(&mut self, task: TaskId) -> Result<(), LockError> {
        self.release_as(task, None)
    }

    /// As [`Job::release`]; tests set the arrival.
    pub(crate) fn release_as(&mut self, task: TaskId, arrival_ns: Option<u64>) -> Result<(), LockError> {
        let task = self.shared.by_hand(task).ok_or(LockError::Foreign)?;
        let mut inside = self.shared.enter(self.worker, self.task);
        let now_ns = clock::monotonic_ns();
        let reported = inside.state().release(task, arrival_ns.unwrap_or(now_ns), now_ns);
        self.shared.or_abort(self.task, reported);
        self.shared.decided_at(inside, self.worker, || now_ns);
        Ok(())
    }

    /// Stays inside the core's state while `work` runs, which no job does outside of tests.
    #[cfg(test)]
    pub(crate) fn keep_inside(&mut self, work: impl FnOnce()) {
        let inside = self.shared.enter(self.worker, self.task);
        work();
        inside.leave();
    }
}

/// Holds a resource until this value is dropped.
struct Held<'h, 'j> {
    job: &'h mut Job<'j>,
    uncontended: Uncontended,
    poison: &'h Poison,
}

impl<'j> Held<'_, 'j> {
    /// Runs `section` with the value of `resource`, which `self` holds, and then releases the resource.
    #[inline(always)]
    fn run<T: Send, R>(
        self,
        resource: &CoreResource<T>,
        section: impl FnOnce(&mut T, &mut Job<'j>) -> R,
    ) -> R {
        // SAFETY:
        // - we hold it: the rule of its core (brand) has granted it to this job, and grants it to no other until
        //   `self` is dropped, which is after the last use of the reference;
        // - this job does not hold it twice: the rule refuses that;
        // - the last holder's writes are visible: both were inside the core's state in between (S1).
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
    // Only the call is out of line. If `drop` itself were, `self` would have to be in memory.
    #[inline(always)]
    fn drop(&mut self) {
        self.job.shared.release_in_panic(self.job, self.uncontended, self.poison);
    }
}
