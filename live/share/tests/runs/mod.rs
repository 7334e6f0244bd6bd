// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Small runs of any protocol, for the explorers of interleavings: loom and shuttle. Each asserts what `account`
//! checks, during the run, with freshness by a word beside the object, and at rest.

use std::sync::Arc;

#[cfg(loom)]
use loom::sync::atomic::{AtomicU64, Ordering};
#[cfg(loom)]
use loom::thread;
#[cfg(shuttle)]
use shuttle::sync::atomic::{AtomicU64, Ordering};
#[cfg(shuttle)]
use shuttle::thread;

use crate::account::{Newest, Order};
use crate::objects::{Queue, State, WhenFull};
use crate::payload::marked;
use crate::place::Place;

/// Writes 1 to `writes`, at most 63, and returns which were published, a bit each. Stores each published number in
/// `complete`.
fn write<const N: usize, S: State<N>>(mut writer: S::Writer, writes: u64, complete: &AtomicU64) -> u64 {
    let mut published = 0;
    for n in 1..=writes {
        if S::write(&mut writer, &marked(n)) {
            published |= 1 << n;
            complete.store(n, Ordering::Release);
        } else {
            assert!(!S::WRITES_ALWAYS, "{}: a write that did not", S::NAME);
        }
    }
    published
}

/// Reads `reads` times and returns which values were seen, a bit each. Stores each number in `seen`.
fn read<const N: usize, S: State<N>>(
    reader: &mut S::Reader,
    newest: &mut Newest,
    reads: u64,
    complete: &AtomicU64,
    seen: Option<&AtomicU64>,
) -> u64 {
    let mut values = 0;
    for _ in 0..reads {
        let floor = complete.load(Ordering::Acquire);
        if let Some(n) = newest.judge::<N, S>(S::read(reader), floor) {
            values |= 1 << n;
            if let Some(seen) = seen {
                seen.store(n, Ordering::Release);
            }
        }
    }
    values
}

/// Asserts that only published values were seen, and that at the end a reader gets the newest value.
fn at_rest<const N: usize, S: State<N>>(
    reader: &mut S::Reader,
    newest: &mut Newest,
    seen: u64,
    published: u64,
) {
    assert_eq!(seen & !published, 0, "{}: seen {seen:b}, published {published:b}", S::NAME);
    let last = u64::from(published.checked_ilog2().unwrap_or(0));
    let got = newest.judge::<N, S>(S::read(reader), last);
    assert_eq!(got.unwrap_or(0), last, "{}: not the newest", S::NAME);
}

/// A writer and a reader.
pub(crate) fn pair<const N: usize, S: State<N>>(writes: u64, reads: u64) {
    let place = Place::new(S::bytes());
    // SAFETY: the only ends.
    let (writer, mut reader) = unsafe { (S::writer(place.memory()), S::reader(place.memory(), 0)) };
    let complete = Arc::new(AtomicU64::new(0));
    let known = complete.clone();
    let writing = thread::spawn(move || write::<N, S>(writer, writes, &complete));
    let mut newest = Newest::default();
    let seen = read::<N, S>(&mut reader, &mut newest, reads, &known, None);
    let published = writing.join().unwrap();
    at_rest::<N, S>(&mut reader, &mut newest, seen, published);
}

/// A writer and two readers, of which the first must see what the second reported, if the protocol is atomic.
pub(crate) fn trio<const N: usize, S: State<N>>(writes: u64, reads: u64) {
    let place = Place::new(S::bytes());
    // SAFETY: the only ends, each once.
    let (writer, mut first, mut second) =
        unsafe { (S::writer(place.memory()), S::reader(place.memory(), 0), S::reader(place.memory(), 1)) };
    let complete = Arc::new(AtomicU64::new(0));
    let (known, also_known) = (complete.clone(), complete.clone());
    let reported = Arc::new(AtomicU64::new(0));
    let telling = reported.clone();
    let writing = thread::spawn(move || write::<N, S>(writer, writes, &complete));
    let reading = thread::spawn(move || {
        let mut newest = Newest::default();
        let seen = read::<N, S>(&mut second, &mut newest, reads, &also_known, Some(&telling));
        (second, newest, seen)
    });
    let mut newest = Newest::default();
    let floor = if S::ATOMIC { &reported } else { &known };
    let seen = read::<N, S>(&mut first, &mut newest, reads, floor, None);
    let published = writing.join().unwrap();
    let (mut second, mut newest_of_second, seen_by_second) = reading.join().unwrap();
    at_rest::<N, S>(&mut first, &mut newest, seen, published);
    at_rest::<N, S>(&mut second, &mut newest_of_second, seen_by_second, published);
}

/// A queue of `capacity`, with the given numbers of attempts at either end.
pub(crate) fn queue<const N: usize, Q: Queue<N>>(capacity: u32, pushes: u64, pops: u64) {
    let place = Place::new(Q::bytes(capacity));
    // SAFETY: the only ends.
    let (mut writer, mut reader) =
        unsafe { (Q::writer(place.memory(), capacity), Q::reader(place.memory(), capacity)) };
    let words = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
    let known = words.clone();
    let refuses = Q::WHEN_FULL == WhenFull::Refuse;
    let writing = thread::spawn(move || {
        let [complete, popped] = &*words;
        let mut pushed = 0;
        for _ in 0..pushes {
            // A writer that never refuses need not know how full the queue is.
            let before = if refuses { popped.load(Ordering::Acquire) } else { 0 };
            if Q::push(&mut writer, marked(pushed + 1)) {
                pushed += 1;
                complete.store(pushed, Ordering::Release);
            } else {
                assert!(refuses, "{}: refused", Q::NAME);
                assert!(pushed - before >= u64::from(capacity), "{}: refused, not full", Q::NAME);
            }
        }
        pushed
    });
    let [complete, popped] = &*known;
    let mut order = Order::default();
    for _ in 0..pops {
        let floor = complete.load(Ordering::Acquire);
        let taken = order.judge::<N, Q>(Q::pop(&mut reader), floor, capacity, || pushes);
        if refuses && taken.is_some() {
            popped.store(order.popped, Ordering::Release);
        }
    }
    let pushed = writing.join().unwrap();
    while order.judge::<N, Q>(Q::pop(&mut reader), pushed, capacity, || pushes).is_some() {}
    assert_eq!(order.last, pushed, "{}: the newest ones are missing", Q::NAME);
}
