// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Two processes on one file: either side is killed with SIGKILL at random moments and followed by another.
//! (`deaths.rs` kills at every single step.)
#![cfg(not(any(loom, shuttle, miri)))]
#![allow(clippy::unwrap_used, reason = "a test: helpers too")]

mod payload;
mod process;

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use payload::{marked, number};
use process::{Mapping, orders};
use taut_share::queue::qrtr;
use taut_share::state::{sdrtr, sdrtw};

type Value = [u64; 24];
const CAPACITY: u32 = 5;

/// How often each side dies.
fn deaths() -> u64 {
    std::env::var("TAUT_STRESS_DEATHS").ok().and_then(|s| s.parse().ok()).unwrap_or(40)
}

/// Runs `work` until `mapping` tells of more than `told`, then for a time that differs from round to round.
fn meanwhile(mapping: &Mapping, told: u64, round: u64, mut work: impl FnMut()) {
    let limit = Instant::now() + Duration::from_secs(20);
    while mapping.told(0).load(Relaxed) <= told {
        work();
        assert!(Instant::now() < limit, "the process does not work");
    }
    let end = Instant::now() + Duration::from_micros(200 + round.wrapping_mul(7919) % 3000);
    while Instant::now() < end {
        work();
    }
}

/// The started processes. Word 0 of the line for telling: steps of work done, ever; word 1: the last value seen.
#[test]
fn process() {
    let Some((role, mapping, from)) = orders() else { return };
    let memory = mapping.memory();
    let tell = || mapping.told(0).fetch_add(1, Relaxed);
    match role.as_str() {
        "sdrtr-writer" => {
            // SAFETY: the test starts one at a time.
            let mut writer = unsafe { sdrtr::writer::<Value>(memory) }.unwrap();
            for n in from.. {
                if writer.try_publish(&marked(n)).is_ok() {
                    tell();
                }
            }
        }
        "sdrtr-reader" => {
            // SAFETY: the test starts one at a time.
            let mut reader = unsafe { sdrtr::reader::<Value>(memory) }.unwrap();
            loop {
                if let Some(value) = reader.read() {
                    let last = mapping.told(1).swap(number(&value), Relaxed);
                    assert!(number(&value) >= last, "backwards");
                    tell();
                }
            }
        }
        "sdrtw-writer" => {
            // SAFETY: the test starts one at a time.
            let mut writer = unsafe { sdrtw::writer::<Value>(memory) }.unwrap();
            for n in from.. {
                writer.write(&marked(n));
                tell();
                (0..n % 100).for_each(|_| std::hint::spin_loop());
            }
        }
        "sdrtw-reader" => {
            // SAFETY: readers may be many.
            let mut reader = unsafe { sdrtw::reader::<Value>(memory) }.unwrap();
            loop {
                if let Ok(Some(sample)) = reader.read_bounded(3) {
                    assert_eq!(number(&sample.value), sample.version);
                    tell();
                }
            }
        }
        "qrtr-writer" => {
            // SAFETY: the test starts one at a time.
            let mut writer = unsafe { qrtr::writer::<Value>(memory, CAPACITY) }.unwrap();
            let mut n = from;
            loop {
                if writer.push(marked(n)).is_ok() {
                    n += 1;
                    tell();
                }
            }
        }
        "qrtr-reader" => {
            // SAFETY: the test starts one at a time.
            let mut reader = unsafe { qrtr::reader::<Value>(memory, CAPACITY) }.unwrap();
            let mut first = true;
            loop {
                if let Some(value) = reader.pop().unwrap() {
                    let (n, last) = (number(&value), mapping.told(1).load(Relaxed));
                    // The one before us may have died after its pop and before it could tell.
                    assert!(
                        n == last + 1 || (first && n == last + 2),
                        "lost or out of order: {n} after {last}"
                    );
                    mapping.told(1).store(n, Relaxed);
                    first = false;
                    tell();
                }
            }
        }
        other => unreachable!("no role {other}"),
    }
}

#[test]
fn sdrtr_writer_dies() {
    let mapping = Mapping::create(sdrtr::bytes::<Value>());
    // SAFETY: the only reader.
    let mut reader = unsafe { sdrtr::reader::<Value>(mapping.memory()) }.unwrap();
    let mut last = 0;
    let mut read = || {
        if let Some(value) = reader.read() {
            assert!(number(&value) >= last, "backwards");
            last = number(&value);
        }
        last
    };
    for round in 0..deaths() {
        let told = mapping.told(0).load(Relaxed);
        let writer = mapping.start("sdrtr-writer", (round + 1) << 40);
        meanwhile(&mapping, told, round, || {
            read();
            (0..50).for_each(|_| std::hint::spin_loop());
        });
        writer.kill();
        assert_eq!(read() >> 40, round + 1, "its values arrived");
    }
}

