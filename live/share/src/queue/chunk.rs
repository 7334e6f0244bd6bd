// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Several slots of a [`qrtr`](super::qrtr) at once, in place.

use taut_atomic::{Lent, LentMut};

use super::qrtr::{Reader, Writer};
use crate::Plain;
use crate::plain::slot_bytes;

/// Free slots of a queue, for the writer to fill. They hold older values, or zeros. A value that is not committed is
/// not pushed.
///
/// ```
/// use taut_share::{Line, Memory, queue::qrtr};
///
/// let mut lines = [const { Line::new() }; 3];
/// let (mut writer, mut reader) = qrtr::pair::<u64>(Memory::new(&mut lines), 4)?;
/// let mut chunk = writer.write_chunk(3);
/// for (slot, value) in chunk.iter_mut().zip(7..) {
///     *slot = value;
/// }
/// assert_eq!(chunk.commit_all(), 3);
/// let chunk = reader.read_chunk(9).expect("sane");
/// assert_eq!(chunk.as_slices(), (&[7, 8, 9][..], &[][..]));
/// assert_eq!(chunk.commit(2), 2);
/// assert_eq!(reader.pop(), Ok(Some(9)));
/// # Ok::<(), taut_share::LayoutError>(())
/// ```
pub struct WriteChunk<'w, 'm, T: Plain> {
    writer: &'w mut Writer<'m, T>,
    first: LentMut<'m, T>,
    second: LentMut<'m, T>,
}

impl<'w, 'm, T: Plain> WriteChunk<'w, 'm, T> {
    pub(super) fn new(writer: &'w mut Writer<'m, T>, first: LentMut<'m, T>, second: LentMut<'m, T>) -> Self {
        Self { writer, first, second }
    }

    /// Number of slots in it.
    #[inline]
    pub fn len(&self) -> usize {
        self.first.count() + self.second.count()
    }

    /// Whether it has none: the queue was full, or the caller asked for none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The slots, in order.
    #[inline]
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut T> {
        self.first.iter_mut().chain(self.second.iter_mut())
    }

    /// The slots, in order, as two slices; the second is empty unless the slots wrap around the end of the ring.
    ///
    /// Only for types whose values are contiguous: their size is a multiple of 64 bytes, or below 64 bytes a multiple
    /// of 8. It does not compile for other types; use [`WriteChunk::iter_mut`] for those.
    #[inline]
    pub fn as_mut_slices(&mut self) -> (&mut [T], &mut [T]) {
        side_by_side::<T>();
        (self.first.as_mut_slice().unwrap_or_default(), self.second.as_mut_slice().unwrap_or_default())
    }

    /// Pushes the first `count` values, at most all, and returns how many. 1 store; no store if there are none.
    #[inline]
    pub fn commit(self, count: usize) -> usize {
        let count = count.min(self.len());
        self.first.end();
        self.second.end();
        if count > 0 {
            self.writer.publish(count);
        }
        count
    }

    /// Pushes all values, and returns how many.
    #[inline]
    pub fn commit_all(self) -> usize {
        self.commit(usize::MAX)
    }
}

/// The oldest values of a queue, for the reader to look at. A value that is not committed stays in the queue, still
/// the oldest.
///
/// They come as slices only for types whose values are contiguous:
///
/// ```compile_fail,E0080
/// # use taut_share::{Line, Memory, queue::qrtr};
/// let mut lines = [const { Line::new() }; 3];
/// let (_writer, mut reader) = qrtr::pair::<u32>(Memory::new(&mut lines), 4).unwrap();
/// let chunk = reader.read_chunk(4).unwrap();
/// chunk.as_slices();
/// ```
pub struct ReadChunk<'r, 'm, T: Plain> {
    reader: &'r mut Reader<'m, T>,
    first: Lent<'m, T>,
    second: Lent<'m, T>,
}

impl<'r, 'm, T: Plain> ReadChunk<'r, 'm, T> {
    pub(super) fn new(reader: &'r mut Reader<'m, T>, first: Lent<'m, T>, second: Lent<'m, T>) -> Self {
        Self { reader, first, second }
    }

    /// Number of values in it.
    #[inline]
    pub fn len(&self) -> usize {
        self.first.count() + self.second.count()
    }

    /// Whether it has none: no value waited, or the caller asked for none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values, the oldest first.
    #[inline]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.first.iter().chain(self.second.iter())
    }

    /// The values, the oldest first, as two slices; the second is empty unless the values wrap around the end of the
    /// ring.
    ///
    /// Only for types whose values are contiguous: their size is a multiple of 64 bytes, or below 64 bytes a multiple
    /// of 8. It does not compile for other types; use [`ReadChunk::iter`] for those.
    #[inline]
    pub fn as_slices(&self) -> (&[T], &[T]) {
        side_by_side::<T>();
        (self.first.as_slice().unwrap_or_default(), self.second.as_slice().unwrap_or_default())
    }

    /// Takes the first `count` values, at most all, and returns how many. 1 store; no store if there are none.
    #[inline]
    pub fn commit(self, count: usize) -> usize {
        let count = count.min(self.len());
        if count > 0 {
            self.reader.hand_back(count);
        }
        count
    }

    /// Takes all values, and returns how many.
    #[inline]
    pub fn commit_all(self) -> usize {
        self.commit(usize::MAX)
    }
}

const fn side_by_side<T: Plain>() {
    const { assert!(slot_bytes::<T>() == size_of::<T>(), "there is space between values of this size") };
}
