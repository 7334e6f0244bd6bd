// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Jobs that have used up their budgets and run below all others of their core.
//!
//! ```text
//! rule         pinned, boosted, local: see Core
//! background   suspended for the rule; runs when no task of the rule runs, first come, first served
//! ```
//!
//! No job is demoted while it holds a resource: tasks that wait for the holder, or that could run in its absence, must
//! not wait for the background. So a job in the background holds nothing. If it asks for a resource, the caller lifts
//! it back to its place in the rule, since nothing else is ready at that instant. Ceilings and floors then hold as for
//! any holder, and the caller demotes the job again when it has released the resource.
//!
//! **Other tasks see** the job's budget and at most one section: the section in which the budget ends, or a section in
//! the background that began just before they arrived. One release of the job's task never causes both: while a job is
//! in the background, no other job of its task begins. So C = budget + longest section covers the job for all less
//! urgent tasks; for more urgent tasks, its sections cause blocking as usual.

use crate::queue::{QueueEnd, ReadyQueue};
use crate::{Misuse, Scheduler};

/// The background of a core, beside its rule. The rule must allow jobs to suspend: every rule of this crate does.
/// [`Dfp`](crate::Dfp) does so here, because a job is lifted only while no task holds a resource.
///
/// ```
/// use taut_policy::queue::{LinkedList, Node};
/// use taut_policy::{Background, FixedPriority, Scheduler, Slot};
/// use taut_time::Instant;
///
/// let list = || LinkedList::new([Node::EMPTY; 2]);
/// let mut rule = FixedPriority::new(list(), [Slot::EMPTY; 2], &[2, 1]).unwrap();
/// let mut background = Background::new(list());
/// rule.release(0, Instant::from_ns(0)).unwrap();
/// rule.release(1, Instant::from_ns(0)).unwrap();
/// assert_eq!(background.decide(&mut rule), Some(0));
/// background.demote(&mut rule).unwrap();
/// assert_eq!(background.decide(&mut rule), Some(1), "although it is less urgent");
/// rule.complete().unwrap();
/// assert_eq!(background.decide(&mut rule), Some(0));
/// assert_eq!(background.complete(&mut rule), Ok(0));
/// ```
#[derive(Clone, Debug)]
pub struct Background<Q> {
    jobs: Q,
    running: Option<usize>,
}

impl<Q: ReadyQueue> Background<Q> {
    /// An empty background; `jobs` needs a place for each task of the core.
    pub fn new(jobs: Q) -> Self {
        Self { jobs, running: None }
    }

    /// Moves the job that the rule runs to the background, behind the jobs there. Returns its task. O(1) with
    /// [`LinkedList`](crate::queue::LinkedList), and a step of the rule.
    ///
    /// # Errors
    /// [`Misuse::State`] if no task runs, [`Misuse::Holding`], [`Misuse::Task`] if there is no place for the task.
    pub fn demote(&mut self, rule: &mut impl Scheduler) -> Result<usize, Misuse> {
        let task = rule.running().ok_or(Misuse::State)?;
        if task >= self.jobs.capacity() {
            return Err(Misuse::Task);
        }
        rule.suspend()?;
        self.jobs.insert(task, 0, QueueEnd::Back)?;
        Ok(task)
    }

    /// The task that runs from now on: that of [`Scheduler::decide`], or if there is none, the first in the
    /// background.
    pub fn decide(&mut self, rule: &mut impl Scheduler) -> Option<usize> {
        let chosen = rule.decide();
        self.running = if chosen.is_none() { self.jobs.first().map(|first| first.0) } else { None };
        chosen.or(self.running)
    }

    /// As [`Background::decide`], but first demotes the task that the rule chooses, if `leaves` returns true for it
    /// and it holds nothing, and then decides again. Takes one more step for each demoted job.
    pub fn decide_leaving(
        &mut self,
        rule: &mut impl Scheduler,
        leaves: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        loop {
            let chosen = self.decide(rule)?;
            // The rule refuses to demote a task that holds a resource; the queue refuses a task for which it has no
            // place.
            if self.running.is_some() || !leaves(chosen) || self.demote(rule).is_err() {
                return Some(chosen);
            }
        }
    }

