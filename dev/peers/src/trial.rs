// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The trials: what the near side times, and what the far side does meanwhile.

use std::hint::{black_box, spin_loop};

use crate::clock::now;
use crate::figures::{Figures, median, percentile};
use crate::object::{Ends, Kind, capacity, mark, number};
use crate::surroundings::{Signals, Surroundings};

/// A kind of trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Trial {
    /// The reader finds marked values whole and in order, while the other side writes.
    Check,
    /// One thread alone: writes, then reads.
    Alone,
    /// Both sides at full speed for a time, value by value.
    Flat,
    /// The same, where the far side takes several values at once, for objects that can.
    Slices,
    /// There and back over two objects.
    Trip,
    /// Each write timed, while the reader runs at full speed.
    Write,
    /// Each read timed, while the writer runs at full speed.
    Read,
    /// Two readers look at a value that no side changes.
    Unchanged,
}

impl Trial {
    /// All trials that give figures.
    pub(crate) const ALL: [Self; 7] =
        [Self::Alone, Self::Flat, Self::Slices, Self::Trip, Self::Write, Self::Read, Self::Unchanged];

    /// The name in tables and on the command line.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Alone => "alone",
            Self::Flat => "flat",
            Self::Slices => "slices",
            Self::Trip => "trip",
            Self::Write => "write",
            Self::Read => "read",
            Self::Unchanged => "unchanged",
        }
    }

    /// The trial of this name.
    pub(crate) fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().chain([Self::Check]).find(|trial| trial.word() == word)
    }
}

/// Pauses between two timed operations, so that the other side gets in between.
const PAUSES: u32 = 60;
/// The number of operations that are timed one by one.
const SAMPLES: u32 = 20_000;
/// The longest duration of such a trial, in ms.
const LIMIT_MS: u32 = 60;
/// The far side ends by itself after this time, in ms: then an operation ends, too, that waits for it without bound.
const FAR_MS: u32 = 120;
/// The longest wait for one operation to succeed, in ms. The operation then counts as this long.
const CAP_MS: u32 = 2;
/// The length of the flat trial, in ms.
const FLAT_MS: u32 = 20;
/// The length of the check, in ms.
const CHECK_MS: u32 = 3;
/// Batches of trials that time many operations together; the middle one counts.
const BATCHES: u32 = 5;
/// The number of trips in a batch.
const TRIPS: u64 = 1_000;

/// Reads every word; returns the first.
#[inline(always)]
fn used<const N: usize>(value: &[u64; N]) -> u64 {
    black_box(value.iter().fold(0, |sum, word| sum ^ word));
    value[0]
}

/// A source of values.
struct Source<const N: usize>([u64; N]);

impl<const N: usize> Source<N> {
    fn new() -> Self {
        let mut value = [0; N];
        mark(&mut value, 1);
        Self(value)
    }

    /// The next value: the first word is its number.
    #[inline(always)]
    fn next(&mut self) -> &[u64; N] {
        self.0[0] += 1;
        black_box(&self.0)
    }
}

/// Runs the far side of a trial, with the end that it has there.
pub(crate) fn far<O: Ends<N>, const N: usize>(
    trial: Trial,
    surroundings: &Surroundings,
    signals: &Signals,
    writer: Option<&mut O::Writer>,
    reader: Option<&mut O::Reader>,
) {
    let end = now() + surroundings.ticks(FAR_MS).max(4 * surroundings.ticks(CAP_MS));
    let going = |done: u64| !signals.stopped() && (!done.is_multiple_of(64) || now() < end);
    match (trial, writer, reader) {
        (Trial::Check, Some(writer), _) => write_marked::<O, N>(writer, going),
        (Trial::Trip, Some(writer), Some(reader)) => answer::<O, N>(writer, reader, signals, going),
        (_, Some(writer), _) => {
            let mut source = Source::<N>::new();
            let mut done = 0;
            while going(done) {
                if !O::put(writer, source.next()) {
                    spin_loop();
                }
                done += 1;
            }
        }
        (_, _, Some(reader)) => {
            let (mut done, mut count) = (0, 0);
            while going(done) {
                let got = match trial {
                    Trial::Unchanged => u64::from(O::newer(reader, used).is_some()),
                    Trial::Slices => O::drain(reader, used),
                    _ => u64::from(O::take(reader, used).is_some()),
                };
                count += got;
                if got == 0 && trial != Trial::Unchanged {
                    spin_loop();
                }
                done += 1;
            }
            signals.set_count(count);
        }
        _ => {}
    }
}

