// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Measures a lock: a section that no other side requests, and one that is handed over between processors.

use std::hint::{black_box, spin_loop};
use std::marker::PhantomData;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

use crate::clock::now;
use crate::figures::{Figures, median, percentile};
use crate::surroundings::{Signals, Surroundings};

/// How the later side waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waits {
    /// It spins.
    Spinning,
    /// It sleeps in the kernel, perhaps after some spinning.
    Sleeping,
}

/// A lock with two sides, or one that two threads share.
pub(super) trait Partner: 'static {
    const NAME: &'static str;
    /// Whether it is one of ours.
    const OURS: bool = false;
    const WAITS: Waits;
    /// A side's end of the lock.
    type Side: Send;

    /// Makes a lock.
    ///
    /// # Errors
    /// The reason why this lock is not available here.
    fn sides() -> Result<[Self::Side; 2], String>;

    /// What a side's own thread does before its first request.
    ///
    /// # Errors
    /// The reason why this side cannot take part.
    fn begin(_: &mut Self::Side) -> Result<(), String> {
        Ok(())
    }

    /// Runs a section under the lock.
    fn with<R>(side: &mut Self::Side, section: impl FnOnce() -> R) -> R;
}

/// Anything that gives figures in a trial.
pub(super) trait Row {
    /// Its name.
    fn name(&self) -> &'static str;
    /// Whether it is one of ours.
    fn ours(&self) -> bool;
    /// The trial's word.
    fn trial(&self) -> &'static str;
    /// Runs the trial.
    ///
    /// # Errors
    /// The reason why it gave no figures.
    fn run(&self, surroundings: &Surroundings) -> Result<Figures, String>;
}

/// A section that no other side requests.
pub(super) struct Alone<P>(PhantomData<P>);

/// A section for which the other side waits.
pub(super) struct Handed<P>(PhantomData<P>);

/// Both trials of a lock, for the list of all.
pub(super) fn rows<P: Partner>() -> [Box<dyn Row>; 2] {
    [Box::new(Alone::<P>(PhantomData)), Box::new(Handed::<P>(PhantomData))]
}

/// The number of sections in a batch.
const SECTIONS: u32 = 4_000;
/// The number of batches; the first one warms up.
const BATCHES: u32 = 7;

/// ns of an operation, the median of some batches: the near side calls `pair` in a loop.
pub(super) fn repeated(surroundings: &Surroundings, mut pair: impl FnMut()) -> Figures {
    let count = SECTIONS / surroundings.haste;
    let times: Vec<f64> = (0..BATCHES)
        .map(|_| {
            let begin = now();
            for _ in 0..count {
                pair();
            }
            surroundings.clock.ns(now() - begin) / f64::from(count)
        })
        .collect();
    Figures::from([("ns", median(&times[1..]))])
}

impl<P: Partner> Row for Alone<P> {
    fn name(&self) -> &'static str {
        P::NAME
    }

    fn ours(&self) -> bool {
        P::OURS
    }

    fn trial(&self) -> &'static str {
        "alone"
    }

    fn run(&self, surroundings: &Surroundings) -> Result<Figures, String> {
        let [mut side, _other] = P::sides()?;
        let near = |_: &Signals| {
            P::begin(&mut side)?;
            Ok(repeated(surroundings, || P::with(&mut side, || black_box(()))))
        };
        surroundings.both(near, |_| ())?.0
    }
}

/// Hand-overs of a trial in each direction.
const HANDED: u32 = 300;
/// The length of a section: the other side waits before it ends.
const HOLD_SPINNING: Duration = Duration::from_micros(3);
/// The same where the waiter must have fallen asleep.
const HOLD_SLEEPING: Duration = Duration::from_micros(60);
/// A longer hand-over counts as this long. A side gives up if the other does not take the lock for this long.
const CAP: Duration = Duration::from_millis(50);

/// What the sides exchange beside the lock.
#[derive(Default)]
struct Table {
    /// The side that was inside last, counted from 1.
    inside: Line,
    /// The end of the last section, in ticks.
    ended: Line,
    /// Set once a side has given up or is done.
    over: Line,
}

