// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use core::marker::PhantomData;
use core::mem::{MaybeUninit, size_of};
use core::ops::Range;
use core::ptr::NonNull;

use crate::{AtomicU8, AtomicU64, LINE_BYTES, Lent, LentMut, LentPlace, LentPlaceMut, Ordering, racy};

/// 128 bytes of memory, zero at first: two cache lines, since processors fetch them in pairs.
#[repr(C, align(128))]
pub struct Line([u8; LINE_BYTES]);

impl Line {
    /// A line of zeros.
    pub const fn new() -> Self {
        Self([0; LINE_BYTES])
    }
}

impl Default for Line {
    fn default() -> Self {
        Self::new()
    }
}

/// A stretch of memory that holds, or will hold, a shared object. It is aligned to 128 bytes and belongs to this
/// process or is mapped into several.
///
/// A `Memory` proves that for `'m` its bytes are mapped, and that in this process only values made from it touch them.
/// A peer process has a `Memory` of its own over the same bytes. So a `Memory` is neither `Copy` nor `Clone`, and gives
/// out no word and no place: code that needs those takes the memory for itself, with [`Memory::claim`].
///
/// No code can keep a word of memory that an object or a lock then gets:
///
/// ```compile_fail,E0382
/// use taut_atomic::{AtomicU64, Line, Memory, Ordering::Relaxed};
///
/// fn object(_: Memory<'_>) { /* one whose words say who may touch a value */ }
///
/// let mut lines = [const { Line::new() }; 2];
/// let memory = Memory::new(&mut lines);
/// let word: &AtomicU64 = memory.claim().word(0);
/// object(memory); // E0382: it is the claim's
/// word.store(0, Relaxed);
/// ```
///
/// Nor does a word outlive the lines, or stay usable while other code uses them:
///
/// ```compile_fail,E0506
/// use taut_atomic::{Line, Memory, Ordering::Relaxed};
///
/// let mut lines = [const { Line::new() }; 2];
/// let word = Memory::new(&mut lines).claim().word(0);
/// lines[0] = Line::new(); // E0506: borrowed
/// word.load(Relaxed);
/// ```
/// ```compile_fail,E0505
/// use taut_atomic::{Line, Memory, Ordering::Relaxed};
///
/// let mut lines = vec![Line::new(), Line::new()];
/// let words = Memory::new(&mut lines).claim().words(0, 8, 4);
/// drop(lines); // E0505: borrowed
/// words.get(3);
/// ```
/// ```compile_fail,E0499
/// use taut_atomic::{Line, Memory};
///
/// let mut lines = [const { Line::new() }; 2];
/// let first = Memory::new(&mut lines);
/// let second = Memory::new(&mut lines); // E0499: two at once
/// drop((first, second));
/// ```
pub struct Memory<'m> {
    start: NonNull<u8>,
    bytes: usize,
    life: PhantomData<&'m mut [Line]>,
}

// SAFETY: it is an exclusive borrow of plain bytes.
unsafe impl Send for Memory<'_> {}

impl<'m> Memory<'m> {
    /// A `Memory` over lines of this process, which the call sets to zero: an empty object of any kind.
    pub fn new(lines: &'m mut [Line]) -> Self {
        lines.fill_with(Line::new);
        Self { bytes: size_of_val(lines), start: NonNull::from(lines).cast(), life: PhantomData }
    }

    /// A `Memory` over `bytes` bytes at `start`, which the call does not change: they are zero, or an object to attach
    /// to again.
    ///
    /// # Safety
    ///
    /// - `start` is aligned to 128, and `bytes` bytes from it on are mapped for reading and writing and stay so for
    ///   `'m`. (A shared file must be sealed against shrinking, or an access after truncation faults.) For an end
    ///   whose module says that it needs no write access, a mapping for reading is enough.
    /// - In this process, during `'m`, only endpoints of the object in these bytes touch them. Another process may
    ///   touch them, even a hostile one: each protocol says what such a process can and cannot do.
    /// - The protocol operations that lend a value in place (`read_with`, `write_with`, chunks, loans) hold a reference
    ///   into these bytes. Use them only if all other processes of this memory keep to the protocol. Against a process
    ///   that may not keep to it, use the operations that copy.
    /// - If the caller makes a lock from this memory that guards a value outside of these bytes, no other process
    ///   writes these bytes.
    pub unsafe fn from_raw(start: NonNull<u8>, bytes: usize) -> Self {
        debug_assert!(start.addr().get().is_multiple_of(LINE_BYTES));
        Self { start, bytes, life: PhantomData }
    }

