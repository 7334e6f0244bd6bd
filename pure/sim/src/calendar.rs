// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The next release of each task, the soonest first: a tournament tree. A change costs one comparison per level,
//! whether the time grows or shrinks, and moves no entry.

/// No release.
pub(crate) const NEVER: u64 = u64::MAX;

/// As many times as tasks.
#[derive(Clone, Debug)]
pub(crate) struct Calendar {
    /// The times by task, padded to a power of two.
    times: Box<[u64]>,
    /// The winner below each node; the root is node 1, and the nodes at the bottom compare two tasks.
    winners: Box<[u32]>,
}

impl Calendar {
    pub(crate) fn new(tasks: usize) -> Self {
        let size = tasks.next_power_of_two().max(2);
        let mut calendar = Self { times: vec![NEVER; size].into(), winners: vec![0; size].into() };
        calendar.clear();
        calendar
    }

    pub(crate) fn clear(&mut self) {
        self.times.fill(NEVER);
        let size = self.times.len();
        for node in (1..size).rev() {
            self.winners[node] =
                if 2 * node >= size { (2 * node - size) as u32 } else { self.winners[2 * node] };
        }
    }

    pub(crate) fn set(&mut self, task: usize, time: u64) {
        let size = self.times.len();
        self.times[task] = time;
        let pair = task & !1;
        let mut winner = if self.times[pair + 1] < self.times[pair] { pair + 1 } else { pair };
        let mut node = (size + task) / 2;
        self.winners[node] = winner as u32;
        while node > 1 {
            let other = self.winners[node ^ 1] as usize;
            // Among equal times the lower position wins, whichever side it came from.
            let (own, theirs) = (self.times[winner], self.times[other]);
            if theirs < own || (theirs == own && other < winner) {
                winner = other;
            }
            node /= 2;
            self.winners[node] = winner as u32;
        }
    }

    pub(crate) fn first(&self) -> (usize, u64) {
        let winner = self.winners[1] as usize;
        (winner, self.times[winner])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn the_soonest_comes_first() {
        for tasks in [1_usize, 2, 3, 7, 8, 33] {
            let mut random = Random::new(tasks as u64);
            let mut calendar = Calendar::new(tasks);
            let mut plain = vec![NEVER; tasks];
            for _ in 0..500 {
                let task = random.up_to(tasks as u64 - 1) as usize;
                plain[task] = if random.up_to(3) == 0 { NEVER } else { random.up_to(20) };
                calendar.set(task, plain[task]);
                let least = *plain.iter().min().expect("some");
                let (first, time) = calendar.first();
                assert_eq!(time, least);
                assert!(time == NEVER || plain.iter().position(|time| *time == least) == Some(first));
            }
        }
    }
}
