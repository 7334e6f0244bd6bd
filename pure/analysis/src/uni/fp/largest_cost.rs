// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The largest cost that fits, fixed priority, preemptive, one core.
//!
//! ```text
//! Question    the largest x ≤ X for which a task keeps its deadline, and all tasks that it interferes with keep theirs
//! Assumes     A1 each test passes for all smaller costs if it passes for one (a response time never falls when a
//!                cost grows: every term of its equation is non-decreasing in C)
//! Verdict     exact for the tests used
//! Cost        n tests if the largest passes, else up to 65 more for each test that lowers it
//! Source      sensitivity by bisection, [Bini08] "Sensitivity analysis for fixed-priority real-time systems",
//!             Real-Time Systems 39; their method is in closed form, ours works with any margin
//! ```

/// The largest `x` in 0 to `most` that every test accepts; `None` if a test refuses even 0.
///
/// `passes(test, x)` says whether test number `test`, from 0 to `tests` − 1, accepts x.
pub fn largest(most: u64, tests: usize, mut passes: impl FnMut(usize, u64) -> bool) -> Option<u64> {
    let mut best = most;
    for test in 0..tests {
        // Most tests accept what the earlier tests left.
        if passes(test, best) {
            continue;
        }
        if !passes(test, 0) {
            return None;
        }
        let (mut good, mut bad) = (0, best);
        while bad - good > 1 {
            let middle = good + (bad - good) / 2;
            if passes(test, middle) {
                good = middle;
            } else {
                bad = middle;
            }
        }
        best = good;
    }
    Some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_of_the_limits() {
        let limits = [70, 30, 50];
        assert_eq!(largest(100, 3, |test, x| x <= limits[test]), Some(30));
        assert_eq!(largest(20, 3, |test, x| x <= limits[test]), Some(20));
        assert_eq!(largest(100, 0, |_, _| false), Some(100));
        assert_eq!(largest(100, 2, |test, _| test == 0), None);
        assert_eq!(largest(u64::MAX, 1, |_, x| x == 0), Some(0));
    }

    #[test]
    fn asks_few_times() {
        let mut asked = 0;
        let limit = u64::MAX / 3;
        let found = largest(u64::MAX, 1, |_, x| {
            asked += 1;
            x <= limit
        });
        assert_eq!(found, Some(limit));
        assert!(asked <= 66, "{asked}");
    }
}
