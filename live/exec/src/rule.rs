// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The rule of a core, chosen when it is set up.
//!
//! # Deadline floors on a real clock
//!
//! Under [`Rule::Dfp`] a job that locks at t is due no later than t + floor, and whoever may ask for the resource must be
//! due no sooner. `taut-policy` asks for t and for J, the longest time from an arrival to the instant at which the rule
//! is told. A machine promises no J. So t is not a clock here, but the **next arrival that has not been told**, and J is
//! 0.
//!
//! Let N be that instant when a job locks a resource of floor F.
//!
//! 1. Every release that the rule is told of later has an arrival a ≥ N. Timed ones: they are told in the order of the
//!    calendar, and N is the first of it. Others (by a bell, by hand, by a job): their arrival is the clock when they
//!    are told, which has not gone back since the instant at which anything was told last; where a core has such tasks,
//!    N is that instant if it comes before the calendar's first.
//! 2. A user of the resource that arrives at a is due at a + D ≥ N + F, which is not before its holder, who is due at N + F
//!    at the latest. Preemption is strict, so it does not run beside the holder, also if both are due at the same
//!    instant.
//! 3. One that was told before the lock and is ready is due no sooner than the holder was at the lock, for the holder
//!    ran; and the lock makes the holder due no later than that.
//! 4. One that waits for an earlier job of its own task is told when that one completes. That one is a user too, told
//!    before the lock, so by 3 it does not run, and completes, before the unlock.
//! 5. One in the background (its budget is used up) holds nothing and completes, or is lifted back to lock, only when
//!    nothing else of the rule may run: then nothing is held.
//!
//! So the dispatcher may be late by any time without a lock losing its meaning. `late` in `src/tests` injects it. A clock
//! in place of N fails there.

use taut_policy::{AnyCore, AnyLocal, LocalRule, Misuse};
use taut_time::Duration;

/// Who runs on a core, and how its resources are guarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Fixed priorities, immediate ceilings. Without resources: fixed priorities.
    Immediate,
    /// Fixed priorities, the priority ceiling protocol with inheritance. A job may wait at each lock.
    Original,
    /// Earliest deadline first, the stack resource policy. Without resources: earliest deadline first.
    Srp,
    /// Earliest deadline first, deadline floors.
    Dfp,
}

/// What a rule is made of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attributes {
    /// Per task.
    pub(crate) priorities: Vec<u32>,
    /// Per task.
    pub(crate) deadlines: Vec<Duration>,
    /// Per resource: the largest priority of its users.
    pub(crate) ceilings: Vec<u32>,
    /// Per resource: the least relative deadline of its users.
    pub(crate) floors: Vec<Duration>,
}

impl Attributes {
    /// A fresh rule for them.
    pub(crate) fn rule(&self, rule: Rule) -> Result<AnyCore, Misuse> {
        let Self { priorities, deadlines, ceilings, floors } = self;
        let rule = match rule {
            Rule::Immediate => LocalRule::Immediate,
            Rule::Original => LocalRule::Original,
            Rule::Srp => LocalRule::Srp,
            Rule::Dfp => LocalRule::DfpNext,
        };
        AnyLocal::core(rule, taut_policy::Attributes { priorities, deadlines, ceilings, floors })
    }
}
