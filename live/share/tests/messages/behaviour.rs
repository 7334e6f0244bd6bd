// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Lanes and broadcast in one thread: order, losses, refusals, and the successor of an end that is gone.

use std::cell::RefCell;
use std::collections::VecDeque;

use taut_share::queue::{broadcast, lanes, qrtr, qrtwo};
use taut_share::{LINE_BYTES, LayoutError, Memory};

use crate::place::Place;

/// Zeroed memory that stays until this test's thread ends, after the ends on it.
fn memory(bytes: usize) -> Memory<'static> {
    std::thread_local!(static KEPT: RefCell<Vec<Place>> = const { RefCell::new(Vec::new()) });
    let place = Place::new(bytes);
    let memory = place.memory();
    KEPT.with_borrow_mut(|kept| kept.push(place));
    memory
}

fn xorshift(random: &mut u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    *random
}

type Value = [u64; 2];
type Receiver = lanes::Reader<'static, qrtr::Reader<'static, Value>, Vec<qrtr::Reader<'static, Value>>>;

/// A sender's end: with a flag, or without.
enum Sender {
    Flagged(lanes::Writer<'static, qrtr::Writer<'static, Value>>),
    Bare(qrtr::Writer<'static, Value>),
}

impl Sender {
    fn send(&mut self, value: Value) -> bool {
        match self {
            Self::Flagged(writer) => writer.send(&value).is_ok(),
            Self::Bare(writer) => writer.push(value).is_ok(),
        }
    }
}

/// `count` lanes of `capacity`, of which the first `flagged` have flags.
fn made(count: usize, flagged: u32, capacity: u32) -> (Vec<Sender>, Receiver) {
    let (mut announcers, collector) = lanes::group(memory(lanes::bytes(flagged)), flagged).unwrap();
    let (mut senders, mut queues) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let bytes = qrtr::bytes::<Value>(capacity).unwrap();
        let (writer, reader) = qrtr::pair::<Value>(memory(bytes), capacity).unwrap();
        senders.push(match announcers.next() {
            Some(announcer) => Sender::Flagged(lanes::Writer::new(writer, announcer)),
            None => Sender::Bare(writer),
        });
        queues.push(reader);
    }
    (senders, lanes::Reader::new(collector, queues).unwrap())
}

/// Random sends and takes, beside lists: by rank or by stamp.
#[test]
fn the_most_urgent_or_the_oldest_value_comes_first() {
    const CAPACITY: usize = 3;
    let sizes: &[(usize, u32)] = if cfg!(miri) {
        &[(1, 0), (9, 9), (10, 7)]
    } else {
        &[(1, 0), (1, 1), (7, 0), (8, 8), (9, 9), (20, 13), (64, 64), (65, 3), (300, 300), (520, 512)]
    };
    for (by_stamp, &(count, flagged)) in
        [false, true].into_iter().flat_map(|by| sizes.iter().map(move |s| (by, s)))
    {
        let (mut senders, mut receiver) = made(count, flagged, CAPACITY as u32);
        let mut lists = vec![VecDeque::<Value>::new(); count];
        let (mut random, mut now, mut taken, mut refused) = (7, 0, 0, 0);
        for _ in 0..if cfg!(miri) { 100 } else { 6000 } {
            if !xorshift(&mut random).is_multiple_of(if by_stamp { 2 } else { 3 }) {
                let lane = xorshift(&mut random) as usize % count;
                // Some senders make their stamp long before they send.
                now += xorshift(&mut random) % 3;
                let value = [now, lane as u64];
                let sent = senders[lane].send(value);
                assert_eq!(sent, lists[lane].len() < CAPACITY);
                if sent {
                    lists[lane].push_back(value)
                } else {
                    refused += 1
                }
                continue;
            }
            let waiting = lists.iter().enumerate().filter(|(_, list)| !list.is_empty());
            let expected = if by_stamp {
                waiting.min_by_key(|(lane, list)| (list[0][0], *lane))
            } else {
                waiting.min_by_key(|(lane, _)| *lane)
            };
            let expected = expected.map(|(lane, _)| lane);
            let got = if by_stamp { receiver.next_by_stamp() } else { receiver.next() };
            assert_eq!(got.as_ref().unwrap().map(|taken| taken.lane), expected, "{count} {flagged}");
            if let Some(got) = got.unwrap() {
                assert_eq!((Some(got.value), got.lost), (lists[got.lane].pop_front(), 0));
                taken += 1;
            }
        }
        assert!(taken > 10 && (refused > 10 || count > 9 || cfg!(miri)), "{taken} {refused}");
        let mut value = [0; 2];
        while let Some((lane, lost)) = receiver.next_into(&mut value).unwrap() {
            assert_eq!((Some(value), lost), (lists[lane].pop_front(), 0));
        }
        assert!(lists.iter().all(VecDeque::is_empty), "a value is hidden");
    }
}

