// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Atomics and shared memory that are core's, loom's or shuttle's. Test builds can count every step.
//!
//! A protocol written against this crate has the same source text in four builds. `--cfg` in `RUSTFLAGS` chooses the
//! build:
//!
//! | cfg       | atomics      | [`Memory`]                        | for                                            |
//! |-----------|--------------|-----------------------------------|------------------------------------------------|
//! | none      | core's own   | bytes at an address               | products: re-exports, nothing is added         |
//! | `steps`   | core's       | bytes at an address               | counting shared accesses, dying at the n-th    |
//! | `loom`    | loom's       | an atomic and a cell per 8 bytes  | all executions of a small run, races included  |
//! | `shuttle` | shuttle's    | two atomics per 8 bytes           | long random interleavings                      |
//!
//! They are cfgs and not features because Cargo unifies features: a test somewhere in the build must not make a
//! product count its steps. Loom and shuttle keep their values on the heap. In their builds there is therefore no
//! [`Memory`] at a raw address, and no part of `taut` that maps memory can be built.
//!
//! All four builds provide only `load`, `store`, `swap`, `compare_exchange`, `compare_exchange_weak`, `fetch_add`,
//! `fetch_sub`, `fetch_and` and `fetch_or`. On x86-64 the last two compile to a loop if the caller uses their result,
//! so no real-time path uses it.
//!
//! # Targets without 64-bit atomics
//!
//! On such targets, for example `thumbv7em-none-eabihf`, [`AtomicU64`] comes from the crate `portable-atomic`, which
//! offers several fallbacks. The product chooses one of them in its `RUSTFLAGS`:
//!
//! | `--cfg`                                    | each access to a 64-bit word, loads included       | step bounds |
//! |--------------------------------------------|----------------------------------------------------|-------------|
//! | `portable_atomic_unsafe_assume_single_core`| a few instructions with interrupts masked          | hold        |
//! | `portable_atomic_unsafe_assume_privileged` | takes a spin lock, with interrupts masked          | do not hold |
//! | none                                       | takes a spin lock (loads: if a first try has failed)| do not hold |
//!
//! So the protocols' progress guarantees hold only with the first cfg, and only under its conditions: one core, and
//! privileged code, because the processor silently ignores the masking in unprivileged code. `portable-atomic` cannot
//! check these conditions, and to break them is unsound. On M-profile this cfg sets PRIMASK, which masks neither NMI
//! nor HardFault: their handlers must not hold an end of an object. The word is then atomic with respect to this core
//! only, not with respect to DMA or another core. Interrupts wait for one access at a time, never for a copy.
//!
//! Without that cfg, a handler that interrupts the holder of the spin lock spins forever. So no end may be in an
//! interrupt handler, nor in a task that preempts the task at another end. Each program has its own locks, so two
//! programs on two cores of a chip do not exclude each other at all. The feature `critical-section` of
//! `portable-atomic` changes nothing where the processor has a 32-bit compare-exchange, as that target has.
//!
//! On these targets values are copied in 32-bit words, the largest that the processor accesses atomically. Neither the
//! step counter nor the model checkers model these targets: they count and explore the same protocols with 64-bit
//! words.
#![no_std]

#[cfg(any(loom, shuttle, steps, test))]
extern crate std;

#[cfg(any(all(loom, shuttle), all(loom, steps), all(shuttle, steps)))]
compile_error!("loom, shuttle and steps exclude each other: give one --cfg");

mod exclusive;
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

pub use exclusive::Exclusive;
#[cfg(not(any(loom, shuttle)))]
pub use lent::{Lent, LentMut};
#[cfg(not(any(loom, shuttle)))]
pub use memory::{Claimed, Flag, Flags, Line, Memory, Slots, StridedWords, flag_bytes};
#[cfg(any(loom, shuttle))]
pub use modelled::{
    Claimed, Flag, Flags, Lent, LentMut, LentPlace, LentPlaceMut, Line, Memory, ModelledFutex, Sleepers,
    Slots, StridedWords, flag_bytes,
};
#[cfg(not(any(loom, shuttle)))]
pub use place::{LentPlace, LentPlaceMut};

#[cfg(not(any(loom, shuttle, steps)))]
pub use core::sync::atomic::{AtomicU8, AtomicU32, AtomicUsize, Ordering, fence};

#[cfg(all(target_has_atomic = "64", not(any(loom, shuttle, steps))))]
pub use core::sync::atomic::AtomicU64;

#[cfg(all(not(target_has_atomic = "64"), not(any(loom, shuttle, steps))))]
pub use portable_atomic::AtomicU64;

#[cfg(steps)]
pub use core::sync::atomic::Ordering;
#[cfg(steps)]
pub use steps::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, fence};

#[cfg(loom)]
pub use loom::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

#[cfg(shuttle)]
pub use shuttle::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

/// Signals to the processor (in a model checker: to the scheduler) that this thread waits for another one. The call
/// itself does not wait: it is one pause instruction.
#[inline(always)]
pub fn spin_loop() {
    #[cfg(not(any(loom, shuttle)))]
    core::hint::spin_loop();
    #[cfg(loom)]
    loom::hint::spin_loop();
    #[cfg(shuttle)]
    shuttle::hint::spin_loop();
}

/// Copies a value of plain bytes from one private place to another, as `*to = *from` does. It never uses an
/// instruction that would copy one byte at a time for these two addresses (`racy.rs`).
///
/// # Safety
///
/// Any bytes are a valid `T`, or at least those of `from` are.
#[inline(always)]
pub unsafe fn copy<T: Copy>(from: &T, to: &mut T) {
    #[cfg(any(loom, shuttle))]
    {
        *to = *from;
    }
    #[cfg(not(any(loom, shuttle)))]
    // SAFETY: two references, one of them exclusive, so they do not overlap; both have room for a T; the bytes copied
    // are a valid T (caller).
    unsafe {
        let (from, to) = (core::ptr::from_ref(from), core::ptr::from_mut(to));
        racy::copy(from.cast(), to.cast(), size_of::<T>());
    }
}

/// Size of a [`Line`] in bytes, and the alignment of every [`Memory`].
pub const LINE_BYTES: usize = 128;
