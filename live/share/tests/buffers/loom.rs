// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Every execution of small runs, by loom, of the protocols that keep several buffers for readers in the middle of a
//! read: `RUSTFLAGS="--cfg loom" cargo test -p taut-share --release --test loom buffers::`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use loom::thread;
use taut_share::Memory;
use taut_share::state::{Sample, double_buffer, improved_double_buffer, presence};

use crate::explore::explore_on;
use crate::payload::{marked, number};

type Value = [u64; 2];

/// What the readers of a run know in common. It uses core's atomics, so that loom does not switch threads here, and
/// they do not order accesses of the object.
#[derive(Clone, Default)]
struct Seen(Arc<(AtomicU64, AtomicU64)>);

impl Seen {
    /// Records that a write is complete.
    fn written(&self, number: u64) {
        self.0.0.store(number, Ordering::SeqCst);
    }

    /// The newest number that was read.
    fn before(&self) -> u64 {
        self.0.1.load(Ordering::SeqCst)
    }

    /// The newest number that was written.
    fn newest(&self) -> u64 {
        self.0.0.load(Ordering::SeqCst)
    }

    /// Checks what was read, and returns its number.
    fn read(&self, sample: Option<Sample<Value>>) -> u64 {
        let Some(sample) = sample else { return 0 };
        assert_eq!(number(&sample.value), sample.version, "another write's value");
        assert!(sample.version <= self.newest() + 1, "from the future");
        self.0.1.fetch_max(sample.version, Ordering::SeqCst);
        sample.version
    }
}

/// Calls `read` this many `times`: its numbers never go backwards.
fn reads(times: usize, seen: &Seen, mut read: impl FnMut() -> Option<Sample<Value>>) -> u64 {
    let mut last = 0;
    for _ in 0..times {
        let version = seen.read(read());
        assert!(version >= last, "backwards");
        last = version;
    }
    last
}

macro_rules! one_reader {
    ($name:ident, $module:ident, $writes:literal, $reads:literal, $bound:expr) => {
        #[test]
        fn $name() {
            explore_on($module::bytes::<Value>(1), stringify!($name), $bound, |memory| {
                let (mut writer, mut readers) = $module::group::<Value>(memory, 1).unwrap();
                let mut reader = readers.next().unwrap();
                let seen = Seen::default();
                let writing = thread::spawn({
                    let seen = seen.clone();
                    move || {
                        for n in 1..=$writes {
                            writer.write(&marked(n));
                            seen.written(n);
                        }
                    }
                });
                reads($reads, &seen, || reader.read_sample());
                writing.join().unwrap();
                assert_eq!(seen.read(reader.read_sample()), $writes, "not the newest");
            });
        }
    };
}

macro_rules! two_readers {
    ($name:ident, $module:ident, $writes:literal, $bound:expr) => {
        #[test]
        fn $name() {
            explore_on($module::bytes::<Value>(2), stringify!($name), $bound, |memory| {
                let (mut writer, mut readers) = $module::group::<Value>(memory, 2).unwrap();
                let (mut first, mut second) = (readers.next().unwrap(), readers.next().unwrap());
                let seen = Seen::default();
                let writing = thread::spawn({
                    let seen = seen.clone();
                    move || {
                        for n in 1..=$writes {
                            writer.write(&marked(n));
                            seen.written(n);
                        }
                    }
                });
                let reading = thread::spawn({
                    let seen = seen.clone();
                    move || {
                        reads(1, &seen, || second.read_sample());
                        second
                    }
                });
                reads(2, &seen, || first.read_sample());
                // A read that comes after another one, by a join, is not older.
                let mut second = reading.join().unwrap();
                let before = seen.before();
                assert!(seen.read(second.read_sample()) >= before, "new, then old");
                writing.join().unwrap();
                assert_eq!(seen.read(first.read_sample()), $writes, "not the newest");
                assert_eq!(seen.read(second.read_sample()), $writes, "not the newest");
            });
        }
    };
}

one_reader!(presence_three_writes_two_reads, presence, 3, 2, None);
one_reader!(presence_four_writes_three_reads, presence, 4, 3, None);
two_readers!(presence_two_readers, presence, 2, Some(4));
one_reader!(double_buffer_two_writes_two_reads, double_buffer, 2, 2, None);
one_reader!(double_buffer_four_writes_two_reads, double_buffer, 4, 2, Some(4));
two_readers!(double_buffer_two_readers, double_buffer, 2, Some(3));

/// `slow` slow readers and `fast` fast ones, two reads each, during `writes` writes, of which up to `overlaps` may
/// overlap a fast read.
fn improved(slow: u32, fast: usize, overlaps: u32, writes: u64, memory: Memory<'static>) {
    let (mut writer, slows, fast_reader) =
        improved_double_buffer::group::<Value>(memory, slow, overlaps).unwrap();
    let seen = Seen::default();
    let mut reading = Vec::new();
    for mut slow in slows {
        let seen = seen.clone();
        reading.push(thread::spawn(move || {
            reads(2, &seen, || slow.read_sample());
        }));
    }
    for _ in 0..fast {
        let (seen, mut fast) = (seen.clone(), fast_reader.clone());
        reading.push(thread::spawn(move || {
            let mut last = 0;
            for _ in 0..2 {
                let newest = seen.newest();
                match fast.read_sample() {
                    Ok(sample) => {
                        let version = seen.read(sample);
                        assert!(version >= last, "backwards");
                        last = version;
                    }
                    // Overtaken only if more than `overlaps` writes can have begun after the value that the read
                    // began with.
                    Err(improved_double_buffer::ReaderOvertaken) => {
                        assert!(writes - newest.min(last) > u64::from(overlaps), "a false alarm");
                    }
                }
            }
        }));
    }
    for n in 1..=writes {
        writer.write(&marked(n));
        seen.written(n);
    }
    for reading in reading {
        reading.join().unwrap();
    }
    let mut fast = fast_reader;
    assert_eq!(seen.read(fast.read_sample().unwrap()), writes, "not the newest");
}

fn improved_bytes(slow: u32, overlaps: u32) -> usize {
    improved_double_buffer::bytes::<Value>(slow, overlaps).unwrap()
}

#[test]
fn improved_fast_reader_that_is_overrun() {
    explore_on(improved_bytes(0, 1), "improved, fast, V = 1", None, |memory| improved(0, 1, 1, 3, memory));
}

#[test]
fn improved_fast_reader_that_cannot_be_overrun() {
    explore_on(improved_bytes(0, 3), "improved, fast, V = 3", Some(3), |memory| improved(0, 1, 3, 3, memory));
}

#[test]
fn improved_slow_reader() {
    explore_on(improved_bytes(1, 1), "improved, slow", Some(4), |memory| improved(1, 0, 1, 4, memory));
}

#[test]
fn improved_slow_and_fast() {
    explore_on(improved_bytes(1, 1), "improved, slow and fast", Some(2), |memory| {
        improved(1, 1, 1, 3, memory)
    });
}
