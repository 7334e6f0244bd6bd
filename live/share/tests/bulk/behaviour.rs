// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The pool of blocks in one thread: policies, errors, layout, successors, corrupt words, and long random runs
//! compared with a model.

use core::ptr::NonNull;
use std::collections::VecDeque;
use std::mem;

use taut_atomic::Ordering::Relaxed;
use taut_share::bulk::{self, BlockReceiver, BlockSender, Loan, NotReceived, ReceivedBlock};
use taut_share::{LINE_BYTES, LayoutError, Line, List, Memory};

use crate::payload::{marked, number};

/// Memory that several ends attach to, one after another, as in a mapping.
struct Place {
    start: NonNull<u8>,
    lines: usize,
}

impl Place {
    fn new<T: taut_share::Plain>(blocks: u32) -> Self {
        let lines: Box<[Line]> =
            (0..bulk::bytes::<T>(blocks).unwrap() / LINE_BYTES).map(|_| Line::new()).collect();
        Self { lines: lines.len(), start: NonNull::from(Box::leak(lines)).cast() }
    }

    fn memory<'m>(&self) -> Memory<'m> {
        // SAFETY: aligned and of that length; the tests keep the place longer than the ends, and use it in one
        // thread.
        unsafe { Memory::from_raw(self.start, self.lines * LINE_BYTES) }
    }

    /// Word `i` of the order, in a pool of at most 16 blocks.
    fn order(&self, i: usize) -> &taut_atomic::AtomicU64 {
        // SAFETY: inside, aligned, and borrowed from the place.
        unsafe { taut_atomic::AtomicU64::from_ptr(self.start.cast::<u64>().as_ptr().add(i)) }
    }

    /// The word that names the owner of block `i`, in a pool of at most 16 blocks.
    fn owner(&self, i: usize) -> &taut_atomic::AtomicU64 {
        self.order(LINE_BYTES / 8 + i)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let lines = core::ptr::slice_from_raw_parts_mut(self.start.cast::<Line>().as_ptr(), self.lines);
        // SAFETY: leaked in `new`; the tests' ends are gone.
        drop(unsafe { Box::from_raw(lines) });
    }
}

fn sender<'m>(place: &Place, blocks: u32) -> BlockSender<'m, [u64; 4]> {
    // SAFETY: the tests no longer use the previous sender.
    unsafe { bulk::sender(place.memory(), blocks) }.unwrap()
}

fn receiver<'m>(place: &Place, blocks: u32) -> BlockReceiver<'m, [u64; 4]> {
    // SAFETY: the tests no longer use the previous receiver.
    unsafe { bulk::receiver(place.memory(), blocks) }.unwrap()
}

fn send(mut loan: Loan<'_, '_, [u64; 4]>, value: u64) -> u64 {
    *loan = marked(value);
    loan.send()
}

/// A certain block is lent if it is here, and keeps what was left in it.
#[test]
fn a_certain_block_is_lent() {
    let place = Place::new::<[u64; 4]>(3);
    let (sender, receiver) = (sender(&place, 3), receiver(&place, 3));
    for block in [2, 0, 1] {
        let mut loan = sender.loan_block(block).unwrap();
        assert_eq!((loan.block(), loan.recalled()), (block, None));
        *loan = marked(u64::from(block) + 10);
        assert!(sender.loan_block(block).is_none(), "it is lent");
    }
    assert!(sender.loan_block(3).is_none(), "there are three");
    let loan = sender.loan_block(1).unwrap();
    assert_eq!(number(&loan), 11);
    loan.send();
    assert!(sender.loan_block(1).is_none(), "it waits");
    let received = receiver.receive().unwrap().unwrap();
    assert!(sender.loan_block(1).is_none(), "the receiver has it");
    drop(received);
    assert_eq!(number(&sender.loan_block(1).unwrap()), 11);
    let any = sender.loan().unwrap();
    assert!(sender.loan_block(any.block()).is_none());
    drop(any);
    all_are_back(&sender, 3);
}

