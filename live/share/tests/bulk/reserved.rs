// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The pool whose receiver reserves blocks, in one thread: order, recalls, successors, and receivers that lie.

use taut_atomic::Ordering::Relaxed;
use taut_share::bulk::NotReceived;
use taut_share::bulk::reserved::{self, RESERVATION_BYTES, RecallingSender, ReservingReceiver};
use taut_share::{LayoutError, Line, Memory};

use crate::payload::{marked, number};
use crate::place::Place;

type Value = [u64; 4];

fn place(blocks: u32) -> Place {
    Place::new(reserved::bytes::<Value>(blocks).unwrap() + RESERVATION_BYTES)
}

fn memory(place: &Place, blocks: u32) -> (Memory<'static>, Memory<'static>) {
    place.memory().split(reserved::bytes::<Value>(blocks).unwrap()).unwrap()
}

fn sender(place: &Place, blocks: u32) -> RecallingSender<'static, Value> {
    let (pool, line) = memory(place, blocks);
    // SAFETY: the tests no longer use the previous sender.
    unsafe { reserved::sender(pool, line, blocks) }.unwrap()
}

fn receiver(place: &Place, blocks: u32) -> ReservingReceiver<'static, Value> {
    let (pool, line) = memory(place, blocks);
    // SAFETY: the tests no longer use the previous receiver.
    unsafe { reserved::receiver(pool, line, blocks) }.unwrap()
}

/// Sends a block with the number of its sending, and returns that and the number that was recalled for it.
fn send(sender: &RecallingSender<'_, Value>) -> (u64, Option<u64>) {
    let mut loan = sender.loan().expect("never refused");
    let (number, recalled) = (loan.number(), loan.recalled());
    *loan = marked(number);
    assert_eq!(loan.send(10 * number), number);
    (number, recalled)
}

/// Receives a block and gives it back; its number.
fn receive(receiver: &ReservingReceiver<'_, Value>) -> Option<u64> {
    let block = receiver.receive().unwrap()?;
    assert_eq!((number(&block), block.stamp()), (block.number(), 10 * block.number()));
    Some(block.number())
}

#[test]
fn blocks_arrive_in_order_and_the_oldest_are_recalled() {
    let place = place(3);
    let (sender, receiver) = (sender(&place, 3), receiver(&place, 3));
    assert_eq!(receive(&receiver), None);
    assert_eq!([(); 3].map(|()| send(&sender)), [(1, None), (2, None), (3, None)]);
    assert_eq!([(); 2].map(|()| send(&sender)), [(4, Some(1)), (5, Some(2))]);
    assert_eq!([(); 4].map(|()| receive(&receiver)), [Some(3), Some(4), Some(5), None]);
    // What was received is not recalled.
    assert_eq!([(); 3].map(|()| send(&sender)), [(6, None), (7, None), (8, None)]);
    let kept = receiver.receive().unwrap().unwrap();
    assert_eq!([(); 4].map(|()| send(&sender)), [(9, Some(7)), (10, Some(8)), (11, Some(9)), (12, Some(10))]);
    assert_eq!((kept.number(), number(&kept)), (6, 6), "written while it was held");
    drop(kept);
    assert_eq!(send(&sender), (13, None));
    assert_eq!([(); 4].map(|()| receive(&receiver)), [Some(11), Some(12), Some(13), None]);
}

/// With two blocks, the sender has one whatever the receiver does.
#[test]
fn two_blocks_are_enough() {
    let place = place(2);
    let (sender, receiver) = (sender(&place, 2), receiver(&place, 2));
    send(&sender);
    let kept = receiver.receive().unwrap().unwrap();
    for _ in 0..10 {
        send(&sender);
    }
    let loan = sender.loan().unwrap();
    assert!(sender.loan().is_none(), "one is lent, the other reserved");
    assert_eq!(number(&kept), 1);
    drop(kept);
    assert!(sender.loan().is_some());
    drop(loan);
}

/// A loan that is dropped or leaked is a block in stock, and one that was leaked by the receiver is its own until it receives
/// again.
#[test]
fn what_is_dropped_or_leaked_comes_back() {
    let place = place(3);
    let (mut sender, mut receiver) = (sender(&place, 3), receiver(&place, 3));
    (0..3).for_each(|_| _ = send(&sender));
    drop(sender.loan().unwrap());
    let block = sender.loan().unwrap().block();
    assert_eq!(sender.loan_block(block).unwrap().block(), block);
    assert!(sender.loan_block((block + 1) % 3).is_none() && sender.loan_block(3).is_none());
    std::mem::forget(sender.loan().unwrap());
    assert_eq!(sender.reclaim(), 1);
    assert_eq!(sender.loan().unwrap().recalled(), None, "from the stock");
    std::mem::forget(receiver.receive().unwrap().unwrap());
    assert!(receiver.receive().unwrap().is_none(), "one block at a time");
    assert_eq!(send(&sender).1, None);
    assert_eq!(send(&sender), (5, Some(3)));
    receiver.reclaim();
    assert_eq!(receive(&receiver), Some(4));
    assert_eq!(send(&sender), (6, None), "the leaked block, as the receiver has come back");
}

