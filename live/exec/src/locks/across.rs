// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How a core's jobs ask for resources of several cores: a job is pinned while it spins, or suspended while it
//! sleeps.
//!
//! ```text
//! G1  A job that waits asleep is suspended in its core's rule, and its thread has the priority above all levels. The
//!     thread has that priority before it gives up the core, so that no other thread keeps it from going to sleep, and
//!     from coming back.
//! G2  A job that comes back sets its `back` flag and tries to enter the state by an exchange. If it enters, it
//!     reports to the rule itself. If another thread is in a section, it sets preempt pending; the thread that leaves
//!     that section calls the dispatcher, which reports to the rule. Exactly one of the two reports, because
//!     the flag is taken by an exchange.
//! G3  Only the job that is pinned on a core borrows the core's party, between its `pin` and its `unpin`, both inside
//!     the core's state: no other job of the core runs meanwhile. Only the task's job, of which there is one, borrows a
//!     party of a task.
//! ```

use std::sync::atomic::Ordering;

use taut_event::Kind;
use taut_lock::AcquiredState;
use taut_policy::Scheduler;
use taut_sys::clock;

use crate::error::LockError;
use crate::locks::global::{Asks, PartyCell};
use crate::ready::settle::{Caller, Next};
use crate::shared::{Inside, Shared};

/// A job's request for a resource.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    pub(crate) worker: u32,
    pub(crate) task: u32,
    /// The number by which the resource is recorded.
    pub(crate) number: u32,
    pub(crate) urgency: u32,
    /// The rank of the holder; `None`: the rank is the time of the request.
    pub(crate) rank: Option<u64>,
}

impl Shared {
    /// Takes a resource for which jobs spin.
    ///
    /// # Safety
    /// `party` is that of this core, and of no other core.
    pub(crate) unsafe fn acquire_spinning(
        &self,
        request: Request,
        party: &PartyCell<impl Asks>,
    ) -> Result<AcquiredState, LockError> {
        let Request { worker, task, number, .. } = request;
        let mut inside = self.enter(worker, task);
        let state = inside.state();
        if state.tasks[task as usize].killed {
            inside.leave();
            return Err(LockError::Killed);
        }
        self.or_abort(task, state.lift());
        self.or_abort(task, state.rule.pin());
        state.hold_across(task, true);
        // SAFETY: the job is pinned, and inside (G3).
        let granted = unsafe { party.ask(0) };
        let kind = if granted.is_some() { Kind::Locked } else { Kind::Spin };
        state.log_across(kind, task, number, clock::monotonic_ns);
        inside.leave();
        if let Some(entry) = granted {
            return Ok(entry);
        }
        // SAFETY: the job is still pinned: only the dispatcher runs here meanwhile (G3).
        let entry = unsafe { party.have() };
        let mut inside = self.enter(worker, task);
        inside.state().log_across(Kind::Locked, task, number, clock::monotonic_ns);
        inside.leave();
        Ok(entry)
    }

    /// Releases a resource for which jobs spin.
    ///
    /// # Safety
    /// As [`Shared::acquire_spinning`], by which the caller got the lock.
    pub(crate) unsafe fn release_spinning(&self, request: Request, party: &PartyCell<impl Asks>) {
        let Request { worker, task, number, .. } = request;
        let mut inside = self.enter(worker, task);
        let state = inside.state();
        // Recorded before the release, and inside the same section: so records and reports are in the order of the
        // lock.
        state.log_across(Kind::Unlock, task, number, clock::monotonic_ns);
        // SAFETY: the job stays pinned until below (G3).
        unsafe { party.release() };
        self.or_abort(task, state.rule.unpin());
        state.hold_across(task, false);
        self.decided(inside, worker);
    }

