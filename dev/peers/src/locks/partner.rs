// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What is measured of a lock: a section that nobody else wants, and one that is handed across processors.

use std::hint::{black_box, spin_loop};
use std::marker::PhantomData;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

use crate::clock::now;
use crate::figures::{Figures, median, percentile};
use crate::surroundings::{Signals, Surroundings};

/// How who comes later waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waits {
    /// It spins.
    Spinning,
    /// It sleeps in the kernel, perhaps after some spinning.
    Sleeping,
}

/// A lock of two sides, or one that two threads share.
pub(super) trait Partner: 'static {
    const NAME: &'static str;
    /// Whether it is one of ours.
    const OURS: bool = false;
    const WAITS: Waits;
    /// What a side has of it.
    type Side: Send;

    /// A new one.
    ///
    /// # Errors
    /// Why it cannot be had here.
    fn sides() -> Result<[Self::Side; 2], String>;

    /// What a side's own thread does before it first asks.
    ///
    /// # Errors
    /// Why it cannot take part.
    fn begin(_: &mut Self::Side) -> Result<(), String> {
        Ok(())
    }

    /// A section.
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
    /// Runs it.
    ///
    /// # Errors
    /// Why it gave no figures.
    fn run(&self, surroundings: &Surroundings) -> Result<Figures, String>;
}

/// A section that nobody else wants.
pub(super) struct Alone<P>(PhantomData<P>);

/// A section that the other side waits for.
pub(super) struct Handed<P>(PhantomData<P>);

/// Both trials of a lock, for a list of all.
pub(super) fn rows<P: Partner>() -> [Box<dyn Row>; 2] {
    [Box::new(Alone::<P>(PhantomData)), Box::new(Handed::<P>(PhantomData))]
}

/// Sections of a batch.
const SECTIONS: u32 = 4_000;
/// Batches, of which the first one warms up.
const BATCHES: u32 = 7;

/// ns of an operation, the middle of some batches: `pair` in a loop, by the near side.
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

/// Hand-overs of a trial, both ways together.
const HANDED: u32 = 300;
/// So long a section lasts: the other side waits before it ends.
const HOLD_SPINNING: Duration = Duration::from_micros(3);
/// The same where it must have fallen asleep.
const HOLD_SLEEPING: Duration = Duration::from_micros(60);
/// A hand-over that takes longer counts as that long, and a side that is not handed the lock for longer gives up.
const CAP: Duration = Duration::from_millis(50);

/// What the sides tell each other beside the lock.
#[derive(Default)]
struct Table {
    /// Who was inside last, counted from 1.
    inside: Line,
    /// When the last section ended, in ticks.
    ended: Line,
    /// That a side has given up.
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

    /// The middle of both ways: what the processors' counters are apart falls out.
    fn run(&self, surroundings: &Surroundings) -> Result<Figures, String> {
        let [mut near, mut far] = P::sides()?;
        let table = Table::default();
        let (mine, theirs) = surroundings.both(
            |_| taken::<P>(surroundings, &table, &mut near, 1),
            |signals| {
                // What went wrong on the far side is seen as a near side that waits in vain.
                let taken = taken::<P>(surroundings, &table, &mut far, 2).unwrap_or_default();
                // Signed, as the counters may be apart by more than a hand-over takes.
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

/// The middle one, in ticks; NaN of none.
fn middle(ticks: &[i64]) -> f64 {
    median(&ticks.iter().map(|ticks| *ticks as f64).collect::<Vec<_>>())
}

/// One side: takes turns with the other, and gives how many ticks after the end of the other's section its own began.
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
            // The first sections are of no other's end.
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
        // The other side is inside next: it waits already, or will soon.
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
        // A machine that stalls for long may end a side.
        if let Ok(handed) = Handed::<Std>(PhantomData).run(&surroundings) {
            assert!(handed["n"] > 0.0 && handed["ns"].is_finite());
        }
    }
}
