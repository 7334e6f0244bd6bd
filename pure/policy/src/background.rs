// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Jobs below all others of a core: those whose budget is used up.
//!
//! ```text
//! rule         pinned, boosted, local: see Core
//! background   what the rule takes for suspended: runs when nothing in the rule does, first come, first served
//! ```
//!
//! A job that holds something is not demoted before it gives that back: who waits for it, or would be let in by its
//! absence, must not wait for the background. So one in the background holds nothing. If it asks for a resource there, it
//! is lifted back to its place in the rule, as nothing else wants to run at that instant; ceilings and floors then hold
//! as for any holder, and it is demoted again when it has given the resource back.
//!
//! **What others see** of a job is its budget, and one section at most: that which the budget ends in, or one in the
//! background that began just before they came. Not both within a release of the task: while a job is in the background
//! no other of its task begins. So C = budget + longest section covers it for all that are less urgent; for those
//! that are more urgent, sections are blocking as ever.

use crate::queue::{End, ReadyQueue};
use crate::{Misuse, Scheduler};

/// The background of a core, beside its rule, which must bear that jobs suspend: any of this crate but
/// [`SrpList`](crate::SrpList). [`Dfp`](crate::Dfp) does so here, as a job is only lifted where nothing is held.
///
/// ```
/// use taut_policy::queue::{List, Node};
/// use taut_policy::{Background, FixedPriority, Scheduler, Slot};
/// use taut_time::Instant;
///
/// let list = || List::new([Node::EMPTY; 2]);
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
    /// Nobody, with a place for each task of the core.
    pub fn new(jobs: Q) -> Self {
        Self { jobs, running: None }
    }

    /// What runs by the rule goes to the background, behind those that are there. Gives who it was. O(1) with
    /// [`List`](crate::queue::List), and a step of the rule.
    ///
    /// # Errors
    /// [`Misuse::State`] if nothing runs, [`Misuse::Holding`], [`Misuse::Task`] if there is no place for it.
    pub fn demote(&mut self, rule: &mut impl Scheduler) -> Result<usize, Misuse> {
        let task = rule.running().ok_or(Misuse::State)?;
        if task >= self.jobs.capacity() {
            return Err(Misuse::Task);
        }
        rule.suspend()?;
        self.jobs.insert(task, 0, End::Back)?;
        Ok(task)
    }

    /// Who runs from now on: [`Scheduler::decide`], and if that is nobody, the first of the background.
    pub fn decide(&mut self, rule: &mut impl Scheduler) -> Option<usize> {
        let chosen = rule.decide();
        self.running = if chosen.is_none() { self.jobs.first().map(|first| first.0) } else { None };
        chosen.or(self.running)
    }

    /// As [`Background::decide`], but what runs by the rule goes to the background first if `leaves` says so of it and it
    /// holds nothing; then who runs is decided again. As many steps more as go.
    pub fn decide_leaving(
        &mut self,
        rule: &mut impl Scheduler,
        leaves: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        loop {
            let chosen = self.decide(rule)?;
            // Refused while it holds something, and if there is no place for it.
            if self.running.is_some() || !leaves(chosen) || self.demote(rule).is_err() {
                return Some(chosen);
            }
        }
    }

    /// Who runs in the background since the last decision.
    pub fn running(&self) -> Option<usize> {
        self.running
    }

    /// What runs is done, by the rule or in the background. Gives who it was.
    ///
    /// # Errors
    /// [`Misuse::State`] if nothing runs, [`Misuse::Holding`].
    pub fn complete(&mut self, rule: &mut impl Scheduler) -> Result<usize, Misuse> {
        let Some(task) = self.running else { return rule.complete() };
        rule.retire(task)?;
        self.leave(task);
        Ok(task)
    }

    /// What runs in the background goes back to its place in the rule, to ask for a resource. To be decided again at this
    /// instant, which chooses it. Gives who it was.
    ///
    /// # Errors
    /// [`Misuse::State`] if nothing runs in the background.
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
    use crate::queue::{Heap, HeapSlot, List, Node};
    use crate::{Answer, LocalResource, Locking, Srp, SrpTask};

    /// A demoted job locks in the background; a less urgent one that comes meanwhile waits for the one section, and a
    /// more urgent one that does not use the resource does not.
    #[test]
    fn a_demoted_job_may_lock() {
        let ready = Heap::new([HeapSlot::EMPTY; 3]);
        let relative = [30, 20, 40].map(Duration::from_ns);
        let resources = [LocalResource::EMPTY; 1];
        let mut rule =
            Srp::new(ready, [SrpTask::EMPTY; 3], &relative, resources, &relative[..1]).expect("fits");
        let mut background = Background::new(List::new([Node::EMPTY; 3]));
        let now = Instant::from_ns(0);
        rule.release(0, now).expect("idle");
        assert_eq!(background.decide(&mut rule), Some(0));
        assert_eq!(rule.lock(now, 0), Ok(Answer::Granted));
        assert_eq!(background.demote(&mut rule), Err(Misuse::Holding));
        rule.unlock(0).expect("it holds it");
        assert_eq!(background.decide(&mut rule), Some(0));
        assert_eq!((background.demote(&mut rule), background.demote(&mut rule)), (Ok(0), Err(Misuse::State)));
        assert_eq!(background.lift(&mut rule), Err(Misuse::State), "it has not been chosen");
        assert_eq!((background.decide(&mut rule), background.running()), (Some(0), Some(0)));
        assert_eq!(background.lift(&mut rule), Ok(0));
        assert_eq!(background.decide(&mut rule), Some(0));
        assert_eq!(rule.lock(now, 0), Ok(Answer::Granted));
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
