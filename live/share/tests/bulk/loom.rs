// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Every execution of small runs of the pool of blocks, by loom:
//! `RUSTFLAGS="--cfg loom" cargo test -p taut-share --release --test loom bulk::`.

use loom::thread;
use taut_share::Memory;
use taut_share::bulk::{self, BlockSender, NotReceived};

use crate::explore::explore_on;
use crate::payload::{marked, number};

type Value = [u64; 2];

/// Sends `n` in a loan, and returns whether there was one.
fn send(sender: &BlockSender<'_, Value>, n: u64, recall: bool) -> bool {
    let loan = if recall { sender.loan_or_recall() } else { sender.loan() };
    let Some(mut loan) = loan else { return false };
    *loan = marked(n);
    assert_eq!(loan.send(), n);
    true
}

/// One thread tries to send; the other tries to receive, and keeps up to `keep` blocks. At the end everything must
/// have arrived, and all blocks must be there.
fn all_arrive(blocks: u32, sends: u64, receives: u64, keep: usize, memory: Memory<'static>) {
    let (sender, receiver) = bulk::pair::<Value>(memory, blocks).unwrap();
    let sending = thread::spawn(move || {
        let mut sent = 0;
        for _ in 0..sends {
            sent += u64::from(send(&sender, sent + 1, false));
        }
        (sender, sent)
    });
    let mut held = std::collections::VecDeque::new();
    let mut last = 0;
    for _ in 0..receives {
        if let Some(received) = receiver.receive().expect("nobody recalls") {
            assert_eq!((received.number(), number(&received)), (last + 1, last + 1), "lost, twice or late");
            last += 1;
            held.push_back(received);
        }
        while held.len() > keep {
            held.pop_front();
        }
    }
    let (sender, sent) = sending.join().unwrap();
    while let Some(received) = receiver.receive().unwrap() {
        assert_eq!((received.number(), number(&received)), (last + 1, last + 1));
        last += 1;
    }
    assert_eq!(last, sent, "lost");
    drop(held);
    assert_eq!(core::iter::from_fn(|| sender.loan().map(std::mem::forget)).count(), blocks as usize);
}

#[test]
fn one_block() {
    explore_on(bulk::bytes::<Value>(1).unwrap(), "bulk of 1, 3×3", None, |memory| {
        all_arrive(1, 3, 3, 0, memory)
    });
}

#[test]
fn two_blocks() {
    explore_on(bulk::bytes::<Value>(2).unwrap(), "bulk of 2, 3×3", None, |memory| {
        all_arrive(2, 3, 3, 0, memory)
    });
}

#[test]
fn two_blocks_one_kept() {
    explore_on(bulk::bytes::<Value>(2).unwrap(), "bulk of 2, one kept, 3×3", None, |memory| {
        all_arrive(2, 3, 3, 1, memory)
    });
}

#[test]
fn three_blocks_one_kept() {
    explore_on(bulk::bytes::<Value>(3).unwrap(), "bulk of 3, one kept, 5×4", Some(3), |memory| {
        all_arrive(3, 5, 4, 1, memory)
    });
}

/// The same with recall: every send succeeds if the receiver leaves a block, and blocks arrive in order.
fn newest_arrive(blocks: u32, sends: u64, receives: u64, keep: usize, newest: bool, memory: Memory<'static>) {
    let (sender, receiver) = bulk::pair::<Value>(memory, blocks).unwrap();
    let sending = thread::spawn(move || {
        for n in 1..=sends {
            assert!(send(&sender, n, true), "the receiver cannot have all");
        }
        sender
    });
    let mut held = std::collections::VecDeque::new();
    let mut last = 0;
    for _ in 0..receives {
        match if newest { receiver.receive_newest() } else { receiver.receive() } {
            Ok(Some(received)) => {
                assert_eq!(received.number(), number(&received), "another's content");
                assert!(received.number() > last, "twice or out of order");
                last = received.number();
                held.push_back(received);
            }
            Ok(None) | Err(NotReceived::Overtaken) => {}
            Err(NotReceived::Corrupt) => panic!("nobody lies"),
        }
        while held.len() > keep {
            held.pop_front();
        }
    }
    let sender = sending.join().unwrap();
    while let Some(received) = receiver.receive().unwrap() {
        assert_eq!(received.number(), number(&received));
        assert!(received.number() > last);
        last = received.number();
    }
    assert_eq!(last, sends, "the last sending is never lost");
    drop(held);
    assert_eq!(core::iter::from_fn(|| sender.loan().map(std::mem::forget)).count(), blocks as usize);
}

#[test]
fn recall_with_two_blocks() {
    explore_on(bulk::bytes::<Value>(2).unwrap(), "recall, 2 blocks, 4×2", None, |memory| {
        newest_arrive(2, 4, 2, 0, false, memory)
    });
}

#[test]
fn recall_with_three_blocks_one_kept() {
    explore_on(bulk::bytes::<Value>(3).unwrap(), "recall, 3 blocks, one kept, 5×2", None, |memory| {
        newest_arrive(3, 5, 2, 1, false, memory);
    });
}

