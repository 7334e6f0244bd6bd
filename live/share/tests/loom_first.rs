// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! SDrtR, SDrtW and QrtR by loom, further than `loom.rs` takes every protocol, and what they alone have:
//! `RUSTFLAGS="--cfg loom" cargo test -p taut-share --release --test loom_first`.
#![cfg(loom)]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test: helpers too, and its figures")]

mod payload;

use std::sync::atomic::{AtomicUsize, Ordering};

use loom::thread;
use payload::{marked, number};
use taut_share::queue::qrtr;
use taut_share::state::{sdrtr, sdrtw};
use taut_share::{Line, Memory};

/// Explores `run` on `lines` fresh lines, up to `preemptions` preemptions, and prints the number of executions.
fn explore(name: &str, lines: usize, preemptions: Option<usize>, run: fn(Memory<'static>)) {
    let executions = std::sync::Arc::new(AtomicUsize::new(0));
    let counted = executions.clone();
    let mut model = loom::model::Builder::new();
    model.preemption_bound = preemptions;
    model.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        let lines = Box::into_raw((0..lines).map(|_| Line::new()).collect::<Box<[Line]>>());
        // SAFETY: just allocated, used by nobody else.
        run(Memory::new(unsafe { &mut *lines }));
        // SAFETY: from `into_raw`; `run` has joined its threads and dropped its ends.
        drop(unsafe { Box::from_raw(lines) });
    });
    let executions = executions.load(Ordering::Relaxed);
    println!("{name}: {executions} executions, preemption bound {preemptions:?}");
    assert!(executions > 10, "{name} was not explored");
}

#[test]
fn sdrtr_three_writes_three_reads() {
    explore("sdrtr", 3, None, |memory| {
        let (mut writer, mut reader) = sdrtr::pair::<[u64; 2]>(memory).unwrap();
        let writing = thread::spawn(move || {
            let mut published = 0;
            for n in 1..=3 {
                if writer.try_publish(&marked(n)).is_ok() {
                    published = n;
                }
            }
            published
        });
        let mut last = 0;
        for _ in 0..3 {
            if let Some(value) = reader.read() {
                let n = number(&value);
                assert!(n >= last, "backwards");
                last = n;
            }
        }
        let published = writing.join().unwrap();
        assert_eq!(reader.read().map_or(0, |value| number(&value)), published, "not the newest");
    });
}

#[test]
fn sdrtr_retries_until_published() {
    explore("sdrtr, 3 attempts", 3, None, |memory| {
        let (mut writer, mut reader) = sdrtr::pair::<[u64; 2]>(memory).unwrap();
        let writing = thread::spawn(move || {
            (1..=2).filter(|n| writer.publish_within(&marked(*n), 3).is_ok()).last().unwrap_or(0)
        });
        let last = reader.read().map_or(0, |value| number(&value));
        let next = reader.read().map_or(0, |value| number(&value));
        assert!(next >= last, "backwards");
        let published = writing.join().unwrap();
        assert_eq!(reader.read().map_or(0, |value| number(&value)), published, "not the newest");
    });
}

fn sdrtw(writes: u64, reads: u64, memory: Memory<'static>) {
    let (mut writer, mut reader) = sdrtw::pair::<[u64; 2]>(memory).unwrap();
    let writing = thread::spawn(move || {
        for n in 1..=writes {
            writer.write(&marked(n));
        }
    });
    let mut last = 0;
    for _ in 0..reads {
        if let Ok(Some(sample)) = reader.try_read() {
            assert_eq!(number(&sample.value), sample.version, "another write's value");
            assert!(sample.version >= last, "backwards");
            last = sample.version;
        }
    }
    writing.join().unwrap();
    let sample = reader.try_read().unwrap().unwrap();
    assert_eq!((number(&sample.value), sample.version), (writes, writes), "not the newest");
}

#[test]
fn sdrtw_two_writes_one_read() {
    explore("sdrtw 2×1", 1, None, |memory| sdrtw(2, 1, memory));
}

#[test]
fn sdrtw_three_writes_two_reads() {
    explore("sdrtw 3×2", 1, Some(3), |memory| sdrtw(3, 2, memory));
}

#[test]
fn sdrtw_two_readers() {
    explore("sdrtw 2 readers", 1, Some(2), |memory| {
        let (mut writer, mut reader) = sdrtw::pair::<[u64; 2]>(memory).unwrap();
        let mut second = reader.clone();
        let writing = thread::spawn(move || {
            writer.write(&marked(1));
            writer.write(&marked(2));
        });
        let reading = thread::spawn(move || {
            if let Ok(Some(sample)) = second.try_read() {
                assert_eq!(number(&sample.value), sample.version);
            }
        });
        if let Ok(Some(sample)) = reader.read_bounded(2) {
            assert_eq!(number(&sample.value), sample.version);
        }
        writing.join().unwrap();
        reading.join().unwrap();
        assert_eq!(reader.try_read().unwrap().unwrap().version, 2);
    });
}

fn qrtr(capacity: u32, tries: usize, memory: Memory<'static>) {
    let (mut writer, mut reader) = qrtr::pair::<[u64; 2]>(memory, capacity).unwrap();
    let writing = thread::spawn(move || {
        let mut pushed = 0;
        for _ in 0..tries {
            if writer.push(marked(pushed + 1)).is_ok() {
                pushed += 1;
            }
        }
        pushed
    });
    let mut popped = 0;
    for _ in 0..tries {
        if let Some(value) = reader.pop().expect("the writer is honest") {
            popped += 1;
            assert_eq!(number(&value), popped, "lost, twice, or out of order");
        }
    }
    let pushed = writing.join().unwrap();
    while let Some(value) = reader.pop().unwrap() {
        popped += 1;
        assert_eq!(number(&value), popped);
    }
    assert_eq!(popped, pushed, "lost");
}

#[test]
fn qrtr_of_one() {
    explore("qrtr of 1, 4×4", 3, None, |memory| qrtr(1, 4, memory));
}

#[test]
fn qrtr_of_two() {
    explore("qrtr of 2, 4×4", 3, None, |memory| qrtr(2, 4, memory));
}

#[test]
fn qrtr_of_three() {
    explore("qrtr of 3, 6×6", 3, Some(3), |memory| qrtr(3, 6, memory));
}

#[test]
fn qrtr_len_promises() {
    explore("qrtr len", 3, None, |memory| {
        let (mut writer, mut reader) = qrtr::pair::<[u64; 2]>(memory, 2).unwrap();
        let writing = thread::spawn(move || {
            let mut pushed = 0;
            for _ in 0..3 {
                let room = writer.capacity() - writer.len();
                match writer.push(marked(pushed + 1)) {
                    Ok(()) => pushed += 1,
                    Err(qrtr::Full(_)) => assert_eq!(room, 0, "len promised room"),
                }
            }
        });
        for _ in 0..2 {
            let waiting = reader.len();
            if reader.pop().unwrap().is_none() {
                assert_eq!(waiting, 0, "len promised a value");
            }
        }
        writing.join().unwrap();
    });
}
