// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Two processes on one pool of blocks: the test kills either side with SIGKILL at random moments, and a successor
//! follows, `TAUT_STRESS_DEATHS` times. (`deaths.rs` kills at every single step.)
#![cfg(not(any(loom, shuttle, miri)))]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test: helpers too, and its figures")]

#[path = "../payload/mod.rs"]
mod payload;
#[path = "../process/mod.rs"]
mod process;

use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use payload::{marked, number};
use process::{Mapping, orders};
use taut_share::bulk::{self, BlockReceiver, BlockSender, NotReceived};

type Value = [u64; 128];
const BLOCKS: u32 = 5;

/// How often each side dies.
fn deaths() -> u64 {
    std::env::var("TAUT_STRESS_DEATHS").ok().and_then(|s| s.parse().ok()).unwrap_or(40)
}

fn create() -> Mapping {
    Mapping::create(bulk::bytes::<Value>(BLOCKS).unwrap())
}

fn sender(mapping: &Mapping) -> BlockSender<'_, Value> {
    // SAFETY: the tests start one at a time.
    unsafe { bulk::sender(mapping.memory(), BLOCKS) }.unwrap()
}

fn receiver(mapping: &Mapping) -> BlockReceiver<'_, Value> {
    // SAFETY: the tests start one at a time.
    unsafe { bulk::receiver(mapping.memory(), BLOCKS) }.unwrap()
}

/// Sends the next number; the content of sending `n` is `n`. Returns false if there is no loan.
fn send_next(sender: &BlockSender<'_, Value>, next: &mut u64, recall: bool) -> bool {
    let Some(mut loan) = (if recall { sender.loan_or_recall() } else { sender.loan() }) else { return false };
    *loan = marked(*next);
    assert_eq!(loan.send(), *next);
    *next += 1;
    true
}

/// Runs `work` until the process reports more than `reported` in `mapping`, then for a time that differs from round
/// to round.
fn meanwhile(mapping: &Mapping, reported: u64, round: u64, mut work: impl FnMut()) {
    let limit = Instant::now() + Duration::from_secs(20);
    while mapping.reported(0).load(Relaxed) <= reported {
        work();
        assert!(Instant::now() < limit, "the process does not work");
    }
    let end = Instant::now() + Duration::from_micros(200 + round.wrapping_mul(7919) % 3000);
    while Instant::now() < end {
        work();
    }
}

/// The started processes. Word 0 of the report line: number of blocks sent or received; word 1: the last number.
#[test]
fn process() {
    let Some((role, mapping, from)) = orders() else {
        return println!("no test: for processes that tests start");
    };
    let report = || mapping.reported(0).fetch_add(1, Relaxed);
    match role.as_str() {
        "sender" | "recalling-sender" => {
            let sender = sender(&mapping);
            // A loan that it holds all the time, in addition to those that it sends.
            let _kept = sender.loan();
            let mut next = from;
            loop {
                let round = next;
                if send_next(&sender, &mut next, role == "recalling-sender") {
                    report();
                }
                (0..round % 100).for_each(|_| std::hint::spin_loop());
            }
        }
        "receiver" | "newest-receiver" => {
            let receiver = receiver(&mapping);
            let mut held = VecDeque::new();
            loop {
                let result = if role == "receiver" { receiver.receive() } else { receiver.receive_newest() };
                match result {
                    Ok(Some(block)) => {
                        let n = number(&block);
                        assert_eq!(n, block.number(), "another's content");
                        mapping.reported(1).fetch_max(n, Relaxed);
                        report();
                        held.push_back((n, block));
                    }
                    Ok(None) | Err(NotReceived::Overtaken) => {}
                    Err(NotReceived::Corrupt) => panic!("nobody lies"),
                }
                if held.len() > 2 {
                    let (n, block) = held.pop_front().unwrap();
                    assert_eq!(number(&block), n, "written while it was held");
                }
            }
        }
        other => unreachable!("no role {other}"),
    }
}

fn all_are_back(sender: &BlockSender<'_, Value>) {
    let loans: Vec<_> = core::iter::from_fn(|| sender.loan()).collect();
    assert_eq!(loans.len(), BLOCKS as usize, "a block is lost");
}

fn sender_dies(role: &str) {
    let mapping = create();
    let receiver = receiver(&mapping);
    let (mut last, mut missed) = (0, 0);
    for round in 0..deaths() {
        let reported = mapping.reported(0).load(Relaxed);
        let process = mapping.start(role, last + 1);
        let mut held = VecDeque::new();
        let mut receive = || {
            let received = receiver.receive();
            if let Ok(Some(block)) = received {
                let n = number(&block);
                assert_eq!(n, block.number(), "another's content");
                assert!(n > last, "twice or out of order");
                missed += n - last - 1;
                last = n;
                held.push_back(block);
            }
            if held.len() > 1 {
                held.pop_front();
            }
        };
        meanwhile(&mapping, reported, round, &mut receive);
        process.kill();
        // The receiver waits for nobody, and the sent blocks arrive.
        (0..4 * BLOCKS).for_each(|_| receive());
    }
    assert!(last >= deaths());
    assert!(role != "sender" || missed == 0, "lost");
    println!("{role}: {last} sent, {missed} missed, {} deaths", deaths());
    all_are_back(&sender(&mapping));
}

#[test]
fn a_sender_dies() {
    sender_dies("sender");
}

#[test]
fn a_sender_that_recalls_dies() {
    sender_dies("recalling-sender");
}

fn receiver_dies(role: &str, recall: bool) {
    let mapping = create();
    let sender = sender(&mapping);
    let mut next = 1;
    for round in 0..deaths() {
        let reported = mapping.reported(0).load(Relaxed);
        let process = mapping.start(role, 0);
        meanwhile(&mapping, reported, round, || {
            send_next(&sender, &mut next, recall);
        });
        process.kill();
    }
    // The last successor gets the blocks that the dead receivers had, and all that wait.
    let heir = receiver(&mapping);
    let (mut last, mut received) = (0, 0);
    while let Some(block) = heir.receive().unwrap() {
        assert_eq!(number(&block), block.number());
        assert!(block.number() > last);
        (last, received) = (block.number(), received + 1);
    }
    assert!(
        received <= BLOCKS && mapping.reported(1).load(Relaxed).max(last) == next - 1,
        "the last is never lost"
    );
    println!(
        "{role}: {} sent, {} received, {} deaths",
        next - 1,
        mapping.reported(0).load(Relaxed),
        deaths()
    );
    all_are_back(&sender);
}

#[test]
fn a_receiver_dies() {
    receiver_dies("receiver", false);
}

#[test]
fn a_receiver_dies_and_is_recalled_from() {
    receiver_dies("receiver", true);
}

#[test]
fn a_receiver_of_the_newest_dies() {
    receiver_dies("newest-receiver", true);
}
