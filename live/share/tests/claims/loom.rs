// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Every execution of small runs of Chen, Improved Chen and Hybrid, by loom:
//! `RUSTFLAGS="--cfg loom" cargo test -p taut-share --release --test loom claims::`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use loom::thread;
use taut_share::state::{Sample, chen, hybrid, improved_chen};
use taut_share::{LINE_BYTES, Memory};

use crate::explore::explore_on;
use crate::payload::{marked, number};

type Value = [u64; 2];

/// The reads in real-time order: loom runs one thread at a time, so an ordinary lock records them.
#[derive(Clone, Default)]
struct Witness {
    newest_read: Arc<Mutex<u64>>,
    written: Arc<AtomicU64>,
}

impl Witness {
    /// Returns the lowest number that a read of this reader may return if it begins now.
    fn begin(&self, last: u64) -> u64 {
        last.max(*self.newest_read.lock().unwrap())
    }

    /// Checks what the read returned: not torn, with its own number, and not older than `least`.
    fn end(&self, sample: Option<Sample<Value>>, least: u64) -> u64 {
        let read = sample.map_or(0, |sample| {
            assert_eq!(number(&sample.value), sample.version, "another write's value");
            sample.version
        });
        assert!(read >= least, "backwards: {read} after {least}");
        assert!(read <= self.written.load(Ordering::Relaxed), "from the future");
        let mut newest = self.newest_read.lock().unwrap();
        *newest = (*newest).max(read);
        read
    }
}

/// `writes` writes beside `reads` reads of each reader, each in its own thread. With two readers, reads that a mutex
/// orders (`chained`) must not go backwards either.
fn run<R: Send + 'static>(
    writes: u64,
    reads: u64,
    mut write: impl FnMut(u64) + Send + 'static,
    mut readers: Vec<R>,
    read: fn(&mut R) -> Option<Sample<Value>>,
) {
    let turn = (readers.len() > 1).then(|| loom::sync::Arc::new(loom::sync::Mutex::new(0)));
    let witness = Witness::default();
    let seen = witness.clone();
    let writing = thread::spawn(move || {
        for n in 1..=writes {
            seen.written.store(n, Ordering::Relaxed);
            write(n);
        }
    });
    let mut first = readers.remove(0);
    let others: Vec<_> = readers
        .into_iter()
        .map(|mut reader| {
            let (witness, turn) =
                (Witness { written: witness.written.clone(), ..Witness::default() }, turn.clone());
            thread::spawn(move || {
                let mut last = 0;
                for _ in 0..reads {
                    last = witness.end(read(&mut reader), witness.begin(last));
                    if let Some(turn) = &turn {
                        let mut newest = turn.lock().unwrap();
                        *newest = last.max(*newest);
                    }
                }
            })
        })
        .collect();
    let mut last = 0;
    for _ in 0..reads {
        let least = turn.as_ref().map_or(0, |turn| *turn.lock().unwrap());
        last = witness.end(read(&mut first), witness.begin(last).max(least));
    }
    writing.join().unwrap();
    others.into_iter().for_each(|other| other.join().unwrap());
    assert_eq!(read(&mut first).map(|sample| sample.version), Some(writes), "not the newest");
}

fn chen(readers: u32, writes: u64, reads: u64, memory: Memory<'static>) {
    let (mut writer, readers) = chen::group::<Value>(memory, readers).unwrap();
    run(writes, reads, move |n| writer.write(&marked(n)), readers.collect(), |reader| reader.read_sample());
}

#[test]
fn chen_three_writes_two_reads() {
    explore_on(4 * LINE_BYTES, "chen 3×2", None, |memory| chen(1, 3, 2, memory));
}

#[test]
fn chen_four_and_five_writes() {
    explore_on(4 * LINE_BYTES, "chen 4×2", None, |memory| chen(1, 4, 2, memory));
    explore_on(4 * LINE_BYTES, "chen 5×2", Some(3), |memory| chen(1, 5, 2, memory));
}

#[test]
fn chen_two_readers() {
    explore_on(5 * LINE_BYTES, "chen 2 readers, 4×1", Some(2), |memory| chen(2, 4, 1, memory));
}