/// Writes marked values, each until it fits, for as long as it is `going`.
#[inline(always)]
fn write_marked<O: Ends<N>, const N: usize>(writer: &mut O::Writer, going: impl Fn(u64) -> bool) {
    let (mut value, mut count) = ([0; N], 1);
    mark(&mut value, count);
    let mut done = 0;
    while going(done) {
        if O::put(writer, &value) {
            count += 1;
            mark(&mut value, count);
        }
        done += 1;
    }
}

/// Sends each new value back, for as long as it is `going`.
#[inline(always)]
fn answer<O: Ends<N>, const N: usize>(
    writer: &mut O::Writer,
    reader: &mut O::Reader,
    signals: &Signals,
    going: impl Fn(u64) -> bool,
) {
    let (mut source, mut seen) = (Source::<N>::new(), 0);
    let mut done = 0;
    while going(done) {
        match O::newer(reader, used) {
            Some(number) if number != seen => {
                seen = number;
                source.0[0] = number;
                while !O::put(writer, black_box(&source.0)) && !signals.stopped() {
                    spin_loop();
                }
            }
            _ => spin_loop(),
        }
        done += 1;
    }
}

/// Runs the near side of a trial. Returns what it measures.
pub(crate) fn near<O: Ends<N>, const N: usize>(
    trial: Trial,
    surroundings: &Surroundings,
    signals: &Signals,
    writer: Option<&mut O::Writer>,
    reader: Option<&mut O::Reader>,
) -> Result<Figures, String> {
    match (trial, writer, reader) {
        (Trial::Check, _, Some(reader)) => check::<O, N>(surroundings, signals, reader),
        (Trial::Trip, Some(writer), Some(reader)) => trip::<O, N>(surroundings, signals, writer, reader),
        (Trial::Alone, Some(writer), Some(reader)) => Ok(alone::<O, N>(surroundings, writer, reader)),
        (Trial::Unchanged, _, Some(reader)) => Ok(unchanged::<O, N>(surroundings, reader)),
        (Trial::Flat | Trial::Slices, Some(writer), _) => Ok(flat::<O, N>(surroundings, writer)),
        (Trial::Write, Some(writer), _) => {
            let mut source = Source::<N>::new();
            timed(surroundings, signals, || O::put(writer, source.next()))
        }
        (Trial::Read, _, Some(reader)) => timed(surroundings, signals, || O::take(reader, used).is_some()),
        _ => Err("the trial lacks an end".into()),
    }
}

/// Reads marked values while the far side writes them: whole, in order, and without a gap where none may be.
fn check<O: Ends<N>, const N: usize>(
    surroundings: &Surroundings,
    signals: &Signals,
    reader: &mut O::Reader,
) -> Result<Figures, String> {
    let end = now() + surroundings.ticks(CHECK_MS);
    let (mut seen, mut count, mut torn) = (0, 0_u64, 0_u64);
    while now() < end && !signals.over() {
        match O::take(reader, number) {
            Some(Some(number)) => {
                let sane = match O::KIND {
                    Kind::Queue => number == seen + 1,
                    Kind::Losing => number > seen,
                    // Before the first write some objects show zeros.
                    Kind::State => number >= seen,
                };
                if !sane {
                    return Err(format!("value {number} came after {seen}"));
                }
                seen = number;
                count += 1;
            }
            Some(None) => torn += 1,
            None => spin_loop(),
        }
    }
    // A reader that received nothing was starved, which the trials show; a mixture is an error at once.
    if torn > 0 {
        return Err(format!("{torn} of {} values were mixtures of two", count + torn));
    }
    Ok(Figures::from([("n", count as f64)]))
}

fn alone<O: Ends<N>, const N: usize>(
    surroundings: &Surroundings,
    writer: &mut O::Writer,
    reader: &mut O::Reader,
) -> Figures {
    let mut source = Source::<N>::new();
    let (batches, size) = if O::KIND.is_queue() {
        // Some queues hold less than they were asked to hold.
        let most = capacity(N) * 3 / 4;
        let held = (0..most).take_while(|_| O::put(writer, source.next())).count();
        while O::take(reader, used).is_some() {}
        (30, held.max(1))
    } else {
        (10, 1_000)
    };
    // The first batch warms up.
    let times: Vec<[f64; 2]> = (0..=batches)
        .map(|_| {
            let start = now();
            for _ in 0..size {
                black_box(O::put(writer, source.next()));
            }
            let middle = now();
            for _ in 0..size {
                black_box(O::take(reader, used));
            }
            [middle - start, now() - middle].map(|ticks| surroundings.clock.ns(ticks) / size as f64)
        })
        .collect();
    let side = |side: usize| median(&times[1..].iter().map(|times| times[side]).collect::<Vec<_>>());
    Figures::from([("in", side(0)), ("out", side(1))])
}

