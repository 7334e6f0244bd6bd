// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A ring of records: one recording thread, one draining thread.
//!
//! Use        every event of one real-time thread, in order; losses are counted, and nothing waits for room
//! Callers    `record` × `record` X (one `Recorder`, `&mut`); `drain` × `drain` X (one `Drain`, `&mut`);
//!            `record` × `drain` -
//! Progress   `record`: wait-free, at most [`STEPS`] shared accesses, no allocation, no system call; needs
//!            nothing from the other side. `drain`: wait-free per record, at most `capacity` records per call
//! State      `head`: records ever written; `tail`: records ever taken; `lost`: records ever refused. All only
//!            grow, in 64 bits, so they do not wrap in the life of a machine. Record n lives in slot n mod capacity
//! Invariants I1 tail ≤ head ≤ tail + capacity
//!            I2 slots of records tail..head belong to the drain, all others to the recorder
//! Orderings  O1 publish: Release of `head` in `record` ↔ Acquire of `head` in `drain`
//!            O2 release: Release of `tail` in `drain` ↔ Acquire of `tail` in `record`
//!            `lost` is Relaxed: a count that nothing depends on
//! Proof      The drain reads slots of n < head only after O1, so after the four stores of record n
//!            happened. The recorder cannot overwrite them meanwhile: it writes record n + capacity only when
//!            it has seen n < tail by O2, after the drain's loads of record n. Slots are four relaxed words, so
//!            there is no `unsafe` and no data race even if the proof is wrong; O1 and O2 make them untorn
//! Crash      Recorder dies: records before `head` can still be drained, and an unfinished one is invisible. Drain
//!            dies: the recorder fills up, then counts losses; it never waits
//! Source     Lamport's one-producer ring (1977), with the remote index cached on both sides
//! Checked    unit tests, step count, page faults on Linux; loom (capacity 2, 3 records, both sides), which fails
//!            when either side of O1 is weakened. Not covered: O2 by a tool, since its absence shows only where
//!            a load is delayed beyond a later store, which loom does not model; it rests on the proof

#[cfg(not(loom))]
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
#[cfg(not(loom))]
use std::sync::Arc;

#[cfg(loom)]
use loom::sync::Arc;
#[cfg(loom)]
use loom::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use taut_event::{Kind, Record};
use taut_time::Instant;

use crate::word::Word;

/// The most shared accesses that [`Recorder::record`] makes: the other side's position, four words, its own.
pub const STEPS: u32 = 6;

/// Two cache lines, which processors fetch in pairs: keeps each side's words off the other's.
#[repr(align(128))]
#[derive(Debug)]
struct Line<T>(T);

#[derive(Debug)]
struct Shared {
    head: Line<(Word, Word)>,
    tail: Line<Word>,
    slots: Box<[[Word; 4]]>,
}

impl Shared {
    /// O1's word.
    fn head(&self) -> &Word {
        &self.head.0.0
    }
    /// Records refused; written by the recorder, hence beside `head`.
    fn lost(&self) -> &Word {
        &self.head.0.1
    }
    /// O2's word.
    fn tail(&self) -> &Word {
        &self.tail.0
    }
    fn slot(&self, number: u64) -> &[Word; 4] {
        // The length is a power of two: the mask keeps the position in range whatever `number` is.
        &self.slots[(number & (self.slots.len() as u64 - 1)) as usize]
    }
}

/// The recording end, owned by one thread.
#[derive(Debug)]
pub struct Recorder {
    shared: Arc<Shared>,
    head: u64,
    tail_seen: u64,
    lost: u64,
}

/// The draining end, owned by one thread.
#[derive(Debug)]
pub struct Drain {
    shared: Arc<Shared>,
    owner: Owner,
    tail: u64,
    lost_reported: u64,
    latest: Instant,
}

/// The owner of the records in a ring. It decides which record reports a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A task's thread, by the task's position in the plan: [`Kind::Lost`].
    Task(u16),
    /// A core's dispatcher and the threads that take turns there, by the core's position in the plan:
    /// [`Kind::CoreLost`].
    Core(u16),
}

/// A ring for at least `capacity` records (rounded up to a power of two, at least 2) of 32 bytes each.
///
/// Allocates all memory, and writes to every page of it, so that recording takes no page fault.
pub fn ring(owner: Owner, capacity: usize) -> (Recorder, Drain) {
    let capacity = capacity.max(2).next_power_of_two();
    let slots: Box<[[Word; 4]]> = (0..capacity).map(|_| std::array::from_fn(|_| Word::new(0))).collect();
    let shared = Shared { head: Line((Word::new(0), Word::new(0))), tail: Line(Word::new(0)), slots };
    // The kernel may promise zeroed memory without providing it. The compiler does not elide these atomic stores.
    for word in shared.slots.iter().flatten() {
        word.store(u64::MAX, Relaxed);
    }
    let shared = Arc::new(shared);
    let recorder = Recorder { shared: Arc::clone(&shared), head: 0, tail_seen: 0, lost: 0 };
    (recorder, Drain { shared, owner, tail: 0, lost_reported: 0, latest: Instant::from_ns(0) })
}

