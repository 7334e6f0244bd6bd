// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Priorities that meet all deadlines, fixed priority, one core.
//!
//! ```text
//! Algorithm   from the least urgent level up: give the level to a task that keeps its deadline there while all
//!             that have no level yet are more urgent; if no task does, there is no assignment
//! Assumes     A1 the test depends on which tasks are more and which are less urgent, not on their order among
//!                themselves   A2 a task that passes at a level passes at every more urgent one
//! Verdict     exact for the test used: finds an assignment that it accepts, if there is one
//! Cost        at most n (n + 1) / 2 tests
//! Source      [Audsley91] "Optimal priority assignment and feasibility of static priority tasks with arbitrary
//!             start times", University of York YCS 164
//!             [LeungWhitehead82] deadline-monotonic order is optimal without blocking and jitter;
//!             [ZuhilyBurns07] with jitter, the order by D − J is
//! ```
//!
//! At each level the task with the longest D − J is tried first, so the answer is the deadline-monotonic order
//! wherever that one passes, and departs from it only where blocking breaks it.
//!
//! **Fixed numbers.** Tasks may come with a number. Their order among themselves is then given, and a level may
//! go to the least urgent of them that is left, or to a free task as long as a number is left in the gap.
//! Moving a task that passes to the lowest level keeps the order of the others, so the exchange argument of the
//! algorithm still holds; only a gap that runs out of numbers can hide an assignment.

use taut_time::Duration;

/// The largest number that is given out: above it stand the platform probe and the kernel's own threads.
pub const HIGHEST: u8 = 98;
/// The number that the most urgent task gets if there is room: urgent enough to be above the kernel's
/// interrupt threads (50), with room above for what is written by hand later.
pub const USUAL: u8 = 90;

/// A task that needs a priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its number, if it came with one; no two are equal.
    pub fixed: Option<u8>,
    /// D − J; less is more urgent.
    pub laxity: Duration,
}

/// How an order was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// By D − J.
    DeadlineMonotonic,
    /// By the algorithm above, where the order by D − J misses a deadline.
    Audsley,
    /// None passes; by D − J nevertheless, so that there is something to show.
    NonePasses,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// A number for each task, in the order given; larger = more urgent, no two equal.
    pub priorities: Vec<u8>,
    /// How it was found.
    pub rule: Rule,
}

/// Gives every task a number. `passes(task, higher)` says whether a task keeps its deadline below `higher`, with
/// all others below it.
///
/// `None` if there are more tasks than numbers between two fixed ones.
pub fn assign(tasks: &[Candidate], mut passes: impl FnMut(usize, &[usize]) -> bool) -> Option<Assignment> {
    let mut rule = Rule::DeadlineMonotonic;
    let passing = order(tasks, |choices, left| {
        let found = choices.iter().position(|&task| {
            let above: Vec<usize> = left.iter().copied().filter(|&other| other != task).collect();
            passes(task, &above)
        })?;
        if found > 0 {
            rule = Rule::Audsley;
        }
        Some(found)
    });
    if let Some(order) = passing {
        return Some(Assignment { priorities: numbers(tasks, &order), rule });
    }
    let order = order(tasks, |_, _| Some(0))?;
    Some(Assignment { priorities: numbers(tasks, &order), rule: Rule::NonePasses })
}

/// Fills levels from the least urgent: `choose(choices, all that are left)` picks one of the choices, which are
/// sorted by D − J, the longest first.
fn order(
    tasks: &[Candidate],
    mut choose: impl FnMut(&[usize], &[usize]) -> Option<usize>,
) -> Option<Vec<usize>> {
    // The longest D − J first; among equals the later one, so that the earlier one is more urgent.
    let mut left: Vec<usize> = (0..tasks.len()).collect();
    left.sort_by_key(|&i| (core::cmp::Reverse(tasks[i].laxity), core::cmp::Reverse(i)));
    let mut fixed: Vec<usize> = left.iter().copied().filter(|&i| tasks[i].fixed.is_some()).collect();
    fixed.sort_by_key(|&i| core::cmp::Reverse(tasks[i].fixed));
    let mut room = gap(None, fixed.last().and_then(|&i| tasks[i].fixed));
    let mut order = Vec::with_capacity(tasks.len());
    while !left.is_empty() {
        let next_fixed = fixed.last().copied();
        let choices: Vec<usize> = left
            .iter()
            .copied()
            .filter(|&i| if tasks[i].fixed.is_some() { next_fixed == Some(i) } else { room > 0 })
            .collect();
        if choices.is_empty() {
            return None;
        }
        let task = choices[choose(&choices, &left)?];
        if next_fixed == Some(task) {
            fixed.pop();
            room = gap(tasks[task].fixed, fixed.last().and_then(|&i| tasks[i].fixed));
        } else {
            room -= 1;
        }
        left.retain(|&i| i != task);
        order.push(task);
    }
    Some(order)
}

/// How many numbers lie between two fixed ones.
fn gap(below: Option<u8>, above: Option<u8>) -> usize {
    let above = above.unwrap_or(HIGHEST + 1);
    usize::from(above.saturating_sub(below.unwrap_or(0)).saturating_sub(1))
}

