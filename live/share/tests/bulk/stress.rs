// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Two threads that work as fast as they can on a pool of blocks of 4 KiB, which show tearing. A second each;
//! `TAUT_STRESS_SECONDS` makes it longer. Under Miri the runs are short.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use taut_share::bulk::{self, NotReceived};
use taut_share::{LINE_BYTES, Line, Memory};

use crate::alone;
use crate::payload::{marked, number};

const WORDS: usize = if cfg!(miri) { 20 } else { 512 };
type Value = [u64; WORDS];

/// What the threads do.
#[derive(Clone, Copy)]
struct Run {
    blocks: u32,
    /// Number of blocks that the receiver keeps.
    keep: usize,
    recall: bool,
    newest: bool,
}

/// Number of blocks after which a thread counts as having met the other.
const MET: u64 = 100;

fn holds(run: Run) {
    let mut lines: Vec<Line> =
        (0..bulk::bytes::<Value>(run.blocks).unwrap() / LINE_BYTES).map(|_| Line::new()).collect();
    let (sender, receiver) = bulk::pair::<Value>(Memory::new(&mut lines), run.blocks).unwrap();
    let (done, received) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let receiving = scope.spawn(|| {
            let receiver = receiver;
            let (mut held, mut last, mut missed, mut overtaken) = (VecDeque::new(), 0, 0, 0u64);
            loop {
                let last_look = done.load(Ordering::Acquire);
                match if run.newest { receiver.receive_newest() } else { receiver.receive() } {
                    Ok(Some(block)) => {
                        let n = number(&block);
                        assert_eq!(n, block.number(), "another's content");
                        assert!(n > last, "twice or out of order");
                        missed += n - last - 1;
                        last = n;
                        held.push_back((n, block));
                        received.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(None) if last_look => break,
                    Ok(None) => thread::yield_now(),
                    Err(NotReceived::Overtaken) => overtaken += 1,
                    Err(NotReceived::Corrupt) => panic!("nobody lies"),
                }
                // A kept block does not change.
                while held.len() > run.keep {
                    let (n, block) = held.pop_front().unwrap();
                    assert_eq!(number(&block), n, "written while it was held");
                }
            }
            (last, missed, overtaken)
        });
        let seconds = std::env::var("TAUT_STRESS_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(1.0);
        let end = Instant::now() + Duration::from_secs_f64(seconds);
        let limit = end + Duration::from_secs(60);
        let (mut sent, mut refused) = (0, 0u64);
        for n in 0u64.. {
            let over = |now| now > limit || now > end && received.load(Ordering::Relaxed) > MET;
            if if cfg!(miri) { n == 150 } else { n % 64 == 0 && over(Instant::now()) } {
                break;
            }
            let Some(mut loan) = (if run.recall { sender.loan_or_recall() } else { sender.loan() }) else {
                assert!(!run.recall, "the receiver cannot have all");
                refused += 1;
                thread::yield_now();
                continue;
            };
            *loan = marked(sent + 1);
            sent = loan.send();
            if run.recall && n % 8 == 0 {
                thread::yield_now();
            }
        }
        done.store(true, Ordering::Release);
        let (last, missed, overtaken) = receiving.join().unwrap();
        println!(
            "{} blocks, {} kept: {sent} sent, {refused} refused; {} received, {missed} missed, {overtaken} overtaken",
            run.blocks,
            run.keep,
            last - missed
        );
        assert_eq!(last, sent, "the last is never lost");
        assert!(run.recall || run.newest || missed == 0, "lost");
        assert!(cfg!(miri) || last - missed > MET, "the threads did not meet");
        let loans: Vec<_> = core::iter::from_fn(|| sender.loan()).collect();
        assert_eq!(loans.len(), run.blocks as usize, "a block is lost");
    });
}

#[test]
fn every_block_arrives() {
    let _turn = alone();
    holds(Run { blocks: 1, keep: 0, recall: false, newest: false });
    holds(Run { blocks: 2, keep: 1, recall: false, newest: false });
    holds(Run { blocks: 8, keep: 2, recall: false, newest: false });
}

#[test]
fn recalled_blocks_do_not() {
    let _turn = alone();
    holds(Run { blocks: 2, keep: 0, recall: true, newest: false });
    holds(Run { blocks: 3, keep: 1, recall: true, newest: false });
    holds(Run { blocks: 6, keep: 2, recall: true, newest: false });
}

#[test]
fn the_newest_arrives() {
    let _turn = alone();
    holds(Run { blocks: 4, keep: 1, recall: true, newest: true });
    holds(Run { blocks: 4, keep: 1, recall: false, newest: true });
}
