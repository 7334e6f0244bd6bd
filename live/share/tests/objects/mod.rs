// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Every protocol as the tests that are common to all of them see it: a file each, and a line below.
//!
//! Values are `[u64; N]`, made by `payload::marked`. An adapter decides nothing: it names the protocol's operations and
//! its documented bounds.
#![allow(dead_code, unused_macros, unused_imports, reason = "each test binary uses its part of this module")]

mod chen;
mod double_buffer;
mod emeralds;
mod hybrid;
mod improved_chen_fast;
mod improved_chen_slow;
mod improved_double_buffer;
mod improved_peterson;
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

pub(crate) use chen::Chen;
pub(crate) use double_buffer::DoubleBuffer;
pub(crate) use emeralds::Emeralds;
pub(crate) use hybrid::Hybrid;
pub(crate) use improved_chen_fast::ImprovedChenFast;
pub(crate) use improved_chen_slow::ImprovedChenSlow;
pub(crate) use improved_double_buffer::ImprovedDoubleBuffer;
pub(crate) use improved_peterson::ImprovedPeterson;
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
        }
    };
}

pub(crate) use {every_queue, every_state};

/// What a read gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Got<V> {
    /// A value.
    Value(V),
    /// Nothing has been written yet, or nothing waits.
    Nothing,
    /// The reader was told that it cannot have it: overtaken, or the memory cannot be true.
    Told,
}

/// A protocol of the newest value, for values of `N` words.
pub(crate) trait State<const N: usize>: 'static {
    /// The protocol's name, as in its file.
    const NAME: &'static str;
    /// Ends that read, of an object of these tests: 1 where there may be one, else 2.
    const READERS: u32;
    /// Whether values never go backwards from one reader to another either, when their reads do not overlap.
    const ATOMIC: bool;
    /// Whether a write always succeeds, whatever readers do.
    const WRITES_ALWAYS: bool;
    /// Whether a read is never told anything, whatever the writer does.
    const READS_ALWAYS: bool;
    /// Whether values survive their reader's death between any two steps without anybody's help: then any number of
    /// deaths costs nothing.
    const READERS_MAY_DIE: bool;
    /// Most shared steps of a write, of `N` words, by `taut_atomic::steps`.
    const WRITE_STEPS: u64;
    /// The same of a read.
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

    /// One attempt to write: whether it did.
    fn write(writer: &mut Self::Writer, value: &[u64; N]) -> bool;

    /// One attempt to read the newest value.
    fn read(reader: &mut Self::Reader) -> Got<[u64; N]>;
}

/// What happens to a value that finds its queue full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WhenFull {
    /// It is given back.
    Refuse,
    /// The oldest one makes room.
    DropOldest,
    /// All that wait make room.
    Clear,
}

/// A queue, for values of `N` words, of capacity [`CAPACITY`].
pub(crate) trait Queue<const N: usize>: 'static {
    /// The protocol's name, as in its file.
    const NAME: &'static str;
    /// Its policy.
    const WHEN_FULL: WhenFull;
    /// Most shared steps of a push, of `N` words, by `taut_atomic::steps`.
    const PUSH_STEPS: u64;
    /// The same of one attempt to pop.
    const POP_STEPS: u64;

    /// The end that pushes.
    type Writer: Send + 'static;
    /// The end that pops.
    type Reader: Send + 'static;

    /// Bytes of a queue of `capacity`.
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

    /// Whether it was taken.
    fn push(writer: &mut Self::Writer, value: [u64; N]) -> bool;

    /// One attempt to take the oldest value: with it the number of values lost, by this reader's account, since its
    /// last one.
    fn pop(reader: &mut Self::Reader) -> Got<([u64; N], u64)>;
}
