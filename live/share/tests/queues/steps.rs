// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The step bounds of the queues, counted exactly, and a writer that pushes between any two steps of a pop:
//! `RUSTFLAGS="--cfg steps" cargo test -p taut-share --test steps queues::`.

use std::cell::RefCell;

use taut_atomic::steps::{Steps, count, strike_at};
use taut_share::queue::ring::{self, DiscardPolicy, Overwritten};
use taut_share::queue::{qrtr, qrtwc, qrtwo};
use taut_share::{Line, Memory};

use crate::payload::{marked, number};

const NONE: Steps = Steps { loads: 0, stores: 0, exchanges: 0, fences: 0, words: 0 };
const LOOK: Steps = Steps { loads: 1, ..NONE };

fn memory(lines: usize) -> Memory<'static> {
    Memory::new(Vec::leak((0..lines).map(|_| Line::new()).collect()))
}

fn steps(work: impl FnOnce()) -> Steps {
    count(work).1
}

fn ring_takes<P: DiscardPolicy, const N: usize>(
    (mut writer, mut reader): (ring::Writer<'static, [u8; N], P>, ring::Reader<'static, [u8; N], P>),
    batch: u64,
) {
    let words = N.div_ceil(8) as u64;
    assert_eq!(steps(|| assert_eq!(reader.pop(), Ok(None))), LOOK);
    assert_eq!(steps(|| assert_eq!(reader.pop_into(&mut [0; N]), Ok(None))), LOOK);
    assert_eq!(steps(|| assert_eq!(reader.pop_within(9), Ok(None))), LOOK);
    assert_eq!(steps(|| assert_eq!(reader.pop_slice(&mut [[0; N]]).unwrap().count, 0)), LOOK);
    let push = Steps { stores: 1, fences: 1, words, ..NONE };
    let pop = Steps { loads: 2, stores: 1, fences: 2, words, ..NONE };
    let follow = Steps { stores: 0, ..pop };
    let mut follower = reader.follower();
    // The steps of a pop with `ahead` values left that were read ahead, of `len` available: either no access to the
    // ring but the store, or the accesses to the ring and a copy of up to a line.
    let next = |ahead: &mut u64, len: usize, looked: Steps| {
        if *ahead > 0 {
            *ahead -= 1;
            return Steps { stores: looked.stores, ..NONE };
        }
        let read = batch.min(len as u64);
        *ahead = read - 1;
        Steps { words: read * words, ..looked }
    };
    let (mut ahead, mut followed) = (0, 0);
    for n in 0..20u8 {
        assert_eq!(steps(|| writer.push(&[n; N])), push, "full or not");
        if n % 3 == 2 {
            let takes = next(&mut ahead, reader.len(), pop);
            assert_eq!(steps(|| assert!(reader.pop().unwrap().is_some())), takes, "with losses or without");
        }
        if n % 5 == 4 {
            let takes = next(&mut followed, follower.len(), follow);
            assert_eq!(steps(|| assert!(follower.pop_within(9).unwrap().is_some())), takes);
        }
    }
    for k in 0..20u64 {
        let values = vec![[7; N]; k as usize];
        let batches = k.div_ceil(batch);
        let expected = Steps { stores: batches, fences: batches, words: k * words, ..NONE };
        assert_eq!(steps(|| writer.push_slice(&values)), expected);
    }
    let mut values = [[0; N]; 3];
    let slice = Steps { words: 3 * words, ..pop };
    assert_eq!(steps(|| assert_eq!(reader.pop_slice(&mut values).unwrap().count, 3)), slice);
    writer.push(&[7; N]);
    let takes = next(&mut 0, reader.len(), pop);
    assert_eq!(steps(|| assert!(reader.pop_into(&mut [0; N]).unwrap().is_some())), takes);
    assert_eq!(steps(|| assert!(reader.len() + writer.len() > 0)), Steps { loads: 2, ..NONE });
    assert_eq!(steps(|| assert!(reader.lost() + writer.pushed() > 0)), NONE);
}

