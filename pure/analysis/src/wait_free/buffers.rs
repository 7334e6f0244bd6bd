// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Buffers of a state channel with one writer, by protocol.
//!
//! ```text
//! Equation    by time alone (NBW)     N = writes + 1
//!             Chen                    M + max(2, N); all slow P + 2
//!             Double Buffer           2 (M + max(1, ⌈N / 2⌉)); all slow 2 (P + 1)
//!             Peterson as revised     M + max(2, N); all slow P + 2
//!             presence counting       P + 2
//!             printed for a partition V · M + N, with V = 2 for Double Buffer, else 1; all slow as above
//! Symbols     P readers; M slow ones, which the protocol protects; N buffers that time demands for the others (fast),
//!             0 if there are none; writes: the most that can touch a fast read, of [`super::writes_during_read`]
//! Assumes     A1 one writer   A2 a slow reader has one read at a time   A3 the writer's search for a buffer begins
//!             behind the newest buffer and goes round   A4 `writes` bounds the writes that touch a fast read
//! Verdict     exact: with one buffer fewer (one row, for Double Buffer) some run fails; `printed` is not even sound
//! Cost        constant
//! Source      [Huang02, sections 2.2, 3.1 to 3.4, Fig. 9]; [Peterson83], [Vidyasankar90]
//! ```
//!
//! **Why.** A fast reader requires that the next N − 1 writes do not reuse the buffer that it reads (the distance of
//! reuse is N). Each slow reader keeps at most one buffer, or row, out of turn. For Chen and Double Buffer, the tests
//! search all states of the writer's choice against slow readers that hold any buffer; Peterson's main buffers go
//! round whatever slow readers do. `taut-share` checks the objects themselves.
//!
//! **What is wrong with the printed count.** For Double Buffer an odd N makes no whole number of rows: 2 M + N is a
//! buffer short. With few or no slow readers and small N the terms max(2, ..) and max(1, ..) are missing: with 0 slow
//! readers and N = 1 there would be one buffer, which the writer would write while it is read.
//!
//! Presence counting has no form with fast readers here: how soon its writer reuses a buffer was not examined.

use taut_model::Mechanism;

use crate::Overflow;

/// What a slow reader claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Claim {
    /// One buffer: Chen, and Peterson as revised by Vidyasankar, whose reader claims the copy that the writer makes
    /// for it.
    Buffer,
    /// A row of two: Double Buffer.
    Row,
}

impl Claim {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Buffer, Self::Row];

    /// What the readers of a mechanism claim; `None` if it has no form with fast readers here.
    pub fn of(mechanism: Mechanism) -> Option<Self> {
        Self::ALL.into_iter().find(|claim| claim.mechanisms().contains(&mechanism))
    }

    /// The mechanisms whose readers claim this, among those that have a form with fast readers here.
    const fn mechanisms(self) -> &'static [Mechanism] {
        match self {
            Self::Buffer => &[Mechanism::Chen, Mechanism::Peterson],
            Self::Row => &[Mechanism::DoubleBuffer],
        }
    }

    /// V: the buffers of a claim.
    const fn buffers(self) -> u64 {
        match self {
            Self::Buffer => 1,
            Self::Row => 2,
        }
    }
}

/// N: buffers by time alone, if at most so many writes can touch a read.
///
/// # Errors
/// [`Overflow`].
pub fn temporal(writes: u64) -> Result<u64, Overflow> {
    writes.checked_add(1).ok_or(Overflow)
}

/// Buffers of presence counting.
///
/// # Errors
/// [`Overflow`].
pub fn presence(readers: u64) -> Result<u64, Overflow> {
    readers.checked_add(2).ok_or(Overflow)
}

/// Buffers for `slow` slow readers, and for fast readers whose reads `fast` writes can touch; `None` for no fast
/// readers.
///
/// # Errors
/// [`Overflow`].
pub fn mixed(claim: Claim, slow: u64, fast: Option<u64>) -> Result<u64, Overflow> {
    let fast = fast.map_or(Ok(0), temporal)?;
    match claim {
        Claim::Buffer => slow.checked_add(fast.max(2)),
        Claim::Row => slow.checked_add(fast.div_ceil(2).max(1)).and_then(|rows| rows.checked_mul(2)),
    }
    .ok_or(Overflow)
}

