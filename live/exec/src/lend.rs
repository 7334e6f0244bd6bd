// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A job of a server that lends its place to a thread which may do anything: sleep, wait, call the kernel.
//!
//! ```text
//! server's budget   ####______####______####__     comes back every period
//! job               [==]      [=]       [==]       one of the pool's threads, at its rung; gives way to
//! thread            =====.....==...====.====..     = wants to run;  on the rung inside of [ ], else an ordinary thread
//!                      |        |
//!                      |        it waits for something: the job has the processor, sees that, and is complete
//!                      the budget is used up: it is called back, and the job is complete
//! ```
//!
//! **Why that is safe.** The thread touches nothing of the core, so what it does is no decision. To the core the job runs,
//! from its start to its completion. The two have one priority at any time, and the job gives way without end: so it comes
//! to run only when the thread does not want to, and then it says so, before anything below it runs. A thread that has
//! been called back, or waits, is an ordinary one, which runs when nothing of the core does.
//!
//! **What is charged** to the server is processor time of the two, see `State::look_at_server`. Neither sleeps meanwhile: the job
//! would be complete.
//!
//! **Who calls it back**: whoever decides that the job runs without a budget, on the dispatcher's side or on that of a
//! job that is complete; the dispatcher, when others have waited in the same server for a period, and when everything stops.
//!
//! **Loose**, there are no priorities to lend: a job is complete at once, and the thread runs as it did.

use taut_sys::{clock, thread};

use crate::job::Job;
use crate::ladder::{NONE, Worker};
use crate::settle::Caller;
use crate::state::State;

impl Job<'_> {
    /// Lets another thread of this process, on the core's processor, run in the place of this job, at its priority and
    /// within its server's budget. Returns when the thread waits for something; when the budget is used up, or others have
    /// waited in the server for a period, or the executor stops. From then on it is an ordinary thread (`SCHED_OTHER`).
    ///
    /// `tid` is what Linux calls it; it has to be that of a thread of this process for as long as the executor runs, or 0:
    /// then, and for a task that is not one that [`TaskSetup::lends`](crate::TaskSetup::lends), nothing happens.
    ///
    /// *Real-time*: a few system calls that do not block, and what the thread does.
    pub fn lend(&mut self, tid: i32) {
        let Self { shared, worker, task, .. } = *self;
        if !shared.strict || tid == 0 {
            return;
        }
        let mut inside = shared.enter(worker, task);
        let lent = inside.state().lend(worker, task, tid, clock::monotonic_ns());
        inside.leave_and_call();
        if !lent {
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
        inside.state().call_back(worker, task);
        inside.leave_and_call();
    }
}

impl State {
    /// Lends the place of the job that runs, if it has a budget.
    fn lend(&mut self, worker: u32, task: u32, tid: i32, now_ns: u64) -> bool {
        let slot = &mut self.tasks[task as usize];
        let lends = slot.lends && !self.spare && !self.stopping;
        if lends {
            slot.lent_ns = now_ns;
            // What it uses from now on is the server's.
            slot.seen_ns = Some(slot.seen_ns().saturating_add_unsigned(clock::cpu_ns_of(tid)));
            self.ladder.lend(worker, tid);
        }
        lends
    }

    /// Who has the place of a job, if it is lent, has it no longer.
    fn call_back(&mut self, worker: u32, task: u32) {
        let Some(&Worker { lent, .. }) = self.ladder.workers.get(worker as usize) else { return };
        if lent == 0 {
            return;
        }
        let slot = &mut self.tasks[task as usize];
        slot.seen_ns = Some(slot.seen_ns().saturating_sub_unsigned(clock::cpu_ns_of(lent)));
        self.ladder.call_back(worker);
    }

    /// Calls back who has the place of the job that runs, if it is not to have it any more.
    pub(crate) fn look_at_loan(&mut self, caller: Caller, now_ns: u64) {
        let Some(slot) = self.tasks.get(self.chosen as usize) else { return };
        if !slot.lends || slot.worker == NONE {
            return;
        }
        let others_wait = || {
            let (_, period_ns) = self.serving.refill(slot.server);
            self.serving.has_others(slot.server) && slot.lent_ns.saturating_add(period_ns) <= now_ns
        };
        if self.spare || caller == Caller::Above && (self.stopping || others_wait()) {
            self.call_back(slot.worker, self.chosen);
        }
    }

    /// When a task that lends, and has no job, has the next one.
    pub(crate) fn next_loan(&self, task: u32, now_ns: u64) -> u64 {
        let slot = &self.tasks[task as usize];
        let (refill, period_ns) = self.serving.refill(slot.server);
        let next_ns = refill.unwrap_or(slot.job.arrival_ns.saturating_add(period_ns));
        next_ns.max(now_ns.saturating_add(1))
    }
}