fn qrtr_takes<const N: usize>() {
    let words = N.div_ceil(8) as u64;
    let (mut writer, mut reader) = qrtr::pair::<[u8; N]>(memory(64), 5).unwrap();
    let mut values = [[0; N]; 8];
    let moved = |loads, k: u64| Steps { loads, stores: 1, words: k * words, ..NONE };
    assert_eq!(steps(|| assert_eq!(reader.pop_slice(&mut values), Ok(0))), LOOK);
    assert_eq!(steps(|| assert_eq!(reader.pop_with(|_| ()), Ok(None))), LOOK);
    assert_eq!(steps(|| assert!(reader.read_chunk(3).unwrap().is_empty())), LOOK);
    assert_eq!(steps(|| assert_eq!(writer.push_slice(&[[1; N]; 2]), 2)), moved(1, 2));
    assert_eq!(steps(|| assert!(writer.push_with(|slot| *slot = [2; N]).is_ok())), moved(0, 1));
    assert_eq!(steps(|| assert_eq!(writer.push_slice(&[[3; N]; 4]), 2)), moved(1, 2));
    assert_eq!(steps(|| assert_eq!(writer.push_slice(&[[3; N]; 4]), 0)), LOOK);
    assert_eq!(steps(|| assert!(writer.push_with(|_| ()).is_err())), LOOK);
    assert_eq!(steps(|| assert!(writer.write_chunk(1).is_empty())), LOOK);
    assert_eq!(steps(|| assert_eq!(reader.pop_slice(&mut values[..3]), Ok(3))), moved(1, 3));
    assert_eq!(steps(|| assert_eq!(reader.pop_with(|value| *value == [3; N]), Ok(Some(true)))), moved(0, 1));
    assert_eq!(steps(|| assert_eq!(reader.read_chunk(1).unwrap().commit(1), 1)), moved(0, 1));
    assert_eq!(steps(|| assert_eq!(writer.write_chunk(4).commit_all(), 4)), moved(1, 4));
    let looked = Steps { loads: 1, words: 4 * words, ..NONE };
    assert_eq!(steps(|| _ = reader.read_chunk(5).unwrap()), looked, "not committed, no store");
    assert_eq!(steps(|| assert_eq!(reader.pop_slice(&mut values[..0]), Ok(0))), NONE);
}

#[test]
fn steps_are_as_documented() {
    macro_rules! each {
        ($($n:literal of $batch:literal)*) => {$(
            ring_takes(qrtwo::pair::<[u8; $n]>(memory(80), 5, 0).unwrap(), $batch);
            ring_takes(qrtwc::pair::<[u8; $n]>(memory(80), 5, 0).unwrap(), $batch);
            qrtr_takes::<$n>();
        )*};
    }
    each!(1 of 8  8 of 8  20 of 2  24 of 2  64 of 1  256 of 1  1000 of 1);
}

#[test]
fn a_watcher_looks_at_two_words() {
    let watcher = qrtwo::watcher::<[u8; 20]>(memory(80), 5, 0).unwrap();
    assert_eq!(steps(|| assert!(watcher.is_empty())), Steps { loads: 2, ..NONE });
}

type Value = [u64; 8];

thread_local! {
    static BUSY: RefCell<Option<Box<dyn FnMut()>>> = const { RefCell::new(None) };
}

/// A pop in which `pushes` values arrive before its step `n`.
fn disturbed<P: DiscardPolicy + 'static>(
    ends: (ring::Writer<'static, Value, P>, ring::Reader<'static, Value, P>),
    waiting: u64,
    pushes: u64,
    n: u64,
) {
    const W: u64 = 8;
    let (mut writer, mut reader) = ends;
    let capacity = reader.capacity() as u64;
    (1..=waiting).for_each(|n| writer.push(&marked(n)));
    let oldest = waiting - reader.len() as u64 + 1;
    let next = std::rc::Rc::new(std::cell::Cell::new(waiting));
    let pushed = next.clone();
    BUSY.set(Some(Box::new(move || {
        for _ in 0..pushes {
            pushed.set(pushed.get() + 1);
            writer.push(&marked(pushed.get()));
        }
    })));
    strike_at(n, || {
        let mut busy = BUSY.take().unwrap();
        busy();
    });
    let result = reader.pop();
    // Steps: the load of the tail, a fence, the words, a fence, the second load, the store of the head.
    let seen = n == 1;
    let before_the_check = n <= 2 + W + 2;
    match result {
        Ok(Some(popped)) => {
            let got = number(&popped.value);
            assert!(seen || got == oldest, "the pop takes place at its first load");
            assert_eq!(got, popped.lost + 1);
            assert!(
                seen || !before_the_check || waiting + pushes - oldest < capacity + 2,
                "accepted in spite of it"
            );
        }
        Ok(None) => panic!("{waiting} wait"),
        Err(Overwritten) => {
            assert!(!seen && before_the_check);
            assert!(waiting + pushes - (oldest - 1) > capacity + 1, "refused without need");
            assert!(pushes > 1, "one push is no reason");
            assert_eq!(reader.lost(), 0, "nothing is counted before it is known");
            let popped = reader.pop().unwrap().unwrap();
            assert_eq!(number(&popped.value), popped.lost + 1);
        }
    }
}

#[test]
fn a_pop_that_is_disturbed_at_any_step_is_right_or_says_so() {
    for capacity in [1, 2, 3] {
        for waiting in 1..=5 {
            for pushes in 1..=7 {
                for n in 1..=13 {
                    disturbed(qrtwo::pair(memory(20), capacity, 0).unwrap(), waiting, pushes, n);
                    disturbed(qrtwc::pair(memory(20), capacity, 0).unwrap(), waiting, pushes, n);
                }
            }
        }
    }
}