    /// Its length in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Cuts the memory in two: the first `bytes`, rounded up to whole lines, and the rest. `None` if it is too short.
    pub fn split(self, bytes: usize) -> Option<(Self, Self)> {
        let first = bytes.checked_next_multiple_of(LINE_BYTES).filter(|first| *first <= self.bytes)?;
        // SAFETY: `first` is at most the length, so the sum stays in the stretch or at its end.
        let second = unsafe { self.start.add(first) };
        Some((
            Self { start: self.start, bytes: first, life: PhantomData },
            Self { start: second, bytes: self.bytes - first, life: PhantomData },
        ))
    }

    /// Takes the memory for one object. The ends of that object then have the only words and places there. No part of
    /// the memory can become a [`Memory`] again.
    pub fn claim(self) -> Claimed<'m> {
        Claimed(self)
    }
}

/// Memory that one object, or one end of it, has to itself. It gives out words and places.
///
/// A claim proves what its [`Memory`] proved. In this process, only the claim's maker, and code to which the maker
/// passes them, use the words and places made from it: the proofs of the objects rely on that. A claim cannot be passed
/// to an object, which takes memory that nobody has claimed:
///
/// ```compile_fail,E0308
/// use taut_atomic::{Line, Memory};
///
/// fn object(_: Memory<'_>) {}
///
/// let mut lines = [const { Line::new() }; 2];
/// let claimed = Memory::new(&mut lines).claim();
/// let words = claimed.words(0, 8, 4);
/// object(claimed); // E0308: not a `Memory`
/// words.get(0);
/// ```
pub struct Claimed<'m>(Memory<'m>);

impl<'m> Claimed<'m> {
    /// Its length in bytes.
    pub fn bytes(&self) -> usize {
        self.0.bytes
    }

    /// The word at byte `offset`.
    ///
    /// # Panics
    ///
    /// If `offset` is not a multiple of 8 or the word is not inside: call it only to construct endpoints.
    pub fn word(&self, offset: usize) -> &'m AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset < self.0.bytes && self.0.bytes - offset >= 8);
        // SAFETY:
        // - the bytes are there for 'm (the type proves it) and aligned: start to 128, offset to 8 (asserted);
        // - any other code in this process that touches this word got it from this claim: through `word` or `words`,
        //   which access it atomically, or through a function of `Slots`. Where that function does not access it
        //   atomically, its caller proves that nothing races with it.
        unsafe { AtomicU64::from_ptr(self.0.start.as_ptr().add(offset).cast()) }
    }

    /// `count` places for values, `stride` bytes apart, the first at byte `offset`.
    ///
    /// # Panics
    ///
    /// If `offset` or `stride` is not a multiple of 8 or the last place ends outside: call it only to construct
    /// endpoints.
    pub fn slots(&self, offset: usize, stride: usize, count: usize) -> Slots<'m> {
        let end = stride.checked_mul(count).and_then(|all| all.checked_add(offset));
        assert!(offset.is_multiple_of(8) && stride.is_multiple_of(8));
        assert!(end.is_some_and(|end| end <= self.0.bytes));
        // SAFETY: offset is at most the length (asserted).
        Slots { start: unsafe { self.0.start.add(offset) }, stride, count, life: PhantomData }
    }

    /// `count` flags, the first at byte `offset`; they take [`flag_bytes`].
    ///
    /// # Panics
    ///
    /// If `offset` is not a multiple of 8 or the flags end outside: call it only to construct endpoints.
    ///
    /// # Safety
    ///
    /// In this process these bytes are used as flags only: the language does not let atomics of two sizes meet.
    pub unsafe fn flags(&self, offset: usize, count: usize) -> Flags<'m> {
        let end = flag_bytes(count).checked_add(offset);
        assert!(offset.is_multiple_of(8) && end.is_some_and(|end| end <= self.0.bytes));
        // SAFETY: offset is at most the length (asserted).
        Flags { start: unsafe { self.0.start.add(offset) }, count, life: PhantomData }
    }

    /// `count` words, `stride` bytes apart, the first at byte `offset`.
    ///
    /// # Panics
    ///
    /// If `offset` or `stride` is not a multiple of 8 or the last word ends outside: call it only to construct
    /// endpoints.
    pub fn words(&self, offset: usize, stride: usize, count: usize) -> StridedWords<'m> {
        let last = stride.checked_mul(count.saturating_sub(1)).and_then(|all| all.checked_add(offset));
        assert!(offset.is_multiple_of(8) && stride.is_multiple_of(8));
        assert!(last.is_some_and(|last| last <= self.0.bytes && (count == 0 || self.0.bytes - last >= 8)));
        // SAFETY: offset is at most the length (asserted).
        StridedWords { start: unsafe { self.0.start.add(offset) }, stride, count, life: PhantomData }
    }
}

/// Bytes of `count` [`Flags`]; the largest number if that overflows.
pub const fn flag_bytes(count: usize) -> usize {
    match count.checked_next_multiple_of(Flags::BLOCK) {
        Some(bytes) => bytes,
        None => usize::MAX,
    }
}

