// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The step bounds of lanes and broadcast, counted exactly: `RUSTFLAGS="--cfg steps" cargo test -p taut-share --test
//! steps messages::`.

use taut_atomic::steps::{Steps, count};
use taut_share::queue::{broadcast, lanes, qrtr};
use taut_share::{LINE_BYTES, Line, Memory};

use crate::place::Place;

const NONE: Steps = Steps { loads: 0, stores: 0, exchanges: 0, fences: 0, words: 0 };

type Value = [u64; 8];

fn memory(bytes: usize) -> Memory<'static> {
    Memory::new(Vec::leak((0..bytes.div_ceil(LINE_BYTES)).map(|_| Line::new()).collect()))
}

fn steps(work: impl FnOnce()) -> Steps {
    count(work).1
}

#[test]
fn lanes_are_as_documented() {
    for lanes in [1, 8, 9, 60, 300, 512u64] {
        let (announcers, collector) = lanes::group(memory(lanes::bytes(lanes as u32)), lanes as u32).unwrap();
        let queues: Vec<_> = (0..lanes)
            .map(|_| qrtr::pair::<Value>(memory(qrtr::bytes::<Value>(2).unwrap()), 2).unwrap())
            .collect();
        let (writers, readers): (Vec<_>, Vec<_>) = queues.into_iter().unzip();
        let mut senders: Vec<_> = writers
            .into_iter()
            .zip(announcers)
            .map(|(writer, flag)| lanes::Writer::new(writer, flag))
            .collect();
        let mut receiver = lanes::Reader::new(collector, readers).unwrap();
        let blocks = lanes.div_ceil(8);
        // The senders have announced when they attached, and the receiver's first call looks at each lane.
        let first = Steps { loads: blocks + lanes, exchanges: lanes, ..NONE };
        assert_eq!(steps(|| assert_eq!(receiver.next(), Ok(None))), first);
        let empty = Steps { loads: blocks, ..NONE };
        assert_eq!(steps(|| assert_eq!(receiver.next(), Ok(None))), empty);
        let last = lanes as usize - 1;
        // A push that looks at the head, and the flag.
        let sent = Steps { loads: 1, stores: 2, words: 8, ..NONE };
        assert_eq!(steps(|| assert!(senders[last].send(&[1; 8]).is_ok())), sent);
        let again = Steps { loads: 0, ..sent };
        assert_eq!(steps(|| assert!(senders[last].send(&[2; 8]).is_ok())), again);
        // Full: no flag.
        assert_eq!(steps(|| assert!(senders[last].send(&[3; 8]).is_err())), Steps { loads: 1, ..NONE });
        let taken = Steps { loads: blocks + 1, exchanges: 1, stores: 1, words: 8, ..NONE };
        assert_eq!(steps(|| assert_eq!(receiver.next().unwrap().unwrap().value[0], 1)), taken);
        // The second is known: no exchange, and no load of the tail.
        let known = Steps { loads: blocks, exchanges: 0, ..taken };
        assert_eq!(steps(|| assert_eq!(receiver.next().unwrap().unwrap().value[0], 2)), known);
        // One more look at the lane, which is empty.
        assert_eq!(steps(|| assert_eq!(receiver.next(), Ok(None))), Steps { loads: blocks + 1, ..NONE });
        assert_eq!(steps(|| assert_eq!(receiver.next(), Ok(None))), empty);
        // All lanes have a value: the receiver claims one block, and takes the most urgent.
        senders.iter_mut().for_each(|sender| assert!(sender.send(&[4; 8]).is_ok()));
        let of_block = lanes.min(8);
        let taken = Steps { loads: 2, exchanges: of_block, stores: 1, words: 8, ..NONE };
        assert_eq!(steps(|| assert_eq!(receiver.next().unwrap().unwrap().lane, 0)), taken);
        // By stamp: all other flags, and the first word of each lane, twice; lane 0 is found empty.
        let waiting = lanes - 1;
        if waiting > 0 {
            let loads = 2 * blocks + 1 + waiting;
            let taken =
                Steps { loads, exchanges: lanes - of_block, stores: 1, words: 2 * waiting + 8, ..NONE };
            assert_eq!(steps(|| assert_eq!(receiver.next_by_stamp().unwrap().unwrap().lane, 1)), taken);
        }
    }
}

