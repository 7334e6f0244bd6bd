// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The attributes that a rule orders tasks by, read and changed while the rule is in use.
//!
//! ```text
//! Symbols     L(t) the level of a task, C(r) the ceiling or floor of a resource, ≥: at least as urgent
//! True        a ceiling C(r) is true if C(r) ≥ L(t) for each user t of r; all rules need that
//! Level       may change while the task has no job: a rule looks at the levels of jobs only, from their release on
//! Ceiling     may change while no task holds the resource: only ceilings of held resources keep tasks out
//! ```
//!
//! The caller keeps the ceilings true: a rule does not know which task uses which resource. Suppose that a change
//! keeps to these three conditions. Then a held resource has the ceiling that it had when it was locked, and the
//! levels of its users do not exceed that ceiling: a user with a job has its old level, and a new level does not
//! exceed the ceiling of any of its resources, held ones included. So no user can run beside the holder, just as if
//! the attributes had had these values from the beginning. No ready task has changed its level, so the last decision
//! stands. Under [`Dfp`](crate::Dfp) the holder's deadline comes from the floor at its lock, and users that arrive
//! later have relative deadlines of at least that floor.

use taut_time::Duration;

use crate::ranked::ByRank;
use crate::{AnyLocal, Misuse};

/// A task's level, or a resource's ceiling or floor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// A priority, under fixed priorities; larger is more urgent.
    Priority(u32),
    /// A relative deadline, under EDF. A task's deadline is also its preemption level: the shorter, the higher. A
    /// resource's deadline is a ceiling under SRP, a floor under DFP.
    Deadline(Duration),
}

impl Attribute {
    /// Whether this attribute is at least as urgent as another of the same kind; false if the kinds differ.
    pub fn is_at_least(self, other: Self) -> bool {
        match (self, other) {
            (Self::Priority(own), Self::Priority(other)) => own >= other,
            (Self::Deadline(own), Self::Deadline(other)) => own <= other,
            _ => false,
        }
    }

    /// The same attribute as a number: a priority, or nanoseconds.
    pub fn number(self) -> u64 {
        match self {
            Self::Priority(priority) => priority.into(),
            Self::Deadline(deadline) => deadline.as_ns(),
        }
    }
}

impl AnyLocal {
    /// A task's level.
    ///
    /// # Errors
    /// [`Misuse::Task`].
    pub fn level(&self, task: usize) -> Result<Attribute, Misuse> {
        let base = match self {
            Self::Immediate(rule) => rule.ranked().base(task),
            Self::Original(rule) => rule.ranked().base(task),
            Self::Srp(rule) => rule.base(task),
            Self::Dfp(rule) | Self::DfpByClock(rule) => rule.ranked().base(task),
        };
        Ok(self.read(base?))
    }

    /// Changes a task's level. The caller makes sure that every ceiling stays true.
    ///
    /// # Errors
    /// [`Misuse::Task`]; [`Misuse::State`] if the task has a job; [`Misuse::Rank`] if this rule has no such level.
    pub fn set_level(&mut self, task: usize, to: Attribute) -> Result<(), Misuse> {
        let base = self.kept(to)?;
        match self {
            Self::Immediate(rule) => rule.ranked_mut().set_base(task, base),
            Self::Original(rule) => rule.ranked_mut().set_base(task, base),
            Self::Srp(rule) => rule.set_base(task, base),
            Self::Dfp(rule) | Self::DfpByClock(rule) => rule.ranked_mut().set_base(task, base),
        }
    }

    /// A resource's ceiling or floor.
    ///
    /// # Errors
    /// [`Misuse::Resource`].
    pub fn ceiling(&self, resource: usize) -> Result<Attribute, Misuse> {
        let limit = match self {
            Self::Immediate(rule) => rule.ranked().sections.limit(resource),
            Self::Original(rule) => rule.ranked().sections.limit(resource),
            Self::Srp(rule) => rule.sections().limit(resource),
            Self::Dfp(rule) | Self::DfpByClock(rule) => rule.ranked().sections.limit(resource),
        };
        Ok(self.read(limit?))
    }

    /// Changes a resource's ceiling or floor. The caller makes sure that the new one is true.
    ///
    /// # Errors
    /// [`Misuse::Resource`]; [`Misuse::Holding`] if a task holds the resource; [`Misuse::Rank`] if this rule has no
    /// such ceiling.
    pub fn set_ceiling(&mut self, resource: usize, to: Attribute) -> Result<(), Misuse> {
        let limit = self.kept(to)?;
        match self {
            Self::Immediate(rule) => rule.ranked_mut().sections.set_limit(resource, limit),
            Self::Original(rule) => rule.ranked_mut().sections.set_limit(resource, limit),
            Self::Srp(rule) => rule.sections_mut().set_limit(resource, limit),
            Self::Dfp(rule) | Self::DfpByClock(rule) => rule.ranked_mut().sections.set_limit(resource, limit),
        }
    }

    /// The priority that has rank 0; none under EDF.
    fn top(&self) -> Option<u32> {
        match self {
            Self::Immediate(rule) => Some(rule.top),
            Self::Original(rule) => Some(rule.top),
            _ => None,
        }
    }

    /// The attribute as the number that the rule keeps.
    fn kept(&self, attribute: Attribute) -> Result<u64, Misuse> {
        match (attribute, self.top()) {
            (Attribute::Priority(priority), Some(top)) => {
                top.checked_sub(priority).map(u64::from).ok_or(Misuse::Rank)
            }
            (Attribute::Deadline(deadline), None) => Ok(deadline.as_ns()),
            _ => Err(Misuse::Rank),
        }
    }

