// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use core::fmt;
use core::mem::{MaybeUninit, offset_of};
use core::ops::Deref;

use crate::{Layout, Plain, Words};

/// Up to `N` items of one type: a payload of varying length. A copy copies only the items that are there.
///
/// An object for `List<u8, 1500>` has room for 1 500 bytes in every slot, and a frame of 60 bytes costs a copy of 68.
///
/// ```
/// use taut_share::{Line, List, Memory, queue::qrtr};
///
/// let mut lines = [const { Line::new() }; 30];
/// let (mut writer, mut reader) = qrtr::pair::<List<u8, 1500>>(Memory::new(&mut lines), 2)?;
/// writer.push(List::of(b"hello").expect("short enough")).expect("room");
/// assert_eq!(&*reader.pop().expect("sane").expect("one"), b"hello");
/// # Ok::<(), taut_share::LayoutError>(())
/// ```
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub struct List<T: Plain, const N: usize> {
    /// Number of items. In a list out of shared memory it may be any number: only [`List::len`] reads it.
    count: u64,
    items: [MaybeUninit<T>; N],
}

// SAFETY:
// - any word is a count, since `len` bounds it, and any bits of an item are an item (T is Plain) or unused;
// - the first `used` bytes are the count, without padding up to the items (T is aligned to at most 8: asserted), and
//   items that were written completely; a T that varies itself is refused (asserted);
// - the first word is the count.
unsafe impl<T: Plain, const N: usize> Plain for List<T, N> {
    const VARYING: bool = {
        assert!(!T::VARYING && align_of::<T>() <= 8);
        true
    };

    #[inline(always)]
    fn used(&self) -> usize {
        Self::used_by(self.count)
    }

    #[inline(always)]
    fn used_by(head: u64) -> usize {
        offset_of!(Self, items) + Self::bounded(head) * size_of::<T>()
    }
}

impl<T: Plain + Layout, const N: usize> Layout for List<T, N> {
    const WORDS: Words = Words::List(&T::WORDS, N);
}

impl<T: Plain, const N: usize> List<T, N> {
    /// A list without items.
    #[inline]
    pub const fn new() -> Self {
        Self { count: 0, items: [MaybeUninit::uninit(); N] }
    }

    /// A copy of `items`; `None` if there are more than `N`.
    #[inline]
    pub fn of(items: &[T]) -> Option<Self> {
        let mut list = Self::new();
        list.extend(items).then_some(list)
    }

    #[inline(always)]
    fn bounded(count: u64) -> usize {
        usize::try_from(count).unwrap_or(N).min(N)
    }

    /// Number of items.
    #[inline]
    pub fn len(&self) -> usize {
        Self::bounded(self.count)
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all items.
    #[inline]
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// Appends `item`.
    ///
    /// # Errors
    ///
    /// The item, if the list has `N` items.
    #[inline]
    pub fn push(&mut self, item: T) -> Result<(), T> {
        let at = self.len();
        let Some(place) = self.items.get_mut(at) else { return Err(item) };
        place.write(item);
        self.count = at as u64 + 1;
        Ok(())
    }

    /// Appends a copy of `items`, and returns true. If they do not all fit, appends nothing, and returns false.
    #[inline]
    pub fn extend(&mut self, items: &[T]) -> bool {
        let at = self.len();
        if items.len() > N - at {
            return false;
        }
        // SAFETY: `at + items.len()` is at most N; a `&[T]` and our own items do not overlap.
        unsafe {
            let to = self.items.as_mut_ptr().add(at).cast::<T>();
            core::ptr::copy_nonoverlapping(items.as_ptr(), to, items.len());
        }
        self.count = (at + items.len()) as u64;
        true
    }

    /// The items.
    #[inline]
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: the first `len` items were written by `push` and `extend`, or copied out of shared memory, which is
        // initialised; any bits are a T.
        unsafe { core::slice::from_raw_parts(self.items.as_ptr().cast(), self.len()) }
    }

    /// The items, for the caller to change.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: as in `as_slice`; borrowed mutably.
        unsafe { core::slice::from_raw_parts_mut(self.items.as_mut_ptr().cast(), self.len()) }
    }
}

impl<T: Plain, const N: usize> Default for List<T, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Plain, const N: usize> Deref for List<T, N> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.as_slice()
    }
}

impl<T: Plain + fmt::Debug, const N: usize> fmt::Debug for List<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

impl<T: Plain + PartialEq, const N: usize> PartialEq for List<T, N> {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl<T: Plain + Eq, const N: usize> Eq for List<T, N> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_up_to_its_capacity() {
        let mut list = List::<u16, 3>::new();
        assert!(list.is_empty() && list.extend(&[1, 2]) && !list.extend(&[3, 4]));
        assert_eq!((list.push(3), list.push(4), &*list), (Ok(()), Err(4), &[1, 2, 3][..]));
        list.as_mut_slice()[0] = 9;
        assert_eq!((Some(list), list.used()), (List::of(&[9, 2, 3]), 14));
        list.clear();
        assert_eq!((list, list.used()), (List::new(), 8));
        assert_eq!(List::<u16, 3>::of(&[0; 4]), None);
    }

    #[test]
    fn a_count_that_lies_is_bounded() {
        for count in [4, u64::MAX] {
            let list = List::<u16, 3> { count, items: [MaybeUninit::new(7); 3] };
            assert_eq!((list.len(), &*list, list.used()), (3, &[7, 7, 7][..], 14));
        }
    }
}