    /// Takes a resource for which jobs sleep.
    ///
    /// # Safety
    /// `party` is that of the request's task, and of no other task; the caller is the task's job.
    pub(crate) unsafe fn acquire_suspending(
        &self,
        request: Request,
        party: &PartyCell<impl Asks>,
    ) -> Result<AcquiredState, LockError> {
        let Request { worker, task, number, urgency, rank } = request;
        let mut inside = self.enter(worker, task);
        let state = inside.state();
        if state.tasks[task as usize].killed {
            inside.leave();
            return Err(LockError::Killed);
        }
        // Read inside the state, so that ranks by the clock are in the order of the requests.
        let rank = rank.unwrap_or_else(clock::monotonic_ns);
        self.or_abort(task, state.lift());
        // SAFETY: this is the task's only job (G3).
        if let Some(entry) = unsafe { party.ask(urgency) } {
            self.or_abort(task, state.rule.boost(task as usize, rank));
            state.hold_across(task, true);
            state.log_across(Kind::Locked, task, number, clock::monotonic_ns);
            self.decided(inside, worker);
            return Ok(entry);
        }
        let now_ns = clock::monotonic_ns();
        self.or_abort(task, state.rule.suspend());
        state.log_across(Kind::Suspend, task, number, || now_ns);
        state.go_away(worker, rank, number, now_ns);
        let chosen = self.or_abort(task, state.decide(|| now_ns));
        match self.settle(state, chosen, Caller::Waiting(worker), now_ns) {
            // The other thread runs once this one sleeps (G1).
            Next::Wake(other) => inside.wake(other),
            Next::Same | Next::Here | Next::Below => inside.leave_and_call(),
        }
        // SAFETY: the task has no other job, and this one goes on only with the lock (G3).
        let entry = self.account(worker).wait(|| unsafe { party.have() });
        self.come_back(worker, task);
        Ok(entry)
    }

    /// Releases a resource for which jobs sleep.
    ///
    /// # Safety
    /// As [`Shared::acquire_suspending`], by which the caller got the lock.
    pub(crate) unsafe fn release_suspending(&self, request: Request, party: &PartyCell<impl Asks>) {
        let Request { worker, task, number, .. } = request;
        let mut inside = self.enter(worker, task);
        let state = inside.state();
        // Recorded before the release, and inside the same section: so records and reports are in the order of the
        // lock.
        state.log_across(Kind::Unlock, task, number, clock::monotonic_ns);
        // SAFETY: this is the task's only job (G3).
        unsafe { party.release() };
        self.or_abort(task, state.rule.unboost());
        state.hold_across(task, false);
        self.decided(inside, worker);
    }

    /// Reports that the job has been granted the resource for which it slept. The job goes on when it is chosen.
    fn come_back(&self, worker: u32, task: u32) {
        let back = &self.back[worker as usize];
        back.store(true, Ordering::Release);
        self.any_back.store(true, Ordering::Release);
        let Some(mut inside) = self.enter_returning(task) else { return self.park(worker) };
        if !back.swap(false, Ordering::Acquire) {
            // The dispatcher has already reported it.
            inside.leave();
            return self.park(worker);
        }
        let now_ns = clock::monotonic_ns();
        let state = inside.state();
        self.or_abort(task, state.granted(task, now_ns));
        let chosen = self.or_abort(task, state.decide(|| now_ns));
        match self.settle(state, chosen, Caller::Waiting(worker), now_ns) {
            Next::Wake(other) if other == worker => return inside.leave_and_call(),
            Next::Wake(other) => inside.wake(other),
            Next::Same | Next::Here | Next::Below => inside.leave_and_call(),
        }
        self.park(worker);
    }

    /// The dispatcher, inside the state, takes the threads of jobs that came back but could not enter the state. It
    /// reads the clock afterwards: the record of a grant must not be earlier than that of the unlock before it.
    pub(crate) fn take_returned(&self, returned: &mut Vec<u32>) {
        if !self.any_back.load(Ordering::Relaxed) || !self.any_back.swap(false, Ordering::Acquire) {
            return;
        }
        let taken = (0..).zip(&self.back).filter(|(_, back)| back.swap(false, Ordering::Acquire));
        returned.extend(taken.map(|(worker, _)| worker));
    }

    /// The dispatcher reports the grants of the jobs whose threads it took.
    pub(crate) fn apply_grants(&self, inside: &mut Inside<'_>, returned: &mut Vec<u32>, now_ns: u64) {
        for worker in returned.drain(..) {
            let state = inside.state();
            let task = state.priorities.workers[worker as usize].task;
            self.or_abort(task, state.granted(task, now_ns));
        }
    }
}
