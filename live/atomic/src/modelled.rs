// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The memory of `memory.rs` under loom and shuttle, whose atomics are not plain bytes in memory.

use core::marker::PhantomData;
use core::mem::{MaybeUninit, size_of};
use core::ops::{Deref, DerefMut, Range};
use std::boxed::Box;

#[cfg(loom)]
use loom::sync::{Condvar, Mutex};
#[cfg(shuttle)]
use shuttle::sync::{Condvar, Mutex};

use crate::{AtomicU64, LINE_BYTES, Ordering};

/// A word to which the protocol guarantees exclusive access. Loom panics when two accesses race. Under shuttle every
/// access is a point at which the scheduler may switch threads, so that a mistake shows as a torn value.
struct Cell {
    #[cfg(loom)]
    word: loom::cell::UnsafeCell<u64>,
    #[cfg(shuttle)]
    word: AtomicU64,
}

// SAFETY: only the exclusive functions of `Slots` touch it; their callers prove them free of races, loom checks it.
unsafe impl Sync for Cell {}

impl Cell {
    #[cfg(loom)]
    fn zero() -> Self {
        Self { word: loom::cell::UnsafeCell::new(0) }
    }

    #[cfg(loom)]
    fn get(&self) -> u64 {
        // SAFETY: no concurrent write (caller of `Slots::read`), which loom checks before it runs this.
        self.word.with(|word| unsafe { *word })
    }

    #[cfg(loom)]
    fn set(&self, value: u64) {
        // SAFETY: no concurrent access (caller of `Slots::write`), which loom checks before it runs this.
        self.word.with_mut(|word| unsafe { *word = value });
    }

    #[cfg(shuttle)]
    fn zero() -> Self {
        Self { word: AtomicU64::new(0) }
    }

    #[cfg(shuttle)]
    fn get(&self) -> u64 {
        self.word.load(Ordering::Relaxed)
    }

    #[cfg(shuttle)]
    fn set(&self, value: u64) {
        self.word.store(value, Ordering::Relaxed);
    }
}

struct Content {
    words: [AtomicU64; LINE_BYTES / 8],
    cells: [Cell; LINE_BYTES / 8],
    sleepers: Sleepers,
}

/// The threads that sleep on a word, as on a futex. In products the kernel keeps them, not this crate.
#[derive(Default)]
pub struct Sleepers {
    lock: Mutex<()>,
    woken: Condvar,
}

impl Sleepers {
    /// Sleeps until woken if `look`, which reads the word, returns true. Test and sleep are one atomic step with
    /// respect to wakes.
    pub fn sleep_if(&self, look: impl FnOnce() -> bool) {
        let lock = self.lock.lock().expect("no one panics with it");
        if look() {
            drop(self.woken.wait(lock));
        }
    }

    /// Wakes one sleeper.
    pub fn wake_one(&self) {
        let lock = self.lock.lock().expect("no one panics with it");
        self.woken.notify_one();
        drop(lock);
    }

    /// Wakes all sleepers.
    pub fn wake_all(&self) {
        let lock = self.lock.lock().expect("no one panics with it");
        self.woken.notify_all();
        drop(lock);
    }
}

/// A word of a line that threads can sleep on.
#[derive(Clone, Copy)]
pub struct ModelledFutex<'m> {
    word: &'m AtomicU64,
    sleepers: &'m Sleepers,
}

impl ModelledFutex<'_> {
    /// Sleeps until woken if the word is `expected`. Test and sleep are one atomic step with respect to wakes.
    pub fn wait(&self, expected: u64) {
        self.sleepers.sleep_if(|| self.word.load(Ordering::Relaxed) == expected);
    }

    /// Wakes all sleepers.
    pub fn wake(&self) {
        self.sleepers.wake_all();
    }
}

/// 128 bytes of memory, zero at first.
#[derive(Default)]
pub struct Line(Option<Box<Content>>);

impl Line {
    /// A line of zeros.
    pub const fn new() -> Self {
        Self(None)
    }
}

/// A stretch of memory that holds, or will hold, a shared object.
pub struct Memory<'m> {
    lines: &'m [Line],
}

impl<'m> Memory<'m> {
    /// Over lines of this process, which it sets to zero: an empty object of any kind.
    pub fn new(lines: &'m mut [Line]) -> Self {
        lines.fill_with(|| {
            Line(Some(Box::new(Content {
                words: core::array::from_fn(|_| AtomicU64::new(0)),
                cells: core::array::from_fn(|_| Cell::zero()),
                sleepers: Sleepers::default(),
            })))
        });
        Self { lines }
    }

