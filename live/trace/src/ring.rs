// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A ring of records: one recording thread, one draining thread.
//!
//! The ring is a [`qrtr`](mod@qrtr) on memory of its own: one writer, one reader, both wait-free; a full queue refuses
//! the newest value. A recording needs no more than that. The proof, the orderings and the effect of a death are stated
//! and checked there. This module adds
//!
//! - the count of lost records, which the recorder alone writes. Its accesses are `Relaxed`: nothing depends on their
//!   order, and a later drain reports every loss;
//! - the memory's pages, which [`ring`] writes before any record, so that recording takes no page fault;
//! - the bound of a drain: at most as many records as the ring holds, however fast the recorder is.
//!
//! Checked: unit tests; the step count (`tests/steps.rs`); page faults on Linux, in the tests of `taut-run`.

use core::fmt;
use std::sync::Arc;

use taut_atomic::AtomicU64;
use taut_atomic::Ordering::Relaxed;
use taut_event::{Kind, Record};
use taut_share::ends::{Pop, Push};
use taut_share::owned::{self, Owned};
use taut_share::queue::qrtr;
use taut_time::Instant;

/// A record as four words, which have the bytes of the file: at, job, value; subject, kind and cpu share the last word.
type Words = [u64; 4];

/// The most shared accesses that [`Recorder::record`] makes: to the reader's position, to four words, and to its own
/// position.
pub const STEPS: u32 = 6;

/// A value on two cache lines of its own, because processors fetch lines in pairs: the count of one thread shares no
/// line with the data of others.
#[repr(align(128))]
#[derive(Debug)]
pub(crate) struct Line<T>(pub(crate) T);

/// The number of records that the ring refused; only the recorder writes it.
pub(crate) type Lost = Arc<Line<AtomicU64>>;

/// The recording end, owned by one thread.
pub struct Recorder {
    writer: Owned<qrtr::Writer<'static, Words>>,
    shared_lost: Lost,
    lost: u64,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("lost", &self.lost).finish_non_exhaustive()
    }
}

/// The draining end, owned by one thread.
pub struct Drain {
    reader: Owned<qrtr::Reader<'static, Words>>,
    capacity: u32,
    shared_lost: Lost,
    owner: RingOwner,
    lost_reported: u64,
    latest: Instant,
}

impl fmt::Debug for Drain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drain").field("owner", &self.owner).finish_non_exhaustive()
    }
}

/// The owner of the records in a ring. It decides which kind of record reports a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingOwner {
    /// A task's thread, by the task's position in the plan: [`Kind::Lost`].
    Task(u16),
    /// A core's dispatcher and the threads that take turns on that core, by the core's position in the plan:
    /// [`Kind::CoreLost`].
    Core(u16),
}

/// A ring for at least `capacity` records (rounded up to a power of two, at least 2) of 32 bytes each.
///
/// Allocates all memory, and writes to every page of it, so that recording takes no page fault.
///
/// # Panics
/// If there is no memory for that many records, or they are more than 2^31.
pub fn ring(owner: RingOwner, capacity: usize) -> (Recorder, Drain) {
    let capacity =
        capacity.max(2).checked_next_power_of_two().and_then(|capacity| u32::try_from(capacity).ok());
    let made = capacity.and_then(|capacity| Some((capacity, owned::qrtr::<Words>(capacity).ok()?)));
    let (capacity, (mut writer, mut reader)) = made.expect("memory for a ring of records");
    // The kernel may promise zeroed memory without providing it. So this writes every slot once.
    while writer.push(&[u64::MAX; 4]).is_ok() {}
    while let Ok(Some(_)) = reader.pop() {}
    let shared_lost = Arc::new(Line(AtomicU64::new(0)));
    let recorder = Recorder { writer, shared_lost: Arc::clone(&shared_lost), lost: 0 };
    let drain = Drain { reader, capacity, shared_lost, owner, lost_reported: 0, latest: Instant::from_ns(0) };
    (recorder, drain)
}

impl Recorder {
    /// Records an event. If the ring is full, it counts the event as lost and returns `false`.
    ///
    /// Wait-free: at most [`STEPS`] shared accesses, no allocation, no system call, no panic path.
    #[inline]
    pub fn record(&mut self, record: Record) -> bool {
        let is_recorded = self.writer.push(&to_words(record)).is_ok();
        if !is_recorded {
            self.lost += 1;
            self.shared_lost.0.store(self.lost, Relaxed);
        }
        is_recorded
    }

