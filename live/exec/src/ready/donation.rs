// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which thread has the place of a server's job: see [`crate::job::donation`].

use taut_sys::clock;

use crate::ready::settle::Caller;
use crate::ready::state::State;
use crate::ready::worker_priorities::{NONE, Worker};

impl State {
    /// Donates the place of the running job, if the job has a budget. Returns whether it did.
    pub(crate) fn donate(&mut self, worker: u32, task: u32, tid: i32, now_ns: u64) -> bool {
        let slot = &mut self.tasks[task as usize];
        let donates = slot.donates && !self.running.in_background && !self.stopping;
        if donates {
            slot.donated_since_ns = now_ns;
            // From now on the server is charged for the donee's processor time.
            slot.seen_ns = Some(slot.seen_ns().saturating_add_unsigned(clock::cpu_ns_of(tid)));
            self.priorities.donate(worker, tid);
        }
        donates
    }

    /// Ends the donation of a job's place, if there is one.
    pub(crate) fn end_donation(&mut self, worker: u32, task: u32) {
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
        let Some(slot) = self.tasks.get(self.running.task as usize) else { return };
        if !slot.donates || slot.worker == NONE {
            return;
        }
        let others_wait = || {
            let (_, period_ns) = self.serving.refill(slot.server);
            self.serving.has_others(slot.server) && slot.donated_since_ns.saturating_add(period_ns) <= now_ns
        };
        if self.running.in_background || caller == Caller::Dispatcher && (self.stopping || others_wait()) {
            self.end_donation(slot.worker, self.running.task);
        }
    }

    /// When a donating task without a job gets its next one (ns).
    pub(crate) fn next_donation(&self, task: u32, now_ns: u64) -> u64 {
        let slot = &self.tasks[task as usize];
        let (refill, period_ns) = self.serving.refill(slot.server);
        let next_ns = refill.unwrap_or(slot.job.arrival_ns.saturating_add(period_ns));
        next_ns.max(now_ns.saturating_add(1))
    }
}
