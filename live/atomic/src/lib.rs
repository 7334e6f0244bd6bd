// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Atomics and shared memory that are core's, loom's or shuttle's; counts steps in tests.
//!
//! A protocol written against this crate is the same text in four builds, chosen by `--cfg` in `RUSTFLAGS`:
//!
//! | cfg       | atomics      | [`Memory`]                        | for                                            |
//! |-----------|--------------|-----------------------------------|------------------------------------------------|
//! | none      | core's own   | bytes at an address               | products: re-exports, nothing is added         |
//! | `steps`   | core's       | bytes at an address               | counting every shared access, dying at the n-th|
//! | `loom`    | loom's       | an atomic and a cell per 8 bytes  | all executions of a small run, races included  |
//! | `shuttle` | shuttle's    | two atomics per 8 bytes           | long random interleavings                      |
//!
//! They are cfgs and not features since features unite: a test somewhere in the build must not make a product
//! count its steps. Loom and shuttle keep their values on the heap, so in their builds there is no [`Memory`]
//! at a raw address and nothing of `taut` that maps memory can be built.
//!
//! Only `load`, `store`, `swap`, `compare_exchange`, `compare_exchange_weak` and `fetch_add`, `fetch_sub`,
//! `fetch_and`, `fetch_or` exist in all four. On x86-64 the last two are loops when their result is used, so
//! no real-time path uses it.
#![no_std]

#[cfg(any(loom, shuttle, steps, test))]
extern crate std;

#[cfg(any(all(loom, shuttle), all(loom, steps), all(shuttle, steps)))]
compile_error!("loom, shuttle and steps exclude each other: give one --cfg");

#[cfg(not(any(loom, shuttle)))]
mod lent;
#[cfg(not(any(loom, shuttle)))]
mod memory;
#[cfg(any(loom, shuttle))]
mod modelled;
#[cfg(not(any(loom, shuttle)))]
mod place;
#[cfg(not(any(loom, shuttle)))]
mod racy;
#[cfg(steps)]
pub mod steps;

#[cfg(not(any(loom, shuttle)))]
pub use lent::{Lent, LentMut};
#[cfg(not(any(loom, shuttle)))]
pub use memory::{Line, Memory, Slots, Words};
#[cfg(any(loom, shuttle))]
pub use modelled::{Lent, LentMut, LentPlace, LentPlaceMut, Line, Memory, Slots, Words};
#[cfg(not(any(loom, shuttle)))]
pub use place::{LentPlace, LentPlaceMut};

#[cfg(not(any(loom, shuttle, steps)))]
pub use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

#[cfg(steps)]
pub use core::sync::atomic::Ordering;
#[cfg(steps)]
pub use steps::{AtomicU32, AtomicU64, AtomicUsize, fence};

#[cfg(loom)]
pub use loom::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

#[cfg(shuttle)]
pub use shuttle::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

/// Tells the processor (a model checker: the scheduler) that this thread waits for another one. Never waits
/// itself: one pause instruction.
#[inline(always)]
pub fn spin_loop() {
    #[cfg(not(any(loom, shuttle)))]
    core::hint::spin_loop();
    #[cfg(loom)]
    loom::hint::spin_loop();
    #[cfg(shuttle)]
    shuttle::hint::spin_loop();
}

/// Bytes of a [`Line`], and the alignment of every [`Memory`].
pub const LINE_BYTES: usize = 128;
