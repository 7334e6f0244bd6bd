// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The queues in one thread: slices and chunks compared with single values, losses, layout, successors, followers.

use std::collections::VecDeque;

use taut_atomic::Ordering::Relaxed;
use taut_share::queue::ring::{self, DiscardPolicy};
use taut_share::queue::{qrtr, qrtwc, qrtwo};
use taut_share::{LINE_BYTES, LayoutError, List, Memory};

use crate::payload::{marked, number};
use crate::place::Place;

/// Pseudo-random numbers below `limit`.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// A value of `N` bytes that shows its number.
fn bytes<const N: usize>(n: u64) -> [u8; N] {
    core::array::from_fn(|i| n.wrapping_mul(151).wrapping_add(i as u64 * 7 + 1) as u8)
}

/// A follower that rewinds begins with the last values, with as many as there are and as the queue holds, and counts what the
/// writer overwrites before it has taken them.
#[test]
fn a_follower_begins_with_earlier_values() {
    let place = Place::new(qrtwo::bytes::<[u64; 9]>(4, 8).unwrap());
    // SAFETY: one writer, and followers, of one object in memory that begins with zeros
    let (mut writer, follower) = unsafe {
        let writer = qrtwo::writer::<[u64; 9]>(place.memory(), 4, 8).unwrap();
        (writer, qrtwo::follower::<[u64; 9]>(place.memory(), 4, 8).unwrap())
    };
    let from = |count: u32| {
        let mut follower = follower.clone();
        follower.rewind(count);
        let mut all = Vec::new();
        while let Some(popped) = follower.pop().unwrap() {
            assert_eq!(popped.lost, 0);
            all.push(popped.value[0]);
        }
        all
    };
    assert_eq!(from(3), []);
    (1..=2).for_each(|n| writer.push(&[n; 9]));
    assert_eq!((from(0), from(1), from(3)), (vec![], vec![2], vec![1, 2]));
    (3..=10).for_each(|n| writer.push(&[n; 9]));
    assert_eq!((from(1), from(4), from(u32::MAX)), (vec![10], vec![7, 8, 9, 10], vec![7, 8, 9, 10]));
    // Two of its four values go before it takes the first one.
    let mut slow = follower.clone();
    slow.rewind(4);
    (11..=12).for_each(|n| writer.push(&[n; 9]));
    let first = slow.pop().unwrap().unwrap();
    assert_eq!((first.value[0], first.lost), (9, 2));
    // What it has taken comes again.
    slow.rewind(2);
    assert_eq!(slow.pop().unwrap().unwrap().value[0], 11);
    // Values that were copied ahead are forgotten.
    let place = Place::new(qrtwo::bytes::<u64>(4, 8).unwrap());
    let (mut writer, reader) = qrtwo::pair::<u64>(place.memory(), 4, 8).unwrap();
    let mut ahead = reader.follower();
    (1..=4).for_each(|n| writer.push(&n));
    assert_eq!(ahead.pop().unwrap().unwrap().value, 1);
    ahead.rewind(1);
    assert_eq!((ahead.pop().unwrap().unwrap().value, ahead.pop()), (4, Ok(None)));
}

/// A watcher sees what the reader has not returned, also what it has copied ahead, and stores nothing.
#[test]
fn a_watcher_sees_what_waits() {
    let place = Place::new(qrtwo::bytes::<u64>(3, 8).unwrap());
    assert!(qrtwo::watcher::<u64>(place.memory(), 4_000, 8).is_err(), "too small");
    let (mut writer, mut reader) = qrtwo::pair::<u64>(place.memory(), 3, 8).unwrap();
    let watcher = qrtwo::watcher::<u64>(place.memory(), 3, 8).unwrap();
    assert!(watcher.is_empty());
    (1..=3).for_each(|n| writer.push(&n));
    for n in 1..=3 {
        assert!(!watcher.is_empty());
        assert_eq!(reader.pop().unwrap().unwrap().value, n);
    }
    assert!(watcher.is_empty());
    // More than fit: the reader takes three, and counts the others.
    (4..=100).for_each(|n| writer.push(&n));
    let first = reader.pop().unwrap().unwrap();
    assert_eq!((first.value, first.lost), (98, 94));
    for n in 99..=100 {
        assert!(!watcher.is_empty());
        assert_eq!(reader.pop().unwrap().unwrap().value, n);
    }
    assert!(watcher.is_empty() && reader.pop() == Ok(None));
}

