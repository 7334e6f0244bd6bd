// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The step bounds of the pool of blocks, counted exactly:
//! `RUSTFLAGS="--cfg steps" cargo test -p taut-share --test steps bulk::`.

use std::mem;
use std::ptr::NonNull;

use taut_atomic::Ordering::Relaxed;
use taut_atomic::steps::{Steps, count};
use taut_share::bulk::{self, NotReceived};
use taut_share::{LINE_BYTES, Line, Memory};

const NONE: Steps = Steps { loads: 0, stores: 0, exchanges: 0, fences: 0, words: 0 };

fn steps(work: impl FnOnce()) -> Steps {
    count(work).1
}

fn lines(blocks: u32) -> Vec<Line> {
    (0..bulk::bytes::<[u64; 9]>(blocks).unwrap() / LINE_BYTES).map(|_| Line::new()).collect()
}

#[test]
fn usual_steps() {
    for blocks in [2, 3, 8, 17, 64] {
        let n = u64::from(blocks);
        let mut lines = lines(blocks);
        let (sender, receiver) = bulk::pair::<[u64; 9]>(Memory::new(&mut lines), blocks).unwrap();
        let look = Steps { loads: 1, ..NONE };
        let take = Steps { loads: 1, exchanges: 1, ..NONE };
        assert_eq!(steps(|| assert!(receiver.receive().unwrap().is_none())), look);
        assert_eq!(steps(|| assert!(receiver.receive_newest().unwrap().is_none())), look);
        assert_eq!(steps(|| drop(sender.loan().unwrap())), NONE);
        for _ in 0..2 {
            for _ in 0..n {
                let mut loan = sender.loan().unwrap();
                *loan = [1; 9];
                assert_eq!(steps(|| assert!(loan.send() > 0)), Steps { stores: 2, ..NONE });
            }
            assert_eq!(steps(|| assert!(sender.loan().is_none())), Steps { loads: n, ..NONE });
            let mut received = Vec::new();
            for _ in 0..n {
                assert_eq!(steps(|| received.push(receiver.receive().unwrap().unwrap())), take);
            }
            assert_eq!(steps(|| assert!(receiver.receive().unwrap().is_none())), look);
            let refused = Steps { loads: 2 * n, exchanges: n, ..NONE };
            assert_eq!(steps(|| assert!(sender.loan_or_recall().is_none())), refused, "the bound");
            // The sender looks only once for a sending that is not on the way.
            let again = Steps { loads: 2 * n, ..NONE };
            assert_eq!(steps(|| assert!(sender.loan_or_recall().is_none())), again);
            for block in received {
                assert_eq!(steps(|| drop(block)), Steps { stores: 1, ..NONE });
            }
            assert_eq!(steps(|| drop(sender.loan().unwrap())), Steps { loads: n, ..NONE });
            assert_eq!(steps(|| drop(sender.loan_or_recall().unwrap())), NONE);
        }
        for _ in 0..n {
            sender.loan().unwrap().send();
        }
        let recall = Steps { loads: n, exchanges: 1, ..NONE };
        assert_eq!(steps(|| mem::forget(sender.loan_or_recall().unwrap())), recall);
        let newest = Steps { loads: n + 1, exchanges: n, stores: n - 2, ..NONE };
        assert_eq!(steps(|| mem::forget(receiver.receive_newest().unwrap().unwrap())), newest);
    }
}

/// A certain block costs a look at those that are out, if it is not in stock.
#[test]
fn steps_of_a_certain_block() {
    for blocks in [2, 17, 64] {
        let mut lines = lines(blocks);
        let (sender, receiver) = bulk::pair::<[u64; 9]>(Memory::new(&mut lines), blocks).unwrap();
        let last = || drop(sender.loan_block(blocks - 1).unwrap());
        assert_eq!(steps(|| assert!(sender.loan_block(blocks).is_none())), NONE, "no such block");
        assert_eq!(steps(last), NONE);
        sender.loan_block(blocks - 1).unwrap().send();
        assert_eq!(steps(|| assert!(sender.loan_block(blocks - 1).is_none())), Steps { loads: 1, ..NONE });
        drop(receiver.receive().unwrap());
        assert_eq!(steps(last), Steps { loads: 1, ..NONE });
        assert_eq!(steps(last), NONE);
    }
}

