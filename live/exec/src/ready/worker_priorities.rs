// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The fixed priority of each worker thread of a core. The chosen thread always is the highest that may run.
//!
//! ```text
//! L1  Among the threads that have a job and do not sleep at their parker, no two are on one level, and the chosen
//!     thread is on the highest. The one exception is a thread on its way to its parker, which touches nothing else
//!     any more.
//! L2  Level 0 is for the thread of a job that runs when no other job wants to, if that level is free. Only the
//!     dispatcher moves a thread down to it, so that the others keep their levels. Where the dispatcher cannot, the
//!     chosen thread is raised.
//! L3  A job that raises another worker raises it to at most its own level. So that worker does not preempt the job
//!     inside its section. The job is on its way to its parker then.
//! L4  A donee, a thread outside the pool that has been given a worker's place (`crate::job::donation`), is on that
//!     worker's level and touches nothing of the core. The worker yields to the donee, so it runs only when the donee
//!     does not want to.
//! ```
//!
//! Under ceilings, SRP and DFP, jobs come and go as on a stack, and the levels with which the threads start always fit,
//! one level for each thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use taut_sys::{ESRCH, Error, thread};

/// The dispatcher's priority.
pub(crate) const DISPATCHER: u8 = 98;
/// The priority above all levels, for a thread that waits for a resource of several cores.
const RETURNING: u8 = 97;
/// The level of a thread above all levels.
const OFF: u8 = u8::MAX;
/// No task, no thread.
pub(crate) const NONE: u32 = u32::MAX;
/// The most jobs of a core that may have begun at once: see [`crate::ready::depth`].
pub(crate) const WORKERS_MAX: usize = 90;

/// A worker thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Worker {
    pub(crate) tid: i32,
    /// 0 is the lowest; [`OFF`] is above all levels.
    pub(crate) level: u8,
    /// Its task; [`NONE`] if it is idle.
    pub(crate) task: u32,
    /// Whether it sleeps at its parker, or is on its way there, in the middle of its job.
    pub(crate) parked: bool,
    /// The thread that its place is donated to, on the same level; 0 if there is none.
    pub(crate) donee: i32,
}

impl Worker {
    fn may_run(&self) -> bool {
        self.task != NONE && !self.parked
    }
}

/// Accepts that a donee has ended while it had the place: a thread that has ended runs nothing.
fn gone_is_fine(set: Result<(), Error>) -> Result<(), Error> {
    set.or_else(|error| if error.errno == ESRCH { Ok(()) } else { Err(error) })
}

/// The worker threads of a core.
#[derive(Debug)]
pub(crate) struct WorkerPriorities {
    pub(crate) workers: Box<[Worker]>,
    /// The priority that each thread has, or is about to get. For threads that read it from outside the core's state.
    pub(crate) given: Arc<[AtomicU8]>,
    levels: u8,
    /// Whether the executor sets the priorities in Linux. Without the privilege it does not maintain levels.
    real: bool,
    /// The system's first refusal that nobody has taken yet. Threads then do not have the priorities recorded here.
    refused: Option<Error>,
}

impl WorkerPriorities {
    /// One level per thread, and as many again to raise threads to, but at most [`WORKERS_MAX`] levels in all.
    pub(crate) fn new(workers: usize, real: bool) -> Self {
        let worker = |at: usize| Worker { tid: 0, level: at as u8 + 1, task: NONE, parked: false, donee: 0 };
        let levels = (2 * workers).min(WORKERS_MAX) as u8;
        let given = (0..workers).map(|_| AtomicU8::new(0)).collect();
        let priorities =
            Self { workers: (0..workers).map(worker).collect(), given, levels, real, refused: None };
        for (given, priority) in priorities.given.iter().zip(priorities.priorities()) {
            given.store(priority, Ordering::Relaxed);
        }
        priorities
    }

    /// The `SCHED_FIFO` priority of a level. Level 0 is for jobs that run when no other job wants to.
    pub(crate) fn priority(&self, level: u8) -> u8 {
        RETURNING - 1 - self.levels + level
    }

    /// The priority with which each thread starts.
    pub(crate) fn priorities(&self) -> Vec<u8> {
        self.workers.iter().map(|worker| self.priority(worker.level)).collect()
    }

    /// The highest level among the threads that may run, except for those in `but`.
    fn top(&self, but: [u32; 2]) -> Option<u8> {
        let others = self.workers.iter().enumerate().filter(|(at, _)| !but.contains(&(*at as u32)));
        others.filter(|(_, worker)| worker.may_run()).map(|(_, worker)| worker.level).max()
    }

    /// Takes an idle thread for a task, above all threads that may run. There are as many threads as jobs that may
    /// have begun (D1 of [`crate::ready::depth`]), so an idle one exists.
    pub(crate) fn take(&mut self, task: u32) -> u32 {
        let wanted = if self.real { self.above([NONE; 2]) } else { 0 };
        let idle = |worker: &Worker| worker.task == NONE;
        let there = |worker: &Worker| idle(worker) && worker.level == wanted;
        let at = self.workers.iter().position(there).or_else(|| self.workers.iter().position(idle));
        // If there were none, the index below would panic. A panic inside the state ends the process with a message.
        let at = at.unwrap_or(usize::MAX);
        self.workers[at].task = task;
        self.set(at, wanted);
        at as u32
    }