fn unchanged<O: Ends<N>, const N: usize>(surroundings: &Surroundings, reader: &mut O::Reader) -> Figures {
    const LOOKS: u32 = 20_000;
    // These reads see what is there already, so that the timed ones find nothing new.
    for _ in 0..1_000 {
        black_box(O::newer(reader, used));
    }
    let times: Vec<f64> = (0..BATCHES)
        .map(|_| {
            let start = now();
            for _ in 0..LOOKS {
                black_box(O::newer(reader, used));
            }
            surroundings.clock.ns(now() - start) / f64::from(LOOKS)
        })
        .collect();
    Figures::from([("look", median(&times))])
}

/// Ends by time, not by count, so that it ends for queues that lose values, too.
fn flat<O: Ends<N>, const N: usize>(surroundings: &Surroundings, writer: &mut O::Writer) -> Figures {
    let (start, length) = (now(), surroundings.ticks(FLAT_MS));
    let (mut source, mut done, mut put) = (Source::<N>::new(), 0_u64, 0_u64);
    let mut elapsed = 0;
    while elapsed < length {
        if O::put(writer, source.next()) {
            put += 1;
        } else {
            spin_loop();
        }
        done += 1;
        if done.is_multiple_of(64) {
            elapsed = now() - start;
        }
    }
    let ns = surroundings.clock.ns(now() - start);
    Figures::from([("in", put as f64 / ns * 1e3), ("ns", ns)])
}

fn trip<O: Ends<N>, const N: usize>(
    surroundings: &Surroundings,
    signals: &Signals,
    writer: &mut O::Writer,
    reader: &mut O::Reader,
) -> Result<Figures, String> {
    let limit = surroundings.ticks(LIMIT_MS) / u64::from(BATCHES);
    let trips = TRIPS / u64::from(surroundings.haste);
    // Numbers start after 1, which is the number of the initial value in some objects.
    let mut source = Source::<N>::new();
    let mut times = Vec::new();
    for _ in 0..=BATCHES {
        let (start, mut done) = (now(), 0_u64);
        while done < trips {
            let value = source.next();
            let number = value[0];
            while !O::put(writer, value) {
                spin_loop();
                if signals.over() {
                    return Err("the way there is full, and nobody takes anything".into());
                }
            }
            let mut looks = 0_u64;
            while O::newer(reader, used) != Some(number) {
                spin_loop();
                looks += 1;
                if looks.is_multiple_of(1024) && (signals.over() || now() - start > 4 * limit) {
                    return Err("no answer in time".into());
                }
            }
            done += 1;
            if done.is_multiple_of(16) && now() - start > limit {
                break;
            }
        }
        times.push(surroundings.clock.ns(now() - start) / done.max(1) as f64);
    }
    // The first batch warms up.
    Ok(Figures::from([("trip", median(&times[1..]))]))
}

/// Times single operations, each until it succeeds.
fn timed(
    surroundings: &Surroundings,
    signals: &Signals,
    mut operation: impl FnMut() -> bool,
) -> Result<Figures, String> {
    let count = (SAMPLES / surroundings.haste) as usize;
    // Written once, so that no sample pays for a page fault.
    let mut samples = vec![1_u64; count];
    let (end, cap) = (
        now() + surroundings.ticks(LIMIT_MS),
        surroundings.clock.ticks(std::time::Duration::from_millis(CAP_MS.into())),
    );
    let (mut done, mut missed, mut capped) = (0, 0_u64, 0_u64);
    while done < count {
        for _ in 0..PAUSES {
            spin_loop();
        }
        let start = now();
        let mut attempts = 0_u64;
        let made = loop {
            if operation() {
                break true;
            }
            attempts += 1;
            if attempts.is_multiple_of(16) && (now() - start > cap || signals.over()) {
                break false;
            }
            spin_loop();
        };
        let ticks = now() - start;
        if signals.over() {
            // The other side has ended: what follows is not under load.
            break;
        }
        samples[done] = ticks.min(cap);
        done += 1;
        missed += attempts;
        capped += u64::from(!made);
        if start > end {
            break;
        }
    }
    samples.truncate(done);
    if done == 0 {
        return Err("not one operation ended in time".into());
    }
    let mut at = |share| surroundings.clock.ns(percentile(&mut samples, share));
    Ok(Figures::from([
        ("p50", at(0.5)),
        ("p99", at(0.99)),
        ("p999", at(0.999)),
        ("n", done as f64),
        ("missed", missed as f64 / done as f64),
        ("capped", capped as f64),
    ]))
}
