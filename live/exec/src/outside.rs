// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Checks whether someone outside the executor has changed how its threads are scheduled, or stops them one by one.
//!
//! A core's order rests on its threads' policies, priorities and CPU. A user or tool that changes one of these
//! (`chrt`, `taskset`, `renice`, a tracer) makes the wrong thread run. Then a job that did nothing wrong finds the
//! violation. So the executor checks for this in two places, neither of them on a job's path: before the process ends
//! because of what a job found, and whenever a thread that is not real-time calls [`Exec::outside`].

use std::fmt;
use std::sync::atomic::Ordering;

use taut_sys::outside::tracer_of;
use taut_sys::thread::{self, Policy};

use crate::exec::Exec;
use crate::shared::Shared;
use crate::start::DISPATCHER;

/// A thread of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The thread that decides.
    Dispatcher,
    /// A thread that runs jobs: its number, from 0.
    Worker(u32),
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dispatcher => f.write_str("its dispatcher"),
            Self::Worker(number) => write!(f, "its thread {}", number + 1),
        }
    }
}

/// What someone outside did to a thread of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// The thread no longer has the scheduling that the executor gave it.
    Moved {
        /// Which thread.
        who: Who,
        /// Its policy and priority now.
        policy: Policy,
        /// The `SCHED_FIFO` priority that the executor gave it.
        given: u8,
        /// Whether it is still limited to its core's CPU.
        pinned: bool,
    },
    /// A tracer that stops threads one by one is attached: a debugger, `strace`.
    Traced {
        /// The tracer's process.
        by: u32,
    },
    /// All threads were stopped and went on. The executor does not detect that by itself; an application that knows
    /// of it may report it.
    Stopped,
}

impl fmt::Display for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Traced { by } => {
                write!(f, "process {by} traces it (a debugger, strace), which stops its threads one by one")
            }
            Self::Stopped => f.write_str("it was stopped (SIGSTOP), and went on shortly before"),
            Self::Moved { who, policy, given, pinned } => {
                write!(f, "{who} was moved from outside: ")?;
                match policy {
                    Policy::Other => f.write_str("SCHED_OTHER")?,
                    Policy::Fifo(priority) => write!(f, "SCHED_FIFO {priority}")?,
                    Policy::Unknown(number) => write!(f, "policy {number}")?,
                }
                write!(f, " in place of SCHED_FIFO {given}")?;
                if !pinned {
                    f.write_str(", and it may run on other CPUs")?;
                }
                Ok(())
            }
        }
    }
}

impl Shared {
    /// The first outside change that is found on a thread of this core. A tracer comes first, since the user who
    /// attached it may have changed more. Takes some system calls per thread; uses no heap and no lock, and touches
    /// nothing of the core's state.
    pub(crate) fn outside(&self) -> Option<Outside> {
        let tids = || self.tids.iter().chain([&self.dispatcher]).map(|tid| tid.load(Ordering::Acquire));
        let by = tids().filter(|tid| *tid != 0).find_map(tracer_of);
        by.map(|by| Outside::Traced { by }).or_else(|| self.moved().next())
    }

    /// Its threads that no longer have the scheduling that the executor gave them.
    fn moved(&self) -> impl Iterator<Item = Outside> + '_ {
        let workers = (0..).zip(self.tids.iter().zip(self.given.iter()));
        let workers = workers.filter_map(|(at, (tid, given))| {
            // The executor may change the priority meanwhile: then this reports nothing.
            let before = given.load(Ordering::Relaxed);
            let found = self.look_at(Who::Worker(at), tid.load(Ordering::Acquire), before);
            found.filter(|_| given.load(Ordering::Relaxed) == before)
        });
        let dispatcher = self.dispatcher.load(Ordering::Acquire);
        let found = self.strict.then(|| self.look_at(Who::Dispatcher, dispatcher, DISPATCHER)).flatten();
        found.into_iter().chain(workers.filter(|_| self.strict))
    }

    fn look_at(&self, who: Who, tid: i32, given: u8) -> Option<Outside> {
        if tid == 0 {
            return None;
        }
        // A thread that has just ended is gone.
        let policy = thread::policy_of(tid).ok()?;
        let pinned = thread::is_pinned(tid, u16::try_from(self.cpu).ok()?).ok()?;
        let as_put = policy == Policy::Fifo(given) && pinned;
        (!as_put).then_some(Outside::Moved { who, policy, given, pinned })
    }
}

impl Exec<'_> {
    /// Threads of all cores that someone outside has moved since the executor placed them. Cores are in the order of
    /// the set-up. Finds nothing if Linux does not enforce the dispatcher's decisions.
    ///
    /// Takes some microseconds per thread; for a thread that is not real-time. A thread whose priority the executor
    /// is just about to change may look moved: rely on what two calls find, some milliseconds apart.
    pub fn outside(&self) -> impl Iterator<Item = (u32, Outside)> + '_ {
        self.cores.iter().flat_map(|core| core.moved().map(|found| (core.cpu, found)))
    }

    /// The process that traces a thread of the executor.
    pub fn tracer(&self) -> Option<u32> {
        self.cores.iter().find_map(|core| match core.outside() {
            Some(Outside::Traced { by }) => Some(by),
            _ => None,
        })
    }

    /// The least `SCHED_FIFO` priority that a thread of the core on this CPU may have. Linux may prefer any thread
    /// above it to a job. `None` if there is no such core, or its threads have no priorities.
    pub fn least_priority(&self, cpu: u32) -> Option<u8> {
        let core = self.cores.iter().find(|core| core.cpu == cpu && core.strict)?;
        Some(core.least_priority)
    }
}
