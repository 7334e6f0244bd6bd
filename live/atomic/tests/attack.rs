// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What safe code can try against memory and its words: numbers that overflow, strides of zero, claims that are
//! forgotten, leaked and sent, threads that end. Each attempt is refused or harmless, under Miri also to the memory
//! itself. The documentation of `Memory` and `Claimed` shows what must not compile.
#![cfg(not(any(loom, shuttle)))]
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test: helpers too")]
#![allow(clippy::forget_non_drop, reason = "they hold whether a claim has a destructor or not")]

use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use taut_atomic::Ordering::Relaxed;
use taut_atomic::{AtomicU64, Claimed, Exclusive, LINE_BYTES, Line, Memory, StridedWords};

const LINES: usize = 2;
const BYTES: usize = LINES * LINE_BYTES;

/// The result of a call; `None` if it panics.
fn given<R>(call: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(call)).ok()
}

/// Whether a word lies in the claimed memory, and at a multiple of 8.
fn is_inside(word: &AtomicU64, start: usize) -> bool {
    let at = word.as_ptr().addr();
    at >= start && at - start <= BYTES - 8 && at.is_multiple_of(8)
}

/// For any numbers: every word returned lies in the memory, and calls whose words would not are refused.
#[test]
fn no_word_lies_outside() {
    // Each refusal panics and would print a message, thousands of times.
    std::panic::set_hook(Box::new(|_| ()));
    let mut lines = [const { Line::new() }; LINES];
    let memory = Memory::new(&mut lines).claim();
    let start = memory.word(0).as_ptr().addr();
    let near = [0, 4, 8, BYTES - 8, BYTES, 1 << 61, usize::MAX - BYTES + 1, usize::MAX - 7];
    let more = [1, BYTES / 2, BYTES - 1, BYTES + 8, 1 << 31, usize::MAX / 2 + 1, usize::MAX];
    // A refusal's panic takes the interpreter long.
    let numbers = if cfg!(miri) { near.to_vec() } else { [near.as_slice(), &more].concat() };
    let numbers = || numbers.iter().copied();
    let (mut words_given, mut places_given, mut refused) = (0, 0, 0);
    for offset in numbers() {
        match given(|| memory.word(offset)) {
            Some(word) => assert!(is_inside(word, start), "{offset}"),
            None => assert!(!offset.is_multiple_of(8) || offset > BYTES - 8, "{offset}"),
        }
        for stride in numbers() {
            for count in numbers() {
                let Some(words) = given(|| memory.words(offset, stride, count)) else {
                    refused += 1;
                    continue;
                };
                words_given += 1;
                assert_eq!(words.count(), count);
                for index in numbers().chain([count.wrapping_sub(1)]) {
                    let word = words.get(index);
                    assert_eq!(word.is_some(), index < count, "{offset} {stride} {count} {index}");
                    assert!(word.is_none_or(|word| is_inside(word, start)), "{offset} {stride} {count}");
                    word.map(|word| word.fetch_add(1, Relaxed));
                }
                // Safe code can do nothing with places, but their bounds are checked too.
                places_given += usize::from(given(|| memory.slots(offset, stride, count)).is_some());
            }
        }
    }
    let _ = std::panic::take_hook();
    let refusals = if cfg!(miri) { 300 } else { 1_000 };
    assert!(
        words_given > 50 && places_given > 20 && refused > refusals,
        "{words_given} {places_given} {refused}"
    );
}

/// Memory without lines, split at zero.
#[test]
fn memory_of_nothing() {
    let nothing = Memory::new(&mut []);
    let (first, second) = nothing.split(0).unwrap();
    assert_eq!((first.bytes(), second.bytes()), (0, 0));
    assert!(second.split(1).is_none());
    let claimed = first.claim();
    assert_eq!((claimed.bytes(), claimed.words(0, 8, 0).count()), (0, 0));
    assert!(claimed.words(0, 0, 0).get(0).is_none());
    let _ = claimed.slots(0, 8, 0);
    assert!(given(|| claimed.word(0)).is_none());
    assert!(given(|| claimed.words(0, 0, 1)).is_none());
}

