// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Every execution of small runs of lanes with several senders, and of broadcast with several readers:
//! `RUSTFLAGS="--cfg loom" cargo test -p taut-share --release --test loom messages::`.

use std::sync::Arc;

use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use taut_share::queue::{broadcast, lanes, qrtr};
use taut_share::{LINE_BYTES, Memory};

use crate::explore::{explore, explore_on};
use crate::payload::{marked, number};
use crate::place::Place;

type Value = [u64; 2];
type Sender = lanes::Writer<'static, qrtr::Writer<'static, Value>>;
type Receiver =
    lanes::Reader<'static, qrtr::Reader<'static, Value>, [qrtr::Reader<'static, Value>; LANES as usize]>;

const LANES: u32 = 2;
const CAPACITY: u32 = 2;

/// The lines of the flags and of the queues.
fn lines() -> usize {
    lanes::bytes(LANES).div_ceil(LINE_BYTES) + 2 * queue()
}

fn queue() -> usize {
    qrtr::bytes::<Value>(CAPACITY).unwrap().div_ceil(LINE_BYTES)
}

fn made(memory: Memory<'static>) -> ([Sender; 2], Receiver) {
    let (flags, queues) = memory.split(lanes::bytes(LANES)).unwrap();
    let (first, second) = queues.split(queue() * LINE_BYTES).unwrap();
    let (mut announcers, collector) = lanes::group(flags, LANES).unwrap();
    let [(first, from_first), (second, from_second)] =
        [first, second].map(|memory| qrtr::pair::<Value>(memory, CAPACITY).unwrap());
    let senders = [first, second].map(|queue| lanes::Writer::new(queue, announcers.next().unwrap()));
    (senders, lanes::Reader::new(collector, [from_first, from_second]).unwrap())
}

/// Two senders of `sends` each; the receiver tries `takes` times, and takes the rest at the end.
fn nothing_is_hidden(memory: Memory<'static>, sends: u64, takes: u64, by_stamp: bool) {
    let (senders, mut receiver) = made(memory);
    let sending = senders.map(|mut sender| {
        thread::spawn(move || (1..=sends).for_each(|n| assert_eq!(sender.send(&marked(n)), Ok(()))))
    });
    let mut taken = [0; 2];
    let mut take = |receiver: &mut Receiver| {
        let next = if by_stamp { receiver.next_by_stamp() } else { receiver.next() };
        let next = next.unwrap();
        if let Some(next) = &next {
            taken[next.lane] += 1;
            assert_eq!(number(&next.value), taken[next.lane], "lost, twice, or out of order");
        }
        next.is_some()
    };
    (0..takes).for_each(|_| {
        take(&mut receiver);
    });
    sending.into_iter().for_each(|thread| thread.join().unwrap());
    while take(&mut receiver) {}
    assert_eq!(taken, [sends; 2], "a value is hidden");
}

#[test]
fn two_senders() {
    explore_on(lines() * LINE_BYTES, "lanes 2 × 1, 2 takes", None, |memory| {
        nothing_is_hidden(memory, 1, 2, false);
    });
}

#[test]
fn two_senders_of_two() {
    explore_on(lines() * LINE_BYTES, "lanes 2 × 2, 2 takes", Some(2), |memory| {
        nothing_is_hidden(memory, 2, 2, false);
    });
}

#[test]
fn two_senders_by_stamp() {
    explore_on(lines() * LINE_BYTES, "lanes 2 × 1, 2 takes by stamp", Some(3), |memory| {
        nothing_is_hidden(memory, 1, 2, true);
    });
}

/// A value that was sent before the call goes before all of less urgent lanes; by stamp, before all whose send began after
/// its own had ended.
fn what_was_sent_comes_first(memory: Memory<'static>, by_stamp: bool) {
    let ([mut first, mut second], mut receiver) = made(memory);
    let sent = Arc::new(AtomicU64::new(0));
    let (of_first, of_second) = (sent.clone(), sent.clone());
    // Lane 0 sends first; by stamp lane 1 sends only once it has.
    let sending = [
        thread::spawn(move || {
            assert_eq!(first.send(&[1, 0]), Ok(()));
            of_first.store(1, Ordering::Release);
        }),
        thread::spawn(move || {
            if !by_stamp || of_second.load(Ordering::Acquire) == 1 {
                assert_eq!(second.send(&[2, 1]), Ok(()));
            }
        }),
    ];
    let known = sent.load(Ordering::Acquire) == 1;
    let next = if by_stamp { receiver.next_by_stamp() } else { receiver.next() };
    let lane = next.unwrap().map(|taken| taken.lane);
    if known {
        assert_eq!(lane, Some(0), "it was sent, and is the most urgent and the oldest");
    } else if by_stamp {
        assert_ne!(lane, Some(1), "an older one was sent before");
    }
    sending.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn the_most_urgent_comes_first() {
    explore_on(lines() * LINE_BYTES, "lanes, by rank", None, |memory| {
        what_was_sent_comes_first(memory, false);
    });
}

#[test]
fn the_oldest_comes_first() {
    explore_on(lines() * LINE_BYTES, "lanes, by stamp", Some(4), |memory| {
        what_was_sent_comes_first(memory, true);
    });
}

/// Two readers, or a reader and a follower, of a broadcast of `capacity`.
fn all_get_all(memory: Memory<'static>, capacity: u32, tries: u64, takes: u64) {
    // Three words in a slot of more than a line's half: a batch of one value.
    type Wide = [u64; 5];
    let (mut writer, mut readers) = broadcast::group::<Wide>(memory, 2, capacity).unwrap();
    let (first, second) = (readers.next().unwrap(), readers.next().unwrap());
    let mut follower = first.follower();
    let writing = thread::spawn(move || {
        let mut pushed = 0;
        for _ in 0..tries {
            pushed += u64::from(writer.push(&marked(pushed + 1)).is_ok());
        }
        assert!(pushed >= u64::from(capacity));
        pushed
    });
    let reading = [first, second].map(|mut reader| {
        thread::spawn(move || {
            let mut taken = 0;
            for _ in 0..takes {
                if let Some(popped) = reader.pop().expect("respected") {
                    taken += 1;
                    assert_eq!((number(&popped.value), popped.lost), (taken, 0));
                }
            }
            (reader, taken)
        })
    });
    let pushed = writing.join().unwrap();
    for thread in reading {
        let (mut reader, mut taken) = thread.join().unwrap();
        while let Some(popped) = reader.pop().expect("respected") {
            taken += 1;
            assert_eq!((number(&popped.value), popped.lost), (taken, 0));
        }
        assert_eq!(taken, pushed);
    }
    let mut followed = 0;
    while let Some(popped) = follower.pop().expect("nobody pushes") {
        followed += popped.lost + 1;
        assert_eq!(number(&popped.value), followed);
    }
    assert_eq!(followed, pushed);
}

#[test]
fn two_readers_of_one_place() {
    explore_on(8 * LINE_BYTES, "broadcast of 1, 3 pushes, 2 readers × 1", Some(2), |memory| {
        all_get_all(memory, 1, 3, 1);
    });
}

#[test]
fn two_readers_of_two_places() {
    explore_on(8 * LINE_BYTES, "broadcast of 2, 4 pushes, 2 readers × 1", Some(2), |memory| {
        all_get_all(memory, 2, 4, 1);
    });
}

/// A reader takes one value, is released, and rejoins, while the writer pushes. The writer is not held up by a released
/// reader, and from its return on the reader gets the values in order, or counts those that it lost.
fn a_pause_beside_pushes(capacity: u32, tries: u64) {
    type Wide = [u64; 5];
    let place = Place::new(broadcast::bytes::<Wide>(1, capacity).unwrap());
    let (mut writer, mut readers) = broadcast::group::<Wide>(place.memory(), 1, capacity).unwrap();
    let mut reader = readers.next().unwrap();
    // SAFETY: the memory holds this object.
    let mut control = unsafe { broadcast::reader_control::<Wide>(place.memory(), 1, capacity, 0) }.unwrap();
    // SAFETY: the same.
    let watcher = unsafe { broadcast::reader_watcher::<Wide>(place.memory(), 1, capacity, 0) }.unwrap();
    let before = Arc::new(AtomicU64::new(0));
    let shared = before.clone();
    let pushing = thread::spawn(move || {
        (0..tries).fold(0, |pushed, _| {
            let pushed = pushed + u64::from(writer.push(&marked(pushed + 1)).is_ok());
            shared.store(pushed, Ordering::Release);
            pushed
        })
    });
    let mut last = 0;
    // `behind` in its first pop after the pause: the number of a value that was pushed before.
    let mut take = |reader: &mut broadcast::Reader<'static, Wide>, behind: Option<u64>| {
        assert!(reader.goes_on());
        // Until the writer respects it again, it may be overtaken while it looks.
        let Ok(Some(popped)) = reader.pop() else { return false };
        let value = number(&popped.value);
        match behind {
            Some(before) => assert!(value > before.max(last) + popped.lost, "a value of the pause"),
            None => assert_eq!(value, last + popped.lost + 1),
        }
        last = value;
        true
    };
    take(&mut reader, None);
    control.release();
    assert!(!reader.goes_on() && watcher.is_empty());
    let before = before.load(Ordering::Acquire);
    control.rejoin();
    let mut begins = !take(&mut reader, Some(before));
    let pushed = pushing.join().unwrap();
    while take(&mut reader, begins.then_some(before)) {
        begins = false;
    }
    assert!(watcher.is_empty() && reader.pop() == Ok(None));
    assert!(begins || last == pushed, "the last value is lost: {last} of {pushed}");
}

#[test]
fn a_reader_pauses_beside_pushes() {
    explore("broadcast of 1, 3 pushes, release and rejoin", Some(4), || a_pause_beside_pushes(1, 3));
    explore("broadcast of 2, 4 pushes, release and rejoin", Some(4), || a_pause_beside_pushes(2, 4));
}
