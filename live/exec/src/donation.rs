// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A server's job that donates its place to a thread that may do anything: sleep, wait, call the kernel.
//!
//! ```text
//! server's budget   ####______####______####__     comes back every period
//! job               [==]      [=]       [==]       a worker thread, on its level; yields to
//! thread            =====.....==...====.==..     = wants to run;  on the level inside of [ ], else an ordinary thread
//!                      |        |
//!                      |        it waits for something: the job gets the processor, sees that, and completes
//!                      the budget is used up: the donation ends, and the job completes
//! ```
//!
//! **Why that is safe.** The donee touches nothing of the core, so nothing that it does is a scheduling decision. For
//! the core the job runs from its start to its completion. Both threads always have the same priority, and the job
//! yields in a loop. So the job runs only when the donee does not want to; then the job notices that and completes,
//! before any thread below it runs. A donee whose donation has ended, or that waits, is an ordinary thread, which
//! runs when no thread of the core does.
//!
//! **What is charged** to the server is the processor time of both threads, see `State::look_at_server`. Neither
//! sleeps during the donation: the job would be complete.
//!
//! **What ends the donation**: the dispatcher, or a worker that completes a job, when it decides that the job runs
//! without a budget; the dispatcher, when others have waited in the same server for a period, and when the executor
//! stops.
//!
//! **Loose** enforcement has no priorities to donate: the job completes at once, and the thread runs as before.

use taut_sys::{clock, thread};

use crate::job::Job;
use crate::settle::Caller;
use crate::state::State;
use crate::worker_priorities::{NONE, Worker};

impl Job<'_> {
    /// Lets another thread of this process, on the core's processor, run in the place of this job, at its priority
    /// and within its server's budget. Returns when that thread waits for something, when the budget is used up, when
    /// others have waited in the server for a period, or when the executor stops. From then on it is an ordinary
    /// thread (`SCHED_OTHER`).
    ///
    /// `tid` is its Linux thread id. It must be a thread of this process for as long as the executor runs, or 0. With
    /// 0, and for a task that is not set up by [`TaskSetup::donates`](crate::TaskSetup::donates), nothing happens.
    ///
    /// *Real-time*: a few system calls that do not block, plus the time of the other thread.
    pub fn donate(&mut self, tid: i32) {
        let Self { shared, worker, task, .. } = *self;
        if !shared.strict || tid == 0 {
            return;
        }
        let mut inside = shared.enter(worker, task);
        let donee = inside.state().donate(worker, task, tid, clock::monotonic_ns());
        inside.leave_and_call();
        if !donee {
            return;
        }
        let mut ran_ns = clock::cpu_ns_of(tid);
        loop {
            thread::give_way();
            let before_ns = std::mem::replace(&mut ran_ns, clock::cpu_ns_of(tid));
            if before_ns == ran_ns {
                break;
            }
        }
        let mut inside = shared.enter(worker, task);
        inside.state().end_donation(worker, task);
        inside.leave_and_call();
    }
}

impl State {
    /// Donates the place of the running job, if the job has a budget. Returns whether it did.
    fn donate(&mut self, worker: u32, task: u32, tid: i32, now_ns: u64) -> bool {
        let slot = &mut self.tasks[task as usize];
        let donates = slot.donates && !self.in_background && !self.stopping;
        if donates {
            slot.donated_since_ns = now_ns;
            // From now on the server is charged for the donee's processor time.
            slot.seen_ns = Some(slot.seen_ns().saturating_add_unsigned(clock::cpu_ns_of(tid)));
            self.priorities.donate(worker, tid);
        }
        donates
    }

    /// Ends the donation of a job's place, if there is one.
    fn end_donation(&mut self, worker: u32, task: u32) {
        let Some(&Worker { donee, .. }) = self.priorities.workers.get(worker as usize) else { return };
        if donee == 0 {
            return;
        }
        let slot = &mut self.tasks[task as usize];
        slot.seen_ns = Some(slot.seen_ns().saturating_sub_unsigned(clock::cpu_ns_of(donee)));
        self.priorities.end_donation(worker);
    }

    /// Ends the donation of the running job, if the donee may not keep the place.
    pub(crate) fn check_donation(&mut self, caller: Caller, now_ns: u64) {
        let Some(slot) = self.tasks.get(self.chosen as usize) else { return };
        if !slot.donates || slot.worker == NONE {
            return;
        }
        let others_wait = || {
            let (_, period_ns) = self.serving.refill(slot.server);
            self.serving.has_others(slot.server) && slot.donated_since_ns.saturating_add(period_ns) <= now_ns
        };
        if self.in_background || caller == Caller::Dispatcher && (self.stopping || others_wait()) {
            self.end_donation(slot.worker, self.chosen);
        }
    }

    /// When a donating task without a job gets its next one.
    pub(crate) fn next_donation(&self, task: u32, now_ns: u64) -> u64 {
        let slot = &self.tasks[task as usize];
        let (refill, period_ns) = self.serving.refill(slot.server);
        let next_ns = refill.unwrap_or(slot.job.arrival_ns.saturating_add(period_ns));
        next_ns.max(now_ns.saturating_add(1))
    }
}
