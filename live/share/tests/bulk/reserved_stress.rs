// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Two threads that work as fast as they can on a pool whose receiver reserves blocks of 4 KiB, which show tearing. Half a
//! second each; `TAUT_STRESS_SECONDS` makes it longer. Under Miri the runs are short.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use taut_share::bulk::NotReceived;
use taut_share::bulk::reserved::{self, RESERVATION_BYTES};
use taut_share::{LINE_BYTES, Line, Memory};

use crate::alone;
use crate::payload::{marked, number};

const WORDS: usize = if cfg!(miri) { 20 } else { 512 };
type Value = [u64; WORDS];
const MET: u64 = 100;

fn holds(blocks: u32) {
    let bytes = reserved::bytes::<Value>(blocks).unwrap();
    let mut lines: Vec<Line> = (0..(bytes + RESERVATION_BYTES) / LINE_BYTES).map(|_| Line::new()).collect();
    let (pool, line) = Memory::new(&mut lines).split(bytes).unwrap();
    let (sender, receiver) = reserved::pair::<Value>(pool, line, blocks).unwrap();
    let (done, received) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let receiving = scope.spawn(|| {
            let receiver = receiver;
            let (mut last, mut overtaken) = (0, 0u64);
            loop {
                let last_look = done.load(Ordering::Acquire);
                match receiver.receive() {
                    Ok(Some(block)) => {
                        assert!(block.number() > last, "twice or out of order");
                        last = block.number();
                        for _ in 0..2 {
                            assert_eq!(
                                number(&block),
                                last,
                                "another's content, or written while it was held"
                            );
                        }
                        received.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(None) if last_look => break,
                    Ok(None) => thread::yield_now(),
                    Err(NotReceived::Overtaken) => overtaken += 1,
                    Err(NotReceived::Corrupt) => panic!("nobody lies"),
                }
            }
            (last, overtaken)
        });
        let seconds = std::env::var("TAUT_STRESS_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(0.5);
        let end = Instant::now() + Duration::from_secs_f64(seconds);
        let limit = end + Duration::from_secs(60);
        let mut sent = 0;
        for n in 0u64.. {
            let over = |now| now > limit || now > end && received.load(Ordering::Relaxed) > MET;
            if if cfg!(miri) { n == 150 } else { n % 64 == 0 && over(Instant::now()) } {
                break;
            }
            let mut loan = sender.loan().expect("the receiver has one block at most");
            *loan = marked(sent + 1);
            sent = loan.send(0);
            if n % 8 == 0 {
                thread::yield_now();
            }
        }
        done.store(true, Ordering::Release);
        let (last, overtaken) = receiving.join().unwrap();
        let received = received.load(Ordering::Relaxed);
        println!("{blocks} blocks: {sent} sent, {received} received, {overtaken} overtaken");
        assert_eq!(last, sent, "the last is never lost");
        assert!(cfg!(miri) || received > MET, "the threads did not meet");
    });
}

#[test]
fn what_is_received_is_whole() {
    let _turn = alone();
    [2, 3, 6].into_iter().for_each(holds);
}