#[repr(align(128))]
#[derive(Default)]
struct Line(AtomicU64);

impl<P: Partner> Row for Handed<P> {
    fn name(&self) -> &'static str {
        P::NAME
    }

    fn ours(&self) -> bool {
        P::OURS
    }

    fn trial(&self) -> &'static str {
        "handed"
    }

    /// The mean of both directions, in which the offset between the processors' counters cancels.
    fn run(&self, surroundings: &Surroundings) -> Result<Figures, String> {
        let [mut near, mut far] = P::sides()?;
        let table = Table::default();
        let (mine, theirs) = surroundings.both(
            |_| taken::<P>(surroundings, &table, &mut near, 1),
            |signals| {
                // An error on the far side shows as a near side that waits in vain.
                let taken = taken::<P>(surroundings, &table, &mut far, 2).unwrap_or_default();
                // Signed, because the offset of the counters may exceed the time of a hand-over.
                signals.set_count((middle(&taken) as i64) as u64);
            },
        )?;
        let mut mine = mine?;
        let far = theirs as i64 as f64;
        let near = middle(&mine);
        let apart = (near - far) / 2.0;
        let mut late: Vec<u64> = mine.drain(..).map(|ticks| (ticks as f64 - apart).max(0.0) as u64).collect();
        Ok(Figures::from([
            ("ns", (near + far) / 2.0 / surroundings.clock.ns_ticks()),
            ("p99", surroundings.clock.ns(percentile(&mut late, 0.99))),
            ("n", late.len() as f64),
        ]))
    }
}

/// The median, in ticks; NaN if there are none.
fn middle(ticks: &[i64]) -> f64 {
    median(&ticks.iter().map(|ticks| *ticks as f64).collect::<Vec<_>>())
}

/// Runs one side, which takes turns with the other. Returns how many ticks after the end of the other's section its
/// own began.
fn taken<P: Partner>(
    surroundings: &Surroundings,
    table: &Table,
    side: &mut P::Side,
    own: u64,
) -> Result<Vec<i64>, String> {
    let hold = if P::WAITS == Waits::Spinning { HOLD_SPINNING } else { HOLD_SLEEPING };
    let (hold, cap) = (surroundings.clock.ticks(hold), surroundings.clock.ticks(CAP));
    let count = HANDED / surroundings.haste;
    // Written once, so that no section pays for a page fault.
    let mut late = vec![1_i64; count as usize];
    let mut done = 0;
    if let Err(why) = P::begin(side) {
        table.over.0.store(1, Release);
        return Err(why);
    }
    for turn in 0..=count {
        P::with(side, || {
            let begin = now();
            // A side's first section may follow no section of the other, so it does not count.
            if turn > 0 {
                let ticks = begin.wrapping_sub(table.ended.0.load(Relaxed)) as i64;
                late[done] = ticks.min(cap as i64);
                done += 1;
            }
            table.inside.0.store(own, Release);
            while now().wrapping_sub(begin) < hold {
                spin_loop();
            }
            table.ended.0.store(now(), Relaxed);
        });
        // The other side is inside next: it waits already, or soon will.
        let patience = now();
        while turn < count && table.inside.0.load(Acquire) == own {
            if table.over.0.load(Relaxed) != 0 || now().wrapping_sub(patience) > cap {
                table.over.0.store(1, Release);
                return Err("the other side does not take the lock".into());
            }
            spin_loop();
        }
    }
    table.over.0.store(1, Release);
    late.truncate(done);
    Ok(late)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locks::libraries::Std;

    #[test]
    fn sections_are_handed_to_and_fro() {
        let surroundings = Surroundings::new(10).expect("two processors");
        let alone = Alone::<Std>(PhantomData).run(&surroundings).expect("figures");
        assert!(alone["ns"] > 0.0);
        // A machine that stalls for long may make a side give up.
        if let Ok(handed) = Handed::<Std>(PhantomData).run(&surroundings) {
            assert!(handed["n"] > 0.0 && handed["ns"].is_finite());
        }
    }
}