/// Flags in [`Claimed`] memory, a byte each: one party raises a flag, another claims it. Eight of them, a block, are
/// looked at by one load.
#[derive(Clone, Copy)]
pub struct Flags<'m> {
    start: NonNull<u8>,
    count: usize,
    life: PhantomData<&'m [AtomicU8]>,
}

// SAFETY: it stands for `count` references `&AtomicU8`.
unsafe impl Send for Flags<'_> {}

impl<'m> Flags<'m> {
    /// The number of flags that one load looks at.
    pub const BLOCK: usize = 8;

    /// The number of flags.
    #[inline(always)]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Flag `index`; `None` if `index` is not below the count.
    #[inline(always)]
    pub fn get(&self, index: usize) -> Option<Flag<'m>> {
        // SAFETY: below the count, so the byte is inside what `Claimed::flags` asserted; other code of this process
        // touches it through a `Flag` or `Flags::raised` only (duty of `flags`), whose accesses are atomic.
        (index < self.count).then(|| Flag(unsafe { AtomicU8::from_ptr(self.start.as_ptr().add(index)) }))
    }

    /// Which flags of block `block` are raised, as one relaxed load saw them: byte i, from the least significant on,
    /// is not 0 if flag 8 × `block` + i is. 0 if there is no such block.
    #[inline(always)]
    pub fn raised(&self, block: usize) -> u64 {
        if block >= self.count.div_ceil(Self::BLOCK) {
            return 0;
        }
        // SAFETY: the block is inside what `Claimed::flags` asserted, which are whole blocks from a multiple of 8 on;
        // this process touches its bytes only atomically.
        u64::from_le_bytes(unsafe { racy::load_block(self.start.as_ptr().add(block * Self::BLOCK)) })
    }
}

/// A flag of [`Flags`].
#[derive(Clone, Copy)]
pub struct Flag<'m>(&'m AtomicU8);

impl Flag<'_> {
    /// Raises the flag: a store.
    #[inline(always)]
    pub fn raise(self, order: Ordering) {
        self.0.store(1, order);
    }

    /// Lowers the flag, and returns whether it was raised: an exchange.
    #[inline(always)]
    pub fn claim(self, order: Ordering) -> bool {
        self.0.swap(0, order) != 0
    }
}

/// Equally spaced words in [`Claimed`] memory, usually one for each of several endpoints.
#[derive(Clone, Copy)]
pub struct StridedWords<'m> {
    start: NonNull<u8>,
    stride: usize,
    count: usize,
    life: PhantomData<&'m [AtomicU64]>,
}

// SAFETY: it stands for `count` references `&AtomicU64`.
unsafe impl Send for StridedWords<'_> {}
// SAFETY: as above.
unsafe impl Sync for StridedWords<'_> {}

impl<'m> StridedWords<'m> {
    /// The number of words.
    #[inline(always)]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Word `index`; `None` if `index` is not below the count.
    #[inline(always)]
    pub fn get(&self, index: usize) -> Option<&'m AtomicU64> {
        // SAFETY: below the count.
        (index < self.count).then(|| unsafe { self.at(index) })
    }

    /// Word `index`.
    ///
    /// # Safety
    ///
    /// `index` is below the count.
    #[inline(always)]
    pub unsafe fn at(&self, index: usize) -> &'m AtomicU64 {
        debug_assert!(index < self.count);
        // SAFETY: index < count (caller), so the word is inside what `Claimed::words` asserted, and aligned; the rest
        // as in `Claimed::word`.
        unsafe { AtomicU64::from_ptr(self.start.as_ptr().add(index * self.stride).cast()) }
    }
}

/// Equally spaced places in [`Claimed`] memory, each of which holds one value.
///
/// There are two ways to access a place, and an object uses only one of them. *Exclusive* ([`Slots::read`],
/// [`Slots::write`]): the protocol proves that nobody else touches the place during the access; a plain copy.
/// *Validated* ([`Slots::load`], [`Slots::store`]): reader and writer may access the place at the same time; a copy
/// in relaxed atomic words, which the reader discards unless a check afterwards shows that no writer was there.
#[derive(Clone, Copy)]
pub struct Slots<'m> {
    start: NonNull<u8>,
    stride: usize,
    count: usize,
    life: PhantomData<&'m [AtomicU64]>,
}

// SAFETY: it is an address; every access through it is an unsafe function whose caller proves it free of races.
unsafe impl Send for Slots<'_> {}

impl<'m> Slots<'m> {
    /// Address of place `index`.
    ///
    /// # Safety
    ///
    /// `index` is below the count, and a `T` fits in the stride.
    #[inline(always)]
    unsafe fn at<T>(&self, index: usize) -> *mut u8 {
        debug_assert!(index < self.count && size_of::<T>() <= self.stride && align_of::<T>() <= 8);
        // SAFETY: index < count (caller), so the place is inside what `Claimed::slots` asserted.
        unsafe { self.start.as_ptr().add(index * self.stride) }
    }