#[test]
fn lanes_of_a_queue_that_overwrites_count_what_they_lost() {
    let (mut announcers, collector) = lanes::group(memory(lanes::bytes(2)), 2).unwrap();
    let bytes = qrtwo::bytes::<Value>(2, 0).unwrap();
    let (first, from_first) = qrtwo::pair::<Value>(memory(bytes), 2, 0).unwrap();
    let (second, from_second) = qrtwo::pair::<Value>(memory(bytes), 2, 0).unwrap();
    let mut first = lanes::Writer::new(first, announcers.next().unwrap());
    let mut second = lanes::Writer::new(second, announcers.next().unwrap());
    assert!(announcers.next().is_none());
    let mut receiver = lanes::Reader::new(collector, [from_first, from_second]).unwrap();
    for n in 0..5 {
        let Ok(()) = second.send(&[n, n]);
    }
    let Ok(()) = first.send(&[9, 9]);
    let mut next = || receiver.next().unwrap().map(|taken| (taken.lane, taken.value[0], taken.lost));
    assert_eq!([next(), next(), next(), next()], [Some((0, 9, 0)), Some((1, 3, 3)), Some((1, 4, 0)), None]);
}

#[test]
fn numbers_that_do_not_fit_are_refused() {
    let most = lanes::LANES_MAX;
    assert!(lanes::group(memory(lanes::bytes(most)), most).is_ok());
    assert_eq!(lanes::group(memory(8192), most + 1).err(), Some(LayoutError::Lanes));
    let needed = lanes::bytes(most);
    let given = needed - LINE_BYTES;
    assert_eq!(lanes::group(memory(given), most).err(), Some(LayoutError::TooSmall { needed, given }));
    assert_eq!((lanes::bytes(0), lanes::bytes(300), lanes::bytes(u32::MAX)), (0, 384, 512));
    let place = Place::new(lanes::bytes(3));
    // SAFETY: zeros, and the only ends.
    let (third, fourth) =
        unsafe { (lanes::announcer(place.memory(), 3, 2), lanes::announcer(place.memory(), 3, 3)) };
    assert!(third.is_ok());
    assert_eq!(fourth.err(), Some(LayoutError::Lanes));
    let (_, collector) = lanes::group(memory(128), 3).unwrap();
    let queue = qrtr::pair::<Value>(memory(1024), 2).unwrap().1;
    assert_eq!(lanes::Reader::new(collector, [queue]).err(), Some(LayoutError::Lanes));
    for (readers, capacity, expected) in
        [(0, 1, LayoutError::Readers), (251, 1, LayoutError::Readers), (1, 0, LayoutError::Capacity)]
    {
        assert_eq!(broadcast::group::<Value>(memory(65536), readers, capacity).err(), Some(expected));
    }
    let needed = broadcast::bytes::<Value>(3, 5).unwrap();
    let too_small = broadcast::group::<Value>(memory(needed - LINE_BYTES), 3, 5).err();
    assert_eq!(too_small, Some(LayoutError::TooSmall { needed, given: needed - LINE_BYTES }));
    // The tail, three heads, and 5 + 2 × 4 slots of 16 bytes.
    assert_eq!(needed, 128 + 3 * 128 + 256);
}

/// A lane whose queue is corrupt is reported only if no other lane has a value, and then again.
#[test]
fn a_lane_that_lies_does_not_hide_the_others() {
    let place = Place::new(qrtr::bytes::<Value>(2).unwrap());
    let (mut announcers, collector) = lanes::group(memory(lanes::bytes(2)), 2).unwrap();
    let mut liar = announcers.next().unwrap();
    let (other, from_other) = qrtr::pair::<Value>(memory(1024), 2).unwrap();
    let mut other = lanes::Writer::new(other, announcers.next().unwrap());
    // SAFETY: the only reader.
    let from_liar = unsafe { qrtr::reader::<Value>(place.memory(), 2) }.unwrap();
    let mut receiver = lanes::Reader::new(collector, [from_liar, from_other]).unwrap();
    for n in 0..3 {
        // News where there is none.
        liar.announce();
        assert_eq!((other.send(&[n, 0]), receiver.next().unwrap().unwrap().value), (Ok(()), [n, 0]));
        assert_eq!(receiver.next(), Ok(None));
    }
    place.words()[0].store(99, std::sync::atomic::Ordering::Relaxed);
    liar.announce();
    let corrupt = lanes::LaneUnavailable { lane: 0, error: qrtr::Corrupt };
    for n in 0..3 {
        assert_eq!((other.send(&[n, 0]), other.send(&[n, 1])), (Ok(()), Ok(())));
        assert_eq!(receiver.next().unwrap().unwrap().value, [n, 0]);
        assert_eq!(receiver.next_by_stamp().unwrap().unwrap().value, [n, 1]);
        assert_eq!((receiver.next(), receiver.next_by_stamp()), (Err(corrupt), Err(corrupt)));
    }
    assert_eq!(corrupt.to_string(), "lane 0: the queue's tail has a value that this protocol never writes");
}