/// Lanes without flags: a look at each.
#[test]
fn lanes_without_flags_are_looked_at() {
    let (_, collector) = lanes::group(memory(0), 0).unwrap();
    let (mut writers, readers): (Vec<_>, Vec<_>) =
        (0..8).map(|_| qrtr::pair::<Value>(memory(2048), 2).unwrap()).unzip();
    let mut receiver = lanes::Reader::new(collector, readers).unwrap();
    assert_eq!(steps(|| assert_eq!(receiver.next(), Ok(None))), Steps { loads: 8, ..NONE });
    writers[5].push([1; 8]).unwrap();
    let taken = Steps { loads: 6, stores: 1, words: 8, ..NONE };
    assert_eq!(steps(|| assert_eq!(receiver.next().unwrap().unwrap().lane, 5)), taken);
}

#[test]
fn broadcast_is_as_documented() {
    for readers in [1, 2, 16, 250u64] {
        let bytes = broadcast::bytes::<Value>(readers as u32, 4).unwrap();
        let (mut writer, all) = broadcast::group::<Value>(memory(bytes), readers as u32, 4).unwrap();
        let mut all: Vec<_> = all.collect();
        let push = Steps { stores: 1, fences: 1, words: 8, ..NONE };
        let looked = Steps { loads: readers, ..push };
        assert_eq!(steps(|| assert!(writer.push(&[1; 8]).is_ok())), looked);
        (0..3).for_each(|_| assert_eq!(steps(|| assert!(writer.push(&[1; 8]).is_ok())), push));
        let refused = Steps { loads: readers, ..NONE };
        assert_eq!(steps(|| assert!(writer.push(&[1; 8]).is_err())), refused);
        let pop = Steps { loads: 2, stores: 1, fences: 2, words: 8, ..NONE };
        for reader in &mut all {
            assert_eq!(steps(|| assert!(reader.pop().unwrap().is_some())), pop);
        }
        assert_eq!(steps(|| assert!(writer.push(&[1; 8]).is_ok())), looked);
        let all_taken = |reader: &mut broadcast::Reader<'static, Value>| {
            while reader.pop().unwrap().is_some() {}
        };
        all.iter_mut().for_each(all_taken);
        assert_eq!(steps(|| assert_eq!(all[0].pop(), Ok(None))), Steps { loads: 1, ..NONE });
        let slice = Steps { loads: readers, stores: 4, fences: 4, words: 32, ..NONE };
        assert_eq!(steps(|| assert_eq!(writer.push_slice(&[[2; 8]; 5]), 4)), slice);
        assert_eq!(steps(|| assert_eq!(writer.len(), 4)), Steps { loads: readers, ..NONE });
        assert_eq!(steps(|| assert_eq!(writer.push_slice(&[]), 0)), NONE);
    }
}

/// A task that pauses, goes on, and is looked after, as documented.
#[test]
fn controls_and_watchers_are_as_documented() {
    let place = Place::new(broadcast::bytes::<Value>(250, 2).unwrap());
    let (mut writer, mut readers) = broadcast::group::<Value>(place.memory(), 250, 2).unwrap();
    let mut reader = readers.nth(249).unwrap();
    // SAFETY: the memory holds this object.
    let mut control = unsafe { broadcast::reader_control::<Value>(place.memory(), 250, 2, 249) }.unwrap();
    // SAFETY: the same.
    let watcher = unsafe { broadcast::reader_watcher::<Value>(place.memory(), 250, 2, 249) }.unwrap();
    writer.push(&[1; 8]).unwrap();
    let (load, looks) = (Steps { loads: 1, ..NONE }, Steps { loads: 2, ..NONE });
    assert_eq!(steps(|| assert!(reader.goes_on())), load);
    assert_eq!(steps(|| assert!(!watcher.is_empty())), looks);
    assert_eq!(steps(|| assert_eq!(watcher.oldest_word(), Some(1))), Steps { words: 1, ..looks });
    assert_eq!(steps(|| control.rejoin()), load);
    assert_eq!(steps(|| control.release()), Steps { stores: 1, ..NONE });
    assert_eq!(steps(|| assert!(watcher.is_empty())), load);
    assert_eq!(steps(|| control.rejoin()), Steps { stores: 1, ..looks });
    assert_eq!(steps(|| assert!(reader.goes_on())), load);
}