#[test]
fn layout_is_as_documented() {
    fn check<const N: usize>(stride: usize, batch: usize) {
        for capacity in [1, 2, 3, 100] {
            let slots = stride * (capacity as usize + 2 * batch);
            let all = 256 + slots.next_multiple_of(LINE_BYTES);
            assert_eq!(qrtwo::bytes::<[u8; N]>(capacity, 0), Some(all), "{capacity} × {N}");
            assert_eq!(qrtwc::bytes::<[u8; N]>(capacity, 0), Some(all), "{capacity} × {N}");
        }
    }
    check::<0>(0, 1);
    check::<1>(8, 8);
    check::<8>(8, 8);
    check::<9>(16, 4);
    check::<24>(24, 2);
    check::<32>(32, 2);
    check::<33>(40, 1);
    check::<57>(64, 1);
    check::<64>(64, 1);
    check::<65>(128, 1);
    check::<4096>(4096, 1);
    assert_eq!(qrtwo::bytes::<[u8; 1 << (usize::BITS - 24)]>(u32::MAX, 0), None);
}

#[test]
fn too_small_or_without_capacity_is_refused() {
    let small = Err(LayoutError::TooSmall { needed: 640, given: 384 });
    assert_eq!(qrtwo::pair::<u64>(Place::new(384).memory(), 1 + 16, 0).map(drop), small);
    assert_eq!(qrtwc::pair::<u64>(Place::new(384).memory(), 1 + 16, 0).map(drop), small);
    assert_eq!(qrtwo::pair::<u64>(Place::new(512).memory(), 16, 0).map(drop), Ok(()));
    assert_eq!(qrtwo::pair::<u64>(Place::new(512).memory(), 0, 0).map(drop), Err(LayoutError::Capacity));
    assert_eq!(qrtwc::pair::<u64>(Place::new(512).memory(), 0, 0).map(drop), Err(LayoutError::Capacity));
    let place = Place::new(128);
    // SAFETY: refused, so nothing is attached.
    unsafe {
        assert!(qrtwo::writer::<u64>(place.memory(), 1, 0).is_err());
        assert!(qrtwo::reader::<u64>(place.memory(), 1, 0).is_err());
        assert!(qrtwc::follower::<u64>(place.memory(), 1, 0).is_err());
    }
}

#[test]
fn errors_speak() {
    assert!(qrtwo::Overwritten.to_string().contains("overwrote"));
    assert!(qrtwc::Overwritten.to_string().contains("overwrote"));
}

/// The policy on a list, as seen by a reader that pops by the line: the values that it reads ahead and then returns
/// count as taken when it read them.
struct Policed {
    capacity: usize,
    full: fn(&mut VecDeque<u64>),
    /// Values per line.
    line: usize,
    /// The values that waited when the line was read, how many of them the reader has read, and how many it has
    /// returned.
    base: VecDeque<u64>,
    read: usize,
    taken: usize,
    /// Values pushed since.
    pushes: Vec<u64>,
}

impl Policed {
    /// The values that wait if `taken` values of the line were taken when it was read.
    fn list(&self, taken: usize) -> VecDeque<u64> {
        let mut list: VecDeque<u64> = self.base.range(taken..).copied().collect();
        for &n in &self.pushes {
            if list.len() == self.capacity {
                (self.full)(&mut list);
            }
            list.push_back(n);
        }
        list
    }

    fn look(&mut self) {
        self.base = self.list(self.taken);
        (self.read, self.taken) = (0, 0);
        self.pushes.clear();
    }

