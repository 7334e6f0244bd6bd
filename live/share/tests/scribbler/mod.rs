// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A process that writes random words all over the memory of an object, while this test works on it.
#![allow(dead_code, reason = "each test binary uses its part of this module")]
#![allow(clippy::print_stdout, reason = "what the tests' count reads")]

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use taut_share::{LINE_BYTES, Memory};

use crate::process::{Mapping, orders};

/// The started process. The first and the last line are guards, which it does not write.
pub(crate) fn scribble() {
    let Some((role, mapping, seed)) = orders() else {
        return println!("no test: for processes that tests start");
    };
    assert_eq!(role, "scribbler");
    let words = mapping.words();
    let words = &words[LINE_BYTES / 8..words.len() - LINE_BYTES / 8];
    let mut random = seed;
    for n in 0u64.. {
        // xorshift64
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let at = (random >> 32) as usize % words.len();
        // Half of the values are small, since a small wrong value is the most plausible; a quarter of the writes go
        // to the first words of the first lines, where control words are.
        let value = if random & 1 == 0 { random } else { random >> 61 };
        let at = if random & 6 == 0 { at % 4 * 16 % words.len() } else { at };
        words[at].store(value, Relaxed);
        mapping.reported(0).store(n, Relaxed);
    }
}

/// Runs `operation` and, in a build that counts steps, checks their number.
pub(crate) fn bounded<R>(limit: u64, operation: impl FnOnce() -> R) -> R {
    #[cfg(steps)]
    {
        let (result, steps) = taut_atomic::steps::count(operation);
        assert!(steps.total() <= limit, "{steps:?} are more than {limit}");
        result
    }
    #[cfg(not(steps))]
    {
        let _ = limit;
        operation()
    }
}

/// Calls `work` again and again with an object's memory of `bytes`, into which a process writes random words: for
/// `time`, and then until `work` returns that it has seen enough.
pub(crate) fn scribbled(
    bytes: usize,
    time: Duration,
    mut work: impl FnMut(&dyn Fn() -> Memory<'static>) -> bool,
) {
    const GUARD: u64 = 0x6A55_1E55;
    let mapping = Mapping::create(bytes + 2 * LINE_BYTES);
    let words = mapping.words();
    let (first, last) = (&words[..LINE_BYTES / 8], &words[words.len() - LINE_BYTES / 8..]);
    first.iter().chain(last).for_each(|word| word.store(GUARD, Relaxed));
    let scribbler = mapping.start("scribbler", 0x1234_5678_9ABC_DEF1);
    let limit = Instant::now() + Duration::from_secs(20);
    while mapping.reported(0).load(Relaxed) == 0 {
        assert!(Instant::now() < limit, "the process does not work");
    }
    let memory = || {
        let start = std::ptr::NonNull::from(&words[LINE_BYTES / 8]).cast();
        // SAFETY: mapped, aligned, and mapped for longer than `work` runs; the tests attach only ends that may exist
        // together.
        unsafe { Memory::from_raw(start, (words.len() * 8) - 2 * LINE_BYTES) }
    };
    let (end, scribbles) = (Instant::now() + time, mapping.reported(0).load(Relaxed));
    while !work(&memory) || Instant::now() < end || mapping.reported(0).load(Relaxed) < scribbles + 10_000 {
        let written = mapping.reported(0).load(Relaxed) - scribbles;
        assert!(Instant::now() < limit, "not every outcome was seen, while {written} words were written");
    }
    scribbler.kill();
    assert!(first.iter().chain(last).all(|word| word.load(Relaxed) == GUARD), "an access outside");
}
