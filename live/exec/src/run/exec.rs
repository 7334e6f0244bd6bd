// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use taut_sys::{clock, futex};
use taut_time::Instant;

use crate::error::{Enforcement, LockError};
use crate::ready::jobs::ExecTaskOutcome;
use crate::shared::Shared;
use crate::shared::stop_all;
use crate::task::TaskId;

/// Why the executor stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The application asked for it.
    Asked,
    /// A task overran whose overrun policy stops everything: its position in the set-up.
    Overrun(usize),
    /// A job panicked.
    Panic,
}

/// The outcome of all jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecOutcome {
    /// Per task, in the order of the set-up.
    pub tasks: Vec<ExecTaskOutcome>,
    /// How Linux enforced the decisions.
    pub enforcement: Enforcement,
    /// Why the executor stopped.
    pub reason: StopReason,
}

/// Releases by hand per task that the dispatcher may not have seen yet. It would drop any beyond these.
const TRIGGERS_MAX: u32 = crate::ready::state::BACKLOG_MAX as u32 + 1;

const ASKED: u64 = 1;
const PANIC: u64 = 2;
const OVERRUN: u64 = 3;

/// Whether the executor is to stop, and why. The first reason counts.
#[derive(Debug, Default)]
pub(crate) struct Control {
    reason: AtomicU64,
    word: AtomicU32,
}

impl Control {
    fn set(&self, code: u64) {
        // The first reason stays. A thread that reads it needs nothing else from this one.
        let _ = self.reason.compare_exchange(0, code, Ordering::Relaxed, Ordering::Relaxed);
        self.word.store(1, Ordering::Release);
        let _ = futex::wake(&self.word, u32::MAX, false);
    }

    pub(crate) fn panic(&self) {
        self.set(PANIC);
    }

    pub(crate) fn overrun(&self, task: usize) {
        self.set(OVERRUN + task as u64);
    }

    pub(crate) fn reason(&self) -> Option<StopReason> {
        match self.reason.load(Ordering::Relaxed) {
            0 => None,
            ASKED => Some(StopReason::Asked),
            PANIC => Some(StopReason::Panic),
            code => Some(StopReason::Overrun((code - OVERRUN) as usize)),
        }
    }
}

/// A running executor.
#[derive(Debug)]
pub struct Exec<'e> {
    pub(crate) cores: &'e [Shared],
    pub(crate) control: &'e Control,
    pub(crate) enforcement: Enforcement,
    pub(crate) origin_ns: u64,
}

impl Exec<'_> {
    /// How Linux enforces the decisions.
    pub fn enforcement(&self) -> Enforcement {
        self.enforcement
    }

    /// Release 0, on the monotonic clock.
    pub fn origin(&self) -> Instant {
        Instant::from_ns(self.origin_ns)
    }

    /// Waits until something stops the executor, or for `time`; returns `None` if the time elapsed first. For a
    /// thread that is not real-time.
    pub fn wait(&self, time: Option<std::time::Duration>) -> Option<StopReason> {
        let nanoseconds = |time: std::time::Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let until = time.map(|time| clock::monotonic_ns().saturating_add(nanoseconds(time)));
        while self.control.word.load(Ordering::Acquire) == 0 {
            if until.is_some_and(|until| clock::monotonic_ns() >= until) {
                return None;
            }
            let _ = futex::wait(&self.control.word, 0, until, false);
        }
        self.control.reason()
    }

    /// From `end` on, the calendar releases nothing. Call this before that instant; it stops nothing.
    pub fn end_at(&self, end: Instant) {
        self.cores.iter().for_each(|core| core.end_ns.store(end.as_ns(), Ordering::Relaxed));
    }

    /// Stops the executor: it releases no further job, and drops the releases that wait behind another job. Returns
    /// at once; [`Setup::run`](crate::Setup::run) waits until all jobs are complete.
    pub fn stop(&self) {
        self.control.set(ASKED);
        stop_all(self.cores);
    }

    /// Whether all jobs are complete, after the stop.
    pub fn is_over(&self) -> bool {
        self.cores.iter().all(|core| core.quit.load(Ordering::Acquire))
    }

    /// Releases a job of a task, from any thread outside the executor. The job arrives when the dispatcher sees the
    /// release, normally at once.
    ///
    /// # Errors
    /// [`LockError::Foreign`] if there is no such task that is released by hand. [`LockError::Full`] if the
    /// dispatcher has not yet seen [`BACKLOG_MAX`](crate::BACKLOG_MAX) + 1 releases, which is as many as could wait.
    /// So its work per scan is bounded, whatever other threads do.
    pub fn release(&self, task: TaskId) -> Result<(), LockError> {
        let core = self.cores.iter().find(|core| core.brand == task.brand).ok_or(LockError::Foreign)?;
        let at = core.by_hand(task).ok_or(LockError::Foreign)?;
        let one_more = |unseen: u32| (unseen < TRIGGERS_MAX).then_some(unseen + 1);
        let trigger = &core.triggers[at as usize];
        trigger.fetch_update(Ordering::Release, Ordering::Relaxed, one_more).map_err(|_| LockError::Full)?;
        core.call();
        Ok(())
    }
}
