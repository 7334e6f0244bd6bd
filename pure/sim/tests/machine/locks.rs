// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Requests and unlocks of jobs.

use taut_event::Kind;
use taut_model::ArrivalPattern;
use taut_policy::{LocalAnswer, LockParty};
use taut_sim::LocalRule;
use taut_time::Instant;

use super::Machine;

impl Machine<'_> {
    /// The instant that deadline floors count from.
    fn base(&self, core: usize) -> u64 {
        if self.case.rules.cores[core] == LocalRule::Dfp {
            // For a task outside the calendar: when its core last looked.
            let next = |task: &usize| match self.case.set.tasks()[*task].arrivals {
                ArrivalPattern::Sporadic => self.reported[core],
                _ => self.tasks[*task].arrival,
            };
            self.members[core].iter().map(next).min().expect("some")
        } else {
            self.now
        }
    }

    pub(super) fn lock(&mut self, core: usize, task: usize, resource: usize) {
        let at = Instant::from_ns(self.now);
        let local = self.local(task);
        let job = |run: &mut Self, granted: bool| {
            let job = run.tasks[task].job.as_mut().expect("it runs");
            if granted {
                job.held.push(resource)
            } else {
                job.wants = Some(resource)
            }
            run.waited += u64::from(!granted);
        };
        if self.case.set.is_local(resource) {
            let base = Instant::from_ns(self.base(core));
            match self.cores[core].lock(base, resource).expect("it runs") {
                LocalAnswer::Granted => {
                    job(self, true);
                    self.note(core, Kind::Locked, task, resource as u64);
                }
                LocalAnswer::Waits => {
                    job(self, false);
                    self.note(core, Kind::Suspend, task, resource as u64);
                    self.current[core] = None;
                    self.decide(core);
                }
                LocalAnswer::Broken => panic!("the rule should have ruled it out"),
            }
            return;
        }
        if self.by_steps {
            return self.ask(core, task, resource);
        }
        let spins = self.globals[resource].spins();
        if spins {
            self.cores[core].pin().expect("it runs");
        }
        let priority = self.case.set.tasks()[task].priority;
        let granted = self.globals[resource].request(at, LockParty { core, task: local }, priority);
        job(self, granted.is_some());
        match granted {
            Some(rank) => {
                if !spins {
                    self.cores[core].boost(local, rank).expect("it runs");
                }
                self.note(core, Kind::Locked, task, resource as u64);
                self.decide(core);
            }
            None if spins => self.note(core, Kind::Spin, task, resource as u64),
            None => {
                self.note(core, Kind::Suspend, task, resource as u64);
                self.cores[core].suspend().expect("it runs");
                self.current[core] = None;
                self.decide(core);
            }
        }
    }

    pub(super) fn unlock(&mut self, core: usize, task: usize, resource: usize) {
        self.tasks[task].job.as_mut().expect("it runs").held.pop();
        if self.by_steps && !self.case.set.is_local(resource) {
            return self.leave(core, task, resource);
        }
        self.note(core, Kind::Unlock, task, resource as u64);
        let local = self.local(task);
        if self.case.set.is_local(resource) {
            self.cores[core].unlock(resource).expect("it holds");
        } else {
            if self.globals[resource].spins() {
                self.cores[core].unpin().expect("it holds");
            } else {
                self.cores[core].unboost().expect("it holds");
            }
            if let Some((party, rank)) = self.globals[resource].release(LockParty { core, task: local }) {
                let next = self.members[party.core][party.task];
                let from = self.now + 1 + self.random.below(30);
                self.tasks[next].on_the_way = Some((resource, rank, from));
            }
        }
        self.decide(core);
    }
}
