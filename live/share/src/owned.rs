// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Objects that have their memory on the heap, for threads of one process: creating one takes two lines, and each end
//! then moves to the thread that uses it.
//!
//! ```
//! use taut_share::ends::{Pop, Push};
//! use taut_share::owned;
//!
//! let (mut writer, mut reader) = owned::qrtwo::<f64>(1024)?;
//! let control = std::thread::spawn(move || (1..=3).for_each(|n| _ = writer.push(&f64::from(n))));
//! control.join().unwrap();
//! assert_eq!(reader.pop().map(|popped| popped.map(|popped| popped.value)), Ok(Some(1.0)));
//! assert!(reader.is_abandoned());
//! # Ok::<(), taut_share::LayoutError>(())
//! ```
//!
//! ```
//! use taut_share::ends::{Newer, Read, Write};
//! use taut_share::owned;
//!
//! let (mut control, mut readers) = owned::states::<[f32; 3]>(2)?;
//! let mut display = readers.pop().unwrap();
//! std::thread::spawn(move || control.write(&[0.5, 1.0, 1.5])).join().unwrap();
//! assert_eq!(display.read(), Ok(Some([0.5, 1.0, 1.5])));
//! assert_eq!(display.read_if_newer(), Ok(None));
//! # Ok::<(), taut_share::LayoutError>(())
//! ```
//!
//! An [`Owned`] end has the operations of its kind in [`ends`](crate::ends); [`Owned::with`] gives access to all other
//! operations of its protocol. The functions here allocate, and the last end of an object frees its memory when it is
//! dropped. A real-time thread should do neither; it should give its end back (`JoinHandle::join`). No operation in
//! between allocates. Processes share objects in a segment instead. [`dbp`](crate::state::dbp) and
//! [`tccp`](crate::state::tccp) are not here: a dispatcher owns their ends. Nor are [`lanes`](crate::queue::lanes), whose
//! queues may be owned ones.

extern crate alloc;

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem::{ManuallyDrop, transmute_copy};
use core::ptr::NonNull;

use taut_atomic::{LINE_BYTES, Line, Memory};

use crate::ends::{Newer, Pop, Popped, Push, Read, Sample, Write};
use crate::queue::ring::{self, DiscardPolicy, Published, Trace, Unpublished};
use crate::queue::{broadcast, qrtr, qrtwc, qrtwo};
use crate::state::{
    chen, double_buffer, emeralds, hybrid, improved_chen, improved_double_buffer, improved_peterson,
    nbw_temporal, peterson, presence, sdrtr, sdrtw, spinlock,
};
use crate::{LayoutError, Plain, bulk};

/// Memory on the heap, which lives until the last end on it is dropped.
struct Block(NonNull<[Line]>);

// SAFETY: it holds memory and frees it, nothing else; code that accesses the memory has its own proof (`Memory`).
unsafe impl Send for Block {}
// SAFETY: as above; a shared block has no safe operation.
unsafe impl Sync for Block {}

impl Block {
    /// A block of `bytes` zeros, in whole lines.
    fn new(bytes: usize) -> Result<Arc<Self>, LayoutError> {
        let (count, mut lines) = (bytes.div_ceil(LINE_BYTES), Vec::new());
        lines.try_reserve_exact(count).map_err(|_| LayoutError::TooSmall { needed: bytes, given: 0 })?;
        lines.resize_with(count, Line::new);
        // SAFETY: the pointer of a box is not null.
        Ok(Arc::new(Self(unsafe { NonNull::new_unchecked(Box::into_raw(lines.into_boxed_slice())) })))
    }