    /// Its length in bytes.
    pub fn bytes(&self) -> usize {
        self.lines.len() * LINE_BYTES
    }

    /// The same stretch once more, for another end of the object there, as other builds do with `from_raw`. Misuse is
    /// not undefined behaviour here; it is what the run is meant to find.
    #[doc(hidden)]
    pub fn again(&self) -> Self {
        Self { lines: self.lines }
    }

    /// Cuts it in two: the first `bytes`, rounded up to whole lines, and the rest. `None` if it is too short.
    pub fn split(self, bytes: usize) -> Option<(Self, Self)> {
        let (first, second) = self.lines.split_at_checked(bytes.div_ceil(LINE_BYTES))?;
        Some((Self { lines: first }, Self { lines: second }))
    }

    /// Takes it for one object, or one end of it.
    pub fn claim(self) -> Claimed<'m> {
        Claimed(self)
    }
}

/// Memory that one object, or one end of it, has to itself; see `memory.rs`.
pub struct Claimed<'m>(Memory<'m>);

impl<'m> Claimed<'m> {
    /// Its length in bytes.
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }

    /// The word at byte `offset`.
    ///
    /// # Panics
    ///
    /// If `offset` is not a multiple of 8 or the word is not inside.
    pub fn word(&self, offset: usize) -> &'m AtomicU64 {
        assert!(offset.is_multiple_of(8));
        &content(self.0.lines, offset).words[offset % LINE_BYTES / 8]
    }

    /// `count` places for values, `stride` bytes apart, the first at byte `offset`.
    ///
    /// # Panics
    ///
    /// If `offset` or `stride` is not a multiple of 8 or the last place ends outside.
    pub fn slots(&self, offset: usize, stride: usize, count: usize) -> Slots<'m> {
        assert!(offset.is_multiple_of(8) && stride.is_multiple_of(8));
        assert!(offset + stride * count <= self.bytes());
        Slots { lines: self.0.lines, offset, stride }
    }

    /// `count` flags, the first at byte `offset`; they take [`flag_bytes`].
    ///
    /// # Panics
    ///
    /// If `offset` is not a multiple of 8 or the flags end outside.
    ///
    /// # Safety
    ///
    /// None here; the function of that name in `memory.rs` has conditions.
    pub unsafe fn flags(&self, offset: usize, count: usize) -> Flags<'m> {
        Flags(self.words(offset, 8, count))
    }

    /// `count` words, `stride` bytes apart, the first at byte `offset`.
    ///
    /// # Panics
    ///
    /// If `offset` or `stride` is not a multiple of 8 or the last word ends outside.
    pub fn words(&self, offset: usize, stride: usize, count: usize) -> StridedWords<'m> {
        assert!(offset.is_multiple_of(8) && stride.is_multiple_of(8));
        assert!(count == 0 || offset + stride * (count - 1) + 8 <= self.bytes());
        StridedWords { lines: self.0.lines, offset, stride, count }
    }
}

/// Bytes of `count` [`Flags`]: here each is a word.
pub const fn flag_bytes(count: usize) -> usize {
    8 * count
}

/// Flags in [`Claimed`] memory; see `memory.rs`.
#[derive(Clone, Copy)]
pub struct Flags<'m>(StridedWords<'m>);

impl<'m> Flags<'m> {
    /// The number of flags in a block.
    pub const BLOCK: usize = 8;

    /// The number of flags.
    pub fn count(&self) -> usize {
        self.0.count()
    }

    /// Flag `index`; `None` if `index` is not below the count.
    pub fn get(&self, index: usize) -> Option<Flag<'m>> {
        self.0.get(index).map(Flag)
    }

    /// Which flags of block `block` are raised: a load of each, as 8 loads of bytes at once may see them.
    pub fn raised(&self, block: usize) -> u64 {
        let raised = |at: &usize| {
            self.0.get(Self::BLOCK * block + at).is_some_and(|word| word.load(Ordering::Relaxed) != 0)
        };
        (0..Self::BLOCK).filter(raised).fold(0, |bytes, at| bytes | 1 << (8 * at))
    }
}

/// A flag of [`Flags`].
#[derive(Clone, Copy)]
pub struct Flag<'m>(&'m AtomicU64);

impl Flag<'_> {
    /// Raises the flag. Elsewhere it is a store; loom takes a store for lost that meets an exchange of another thread,
    /// since it lets the store come between the two halves of the exchange. Only one party raises a flag, so nobody
    /// can use what an exchange has beyond a store. Miri checks the store.
    pub fn raise(self, order: Ordering) {
        self.0.swap(1, order);
    }

    /// Lowers the flag, and returns whether it was raised.
    pub fn claim(self, order: Ordering) -> bool {
        self.0.swap(0, order) != 0
    }
}

