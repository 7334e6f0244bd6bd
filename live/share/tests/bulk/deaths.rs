// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A process that kills itself with SIGKILL before the n-th shared step of its work on a pool of blocks, for every n;
//! then a successor attaches, and all blocks are there. `RUSTFLAGS="--cfg steps" cargo test -p taut-share --test
//! deaths_bulk`.
#![cfg(steps)]
#![allow(clippy::unwrap_used, reason = "a test: helpers too")]

#[path = "../payload/mod.rs"]
mod payload;
#[path = "../process/mod.rs"]
mod process;

use std::mem;
use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::Ordering::Relaxed;

use payload::{marked, number};
use process::{Mapping, orders};
use taut_atomic::steps::strike_at;
use taut_share::bulk::{self, BlockReceiver, BlockSender};

type Value = [u64; 3];
const BLOCKS: u32 = 4;

fn die() {
    // SAFETY: it kills this process, on purpose.
    unsafe { libc::raise(libc::SIGKILL) };
}

fn create() -> Mapping {
    Mapping::create(bulk::bytes::<Value>(BLOCKS).unwrap())
}

fn sender(mapping: &Mapping) -> BlockSender<'_, Value> {
    // SAFETY: the previous senders have ended or are not used again.
    unsafe { bulk::sender(mapping.memory(), BLOCKS) }.unwrap()
}

fn receiver(mapping: &Mapping) -> BlockReceiver<'_, Value> {
    // SAFETY: the previous receivers have ended or are not used again.
    unsafe { bulk::receiver(mapping.memory(), BLOCKS) }.unwrap()
}

/// Sends the next number; `None` if there is no block.
fn send(sender: &BlockSender<'_, Value>, number: u64, recall: bool) -> Option<u64> {
    let mut loan = if recall { sender.loan_or_recall() } else { sender.loan() }?;
    *loan = marked(number);
    Some(loan.send())
}

/// The started processes: each attaches, works, and dies before the n-th step.
#[test]
fn process() {
    let Some((role, mapping, n)) = orders() else {
        return println!("no test: for processes that tests start");
    };
    strike_at(n, die);
    // Word 0 of the report line: the last number sent, or received; word 1: the last number given back.
    let report = |word: usize, number| mapping.reported(word).store(number, Relaxed);
    match role.as_str() {
        "sender" => {
            let sender = sender(&mapping);
            let first = mapping.reported(0).load(Relaxed) + 1;
            let (kept, dropped) = (sender.loan(), sender.loan());
            drop(dropped);
            for number in first..first + 5 {
                assert_eq!(send(&sender, number, true), Some(number));
                report(0, number);
            }
            drop(kept);
            assert_eq!(send(&sender, first + 5, false), Some(first + 5));
            report(0, first + 5);
        }
        "receiver" => {
            let receiver = receiver(&mapping);
            let first = receiver.receive().unwrap().unwrap();
            report(0, first.number());
            let second = receiver.receive().unwrap().unwrap();
            report(0, second.number());
            report(1, first.number());
            drop(first);
            let last = receiver.receive_newest().unwrap().unwrap();
            assert!(last.number() > second.number());
            report(0, last.number());
            report(1, last.number());
            drop((last, second));
        }
        other => unreachable!("no role {other}"),
    }
}

/// Lets a process in `role` die before step `n`, and returns whether it died. If not, it must have ended without an
/// error.
fn dies(mapping: &Mapping, role: &str, n: u64) -> bool {
    let status = mapping.start(role, n).wait();
    let died = status.signal() == Some(libc::SIGKILL);
    assert!(died || status.success(), "{role} at step {n}: {status}");
    died
}

/// Receives all blocks that wait: with ascending numbers after `last`, up to `newest`, each with its own content.
fn drain(receiver: &BlockReceiver<'_, Value>, mut last: u64, newest: u64) {
    while let Some(received) = receiver.receive().unwrap() {
        assert_eq!((received.number(), number(&received)), (last + 1, last + 1));
        last += 1;
    }
    assert_eq!(last, newest, "lost");
}

/// Checks that every block can be lent.
fn all_are_back(sender: &BlockSender<'_, Value>) {
    let loans: Vec<_> = core::iter::from_fn(|| sender.loan()).collect();
    let mut places: Vec<_> = loans.iter().map(|loan| core::ptr::from_ref::<Value>(loan).addr()).collect();
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len(), BLOCKS as usize, "lost, or twice");
}