/// Number and value of a received block.
fn both(received: &ReceivedBlock<'_, '_, [u64; 4]>) -> (u64, u64) {
    (received.number(), number(received))
}

/// Asserts that the sender has all blocks, and that there are `blocks` of them.
fn all_are_back(sender: &BlockSender<'_, [u64; 4]>, blocks: usize) {
    let loans: Vec<_> = core::iter::from_fn(|| sender.loan()).collect();
    assert_eq!(loans.len(), blocks, "lost, or twice");
    let mut places: Vec<_> = loans.iter().map(|loan| core::ptr::from_ref::<[u64; 4]>(loan).addr()).collect();
    places.sort_unstable();
    assert!(places.windows(2).all(|two| two[1] - two[0] == LINE_BYTES), "the same block twice");
}

#[test]
fn sizes_and_what_is_refused() {
    assert_eq!(bulk::bytes::<[u8; 4096]>(3), Some(384 + 3 * 4096));
    assert_eq!(bulk::bytes::<[u8; 1]>(16), Some(384 + 16 * 128));
    assert_eq!(bulk::bytes::<[u8; 129]>(17), Some(768 + 17 * 256));
    assert_eq!(bulk::bytes::<[u8; 0]>(1), Some(384));
    assert_eq!(bulk::bytes::<List<u16, 100>>(64), Some(1536 + 64 * 256));
    for blocks in [0, bulk::BLOCKS_MAX + 1, u32::MAX] {
        assert_eq!(bulk::bytes::<u64>(blocks), None);
        let place = Place::new::<u64>(4);
        assert_eq!(bulk::pair::<u64>(place.memory(), blocks).map(drop), Err(LayoutError::Capacity));
    }
    assert_eq!(bulk::bytes::<[u8; 1 << (usize::BITS - 4)]>(64), None);
    let place = Place::new::<[u64; 4]>(2);
    let small = Err(LayoutError::TooSmall { needed: 768, given: 640 });
    assert_eq!(bulk::pair::<[u64; 4]>(place.memory(), 3).map(drop), small);
    // SAFETY: refused.
    assert_eq!(unsafe { bulk::sender::<[u64; 4]>(place.memory(), 3) }.map(drop), small);
    // SAFETY: refused.
    assert_eq!(unsafe { bulk::receiver::<[u64; 4]>(place.memory(), 3) }.map(drop), small);
    assert_eq!(
        NotReceived::Overtaken.to_string() + "; " + &NotReceived::Corrupt.to_string(),
        "the sender recalled every block that the receiver looked at; a word of the pool has a value that \
         this protocol never writes"
    );
    assert_eq!(
        LayoutError::Capacity.to_string(),
        "the capacity is 0 or above the protocol's limit, or the size of the object overflows"
    );
}

#[test]
fn blocks_move_where_they_lie_and_in_order() {
    for blocks in [1, 2, 3, 16, 17, bulk::BLOCKS_MAX] {
        let place = Place::new::<[u64; 4]>(blocks);
        let (sender, receiver) = bulk::pair::<[u64; 4]>(place.memory(), blocks).unwrap();
        assert_eq!((sender.blocks(), receiver.blocks()), (blocks, blocks));
        let mut next = 1;
        for _ in 0..3 {
            assert!(receiver.receive().unwrap().is_none());
            let mut sent = Vec::new();
            while let Some(loan) = sender.loan() {
                sent.push(core::ptr::from_ref::<[u64; 4]>(&loan));
                assert_eq!(send(loan, next * 10), next);
                next += 1;
            }
            assert_eq!(sent.len(), blocks as usize);
            let mut held = Vec::new();
            for (at, number) in sent.iter().zip(next - u64::from(blocks)..) {
                let received = receiver.receive().unwrap().unwrap();
                assert_eq!(both(&received), (number, number * 10));
                assert!(core::ptr::eq(*at, &*received), "moved in memory");
                held.push(received);
            }
            assert!(receiver.receive().unwrap().is_none());
            assert!(sender.loan().is_none(), "all are received and held");
            held.truncate(blocks as usize - 1);
            drop(sender.loan().expect("one was given back"));
            drop(held);
            all_are_back(&sender, blocks as usize);
        }
    }
}