/// Equally spaced words in [`Claimed`] memory.
#[derive(Clone, Copy)]
pub struct StridedWords<'m> {
    lines: &'m [Line],
    offset: usize,
    stride: usize,
    count: usize,
}

impl<'m> StridedWords<'m> {
    /// The number of words.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Word `index`; `None` if `index` is not below the count.
    pub fn get(&self, index: usize) -> Option<&'m AtomicU64> {
        // SAFETY: below the count.
        (index < self.count).then(|| unsafe { self.at(index) })
    }

    /// Word `index`, to sleep on; `None` if `index` is not below the count.
    pub fn futex(&self, index: usize) -> Option<ModelledFutex<'m>> {
        let word = self.get(index)?;
        let offset = self.offset + index * self.stride;
        Some(ModelledFutex { word, sleepers: &content(self.lines, offset).sleepers })
    }

    /// Word `index`.
    ///
    /// # Safety
    ///
    /// None here; the function of that name in `memory.rs` has conditions.
    pub unsafe fn at(&self, index: usize) -> &'m AtomicU64 {
        assert!(index < self.count);
        let offset = self.offset + index * self.stride;
        &content(self.lines, offset).words[offset % LINE_BYTES / 8]
    }
}

fn content(lines: &[Line], offset: usize) -> &Content {
    lines[offset / LINE_BYTES].0.as_deref().expect("Memory::new has filled it")
}

/// A value lent for reading: a copy, made when the loan starts and again when it ends, so that loom sees a race with
/// any write in between.
pub struct LentPlace<'m, T: Copy> {
    slots: Slots<'m>,
    index: usize,
    copy: Box<T>,
}

impl<T: Copy> Deref for LentPlace<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.copy
    }
}

impl<T: Copy> Drop for LentPlace<'_, T> {
    fn drop(&mut self) {
        // SAFETY: the duties of the caller of `Slots::lend_place`.
        *self.copy = unsafe { self.slots.read(self.index) };
    }
}

/// A value lent for writing: a copy, made when the loan starts and written back when it ends.
pub struct LentPlaceMut<'m, T: Copy> {
    slots: Slots<'m>,
    index: usize,
    copy: Box<T>,
}

impl<T: Copy> LentPlaceMut<'_, T> {
    /// Ends the loan, as dropping does.
    pub fn end(self) {}
}

impl<T: Copy> Deref for LentPlaceMut<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.copy
    }
}

impl<T: Copy> DerefMut for LentPlaceMut<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.copy
    }
}

impl<T: Copy> Drop for LentPlaceMut<'_, T> {
    fn drop(&mut self) {
        // SAFETY: the duties of the caller of `Slots::lend_place_mut`.
        unsafe { self.slots.write(self.index, &*self.copy) };
    }
}

/// Equally spaced places in [`Claimed`] memory; see `memory.rs` for its guarantees.
#[derive(Clone, Copy)]
pub struct Slots<'m> {
    lines: &'m [Line],
    offset: usize,
    stride: usize,
}

impl<'m> Slots<'m> {
    fn fetch<T>(
        &self,
        index: usize,
        part: Range<usize>,
        value: &mut MaybeUninit<T>,
        word: impl Fn(&Content, usize) -> u64,
    ) {
        assert!(part.start.is_multiple_of(8) && part.end <= size_of::<T>());
        let to = value.as_mut_ptr().cast::<u8>();
        for start in part.clone().step_by(8) {
            let offset = self.offset + index * self.stride + start;
            let bits = word(content(self.lines, offset), offset % LINE_BYTES / 8).to_ne_bytes();
            let rest = (part.end - start).min(8);
            // SAFETY: `rest` bytes from `start` on are inside of `value`.
            unsafe { core::ptr::copy_nonoverlapping(bits.as_ptr(), to.add(start), rest) };
        }
    }

    /// # Safety
    ///
    /// The first `bytes` bytes are inside of a `T` and initialised.
    unsafe fn place<T>(&self, index: usize, value: &T, bytes: usize, word: impl Fn(&Content, usize, u64)) {
        assert!(bytes <= size_of::<T>());
        let from = core::ptr::from_ref(value).cast::<u8>();
        for start in (0..bytes).step_by(8) {
            let offset = self.offset + index * self.stride + start;
            let mut bits = [0; 8];
            let rest = (bytes - start).min(8);
            // SAFETY: `rest` bytes from `start` on are inside of `value` and initialised (caller).
            unsafe { core::ptr::copy_nonoverlapping(from.add(start), bits.as_mut_ptr(), rest) };
            word(content(self.lines, offset), offset % LINE_BYTES / 8, u64::from_ne_bytes(bits));
        }
    }