/// Buffers if all readers are slow.
///
/// # Errors
/// [`Overflow`].
pub fn all_slow(claim: Claim, readers: u64) -> Result<u64, Overflow> {
    mixed(claim, readers, None)
}

/// The count of [Huang02, Fig. 9], kept for comparison: unsound, as the file says.
///
/// # Errors
/// [`Overflow`].
pub fn printed(claim: Claim, slow: u64, fast: Option<u64>) -> Result<u64, Overflow> {
    let Some(writes) = fast else { return all_slow(claim, slow) };
    slow.checked_mul(claim.buffers()).and_then(|sum| sum.checked_add(writes)?.checked_add(1)).ok_or(Overflow)
}

#[cfg(test)]
mod tests {
    use std::collections::{HashSet, VecDeque};

    use super::*;

    /// Ages past this do not matter.
    const OLD: u8 = 9;

    /// The result of a search: the least distance of reuse, or none if the writer found no buffer.
    type Found = Option<u8>;

    /// All states of the writer of Chen's form, with buffers numbered from the newest one on. At any time a slow
    /// reader may take the newest buffer, keep the one that it holds, or release it. `age` counts the writes since a
    /// buffer was published.
    fn chen(slow: usize, buffers: usize) -> Found {
        type State = (Vec<usize>, Vec<u8>);
        let none = buffers;
        let mut ages = vec![OLD; buffers];
        ages[0] = 0;
        let start: State = (vec![none; slow], ages);
        let mut seen = HashSet::from([start.clone()]);
        let mut open = VecDeque::from([start]);
        let mut least = OLD + 1;
        while let Some((held, ages)) = open.pop_front() {
            let mut next: Vec<State> = Vec::new();
            for reader in 0..slow {
                for to in [0, none] {
                    let mut held = held.clone();
                    held[reader] = to;
                    next.push((held, ages.clone()));
                }
            }
            let to = (1..buffers).find(|buffer| !held.contains(buffer))?;
            least = least.min(ages[to] + 1);
            let aged: Vec<u8> = ages.iter().map(|age| (age + 1).min(OLD)).collect();
            // The written buffer becomes number 0.
            let turned =
                |buffer: usize| if buffer == none { none } else { (buffer + buffers - to) % buffers };
            let mut turned_ages: Vec<u8> = (0..buffers).map(|b| aged[(b + to) % buffers]).collect();
            turned_ages[0] = 0;
            next.push((held.iter().map(|&b| turned(b)).collect(), turned_ages));
            for (mut held, ages) in next {
                held.sort_unstable();
                let state = (held, ages);
                if seen.insert(state.clone()) {
                    open.push_back(state);
                }
            }
        }
        Some(least)
    }