/// No split lies beyond the end, and the halves have no word in common.
#[test]
fn cuts_that_overflow_are_refused() {
    let mut lines = [const { Line::new() }; LINES];
    for cut in [0, 1, LINE_BYTES, LINE_BYTES + 1, BYTES, BYTES + 1, usize::MAX - 126, usize::MAX] {
        match Memory::new(&mut lines).split(cut) {
            Some((first, second)) => {
                assert!(cut <= BYTES, "{cut}");
                assert_eq!(first.bytes(), cut.next_multiple_of(LINE_BYTES));
                assert_eq!(first.bytes() + second.bytes(), BYTES);
                let last = |memory: Memory<'_>| {
                    let claimed = memory.claim();
                    let word = claimed.bytes().checked_sub(8).map(|at| claimed.word(at));
                    word.map(|word| word.fetch_add(1, Relaxed))
                };
                assert!([last(first), last(second)].iter().flatten().all(|before| *before == 0), "{cut}");
            }
            None => assert!(cut > BYTES, "{cut}"),
        }
    }
}

/// Words outlive their claim and the claim's thread: they borrow the memory, which is leaked or outlives the threads.
#[test]
fn words_outlive_their_claim_and_its_thread() {
    static KEPT: OnceLock<StridedWords<'static>> = OnceLock::new();
    let leaked: &'static mut [Line] = Box::leak(Box::new([const { Line::new() }; LINES]));
    std::thread::spawn(move || {
        let claimed: Claimed<'static> = Memory::new(leaked).claim();
        let (words, word) = (claimed.words(0, 8, BYTES / 8), claimed.word(8));
        word.store(7, Relaxed);
        forget(claimed);
        KEPT.get_or_init(|| words);
    })
    .join()
    .unwrap();
    assert_eq!(KEPT.get().unwrap().get(1).unwrap().load(Relaxed), 7);
    let mut lines = [const { Line::new() }; LINES];
    for _ in 0..2 {
        // Claimed anew each time: zero again, whatever was left there.
        let claimed = Memory::new(&mut lines).claim();
        let (all, same) = (claimed.words(0, 8, BYTES / 8), claimed.words(0, 0, usize::MAX));
        std::thread::scope(|threads| {
            for _ in 0..2 {
                threads.spawn(move || {
                    (0..100).for_each(|turn| {
                        all.get(turn % all.count()).unwrap().fetch_add(1, Relaxed);
                        same.get(usize::MAX - 1 - turn).unwrap().fetch_add(1, Relaxed);
                    });
                });
            }
        });
        let sum = (0..all.count()).map(|index| all.get(index).unwrap().load(Relaxed)).sum::<u64>();
        assert_eq!(sum, 400, "each word by two ways is one word");
        forget(claimed);
    }
}

/// An exclusive value shows nothing of itself to code that must not touch it, and is dropped once, on any thread.
#[test]
fn an_exclusive_value_is_opaque() {
    struct CountedDrop<'c>(&'c AtomicU64);
    impl std::fmt::Debug for CountedDrop<'_> {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            unreachable!("it may be somebody's");
        }
    }
    impl Drop for CountedDrop<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }
    let count = AtomicU64::new(0);
    let value = Exclusive::new(CountedDrop(&count));
    let shown = std::thread::scope(|threads| threads.spawn(|| format!("{value:?}")).join()).unwrap();
    assert!(shown.contains("Exclusive"), "{shown}");
    std::thread::scope(|threads| threads.spawn(move || drop(value)).join()).unwrap();
    forget(Exclusive::new(CountedDrop(&count)));
    assert_eq!(count.load(Relaxed), 1);
}