    /// Raises a thread above all others that may run, if it is not there already. The thread `leaving` is about to
    /// sleep and does not count. If `leaving` is the caller, it was above all others, so this does not preempt it (L3).
    pub(crate) fn raise(&mut self, at: u32, leaving: u32) {
        let level = self.workers[at as usize].level;
        if self.real && (level == OFF || Some(level) <= self.top([at, leaving])) {
            let wanted = self.above([at, leaving]);
            self.set(at as usize, wanted);
        }
    }

    /// Moves a thread above all levels, where it sleeps and comes back.
    pub(crate) fn go_above(&mut self, at: u32) {
        let worker = &mut self.workers[at as usize];
        worker.parked = true;
        if self.real {
            // Each later move from [`OFF`] changes the level, so `set` passes it on to Linux.
            worker.level = OFF;
            let tid = worker.tid;
            self.given[at as usize].store(RETURNING, Ordering::Relaxed);
            self.record_refusal(thread::set_fifo_of(tid, RETURNING));
        }
    }

    /// Moves a thread to the lowest level, below all others, unless that level is taken. For the dispatcher.
    pub(crate) fn lower(&mut self, at: u32) {
        let taken = |worker: &Worker| worker.may_run() && worker.level == 0;
        if let Some(worker) = self.workers.get(at as usize)
            && worker.may_run()
            && !self.workers.iter().any(taken)
        {
            self.set(at as usize, 0);
        }
    }

    /// The level above all threads that may run, except for those in `but`. If there is none, all threads move down
    /// as far as they can.
    fn above(&mut self, but: [u32; 2]) -> u8 {
        let top = self.top(but).unwrap_or(0);
        if top < self.levels {
            return top + 1;
        }
        // Lowest level first, so that the order of the threads is kept at every step. A level above the others is left:
        // there are at least as many levels as threads, and the thread to be raised does not count.
        let mut next = 1;
        for level in 1..=self.levels {
            let here = |worker: &Worker| worker.may_run() && worker.level == level;
            if let Some(at) = self.workers.iter().position(here) {
                self.set(at, next);
                next += 1;
            }
        }
        self.top(but).unwrap_or(0) + 1
    }

    fn set(&mut self, at: usize, level: u8) {
        let priority = self.priority(level);
        let worker = &mut self.workers[at];
        if self.real && worker.level != level {
            worker.level = level;
            let Worker { tid, donee, .. } = *worker;
            self.given[at].store(priority, Ordering::Relaxed);
            // The thread exists, and the process had the priority at the start. But limits can be changed from
            // outside.
            self.record_refusal(thread::set_fifo_of(tid, priority));
            if donee != 0 {
                self.record_refusal(gone_is_fine(thread::set_fifo_of(donee, priority)));
            }
        }
    }

    fn record_refusal(&mut self, set: Result<(), Error>) {
        if let Err(error) = set {
            self.refused.get_or_insert(error);
        }
    }

    /// The system's first refusal since the last call. After a refusal Linux may run another thread than the chosen
    /// one.
    pub(crate) fn take_refused(&mut self) -> Option<Error> {
        self.refused.take()
    }

    /// Donates the place of the chosen worker to a thread outside the pool (L4).
    pub(crate) fn donate(&mut self, at: u32, tid: i32) {
        let worker = &mut self.workers[at as usize];
        if self.real {
            worker.donee = tid;
            let priority = self.priority(self.workers[at as usize].level);
            self.record_refusal(gone_is_fine(thread::set_fifo_of(tid, priority)));
        }
    }

    /// Ends the donation, if there is one. The donee is an ordinary thread then.
    pub(crate) fn end_donation(&mut self, at: u32) {
        if let Some(worker) = self.workers.get_mut(at as usize)
            && worker.donee != 0
        {
            let set = thread::set_other_of(std::mem::take(&mut worker.donee));
            self.record_refusal(gone_is_fine(set));
        }
    }

    /// L1, for tests.
    #[cfg(test)]
    pub(crate) fn check(&self, chosen: u32) -> Result<(), &'static str> {
        if !self.real {
            return Ok(());
        }
        let mut seen = [false; 256];
        for worker in self.workers.iter().filter(|worker| worker.may_run()) {
            if core::mem::replace(&mut seen[usize::from(worker.level)], true) {
                return Err("two threads that may run are on one level");
            }
        }
        match self.workers.get(chosen as usize) {
            Some(worker) if Some(worker.level) != self.top([NONE; 2]) => {
                Err("the chosen thread is not the highest")
            }
            Some(worker) if !worker.may_run() => Err("the chosen thread sleeps"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No thread has this number.
    const NOBODY: i32 = i32::MAX;

    #[test]
    #[cfg_attr(miri, ignore = "calls sched_setscheduler")]
    fn refusals_of_the_system_are_reported() {
        let mut priorities = WorkerPriorities::new(2, true);
        priorities.workers.iter_mut().for_each(|worker| worker.tid = NOBODY);
        let at = priorities.take(0);
        assert_eq!(priorities.take_refused(), None, "it is where it should be");
        priorities.go_above(at);
        assert_eq!(priorities.take_refused().map(|error| error.errno), Some(ESRCH));
        assert_eq!(priorities.take_refused(), None);
        priorities.workers[at as usize].parked = false;
        priorities.raise(at, NONE);
        assert_eq!(priorities.take_refused().map(|error| error.call), Some("sched_setscheduler"));
    }

    #[test]
    #[cfg_attr(miri, ignore = "calls sched_setscheduler")]
    fn a_thread_may_end_after_a_donation() {
        let mut priorities = WorkerPriorities::new(1, true);
        let at = priorities.take(0);
        priorities.donate(at, NOBODY);
        priorities.end_donation(at);
        assert_eq!(priorities.take_refused(), None);
    }
}