#[test]
fn a_sender_dies_at_every_step() {
    let mut deaths = 0;
    for n in 1.. {
        let mapping = create();
        let receiver = receiver(&mapping);
        // Before the death, the receiver holds one block, and one waits.
        let before = sender(&mapping);
        (1..=2).for_each(|number| assert_eq!(send(&before, number, false), Some(number)));
        let held = receiver.receive().unwrap().unwrap();
        mapping.reported(0).store(2, Relaxed);
        let died = dies(&mapping, "sender", n);
        // The block that the sender was sending may have been sent.
        let reported = mapping.reported(0).load(Relaxed);
        let next = sender(&mapping);
        assert_eq!(number(&held), 1, "held all the time, step {n}");
        let sent = send(&next, reported + 1, true).unwrap();
        assert!(sent == reported + 1 || sent == reported + 2, "step {n}: {sent} after {reported}");
        // Four blocks: the receiver holds one, and at most three wait, the newest of them included.
        let mut last = 0;
        while let Some(received) = receiver.receive().unwrap() {
            // The content of what we sent is the number that we expected.
            let behind = u64::from(sent == reported + 2 && received.number() == sent);
            assert_eq!(number(&received), received.number() - behind, "step {n}");
            assert!(received.number() > last && received.number() >= 2, "step {n}");
            last = received.number();
        }
        assert_eq!(last, sent, "step {n}");
        drop(held);
        all_are_back(&next);
        if !died {
            assert!(n > 30, "there are more steps");
            break;
        }
        deaths += 1;
    }
    assert!(deaths > 30, "{deaths}");
}

#[test]
fn a_receiver_dies_at_every_step() {
    let mut deaths = 0;
    for n in 1.. {
        let mapping = create();
        let sender = sender(&mapping);
        (1..=4).for_each(|number| assert_eq!(send(&sender, number, false), Some(number)));
        let died = dies(&mapping, "receiver", n);
        let given_back = mapping.reported(1).load(Relaxed);
        let next = receiver(&mapping);
        // At least once: the blocks that it had not given back, in order, and then those that wait.
        let mut seen = Vec::new();
        while let Some(received) = next.receive().unwrap() {
            assert_eq!(number(&received), received.number(), "step {n}");
            seen.push(received.number());
        }
        assert!(seen.is_sorted() && seen.len() <= 4, "step {n}: {seen:?}");
        if died && given_back < 4 {
            assert!(seen.ends_with(&[4]), "step {n}: {seen:?}");
            let reported = mapping.reported(0).load(Relaxed);
            // It reports a block before it gives it back: at most that block is missing, and those that
            // `receive_newest` skipped.
            assert!(reported < 2 || seen.contains(&2), "step {n}: {seen:?} after {reported}");
        }
        all_are_back(&sender);
        if !died {
            break;
        }
        deaths += 1;
    }
    assert!(deaths > 10, "{deaths}");
}

/// Either side dies while it attaches after a dead one, at every step of that.
#[test]
fn successors_die_too() {
    for n in 1.. {
        let mapping = create();
        let (before, receiver_before) = (sender(&mapping), receiver(&mapping));
        (1..=3).for_each(|number| assert_eq!(send(&before, number, false), Some(number)));
        mem::forget(receiver_before.receive().unwrap());
        mem::forget(receiver_before.receive().unwrap());
        // An interrupted send: block 3 is marked as sent, and not in the order.
        mapping.words()[16 + 3].store(4 << 8 | 1, Relaxed);
        mapping.reported(0).store(3, Relaxed);
        let sender_died = dies(&mapping, "sender", n);
        if !sender_died {
            break;
        }
        let (next, heir) = (sender(&mapping), receiver(&mapping));
        let reported = mapping.reported(0).load(Relaxed);
        let mut last = 0;
        while let Some(received) = heir.receive().unwrap() {
            assert_eq!(number(&received), received.number(), "step {n}");
            assert!(received.number() > last, "step {n}");
            last = received.number();
        }
        // One block is left to send: it waits, or it was recalled for the next sending.
        assert!(last == 2 || last == reported || last == reported + 1, "step {n}: {last} after {reported}");
        all_are_back(&next);
    }
    for n in 1.. {
        let mapping = create();
        let (sender, before) = (sender(&mapping), receiver(&mapping));
        (1..=4).for_each(|number| assert_eq!(send(&sender, number, false), Some(number)));
        mem::forget((before.receive().unwrap(), before.receive().unwrap()));
        if !dies(&mapping, "receiver", n) {
            break;
        }
        let heir = receiver(&mapping);
        if mapping.reported(0).load(Relaxed) == 0 {
            drain(&heir, 0, 4);
        }
        while let Some(received) = heir.receive().unwrap() {
            assert_eq!(number(&received), received.number(), "step {n}");
        }
        all_are_back(&sender);
    }
}