    /// The task that runs in the background since the last decision.
    pub fn running(&self) -> Option<usize> {
        self.running
    }

    /// The running job, in the rule or in the background, is done. Returns its task.
    ///
    /// # Errors
    /// [`Misuse::State`] if no task runs, [`Misuse::Holding`].
    pub fn complete(&mut self, rule: &mut impl Scheduler) -> Result<usize, Misuse> {
        let Some(task) = self.running else { return rule.complete() };
        rule.retire(task)?;
        self.leave(task);
        Ok(task)
    }

    /// Moves the job that runs in the background back to its place in the rule, so that it can ask for a resource.
    /// The caller must decide again at this instant; the decision chooses this job. Returns its task.
    ///
    /// # Errors
    /// [`Misuse::State`] if no job runs in the background.
    pub fn lift(&mut self, rule: &mut impl Scheduler) -> Result<usize, Misuse> {
        let task = self.running.ok_or(Misuse::State)?;
        rule.resume(task)?;
        self.leave(task);
        Ok(task)
    }

    fn leave(&mut self, task: usize) {
        self.jobs.remove(task);
        self.running = None;
    }
}

#[cfg(test)]
mod tests {
    use taut_time::{Duration, Instant};

    use super::*;
    use crate::queue::{Heap, HeapSlot, LinkedList, Node};
    use crate::{LocalAnswer, LocalResource, Locking, Srp, SrpTask};

    /// A demoted job locks a resource in the background. A less urgent job that arrives meanwhile waits for that one
    /// section; a more urgent one that does not use the resource does not wait.
    #[test]
    fn a_demoted_job_may_lock() {
        let ready = Heap::new([HeapSlot::EMPTY; 3]);
        let relative = [30, 20, 40].map(Duration::from_ns);
        let resources = [LocalResource::EMPTY; 1];
        let mut rule =
            Srp::new(ready, [SrpTask::EMPTY; 3], &relative, resources, &relative[..1]).expect("fits");
        let mut background = Background::new(LinkedList::new([Node::EMPTY; 3]));
        let now = Instant::from_ns(0);
        rule.release(0, now).expect("idle");
        assert_eq!(background.decide(&mut rule), Some(0));
        assert_eq!(rule.lock(now, 0), Ok(LocalAnswer::Granted));
        assert_eq!(background.demote(&mut rule), Err(Misuse::Holding));
        rule.unlock(0).expect("it holds it");
        assert_eq!(background.decide(&mut rule), Some(0));
        assert_eq!((background.demote(&mut rule), background.demote(&mut rule)), (Ok(0), Err(Misuse::State)));
        assert_eq!(background.lift(&mut rule), Err(Misuse::State), "it has not been chosen");
        assert_eq!((background.decide(&mut rule), background.running()), (Some(0), Some(0)));
        assert_eq!(background.lift(&mut rule), Ok(0));
        assert_eq!(background.decide(&mut rule), Some(0));
        assert_eq!(rule.lock(now, 0), Ok(LocalAnswer::Granted));
        assert_eq!(background.decide_leaving(&mut rule, |task| task == 0), Some(0), "it holds something");
        rule.release(2, now).expect("idle");
        assert_eq!(background.decide(&mut rule), Some(0), "the ceiling keeps it out");
        rule.release(1, now).expect("idle");
        assert_eq!(background.decide(&mut rule), Some(1));
        assert_eq!(rule.check_state(), Ok(()));
        assert_eq!(background.complete(&mut rule), Ok(1));
        assert_eq!(background.decide(&mut rule), Some(0));
        rule.unlock(0).expect("it holds it");
        assert_eq!(background.decide_leaving(&mut rule, |task| task == 0), Some(2));
        assert_eq!(background.complete(&mut rule), Ok(2));
        assert_eq!(background.decide(&mut rule), Some(0));
        assert_eq!(background.complete(&mut rule), Ok(0));
        assert_eq!(background.decide(&mut rule), None);
        assert_eq!((rule.release(0, now), rule.check_state()), (Ok(()), Ok(())));
    }
}