#[test]
fn sdrtr_reader_dies() {
    let mapping = Mapping::create(sdrtr::bytes::<Value>());
    // SAFETY: the only writer.
    let mut writer = unsafe { sdrtr::writer::<Value>(mapping.memory()) }.unwrap();
    let mut n = 0;
    let mut inside = 0;
    for round in 0..deaths() {
        let told = mapping.told(0).load(Relaxed);
        let reader = mapping.start("sdrtr-reader", 0);
        meanwhile(&mapping, told, round, || {
            n += 1;
            let _ = writer.publish_within(&marked(n), 20);
        });
        reader.kill();
        n += 1;
        if writer.publish_within(&marked(n), 3) == Err(sdrtr::NotPublished::Busy) {
            inside += 1;
            // Every second time the next reader has to do it.
            if inside % 2 == 0 {
                // SAFETY: the only reader was killed and waited for.
                unsafe { writer.release_reader() };
                assert_eq!(writer.try_publish(&marked(n)), Ok(()));
            }
        }
    }
    println!("{inside} of {} readers died inside", deaths());
}

#[test]
fn sdrtw_writer_dies() {
    let mapping = Mapping::create(sdrtw::bytes::<Value>());
    // SAFETY: readers may be many.
    let mut reader = unsafe { sdrtw::reader::<Value>(mapping.memory()) }.unwrap();
    let (mut last, mut version, mut inside) = (0, 0, 0);
    for round in 0..deaths() {
        let told = mapping.told(0).load(Relaxed);
        let writer = mapping.start("sdrtw-writer", (round + 1) << 40);
        let mut read = || {
            let sample = reader.read_bounded(5);
            if let Ok(Some(sample)) = sample {
                assert!(number(&sample.value) >= last && sample.version >= version, "backwards");
                (last, version) = (number(&sample.value), sample.version);
            }
            sample
        };
        meanwhile(&mapping, told, round, || {
            let _ = read();
        });
        writer.kill();
        match read() {
            Ok(sample) => assert_eq!(number(&sample.unwrap().value) >> 40, round + 1, "its values arrived"),
            Err(sdrtw::Retry) => inside += 1,
        }
    }
    println!("{inside} of {} writers died inside", deaths());
}

#[test]
fn sdrtw_reader_dies() {
    let mapping = Mapping::create(sdrtw::bytes::<Value>());
    // SAFETY: the only writer.
    let mut writer = unsafe { sdrtw::writer::<Value>(mapping.memory()) }.unwrap();
    let mut n = 0;
    for round in 0..deaths() {
        let told = mapping.told(0).load(Relaxed);
        let reader = mapping.start("sdrtw-reader", 0);
        meanwhile(&mapping, told, round, || {
            n += 1;
            writer.write(&marked(n));
            (0..300).for_each(|_| std::hint::spin_loop());
        });
        reader.kill();
    }
    // SAFETY: readers may be many.
    let mut reader = unsafe { sdrtw::reader::<Value>(mapping.memory()) }.unwrap();
    assert_eq!(reader.try_read().unwrap().unwrap().version, n);
}

#[test]
fn qrtr_writer_dies() {
    let mapping = Mapping::create(qrtr::bytes::<Value>(CAPACITY).unwrap());
    // SAFETY: the only reader.
    let mut reader = unsafe { qrtr::reader::<Value>(mapping.memory(), CAPACITY) }.unwrap();
    let mut popped = 0;
    for round in 0..deaths() {
        let told = mapping.told(0).load(Relaxed);
        let writer = mapping.start("qrtr-writer", popped + 1);
        let mut pop = || {
            if let Some(value) = reader.pop().unwrap() {
                popped += 1;
                assert_eq!(number(&value), popped, "lost, twice, or out of order");
            }
        };
        meanwhile(&mapping, told, round, &mut pop);
        writer.kill();
        (0..CAPACITY).for_each(|_| pop());
        assert!(reader.is_empty());
    }
    assert!(popped >= deaths());
}

#[test]
fn qrtr_reader_dies() {
    let mapping = Mapping::create(qrtr::bytes::<Value>(CAPACITY).unwrap());
    // SAFETY: the only writer.
    let mut writer = unsafe { qrtr::writer::<Value>(mapping.memory(), CAPACITY) }.unwrap();
    let mut pushed = 0;
    for round in 0..deaths() {
        let told = mapping.told(0).load(Relaxed);
        let reader = mapping.start("qrtr-reader", 0);
        meanwhile(&mapping, told, round, || {
            pushed += u64::from(writer.push(marked(pushed + 1)).is_ok());
        });
        reader.kill();
    }
    assert!(pushed >= deaths());
}