    /// Memory for one object.
    ///
    /// # Safety
    ///
    /// Called once. Nothing that is made from the result is used after this block is dropped.
    unsafe fn memory(&self) -> Memory<'_> {
        // SAFETY: the lines are aligned, and exist until the drop; nothing else accesses them (called once), in any
        // process.
        unsafe { Memory::from_raw(self.0.cast(), size_of::<Line>() * self.0.len()) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: from a box (`new`), and no longer in use: every end on it keeps the block alive (`Owned`).
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// An end of an object of this crate.
///
/// # Safety
///
/// `On<'m>` is `Self` except for that lifetime, which is the memory's. The operations of [`ends`](crate::ends) on it
/// return nothing with that lifetime.
pub unsafe trait End: Send + 'static {
    /// This end, on memory that lives for `'m`.
    type On<'m>;
}

macro_rules! ends {
    ($($module:ident $end:ident)*) => {$(
        // SAFETY: the same type by its definition; values and errors have no lifetime.
        unsafe impl<T: Plain> End for $module::$end<'static, T> {
            type On<'m> = $module::$end<'m, T>;
        }
    )*};
}
ends! {
    hybrid Writer hybrid Reader hybrid Observer
    chen Writer chen Reader
    double_buffer Writer double_buffer Reader
    presence Writer presence Reader
    peterson Writer peterson Reader
    nbw_temporal Writer nbw_temporal Reader
    emeralds Writer emeralds SlowReader
    improved_chen SlowReader
    improved_double_buffer Writer improved_double_buffer SlowReader improved_double_buffer FastReader
    sdrtr Writer sdrtr Reader
    sdrtw Writer sdrtw Reader
    spinlock Writer spinlock Reader
    qrtr Writer qrtr Reader
    broadcast Writer broadcast Reader
    bulk BlockSender bulk BlockReceiver
}

// SAFETY: as above.
unsafe impl<T: Plain, P: DiscardPolicy + Send + 'static> End for ring::Writer<'static, T, P> {
    type On<'m> = ring::Writer<'m, T, P>;
}

// SAFETY: as above.
unsafe impl<T: Plain, P: DiscardPolicy + Send + 'static> End
    for ring::Reader<'static, T, P, Published<'static>>
{
    type On<'m> = ring::Reader<'m, T, P, Published<'m>>;
}

// SAFETY: as above.
unsafe impl<T: Plain, P: DiscardPolicy + Send + 'static> End for ring::Reader<'static, T, P, Unpublished> {
    type On<'m> = ring::Reader<'m, T, P, Unpublished>;
}

/// An end, and its share of the ownership of its object's memory.
///
/// No end outlives its memory: it does not escape as a result,
///
/// ```compile_fail
/// let (writer, mut reader) = taut_share::owned::qrtwo::<u64>(4).unwrap();
/// let follower = reader.with(|reader| reader.follower());
/// ```
///
/// nor into a variable outside,
///
/// ```compile_fail,E0521
/// let (writer, mut reader) = taut_share::owned::qrtwo::<u64>(4).unwrap();
/// let mut kept = None;
/// reader.with(|reader| kept = Some(reader.follower()));
/// ```
///
/// nor by a swap with an end on other memory:
///
/// ```compile_fail,E0521
/// let (mut one, _) = taut_share::owned::qrtwo::<u64>(4).unwrap();
/// let (mut other, _) = taut_share::owned::qrtwo::<u64>(4).unwrap();
/// one.with(|one| other.with(|other| core::mem::swap(one, other)));
/// ```
///
/// An end belongs to one thread:
///
/// ```compile_fail,E0277
/// fn shared<T: Sync>(_: &T) {}
/// let (writer, reader) = taut_share::owned::qrtr::<u64>(4).unwrap();
/// shared(&reader);
/// ```
/// ```compile_fail,E0599
/// let (writer, reader) = taut_share::owned::qrtr::<u64>(4).unwrap();
/// let second = writer.clone();
/// ```
pub struct Owned<E> {
    /// On the memory of `block`, and dropped before it.
    end: E,
    block: Arc<Block>,
}