    /// Records lost so far.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

impl Drain {
    /// Passes the recorded events to `take`, oldest first, at most as many as the ring holds. If records were lost
    /// since the last report, it then passes one record of the kind that [`RingOwner`] names, with the instant of the
    /// latest record taken. Returns the number of records that it passed.
    pub fn drain(&mut self, mut take: impl FnMut(Record)) -> u64 {
        let mut given = 0;
        for _ in 0..self.capacity {
            // The recorder never leaves an impossible position, and never stores an unknown kind.
            let Ok(Some(popped)) = self.reader.pop() else { break };
            if let Some(record) = from_words(popped.value) {
                self.latest = record.at;
                take(record);
                given += 1;
            }
        }
        let lost = self.shared_lost.0.load(Relaxed);
        if lost > self.lost_reported {
            let value = lost - self.lost_reported;
            self.lost_reported = lost;
            let (kind, subject) = match self.owner {
                RingOwner::Task(task) => (Kind::Lost, task),
                RingOwner::Core(core) => (Kind::CoreLost, core),
            };
            take(Record { at: self.latest, kind, cpu: 0, subject, job: 0, value });
            given += 1;
        }
        given
    }
}

#[inline]
fn to_words(record: Record) -> Words {
    let last = u64::from(record.subject) | (record.kind as u64) << 16 | u64::from(record.cpu) << 24;
    [record.at.as_ns(), record.job, record.value, last]
}

#[inline]
fn from_words([at, job, value, last]: Words) -> Option<Record> {
    let [low, high, kind, cpu, ..] = last.to_le_bytes();
    let subject = u16::from_le_bytes([low, high]);
    let kind = Kind::from_number(kind)?;
    Some(Record { at: Instant::from_ns(at), kind, cpu, subject, job, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: u64) -> Record {
        let at = Instant::from_ns(number);
        Record { at, kind: Kind::Send, cpu: 200, subject: 0xabcd, job: !number, value: number << 40 }
    }

    fn taken(drain: &mut Drain) -> Vec<Record> {
        let mut records = Vec::new();
        let given = drain.drain(|record| records.push(record));
        assert_eq!(given, records.len() as u64);
        records
    }

    #[test]
    fn words_are_the_files_bytes() {
        let record = record(5);
        let bytes: Vec<u8> = to_words(record).iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(bytes, record.to_bytes());
        assert_eq!(from_words(to_words(record)), Some(record));
        assert_eq!(from_words([u64::MAX; 4]), None);
    }

    #[test]
    fn in_order_over_many_rounds() {
        let (mut recorder, mut drain) = ring(RingOwner::Task(0), 8);
        for round in 0..10u64 {
            for i in 0..5 {
                assert!(recorder.record(record(round * 5 + i)));
            }
            let expected: Vec<Record> = (0..5).map(|i| record(round * 5 + i)).collect();
            assert_eq!(taken(&mut drain), expected);
        }
        assert_eq!(taken(&mut drain), []);
    }

    #[test]
    fn a_lost_record_of_a_core_names_the_core() {
        let (mut recorder, mut drain) = ring(RingOwner::Core(2), 2);
        for i in 0..3 {
            recorder.record(record(i));
        }
        let lost = taken(&mut drain)[2];
        assert_eq!((lost.kind, lost.subject, lost.value), (Kind::CoreLost, 2, 1));
    }

    #[test]
    fn full_loses_the_newest_and_records_it_once() {
        let (mut recorder, mut drain) = ring(RingOwner::Task(3), 4);
        for i in 0..7 {
            assert_eq!(recorder.record(record(i)), i < 4);
        }
        assert_eq!(recorder.lost(), 3);
        let records = taken(&mut drain);
        assert_eq!(records[..4], [0, 1, 2, 3].map(record));
        let lost = records[4];
        assert_eq!((lost.kind, lost.subject, lost.value, lost.at), (Kind::Lost, 3, 3, Instant::from_ns(3)));
        assert!(recorder.record(record(9)));
        assert_eq!(taken(&mut drain), [record(9)]);
    }

    #[test]
    fn two_threads_lose_nothing_unseen() {
        const RECORDS: u64 = if cfg!(miri) { 300 } else { 200_000 };
        let (mut recorder, mut drain) = ring(RingOwner::Task(0), 64);
        let thread = std::thread::spawn(move || {
            for i in 0..RECORDS {
                recorder.record(record(i));
            }
            recorder.lost()
        });
        let mut thread = Some(thread);
        let (mut next, mut seen, mut reported) = (0, 0, 0);
        let lost = loop {
            // `is_finished` orders nothing: only `join` makes the thread's last writes visible.
            let finished = thread.take_if(|thread| thread.is_finished()).map(|thread| thread.join().unwrap());
            drain.drain(|got| match got.kind {
                Kind::Lost => reported += got.value,
                _ => {
                    let number = got.at.as_ns();
                    assert!(number >= next, "order");
                    assert_eq!(got, record(number), "torn");
                    next = number + 1;
                    seen += 1;
                }
            });
            if let Some(lost) = finished {
                break lost;
            }
        };
        assert_eq!(lost, reported);
        assert_eq!(seen + reported, RECORDS);
    }
}