    /// Copies the value out of place `index`, exclusively.
    ///
    /// # Safety
    ///
    /// Every bit pattern is a `T`; no write of this place is concurrent.
    pub unsafe fn read<T: Copy>(&self, index: usize) -> T {
        let mut value = MaybeUninit::uninit();
        // SAFETY: the caller's duties.
        unsafe { self.read_part(index, 0..size_of::<T>(), &mut value) };
        // SAFETY: every byte was written, and every bit pattern is a T (caller).
        unsafe { value.assume_init() }
    }

    /// Copies bytes `part` of place `index`, exclusively.
    ///
    /// # Safety
    ///
    /// No write of this place is concurrent.
    pub unsafe fn read_part<T>(&self, index: usize, part: Range<usize>, value: &mut MaybeUninit<T>) {
        self.fetch(index, part, value, |content, i| content.cells[i].get());
    }

    /// Copies `value` into place `index`, exclusively.
    ///
    /// # Safety
    ///
    /// `T` has no padding; no other access to this place is concurrent.
    pub unsafe fn write<T: Copy>(&self, index: usize, value: &T) {
        // SAFETY: no padding (caller).
        unsafe { self.write_first(index, value, size_of::<T>()) };
    }

    /// Copies the first `bytes` bytes of `value` into place `index`, exclusively.
    ///
    /// # Safety
    ///
    /// They are initialised; no other access to this place is concurrent.
    pub unsafe fn write_first<T>(&self, index: usize, value: &T, bytes: usize) {
        // SAFETY: initialised (caller).
        unsafe { self.place(index, value, bytes, |content, i, bits| content.cells[i].set(bits)) };
    }

    /// Lends place `index` for reading: a copy, because the words are not contiguous here.
    ///
    /// # Safety
    ///
    /// Every bit pattern is a `T`; no write of this place is concurrent.
    pub unsafe fn lend<T, R>(&self, index: usize, look: impl FnOnce(&T) -> R) -> R {
        let mut value = MaybeUninit::<T>::uninit();
        // SAFETY: the caller's duties.
        unsafe { self.read_part(index, 0..size_of::<T>(), &mut value) };
        // SAFETY: every byte was written, and every bit pattern is a T (caller).
        look(unsafe { value.assume_init_ref() })
    }

    /// Lends place `index` for writing: a copy, which is written back.
    ///
    /// # Safety
    ///
    /// Every bit pattern is a `T`, and `T` has no padding; no other access to this place is concurrent.
    pub unsafe fn lend_mut<T, R>(&self, index: usize, fill: impl FnOnce(&mut T) -> R) -> R {
        let mut value = MaybeUninit::<T>::uninit();
        // SAFETY: the caller's duties.
        unsafe { self.read_part(index, 0..size_of::<T>(), &mut value) };
        // SAFETY: every byte was written, and every bit pattern is a T (caller).
        let value = unsafe { value.assume_init_mut() };
        let result = fill(value);
        // SAFETY: the caller's duties.
        unsafe { self.write_first(index, value, size_of::<T>()) };
        result
    }

