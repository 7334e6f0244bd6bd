// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Turns the rule's choice into what each thread does.

use taut_event::Kind;
#[cfg(test)]
use taut_lock::preemption_control::NOBODY;
use taut_time::Instant;

use crate::ready::state::State;
use crate::ready::worker_priorities::NONE;

/// The thread that asks for a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// The dispatcher, the highest thread.
    Dispatcher,
    /// A thread in the middle of its job.
    Running(u32),
    /// A thread whose job is complete.
    Done(u32),
    /// A thread whose job waits, and which has been marked as parked.
    Waiting(u32),
}

/// What the caller does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nothing: the same thread keeps running.
    Same,
    /// It begins the job that it has been given.
    Here,
    /// It wakes this thread.
    Wake(u32),
    /// It goes to its parker, and Linux runs the next thread below. The dispatcher always goes to sleep.
    Below,
}

impl State {
    /// Applies the rule's choice; returns what the caller has to do. `begins`: jobs record their start themselves.
    pub(crate) fn settle(
        &mut self,
        chosen: Option<usize>,
        caller: Caller,
        now_ns: u64,
        begins: bool,
    ) -> Next {
        let next = self.place(chosen, caller, now_ns, begins);
        self.update_fast_path_owner();
        self.check_donation(caller, now_ns);
        if caller != Caller::Dispatcher && self.needs.budgets {
            // Only the dispatcher checks when a budget ends.
            let end_ns = self.budget_end();
            self.dispatcher.call |= end_ns < self.dispatcher.wake_ns;
            self.dispatcher.wake_ns = self.dispatcher.wake_ns.min(end_ns);
        }
        #[cfg(test)]
        assert_eq!(self.check(), Ok(()), "{caller:?} {next:?}");
        next
    }

    fn place(&mut self, chosen: Option<usize>, caller: Caller, now_ns: u64, begins: bool) -> Next {
        let chosen = chosen.map_or(NONE, |task| task as u32);
        if chosen == self.running.task && chosen != NONE {
            return Next::Same;
        }
        self.account(now_ns);
        if let Some(was) = self.tasks.get(self.running.task as usize) {
            self.log.job(now_ns, Kind::Preempt, self.running.task, was.job.number, 0);
            if caller == Caller::Dispatcher && was.sinks {
                self.priorities.lower(was.worker);
            }
        }
        self.running.task = chosen;
        let Some(task) = self.tasks.get_mut(chosen as usize) else {
            self.running.thread = NONE;
            return Next::Below;
        };
        task.budget.start(Instant::from_ns(now_ns));
        if task.worker == NONE {
            self.begin(chosen, caller, now_ns, begins)
        } else {
            self.resume(chosen, caller, now_ns)
        }
    }

    /// Gives the chosen job a thread: the caller's, if its own job is complete.
    fn begin(&mut self, chosen: u32, caller: Caller, now_ns: u64, begins: bool) -> Next {
        let (at, next) = match caller {
            // The caller's thread was the highest, and still is.
            Caller::Done(me) => {
                self.priorities.workers[me as usize].task = chosen;
                (me, Next::Here)
            }
            _ => {
                let at = self.priorities.take(chosen);
                (at, Next::Wake(at))
            }
        };
        let task = &mut self.tasks[chosen as usize];
        (task.worker, self.running.thread) = (at, at);
        if !begins {
            self.log.job(now_ns, Kind::Start, chosen, task.job.number, 0);
        }
        next
    }

    /// Lets the thread of the chosen job go on.
    fn resume(&mut self, chosen: u32, caller: Caller, now_ns: u64) -> Next {
        let task = &mut self.tasks[chosen as usize];
        let at = task.worker;
        self.running.thread = at;
        self.log.job(now_ns, Kind::Resume, chosen, task.job.number, 0);
        if task.wants != NONE {
            let resource = std::mem::replace(&mut task.wants, NONE);
            self.log.lock(|| now_ns, Kind::Locked, chosen, task.job.number, resource);
        }
        let is_parked = self.priorities.workers[at as usize].parked;
        let leaving = match caller {
            Caller::Dispatcher => NONE,
            Caller::Done(me) | Caller::Waiting(me) => me,
            // The caller parks in its job, unless it wakes the other thread first.
            Caller::Running(_) if is_parked => NONE,
            Caller::Running(me) => {
                self.priorities.workers[me as usize].parked = true;
                me
            }
        };
        self.priorities.raise(at, leaving);
        if is_parked {
            self.priorities.workers[at as usize].parked = false;
            return Next::Wake(at);
        }
        Next::Below
    }

    /// The job that a thread was given has begun.
    pub(crate) fn started(&mut self, worker: u32, now_ns: u64) {
        let task = self.priorities.workers[worker as usize].task;
        let number = self.tasks[task as usize].job.number;
        self.log.job(now_ns, Kind::Start, task, number, 0);
    }

    /// All that must hold outside sections; for tests.
    #[cfg(test)]
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        taut_policy::Locking::check_state(&self.rule)?;
        self.priorities.check(self.running.thread)?;
        let worker = self.tasks.get(self.running.task as usize).map_or(NONE, |task| task.worker);
        if worker != self.running.thread {
            return Err("the current thread is not that of the chosen task");
        }
        if self.running.fast_path_owner != NOBODY && self.running.fast_path_owner != self.running.thread {
            return Err("another thread than the current one may lock");
        }
        Ok(())
    }
}