    /// Number of values that a reader would get.
    fn len(&self) -> usize {
        self.read - self.taken + self.list(self.read).len()
    }

    fn pop(&mut self) -> Option<u64> {
        if self.read == self.taken {
            self.look();
            self.read = self.line.min(self.base.len());
        }
        let n = (self.taken < self.read).then(|| self.base[self.taken])?;
        self.taken += 1;
        Some(n)
    }

    fn pop_slice(&mut self, wanted: usize) -> Vec<u64> {
        if wanted == 0 {
            return Vec::new();
        }
        self.look();
        self.base.drain(..wanted.min(self.base.len())).collect()
    }
}

/// Random pushes and pops of one value and of several, compared with the policy on a list.
fn by_the_policy<P: DiscardPolicy, const N: usize>(
    (mut writer, mut reader): (ring::Writer<'_, [u8; N], P>, ring::Reader<'_, [u8; N], P>),
    full: fn(&mut VecDeque<u64>),
) {
    let capacity = writer.capacity();
    let line = (64 / N.next_multiple_of(8)).max(1);
    let (base, pushes) = (VecDeque::new(), Vec::new());
    let mut list = Policed { capacity, full, line, base, read: 0, taken: 0, pushes };
    let (mut random, mut pushed, mut last, mut lost) = (Random(7), 0, 0, 0);
    let rounds = if cfg!(miri) { 12 } else { 400 };
    for _ in 0..rounds {
        let count = random.below(2 * capacity + 3);
        let values: Vec<_> = (1..=count as u64).map(|n| bytes(pushed + n)).collect();
        if count == 1 {
            writer.push(&values[0]);
        } else {
            writer.push_slice(&values);
        }
        list.pushes.extend((1..=count as u64).map(|n| pushed + n));
        pushed += count as u64;
        let waiting = list.list(list.taken).len();
        assert_eq!((writer.len(), reader.len(), writer.pushed()), (waiting, list.len(), pushed));
        assert_eq!((writer.is_empty(), reader.is_empty()), (waiting == 0, list.len() == 0));
        let wanted = random.below(capacity + 3);
        if wanted == 2 {
            let mut value = [0xEE; N];
            let popped = reader.pop_into(&mut value).unwrap();
            let expected = list.pop();
            assert_eq!(popped, expected.map(|n| n - last - 1));
            assert_eq!(value, expected.map_or([0xEE; N], bytes));
            if let (Some(more), Some(n)) = (popped, expected) {
                (last, lost) = (n, lost + more);
            }
        } else if wanted == 1 {
            let popped = reader.pop_within(3).unwrap();
            let expected = list.pop();
            assert_eq!(popped.map(|popped| popped.value), expected.map(bytes));
            if let (Some(popped), Some(n)) = (popped, expected) {
                assert_eq!(popped.lost, n - last - 1);
                (last, lost) = (n, lost + popped.lost);
            }
        } else {
            let mut values = vec![[0xEE; N]; wanted];
            let popped = reader.pop_slice(&mut values).unwrap();
            let expected = list.pop_slice(wanted);
            assert_eq!(popped.count, expected.len());
            assert!(values[popped.count..].iter().all(|value| *value == [0xEE; N]), "beyond what was taken");
            for (i, (value, n)) in values.iter().zip(expected).enumerate() {
                assert_eq!(*value, bytes(n), "{i} of {wanted}");
                if i == 0 {
                    assert_eq!(popped.lost, n - last - 1);
                    lost += popped.lost;
                }
                last = n;
            }
        }
        assert_eq!(reader.lost(), lost);
    }
    assert!(lost > 0 && last > 0);
}