#[test]
fn several_are_held_at_once_on_both_sides() {
    let place = Place::new::<[u64; 4]>(4);
    let (sender, receiver) = bulk::pair::<[u64; 4]>(place.memory(), 4).unwrap();
    let (first, second, third) = (sender.loan().unwrap(), sender.loan().unwrap(), sender.loan().unwrap());
    assert_eq!((send(third, 3), send(first, 1)), (1, 2));
    drop(second);
    let mut previous = receiver.receive().unwrap().unwrap();
    assert_eq!(both(&previous), (1, 3));
    for value in 10..30 {
        let current = receiver.receive().unwrap().unwrap();
        assert_ne!(both(&previous), both(&current));
        assert_eq!(previous.number() + 1, current.number());
        previous = current;
        assert_eq!(send(sender.loan().unwrap(), value), previous.number() + 1);
    }
}

#[test]
fn recall_takes_the_oldest_that_waits() {
    let place = Place::new::<[u64; 4]>(3);
    let (sender, receiver) = bulk::pair::<[u64; 4]>(place.memory(), 3).unwrap();
    for value in 1..=3 {
        send(sender.loan_or_recall().unwrap(), value);
    }
    assert!(sender.loan().is_none());
    let recalled = sender.loan_or_recall().unwrap();
    assert_eq!(number(&recalled), 1, "the oldest");
    send(recalled, 4);
    let two = receiver.receive().unwrap().unwrap();
    assert_eq!(both(&two), (2, 2));
    send(sender.loan_or_recall().unwrap(), 5);
    let four = receiver.receive().unwrap().unwrap();
    assert_eq!(both(&four), (4, 4), "3 was recalled");
    let five = receiver.receive().unwrap().unwrap();
    assert!(sender.loan_or_recall().is_none(), "the receiver has all");
    drop(two);
    let loan = sender.loan_or_recall().unwrap();
    assert!(sender.loan_or_recall().is_none(), "all are lent or received");
    drop((four, loan));
    send(sender.loan().unwrap(), 6);
    send(sender.loan().unwrap(), 7);
    drop(five);
    assert_eq!(number(&sender.loan_or_recall().unwrap()), 5, "what was given back comes first");
    assert_eq!(both(&receiver.receive().unwrap().unwrap()), (6, 6), "and nothing was recalled");
    assert_eq!(both(&receiver.receive().unwrap().unwrap()), (7, 7));
    all_are_back(&sender, 3);
}

#[test]
fn a_receiver_far_behind_catches_up_in_order() {
    let most = if cfg!(miri) { 8 } else { 30 };
    for (blocks, rounds) in (1..=5).flat_map(|blocks| (0..most).map(move |rounds| (blocks, rounds))) {
        let place = Place::new::<[u64; 4]>(blocks);
        let (sender, first) = bulk::pair::<[u64; 4]>(place.memory(), blocks).unwrap();
        (1..=rounds).for_each(|value| assert_eq!(send(sender.loan_or_recall().unwrap(), value), value));
        let successor = receiver(&place, blocks);
        for (receiver, from) in [(first, 0), (successor, 1)] {
            for value in (rounds + 1).saturating_sub(u64::from(blocks)).max(1) + from..=rounds {
                assert_eq!(both(&receiver.receive().unwrap().unwrap()), (value, value));
                if from == 0 {
                    break;
                }
            }
            if from == 1 {
                assert!(receiver.receive().unwrap().is_none());
            }
        }
        all_are_back(&sender, blocks as usize);
    }
}