#[test]
fn successors_find_what_was_not_announced_and_what_was_claimed() {
    let (flags, queues) = (Place::new(lanes::bytes(2)), [Place::new(512), Place::new(512)]);
    // SAFETY: each end once at a time, in one thread.
    let sender = |lane: u32| unsafe {
        let queue = qrtr::writer::<Value>(queues[lane as usize].memory(), 2).unwrap();
        lanes::Writer::new(queue, lanes::announcer(flags.memory(), 2, lane).unwrap())
    };
    // SAFETY: the same.
    let receiver = || unsafe {
        let readers = [0, 1].map(|lane: usize| qrtr::reader::<Value>(queues[lane].memory(), 2).unwrap());
        lanes::Reader::new(lanes::collector(flags.memory(), 2).unwrap(), readers).unwrap()
    };
    let (mut first, mut second, mut one) = (sender(0), sender(1), receiver());
    assert_eq!(one.next(), Ok(None));
    // Dies between the push and the announcement.
    first.parts().0.push([1, 1]).unwrap();
    assert_eq!(one.next(), Ok(None), "not announced");
    first = sender(0);
    assert_eq!(one.next().unwrap().map(|taken| taken.value), Some([1, 1]));
    // Dies after it has claimed flags: the value of lane 1 is in no flag any more.
    first.send(&[2, 2]).unwrap();
    second.send(&[3, 3]).unwrap();
    assert_eq!(one.next_by_stamp().unwrap().map(|taken| taken.value), Some([2, 2]));
    let mut next = receiver();
    assert_eq!(next.next().unwrap().map(|taken| (taken.lane, taken.value)), Some((1, [3, 3])));
    assert_eq!(next.next(), Ok(None));
}

/// Random pushes and pops of several readers and followers, beside lists.
#[test]
fn every_reader_gets_every_value() {
    const CAPACITY: usize = 5;
    fn each<const N: usize>(readers: u32) {
        let bytes = broadcast::bytes::<[u64; N]>(readers, CAPACITY as u32).unwrap();
        let (mut writer, all) =
            broadcast::group::<[u64; N]>(memory(bytes), readers, CAPACITY as u32).unwrap();
        assert_eq!(all.len(), readers as usize);
        let mut all: Vec<_> = all.map(|reader| (reader, 0)).collect();
        let mut follower = all[0].0.follower();
        let (mut followed, mut random, mut pushed, mut refused, mut lost) = (0, 3, 0, 0, 0);
        for _ in 0..if cfg!(miri) { 200 } else { 3000 } {
            let room = CAPACITY as u64 - (pushed - all.iter().map(|(_, taken)| *taken).min().unwrap());
            match xorshift(&mut random) % 6 {
                0 | 1 => {
                    let taken = writer.push(&[pushed; N]).is_ok();
                    assert_eq!(taken, room > 0);
                    (pushed, refused) = (pushed + u64::from(taken), refused + u64::from(!taken));
                }
                2 => {
                    let values: Vec<_> = (pushed..pushed + 3).map(|n| [n; N]).collect();
                    let count = writer.push_slice(&values) as u64;
                    assert_eq!(count, room.min(3));
                    pushed += count;
                }
                3 if xorshift(&mut random).is_multiple_of(4) => {
                    if let Some(popped) = follower.pop().unwrap() {
                        assert_eq!(popped.value, [followed + popped.lost; N]);
                        followed += popped.lost + 1;
                        lost += popped.lost;
                    }
                }
                _ => {
                    let at = xorshift(&mut random) as usize % all.len();
                    let (reader, taken) = &mut all[at];
                    assert!(reader.len() as u64 == pushed - *taken && reader.lost() == 0);
                    match reader.pop().unwrap() {
                        Some(popped) => assert_eq!((popped.value, popped.lost), ([*taken; N], 0)),
                        None => assert_eq!(*taken, pushed),
                    }
                    *taken = pushed.min(*taken + 1);
                }
            }
            let slowest = all.iter().map(|(_, taken)| *taken).min().unwrap();
            assert_eq!((writer.len() as u64, writer.pushed()), (pushed - slowest, pushed));
            assert_eq!(writer.is_empty(), pushed == slowest);
        }
        assert!(refused > 0 && lost > 0 && writer.capacity() == CAPACITY);
    }
    for readers in [1, 2, 5] {
        each::<1>(readers);
        each::<9>(readers);
    }
}

