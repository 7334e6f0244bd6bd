// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Blocking by non-preemptive sections, fixed priority, one core.
//!
//! ```text
//! Equation    B = K + max { S_l : l ∈ lp }
//! Symbols     [ns] B blocking, K blocking by the kernel, S_l longest non-preemptive section of a less urgent task
//! Assumes     A1 a job never suspends itself, so that it is blocked once, when its busy window starts
//! Verdict     sufficient; the second term is a supremum: a section must have started before the release
//! Cost        one pass
//! Source      [Burns94] A. Burns, "Preemptive priority-based scheduling: an appropriate engineering
//!             approach", in Advances in Real-Time Systems, 1994: blocking by non-preemptive regions
//! ```
//!
//! Blocking by the kernel is added, not maximised: an interrupt handler may start when the section ends.

use taut_time::Duration;

/// Which task blocks, and for how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LongestSection {
    /// The less urgent task with the longest section: its position in the input; none if no task has one.
    pub of: Option<usize>,
    /// S: the length of that section.
    pub time: Duration,
}

/// The longest section among less urgent tasks, given as (position, S); the first of equals.
///
/// Steps: one per item.
pub fn longest(lower: impl IntoIterator<Item = (usize, Duration)>) -> LongestSection {
    let mut longest = LongestSection::default();
    for (of, time) in lower {
        if time > longest.time {
            longest = LongestSection { of: Some(of), time };
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_one_blocks() {
        let us = Duration::from_us;
        assert_eq!(longest([]), LongestSection { of: None, time: Duration::ZERO });
        assert_eq!(longest([(4, us(0))]).of, None);
        assert_eq!(
            longest([(1, us(5)), (2, us(9)), (3, us(9))]),
            LongestSection { of: Some(2), time: us(9) }
        );
    }
}