#[test]
fn recall_with_three_blocks_longer() {
    explore_on(bulk::bytes::<Value>(3).unwrap(), "recall, 3 blocks, one kept, 5×3", Some(3), |memory| {
        newest_arrive(3, 5, 3, 1, false, memory);
    });
}

#[test]
fn the_newest_with_three_blocks_all_executions() {
    explore_on(bulk::bytes::<Value>(3).unwrap(), "newest, recall, 3 blocks, 4×1", None, |memory| {
        newest_arrive(3, 4, 1, 0, true, memory)
    });
}

#[test]
fn the_newest_with_three_blocks() {
    explore_on(bulk::bytes::<Value>(3).unwrap(), "newest, recall, 3 blocks, 4×2", Some(3), |memory| {
        newest_arrive(3, 4, 2, 0, true, memory)
    });
}

/// The newest block is no older than the last one that was sent before the call.
#[test]
fn the_newest_is_fresh() {
    explore_on(bulk::bytes::<Value>(3).unwrap(), "newest is fresh", None, |memory| {
        let (sender, receiver) = bulk::pair::<Value>(memory, 3).unwrap();
        send(&sender, 1, false);
        send(&sender, 2, false);
        let sending = thread::spawn(move || {
            send(&sender, 3, false);
            send(&sender, 4, false);
        });
        let newest = receiver.receive_newest().unwrap().expect("two wait");
        assert_eq!(newest.number(), number(&newest));
        assert!(newest.number() >= 2, "{} is older than 2", newest.number());
        drop(newest);
        sending.join().unwrap();
    });
}

/// A refusal is correct: the receiver has, or had until then, all blocks.
#[test]
fn recall_is_refused_only_without_blocks() {
    explore_on(bulk::bytes::<Value>(2).unwrap(), "recall refused", None, |memory| {
        let (sender, receiver) = bulk::pair::<Value>(memory, 2).unwrap();
        send(&sender, 1, false);
        send(&sender, 2, false);
        let receiving = thread::spawn(move || {
            // Never both blocks at once.
            for _ in 0..2 {
                drop(receiver.receive());
            }
        });
        for n in 3..=4 {
            assert!(send(&sender, n, true), "a block was there all the time");
        }
        receiving.join().unwrap();
    });
}

/// A sender's successor, while the receiver continues: it may write blocks that were given back.
#[test]
fn a_sender_follows() {
    explore_on(bulk::bytes::<Value>(2).unwrap(), "a sender follows, 2 blocks", None, |memory| {
        let again = memory.again();
        let (sender, receiver) = bulk::pair::<Value>(memory, 2).unwrap();
        send(&sender, 1, false);
        send(&sender, 2, false);
        let receiving = thread::spawn(move || {
            let mut last = 0;
            for _ in 0..2 {
                if let Some(received) = receiver.receive().unwrap() {
                    assert_eq!((received.number(), number(&received)), (last + 1, last + 1));
                    last += 1;
                }
            }
            (receiver, last)
        });
        // SAFETY: the previous sender is gone.
        let sender = unsafe { bulk::sender::<Value>(again, 2) }.unwrap();
        let mut sent = 2;
        for _ in 0..2 {
            sent += u64::from(send(&sender, sent + 1, false));
        }
        let (receiver, mut last) = receiving.join().unwrap();
        while let Some(received) = receiver.receive().unwrap() {
            assert_eq!((received.number(), number(&received)), (last + 1, last + 1));
            last += 1;
        }
        assert_eq!(last, sent);
    });
}

/// A receiver's successor, while the sender continues and recalls: the blocks of the dead receiver come first, and
/// again.
#[test]
fn a_receiver_follows() {
    explore_on(bulk::bytes::<Value>(3).unwrap(), "a receiver follows, 3 blocks", Some(3), |memory| {
        let again = memory.again();
        let (sender, receiver) = bulk::pair::<Value>(memory, 3).unwrap();
        send(&sender, 1, false);
        send(&sender, 2, false);
        std::mem::forget(receiver.receive().unwrap().unwrap());
        let sending = thread::spawn(move || {
            for n in 3..=5 {
                assert!(send(&sender, n, true), "one or two blocks are not the receiver's");
            }
            sender
        });
        // SAFETY: the previous receiver is gone.
        let receiver = unsafe { bulk::receiver::<Value>(again, 3) }.unwrap();
        let mut last = 0;
        let mut receive = || match receiver.receive() {
            Ok(received) => received.map(|received| {
                assert_eq!(received.number(), number(&received));
                assert!(received.number() > last && (last > 0 || number(&received) == 1));
                last = received.number();
            }),
            Err(error) => {
                assert_eq!(error, NotReceived::Overtaken);
                Some(())
            }
        };
        receive();
        receive();
        let sender = sending.join().unwrap();
        while receive().is_some() {}
        assert_eq!(last, 5, "the last sending is never lost");
        assert_eq!(core::iter::from_fn(|| sender.loan().map(std::mem::forget)).count(), 3);
    });
}