#[test]
fn single_values_and_slices_follow_the_policy() {
    fn check<const N: usize>() {
        let capacities: &[u32] = if cfg!(miri) { &[3] } else { &[1, 2, 3, 5, 8, 13] };
        for &capacity in capacities {
            let place = Place::new(qrtwo::bytes::<[u8; N]>(capacity, 0).unwrap());
            let ends = qrtwo::pair::<[u8; N]>(place.memory(), capacity, 0).unwrap();
            assert_eq!((ends.0.capacity(), ends.1.capacity()), (capacity as usize, capacity as usize));
            by_the_policy(ends, |list| assert!(list.pop_front().is_some()));
            let place = Place::new(qrtwc::bytes::<[u8; N]>(capacity, 0).unwrap());
            by_the_policy(qrtwc::pair::<[u8; N]>(place.memory(), capacity, 0).unwrap(), VecDeque::clear);
        }
    }
    check::<20>();
    check::<64>();
    if !cfg!(miri) {
        check::<1>();
        check::<8>();
        check::<65>();
        check::<520>();
    }
}

#[test]
fn lists_are_values_of_the_ring() {
    type Text = List<u8, 30>;
    let place = Place::new(qrtwo::bytes::<Text>(3, 0).unwrap());
    let (mut writer, mut reader) = qrtwo::pair::<Text>(place.memory(), 3, 0).unwrap();
    let text = |n: usize| Text::of(&[b'a' + n as u8; 30][..n % 31]).unwrap();
    let mut values = [Text::new(); 3];
    for n in 0..60 {
        writer.push(&text(2 * n % 25));
        writer.push_slice(&[text(n % 26), text((n + 1) % 26)]);
        if n % 2 == 0 {
            assert_eq!(reader.pop_slice(&mut values).unwrap().count, 3);
            assert_eq!(values, [text(2 * n % 25), text(n % 26), text((n + 1) % 26)]);
        } else {
            assert_eq!(reader.pop().unwrap().unwrap().value, text(2 * n % 25));
            assert_eq!(reader.pop().unwrap().unwrap().value, text(n % 26));
        }
    }
}

#[test]
fn values_without_bytes_count() {
    let place = Place::new(qrtwo::bytes::<[u8; 0]>(3, 0).unwrap());
    let (mut writer, mut reader) = qrtwo::pair::<[u8; 0]>(place.memory(), 3, 0).unwrap();
    writer.push_slice(&[[]; 5]);
    assert_eq!(reader.pop(), Ok(Some(qrtwo::Popped { value: [], lost: 2 })));
    let mut values = [[]; 9];
    assert_eq!(reader.pop_slice(&mut values), Ok(qrtwo::PoppedSlice { count: 2, lost: 0 }));
}

/// The writer goes around the ring many times between two pops.
#[test]
fn a_reader_that_was_lapped_goes_on_by_the_policy() {
    for capacity in [1u32, 2, 5] {
        let place = Place::new(qrtwo::bytes::<[u64; 8]>(capacity, 0).unwrap());
        let (mut writer, mut reader) = qrtwo::pair::<[u64; 8]>(place.memory(), capacity, 0).unwrap();
        let (mut last, mut lost) = (0, 0);
        for n in 1..=if cfg!(miri) { 111 } else { 999 } {
            writer.push(&marked(n));
            if n % 37 == 0 {
                let popped = reader.pop().unwrap().unwrap();
                last += popped.lost + 1;
                lost += popped.lost;
                assert_eq!((number(&popped.value), n - last), (last, u64::from(capacity) - 1));
            }
        }
        assert_eq!(reader.lost(), lost);
    }
}

#[test]
fn successors_go_on() {
    for capacity in [1u32, 3, 4] {
        let place = Place::new(qrtwo::bytes::<u64>(capacity, 0).unwrap());
        let (mut pushed, mut last) = (0u64, 0u64);
        for round in 0..60u64 {
            // SAFETY: the ends of the previous round were dropped.
            let (mut writer, mut reader) = unsafe {
                (
                    qrtwo::writer::<u64>(place.memory(), capacity, 0).unwrap(),
                    qrtwo::reader::<u64>(place.memory(), capacity, 0).unwrap(),
                )
            };
            assert_eq!((writer.pushed(), reader.lost()), (pushed, 0));
            for _ in 0..round % 7 {
                pushed += 1;
                writer.push(&pushed);
            }
            for _ in 0..round % 3 {
                if let Some(popped) = reader.pop().unwrap() {
                    last += popped.lost + 1;
                    assert_eq!(popped.value, last, "what the reader before has taken comes not again");
                }
            }
            assert_eq!(writer.len(), (pushed - last).min(u64::from(capacity)) as usize);
        }
        assert!(last > 20);
    }
}