    /// Copies the value out of place `index`.
    ///
    /// Every protocol that returns the place ends the access with a Release operation, and has fetched each byte by
    /// then. So a peer that breaks the protocol cannot change what the caller looks at afterwards.
    ///
    /// # Safety
    ///
    /// - `index` is below the count; `T` fits in the stride and is aligned to at most 8.
    /// - Every bit pattern is a `T`.
    /// - Exclusive: no write of this place in this process is concurrent.
    #[inline(always)]
    pub unsafe fn read<T: Copy>(&self, index: usize) -> T {
        // SAFETY: caller's first duty.
        let at = unsafe { self.at::<T>(index) };
        #[cfg(steps)]
        // SAFETY: the place has room for a T, and nobody writes it during the copy (caller).
        return unsafe { crate::steps::copy_out(at) };
        #[cfg(not(steps))]
        // SAFETY:
        // - aligned: start and stride are multiples of 8, T to at most 8;
        // - initialised (memory is zero at first) and valid as any bit pattern is (caller);
        // - no concurrent write (caller).
        unsafe {
            at.cast::<T>().read()
        }
    }

    /// Copies `value` into place `index`.
    ///
    /// # Safety
    ///
    /// - `index` is below the count; `T` fits in the stride and is aligned to at most 8.
    /// - `T` has no padding.
    /// - Exclusive: no other access to this place in this process is concurrent.
    #[inline(always)]
    pub unsafe fn write<T: Copy>(&self, index: usize, value: &T) {
        // SAFETY: caller's first duty.
        let at = unsafe { self.at::<T>(index) };
        #[cfg(steps)]
        // SAFETY: the place has room for a T, and nobody else touches it during the copy (caller).
        unsafe {
            crate::steps::copy_in(at, value);
        }
        #[cfg(not(steps))]
        // SAFETY: there is room for a T; exclusive (caller); a `&T` and shared memory do not overlap.
        unsafe {
            racy::copy(core::ptr::from_ref(value).cast(), at, size_of::<T>());
        }
    }

    /// Copies bytes `part` of place `index` to the same offsets in `value`.
    ///
    /// # Safety
    ///
    /// - `index` is below the count; `part` lies inside of a `T`, begins at a multiple of 8, and a `T` fits in the
    ///   stride.
    /// - Exclusive: no write of this place in this process is concurrent.
    #[inline(always)]
    pub unsafe fn read_part<T>(&self, index: usize, part: Range<usize>, value: &mut MaybeUninit<T>) {
        debug_assert!(part.start.is_multiple_of(8) && part.end <= size_of::<T>());
        // SAFETY: caller's first duty.
        let at = unsafe { self.at::<T>(index) };
        let to = value.as_mut_ptr().cast::<u8>();
        #[cfg(steps)]
        (part.start..part.end).step_by(8).for_each(|_| crate::steps::payload());
        // SAFETY: inside of both (caller); no concurrent write (caller); private and shared memory do not overlap.
        unsafe { racy::copy(at.add(part.start), to.add(part.start), part.len()) };
    }

    /// Copies the first `bytes` bytes of `value` into place `index`.
    ///
    /// # Safety
    ///
    /// - `index` is below the count; `T` fits in the stride; `bytes` is at most its size, and the first `bytes` bytes
    ///   of `value` are initialised.
    /// - Exclusive: no other access to this place in this process is concurrent.
    #[inline(always)]
    pub unsafe fn write_first<T>(&self, index: usize, value: &T, bytes: usize) {
        debug_assert!(bytes <= size_of::<T>());
        // SAFETY: caller's first duty.
        let at = unsafe { self.at::<T>(index) };
        #[cfg(steps)]
        (0..bytes).step_by(8).for_each(|_| crate::steps::payload());
        // SAFETY: inside of both (caller); exclusive (caller); a `&T` and shared memory do not overlap.
        unsafe { racy::copy(core::ptr::from_ref(value).cast(), at, bytes) };
    }

    /// Lends place `index` for reading, in place.
    ///
    /// # Safety
    ///
    /// As for [`Slots::read`], for as long as `look` runs. During that time no other process writes the place either.
    #[inline(always)]
    pub unsafe fn lend<T, R>(&self, index: usize, look: impl FnOnce(&T) -> R) -> R {
        #[cfg(steps)]
        (0..size_of::<T>()).step_by(8).for_each(|_| crate::steps::payload());
        // SAFETY: aligned, initialised, any bit pattern is a T, and nobody writes it (caller).
        look(unsafe { &*self.at::<T>(index).cast::<T>() })
    }

