// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The baselines: the round trip of a line between two processors, a copy within one, a look at a word that no thread
//! writes. Nothing can be faster than these, or everything is compared with them.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};

use taut_share::LINE_BYTES;

use crate::clock::now;
use crate::figures::median;
use crate::object::{About, Alone, Ends, Kind, Place, Placed};
use crate::surroundings::Surroundings;

/// The name of a bare word.
pub(crate) const WORD: &str = "bare word";
/// The name of a plain copy.
pub(crate) const COPY: &str = "plain copy";

#[repr(align(128))]
#[derive(Default)]
struct Line(AtomicU64);

/// A line there, and another one back: ns, the median of 5 batches.
pub(crate) fn round_trip(surroundings: &Surroundings) -> Result<f64, String> {
    const TRIPS: u64 = 400;
    let (there, back) = (Line::default(), Line::default());
    let near = |_: &crate::surroundings::Signals| {
        let mut number = 0;
        let times: Vec<f64> = (0..6)
            .map(|_| {
                let start = now();
                for _ in 0..TRIPS {
                    number += 1;
                    there.0.store(number, Release);
                    while back.0.load(Acquire) != number {
                        spin_loop();
                    }
                }
                surroundings.clock.ns(now() - start) / TRIPS as f64
            })
            .collect();
        median(&times[1..])
    };
    let far = |signals: &crate::surroundings::Signals| {
        let mut seen = 0;
        while !signals.stopped() {
            let number = there.0.load(Acquire);
            if number == seen {
                spin_loop();
            } else {
                seen = number;
                back.0.store(number, Release);
            }
        }
    };
    surroundings.both(near, far).map(|(time, _)| time)
}

/// A bare word: the least cost of a look.
pub(crate) struct Word;

impl About for Word {
    const NAME: &'static str = WORD;
    const KIND: Kind = Kind::State;
    const LINES: [&'static str; 2] = ["1 posted", "1; 0 if unchanged"];
}

impl<const N: usize> Ends<N> for Word {
    type Writer = &'static AtomicU64;
    type Reader = (&'static AtomicU64, u64);

    #[inline(always)]
    fn put(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        writer.store(value[0], Release);
        true
    }

    #[inline(always)]
    fn take<R>((word, seen): &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        let number = word.load(Acquire);
        if number == *seen {
            return None;
        }
        *seen = number;
        Some(look(&[number; N]))
    }
}

impl<const N: usize> Placed<N> for Word {
    const MANY: bool = true;

    fn bytes(_: u32) -> usize {
        LINE_BYTES
    }

    unsafe fn writer(place: Place<'_>) -> Result<Self::Writer, String> {
        Ok(place.memory.claim().word(0))
    }

    unsafe fn reader(place: Place<'_>, _: u32) -> Result<Self::Reader, String> {
        Ok((place.memory.claim().word(0), 0))
    }
}

/// A plain copy within one thread.
pub(crate) struct Copied;

impl About for Copied {
    const NAME: &'static str = COPY;
    const KIND: Kind = Kind::State;
    const LINES: [&'static str; 2] = ["-", "-"];
}

impl<const N: usize> Ends<N> for Copied {
    type Writer = Box<[u64; N]>;
    type Reader = Box<[u64; N]>;

    #[inline(always)]
    fn put(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        **writer = *value;
        black_box(&**writer);
        true
    }

    #[inline(always)]
    fn take<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        let value = *black_box(&**reader);
        Some(look(&value))
    }
}

impl<const N: usize> Alone<N> for Copied {
    fn pair() -> Result<(Self::Writer, Self::Reader), String> {
        Ok((Box::new([0; N]), Box::new([0; N])))
    }
}
