// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Every execution of small runs of the pool whose receiver reserves blocks, by loom:
//! `RUSTFLAGS="--cfg loom" cargo test -p taut-share --release --test loom reserved::`.

use loom::thread;
use taut_share::Memory;
use taut_share::bulk::NotReceived;
use taut_share::bulk::reserved::{self, RESERVATION_BYTES, RecallingSender, ReservingReceiver};

use crate::explore::explore_on;
use crate::payload::{marked, number};

type Value = [u64; 2];

fn bytes(blocks: u32) -> usize {
    reserved::bytes::<Value>(blocks).unwrap() + RESERVATION_BYTES
}

/// Sends so many, as a sender that is never refused, whatever the receiver does.
fn send(
    sender: RecallingSender<'static, Value>,
    sends: u64,
) -> thread::JoinHandle<RecallingSender<'static, Value>> {
    thread::spawn(move || {
        for n in 1..=sends {
            let mut loan = sender.loan().expect("the receiver has one block at most");
            assert!(loan.recalled().is_none_or(|recalled| recalled < n));
            *loan = marked(n);
            assert_eq!(loan.send(n), n);
        }
        sender
    })
}

/// Receives once, holding the block while it reads, and returns the last number.
fn receive(receiver: &ReservingReceiver<'static, Value>, last: u64) -> u64 {
    match receiver.receive() {
        Ok(Some(block)) => {
            assert!(block.number() > last, "twice or out of order");
            assert_eq!(
                (number(&block), block.stamp()),
                (block.number(), block.number()),
                "another's content"
            );
            block.number()
        }
        Ok(None) | Err(NotReceived::Overtaken) => last,
        Err(NotReceived::Corrupt) => panic!("nobody lies"),
    }
}

fn in_order(blocks: u32, sends: u64, receives: u64, memory: Memory<'static>) {
    let (pool, line) = memory.split(bytes(blocks) - RESERVATION_BYTES).unwrap();
    let (sender, receiver) = reserved::pair::<Value>(pool, line, blocks).unwrap();
    let sending = send(sender, sends);
    let mut last = 0;
    for _ in 0..receives {
        last = receive(&receiver, last);
    }
    let _sender = sending.join().unwrap();
    loop {
        let next = receive(&receiver, last);
        if next == last {
            break;
        }
        last = next;
    }
    assert_eq!(last, sends, "the last sending is never lost");
}

#[test]
fn two_blocks() {
    explore_on(bytes(2), "reserved of 2, 3×2", Some(3), |memory| in_order(2, 3, 2, memory));
    explore_on(bytes(2), "reserved of 2, 4×2", Some(3), |memory| in_order(2, 4, 2, memory));
}

#[test]
fn three_blocks() {
    explore_on(bytes(3), "reserved of 3, 5×2", Some(3), |memory| in_order(3, 5, 2, memory));
}

/// The receiver keeps its first block: the sender does without it, and does not write it.
#[test]
fn one_is_kept() {
    explore_on(bytes(2), "reserved of 2, one kept, 4×1", Some(3), |memory| {
        let (pool, line) = memory.split(bytes(2) - RESERVATION_BYTES).unwrap();
        let (sender, receiver) = reserved::pair::<Value>(pool, line, 2).unwrap();
        let sending = send(sender, 4);
        let kept = receiver.receive().ok().flatten();
        let sender = sending.join().unwrap();
        if let Some(kept) = &kept {
            assert_eq!(number(kept), kept.number(), "written while it was held");
        }
        assert!(sender.loan().is_some(), "never refused");
        drop(kept);
    });
}

/// What a receiver left that died or lied: sendings 1 and 2 wait, and the word says anything.
fn after(left: &'static [u64], memory: Memory<'static>) {
    let (again, hostile) = (memory.again(), memory.again());
    let (pool, line) = memory.split(bytes(2) - RESERVATION_BYTES).unwrap();
    let (sender, before) = reserved::pair::<Value>(pool, line, 2).unwrap();
    drop(before);
    for n in 1..=2 {
        let mut loan = sender.loan().unwrap();
        *loan = marked(n);
        loan.send(n);
    }
    let sending = thread::spawn(move || {
        for n in 3..=4 {
            let mut loan = sender.loan().expect("one block at most is reserved");
            *loan = marked(n);
            loan.send(n);
        }
        sender
    });
    // While the sender looks at it.
    let word = hostile.claim().word(bytes(2) - RESERVATION_BYTES);
    for value in left {
        word.store(*value, taut_atomic::Ordering::Relaxed);
    }
    let (pool, line) = again.split(bytes(2) - RESERVATION_BYTES).unwrap();
    // SAFETY: the one before is gone.
    let receiver = unsafe { reserved::receiver::<Value>(pool, line, 2) }.unwrap();
    let begin = receiver.expected() - 1;
    let last = receive(&receiver, begin);
    let _sender = sending.join().unwrap();
    let last = receive(&receiver, last);
    assert!(last <= 4);
}

/// A receiver dies with sending 1, at the step after it reserved it, and a correct one follows.
#[test]
fn after_a_death() {
    explore_on(bytes(2), "reserved of 2, after a death", Some(2), |memory| after(&[1 << 1 | 1], memory));
}

/// A receiver reserves what it does not have, and a correct one follows that reads nothing which is written meanwhile.
#[test]
fn after_lies() {
    explore_on(bytes(2), "reserved of 2, after lies", Some(2), |memory| after(&[2 << 1 | 1, 0], memory));
    explore_on(bytes(2), "reserved of 2, after a large lie", Some(2), |memory| after(&[u64::MAX, 2], memory));
}
