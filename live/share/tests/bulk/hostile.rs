// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A process writes random words all over a pool of blocks while each end works on it. The test expects no panic, no
//! access outside (the words around the memory do not change), no block lent twice by one end, and under `--cfg
//! steps` the bounds.
#![cfg(not(any(loom, shuttle, miri)))]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test: helpers too, and its figures")]

#[path = "../process/mod.rs"]
mod process;
#[path = "../scribbler/mod.rs"]
mod scribbler;

use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use process::orders;
use scribbler::{bounded, scribbled};
use taut_share::LINE_BYTES;
use taut_share::bulk::{self, NotReceived};

type Value = [u64; 12];
const BLOCKS: u32 = 5;
const N: u64 = BLOCKS as u64;
const TIME: Duration = Duration::from_millis(500);

#[test]
fn process() {
    let Some((role, mapping, seed)) = orders() else {
        return println!("no test: for processes that tests start");
    };
    assert_eq!(role, "scribbler");
    let words = mapping.words();
    // All lines but the guards, which are the first and the last one.
    let words = &words[LINE_BYTES / 8..words.len() - LINE_BYTES / 8];
    let (mut random, mut sent) = (seed, 0);
    for n in 0u64.. {
        // xorshift64
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // Every second time, a sending like that of an honest sender, of any block, whichever side owns it.
        if random & 1 == 0 {
            sent += 1;
            let (number, block) = (sent, (random >> 32) % N);
            words[16 + block as usize].store(number << 8 | 1, Relaxed);
            words[(number % N) as usize].store(number << 8 | block, Relaxed);
            continue;
        }
        // Otherwise any word: half of the writes go to the order and the owners.
        let at = (random >> 32) as usize % words.len();
        let at = if random & 2 == 0 { at } else { at % 2 * 16 + at / 2 % N as usize };
        // A plausible number, in its place or not, with a plausible block or owner; or anything.
        let value = match random >> 2 & 3 {
            0 => random,
            _ => {
                let far = [0, 1, N, 2 * N, 1 << 40, u64::MAX >> 8][(random >> 4) as usize % 6];
                let number = &words[(random >> 8) as usize % 2 * 16 + (random >> 9) as usize % N as usize];
                (number.load(Relaxed) >> 8).wrapping_add(far) << 8 | random >> 61
            }
        };
        words[at].store(value, Relaxed);
        mapping.reported(0).store(n, Relaxed);
    }
}

/// The address of a lent block; it must differ from all that are lent already.
fn unlike<'a>(block: &Value, others: impl Iterator<Item = &'a usize>) -> usize {
    let at = core::ptr::from_ref(block).addr();
    assert!(others.into_iter().all(|other| *other != at), "lent twice");
    at
}

#[test]
fn the_sender_lends_no_block_twice() {
    let (mut lent, mut refused, mut recalled, mut sent) = (0u64, 0u64, 0u64, 0u64);
    scribbled(bulk::bytes::<Value>(BLOCKS).unwrap(), TIME, |memory| {
        // SAFETY: the only sender.
        let sender = unsafe { bulk::sender::<Value>(memory(), BLOCKS) }.unwrap();
        let mut loans = VecDeque::new();
        for n in 0..40 {
            let recall = n % 3 == 0;
            let loan = if recall {
                bounded(3 * N, || sender.loan_or_recall())
            } else {
                bounded(N, || sender.loan())
            };
            match loan {
                Some(mut loan) => {
                    *if recall { &mut recalled } else { &mut lent } += 1;
                    loan[n % 12] = 1;
                    let at = unlike(&loan, loans.iter().map(|(at, _)| at));
                    loans.push_back((at, loan));
                }
                None => refused += 1,
            }
            if n % 4 == 3
                && let Some((_, loan)) = loans.pop_front()
            {
                bounded(2, || loan.send());
                sent += 1;
            }
            if n % 8 == 7 {
                loans.pop_back();
            }
            if n == 20 {
                std::thread::yield_now(); // On one processor too, the other process gets to run in between.
            }
        }
        lent > 0 && refused > 0 && recalled > 0 && sent > 0
    });
    println!("lent {lent}, recalled or lent {recalled}, refused {refused}, sent {sent}");
}

#[test]
fn the_receiver_has_no_block_twice() {
    let (mut received, mut none, mut overtaken, mut corrupt) = (0u64, 0u64, 0u64, 0u64);
    let mut lives = 0u64;
    scribbled(bulk::bytes::<Value>(BLOCKS).unwrap(), TIME, |memory| {
        // SAFETY: the only receiver.
        let receiver = unsafe { bulk::receiver::<Value>(memory(), BLOCKS) }.unwrap();
        let mut held = VecDeque::new();
        // Each receiver lives only for a short time: soon it expects a number that was never sent.
        lives += 1;
        for n in 0..12 {
            let result = if n % 3 == 0 {
                bounded(N * N + N + 3 * (2 * N + 1), || receiver.receive_newest())
            } else {
                bounded(N + 2 * (2 * N + 1), || receiver.receive())
            };
            match result {
                Ok(Some(block)) => {
                    received += 1;
                    let at = unlike(&block, held.iter().map(|(at, _)| at));
                    held.push_back((at, block));
                }
                Ok(None) => none += 1,
                Err(NotReceived::Overtaken) => overtaken += 1,
                Err(NotReceived::Corrupt) => corrupt += 1,
            }
            if n % 4 == 3 {
                bounded(1, || held.pop_front());
            }
            if n == 6 && lives.is_multiple_of(16) {
                std::thread::yield_now();
            }
        }
        // Its successor inherits the blocks.
        held.into_iter().for_each(std::mem::forget);
        received > 20 && none > 0 && corrupt > 0
    });
    println!("received {received}, none {none}, overtaken {overtaken}, corrupt {corrupt}");
}