    #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    enum Slow {
        Out,
        /// Knows which row is newest, and has not yet counted itself in.
        Loaded(usize),
        Counted(usize),
    }

    /// The same for Double Buffer; and whether a scan can find all rows in use, after which it begins again.
    fn double_buffer(slow: usize, rows: usize) -> (u8, bool) {
        type State = (Vec<Slow>, Vec<[u8; 2]>);
        // Per row, the age of the column that was written last, and that of the other column.
        let mut ages = vec![[OLD; 2]; rows];
        ages[0][0] = 0;
        let start: State = (vec![Slow::Out; slow], ages);
        let mut seen = HashSet::from([start.clone()]);
        let mut open = VecDeque::from([start]);
        let (mut least, mut all_in_use) = (OLD + 1, false);
        while let Some((readers, ages)) = open.pop_front() {
            let mut next: Vec<State> = Vec::new();
            for i in 0..slow {
                let mut readers = readers.clone();
                readers[i] = match readers[i] {
                    Slow::Out => Slow::Loaded(0),
                    Slow::Loaded(row) => Slow::Counted(row),
                    Slow::Counted(_) => Slow::Out,
                };
                next.push((readers, ages.clone()));
            }
            let free = (0..rows).map(|i| (i + 1) % rows).find(|&row| !readers.contains(&Slow::Counted(row)));
            all_in_use |= free.is_none();
            if let Some(to) = free {
                least = least.min(ages[to][1] + 1);
                let mut aged: Vec<[u8; 2]> =
                    ages.iter().map(|row| row.map(|age| (age + 1).min(OLD))).collect();
                aged[to] = [0, aged[to][0]];
                let turned: Vec<[u8; 2]> = (0..rows).map(|row| aged[(row + to) % rows]).collect();
                let reader = |reader: &Slow| match *reader {
                    Slow::Out => Slow::Out,
                    Slow::Loaded(row) => Slow::Loaded((row + rows - to) % rows),
                    Slow::Counted(row) => Slow::Counted((row + rows - to) % rows),
                };
                next.push((readers.iter().map(reader).collect(), turned));
            }
            for (mut readers, ages) in next {
                readers.sort_unstable();
                let state = (readers, ages);
                if seen.insert(state.clone()) {
                    open.push_back(state);
                }
            }
        }
        (least, all_in_use)
    }

    #[test]
    fn chen_is_enough_and_one_less_is_not() {
        for slow in 0..=2 {
            for writes in 1..=4_u64 {
                let distance = (writes + 1) as u8;
                let buffers = mixed(Claim::Buffer, slow, Some(writes)).expect("small") as usize;
                assert_eq!(chen(slow as usize, buffers), Some(distance), "{slow} slow, {writes} writes");
                let fewer = chen(slow as usize, buffers - 1);
                assert!(
                    fewer.is_none_or(|found| found < distance),
                    "{slow} slow, {writes} writes: {fewer:?}"
                );
            }
        }
    }

    #[test]
    fn double_buffer_is_enough_and_a_row_less_is_not() {
        for (slow, most) in [(0, 5), (1, 5), (2, 3)] {
            for writes in 1..=most {
                let distance = (writes + 1) as u8;
                let rows = mixed(Claim::Row, slow, Some(writes)).expect("small") as usize / 2;
                let (found, all_in_use) = double_buffer(slow as usize, rows);
                assert!(found >= distance && !all_in_use, "{slow} slow, {writes} writes: {found}");
                if rows > 1 {
                    let (fewer, all_in_use) = double_buffer(slow as usize, rows - 1);
                    assert!(fewer < distance || all_in_use, "{slow} slow, {writes} writes: {fewer}");
                }
            }
        }
    }

    /// The printed count is a buffer short for an odd N: with 5 slow readers and N = 3, 13 where 7 rows are needed.
    #[test]
    fn printed_count_is_short_for_odd_numbers() {
        assert_eq!(printed(Claim::Row, 5, Some(2)), Ok(13));
        assert_eq!(mixed(Claim::Row, 5, Some(2)), Ok(14));
        // The same for a case that is searched: 5 buffers are 2 rows, and 3 are needed.
        assert_eq!(printed(Claim::Row, 1, Some(2)), Ok(5));
        assert!(double_buffer(1, 2).0 < 3 && double_buffer(1, 3).0 >= 3);
        // No slow reader and reads that no write can touch: the printed count is one buffer, and the writer has none
        // to write.
        assert_eq!(printed(Claim::Buffer, 0, Some(0)), Ok(1));
        assert_eq!(chen(0, 1), None);
        assert_eq!(mixed(Claim::Buffer, 0, Some(0)), Ok(2));
    }

    #[test]
    fn all_slow_as_printed() {
        for readers in 0..20 {
            assert_eq!(all_slow(Claim::Buffer, readers), Ok(readers + 2));
            assert_eq!(all_slow(Claim::Row, readers), Ok(2 * (readers + 1)));
            assert_eq!(presence(readers), Ok(readers + 2));
        }
    }

    /// [Huang02, sections 3.1 and 3.3]: 3 slow readers and N = 4 take 7; 5 slow ones and N = 7 take 18, where all slow
    /// take 22 and 42.
    #[test]
    fn huang02_examples() {
        assert_eq!(mixed(Claim::Buffer, 3, Some(3)), Ok(7));
        assert_eq!(all_slow(Claim::Buffer, 20), Ok(22));
        assert_eq!(mixed(Claim::Row, 5, Some(6)), Ok(18));
        assert_eq!(all_slow(Claim::Row, 20), Ok(42));
    }

    #[test]
    fn extremes() {
        for claim in Claim::ALL {
            assert_eq!(mixed(claim, u64::MAX, Some(1)), Err(Overflow));
            assert_eq!(mixed(claim, 1, Some(u64::MAX)), Err(Overflow));
            assert_eq!(printed(claim, u64::MAX, Some(1)), Err(Overflow));
        }
        assert_eq!(presence(u64::MAX), Err(Overflow));
    }
}
