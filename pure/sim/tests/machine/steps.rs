// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The lock of a global resource as threads execute it: step by step, with others in between. As in `taut-lock`, a
//! thread that finds the lock free while others request it takes it on behalf of all, and gives it to the first of
//! them; and as in `taut-exec`, an unlock is recorded before it happens, and the result of a request after it.

use taut_event::Kind;
use taut_sim::GlobalRule;

use super::{Job, Machine};

/// A lock.
#[derive(Default)]
pub(super) struct Lock {
    /// A task that holds it, or one that chooses the next holder.
    holder: Option<usize>,
    /// Task, urgency, ticket.
    waiting: Vec<(usize, u32, u64)>,
    tickets: u64,
}

/// A core's step at a lock.
#[derive(Clone, Copy)]
pub(super) enum Step {
    Ask,
    Look,
    Choose,
    Give(usize),
    /// Whether it was granted.
    Record(bool),
    Leave,
    LeaveTo(usize),
}

impl Lock {
    fn best(&self) -> Option<usize> {
        let first =
            self.waiting.iter().max_by_key(|(_, urgency, ticket)| (*urgency, std::cmp::Reverse(*ticket)));
        first.map(|(task, ..)| *task)
    }
}

impl Machine<'_> {
    /// Executes the next step of a core at a lock. Returns whether the core was at one.
    pub(super) fn step(&mut self, core: usize) -> bool {
        let Some((task, resource, step)) = self.at[core] else { return false };
        let rule = self.case.rules.resources[resource];
        let spins = rule == GlobalRule::Msrp;
        let priority = self.case.set.tasks()[task].priority;
        let urgency = if rule == GlobalRule::Mpcp { priority } else { 0 };
        let lock = &mut self.locks[resource];
        let next = match step {
            Step::Ask if lock.holder.is_none() && lock.waiting.is_empty() => {
                lock.holder = Some(task);
                Some(Step::Record(true))
            }
            Step::Ask => {
                lock.tickets += 1;
                lock.waiting.push((task, urgency, lock.tickets));
                Some(Step::Look)
            }
            Step::Look if lock.holder == Some(task) => {
                self.tasks[task].on_the_way = None;
                Some(Step::Record(true))
            }
            Step::Look if lock.holder.is_none() => {
                lock.holder = Some(task);
                Some(Step::Choose)
            }
            Step::Look => Some(Step::Record(false)),
            Step::Choose => Some(Step::Give(lock.best().expect("it waits itself"))),
            Step::Give(next) => {
                self.give(resource, next);
                if next == task {
                    self.tasks[task].on_the_way = None;
                }
                Some(Step::Record(next == task))
            }
            Step::Record(granted) => {
                self.at[core] = None;
                self.record(core, task, resource, granted);
                return true;
            }
            // One step, as the next spinner is known.
            Step::Leave if spins => {
                lock.holder = None;
                if let Some(next) = lock.best() {
                    self.give(resource, next);
                }
                None
            }
            Step::Leave => match lock.best() {
                Some(next) => Some(Step::LeaveTo(next)),
                None => {
                    lock.holder = None;
                    None
                }
            },
            Step::LeaveTo(next) => {
                self.give(resource, next);
                None
            }
        };
        self.at[core] = next.map(|step| (task, resource, step));
        if next.is_none() {
            if spins {
                self.cores[core].unpin().expect("it holds");
            } else {
                self.cores[core].unboost().expect("it holds");
            }
            self.decide(core);
        }
        true
    }

    fn give(&mut self, resource: usize, next: usize) {
        let lock = &mut self.locks[resource];
        lock.waiting.retain(|(task, ..)| *task != next);
        lock.holder = Some(next);
        let from = self.now + 1 + self.random.below(30);
        self.tasks[next].on_the_way = Some((resource, self.rank(next, resource), from));
    }

    /// A holder's rank among the boosted tasks of its core.
    fn rank(&self, task: usize, resource: usize) -> u64 {
        let set = &self.case.set;
        let elsewhere = set.users(resource).filter(|user| set.tasks()[*user].core != set.tasks()[task].core);
        match self.case.rules.resources[resource] {
            GlobalRule::Mpcp => {
                u64::from(u32::MAX - elsewhere.map(|user| set.tasks()[user].priority).max().unwrap_or(0))
            }
            GlobalRule::FmlpLong => self.asked[task],
            GlobalRule::Msrp => 0,
        }
    }

    /// A job requests a resource: its core is at the lock from now on.
    pub(super) fn ask(&mut self, core: usize, task: usize, resource: usize) {
        if self.case.rules.resources[resource] == GlobalRule::Msrp {
            self.cores[core].pin().expect("it runs");
        }
        self.asked[task] = self.now;
        self.at[core] = Some((task, resource, Step::Ask));
    }

    /// A job unlocks a resource: recorded before any task may have it.
    pub(super) fn leave(&mut self, core: usize, task: usize, resource: usize) {
        self.note(core, Kind::Unlock, task, resource as u64);
        self.at[core] = Some((task, resource, Step::Leave));
    }

    fn record(&mut self, core: usize, task: usize, resource: usize, granted: bool) {
        let spins = self.case.rules.resources[resource] == GlobalRule::Msrp;
        let rank = self.rank(task, resource);
        let Job { held, wants, .. } = self.tasks[task].job.as_mut().expect("it runs");
        if granted {
            held.push(resource);
        } else {
            *wants = Some(resource);
        }
        self.waited += u64::from(!granted);
        let kind = match granted {
            true => Kind::Locked,
            false if spins => Kind::Spin,
            false => Kind::Suspend,
        };
        self.note(core, kind, task, resource as u64);
        if granted && !spins {
            let local = self.local(task);
            self.cores[core].boost(local, rank).expect("it runs");
        } else if !granted && !spins {
            self.cores[core].suspend().expect("it runs");
            self.current[core] = None;
        } else {
            return;
        }
        self.decide(core);
    }
}
