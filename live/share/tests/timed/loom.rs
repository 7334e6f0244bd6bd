// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Every execution of small runs of timed slots: `RUSTFLAGS="--cfg loom" cargo test -p taut-share --release --test loom
//! timed::`.

use std::sync::Arc;

use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use taut_share::Memory;
use taut_share::queue::timed_slots::{self, Cancellation, Due, PendingSlot};

use crate::explore::explore_on;
use crate::payload::{marked, number};

type Value = [u64; 2];

fn bytes(capacity: u32) -> usize {
    timed_slots::bytes::<Value>(capacity).unwrap()
}

fn at(instant: u64) -> Due {
    Due { earliest: instant, latest: instant, period: 0 }
}

fn collect(taker: &mut timed_slots::Taker<'static, Value>, listed: &mut Vec<(usize, PendingSlot)>) {
    taker.collect(|slot, pending| {
        listed.retain(|(other, _)| *other != slot);
        listed.extend(pending.map(|pending| (slot, pending)));
    });
}

/// The setter sets `sets` values in one slot, each after it has cancelled the one before, or found that it is taken.
fn taken_or_prevented(memory: Memory<'static>, sets: u64, period: u64, tries: u64) {
    let (mut setter, mut taker) = timed_slots::pair::<Value>(memory, 1).unwrap();
    let setting = thread::spawn(move || {
        let mut prevented = Vec::new();
        let mut last = None;
        for of in 1..=sets {
            if let Some((old, token)) = last.take() {
                match setter.cancel(token) {
                    Cancellation::Prevented => prevented.push(old),
                    Cancellation::Underway | Cancellation::Over => {}
                }
            }
            let Some(free) = setter.free() else { break };
            last = Some((of, free.set(Due { period, ..at(of) }, &marked(of)).token));
        }
        (prevented, last.map(|(of, token)| (of, setter.cancel(token))))
    });
    let (mut taken, mut listed) = (Vec::new(), Vec::new());
    let mut try_take = |taken: &mut Vec<u64>| {
        collect(&mut taker, &mut listed);
        let Some((slot, pending)) = listed.pop() else { return };
        let mut value = marked(0);
        if let Some(found) = taker.take_into(slot, pending, Some, &mut value) {
            assert_eq!(found.due.latest, number(&value), "the instant of another value");
            taken.push(number(&value));
            listed.extend(found.again.map(|again| (slot, again)));
        }
    };
    (0..tries).for_each(|_| try_take(&mut taken));
    let (prevented, last) = setting.join().unwrap();
    let before = taken.len();
    (0..2).for_each(|_| try_take(&mut taken));
    assert_eq!(taken.len(), before, "all were cancelled");
    for of in prevented
        .iter()
        .copied()
        .chain(last.filter(|(_, is)| *is == Cancellation::Prevented).map(|(of, _)| of))
    {
        assert!(period > 0 || !taken.contains(&of), "{of} was prevented, and taken");
    }
    if period == 0 {
        let mut once = taken.clone();
        once.dedup();
        assert_eq!(once, taken, "taken twice");
        if let Some((of, is)) = last {
            assert_eq!(is != Cancellation::Prevented, taken.contains(&of));
        }
    }
}

#[test]
fn a_cancel_decides() {
    explore_on(bytes(1), "timed slots, 1 set, 2 tries", None, |memory| {
        taken_or_prevented(memory, 1, 0, 2);
    });
    explore_on(bytes(1), "timed slots, 2 sets, 2 tries", Some(3), |memory| {
        taken_or_prevented(memory, 2, 0, 2);
    });
}

#[test]
fn a_cancel_ends_a_repetition() {
    explore_on(bytes(1), "timed slots, 1 repeated, 2 tries", Some(4), |memory| {
        taken_or_prevented(memory, 1, 7, 2);
    });
}

/// A taker that sleeps past an instant has been told of it.
#[test]
fn nobody_sleeps_past_an_instant() {
    explore_on(bytes(2), "timed slots, 2 sets, arm", Some(4), |memory| {
        let (mut setter, mut taker) = timed_slots::pair::<Value>(memory, 2).unwrap();
        let woken = Arc::new(AtomicU64::new(u64::MAX));
        let wakes = woken.clone();
        let setting = thread::spawn(move || {
            for of in [20, 10] {
                let set = setter.free().unwrap().set(at(of), &marked(of));
                if set.wakes {
                    wakes.fetch_min(of, Ordering::AcqRel);
                }
            }
        });
        let mut listed = Vec::new();
        taker.arm();
        collect(&mut taker, &mut listed);
        let first = listed.iter().map(|(_, of)| of.due.latest).min();
        taker.narrow(first.unwrap_or(u64::MAX));
        setting.join().unwrap();
        let known = first.unwrap_or(u64::MAX).min(woken.load(Ordering::Acquire));
        assert_eq!(known, 10, "{first:?}");
    });
}
