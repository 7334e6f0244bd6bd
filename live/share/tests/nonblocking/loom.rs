// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! SDrtR, SDrtW and QrtR by loom, in longer runs than those of `loom.rs`, and the operations that only they have:
//! `RUSTFLAGS="--cfg loom" cargo test -p taut-share --release --test loom nonblocking::`.

use loom::thread;
use taut_share::queue::qrtr;
use taut_share::state::{sdrtr, sdrtw};
use taut_share::{LINE_BYTES, Memory};

use crate::explore::explore_on;
use crate::payload::{marked, number};

#[test]
fn sdrtr_three_writes_three_reads() {
    explore_on(3 * LINE_BYTES, "sdrtr", None, |memory| {
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
    explore_on(3 * LINE_BYTES, "sdrtr, 3 attempts", None, |memory| {
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
    explore_on(LINE_BYTES, "sdrtw 2×1", None, |memory| sdrtw(2, 1, memory));
}

#[test]
fn sdrtw_three_writes_two_reads() {
    explore_on(LINE_BYTES, "sdrtw 3×2", Some(3), |memory| sdrtw(3, 2, memory));
}

#[test]
fn sdrtw_two_readers() {
    explore_on(LINE_BYTES, "sdrtw 2 readers", Some(2), |memory| {
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
    explore_on(3 * LINE_BYTES, "qrtr of 1, 4×4", None, |memory| qrtr(1, 4, memory));
}

#[test]
fn qrtr_of_two() {
    explore_on(3 * LINE_BYTES, "qrtr of 2, 4×4", None, |memory| qrtr(2, 4, memory));
}

#[test]
fn qrtr_of_three() {
    explore_on(3 * LINE_BYTES, "qrtr of 3, 6×6", Some(3), |memory| qrtr(3, 6, memory));
}

#[test]
fn qrtr_len_promises() {
    explore_on(3 * LINE_BYTES, "qrtr len", None, |memory| {
        let (mut writer, mut reader) = qrtr::pair::<[u64; 2]>(memory, 2).unwrap();
        let writing = thread::spawn(move || {
            let mut pushed = 0;
            for _ in 0..3 {
                let room = writer.capacity() - writer.len();
                match writer.push(marked(pushed + 1)) {
                    Ok(()) => pushed += 1,
                    Err(qrtr::QueueFull(_)) => assert_eq!(room, 0, "len promised room"),
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
