// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Checks whether someone outside the executor has changed how its threads are scheduled, or stops them one by one.
//!
//! A core's order rests on its threads' policies, priorities and CPU. A user or tool that changes one of these
//! (`chrt`, `taskset`, `renice`, a tracer) makes the wrong thread run. The violation is then found by a job that did
//! nothing wrong. So the executor checks for this in two places, neither of them on a job's path: before the process ends
//! because of what a job found, and whenever a thread that is not real-time calls [`Exec::outside`].

use std::sync::atomic::Ordering;

use taut_sys::outside::tracer_of;
use taut_sys::thread::{self, ThreadPolicy};

use crate::ready::worker_priorities::DISPATCHER;
use crate::shared::Shared;
use crate::violation::{Outside, Who};

impl Shared {
    /// The first outside change that is found on a thread of this core. A tracer comes first, since the user who
    /// attached it may have changed more. Takes some system calls per thread; uses no heap and no lock, and touches
    /// nothing of the core's state.
    pub(crate) fn outside(&self) -> Option<Outside> {
        let tids = || self.tids.iter().chain([&self.dispatcher]).map(|tid| tid.load(Ordering::Acquire));
        let by = tids().filter(|tid| *tid != 0).find_map(tracer_of);
        by.map(|by| Outside::Traced { by }).or_else(|| self.moved().next())
    }

    /// The core's threads whose scheduling is not what the executor gave them.
    pub(crate) fn moved(&self) -> impl Iterator<Item = Outside> + '_ {
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
        // A thread that has just ended has no scheduling to report.
        let policy = thread::policy_of(tid).ok()?;
        let pinned = thread::is_pinned(tid, u16::try_from(self.cpu).ok()?).ok()?;
        let as_put = policy == ThreadPolicy::Fifo(given) && pinned;
        (!as_put).then_some(Outside::Moved { who, policy, given, pinned })
    }
}
