// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Tests A, B and C in instructions, which `valgrind --tool=callgrind` counts. It runs this program again, with the
//! counted operations in functions of their own. A marker function ends each part.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;

use taut_policy::{Locking, Misuse};
use taut_time::Instant;

use super::rules::{Scene, Variant, With};
use super::trials::{Cell, OTHERS, Test, complete, lock, release, unlock};
use crate::callgrind;

/// The number of operations in each part.
pub(super) const TIMES: u32 = 500;
/// The command of this program that callgrind runs.
pub(crate) const COMMAND: &str = "counted-gutierrez13";

/// Instructions of an operation, by rule, test and number of others.
pub(super) type Counts = BTreeMap<Cell, f64>;

#[inline(never)]
fn lock_once(rule: &mut impl Locking, now: Instant) -> Result<(), Misuse> {
    lock(rule, now)
}

#[inline(never)]
fn unlock_once(rule: &mut impl Locking) -> Result<(), Misuse> {
    unlock(rule)
}

#[inline(never)]
fn release_once(rule: &mut impl Locking, arrival: Instant) -> Result<(), Misuse> {
    release(rule, arrival)
}

/// When this returns, callgrind writes down the counts so far.
#[inline(never)]
fn counted_so_far(part: u32) -> u32 {
    black_box(part)
}

/// The parts of each rule and number of tasks: lock, unlock and release, in this order.
const PARTS: u32 = 3;

/// Does everything that callgrind counts, once: the work of [`COMMAND`].
///
/// # Errors
/// A rule refuses a call, or makes a wrong decision.
pub(crate) fn everything() -> Result<(), String> {
    for variant in Variant::ALL {
        for others in OTHERS {
            let scene = Scene::new(others, Instant::from_ns(1_000));
            let made = scene.made(variant, Counted(&scene)).and_then(|made| made);
            made.map_err(|misuse| format!("a rule refused: {misuse}"))?;
        }
    }
    Ok(())
}

struct Counted<'a>(&'a Scene);

impl With for Counted<'_> {
    type Made = Result<(), Misuse>;

    fn with<R: Locking + Clone>(self, mut rule: R) -> Self::Made {
        let start = black_box(self.0.start);
        self.0.others(&mut rule)?;
        self.0.short(&mut rule)?;
        for _ in 0..TIMES {
            lock_once(&mut rule, start)?;
            unlock(&mut rule)?;
        }
        counted_so_far(0);
        for _ in 0..TIMES {
            lock(&mut rule, start)?;
            unlock_once(&mut rule)?;
        }
        counted_so_far(1);
        complete(&mut rule)?;
        for _ in 0..TIMES {
            release_once(&mut rule, start)?;
            complete(&mut rule)?;
        }
        counted_so_far(2);
        Ok(())
    }
}

/// Counts the instructions. Callgrind's files go below `folder`.
///
/// # Errors
/// Valgrind is missing, or the error that it reports.
pub(super) fn counts(folder: &Path) -> Result<Counts, String> {
    let counted = callgrind::Counted {
        command: COMMAND,
        inside: &["counts::lock_once", "counts::unlock_once", "counts::release_once"],
        behind: "counts::counted_so_far",
        parts: Variant::ALL.len() * OTHERS.len() * PARTS as usize,
    };
    Ok(by_cell(&callgrind::totals(folder, counted)?))
}

fn by_cell(totals: &[u64]) -> Counts {
    let mut counts = Counts::new();
    let keys = Variant::ALL.into_iter().flat_map(|variant| OTHERS.map(|others| (variant, others)));
    for ((variant, others), parts) in keys.zip(totals.chunks_exact(PARTS as usize)) {
        let [lock, unlock, release] = [0, 1, 2].map(|part| parts[part] as f64 / f64::from(TIMES));
        // The clock is left out: under valgrind, to read it is a system call.
        for (test, count) in
            [(Test::Pair, lock + unlock), (Test::Unlock, unlock), (Test::Activation, release)]
        {
            counts.insert((variant, test, others), count);
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_runs() {
        assert_eq!(everything(), Ok(()));
    }

    #[test]
    fn totals_find_their_cells() {
        let totals: Vec<u64> = (0..(5 * 20 * 3)).map(|at| at * u64::from(TIMES)).collect();
        let counts = by_cell(&totals);
        assert_eq!(counts.len(), 300);
        assert_eq!(counts[&(Variant::SrpList, Test::Pair, 1)], 3.0 + 4.0);
        assert_eq!(counts[&(Variant::Dfp, Test::Activation, 100)], 299.0);
    }
}
