// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The step bounds of the pool whose receiver reserves blocks, counted exactly:
//! `RUSTFLAGS="--cfg steps" cargo test -p taut-share --test steps reserved::`.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, AtomicU64};

use taut_atomic::Ordering::Relaxed;
use taut_atomic::steps::{Steps, count, strike_at};
use taut_share::bulk::reserved::{self, RESERVATION_BYTES};
use taut_share::{LINE_BYTES, Line, Memory};

const NONE: Steps = Steps { loads: 0, stores: 0, exchanges: 0, fences: 0, words: 0 };

fn steps(work: impl FnOnce()) -> Steps {
    count(work).1
}

#[test]
fn usual_and_most_steps() {
    for blocks in [2, 3, 17, 64] {
        let bytes = reserved::bytes::<[u64; 9]>(blocks).unwrap();
        let mut lines: Vec<Line> =
            (0..(bytes + RESERVATION_BYTES) / LINE_BYTES).map(|_| Line::new()).collect();
        let (pool, line) = Memory::new(&mut lines).split(bytes).unwrap();
        let (sender, receiver) = reserved::pair::<[u64; 9]>(pool, line, blocks).unwrap();
        let look = Steps { loads: 2, ..NONE };
        assert_eq!(steps(|| assert!(receiver.receive().unwrap().is_none())), look);
        for _ in 0..blocks {
            let mut loan = None;
            assert_eq!(steps(|| loan = sender.loan()), NONE, "from the stock");
            assert_eq!(steps(|| _ = loan.unwrap().send(1)), Steps { stores: 3, ..NONE });
        }
        let taken_and_sent = Steps { loads: 2, stores: 1 + 3, fences: 1, ..NONE };
        assert_eq!(steps(|| _ = sender.loan().unwrap().send(1)), taken_and_sent);
        let mut block = None;
        // The stamp is a load too.
        let take = Steps { loads: 4, stores: 1, fences: 1, ..NONE };
        assert_eq!(steps(|| block = receiver.receive().unwrap()), take);
        assert_eq!(steps(|| _ = sender.loan().unwrap().send(1)), taken_and_sent, "past the reserved one");
        assert_eq!(steps(|| drop(block.take())), Steps { stores: 1, ..NONE });
    }
}

/// The receiver's word, for [`reserve`].
static WORD: AtomicPtr<AtomicU64> = AtomicPtr::new(std::ptr::null_mut());

/// Reserves sending 1, as a receiver that meets the sender there.
fn reserve() {
    // SAFETY: the test below has stored the address of a word that lives as long as it.
    unsafe { &*WORD.load(Relaxed) }.store(1 << 1 | 1, Relaxed);
}

/// The most steps of a loan: the receiver reserves what the sender is taking.
#[test]
fn most_steps_of_a_loan() {
    let bytes = reserved::bytes::<[u64; 9]>(3).unwrap();
    let lines: Box<[Line]> = (0..(bytes + RESERVATION_BYTES) / LINE_BYTES).map(|_| Line::new()).collect();
    let start: NonNull<u8> = NonNull::from(Box::leak(lines)).cast();
    // SAFETY: leaked, aligned, and of that length; the sender is the only end.
    let memory = unsafe { Memory::from_raw(start, bytes + RESERVATION_BYTES) };
    let (pool, line) = memory.split(bytes).unwrap();
    let (sender, _receiver) = reserved::pair::<[u64; 9]>(pool, line, 3).unwrap();
    (0..3).for_each(|_| _ = sender.loan().unwrap().send(1));
    // SAFETY: inside.
    WORD.store(unsafe { start.add(bytes) }.cast().as_ptr(), Relaxed);
    // Before the second load.
    strike_at(4, reserve);
    let mut recalled = None;
    let most = Steps { loads: 3, stores: 2, fences: 2, ..NONE };
    assert_eq!(steps(|| recalled = sender.loan().unwrap().recalled()), most);
    assert_eq!(recalled, Some(2), "it leaves the first to the receiver");
}