#[test]
fn the_newest_is_received_and_the_rest_given_back() {
    let place = Place::new::<[u64; 4]>(4);
    let (sender, receiver) = bulk::pair::<[u64; 4]>(place.memory(), 4).unwrap();
    assert!(receiver.receive_newest().unwrap().is_none());
    for waiting in 1..=4u64 {
        let last = (0..waiting).map(|value| send(sender.loan().unwrap(), value)).last().unwrap();
        let newest = receiver.receive_newest().unwrap().unwrap();
        assert_eq!(both(&newest), (last, waiting - 1));
        let loans: Vec<_> = core::iter::from_fn(|| sender.loan()).collect();
        assert_eq!(loans.len(), 3, "the older ones were given back");
        assert!(receiver.receive_newest().unwrap().is_none());
    }
    all_are_back(&sender, 4);
}

#[test]
fn a_new_sender_has_the_unsent_blocks_of_the_dead_one() {
    let place = Place::new::<[u64; 4]>(4);
    let receiver = receiver(&place, 4);
    let first = sender(&place, 4);
    send(first.loan().unwrap(), 1);
    send(first.loan().unwrap(), 2);
    let received = receiver.receive().unwrap().unwrap();
    mem::forget(first.loan());
    let second = sender(&place, 4);
    let loans = [second.loan().unwrap(), second.loan().unwrap()];
    assert!(second.loan().is_none(), "one waits, one is received");
    drop(loans);
    // The sender died between the two stores of its third sending, of block 2.
    place.owner(2).store(3 << 8 | 1, Relaxed);
    let third = sender(&place, 4);
    assert_eq!(place.owner(2).load(Relaxed) & 0xFF, 0, "taken back");
    let loans = [third.loan().unwrap(), third.loan().unwrap()];
    assert!(third.loan().is_none());
    drop(received);
    loans.into_iter().zip([3, 4]).for_each(|(loan, value)| assert_eq!(send(loan, value), value));
    for value in 2..=4 {
        assert_eq!(both(&receiver.receive().unwrap().unwrap()), (value, value));
    }
    all_are_back(&third, 4);
    // A successor can recall the blocks that wait, oldest first.
    (5..=8).for_each(|value| assert_eq!(send(third.loan().unwrap(), value), value));
    let fourth = sender(&place, 4);
    assert_eq!(number(&fourth.loan_or_recall().unwrap()), 5);
    let loans = [fourth.loan_or_recall().unwrap(), fourth.loan_or_recall().unwrap()];
    assert_eq!((number(&loans[0]), number(&loans[1])), (5, 6));
}

#[test]
fn a_new_receiver_gets_the_blocks_of_the_dead_one_again() {
    let place = Place::new::<[u64; 4]>(5);
    let (sender, first) = bulk::pair::<[u64; 4]>(place.memory(), 5).unwrap();
    // So that the order of the blocks differs from that of their numbers.
    let loans: Vec<_> = (0..4).map(|_| sender.loan().unwrap()).collect();
    loans.into_iter().rev().zip(1..).for_each(|(loan, value)| assert_eq!(send(loan, value), value));
    let held: Vec<_> = (0..3).map(|_| first.receive().unwrap().unwrap()).collect();
    let mut held = held.into_iter();
    drop(held.next());
    held.for_each(mem::forget);
    let second = receiver(&place, 5);
    assert!(second.receive().unwrap().is_some_and(|two| both(&two) == (2, 2)));
    mem::forget(second.receive().unwrap());
    let third = receiver(&place, 5);
    let three = third.receive().unwrap().unwrap();
    let four = third.receive().unwrap().unwrap();
    assert_eq!((both(&three), both(&four)), ((3, 3), (4, 4)));
    assert!(third.receive().unwrap().is_none());
    mem::forget((three, four));
    let fourth = receiver(&place, 5);
    send(sender.loan().unwrap(), 5);
    assert_eq!(both(&fourth.receive_newest().unwrap().unwrap()), (5, 5));
    all_are_back(&sender, 5);
}