impl<E: End> Owned<E> {
    /// # Safety
    ///
    /// `end` is on the memory of `block`, or on memory that lives forever.
    unsafe fn new(end: E::On<'_>, block: &Arc<Block>) -> Self {
        let end = ManuallyDrop::new(end);
        // SAFETY: the same type except for a lifetime (End), and not dropped twice. The block lives as long as the
        // end, and nothing with that lifetime leaves the end (`with`; the traits: End).
        let end = unsafe { transmute_copy::<ManuallyDrop<E::On<'_>>, E>(&end) };
        Self { end, block: Arc::clone(block) }
    }

    /// Calls `using` with the end, for all operations of its protocol. Nothing that is on the object's memory leaves
    /// `using`.
    ///
    /// ```
    /// let (mut writer, mut reader) = taut_share::owned::qrtr::<u64>(8)?;
    /// assert_eq!(writer.with(|writer| writer.push_slice(&[1, 2, 3])), 3);
    /// assert_eq!(reader.with(|reader| reader.read_chunk(2).map(|chunk| chunk.iter().sum())), Ok(3));
    /// # Ok::<(), taut_share::LayoutError>(())
    /// ```
    #[inline]
    pub fn with<R>(&mut self, using: impl for<'m> FnOnce(&mut E::On<'m>) -> R) -> R {
        // SAFETY: the same type except for a lifetime (End), borrowed as `self` is. `using` works for each lifetime:
        // what it stores in the end is made from this end or lives forever, and what it keeps does not have that
        // lifetime.
        using(unsafe { &mut *(&raw mut self.end).cast::<E::On<'_>>() })
    }

    /// Whether all other ends of the object have been dropped. True stays true as long as this end makes no more, and
    /// means that all operations of the others are visible: a reader that now pops until nothing waits has received
    /// everything.
    pub fn is_abandoned(&mut self) -> bool {
        // Not the count of the `Arc`, which does not make the others' operations visible.
        Arc::get_mut(&mut self.block).is_some()
    }
}

impl<E: End + Clone> Clone for Owned<E> {
    /// One more end of the same object, if its protocol allows the end to be cloned.
    fn clone(&self) -> Self {
        Self { end: self.end.clone(), block: Arc::clone(&self.block) }
    }
}

impl<T: Plain> Owned<hybrid::Reader<'static, T>> {
    /// See [`hybrid::Reader::observer`].
    pub fn observer(&self) -> Owned<hybrid::Observer<'static, T>> {
        Owned { end: self.end.observer(), block: Arc::clone(&self.block) }
    }
}

impl<T: Plain, P: DiscardPolicy, H: Trace> Owned<ring::Reader<'static, T, P, H>> {
    /// See [`ring::Reader::follower`].
    pub fn follower(&self) -> Owned<ring::Reader<'static, T, P, Unpublished>> {
        Owned { end: self.end.follower(), block: Arc::clone(&self.block) }
    }
}

impl<E: Write> Write for Owned<E> {
    type Value = E::Value;
    type Error = E::Error;

    #[inline]
    fn write(&mut self, value: &E::Value) -> Result<(), E::Error> {
        self.end.write(value)
    }
}

impl<E: Read> Read for Owned<E> {
    type Value = E::Value;
    type Error = E::Error;

    #[inline]
    fn read(&mut self) -> Result<Option<E::Value>, E::Error> {
        self.end.read()
    }

    #[inline]
    fn read_into(&mut self, value: &mut E::Value) -> Result<bool, E::Error> {
        self.end.read_into(value)
    }
}

impl<E: Newer> Newer for Owned<E> {
    #[inline]
    fn read_if_newer(&mut self) -> Result<Option<Sample<E::Value>>, E::Error> {
        self.end.read_if_newer()
    }
}

impl<E: Push> Push for Owned<E> {
    type Value = E::Value;
    type Error = E::Error;

    #[inline]
    fn push(&mut self, value: &E::Value) -> Result<(), E::Error> {
        self.end.push(value)
    }
}

impl<E: Pop> Pop for Owned<E> {
    type Value = E::Value;
    type Error = E::Error;

    #[inline]
    fn pop(&mut self) -> Result<Option<Popped<E::Value>>, E::Error> {
        self.end.pop()
    }

    #[inline]
    fn pop_into(&mut self, value: &mut E::Value) -> Result<Option<u64>, E::Error> {
        self.end.pop_into(value)
    }
}

/// Both ends of an object.
pub type Pair<W, R> = Result<(Owned<W>, Owned<R>), LayoutError>;
/// The writer of an object, and its readers.
pub type OwnedGroup<W, R> = Result<(Owned<W>, Vec<Owned<R>>), LayoutError>;
/// The writer of an object, its slow readers, and a fast one.
pub type Mixed<W, S, F> = Result<(Owned<W>, Vec<Owned<S>>, Owned<F>), LayoutError>;