    /// Lends place `index` for writing, in place: at first it holds an older value, or zeros.
    ///
    /// # Safety
    ///
    /// As for [`Slots::write`], for as long as `fill` runs, and every bit pattern is a `T`. During that time no other
    /// process touches the place either.
    #[inline(always)]
    pub unsafe fn lend_mut<T, R>(&self, index: usize, fill: impl FnOnce(&mut T) -> R) -> R {
        #[cfg(steps)]
        (0..size_of::<T>()).step_by(8).for_each(|_| crate::steps::payload());
        // SAFETY: aligned, initialised, any bit pattern is a T, and nobody else touches it (caller).
        fill(unsafe { &mut *self.at::<T>(index).cast::<T>() })
    }

    /// Lends `count` places from `index` on for reading, in place.
    ///
    /// # Safety
    ///
    /// As for [`Slots::read`] for each of them, for as long as the result lives. During that time no other process
    /// writes them either.
    #[inline(always)]
    pub unsafe fn lend_run<T: Copy>(&self, index: usize, count: usize) -> Lent<'m, T> {
        debug_assert!(index + count <= self.count && size_of::<T>() <= self.stride && align_of::<T>() <= 8);
        #[cfg(steps)]
        (0..count * size_of::<T>().div_ceil(8)).for_each(|_| crate::steps::payload());
        // SAFETY: the places are inside of what `Claimed::slots` asserted, aligned, initialised, any bit pattern is a
        // T, and nobody writes them (caller).
        unsafe { Lent::new(self.start.add(index * self.stride), self.stride, count) }
    }

    /// Lends `count` places from `index` on for writing, in place: at first they hold older values, or zeros.
    ///
    /// # Safety
    ///
    /// As for [`Slots::write`] for each of them, for as long as the result lives, and every bit pattern is a `T`.
    /// During that time no other process touches them either.
    #[inline(always)]
    pub unsafe fn lend_run_mut<T: Copy>(&self, index: usize, count: usize) -> LentMut<'m, T> {
        debug_assert!(index + count <= self.count && size_of::<T>() <= self.stride && align_of::<T>() <= 8);
        #[cfg(steps)]
        (0..count * size_of::<T>().div_ceil(8)).for_each(|_| crate::steps::payload());
        // SAFETY: as in `lend_run`, and nobody else touches them (caller).
        unsafe { LentMut::new(self.start.add(index * self.stride), self.stride, count) }
    }

    /// Copies the values out of the places from `index` on, one place per element of `values`.
    ///
    /// # Safety
    ///
    /// As for [`Slots::read`] for each of these places.
    #[inline(always)]
    pub unsafe fn read_run<T: Copy>(&self, index: usize, values: &mut [T]) {
        debug_assert!(index + values.len() <= self.count);
        #[cfg(not(steps))]
        if self.stride == size_of::<T>() {
            // SAFETY: as in `read`, without space between the places; private and shared memory do not overlap.
            return unsafe {
                let from = self.start.as_ptr().add(index * self.stride);
                racy::copy(from, values.as_mut_ptr().cast(), size_of_val(values));
            };
        }
        for (i, value) in values.iter_mut().enumerate() {
            // SAFETY: the caller's duties; every byte is written, and any bytes are a T.
            unsafe { self.read_part(index + i, 0..size_of::<T>(), uninit(value)) };
        }
    }

    /// Copies `values` into the places from `index` on, one place per element.
    ///
    /// # Safety
    ///
    /// As for [`Slots::write`] for each of these places.
    #[inline(always)]
    pub unsafe fn write_run<T: Copy>(&self, index: usize, values: &[T]) {
        debug_assert!(index + values.len() <= self.count);
        #[cfg(not(steps))]
        if self.stride == size_of::<T>() {
            // SAFETY: as in `write`, without space between the places; private and shared memory do not overlap.
            return unsafe {
                let to = self.start.as_ptr().add(index * self.stride);
                racy::copy(values.as_ptr().cast(), to, size_of_val(values));
            };
        }
        for (i, value) in values.iter().enumerate() {
            // SAFETY: the caller's duties.
            unsafe { self.write(index + i, value) };
        }
    }

    /// Copies the places from `index` on into `values`, as [`Slots::load`] does: the values may be torn.
    ///
    /// # Safety
    ///
    /// As for [`Slots::load`] for each of these places; every bit pattern is a `T`.
    #[inline(always)]
    pub unsafe fn load_run<T: Copy>(&self, index: usize, values: &mut [T]) {
        debug_assert!(index + values.len() <= self.count);
        if self.stride == size_of::<T>() {
            // SAFETY: as in `load_part`, without space between the places; `values` is private and has room.
            return unsafe {
                let from = self.start.as_ptr().add(index * self.stride);
                racy::load(from, values.as_mut_ptr().cast(), size_of_val(values));
            };
        }
        for (i, value) in values.iter_mut().enumerate() {
            // SAFETY: the caller's duties; every byte is written, and every bit pattern is a T.
            unsafe { self.load_part(index + i, 0..size_of::<T>(), uninit(value)) };
        }
    }

    /// Lends place `index` for reading, in place, for as long as the caller keeps the result.
    ///
    /// # Safety
    ///
    /// As for [`Slots::lend`], until the result is dropped.
    #[inline(always)]
    pub unsafe fn lend_place<T: Copy>(&self, index: usize) -> LentPlace<'m, T> {
        // SAFETY: inside of the memory, so not null (caller).
        let at = unsafe { NonNull::new_unchecked(self.at::<T>(index)) };
        LentPlace { at: at.cast(), life: PhantomData }
    }

    /// Lends place `index` for writing, in place, for as long as the caller keeps the result.
    ///
    /// # Safety
    ///
    /// As for [`Slots::lend_mut`], until the result is dropped.
    #[inline(always)]
    pub unsafe fn lend_place_mut<T: Copy>(&self, index: usize) -> LentPlaceMut<'m, T> {
        // SAFETY: inside of the memory, so not null (caller).
        let at = unsafe { NonNull::new_unchecked(self.at::<T>(index)) };
        LentPlaceMut { at: at.cast(), life: PhantomData }
    }

    /// Copies place `index` as `racy.rs` describes: the result may be torn, and is a `T` only after the protocol's
    /// check.
    ///
    /// # Safety
    ///
    /// - `index` is below the count; `T` fits in the stride.
    /// - In this process only [`Slots::store`] writes the place.
    #[inline(always)]
    pub unsafe fn load<T: Copy>(&self, index: usize) -> MaybeUninit<T> {
        let mut value = MaybeUninit::uninit();
        // SAFETY: the caller's duties; the range is all of a T.
        unsafe { self.load_part::<T>(index, 0..size_of::<T>(), &mut value) };
        value
    }

    /// Copies bytes `part` of place `index` to the same offsets in `value`, as [`Slots::load`] does.
    ///
    /// # Safety
    ///
    /// As for [`Slots::load`]; `part` lies inside of a `T` and begins at a multiple of 8.
    #[inline(always)]
    pub unsafe fn load_part<T>(&self, index: usize, part: Range<usize>, value: &mut MaybeUninit<T>) {
        debug_assert!(part.start.is_multiple_of(8) && part.end <= size_of::<T>());
        // SAFETY: caller's first duty.
        let at = unsafe { self.at::<T>(index) };
        let to = value.as_mut_ptr().cast::<u8>();
        // SAFETY:
        // - places are multiples of 8 bytes, from an aligned start (`Memory::slots`), so the last word is inside too;
        // - only atomic accesses write it (caller); `value` is private and has room.
        unsafe { racy::load(at.add(part.start), to.add(part.start), part.len()) };
    }

    /// Copies `value` into place `index` as `racy.rs` describes.
    ///
    /// # Safety
    ///
    /// - `index` is below the count; `T` fits in the stride and has no padding.
    /// - In this process only [`Slots::store`] and [`Slots::load`] touch the place.
    #[inline(always)]
    pub unsafe fn store<T: Copy>(&self, index: usize, value: &T) {
        // SAFETY: the caller's duties; the range is all of a T.
        unsafe { self.store_first(index, value, size_of::<T>()) };
    }

    /// Copies the first `bytes` bytes of `value` into place `index`, as [`Slots::store`] does.
    ///
    /// # Safety
    ///
    /// As for [`Slots::store`]; `bytes` is at most the size, and the first `bytes` bytes of `value` are initialised.
    #[inline(always)]
    pub unsafe fn store_first<T>(&self, index: usize, value: &T, bytes: usize) {
        debug_assert!(bytes <= size_of::<T>());
        // SAFETY: caller's first duty.
        let at = unsafe { self.at::<T>(index) };
        // SAFETY: as in `load_part`, and `value` has the bytes (caller).
        unsafe { racy::store(core::ptr::from_ref(value).cast(), at, bytes) };
    }
}