#[test]
fn a_lie_lends_no_block_twice() {
    let place = Place::new::<[u64; 4]>(3);
    let sender = sender(&place, 3);
    let loans: Vec<_> = (0..3).map(|_| sender.loan().unwrap()).collect();
    for word in [0, 1, 2, 3, 1 << 8, u64::MAX] {
        (0..3).for_each(|i| place.owner(i).store(word, Relaxed));
        (0..3).for_each(|i| place.order(i).store(word, Relaxed));
        assert!(sender.loan().is_none() && sender.loan_or_recall().is_none(), "{word}: all are lent");
    }
    drop(loans);
    let [one, two] = [sender.loan().unwrap(), sender.loan().unwrap()];
    send(one, 1);
    send(two, 2);
    // No owner: not given back.
    place.owner(0).store(3, Relaxed);
    place.owner(1).store(u64::MAX, Relaxed);
    let third = sender.loan().unwrap();
    assert!(sender.loan_or_recall().is_none());
    // Given back before it was received: the receiver misses it.
    place.owner(0).store(0, Relaxed);
    let first = sender.loan_or_recall().unwrap();
    assert!(sender.loan_or_recall().is_none());
    drop((first, third));
}

#[test]
fn a_receiver_takes_no_block_that_it_has_or_that_is_none() {
    let place = Place::new::<[u64; 4]>(3);
    let (sender, receiver) = bulk::pair::<[u64; 4]>(place.memory(), 3).unwrap();
    send(sender.loan().unwrap(), 1);
    let held = receiver.receive().unwrap().unwrap();
    let next = place.order(2);
    let corrupt = |word| {
        next.store(word, Relaxed);
        matches!(receiver.receive(), Err(NotReceived::Corrupt))
            && matches!(receiver.receive_newest(), Err(NotReceived::Corrupt))
    };
    assert!(corrupt(2 << 8 | 3), "no such block");
    assert!(corrupt(2 << 8 | 255), "no such block");
    assert!(corrupt(3 << 8 | 1), "not its place");
    assert!(corrupt(u64::MAX), "neither");
    // The correct word again: the failed calls took nothing.
    next.store(0, Relaxed);
    assert!(receiver.receive().unwrap().is_none());
    send(sender.loan().unwrap(), 2);
    assert_eq!(both(&receiver.receive().unwrap().unwrap()), (2, 2));
    // Block 0 is held, whatever its word says.
    place.owner(0).store(3 << 8 | 1, Relaxed);
    place.order(0).store(3 << 8, Relaxed);
    assert!(receiver.receive().unwrap().is_none(), "held");
    assert_eq!(both(&held), (1, 1));
    // A number far too large makes the receiver expect that one, in bounded time.
    place.order(1).store((4 + 3 * 1000) << 8 | 1, Relaxed);
    assert!(receiver.receive().unwrap().is_none());
}

#[test]
fn a_forged_word_may_hide_the_blocks_of_a_dead_receiver() {
    let place = Place::new::<[u64; 4]>(2);
    let (sender, first) = bulk::pair::<[u64; 4]>(place.memory(), 2).unwrap();
    send(sender.loan().unwrap(), 1);
    send(sender.loan().unwrap(), 2);
    mem::forget((first.receive().unwrap(), first.receive().unwrap()));
    let second = receiver(&place, 2);
    place.owner(0).store(1 << 8 | 1, Relaxed);
    let two = second.receive().unwrap().unwrap();
    assert_eq!(both(&two), (2, 2));
    // By its word the block waits again; so it is received once.
    assert_eq!(both(&second.receive().unwrap().unwrap()), (1, 1));
    assert!(second.receive().unwrap().is_none());
}