    /// Lends `count` places from `index` on for reading: copies.
    ///
    /// # Safety
    ///
    /// Every bit pattern is a `T`; no write of these places is concurrent.
    pub unsafe fn lend_run<T: Copy>(&self, index: usize, count: usize) -> Lent<'m, T> {
        // SAFETY: the caller's duties.
        let values = (index..index + count).map(|i| unsafe { self.read(i) }).collect();
        Lent { values, life: PhantomData }
    }

    /// Lends `count` places from `index` on for writing: copies, which [`LentMut::end`] writes back.
    ///
    /// # Safety
    ///
    /// Every bit pattern is a `T`, and `T` has no padding; no other access to these places is concurrent.
    pub unsafe fn lend_run_mut<T: Copy>(&self, index: usize, count: usize) -> LentMut<'m, T> {
        // SAFETY: the caller's duties.
        let values = (index..index + count).map(|i| unsafe { self.read(i) }).collect();
        LentMut { values, index, slots: *self }
    }

    /// Copies the values out of the places from `index` on, exclusively.
    ///
    /// # Safety
    ///
    /// As for [`Slots::read`].
    pub unsafe fn read_run<T: Copy>(&self, index: usize, values: &mut [T]) {
        for (i, value) in values.iter_mut().enumerate() {
            // SAFETY: the caller's duties.
            *value = unsafe { self.read(index + i) };
        }
    }

    /// Copies `values` into the places from `index` on, exclusively.
    ///
    /// # Safety
    ///
    /// As for [`Slots::write`].
    pub unsafe fn write_run<T: Copy>(&self, index: usize, values: &[T]) {
        for (i, value) in values.iter().enumerate() {
            // SAFETY: the caller's duties.
            unsafe { self.write(index + i, value) };
        }
    }

    /// Copies the places from `index` on into `values` in relaxed words: the values may be torn.
    ///
    /// # Safety
    ///
    /// Every bit pattern is a `T`.
    pub unsafe fn load_run<T: Copy>(&self, index: usize, values: &mut [T]) {
        for (i, value) in values.iter_mut().enumerate() {
            // SAFETY: every byte of it was written, and every bit pattern is a T (caller).
            *value = unsafe { self.load(index + i).assume_init() };
        }
    }

    /// Lends place `index` for reading, for as long as the caller keeps the result: a copy, see [`LentPlace`].
    ///
    /// # Safety
    ///
    /// As for [`Slots::read`], until the result is dropped.
    pub unsafe fn lend_place<T: Copy>(&self, index: usize) -> LentPlace<'m, T> {
        // SAFETY: the caller's duties.
        LentPlace { slots: *self, index, copy: Box::new(unsafe { self.read(index) }) }
    }

    /// Lends place `index` for writing, for as long as the caller keeps the result: a copy, see [`LentPlaceMut`].
    ///
    /// # Safety
    ///
    /// As for [`Slots::read`] and [`Slots::write`], until the result is dropped.
    pub unsafe fn lend_place_mut<T: Copy>(&self, index: usize) -> LentPlaceMut<'m, T> {
        // SAFETY: the caller's duties.
        LentPlaceMut { slots: *self, index, copy: Box::new(unsafe { self.read(index) }) }
    }

    /// Copies place `index` in relaxed words; the result may be torn.
    ///
    /// # Safety
    ///
    /// None here; the function of that name in `memory.rs` has conditions.
    pub unsafe fn load<T: Copy>(&self, index: usize) -> MaybeUninit<T> {
        let mut value = MaybeUninit::uninit();
        // SAFETY: `load_part` has no conditions here.
        unsafe { self.load_part::<T>(index, 0..size_of::<T>(), &mut value) };
        value
    }

    /// Copies bytes `part` of place `index` in relaxed words.
    ///
    /// # Safety
    ///
    /// None here; the function of that name in `memory.rs` has conditions.
    pub unsafe fn load_part<T>(&self, index: usize, part: Range<usize>, value: &mut MaybeUninit<T>) {
        self.fetch(index, part, value, |content, i| content.words[i].load(Ordering::Relaxed));
    }

    /// Copies `value` into place `index` in relaxed words.
    ///
    /// # Safety
    ///
    /// `T` has no padding.
    pub unsafe fn store<T: Copy>(&self, index: usize, value: &T) {
        // SAFETY: no padding (caller).
        unsafe { self.store_first(index, value, size_of::<T>()) };
    }

    /// Copies the first `bytes` bytes of `value` into place `index` in relaxed words.
    ///
    /// # Safety
    ///
    /// They are initialised.
    pub unsafe fn store_first<T>(&self, index: usize, value: &T, bytes: usize) {
        // SAFETY: initialised (caller).
        unsafe {
            self.place(index, value, bytes, |content, i, bits| {
                content.words[i].store(bits, Ordering::Relaxed)
            });
        };
    }
}

/// Consecutive places, lent for reading; see `lent.rs`.
pub struct Lent<'m, T> {
    values: Box<[T]>,
    life: PhantomData<&'m [Line]>,
}

impl<T: Copy> Lent<'_, T> {
    /// The number of places.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// The values, in the order of their places.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        self.values.iter()
    }

    /// The values as one slice.
    pub fn as_slice(&self) -> Option<&[T]> {
        Some(&self.values)
    }
}

/// Consecutive places, lent for writing; see `lent.rs`.
pub struct LentMut<'m, T> {
    values: Box<[T]>,
    index: usize,
    slots: Slots<'m>,
}

impl<T: Copy> LentMut<'_, T> {
    /// The number of places.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// The places, in order.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut T> + ExactSizeIterator {
        self.values.iter_mut()
    }

    /// The places as one slice.
    pub fn as_mut_slice(&mut self) -> Option<&mut [T]> {
        Some(&mut self.values)
    }

    /// Ends the loan and keeps what the caller wrote: here the call writes it back.
    pub fn end(self) {
        // SAFETY: the caller of `Slots::lend_run_mut` keeps all other accesses away from the places until this ends.
        unsafe { self.slots.write_run(self.index, &self.values) };
    }
}