/// A watcher looks at each block once, and once more at those on the way; a stamp is one store and one load.
#[test]
fn steps_of_stamps_and_watchers() {
    for blocks in [2, 17, 64] {
        let n = u64::from(blocks);
        let mut lines = lines(blocks);
        let start = NonNull::from(lines.as_mut_slice()).cast::<u8>();
        // SAFETY: aligned lines, of that length, which outlive the ends; accessed only through `start`.
        let memory = || unsafe { Memory::from_raw(start, bulk::bytes::<[u64; 9]>(blocks).unwrap()) };
        let (sender, receiver) = bulk::pair::<[u64; 9]>(memory(), blocks).unwrap();
        // SAFETY: the same object.
        let watcher = unsafe { bulk::watcher::<[u64; 9]>(memory(), blocks) }.unwrap();
        assert_eq!(steps(|| assert!(watcher.is_empty())), Steps { loads: n, ..NONE });
        for _ in 0..n {
            let loan = sender.loan().unwrap();
            assert_eq!(steps(|| assert!(loan.send_stamped(1) > 0)), Steps { stores: 3, ..NONE });
        }
        assert_eq!(steps(|| assert!(!watcher.is_empty())), Steps { loads: 2, ..NONE });
        let most = Steps { loads: 2 * n + 1, ..NONE };
        assert_eq!(steps(|| assert!(watcher.oldest().is_some())), most, "the bound");
        let received = receiver.receive().unwrap().unwrap();
        assert_eq!(steps(|| assert_eq!(received.stamp(), 1)), Steps { loads: 1, ..NONE });
    }
}

/// Successors, and operations on corrupt words, take no more than the bounds.
#[test]
fn most_steps() {
    for blocks in [1, 2, 3, 8, 64] {
        let n = u64::from(blocks);
        let mut lines = lines(blocks);
        let start = NonNull::from(lines.as_mut_slice()).cast::<u8>();
        // SAFETY: aligned lines, of that length, which outlive the ends; accessed only through `start`.
        let memory = || unsafe { Memory::from_raw(start, bulk::bytes::<[u64; 9]>(blocks).unwrap()) };
        let (sender, receiver) = bulk::pair::<[u64; 9]>(memory(), blocks).unwrap();
        for _ in 0..n + n / 2 {
            sender.loan_or_recall().unwrap().send();
        }
        // Behind by more than N: walks to the end of the order, and then past the recalled blocks.
        let steps_taken = steps(|| mem::forget(receiver.receive().unwrap().unwrap()));
        assert!(steps_taken.loads <= 2 * n + 1 && steps_taken.exchanges <= 2 * n + 1, "{steps_taken:?}");
        while let Some(received) = receiver.receive().unwrap() {
            mem::forget(received);
        }
        // SAFETY: the previous receiver is not used any more.
        let heir = unsafe { bulk::receiver::<[u64; 9]>(memory(), blocks) }.unwrap();
        let inherit = Steps { loads: n, ..NONE };
        assert_eq!(steps(|| drop(heir.receive().unwrap().unwrap())), Steps { stores: 1, ..inherit });
        // SAFETY: the previous receiver is not used any more.
        let heir = unsafe { bulk::receiver::<[u64; 9]>(memory(), blocks) }.unwrap();
        let newest = steps(|| drop(heir.receive_newest()));
        assert!(newest.loads <= n * n + 2 * n + 1 && newest.exchanges <= 2 * n + 1, "{newest:?}");
        assert!(newest.stores <= n, "{newest:?}");
        // SAFETY: inside, aligned, accessed only atomically, and outlives this use.
        let order = |i| unsafe { taut_atomic::AtomicU64::from_ptr(start.cast::<u64>().as_ptr().add(i)) };
        // Numbers that nobody has sent, each in its place: every step leads to another one, and none to a block.
        let base = 1000 * n;
        for k in base..base + n {
            order((k % n) as usize).store(k << 8, Relaxed);
        }
        let mut lied = NONE;
        let result = count(|| heir.receive().map(|received| received.is_some()));
        lied.loads = lied.loads.max(result.1.loads);
        assert!(matches!(result.0, Ok(false) | Err(NotReceived::Overtaken)));
        assert!(lied.loads <= 2 * n + 1 && result.1.exchanges <= 2 * n + 1, "{result:?}");
    }
}
