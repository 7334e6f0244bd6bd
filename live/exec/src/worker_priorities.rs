// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which fixed priority each thread of a core has: who is chosen is always the highest thread that may run.
//!
//! ```text
//! L1  Of the threads that have a job and do not sleep at their parker, no two are on one rung, and the chosen one is on
//!     the highest. The one exception is a thread on its way to its parker, which touches nothing else any more.
//! L2  Rung 0 is for the thread of a job that runs when no other wants to, if it is free. The dispatcher alone moves one
//!     down there, so that others stay where they are; where that is not so, whoever is chosen is raised.
//! L3  Who raises another thread and is of the job side itself raises it to its own rung at most: so it is not preempted
//!     inside its section. It is on its way to its parker then.
//! L4  A thread from outside that has been lent a place (`crate::donate`) is on its rung, and touches nothing of the core. Of the
//!     two the one whose place it is runs only when the other one does not want to, as it gives way.
//! ```
//!
//! Under ceilings, SRP and DFP jobs come and go as on a stack, and the threads' first rungs, one each, always fit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use taut_sys::{ESRCH, Error, thread};

/// The priority above all rungs: who waited for something of another core.
const RETURNING: u8 = 97;
/// The rung of who is above all of them.
const OFF: u8 = u8::MAX;
/// No task, no thread.
pub(crate) const NONE: u32 = u32::MAX;
/// Most jobs of a core that may have begun at once: see [`crate::depth`].
pub(crate) const WORKERS_MAX: usize = 90;

/// A thread of the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Worker {
    pub(crate) tid: i32,
    /// 0 is the lowest; [`OFF`] is none.
    pub(crate) level: u8,
    /// Its task; [`NONE`] if it is idle.
    pub(crate) task: u32,
    /// Whether it sleeps at its gate, or is on its way there, in the middle of its job.
    pub(crate) parked: bool,
    /// The thread that has been lent its place, at the same rung; 0 is none.
    pub(crate) donee: i32,
}

impl Worker {
    fn may_run(&self) -> bool {
        self.task != NONE && !self.parked
    }
}

/// A thread that was lent a place may end while it has it: it runs nothing any more.
fn gone_is_fine(set: Result<(), Error>) -> Result<(), Error> {
    set.or_else(|error| if error.errno == ESRCH { Ok(()) } else { Err(error) })
}

/// The threads of a core.
#[derive(Debug)]
pub(crate) struct WorkerPriorities {
    pub(crate) workers: Box<[Worker]>,
    /// The priority that each thread has, or is about to be given: for who looks from outside of the core's state.
    pub(crate) given: Arc<[AtomicU8]>,
    levels: u8,
    /// Whether Linux is told; without the privilege rungs are not kept.
    real: bool,
    /// The first refusal of the system, which has told nobody yet: threads do not have the priorities that are written here.
    refused: Option<Error>,
}

impl WorkerPriorities {
    /// A rung per thread, and as many again to lift threads to.
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

    /// The SCHED_FIFO priority of a rung; of rung 0 that of jobs that may run when nobody else wants to.
    pub(crate) fn priority(&self, level: u8) -> u8 {
        RETURNING - 1 - self.levels + level
    }

    /// What each thread starts with.
    pub(crate) fn priorities(&self) -> Vec<u8> {
        self.workers.iter().map(|worker| self.priority(worker.level)).collect()
    }

    /// The highest rung among those who may run, but for some.
    fn top(&self, but: [u32; 2]) -> Option<u8> {
        let others = self.workers.iter().enumerate().filter(|(at, _)| !but.contains(&(*at as u32)));
        others.filter(|(_, worker)| worker.may_run()).map(|(_, worker)| worker.level).max()
    }

    /// An idle thread for a task, above all who may run. There are as many threads as jobs that may have begun (D1 of
    /// [`crate::depth`]), so there is one.
    pub(crate) fn take(&mut self, task: u32) -> u32 {
        let wanted = if self.real { self.above([NONE; 2]) } else { 0 };
        let idle = |worker: &Worker| worker.task == NONE;
        let there = |worker: &Worker| idle(worker) && worker.level == wanted;
        let at = self.workers.iter().position(there).or_else(|| self.workers.iter().position(idle));
        // If there were none, no place would be found either, and a panic inside ends the process with a message.
        let at = at.unwrap_or(usize::MAX);
        self.workers[at].task = task;
        self.set(at, wanted);
        at as u32
    }

    /// Lifts a thread above all others who may run, if it is not. `leaving`, who is about to sleep, does not count: if it
    /// is the caller, it was above them all, so this does not preempt it (L3).
    pub(crate) fn raise(&mut self, at: u32, leaving: u32) {
        let level = self.workers[at as usize].level;
        if self.real && (level == OFF || Some(level) <= self.top([at, leaving])) {
            let wanted = self.above([at, leaving]);
            self.set(at as usize, wanted);
        }
    }

    /// A thread leaves the ladder, to sleep and to come back above all rungs.
    pub(crate) fn go_above(&mut self, at: u32) {
        let worker = &mut self.workers[at as usize];
        worker.parked = true;
        if self.real {
            // Whatever it is lifted to, Linux is told.
            worker.level = OFF;
            let tid = worker.tid;
            self.given[at as usize].store(RETURNING, Ordering::Relaxed);
            self.record_refusal(thread::set_fifo_of(tid, RETURNING));
        }
    }

    /// A thread gets out of the way of all others, to the lowest rung, unless that is taken. For the dispatcher.
    pub(crate) fn lower(&mut self, at: u32) {
        let taken = |worker: &Worker| worker.may_run() && worker.level == 0;
        if let Some(worker) = self.workers.get(at as usize)
            && worker.may_run()
            && !self.workers.iter().any(taken)
        {
            self.set(at as usize, 0);
        }
    }

    /// The rung above all who may run but for some. Where there is none, all move down as far as they can.
    fn above(&mut self, but: [u32; 2]) -> u8 {
        let top = self.top(but).unwrap_or(0);
        if top < self.levels {
            return top + 1;
        }
        // Lowest first, so that their order is kept at every step; there are at most half as many as rungs, or none is
        // left to be raised.
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
            // The thread is there and the priority was had at the start; but limits can be changed from outside.
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

    /// What the system has refused since this was asked last: then who is chosen need not be who runs.
    pub(crate) fn take_refused(&mut self) -> Option<Error> {
        self.refused.take()
    }

    /// Lends the place of a thread, which is the chosen one, to another that is none of the ladder (L4).
    pub(crate) fn donate(&mut self, at: u32, tid: i32) {
        let worker = &mut self.workers[at as usize];
        if self.real {
            worker.donee = tid;
            let priority = self.priority(self.workers[at as usize].level);
            self.record_refusal(gone_is_fine(thread::set_fifo_of(tid, priority)));
        }
    }

    /// Ends that, if it is lent. Who had it is an ordinary thread then.
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
    fn what_the_system_refuses_is_told() {
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
    fn a_thread_that_was_lent_a_place_may_end() {
        let mut priorities = WorkerPriorities::new(1, true);
        let at = priorities.take(0);
        priorities.donate(at, NOBODY);
        priorities.end_donation(at);
        assert_eq!(priorities.take_refused(), None);
    }
}
