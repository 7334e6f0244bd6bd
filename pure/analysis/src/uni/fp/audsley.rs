// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A priority order that passes a test, if there is one, fixed priority, one core.
//!
//! ```text
//! Method      fill the levels from the least urgent up; any task that passes at a level may have it
//! Assumes     of the test, for a task at a level:
//!             A1 it depends on which tasks are above, not on their order
//!             A2 it depends on which tasks are below, not on their order
//!             A3 a task that passes still does after it changes places with the task above
//! Verdict     exact for the test: if any order passes, one is found
//! Cost        n·(n + 1)/2 tests at most, n of them if the first guess is right each time
//! Source      [Audsley91]; [DavisBurns11]: A1 to A3 are necessary as well
//! ```
//!
//! A1 to A3 hold for [`super::arbitrary`], [`super::limited_preemption`] and [`super::non_preemptive`] with blocking
//! by regions. They do not hold for a test that uses another task's response time, for instance where a task's jitter
//! is the response time of another, nor for analyses of locks that use remote response times.

/// An order of `count` tasks in which each passes, the most urgent first; `None` if no order does.
///
/// `passes(task, above, below)` says whether a task passes below `above` and above `below`, both in no order. For the
/// least urgent level, tasks are tried from the last to the first, so that a list that is already in a good order,
/// the most urgent first, needs n tests.
pub fn assign(count: usize, mut passes: impl FnMut(usize, &[usize], &[usize]) -> bool) -> Option<Vec<usize>> {
    // Tasks without a level stand before `open`, the others in order behind them.
    let mut order: Vec<usize> = (0..count).collect();
    for open in (1..=count).rev() {
        let found = (0..open).rev().any(|at| {
            // The candidate goes to the end of the open tasks; the others keep their order.
            order[at..open].rotate_left(1);
            let (above, rest) = order.split_at(open - 1);
            let passed = passes(rest[0], above, &rest[1..]);
            if !passed {
                order[at..open].rotate_right(1);
            }
            passed
        });
        if !found {
            return None;
        }
    }
    Some(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_tests() {
        let mut asked = 0;
        let found = assign(5, |task, above, below| {
            asked += 1;
            assert_eq!(above.len() + below.len(), 4);
            // Each task has one place only: task 4 is the most urgent.
            above.len() == 4 - task
        });
        assert_eq!(found, Some(vec![4, 3, 2, 1, 0]));
        assert_eq!(asked, 15);
        asked = 0;
        assert_eq!(
            assign(5, |_, _, _| {
                asked += 1;
                true
            }),
            Some(vec![0, 1, 2, 3, 4])
        );
        assert_eq!(asked, 5);
        assert_eq!(assign(3, |_, above, _| above.len() == 2), None);
        assert_eq!(assign(0, |_, _, _| false), Some(vec![]));
    }
}
