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
//! without a budget; the dispatcher, when others wait in the same server and the donation has lasted a period, and when
//! the executor stops.
//!
//! **Loose** enforcement has no priorities to donate: the job completes at once, and the thread runs as before.

use taut_sys::{clock, thread};

use crate::job::Job;

impl Job<'_> {
    /// Lets another thread of this process, on the core's processor, run in the place of this job, at its priority
    /// and within its server's budget. Returns when that thread waits for something, when the budget is used up, when
    /// others wait in the server and the donation has lasted a period, or when the executor stops. From then on that
    /// thread is an ordinary one (`SCHED_OTHER`).
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