impl Recorder {
    /// Records an event. If the ring is full, it counts the event as lost and returns `false`.
    ///
    /// Wait-free: at most [`STEPS`] shared accesses, no allocation, no system call, no panic path.
    #[inline]
    pub fn record(&mut self, record: Record) -> bool {
        let shared = &*self.shared;
        if self.head - self.tail_seen >= shared.slots.len() as u64 {
            self.tail_seen = shared.tail().load(Acquire); // O2 release
            if self.head - self.tail_seen >= shared.slots.len() as u64 {
                self.lost += 1;
                shared.lost().store(self.lost, Relaxed);
                return false;
            }
        }
        // I2: the slot is ours until `head` passes it.
        for (word, value) in shared.slot(self.head).iter().zip(to_words(record)) {
            word.store(value, Relaxed);
        }
        self.head += 1;
        shared.head().store(self.head, Release); // O1 publish
        true
    }

    /// Records lost so far.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

impl Drain {
    /// Takes the recorded events, oldest first, at most as many as the ring holds. If records were lost since the
    /// last report, it then gives one record of the kind that [`Owner`] names, at the time of the latest record
    /// taken. Returns how many records it gave.
    pub fn drain(&mut self, mut take: impl FnMut(Record)) -> u64 {
        let shared = &*self.shared;
        let head = shared.head().load(Acquire); // O1 publish
        let mut given = 0;
        while self.tail < head {
            let words = shared.slot(self.tail).each_ref().map(|word| word.load(Relaxed));
            self.tail += 1;
            shared.tail().store(self.tail, Release); // O2 release
            // The recorder stored the words of a record, so its kind is known.
            if let Some(record) = from_words(words) {
                self.latest = record.at;
                take(record);
                given += 1;
            }
        }
        let lost = shared.lost().load(Relaxed);
        if lost > self.lost_reported {
            let value = lost - self.lost_reported;
            self.lost_reported = lost;
            let (kind, subject) = match self.owner {
                Owner::Task(task) => (Kind::Lost, task),
                Owner::Core(core) => (Kind::CoreLost, core),
            };
            take(Record { at: self.latest, kind, cpu: 0, subject, job: 0, value });
            given += 1;
        }
        given
    }
}

/// As in the file, in words: at, job, value, and subject, kind and cpu in one.
#[inline]
fn to_words(record: Record) -> [u64; 4] {
    let last = u64::from(record.subject) | (record.kind as u64) << 16 | u64::from(record.cpu) << 24;
    [record.at.as_ns(), record.job, record.value, last]
}

#[inline]
fn from_words([at, job, value, last]: [u64; 4]) -> Option<Record> {
    let [low, high, kind, cpu, ..] = last.to_le_bytes();
    let subject = u16::from_le_bytes([low, high]);
    let kind = Kind::from_number(kind)?;
    Some(Record { at: Instant::from_ns(at), kind, cpu, subject, job, value })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::word::STEPS_TAKEN;

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
        let (mut recorder, mut drain) = ring(Owner::Task(0), 8);
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
    fn what_a_core_lost_is_told_of_the_core() {
        let (mut recorder, mut drain) = ring(Owner::Core(2), 2);
        for i in 0..3 {
            recorder.record(record(i));
        }
        let lost = taken(&mut drain)[2];
        assert_eq!((lost.kind, lost.subject, lost.value), (Kind::CoreLost, 2, 1));
    }

    #[test]
    fn full_loses_the_newest_and_tells_once() {
        let (mut recorder, mut drain) = ring(Owner::Task(3), 4);
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
    fn steps_are_bounded() {
        let (mut recorder, mut drain) = ring(Owner::Task(0), 4);
        let mut most = 0;
        for i in 0..100 {
            STEPS_TAKEN.set(0);
            recorder.record(record(i));
            most = most.max(STEPS_TAKEN.get());
            if i % 7 == 0 {
                taken(&mut drain);
            }
        }
        assert_eq!(most, STEPS);
    }

    #[test]
    fn two_threads_lose_nothing_unseen() {
        const RECORDS: u64 = if cfg!(miri) { 300 } else { 200_000 };
        let (mut recorder, mut drain) = ring(Owner::Task(0), 64);
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

/// `RUSTFLAGS="--cfg loom" cargo test -p taut-trace --release --lib`
#[cfg(all(test, loom))]
mod model {
    use super::*;

    #[test]
    fn every_interleaving() {
        loom::model(|| {
            let (mut recorder, mut drain) = ring(Owner::Task(0), 2);
            let record = |n: u64| Record {
                at: Instant::from_ns(n + 1),
                kind: Kind::Send,
                cpu: 0,
                subject: 0,
                job: n,
                value: n,
            };
            let thread = loom::thread::spawn(move || {
                for n in 0..3 {
                    recorder.record(record(n));
                }
                recorder.lost()
            });
            let (mut seen, mut reported, mut next) = (0, 0, 0);
            let mut take = |got: Record| match got.kind {
                Kind::Lost => reported += got.value,
                _ => {
                    assert!(got.job >= next);
                    assert_eq!(got, record(got.job));
                    next = got.job + 1;
                    seen += 1;
                }
            };
            drain.drain(&mut take);
            let lost = thread.join().unwrap();
            drain.drain(&mut take);
            assert_eq!((reported, seen), (lost, 3 - lost));
        });
    }
}