/// A receiver that follows begins after the block that the dead one had.
#[test]
fn a_receiver_follows() {
    let place = place(3);
    let (sender, before) = (sender(&place, 3), receiver(&place, 3));
    (0..3).for_each(|_| _ = send(&sender));
    std::mem::forget(before.receive().unwrap().unwrap());
    assert_eq!(send(&sender), (4, Some(2)), "the dead one's block is not used");
    let next = receiver(&place, 3);
    assert_eq!(next.expected(), 2);
    assert_eq!([(); 3].map(|()| receive(&next)), [Some(3), Some(4), None]);
    assert_eq!([(); 3].map(|()| send(&sender)), [(5, None), (6, None), (7, None)], "its block is back");
}

/// A sender that follows has all blocks but the one that is reserved, also after a death in `send`.
#[test]
fn a_sender_follows() {
    for interrupted in [false, true] {
        let place = place(3);
        let (before, receiver) = (sender(&place, 3), receiver(&place, 3));
        (0..2).for_each(|_| _ = send(&before));
        let kept = receiver.receive().unwrap().unwrap();
        if interrupted {
            std::mem::forget(before.loan().unwrap());
            // A send that has not stored into the order.
            place.words()[16 + 2].store(3 << 8, Relaxed);
        }
        let next = sender(&place, 3);
        assert_eq!(send(&next), (3, None));
        assert_eq!(send(&next), (4, Some(2)));
        assert_eq!(number(&kept), 1);
        drop(kept);
        assert_eq!([(); 3].map(|()| receive(&receiver)), [Some(3), Some(4), None]);
    }
}

/// Whatever stands in the word, the sender has a block that differs from those that it lent, and a correct receiver that
/// attaches then reads what nobody writes.
#[test]
fn a_receiver_that_lies_harms_itself() {
    for blocks in [2, 3, 7] {
        let place = place(blocks);
        let sender = sender(&place, blocks);
        let word = &place.words()[reserved::bytes::<Value>(blocks).unwrap() / 8];
        let mut random = 0x9E37_79B9_7F4A_7C15u64;
        for round in 0..if cfg!(miri) { 60 } else { 5_000 } {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let near = (round + random % 5) << 1 | random >> 32 & 1;
            word.store([near, random, u64::MAX, 0, 1][(random >> 40) as usize % 5], Relaxed);
            let mut loan = sender.loan().expect("one block at most is reserved");
            let number = loan.number();
            *loan = marked(number);
            loan.send(10 * number);
            if round % 4 == 3 {
                let honest = receiver(&place, blocks);
                let from = honest.expected();
                assert!(from <= number + 1);
                if let Some(kept) = honest.receive().unwrap() {
                    assert!(kept.number() >= from);
                    (0..2 * blocks).for_each(|_| _ = send(&sender));
                    assert_eq!(crate::payload::number(&kept), kept.number(), "written while it was held");
                }
            }
        }
    }
}

#[test]
fn a_corrupt_order_is_reported() {
    let place = place(3);
    let (sender, receiver) = (sender(&place, 3), receiver(&place, 3));
    send(&sender);
    for word in [1 << 8 | 3, 3 << 8, u64::MAX] {
        place.words()[1].store(word, Relaxed);
        assert_eq!(receiver.receive().unwrap_err(), NotReceived::Corrupt, "{word:#x}");
    }
}

#[test]
fn numbers_and_memory_must_fit() {
    let mut lines: Vec<Line> = (0..64).map(|_| Line::new()).collect();
    let (pool, line) = Memory::new(&mut lines).split(63 * 128).unwrap();
    let many = reserved::pair::<Value>(pool, line, 65);
    assert_eq!(many.err(), Some(LayoutError::Capacity));
    let mut lines: Vec<Line> = (0..64).map(|_| Line::new()).collect();
    let needed = reserved::bytes::<Value>(3).unwrap();
    let (pool, line) = Memory::new(&mut lines).split(needed - 128).unwrap();
    let small = reserved::pair::<Value>(pool, line, 3);
    assert_eq!(small.err(), Some(LayoutError::TooSmall { needed, given: needed - 128 }));
    assert_eq!(reserved::bytes::<Value>(0), None);
}
