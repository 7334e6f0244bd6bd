// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Every protocol as seen by the tests that are common to all: one file for each, and one line below.
//!
//! Values are `[u64; N]`, made by `payload::marked`. An adapter decides nothing: it names the protocol's operations and
//! its documented bounds.
#![allow(dead_code, unused_macros, unused_imports, reason = "each test binary uses its part of this module")]

mod broadcast;
mod chen;
mod double_buffer;
mod emeralds;
mod hybrid;
mod improved_chen_fast;
mod improved_chen_slow;
mod improved_double_buffer;
mod improved_peterson;
mod lanes;
mod nbw_temporal;
mod observed;
mod peterson;
mod presence;
mod qrtr;
mod qrtwc;
mod qrtwo;
mod sdrtr;
mod sdrtw;
mod spinlock;
mod tccp;

pub(crate) use broadcast::Broadcast;
pub(crate) use chen::Chen;
pub(crate) use double_buffer::DoubleBuffer;
pub(crate) use emeralds::Emeralds;
pub(crate) use hybrid::Hybrid;
pub(crate) use improved_chen_fast::ImprovedChenFast;
pub(crate) use improved_chen_slow::ImprovedChenSlow;
pub(crate) use improved_double_buffer::ImprovedDoubleBuffer;
pub(crate) use improved_peterson::ImprovedPeterson;
pub(crate) use lanes::Lanes;
pub(crate) use nbw_temporal::NbwTemporal;
pub(crate) use observed::Observed;
pub(crate) use peterson::Peterson;
pub(crate) use presence::Presence;
pub(crate) use qrtr::Qrtr;
pub(crate) use qrtwc::Qrtwc;
pub(crate) use qrtwo::Qrtwo;
pub(crate) use sdrtr::Sdrtr;
pub(crate) use sdrtw::Sdrtw;
pub(crate) use spinlock::Spinlock;
use taut_share::Memory;
pub(crate) use tccp::Tccp;

/// Hands all protocols of the newest value to the macro `$then`: for each the name of a module and the adapter.
macro_rules! every_state {
    ($then:ident) => {
        $then! {
            chen Chen
            hybrid Hybrid
            observed Observed
            improved_chen_fast ImprovedChenFast
            improved_chen_slow ImprovedChenSlow
            double_buffer DoubleBuffer
            improved_double_buffer ImprovedDoubleBuffer
            presence Presence
            sdrtr Sdrtr
            sdrtw Sdrtw
            nbw_temporal NbwTemporal
            peterson Peterson
            improved_peterson ImprovedPeterson
            emeralds Emeralds
            spinlock Spinlock
            tccp Tccp
        }
    };
}

/// Hands all queues to the macro `$then`.
macro_rules! every_queue {
    ($then:ident) => {
        $then! {
            qrtr Qrtr
            qrtwc Qrtwc
            qrtwo Qrtwo
            broadcast Broadcast
            lanes Lanes
        }
    };
}

pub(crate) use {every_queue, every_state};

/// The result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Got<V> {
    /// A value.
    Value(V),
    /// Nothing has been written yet, or nothing waits.
    Nothing,
    /// The operation reported that the reader cannot get the value: it was overtaken, or the memory is corrupt.
    Unavailable,
}

/// A protocol of the newest value, for values of `N` words.
pub(crate) trait State<const N: usize>: 'static {
    /// The protocol's name, as in its file.
    const NAME: &'static str;
    /// Number of reading ends of an object in these tests: 1 if only one may exist, else 2.
    const READERS: u32;
    /// Whether values also never go backwards from one reader to another, if their reads do not overlap.
    const ATOMIC: bool;
    /// Whether a write always succeeds, whatever readers do.
    const WRITES_ALWAYS: bool;
    /// Whether a read always succeeds, whatever the writer does.
    const READS_ALWAYS: bool;
    /// Whether a reader may die between any two steps without help from another party: then any number of deaths
    /// costs nothing.
    const READERS_MAY_DIE: bool;
    /// Largest number of shared steps of a write of `N` words, as `taut_atomic::steps` counts them.
    const WRITE_STEPS: u64;
    /// The same for a read.
    const READ_STEPS: u64;

    /// The end that writes.
    type Writer: Send + 'static;
    /// An end that reads.
    type Reader: Send + 'static;

    /// Bytes of an object.
    fn bytes() -> usize;

    /// The end that writes, on memory that is zero or holds such an object.
    ///
    /// # Safety
    ///
    /// As the protocol's `writer`.
    unsafe fn writer(memory: Memory<'static>) -> Self::Writer;

    /// The reader of number `which`, from 0.
    ///
    /// # Safety
    ///
    /// As the protocol's `reader`.
    unsafe fn reader(memory: Memory<'static>, which: u32) -> Self::Reader;

    /// One attempt to write; returns whether it wrote.
    fn write(writer: &mut Self::Writer, value: &[u64; N]) -> bool;

    /// One attempt to read the newest value.
    fn read(reader: &mut Self::Reader) -> Got<[u64; N]>;
}

/// What a push to a full queue does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WhenFull {
    /// It is refused, and returns the value.
    Refuse,
    /// It discards the oldest value.
    DropOldest,
    /// It discards all values that wait.
    Clear,
}

/// A queue, for values of `N` words, of capacity [`CAPACITY`].
pub(crate) trait Queue<const N: usize>: 'static {
    /// The protocol's name, as in its file.
    const NAME: &'static str;
    /// Its policy.
    const WHEN_FULL: WhenFull;
    /// Largest number of shared steps of a push of `N` words, as `taut_atomic::steps` counts them.
    const PUSH_STEPS: u64;
    /// The same for one attempt to pop.
    const POP_STEPS: u64;

    /// The end that pushes.
    type Writer: Send + 'static;
    /// The end that pops.
    type Reader: Send + 'static;

    /// Bytes of a queue of `capacity` values.
    fn bytes(capacity: u32) -> usize;

    /// The end that pushes, on memory that is zero or holds such an object.
    ///
    /// # Safety
    ///
    /// As the protocol's `writer`.
    unsafe fn writer(memory: Memory<'static>, capacity: u32) -> Self::Writer;

    /// The end that pops.
    ///
    /// # Safety
    ///
    /// As the protocol's `reader`.
    unsafe fn reader(memory: Memory<'static>, capacity: u32) -> Self::Reader;

    /// Pushes `value`, and returns whether the queue took it.
    fn push(writer: &mut Self::Writer, value: [u64; N]) -> bool;

    /// One attempt to take the oldest value. With the value it returns the number of values that this reader has lost
    /// since its last one.
    fn pop(reader: &mut Self::Reader) -> Got<([u64; N], u64)>;
}
