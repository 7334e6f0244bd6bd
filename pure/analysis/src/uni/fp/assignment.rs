// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Priorities that keep all deadlines, fixed priority, preemptive, one core.
//!
//! ```text
//! Order       the longer D − J, the less urgent; tasks that come with a number keep it
//! Symbols     [ns] D deadline, J jitter, S longest non-preemptive section, C cost
//! Assumes     A1 the test is that of [`super::preemptive`] with B of [`super::blocking`]; D ≤ T and S ≤ C
//! Verdict     exact for that test: if any order keeps all deadlines, this one does
//! Cost        n² steps; no test is run
//! Source      [LeungWhitehead82] deadline-monotonic order; [ZuhilyBurns07] D − J with jitter; [Audsley91] the
//!             argument by levels. With S and fixed numbers: below
//! ```
//!
//! **Why.** Fill the levels from the least urgent up. Which tasks can have a level depends on which tasks are above
//! and below, not on their order there, and a task that passes at a level passes at every higher one. So any task
//! that passes may take the level, and nothing is lost \[Audsley91\]. Now let x pass at the lowest level left, in a
//! window w: w + J_x ≤ D_x, and let y have D_y − J_y ≥ D_x − J_x. Then w + J_x ≤ T_x and w + J_y ≤ D_y ≤ T_y, so w
//! holds one job of each: w = B + C_x + C_y + the others', with the same B, since the tasks below are the same. That
//! is y's equation as well, so y passes there too: the longest D − J can be taken every time. The task below blocks
//! the one above for S_y ≤ C_y, no more than y interferes with x from above.
//!
//! **Fixed numbers.** Tasks may come with a number, which gives their order among themselves. A level goes to the
//! least urgent of them that is left, or to a free task as long as the gap has a number left: the argument holds for
//! this choice as well. Only a gap that runs out of numbers can hide an order.

use taut_time::Duration;

/// The largest number that is assigned: above it are the platform probe and the kernel's own threads.
pub const HIGHEST: u8 = 98;
/// The number that the most urgent task gets if there is room: above the kernel's interrupt threads (50), with room
/// above for numbers that are added by hand later.
pub const USUAL: u8 = 90;

/// A task that needs a priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its number, if it came with one; no two are equal.
    pub fixed: Option<u8>,
    /// D − J; less is more urgent.
    pub laxity: Duration,
}

/// A number for each task, in the order given; larger = more urgent, no two equal. Among equals the earlier one is
/// more urgent.
///
/// `None` if there are more tasks than numbers.
pub fn assign(tasks: &[Candidate]) -> Option<Vec<u8>> {
    Some(numbers(tasks, &order(tasks)?))
}

/// The least urgent first.
fn order(tasks: &[Candidate]) -> Option<Vec<usize>> {
    // The longest D − J first; among equals the later one, so that the earlier one is more urgent.
    let mut left: Vec<usize> = (0..tasks.len()).collect();
    left.sort_by_key(|&i| (core::cmp::Reverse(tasks[i].laxity), core::cmp::Reverse(i)));
    let mut fixed: Vec<usize> = left.iter().copied().filter(|&i| tasks[i].fixed.is_some()).collect();
    fixed.sort_by_key(|&i| core::cmp::Reverse(tasks[i].fixed));
    if fixed.is_empty() {
        return (left.len() <= gap(None, None)).then_some(left);
    }
    let mut room = gap(None, fixed.last().and_then(|&i| tasks[i].fixed));
    let mut order = Vec::with_capacity(tasks.len());
    while !left.is_empty() {
        let next_fixed = fixed.last().copied();
        let open = |&i: &usize| if tasks[i].fixed.is_some() { next_fixed == Some(i) } else { room > 0 };
        let at = left.iter().position(open)?;
        let task = left.remove(at);
        if next_fixed == Some(task) {
            fixed.pop();
            room = gap(tasks[task].fixed, fixed.last().and_then(|&i| tasks[i].fixed));
        } else {
            room -= 1;
        }
        order.push(task);
    }
    Some(order)
}

/// How many numbers lie between two fixed ones.
fn gap(below: Option<u8>, above: Option<u8>) -> usize {
    let above = above.unwrap_or(HIGHEST + 1);
    usize::from(above.saturating_sub(below.unwrap_or(0)).saturating_sub(1))
}

/// Numbers for an order, the least urgent first: just below the next fixed number, or from [`USUAL`] down.
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
        assign(&tasks(list))
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
        // The fixed numbers contradict the deadlines: the free task goes below the next fixed one, which has a
        // shorter one.
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
}
