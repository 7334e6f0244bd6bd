// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How a core's jobs ask for what other cores have: pinned while they spin, or away while they sleep.
//!
//! ```text
//! G1  Who waits asleep is suspended to its core's rule, and stands at the priority above all rungs: it is there before
//!     the core is given away, so that nothing keeps it from going to sleep, and from coming back.
//! G2  Who comes back says so, and takes the mark by an exchange: then it tells the rule itself. If the mark is set, it
//!     leaves a note; whoever takes the mark off calls the dispatcher, which tells the rule. One of the two does, for
//!     what was said is taken back by an exchange.
//! G3  A party of a core is borrowed by the job that is pinned there, between its `pin` and its `unpin`, both inside of the
//!     core's state: no other job of the core runs meanwhile. A party of a task is borrowed by its job, of which there is one.
//! ```

use std::sync::atomic::Ordering;

use taut_event::Kind;
use taut_lock::Entry;
use taut_policy::Scheduler;
use taut_sys::clock;

use crate::error::LockError;
use crate::global::{Asks, PartyCell};
use crate::settle::{Caller, Next};
use crate::shared::{Inside, Shared};

/// A job that asks, and for what.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    pub(crate) worker: u32,
    pub(crate) task: u32,
    /// How the resource is recorded.
    pub(crate) number: u32,
    pub(crate) urgency: u32,
    /// `None`: by when it asks.
    pub(crate) rank: Option<u64>,
}

impl Shared {
    /// Takes a resource for which jobs spin.
    ///
    /// # Safety
    /// The party is that of this core, and of no other one.
    pub(crate) unsafe fn acquire_spinning(
        &self,
        request: Request,
        party: &PartyCell<impl Asks>,
    ) -> Result<Entry, LockError> {
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
        // SAFETY: pinned, and inside (G3).
        let granted = unsafe { party.ask(0) };
        let kind = if granted.is_some() { Kind::Locked } else { Kind::Spin };
        state.log_across(kind, task, number, clock::monotonic_ns);
        inside.leave();
        if let Some(entry) = granted {
            return Ok(entry);
        }
        // SAFETY: still pinned: nobody but the dispatcher runs here meanwhile (G3).
        let entry = unsafe { party.have() };
        let mut inside = self.enter(worker, task);
        inside.state().log_across(Kind::Locked, task, number, clock::monotonic_ns);
        inside.leave();
        Ok(entry)
    }

    /// Gives it back.
    ///
    /// # Safety
    /// As [`Shared::acquire_spinning`], by which the caller has had it.
    pub(crate) unsafe fn release_spinning(&self, request: Request, party: &PartyCell<impl Asks>) {
        let Request { worker, task, number, .. } = request;
        let mut inside = self.enter(worker, task);
        let state = inside.state();
        // Before others may have it, and in one section with it: what is recorded and told comes in the order of the lock.
        state.log_across(Kind::Unlock, task, number, clock::monotonic_ns);
        // SAFETY: pinned until below (G3).
        unsafe { party.release() };
        self.or_abort(task, state.rule.unpin());
        state.hold_across(task, false);
        self.decided(inside, worker);
    }

    /// Takes a resource for which jobs sleep.
    ///
    /// # Safety
    /// The party is that of the request's task, and of no other one; the caller is the task's job.
    pub(crate) unsafe fn acquire_suspending(
        &self,
        request: Request,
        party: &PartyCell<impl Asks>,
    ) -> Result<Entry, LockError> {
        let Request { worker, task, number, urgency, rank } = request;
        let mut inside = self.enter(worker, task);
        let state = inside.state();
        if state.tasks[task as usize].killed {
            inside.leave();
            return Err(LockError::Killed);
        }
        // Inside, so that ranks by the clock come in the order of the requests.
        let rank = rank.unwrap_or_else(clock::monotonic_ns);
        self.or_abort(task, state.lift());
        // SAFETY: the task's one job (G3).
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
            // It runs when we sleep (G1).
            Next::Wake(other) => inside.wake(other),
            Next::Same | Next::Here | Next::Below => inside.leave_and_call(),
        }
        // SAFETY: the task has no other job, and this one goes on when it has the lock (G3).
        let entry = self.account(worker).wait(|| unsafe { party.have() });
        self.come_back(worker, task);
        Ok(entry)
    }

    /// Gives it back.
    ///
    /// # Safety
    /// As [`Shared::acquire_suspending`], by which the caller has had it.
    pub(crate) unsafe fn release_suspending(&self, request: Request, party: &PartyCell<impl Asks>) {
        let Request { worker, task, number, .. } = request;
        let mut inside = self.enter(worker, task);
        let state = inside.state();
        // Before others may have it, and in one section with it: what is recorded and told comes in the order of the lock.
        state.log_across(Kind::Unlock, task, number, clock::monotonic_ns);
        // SAFETY: the task's one job (G3).
        unsafe { party.release() };
        self.or_abort(task, state.rule.unboost());
        state.hold_across(task, false);
        self.decided(inside, worker);
    }

    /// Has been granted what it slept for, and goes on when it is chosen.
    fn come_back(&self, worker: u32, task: u32) {
        let back = &self.back[worker as usize];
        back.store(true, Ordering::Release);
        self.any_back.store(true, Ordering::Release);
        let Some(mut inside) = self.enter_returning(task) else { return self.park(worker) };
        if !back.swap(false, Ordering::Acquire) {
            // The dispatcher was quicker.
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

    /// The dispatcher tells of those that found the mark when they came back.
    pub(crate) fn apply_grants(&self, inside: &mut Inside<'_>, now_ns: u64) {
        if !self.any_back.load(Ordering::Relaxed) || !self.any_back.swap(false, Ordering::Acquire) {
            return;
        }
        for (worker, back) in self.back.iter().enumerate() {
            if back.swap(false, Ordering::Acquire) {
                let state = inside.state();
                let task = state.priorities.workers[worker].task;
                self.or_abort(task, state.granted(task, now_ns));
            }
        }
    }
}