#[test]
fn chen_in_place() {
    explore_on(4 * LINE_BYTES, "chen in place 4×2", Some(3), |memory| {
        let (mut writer, readers) = chen::group::<Value>(memory, 1).unwrap();
        let write = move |n| writer.write_with(|value| *value = marked(n));
        run(4, 2, write, readers.collect(), |reader| {
            let value = reader.read_with(|value| *value)?;
            Some(Sample { value, version: number(&value) })
        });
    });
}

#[test]
fn chen_if_newer() {
    explore_on(4 * LINE_BYTES, "chen, if newer 4×2", Some(3), |memory| {
        let (mut writer, mut reader) = chen::pair::<Value>(memory).unwrap();
        let writing = thread::spawn(move || (1..=4).for_each(|n| writer.write(&marked(n))));
        let mut last = 0;
        for _ in 0..2 {
            if let Some(sample) = reader.read_if_newer() {
                assert_eq!(number(&sample.value), sample.version);
                assert!(sample.version > last, "not newer");
                last = sample.version;
            }
        }
        writing.join().unwrap();
        assert_eq!(reader.read_if_newer().map_or(last, |sample| sample.version), 4);
        assert!(!reader.has_newer());
    });
}

fn hybrid(readers: u32, spare: u32, writes: u64, reads: u64, memory: Memory<'static>) {
    let (mut writer, readers) = hybrid::group::<Value>(memory, readers, spare).unwrap();
    run(writes, reads, move |n| writer.write(&marked(n)), readers.collect(), |reader| reader.read_sample());
}

#[test]
fn hybrid_without_spare() {
    explore_on(4 * LINE_BYTES, "hybrid 4×1", None, |memory| hybrid(1, 0, 4, 1, memory));
    explore_on(4 * LINE_BYTES, "hybrid 3×2", None, |memory| hybrid(1, 0, 3, 2, memory));
}

#[test]
fn hybrid_with_spare() {
    explore_on(4 * LINE_BYTES, "hybrid, 1 spare, 5×1", None, |memory| hybrid(1, 1, 5, 1, memory));
}

#[test]
fn hybrid_two_readers() {
    explore_on(5 * LINE_BYTES, "hybrid 2 readers, 4×1", Some(2), |memory| hybrid(2, 0, 4, 1, memory));
}

#[test]
fn improved_chen_slow() {
    explore_on(4 * LINE_BYTES, "improved chen, slow, 4×2", Some(3), |memory| {
        let (mut writer, slow, _) = improved_chen::group::<Value>(memory, 1, 1).unwrap();
        run(4, 2, move |n| writer.write(&marked(n)), slow.collect(), |reader| reader.read_sample());
    });
}

#[test]
fn improved_chen_fast() {
    // Without a slow reader and with two slots: every second write uses the same slot.
    explore_on(2 * LINE_BYTES, "improved chen, fast, 3×2", None, |memory| {
        let (mut writer, _, mut fast) = improved_chen::group::<Value>(memory, 0, 1).unwrap();
        let writing = thread::spawn(move || (1..=3).for_each(|n| writer.write(&marked(n))));
        let mut last = 0;
        for _ in 0..2 {
            if let Ok(Some(sample)) = fast.try_read() {
                assert_eq!(number(&sample.value), sample.version, "another write's value");
                assert!(sample.version >= last, "backwards");
                last = sample.version;
            }
        }
        writing.join().unwrap();
        assert_eq!(fast.try_read().unwrap().unwrap().version, 3);
    });
}

#[test]
fn improved_chen_in_time() {
    // At most 2 writes can overlap a read, since there are no more: no read reports an overrun.
    explore_on(4 * LINE_BYTES, "improved chen, fast in time, 2×2", None, |memory| {
        let (mut writer, _, mut fast) = improved_chen::group::<Value>(memory, 1, 2).unwrap();
        writer.write(&marked(1));
        let writing = thread::spawn(move || (2..=3).for_each(|n| writer.write(&marked(n))));
        for _ in 0..2 {
            let sample = fast.try_read().expect("in time").expect("written");
            assert_eq!(number(&sample.value), sample.version);
        }
        writing.join().unwrap();
    });
}
