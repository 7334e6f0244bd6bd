// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What safe code can try against a scope: values with holes, numbers that overflow, nested calls, panics, threads.
//! Each attempt is refused, or harmless; under Miri also to the memory.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use taut_scope::{Block, Exceeded, Scope};

/// Bytes that no value has written, in the memory of a scope that is gone: the test formats, copies and moves them.
#[test]
fn a_scope_leaves_no_value_behind() {
    let mut memory = [Block::ZERO; 2];
    let scope = Scope::new(&mut memory);
    scope.alloc(MaybeUninit::<[u8; 64]>::uninit()).unwrap();
    scope.alloc((1u8, 2u64)).unwrap();
    scope.alloc(memory_of_another as fn()).unwrap();
    let [first, second] = memory;
    let shown = format!("{first:?}{:?}", [second, first]);
    assert!(!shown.is_empty());
    let mut again = [first, second];
    assert_eq!(*Scope::new(&mut again).slice(256, 7u8).unwrap(), [7; 256]);
}

fn memory_of_another() {}

/// No size wraps around to a small one, wherever the scope's offset is.
#[test]
fn sizes_that_overflow_are_refused() {
    let mut memory = [Block::ZERO; 1];
    let scope = Scope::new(&mut memory);
    for used in [0, 1, 127, 128] {
        scope.slice(used - scope.used(), 0u8).unwrap();
        for many in [usize::MAX, usize::MAX / 2 + 1, usize::MAX / 8, usize::MAX / 8 + 1, 1 << 61, 129] {
            assert!(scope.slice(many, 0u64).is_err(), "{many} behind {used}");
            assert!(scope.slice_with(many, |_| [0u128; 3]).is_err(), "{many} behind {used}");
        }
        assert_eq!(scope.used(), used);
    }
    assert_eq!(scope.slice(1_000, ()).unwrap().len(), 1_000);
}

/// A type with a larger alignment than the memory.
#[test]
fn alignment_is_kept() {
    #[derive(Clone, Copy)]
    #[repr(align(1024))]
    struct Page(u8);
    let mut memory = [Block::ZERO; 40];
    let scope = Scope::new(&mut memory);
    for number in 0..2 {
        scope.alloc(number).unwrap();
        let page = scope.alloc(Page(number)).unwrap();
        assert_eq!(((&raw const *page).addr() % 1024, page.0), (0, number));
    }
    let mut memory = [Block::ZERO; 1];
    let refused = Scope::new(&mut memory).alloc(Page(2)).map(|page| page.0);
    assert_eq!(refused, Err(Exceeded { asked: 1024, left: 128 }));
}

/// The function that makes a slice's elements allocates in the same scope, also slices like the one being made, or
/// panics.
#[test]
fn calls_inside_of_calls_and_panics() {
    let mut memory = [Block::ZERO; 8];
    let scope = Scope::new(&mut memory);
    let lists = scope.slice_with(3, |i| &*scope.slice_with(i + 1, |j| (i * 10 + j) as u32).unwrap()).unwrap();
    let before = scope.used();
    let panics = || scope.slice_with(4, |i| if i < 2 { i } else { resume_unwind(Box::new(())) }).map(|_| ());
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    assert_eq!(scope.used(), before.next_multiple_of(8) + 4 * size_of::<usize>(), "lost until it is cleared");
    scope.slice(scope.size() - scope.used(), 0xFFu8).unwrap();
    assert_eq!(lists, [&[0][..], &[10, 11], &[20, 21, 22]]);
}

/// Allocated values go to other threads, or refer to the scope's own values. The scope moves to another thread
/// between jobs.
#[test]
fn allocations_are_linked_and_sent() {
    let mut memory = [Block::ZERO; 2];
    let mut scope = Scope::new(&mut memory);
    for round in 0..3u64 {
        let first = scope.alloc(Cell::new(round)).unwrap();
        let second = scope.alloc([1u64; 4]).unwrap();
        std::thread::scope(|threads| {
            threads.spawn(|| second[0] = std::mem::replace(first.get_mut(), 9));
        });
        let linked = scope.alloc((&*first, second)).unwrap();
        assert_eq!((linked.0.get(), linked.1[0]), (9, round));
        scope.clear();
        scope = std::thread::scope(|threads| threads.spawn(move || scope).join()).unwrap();
    }
    assert_eq!((scope.used(), scope.peak()), (0, 56));
}