/// The successor of a reader that died between its copy and the store of its head gets the value again.
#[test]
fn a_value_is_read_again_if_its_reader_died_before_the_acknowledgement() {
    let place = Place::new(qrtwc::bytes::<u64>(4, 0).unwrap());
    let head = place.memory().claim().word(128);
    let (mut writer, mut reader) = qrtwc::pair::<u64>(place.memory(), 4, 0).unwrap();
    writer.push_slice(&[1, 2, 3]);
    assert_eq!(reader.pop().unwrap().unwrap().value, 1);
    let before = head.load(Relaxed);
    assert_eq!(reader.pop().unwrap().unwrap().value, 2);
    head.store(before, Relaxed); // The reader died before that store.
    // SAFETY: the previous reader is not used again.
    let mut reader = unsafe { qrtwc::reader::<u64>(place.memory(), 4, 0) }.unwrap();
    assert_eq!(reader.pop().unwrap().unwrap().value, 2);
    assert_eq!(reader.pop().unwrap().unwrap().value, 3);
    assert_eq!(reader.pop(), Ok(None));
}

/// A writer that dies in a push has written only to slots of values that are not published yet; its successor uses
/// the same slots.
#[test]
fn a_writer_that_died_in_a_push_leaves_no_gap() {
    let place = Place::new(qrtwo::bytes::<u64>(2, 0).unwrap());
    let slot = |number: usize| place.memory().claim().word(256 + 8 * (number % 18));
    let (mut writer, mut reader) = qrtwo::pair::<u64>(place.memory(), 2, 0).unwrap();
    for n in 0..40 {
        writer.push(&n);
        // The writer dies in a batch of 8, with some of its words stored.
        for spoilt in [1, 3, 8] {
            slot(n as usize + spoilt).store(u64::MAX, Relaxed);
        }
        // SAFETY: the previous writer is not used again.
        writer = unsafe { qrtwo::writer(place.memory(), 2, 0) }.unwrap();
        if n % 3 == 2 {
            assert_eq!(reader.pop().unwrap().unwrap().value, n - 1);
            assert_eq!(reader.pop().unwrap().unwrap().value, n);
            assert_eq!(reader.pop(), Ok(None));
        }
    }
}

#[test]
fn followers_see_every_value_and_take_none() {
    let place = Place::new(qrtwo::bytes::<u64>(4, 0).unwrap());
    let (mut writer, mut reader) = qrtwo::pair::<u64>(place.memory(), 4, 0).unwrap();
    writer.push_slice(&[1, 2]);
    assert_eq!(reader.pop().unwrap().unwrap().value, 1);
    let mut beside = reader.follower();
    // SAFETY: followers may be many.
    let mut late = unsafe { qrtwo::follower::<u64>(place.memory(), 4, 0) }.unwrap();
    assert_eq!((reader.len(), beside.len(), late.len(), writer.len()), (1, 1, 0, 1));
    writer.push(&3);
    let mut clone = beside.clone();
    assert_eq!(beside.pop(), Ok(Some(qrtwo::Popped { value: 2, lost: 0 })));
    assert_eq!(late.pop(), Ok(Some(qrtwo::Popped { value: 3, lost: 0 })));
    assert_eq!((reader.len(), beside.len(), late.len(), writer.len()), (2, 1, 0, 2));
    writer.push_slice(&[4, 5, 6, 7]);
    assert_eq!(clone.pop(), Ok(Some(qrtwo::Popped { value: 4, lost: 2 })));
    // The reader returns values that it has read ahead, although the writer has discarded them since.
    assert_eq!(beside.pop(), Ok(Some(qrtwo::Popped { value: 3, lost: 0 })));
    assert_eq!(beside.pop(), Ok(Some(qrtwo::Popped { value: 4, lost: 0 })));
    assert_eq!(late.pop(), Ok(Some(qrtwo::Popped { value: 4, lost: 0 })));
    assert_eq!(reader.pop(), Ok(Some(qrtwo::Popped { value: 2, lost: 0 })));
    assert_eq!(reader.pop(), Ok(Some(qrtwo::Popped { value: 4, lost: 1 })));
    assert_eq!((reader.lost(), beside.lost(), late.lost(), clone.lost()), (1, 0, 0, 2));
    // Followers leave nothing in the object: a successor continues after the reader.
    while late.pop().unwrap().is_some() {}
    // SAFETY: the previous reader is not used again.
    let mut next = unsafe { qrtwo::reader::<u64>(place.memory(), 4, 0) }.unwrap();
    assert_eq!(next.pop(), Ok(Some(qrtwo::Popped { value: 5, lost: 0 })));
}

