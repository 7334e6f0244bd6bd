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
//!
//! # Targets without 64-bit atomics
//!
//! There, as on `thumbv7em-none-eabihf`, [`AtomicU64`] is that of the crate `portable-atomic`, by one of its fallbacks,
//! of which the product chooses in its `RUSTFLAGS`:
//!
//! | `--cfg`                                    | each access to a 64-bit word, loads included         | bounds of steps |
//! |--------------------------------------------|------------------------------------------------------|-----------------|
//! | `portable_atomic_unsafe_assume_single_core`| a few instructions with interrupts masked            | hold            |
//! | `portable_atomic_unsafe_assume_privileged` | takes a spin lock, with interrupts masked            | do not hold     |
//! | none                                       | takes a spin lock (loads: when a first try has failed)| do not hold    |
//!
//! So what the protocols promise about progress holds with the first one alone, and under its conditions, which that
//! crate cannot check and which are unsound to break: one core, and privileged code, for elsewhere the processor
//! ignores the masking without a word. On M-profile it sets PRIMASK, which masks neither NMI nor HardFault: their
//! handlers may hold no end. The word is then atomic against this core alone, not against DMA nor a core beside it.
//! Interrupts wait for one access at a time, never for a copy.
//!
//! Without that cfg, a handler that interrupts the holder of the lock spins for ever: no end may be in an interrupt, nor
//! in a task that preempts another's. The locks are the program's own, so two programs, on two cores of a chip, do not
//! exclude each other at all. The crate's feature `critical-section` changes nothing where the processor has a
//! compare-exchange of 32 bits, as that target's has.
//!
//! Values are copied by 32-bit words, as the processor has them. Neither the step counter nor the model checkers know
//! these targets: they count and explore the same protocols with whole words.
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
pub use memory::{Claimed, Line, Memory, Slots, Words};
#[cfg(any(loom, shuttle))]
pub use modelled::{
    Claimed, Lent, LentMut, LentPlace, LentPlaceMut, Line, Memory, ModelledFutex, Sleepers, Slots, Words,
};
#[cfg(not(any(loom, shuttle)))]
pub use place::{LentPlace, LentPlaceMut};

#[cfg(not(any(loom, shuttle, steps)))]
pub use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering, fence};

#[cfg(all(target_has_atomic = "64", not(any(loom, shuttle, steps))))]
pub use core::sync::atomic::AtomicU64;

#[cfg(all(not(target_has_atomic = "64"), not(any(loom, shuttle, steps))))]
pub use portable_atomic::AtomicU64;

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

/// Copies a value of plain bytes from one private place to another: as `*to = *from`, but never by an instruction that
/// takes a byte at a time where the two lie (`racy.rs`).
///
/// # Safety
///
/// Any bytes are a `T`, or those of `from`.
#[inline(always)]
pub unsafe fn copy<T: Copy>(from: &T, to: &mut T) {
    #[cfg(any(loom, shuttle))]
    {
        *to = *from;
    }
    #[cfg(not(any(loom, shuttle)))]
    // SAFETY: two references, of which one excludes the other; room for a T at both; what is copied is one (caller).
    unsafe {
        let (from, to) = (core::ptr::from_ref(from), core::ptr::from_mut(to));
        racy::copy(from.cast(), to.cast(), size_of::<T>());
    }
}

/// Bytes of a [`Line`], and the alignment of every [`Memory`].
pub const LINE_BYTES: usize = 128;
