// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A process writes random words all over the objects' memory while each end works on it: no panic, no access
//! outside (the words around the memory stay as they are), and under `--cfg steps` the documented bounds.
#![cfg(not(any(loom, shuttle, miri)))]
#![allow(clippy::unwrap_used, reason = "a test: helpers too")]

mod process;

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use process::{Mapping, orders};
use taut_share::queue::qrtr;
use taut_share::state::{sdrtr, sdrtw};
use taut_share::{LINE_BYTES, Memory};

type Value = [u64; 12];
const CAPACITY: u32 = 3;

#[test]
fn process() {
    let Some((role, mapping, seed)) = orders() else { return };
    assert_eq!(role, "scribbler");
    let words = mapping.words();
    // Not the guards: the first and the last line.
    let words = &words[LINE_BYTES / 8..words.len() - LINE_BYTES / 8];
    let mut random = seed;
    for n in 0u64.. {
        // xorshift64
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let at = (random >> 32) as usize % words.len();
        // Half of it small, where a wrong value is most believable; a quarter at the control words.
        let value = if random & 1 == 0 { random } else { random >> 61 };
        let at = if random & 6 == 0 { at % 2 * 16 % words.len() } else { at };
        words[at].store(value, Relaxed);
        mapping.told(0).store(n, Relaxed);
    }
}

/// Runs `operation` and, where steps are counted, checks their number.
fn bounded<R>(limit: u64, operation: impl FnOnce() -> R) -> R {
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

/// Gives `work` an object's memory of `bytes` that a process scribbles on, again and again: for half a second, and on
/// until `work` says that every outcome was seen.
fn scribbled(bytes: usize, mut work: impl FnMut(&dyn Fn() -> Memory<'static>) -> bool) {
    const GUARD: u64 = 0x6A55_1E55;
    let mapping = Mapping::create(bytes + 2 * LINE_BYTES);
    let words = mapping.words();
    let (first, last) = (&words[..LINE_BYTES / 8], &words[words.len() - LINE_BYTES / 8..]);
    first.iter().chain(last).for_each(|word| word.store(GUARD, Relaxed));
    let scribbler = mapping.start("scribbler", 0x1234_5678_9ABC_DEF1);
    let limit = Instant::now() + Duration::from_secs(20);
    while mapping.told(0).load(Relaxed) == 0 {
        assert!(Instant::now() < limit, "the process does not work");
    }
    let memory = || {
        let start = std::ptr::NonNull::from(&words[LINE_BYTES / 8]).cast();
        // SAFETY: mapped, aligned, and longer there than `work` runs; the tests attach only ends that may be.
        unsafe { Memory::from_raw(start, (words.len() * 8) - 2 * LINE_BYTES) }
    };
    let end = Instant::now() + Duration::from_millis(500);
    while !work(&memory) || Instant::now() < end {
        assert!(Instant::now() < limit, "not every outcome was seen");
    }
    scribbler.kill();
    assert!(first.iter().chain(last).all(|word| word.load(Relaxed) == GUARD), "an access outside");
}

const W: u64 = 12;

#[test]
fn sdrtr_keeps_its_bounds() {
    let (mut some, mut none, mut published, mut busy, mut corrupt) = (0u64, 0u64, 0u64, 0u64, 0u64);
    scribbled(sdrtr::bytes::<Value>(), |memory| {
        let (mut writer, mut reader) = sdrtr::pair::<Value>(memory()).unwrap();
        for n in 0..20 {
            match bounded(2 + W, || reader.read()) {
                Some(_) => some += 1,
                None => none += 1,
            }
            if n == 10 {
                std::thread::yield_now(); // On one processor too the other gets in between.
            }
            match bounded(W + 4, || writer.publish_within(&[n; 12], 4)) {
                Ok(()) => published += 1,
                Err(sdrtr::NotPublished::Busy) => busy += 1,
                Err(sdrtr::NotPublished::Corrupt) => corrupt += 1,
            }
        }
        some > 0 && none > 0 && corrupt > 0
    });
    println!("read {some}, nothing {none}; published {published}, busy {busy}, corrupt {corrupt}");
}

#[test]
fn sdrtw_keeps_its_bounds() {
    let (mut read, mut retry) = (0u64, 0u64);
    scribbled(sdrtw::bytes::<Value>(), |memory| {
        let (mut writer, mut reader) = sdrtw::pair::<Value>(memory()).unwrap();
        for n in 0..20 {
            bounded(2 + 1 + W, || writer.write(&[n; 12]));
            if n == 10 {
                std::thread::yield_now();
            }
            match bounded(3 * (2 + 1 + W), || reader.read_bounded(3)) {
                Ok(_) => read += 1,
                Err(sdrtw::Retry) => retry += 1,
            }
            let _ = bounded(2 + 1 + W, || reader.read_if_newer());
        }
        read > 0 && retry > 0
    });
    println!("read {read}, retry {retry}");
}

#[test]
fn qrtr_keeps_its_bounds() {
    let (mut popped, mut empty, mut corrupt, mut pushed, mut full) = (0u64, 0u64, 0u64, 0u64, 0u64);
    scribbled(qrtr::bytes::<Value>(CAPACITY).unwrap(), |memory| {
        let (mut writer, mut reader) = qrtr::pair::<Value>(memory(), CAPACITY).unwrap();
        for n in 0..20 {
            match bounded(2 + W, || writer.push([n; 12])) {
                Ok(()) => pushed += 1,
                Err(qrtr::Full(value)) => {
                    assert_eq!(value, [n; 12]);
                    full += 1;
                }
            }
            if n == 10 {
                std::thread::yield_now();
            }
            match bounded(2 + W, || reader.pop()) {
                Ok(Some(_)) => popped += 1,
                Ok(None) => empty += 1,
                Err(qrtr::Corrupt) => corrupt += 1,
            }
            assert!(reader.len() <= CAPACITY as usize && writer.len() <= CAPACITY as usize);
        }
        popped > 0 && corrupt > 0 && pushed > 0 && full > 0
    });
    println!("popped {popped}, empty {empty}, corrupt {corrupt}; pushed {pushed}, full {full}");
}