/// Numbers for an order, the least urgent first: just below the next fixed one, or from [`USUAL`] down.
fn numbers(tasks: &[Candidate], order: &[usize]) -> Vec<u8> {
    let mut numbers = vec![0; tasks.len()];
    let mut start = 0;
    let mut below = 0;
    while start < order.len() {
        let free = order[start..].iter().take_while(|&&i| tasks[i].fixed.is_none()).count();
        let fixed = order.get(start + free).map(|&i| (i, tasks[i].fixed.unwrap_or(0)));
        // `order` left no more tasks between two fixed numbers than there are numbers, so `count` fits.
        let count = u8::try_from(free).unwrap_or(HIGHEST);
        let top = fixed.map_or((USUAL + 1).max(below + count + 1), |(_, number)| number);
        for (&task, number) in order[start..start + free].iter().zip(top - count..) {
            numbers[task] = number;
        }
        if let Some((task, number)) = fixed {
            numbers[task] = number;
            below = number;
        }
        start += free + 1;
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks(list: &[(Option<u8>, u64)]) -> Vec<Candidate> {
        list.iter().map(|&(fixed, us)| Candidate { fixed, laxity: Duration::from_us(us) }).collect()
    }

    fn priorities(list: &[(Option<u8>, u64)]) -> Option<Vec<u8>> {
        assign(&tasks(list), |_, _| true).map(|a| a.priorities)
    }

    #[test]
    fn numbers_go_down_from_the_usual_one() {
        assert_eq!(priorities(&[(None, 5), (None, 3), (None, 9)]), Some(vec![89, 90, 88]));
        assert_eq!(
            priorities(&[(None, 5), (None, 5)]),
            Some(vec![90, 89]),
            "the manifest's order breaks ties"
        );
        assert_eq!(priorities(&[]), Some(vec![]));
    }

    #[test]
    fn fixed_numbers_stay() {
        assert_eq!(priorities(&[(Some(80), 5), (None, 3), (None, 9)]), Some(vec![80, 90, 79]));
        // Fixed against their deadlines: the free one gives way to whichever is next.
        assert_eq!(priorities(&[(Some(10), 1), (Some(20), 9), (None, 5)]), Some(vec![10, 20, 9]));
        // No number is left between the two.
        assert_eq!(priorities(&[(Some(20), 9), (Some(21), 1), (None, 5)]), Some(vec![20, 21, 90]));
        assert_eq!(priorities(&[(Some(1), 9), (None, 20)]), Some(vec![1, 90]));
        assert_eq!(priorities(&[(Some(96), 9), (None, 2), (None, 1)]), Some(vec![96, 97, 98]));
    }

    #[test]
    fn numbers_run_out() {
        let all = |n| priorities(&vec![(None, 5); n]);
        let full = all(98).expect("98 numbers");
        assert_eq!((full[0], full[97]), (98, 1));
        assert_eq!(all(99), None);
        assert_eq!(priorities(&[(Some(98), 9), (Some(1), 10), (None, 20)]).map(|p| p[2]), Some(97));
    }

    #[test]
    fn the_probe_s_number_may_be_fixed() {
        assert_eq!(priorities(&[(Some(99), 1), (None, 2)]), Some(vec![99, 98]));
    }

    #[test]
    fn departs_from_laxity_only_where_it_must() {
        // Task 0 does not pass below task 1, whatever their deadlines say.
        let passes = |task: usize, higher: &[usize]| !(task == 0 && higher.contains(&1));
        let found = assign(&tasks(&[(None, 9), (None, 5), (None, 1)]), passes);
        let expected = Assignment { priorities: vec![89, 88, 90], rule: Rule::Audsley };
        assert_eq!(found, Some(expected));
        let found = assign(&tasks(&[(None, 9), (None, 5)]), |_, _| false);
        assert_eq!(found, Some(Assignment { priorities: vec![89, 90], rule: Rule::NonePasses }));
    }

    #[test]
    fn finds_one_whenever_brute_force_does() {
        // Any test that satisfies A1 and A2: a task passes if the weights above it fit its allowance.
        let mut found = 0;
        for seed in 0..3_000u64 {
            let draw = |k: u64, n: u64| {
                seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(k * 7_919) / 97 % n
            };
            let weight: Vec<u64> = (0..4).map(|i| 1 + draw(i, 4)).collect();
            let allowance: Vec<u64> = (0..4).map(|i| draw(i + 10, 11)).collect();
            let passes = |task: usize, higher: &[usize]| {
                higher.iter().map(|&j| weight[j]).sum::<u64>() <= allowance[task]
            };
            let list: Vec<_> = (0..4).map(|i| (None, draw(i + 20, 50))).collect();
            let any = permutations(4).into_iter().any(|p| (0..4).all(|i| passes(p[i], &p[..i])));
            let rule = assign(&tasks(&list), passes).expect("numbers").rule;
            assert_eq!(any, rule != Rule::NonePasses, "seed {seed}");
            found += u32::from(any);
        }
        assert!((300..2_700).contains(&found), "both answers occur: {found}");
    }

    fn permutations(n: usize) -> Vec<Vec<usize>> {
        if n == 0 {
            return vec![vec![]];
        }
        let shorter = permutations(n - 1);
        shorter.iter().flat_map(|p| (0..n).map(|at| [&p[..at], &[n - 1], &p[at..]].concat())).collect()
    }
}