/// Any tail and head that a peer may leave: nothing outside of the memory is accessed, and the correct words are
/// accepted again.
#[test]
fn indices_of_the_other_side_are_bounded() {
    let lies = [0, 1, 5, 1 << 32, u64::MAX - 1, u64::MAX];
    fn check<P: DiscardPolicy>(
        (mut writer, mut reader): (ring::Writer<'_, u64, P>, ring::Reader<'_, u64, P>),
        memory: Memory<'static>,
        lies: &[u64],
    ) {
        let memory = memory.claim();
        let (tail, head) = (memory.word(0), memory.word(128));
        for lie in lies {
            writer.push(&7);
            let truth = tail.load(Relaxed);
            tail.store(*lie, Relaxed);
            assert!(reader.len() <= 3);
            for _ in 0..9 {
                let _ = reader.pop();
            }
            let mut values = [0; 9];
            assert!(reader.pop_slice(&mut values).map_or(0, |popped| popped.count) <= 3);
            head.store(*lie, Relaxed);
            assert!(writer.len() <= 3);
            tail.store(truth, Relaxed);
            assert!(reader.len() <= 3);
            while reader.pop().unwrap().is_some() {}
            writer.push_slice(&[1, 2]);
            assert_eq!(reader.pop().unwrap().unwrap().value, 1, "after {lie}");
            assert_eq!(reader.pop().unwrap().unwrap().value, 2, "after {lie}");
            assert_eq!(reader.pop(), Ok(None));
        }
    }
    let place = Place::new(qrtwo::bytes::<u64>(3, 0).unwrap());
    check(qrtwo::pair(place.memory(), 3, 0).unwrap(), place.memory(), &lies);
    let place = Place::new(qrtwc::bytes::<u64>(3, 0).unwrap());
    check(qrtwc::pair(place.memory(), 3, 0).unwrap(), place.memory(), &lies);
}