/// `value` as a place to copy into.
fn uninit<T>(value: &mut T) -> &mut MaybeUninit<T> {
    // SAFETY: the same layout. Through a `MaybeUninit` a callee could make bytes uninitialised; the callees here only
    // write initialised ones.
    unsafe { &mut *core::ptr::from_mut(value).cast::<MaybeUninit<T>>() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_zero_and_aligned_and_splits() {
        let mut lines = [const { Line::new() }; 4];
        lines[3].0[5] = 1;
        let memory = Memory::new(&mut lines);
        assert_eq!(memory.bytes(), 512);
        let (first, rest) = memory.split(129).unwrap();
        assert_eq!((first.bytes(), rest.bytes()), (256, 256));
        assert_eq!(rest.start.addr().get() - first.start.addr().get(), 256);
        assert_eq!(first.start.addr().get() % LINE_BYTES, 0);
        let (middle, rest) = rest.split(128).unwrap();
        // SAFETY: inside, and nobody else accesses it.
        assert_eq!(unsafe { rest.claim().slots(0, 128, 1).read::<[u8; 128]>(0) }, [0; 128]);
        assert!(middle.split(129).is_none());
        assert!(first.split(usize::MAX).is_none());
    }

    #[test]
    fn flags_are_raised_and_claimed_one_by_one() {
        let mut lines = [const { Line::new() }; 1];
        let memory = Memory::new(&mut lines).claim();
        // SAFETY: the bytes from 8 on are used as flags only.
        let flags = unsafe { memory.flags(8, 13) };
        assert_eq!((flags.count(), flag_bytes(13), flag_bytes(0)), (13, 16, 0));
        for (index, block) in (0..13).map(|index| (index, index / 8)) {
            let flag = flags.get(index).unwrap();
            assert!(!flag.claim(crate::Ordering::Relaxed));
            flag.raise(crate::Ordering::Relaxed);
            assert_eq!(flags.raised(block), 1 << (8 * (index % 8)));
            assert_eq!((flags.raised(1 - block), flags.raised(2), flags.raised(usize::MAX)), (0, 0, 0));
            assert!(flag.claim(crate::Ordering::Relaxed));
            assert_eq!(flags.raised(block), 0);
        }
        assert!(flags.get(13).is_none());
        flags.get(0).unwrap().raise(crate::Ordering::Relaxed);
        flags.get(7).unwrap().raise(crate::Ordering::Relaxed);
        assert_eq!(flags.raised(0), 1 << 56 | 1);
        assert_eq!(memory.word(0).load(crate::Ordering::Relaxed), 0, "nothing before them");
    }

    #[test]
    fn flags_that_do_not_fit_are_refused() {
        for (offset, count) in [(0, 129), (8, 121), (4, 1), (128, 1), (0, usize::MAX), (usize::MAX - 7, 8)] {
            let refused = std::panic::catch_unwind(|| {
                let mut lines = [const { Line::new() }; 1];
                // SAFETY: nothing else is used.
                unsafe { Memory::new(&mut lines).claim().flags(offset, count) }.count()
            });
            assert!(refused.is_err(), "{offset} {count}");
        }
        assert_eq!(flag_bytes(usize::MAX), usize::MAX);
    }

    #[test]
    fn words_are_apart_and_counted() {
        let mut lines = [const { Line::new() }; 3];
        let memory = Memory::new(&mut lines).claim();
        let words = memory.words(8, 128, 2);
        words.get(1).unwrap().store(7, crate::Ordering::Relaxed);
        assert_eq!(memory.word(136).load(crate::Ordering::Relaxed), 7);
        assert!(words.get(0).is_some() && words.get(2).is_none());
        memory.words(376, 128, 1);
    }

    #[test]
    fn both_ways_copy_every_byte() {
        fn check<const N: usize>() {
            let mut lines = [const { Line::new() }; 65];
            let memory = Memory::new(&mut lines).claim();
            let stride = N.next_multiple_of(8);
            let slots = memory.slots(8, stride, 2);
            let value: [u8; N] = core::array::from_fn(|i| (i % 251 + 1) as u8);
            // SAFETY: inside, one thread.
            unsafe {
                slots.write(1, &value);
                assert_eq!(slots.read::<[u8; N]>(1), value);
                assert_eq!(slots.load::<[u8; N]>(1).assume_init(), value);
                assert_eq!(slots.read::<[u8; N]>(0), [0; N]);
                slots.store(0, &value);
                assert_eq!(slots.read::<[u8; N]>(0), value);
                assert_eq!(slots.load::<[u8; N]>(0).assume_init(), value);
            }
        }
        check::<0>();
        check::<1>();
        check::<7>();
        check::<8>();
        check::<9>();
        check::<24>();
        check::<117>();
        check::<127>();
        check::<128>();
        check::<129>();
        check::<136>();
        check::<143>();
        check::<144>();
        check::<513>();
        check::<1031>();
        check::<4095>();
        check::<4096>();
    }

    #[test]
    fn copies_are_whole_wherever_the_value_lies() {
        let mut lines = [const { Line::new() }; 70];
        let slot = lines.as_ptr().addr();
        let slots = Memory::new(&mut lines).claim().slots(0, 8192, 1);
        let mut buffer = [0u8; 8192];
        // The distance between the value's offset within its page and the slot's decides how the value is copied.
        let same = slot.wrapping_sub(buffer.as_ptr().addr()) & 0xFFF;
        for ahead in (0..80).step_by(if cfg!(miri) { 9 } else { 1 }) {
            let value: [u8; 1031] = core::array::from_fn(|i| (i * 7 + ahead) as u8);
            let place = &mut buffer[same + ahead..same + ahead + 1031];
            // SAFETY: inside, one thread; any bytes are an array of bytes.
            unsafe {
                slots.store(0, &value);
                let mut copy = core::mem::MaybeUninit::<[u8; 1031]>::uninit();
                slots.load_part(0, 0..1031, &mut copy);
                assert_eq!(copy.assume_init(), value);
                let there = &mut *place.as_mut_ptr().cast::<core::mem::MaybeUninit<[u8; 1031]>>();
                slots.load_part(0, 0..1031, there);
            }
            assert_eq!(place, value);
        }
    }

    #[test]
    fn runs_are_their_places_with_space_between_and_without() {
        fn check<const N: usize>(stride: usize) {
            let mut lines = [const { Line::new() }; 20];
            let slots = Memory::new(&mut lines).claim().slots(8, stride, 5);
            let values: [[u8; N]; 3] = core::array::from_fn(|n| core::array::from_fn(|i| (n * 31 + i) as u8));
            let mut copy = [[0; N]; 3];
            // SAFETY: inside, one thread, one loan at a time.
            unsafe {
                slots.write_run(1, &values);
                slots.read_run(1, &mut copy);
                assert_eq!(copy, values);
                assert_eq!(slots.read::<[u8; N]>(2), values[1]);
                assert_eq!((slots.read::<[u8; N]>(0), slots.read::<[u8; N]>(4)), ([0; N], [0; N]));
                let mut lent = slots.lend_run_mut::<[u8; N]>(0, 3);
                assert_eq!((lent.count(), lent.iter_mut().len()), (3, 3));
                lent.iter_mut().zip(&values).for_each(|(place, value)| *place = *value);
                assert_eq!(lent.as_mut_slice().is_some(), stride == N);
                if let Some(slice) = lent.as_mut_slice() {
                    slice.reverse();
                    slice.reverse();
                }
                lent.end();
                let lent = slots.lend_run::<[u8; N]>(0, 3);
                assert!(lent.count() == 3 && lent.iter().eq(&values));
                assert_eq!(lent.as_slice(), (stride == N).then_some(&values[..]));
            }
        }
        check::<0>(0);
        check::<8>(8);
        check::<8>(16);
        check::<7>(8);
        check::<64>(64);
        check::<65>(128);
    }

    #[test]
    fn a_validated_run_is_its_places() {
        fn check<const N: usize>(stride: usize) {
            let mut lines = [const { Line::new() }; 20];
            let slots = Memory::new(&mut lines).claim().slots(8, stride, 5);
            let values: [[u8; N]; 3] = core::array::from_fn(|n| core::array::from_fn(|i| (n * 31 + i) as u8));
            let mut copy = [[0; N]; 3];
            // SAFETY: inside, one thread.
            unsafe {
                values.iter().enumerate().for_each(|(i, value)| slots.store(i + 2, value));
                slots.load_run(2, &mut copy);
            }
            assert_eq!(copy, values);
        }
        check::<8>(8);
        check::<7>(8);
        check::<256>(256);
        check::<65>(128);
    }

    #[test]
    fn a_lent_value_lies_in_the_memory() {
        let mut lines = [const { Line::new() }; 2];
        let slots = Memory::new(&mut lines).claim().slots(128, 64, 2);
        // SAFETY: inside, one thread, one at a time.
        unsafe {
            slots.lend_place_mut::<[u8; 64]>(1)[5] = 7;
            assert_eq!((slots.lend_place::<[u8; 64]>(1)[5], slots.lend_place::<[u8; 64]>(0)[5]), (7, 0));
        }
        assert_eq!(lines[1].0[64 + 5], 7);
    }

    #[test]
    #[should_panic(expected = "assertion failed")]
    fn a_word_outside_is_refused() {
        let mut lines = [const { Line::new() }; 1];
        Memory::new(&mut lines).claim().word(128);
    }

    #[test]
    fn words_are_the_words() {
        let mut lines = [const { Line::new() }; 3];
        let memory = Memory::new(&mut lines).claim();
        let words = memory.words(8, LINE_BYTES, 3);
        assert_eq!((words.count(), memory.words(384, 8, 0).count()), (3, 0));
        for index in 0..3 {
            // SAFETY: below the count.
            unsafe { words.at(index) }.store(7 + index as u64, crate::Ordering::Relaxed);
            let one = memory.word(8 + index * LINE_BYTES).load(crate::Ordering::Relaxed);
            assert_eq!(one, 7 + index as u64);
        }
    }

    #[test]
    #[should_panic(expected = "assertion failed")]
    fn words_outside_are_refused() {
        let mut lines = [const { Line::new() }; 1];
        Memory::new(&mut lines).claim().words(8, 64, 3);
    }

    #[test]
    #[should_panic(expected = "assertion failed")]
    fn slots_outside_are_refused() {
        let mut lines = [const { Line::new() }; 1];
        Memory::new(&mut lines).claim().slots(8, 8, 16);
    }
}
