// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The rule of a core, chosen at set-up.
//!
//! # Deadline floors on a real clock
//!
//! Under [`LocalRule::Dfp`] a job that locks at t is due no later than t + floor, and every job that may ask for the
//! resource later must be due no sooner. `taut-policy` takes t and J, the longest time from an arrival to the instant
//! at which the dispatcher reports it to the rule. A machine guarantees no J. So t is not a clock here, but the
//! **next arrival that the dispatcher has not reported**, and J is 0.
//!
//! Let N be that instant when a job locks a resource of floor F.
//!
//! 1. Every release that the dispatcher reports later has an arrival a ≥ N. It reports timed releases in the order of
//!    the calendar, and N is the first of them. A release by hand or by a job arrives at the clock's value when it is
//!    reported, and the clock has not gone back since the last scan. A release by an event arrives when its work found
//!    the event, but not before the last scan on which locks have relied (`Calendar::earliest_arrival`). Where a core
//!    has such tasks, N is the instant of the last scan if that comes before the calendar's first release.
//! 2. A user of the resource that arrives at a is due at a + D ≥ N + F. The holder is due at N + F at the latest. So
//!    the user is not due before the holder. Preemption is strict, so the user does not run beside the holder, even
//!    if both are due at the same instant.
//! 3. A user that was reported before the lock and is ready is due no sooner than the holder was at the lock, because
//!    the holder ran. The lock makes the holder due no later than that.
//! 4. A release that waits for an earlier job of its own task is reported when that job completes. The earlier job is
//!    a user too, and was reported before the lock. So by 3 it neither runs nor completes before the unlock.
//! 5. A job in the background (its budget is used up) holds nothing. It completes, or is lifted back to lock, only
//!    when no other job of the rule may run; then no job holds anything.
//!
//! So the dispatcher may be late by any time and locks still exclude. `late` in `src/tests` injects such delays, and
//! fails with the clock in place of N.

use taut_policy::{AnyCore, AnyLocal, LocalRule, Misuse};
use taut_time::Duration;

/// The attributes that a rule is built from.
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
    /// A fresh rule with these attributes.
    pub(crate) fn rule(&self, rule: LocalRule) -> Result<AnyCore, Misuse> {
        let Self { priorities, deadlines, ceilings, floors } = self;
        let jitter = Duration::ZERO;
        AnyLocal::core(rule, taut_policy::Attributes { priorities, deadlines, ceilings, floors, jitter })
    }
}