#[test]
fn a_dead_reader_holds_the_writer_until_it_is_released_or_succeeded() {
    const CAPACITY: u32 = 3;
    let place = Place::new(broadcast::bytes::<Value>(2, CAPACITY).unwrap());
    // SAFETY: each end once at a time, in one thread.
    let reader = |which| unsafe { broadcast::reader::<Value>(place.memory(), 2, CAPACITY, which) }.unwrap();
    // SAFETY: the same.
    let writer = || unsafe { broadcast::writer::<Value>(place.memory(), 2, CAPACITY) }.unwrap();
    let (mut one, mut living, mut dead) = (writer(), reader(0), reader(1));
    let take = |reader: &mut broadcast::Reader<'static, Value>| {
        reader.pop().unwrap().map(|popped| (popped.value[0], popped.lost))
    };
    (0..3).for_each(|n| one.push(&[n, n]).unwrap());
    assert_eq!([take(&mut living), take(&mut living), take(&mut living)], [0, 1, 2].map(|n| Some((n, 0))));
    assert_eq!(take(&mut dead), Some((0, 0)));
    assert_eq!((one.push(&[3, 3]), one.push(&[4, 4])), (Ok(()), Err(qrtr::QueueFull(()))));
    // A successor continues; so does one of the writer, which is full too.
    let mut dead = reader(1);
    one = writer();
    assert!(one.push(&[4, 4]).is_err());
    assert_eq!(take(&mut dead), Some((1, 0)));
    assert_eq!((one.push(&[4, 4]), one.push(&[5, 5])), (Ok(()), Err(qrtr::QueueFull(()))));
    // SAFETY: it is not used again.
    unsafe { broadcast::release_reader::<Value>(place.memory(), 2, CAPACITY, 1) }.unwrap();
    for n in 5..20 {
        assert_eq!(one.push(&[n, n]), Ok(()));
        assert_eq!(take(&mut living), Some((n - 2, 0)));
    }
    // Its successor begins with the next value.
    let mut next = reader(1);
    assert_eq!(take(&mut next), None);
    // The writer respects it once it looks at the heads again.
    let mut pushed = 20;
    let mut lost = 0;
    for round in 0..40 {
        while one.push(&[pushed, pushed]).is_ok() {
            pushed += 1;
            while take(&mut living).is_some() {}
        }
        let (value, before) = take(&mut next).expect("it waits for this one");
        assert!(before == 0 || round == 0, "lost {before} before {value}");
        lost += before;
        assert!(value >= 20 && pushed - value <= u64::from(CAPACITY));
    }
    assert!(lost <= u64::from(CAPACITY) && next.lost() == lost, "{lost}");
    // SAFETY: the same.
    let none = unsafe { broadcast::release_reader::<Value>(place.memory(), 2, CAPACITY, 2) };
    assert_eq!(none, Err(LayoutError::Readers));
}

/// A head that no reader can have: the writer does not respect it, and is not held by it.
#[test]
fn a_head_that_lies_does_not_count() {
    let place = Place::new(broadcast::bytes::<Value>(2, 3).unwrap());
    let (mut writer, mut readers) = broadcast::group::<Value>(place.memory(), 2, 3).unwrap();
    let (mut first, _liar) = (readers.next().unwrap(), readers.next().unwrap());
    for n in 0..100u64 {
        let lie = [n + 1, u64::MAX, 1 << 62, n.wrapping_sub(4)][n as usize % 4];
        place.words()[2 * LINE_BYTES / 8].store(lie, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(writer.push(&[n, n]), Ok(()), "{lie}");
        assert_eq!(first.pop().unwrap().map(|popped| popped.value), Some([n, n]));
    }
}

#[test]
fn a_follower_attaches_at_the_end() {
    let place = Place::new(broadcast::bytes::<Value>(1, 4).unwrap());
    let (mut writer, mut readers) = broadcast::group::<Value>(place.memory(), 1, 4).unwrap();
    let mut reader = readers.next().unwrap();
    writer.push(&[1, 1]).unwrap();
    // SAFETY: the memory holds this object.
    let mut follower = unsafe { broadcast::follower::<Value>(place.memory(), 1, 4) }.unwrap();
    assert_eq!(follower.pop(), Ok(None));
    writer.push(&[2, 2]).unwrap();
    assert_eq!(follower.pop().unwrap().map(|popped| popped.value), Some([2, 2]));
    let before: Vec<u64> =
        place.words().iter().map(|word| word.load(std::sync::atomic::Ordering::Relaxed)).collect();
    assert_eq!(follower.pop(), Ok(None));
    let after: Vec<u64> =
        place.words().iter().map(|word| word.load(std::sync::atomic::Ordering::Relaxed)).collect();
    assert_eq!(before, after, "it leaves no trace");
    let mut values = [[0; 2]; 3];
    assert_eq!(reader.pop_slice(&mut values).map(|popped| popped.count), Ok(2));
    assert_eq!(values[..2], [[1, 1], [2, 2]]);
}