/// Functions that create an object on a block of its own, of the given number of bytes.
macro_rules! objects {
    ($($(#[doc = $doc:literal])* $form:ident $name:ident($($argument:ident),*) -> $result:ty: $bytes:expr, $make:expr;)*) => {$(
        $(#[doc = $doc])*
        ///
        /// # Errors
        ///
        /// [`LayoutError`] of the protocol; `TooSmall` if the memory cannot be allocated.
        pub fn $name<T: Plain>($($argument: u32),*) -> $result {
            let block = Block::new($bytes)?;
            // SAFETY: called once, and every end keeps the block alive.
            objects!($form block, $make(unsafe { block.memory() } $(, $argument)*)?)
        }
    )*};
    // SAFETY of each: the ends are on the block.
    (pair $block:ident, $ends:expr) => {{
        let (writer, reader) = $ends;
        // SAFETY: as above.
        Ok(unsafe { (Owned::new(writer, &$block), Owned::new(reader, &$block)) })
    }};
    (group $block:ident, $ends:expr) => {{
        let (writer, readers) = $ends;
        // SAFETY: as above.
        let readers = readers.map(|reader| unsafe { Owned::new(reader, &$block) }).collect();
        // SAFETY: as above.
        Ok((unsafe { Owned::new(writer, &$block) }, readers))
    }};
    (mixed $block:ident, $ends:expr) => {{
        let (writer, slow, fast) = $ends;
        // SAFETY: as above.
        let slow = slow.map(|reader| unsafe { Owned::new(reader, &$block) }).collect();
        // SAFETY: as above.
        Ok(unsafe { (Owned::new(writer, &$block), slow, Owned::new(fast, &$block)) })
    }};
}
objects! {
    /// The newest value, for one reader, by the default: [`hybrid`](mod@hybrid).
    pair state() -> Pair<hybrid::Writer<'static, T>, hybrid::Reader<'static, T>>:
        hybrid::bytes::<T>(1, hybrid::spare::<T>()), hybrid::pair::<T>;
    /// The newest value, for this many readers, by the default: [`hybrid`](mod@hybrid).
    group states(readers) -> OwnedGroup<hybrid::Writer<'static, T>, hybrid::Reader<'static, T>>:
        hybrid::bytes::<T>(readers, hybrid::spare::<T>()),
        |memory, readers| hybrid::group::<T>(memory, readers, hybrid::spare::<T>());
    /// The newest value out of real-time code, for readers that retry: [`hybrid::observed`].
    pair observed() -> Pair<hybrid::Writer<'static, T>, hybrid::Observer<'static, T>>:
        hybrid::bytes::<T>(0, hybrid::observed_spare::<T>()),
        |memory| hybrid::observed::<T>(memory, hybrid::observed_spare::<T>());
    /// The newest value, for this many readers: [`chen`](mod@chen).
    group chen(readers) -> OwnedGroup<chen::Writer<'static, T>, chen::Reader<'static, T>>:
        chen::bytes::<T>(readers), chen::group::<T>;
    /// The newest value, for this many readers: [`double_buffer`](mod@double_buffer).
    group double_buffer(readers) -> OwnedGroup<double_buffer::Writer<'static, T>, double_buffer::Reader<'static, T>>:
        double_buffer::bytes::<T>(readers), double_buffer::group::<T>;
    /// The newest value, for this many readers: [`presence`](mod@presence).
    group presence(readers) -> OwnedGroup<presence::Writer<'static, T>, presence::Reader<'static, T>>:
        presence::bytes::<T>(readers), presence::group::<T>;
    /// The newest value, for this many readers: [`peterson`](mod@peterson).
    group peterson(readers) -> OwnedGroup<peterson::Writer<'static, T>, peterson::Reader<'static, T>>:
        peterson::bytes::<T>(readers).ok_or(LayoutError::Readers)?, peterson::group::<T>;
    /// The newest value under a lock, for this many readers: [`spinlock`](mod@spinlock).
    group spinlock(readers) -> OwnedGroup<spinlock::Writer<'static, T>, spinlock::Reader<'static, T>>:
        spinlock::bytes::<T>(), spinlock::group::<T>;
    /// The newest value, for a real-time reader: [`sdrtr`](mod@sdrtr).
    pair sdrtr() -> Pair<sdrtr::Writer<'static, T>, sdrtr::Reader<'static, T>>:
        sdrtr::bytes::<T>(), sdrtr::pair::<T>;
    /// The newest value, on one slot: [`sdrtw`](mod@sdrtw).
    pair sdrtw() -> Pair<sdrtw::Writer<'static, T>, sdrtw::Reader<'static, T>>:
        sdrtw::bytes::<T>(), sdrtw::pair::<T>;
    /// The newest value, for readers of known speed: [`nbw_temporal`](mod@nbw_temporal).
    pair nbw_temporal(buffers) -> Pair<nbw_temporal::Writer<'static, T>, nbw_temporal::Reader<'static, T>>:
        nbw_temporal::bytes::<T>(buffers).ok_or(LayoutError::Buffers)?, nbw_temporal::pair::<T>;
    /// The newest value, for slow readers and fast ones: [`improved_chen`](mod@improved_chen).
    mixed improved_chen(slow, overlaps) -> Mixed<hybrid::Writer<'static, T>, improved_chen::SlowReader<'static, T>,
            hybrid::Observer<'static, T>>:
        improved_chen::bytes::<T>(slow, overlaps), improved_chen::group::<T>;
    /// The newest value, for slow readers and fast ones:
    /// [`improved_double_buffer`](mod@improved_double_buffer).
    mixed improved_double_buffer(slow, overlaps) -> Mixed<improved_double_buffer::Writer<'static, T>,
            improved_double_buffer::SlowReader<'static, T>, improved_double_buffer::FastReader<'static, T>>:
        improved_double_buffer::bytes::<T>(slow, overlaps).ok_or(LayoutError::Buffers)?,
        improved_double_buffer::group::<T>;
    /// The newest value, for slow readers and fast ones: [`improved_peterson`](mod@improved_peterson).
    mixed improved_peterson(slow, buffers) -> Mixed<peterson::Writer<'static, T>, peterson::Reader<'static, T>,
            nbw_temporal::Reader<'static, T>>:
        improved_peterson::bytes::<T>(slow, buffers).ok_or(LayoutError::Buffers)?, improved_peterson::group::<T>;
    /// The newest value, for slow readers and fast ones: [`emeralds`](mod@emeralds).
    mixed emeralds(slow, buffers) -> Mixed<emeralds::Writer<'static, T>, emeralds::SlowReader<'static, T>,
            nbw_temporal::Reader<'static, T>>:
        emeralds::bytes::<T>(slow, buffers).ok_or(LayoutError::Buffers)?, emeralds::group::<T>;
    /// Every value; a full queue refuses new ones: [`qrtr`](mod@qrtr).
    pair qrtr(capacity) -> Pair<qrtr::Writer<'static, T>, qrtr::Reader<'static, T>>:
        qrtr::bytes::<T>(capacity).ok_or(LayoutError::Capacity)?, qrtr::pair::<T>;
    /// Every value; a full queue discards the oldest: [`qrtwo`](mod@qrtwo), with the spare slots that [`ring::spare`]
    /// recommends.
    pair qrtwo(capacity) -> Pair<qrtwo::Writer<'static, T>, qrtwo::Reader<'static, T>>:
        ring::bytes::<T>(capacity, ring::spare::<T>()).ok_or(LayoutError::Capacity)?,
        |memory, capacity| qrtwo::pair::<T>(memory, capacity, ring::spare::<T>());
    /// Every value; a full queue discards all that wait: [`qrtwc`](mod@qrtwc), with the spare slots that
    /// [`ring::spare`] recommends.
    pair qrtwc(capacity) -> Pair<qrtwc::Writer<'static, T>, qrtwc::Reader<'static, T>>:
        ring::bytes::<T>(capacity, ring::spare::<T>()).ok_or(LayoutError::Capacity)?,
        |memory, capacity| qrtwc::pair::<T>(memory, capacity, ring::spare::<T>());
    /// Every value, for this many readers, all of which get it: [`broadcast`](mod@broadcast).
    group broadcast(readers, capacity) -> OwnedGroup<broadcast::Writer<'static, T>, broadcast::Reader<'static, T>>:
        broadcast::bytes::<T>(readers, capacity).ok_or(LayoutError::Capacity)?, broadcast::group::<T>;
    /// Large blocks that are not copied: [`bulk`](mod@bulk), through [`Owned::with`].
    pair bulk(blocks) -> Pair<bulk::BlockSender<'static, T>, bulk::BlockReceiver<'static, T>>:
        bulk::bytes::<T>(blocks).ok_or(LayoutError::Capacity)?, bulk::pair::<T>;
}