    fn read(&self, kept: u64) -> Attribute {
        match self.top() {
            Some(top) => Attribute::Priority(top.saturating_sub(u32::try_from(kept).unwrap_or(u32::MAX))),
            None => Attribute::Deadline(Duration::from_ns(kept)),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use taut_time::Instant;

    use super::*;
    use crate::{Attributes, LocalAnswer, LocalRule, Locking, Scheduler};

    fn ms(ms: u64) -> Attribute {
        Attribute::Deadline(Duration::from_ms(ms))
    }

    /// Each rule with three tasks and two resources; the first two tasks use the first resource. With them a level
    /// above and one below that of the third task.
    fn rules() -> [(AnyLocal, [Attribute; 3], [Attribute; 2]); 4] {
        let deadlines = [10, 20, 30].map(Duration::from_ms);
        let floors = [10, 30].map(Duration::from_ms);
        let of = Attributes {
            priorities: &[3, 2, 1],
            deadlines: &deadlines,
            ceilings: &[3, 1],
            floors: &floors,
            jitter: Duration::ZERO,
        };
        let by_priority = ([3, 2, 1].map(Attribute::Priority), [9, 2].map(Attribute::Priority));
        let by_deadline = ([10, 20, 30].map(ms), [4, 25].map(ms));
        [
            (LocalRule::Immediate, by_priority),
            (LocalRule::Original, by_priority),
            (LocalRule::Srp, by_deadline),
            (LocalRule::DfpByClock { jitter: None }, by_deadline),
        ]
        .map(|(rule, (levels, to))| (AnyLocal::new(rule, of).unwrap(), levels, to))
    }

    #[test]
    fn levels_are_read_and_set_between_jobs() {
        for (mut rule, levels, [above, below]) in rules() {
            for (task, level) in levels.into_iter().enumerate() {
                assert_eq!(rule.level(task), Ok(level));
            }
            assert_eq!((rule.level(3), rule.set_level(3, above)), (Err(Misuse::Task), Err(Misuse::Task)));
            // Initially the second task goes before the third.
            let at = Instant::from_ns(0);
            let first = |rule: &mut AnyLocal| {
                (1..3).for_each(|task| rule.release(task, at).unwrap());
                let first = rule.decide().unwrap();
                assert_eq!(rule.set_level(first, above), Err(Misuse::State), "it has a job");
                assert_eq!(rule.set_level(3 - first, above), Err(Misuse::State), "it has a job");
                for _ in 0..2 {
                    rule.complete().unwrap();
                    rule.decide();
                }
                first
            };
            assert_eq!(first(&mut rule), 1);
            assert_eq!(rule.set_level(2, above), Ok(()));
            assert_eq!((rule.level(2), first(&mut rule)), (Ok(above), 2));
            assert_eq!(rule.set_level(2, below), Ok(()));
            assert_eq!((rule.level(2), first(&mut rule)), (Ok(below), 1), "among equals the first");
        }
    }

    #[test]
    fn ceilings_are_set_while_nobody_holds_it() {
        for (mut rule, levels, [above, _]) in rules() {
            assert_eq!(rule.ceiling(0), Ok(levels[0]));
            assert_eq!(
                (rule.ceiling(2), rule.set_ceiling(2, above)),
                (Err(Misuse::Resource), Err(Misuse::Resource))
            );
            let at = Instant::from_ns(0);
            rule.release(1, at).unwrap();
            assert_eq!((rule.decide(), rule.lock(at, 0)), (Some(1), Ok(LocalAnswer::Granted)));
            assert_eq!(rule.set_ceiling(0, above), Err(Misuse::Holding));
            assert_eq!((rule.ceiling(0), rule.check_state()), (Ok(levels[0]), Ok(())));
            rule.unlock(0).unwrap();
            assert_eq!(rule.set_ceiling(0, above), Ok(()));
            // Now the ceiling also keeps out a task that does not use the resource and is below the ceiling.
            let (mut other, level) = (rule.clone(), levels[0]);
            assert_eq!((rule.ceiling(0), rule.decide()), (Ok(above), Some(1)));
            assert_eq!(rule.lock(at, 0), Ok(LocalAnswer::Granted));
            rule.release(0, at).unwrap();
            let original = matches!(rule, AnyLocal::Original(_));
            assert_eq!(rule.decide(), Some(if original { 0 } else { 1 }));
            assert_eq!(rule.check_state(), Ok(()));
            assert_eq!(other.set_ceiling(0, level), Ok(()));
            assert_eq!(other.ceiling(0), Ok(level));
        }
    }

    #[test]
    fn what_a_rule_does_not_have_is_refused() {
        for (mut rule, levels, _) in rules() {
            let strange = match levels[0] {
                Attribute::Priority(_) => ms(3),
                Attribute::Deadline(_) => Attribute::Priority(3),
            };
            assert_eq!(rule.set_level(0, strange), Err(Misuse::Rank));
            assert_eq!(rule.set_ceiling(0, strange), Err(Misuse::Rank));
            assert!(!strange.is_at_least(levels[0]) && !levels[0].is_at_least(strange));
            assert!(levels[0].is_at_least(levels[1]) && !levels[1].is_at_least(levels[0]));
            assert!(vec![rule.level(0), rule.ceiling(0)].into_iter().all(|level| level == Ok(levels[0])));
        }
    }
}