/// Every form of QrtR's operations, chosen at random, compared with a list.
#[test]
fn qrtr_forms_are_one_queue() {
    fn check<const N: usize>(capacity: u32) {
        let place = Place::new(qrtr::bytes::<[u8; N]>(capacity).unwrap());
        let (mut writer, mut reader) = qrtr::pair::<[u8; N]>(place.memory(), capacity).unwrap();
        let (mut list, mut random, mut pushed) = (VecDeque::new(), Random(u64::from(capacity)), 0);
        let rounds = if cfg!(miri) { 8 } else { 600u64 };
        for _ in 0..rounds {
            let room = capacity as usize - list.len();
            let wanted = random.below(capacity as usize + 2);
            let values: Vec<_> = (1..=wanted as u64).map(|n| bytes::<N>(pushed + n)).collect();
            let arrived = match random.below(4) {
                0 => usize::from(writer.push(bytes(pushed + 1)).is_ok()),
                1 => usize::from(writer.push_with(|slot| *slot = bytes(pushed + 1)).is_ok()),
                2 => {
                    let count = writer.push_slice(&values);
                    assert_eq!(count, wanted.min(room));
                    count
                }
                _ => {
                    let mut chunk = writer.write_chunk(wanted);
                    assert_eq!((chunk.len(), chunk.is_empty()), (wanted.min(room), wanted.min(room) == 0));
                    assert_eq!(chunk.iter_mut().count(), chunk.len());
                    chunk.iter_mut().zip(&values).for_each(|(slot, value)| *slot = *value);
                    chunk.commit(wanted / 2 + 1)
                }
            };
            list.extend((1..=arrived as u64).map(|n| pushed + n));
            pushed += arrived as u64;
            assert_eq!((writer.len(), reader.len()), (list.len(), list.len()));
            let wanted = random.below(capacity as usize + 2);
            let front = list.front().copied().map(bytes::<N>);
            let taken = match random.below(4) {
                0 => {
                    let value = reader.pop().unwrap();
                    assert_eq!(value, front);
                    usize::from(value.is_some())
                }
                1 => {
                    let value = reader.pop_with(|value| *value).unwrap();
                    assert_eq!(value, front);
                    usize::from(value.is_some())
                }
                2 => {
                    let mut values = vec![[0xEE; N]; wanted];
                    let count = reader.pop_slice(&mut values).unwrap();
                    assert_eq!(count, wanted.min(list.len()));
                    assert!(values.iter().zip(&list).take(count).all(|(value, n)| *value == bytes(*n)));
                    assert!(values[count..].iter().all(|value| *value == [0xEE; N]));
                    count
                }
                _ => {
                    let chunk = reader.read_chunk(wanted).unwrap();
                    assert_eq!(chunk.len(), wanted.min(list.len()));
                    assert_eq!(chunk.is_empty(), list.is_empty() || wanted == 0);
                    assert!(chunk.iter().zip(&list).all(|(value, n)| *value == bytes(*n)));
                    chunk.commit(wanted / 2 + 1)
                }
            };
            list.drain(..taken);
            assert_eq!((writer.len(), reader.len()), (list.len(), list.len()));
        }
        assert!(pushed > rounds / 10);
    }
    let capacities: &[u32] = if cfg!(miri) { &[1, 5] } else { &[1, 2, 5, 8] };
    for &capacity in capacities {
        check::<20>(capacity);
        check::<65>(capacity);
        if !cfg!(miri) {
            check::<1>(capacity);
            check::<8>(capacity);
            check::<64>(capacity);
            check::<128>(capacity);
        }
    }
}

#[test]
fn qrtr_chunks_are_slices_where_there_is_no_space_between() {
    let place = Place::new(qrtr::bytes::<u64>(4).unwrap());
    let (mut writer, mut reader) = qrtr::pair::<u64>(place.memory(), 4).unwrap();
    for begin in 0..4 {
        let mut chunk = writer.write_chunk(9);
        let until_end = 4 - begin;
        let (first, second) = chunk.as_mut_slices();
        assert_eq!((first.len(), second.len()), (until_end, begin));
        first.iter_mut().chain(second).zip(1..).for_each(|(slot, n)| *slot = n);
        assert_eq!(chunk.commit_all(), 4);
        assert!(writer.write_chunk(1).is_empty() && writer.push_with(|_| panic!("full")).is_err());
        let values = [1, 2, 3, 4];
        let chunk = reader.read_chunk(9).unwrap();
        assert_eq!(chunk.as_slices(), values.split_at(until_end));
        let chunk = reader.read_chunk(3).unwrap();
        assert_eq!((chunk.len(), chunk.iter().rev().copied().collect::<Vec<_>>()), (3, vec![3, 2, 1]));
        assert_eq!((chunk.commit(0), reader.len()), (0, 4), "what is not committed was not taken");
        assert_eq!(reader.read_chunk(9).unwrap().commit_all(), 4);
        // One more value, so that the next round begins one slot further.
        assert_eq!((writer.push(9), reader.pop()), (Ok(()), Ok(Some(9))));
    }
}

