// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Whether somebody outside of the executor has changed how its threads are scheduled, or stops them one by one.
//!
//! A core's order rests on its threads' policies, priorities and CPU. Who changes one of these from outside (`chrt`,
//! `taskset`, `renice`, a tracer) makes a thread run that should not, which is then found by a job that did nothing wrong. So
//! it is looked for in two places, both off the way of any job: before the process ends because of what a job found, and
//! whenever a thread that is not real-time asks ([`Exec::outside`]).

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
    /// The one that decides.
    Dispatcher,
    /// One that runs jobs: which, from 0 on.
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

/// What somebody else did to a thread of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// It is scheduled otherwise than it was put.
    Moved {
        /// Which thread.
        who: Who,
        /// Its policy and priority now.
        policy: Policy,
        /// The priority, of `SCHED_FIFO`, that it was given.
        given: u8,
        /// Whether it may run on its core's CPU alone, as it was put.
        pinned: bool,
    },
    /// A tracer is attached, which stops threads one by one: a debugger, `strace`.
    Traced {
        /// The tracer's process.
        by: u32,
    },
    /// All threads were stopped and went on. The executor does not see that by itself; who knows of it, may say so.
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
    /// What was done to a thread of this core, the first that is found. A tracer comes first: who attached it may have changed
    /// more. Some system calls per thread; no heap, no lock, and nothing of the core's state is touched.
    pub(crate) fn outside(&self) -> Option<Outside> {
        let tids = || self.tids.iter().chain([&self.dispatcher]).map(|tid| tid.load(Ordering::Acquire));
        let by = tids().filter(|tid| *tid != 0).find_map(tracer_of);
        by.map(|by| Outside::Traced { by }).or_else(|| self.moved().next())
    }

    /// Its threads that are not as they were put.
    fn moved(&self) -> impl Iterator<Item = Outside> + '_ {
        let workers = (0..).zip(self.tids.iter().zip(self.given.iter()));
        let workers = workers.filter_map(|(at, (tid, given))| {
            // It may be given another priority meanwhile: then nothing is said of it.
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
        // One that has just ended is no longer there.
        let policy = thread::policy_of(tid).ok()?;
        let pinned = thread::is_pinned(tid, u16::try_from(self.cpu).ok()?).ok()?;
        let as_put = policy == Policy::Fifo(given) && pinned;
        (!as_put).then_some(Outside::Moved { who, policy, given, pinned })
    }
}

impl Exec<'_> {
    /// Threads of a core that somebody outside has moved since they were put where they belong, or that are traced. Cores are in the
    /// order of the set-up. Nothing is found where Linux does not keep to what the dispatcher decides anyway.
    ///
    /// Some microseconds per thread; for one that is not real-time. A thread that is about to be given another priority at this
    /// instant may look moved: what is found twice, some milliseconds apart, is so.
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

    /// The least priority of `SCHED_FIFO` that a thread of the core on this CPU may have: whatever else is above it may be preferred to
    /// a job. `None` if there is no such core, or its threads have no priorities.
    pub fn least_priority(&self, cpu: u32) -> Option<u8> {
        let core = self.cores.iter().find(|core| core.cpu == cpu && core.strict)?;
        Some(core.least_priority)
    }
}