#[test]
fn a_list_in_a_block_is_as_long_as_it_was_made() {
    let place = Place::new::<List<u8, 1500>>(2);
    let (sender, receiver) = bulk::pair::<List<u8, 1500>>(place.memory(), 2).unwrap();
    for n in [0, 1, 700, 1500] {
        let mut loan = sender.loan().unwrap();
        loan.clear();
        assert!(loan.extend(&vec![n as u8; n]));
        loan.send();
        let received = receiver.receive().unwrap().unwrap();
        assert_eq!(received.len(), n);
        assert!(received.iter().all(|byte| *byte == n as u8));
    }
    let mut loan = sender.loan().unwrap();
    *loan = List::of(&[1, 2]).unwrap();
    assert_eq!(format!("{loan:?}"), "[1, 2]");
    loan.send();
    assert_eq!(format!("{:?}", receiver.receive()), "Ok(Some([1, 2]))");
}

/// Random operations compared with a model of queues; ends are lost together with the blocks that they hold.
#[test]
fn long_runs_are_as_the_model() {
    let steps = if cfg!(miri) { 150 } else { 20_000 };
    for blocks in [1, 2, 3, 4, 7] {
        let place = Place::new::<[u64; 4]>(blocks);
        let mut random = 0x9E37_79B9_7F4A_7C15 ^ u64::from(blocks);
        let mut below = |n: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random >> 33) % n
        };
        let (mut next, mut waiting, mut inherited) = (1, VecDeque::new(), VecDeque::new());
        let mut count = 0;
        while count < steps {
            let (sender, receiver) = (sender(&place, blocks), receiver(&place, blocks));
            let (mut loans, mut held) = (VecDeque::new(), VecDeque::<ReceivedBlock<'_, '_, [u64; 4]>>::new());
            // The lifetime of one pair of ends.
            for _ in 0..below(60) {
                count += 1;
                let out = loans.len() + waiting.len() + held.len() + inherited.len();
                let free = blocks as usize - out;
                match below(10) {
                    0 | 1 => match sender.loan() {
                        Some(loan) => {
                            assert!(free > 0, "lent twice");
                            loans.push_back(loan);
                        }
                        None => assert_eq!(free, 0),
                    },
                    2 | 3 => match sender.loan_or_recall() {
                        Some(loan) => {
                            if free == 0 {
                                let oldest: u64 = waiting.pop_front().expect("recalled what did not wait");
                                assert_eq!(number(&loan), oldest);
                            }
                            loans.push_back(loan);
                        }
                        None => assert_eq!((free, waiting.len()), (0, 0)),
                    },
                    4 | 5 => {
                        if let Some(loan) = loans.pop_front() {
                            assert_eq!(send(loan, next), next);
                            waiting.push_back(next);
                            next += 1;
                        }
                    }
                    6 => drop(loans.pop_back()),
                    7 => {
                        let expected = inherited.pop_front().or_else(|| waiting.pop_front());
                        let received = receiver.receive().unwrap();
                        assert_eq!(received.as_ref().map(both), expected.map(|n| (n, n)));
                        held.extend(received);
                    }
                    8 => {
                        inherited.extend(waiting.drain(..));
                        let expected = inherited.drain(..).next_back();
                        let received = receiver.receive_newest().unwrap();
                        assert_eq!(received.as_ref().map(both), expected.map(|n| (n, n)));
                        held.extend(received);
                    }
                    _ => drop(if below(2) == 0 { held.pop_front() } else { held.pop_back() }),
                }
            }
            // Both ends die with the blocks that they hold.
            let mut again: Vec<u64> = held.iter().map(|received| received.number()).collect();
            again.extend(inherited.drain(..));
            again.sort_unstable();
            inherited.extend(again);
            held.into_iter().for_each(mem::forget);
            loans.into_iter().for_each(mem::forget);
        }
    }
}