#[test]
fn qrtr_lists_go_by_slices_and_where_they_lie() {
    type Text = List<u8, 30>;
    let place = Place::new(qrtr::bytes::<Text>(3).unwrap());
    let (mut writer, mut reader) = qrtr::pair::<Text>(place.memory(), 3).unwrap();
    for n in 0..40u8 {
        let text = |more| Text::of(&vec![b'a' + more; usize::from(n + more) % 31]).unwrap();
        assert_eq!(writer.push_slice(&[text(0), text(1)]), 2);
        let filled = writer.push_with(|slot| {
            slot.clear();
            slot.extend(&text(2))
        });
        assert!(matches!(filled, Ok(true)));
        assert_eq!(reader.pop_with(|value| *value == text(0)), Ok(Some(true)));
        let mut values = [Text::new(); 3];
        assert_eq!(reader.pop_slice(&mut values), Ok(2));
        assert_eq!(values[..2], [text(1), text(2)]);
    }
}

#[test]
fn qrtr_forms_bound_what_the_other_side_says() {
    let place = Place::new(qrtr::bytes::<u64>(4).unwrap());
    let (tail, head) = (place.memory().claim().word(0), place.memory().claim().word(128));
    let (mut writer, mut reader) = qrtr::pair::<u64>(place.memory(), 4).unwrap();
    assert_eq!(writer.push_slice(&[1, 2, 3]), 3);
    for lie in [5, 1 << 32, u64::MAX] {
        tail.store(lie, Relaxed);
        assert_eq!(reader.pop_slice(&mut [0; 2]), Err(qrtr::Corrupt), "{lie}");
        assert_eq!(reader.pop_with(|_| ()), Err(qrtr::Corrupt), "{lie}");
        assert!(reader.read_chunk(1).is_err(), "{lie}");
    }
    tail.store(3, Relaxed);
    let mut values = [0; 2];
    assert_eq!((reader.pop_slice(&mut values), values), (Ok(2), [1, 2]), "the truth is believed again");
    for lie in [4, 1 << 32, u64::MAX - 9] {
        head.store(lie, Relaxed);
        assert_eq!(writer.write_chunk(9).len(), 1, "{lie}: what was known to be free");
    }
    head.store(2, Relaxed);
    assert_eq!(writer.push_slice(&[4, 5, 6, 7]), 3);
}

#[test]
fn a_watcher_sees_the_oldest_value_and_takes_none() {
    for capacity in [1_u32, 3] {
        let place = Place::new(qrtr::bytes::<u64>(capacity).unwrap());
        let (mut writer, mut reader) = qrtr::pair::<u64>(place.memory(), capacity).unwrap();
        // SAFETY: all ends are of one thread and one process.
        let mut watcher = unsafe { qrtr::watcher::<u64>(place.memory(), capacity).unwrap() };
        for round in 0..10 {
            assert!(watcher.is_empty() && watcher.oldest(|value| *value).is_none());
            (0..u64::from(capacity)).for_each(|at| writer.push(10 * round + at).unwrap());
            for at in 0..u64::from(capacity) {
                assert!(!watcher.is_empty());
                assert_eq!(watcher.oldest(|value| *value), Some(10 * round + at));
                assert_eq!(watcher.oldest(|value| *value), Some(10 * round + at), "it took none");
                assert_eq!(reader.pop(), Ok(Some(10 * round + at)));
            }
        }
        let (tail, head) = (place.memory().claim().word(0), place.memory().claim().word(128));
        for lie in [u64::MAX, 1 << 32, head.load(Relaxed) + u64::from(capacity) + 1] {
            tail.store(lie, Relaxed);
            assert!(watcher.is_empty() && watcher.oldest(|_| ()).is_none(), "{lie}");
        }
    }
}