/// A stamp comes with its sending, and a loan says which sending it was taken back from.
#[test]
fn stamps_and_recalls_are_told() {
    let place = Place::new::<[u64; 4]>(2);
    let (sender, receiver) = bulk::pair::<[u64; 4]>(place.memory(), 2).unwrap();
    for number in 1..=2 {
        let loan = sender.loan_or_recall().unwrap();
        assert_eq!((loan.number(), loan.recalled()), (number, None));
        assert_eq!(loan.send_stamped(100 * number), number);
    }
    let loan = sender.loan_or_recall().unwrap();
    assert_eq!((loan.number(), loan.recalled()), (3, Some(1)));
    assert_eq!(loan.send_stamped(300), 3);
    let second = receiver.receive().unwrap().unwrap();
    let third = receiver.receive().unwrap().unwrap();
    assert_eq!((second.number(), second.stamp(), third.number(), third.stamp()), (2, 200, 3, 300));
    drop((second, third));
    assert_eq!(sender.loan_or_recall().unwrap().recalled(), None, "given back, not recalled");
}

/// What safe code leaks comes back.
#[test]
fn leaked_blocks_are_reclaimed() {
    let place = Place::new::<[u64; 4]>(3);
    let (mut sender, mut receiver) = bulk::pair::<[u64; 4]>(place.memory(), 3).unwrap();
    assert_eq!((sender.reclaim(), receiver.reclaim()), (0, 0));
    for _ in 0..3 {
        send(sender.loan().unwrap(), 7);
        mem::forget(receiver.receive().unwrap().unwrap());
    }
    assert!(sender.loan().is_none() && sender.loan_or_recall().is_none());
    assert_eq!(receiver.reclaim(), 3);
    for _ in 0..3 {
        mem::forget(sender.loan().unwrap());
    }
    assert!(sender.loan().is_none());
    assert_eq!((sender.reclaim(), sender.reclaim()), (3, 0));
    assert_eq!(send(sender.loan().unwrap(), 8), 4);
    assert_eq!(both(&receiver.receive().unwrap().unwrap()), (4, 8));
    all_are_back(&sender, 3);
}

/// A watcher sees what the receiver would receive, and nothing of a sender that died inside of its send.
#[test]
fn a_watcher_sees_what_waits() {
    for blocks in [1, 3, 17, bulk::BLOCKS_MAX] {
        let place = Place::new::<[u64; 4]>(blocks);
        let (sender, receiver) = bulk::pair::<[u64; 4]>(place.memory(), blocks).unwrap();
        // SAFETY: the same object.
        let watcher = unsafe { bulk::watcher::<[u64; 4]>(place.memory(), blocks) }.unwrap();
        assert!(watcher.is_empty() && watcher.oldest().is_none());
        let mut next = 1;
        for _ in 0..3 {
            let first = next;
            while let Some(loan) = sender.loan() {
                assert_eq!(watcher.is_empty(), next == first);
                loan.send_stamped(7 * next);
                next += 1;
                assert_eq!(watcher.oldest(), Some((first, 7 * first)));
            }
            let recalled = sender.loan_or_recall().unwrap();
            assert_eq!(recalled.recalled(), Some(first));
            let oldest = (blocks > 1).then_some((first + 1, 7 * (first + 1)));
            assert_eq!(watcher.oldest(), oldest);
            drop(recalled);
            while let Some(received) = receiver.receive().unwrap() {
                let after = received.number() + 1;
                assert_eq!(watcher.oldest(), (after < next).then_some((after, 7 * after)));
                assert_eq!(watcher.is_empty(), after == next);
            }
        }
    }
    let place = Place::new::<[u64; 4]>(3);
    // SAFETY: the same object.
    let watcher = unsafe { bulk::watcher::<[u64; 4]>(place.memory(), 3) }.unwrap();
    // The first of the two stores of `send`.
    place.owner(0).store(1 << 8 | 1, Relaxed);
    assert!(watcher.is_empty() && watcher.oldest().is_none());
    place.order(1).store(1 << 8, Relaxed);
    assert_eq!(watcher.oldest(), Some((1, 0)));
}
