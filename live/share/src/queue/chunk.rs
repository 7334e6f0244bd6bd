// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Several places of a [`qrtr`](super::qrtr) at once, where they lie.

use taut_atomic::{Lent, LentMut};

use super::qrtr::{Reader, Writer};
use crate::Plain;
use crate::plain::slot_bytes;

/// Free slots of a queue, for the writer to fill: older values stand in them, or zeros. What is filled and not
/// committed was never there.
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

    /// Slots in it.
    #[inline]
    pub fn len(&self) -> usize {
        self.first.count() + self.second.count()
    }

    /// Whether there is none: the queue was full, or none was wanted.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The slots, in order.
    #[inline]
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut T> {
        self.first.iter_mut().chain(self.second.iter_mut())
    }

    /// The slots, in order, as two slices, of which the second is empty unless they go round the end of the queue.
    ///
    /// Only for types whose values stand without space in between, which are those of a multiple of 64 bytes, and
    /// those below that of a multiple of 8; with others it does not compile, and [`WriteChunk::iter_mut`] does.
    #[inline]
    pub fn as_mut_slices(&mut self) -> (&mut [T], &mut [T]) {
        side_by_side::<T>();
        (self.first.as_mut_slice().unwrap_or_default(), self.second.as_mut_slice().unwrap_or_default())
    }

    /// Pushes the first `count`, at most all: how many. 1 store, or none for none.
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

    /// Pushes all: how many.
    #[inline]
    pub fn commit_all(self) -> usize {
        self.commit(usize::MAX)
    }
}

/// The oldest values of a queue, for the reader to look at. What is not committed stays, and is the oldest still.
///
/// Slices of them are there only for types whose values stand without space in between:
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

    /// Values in it.
    #[inline]
    pub fn len(&self) -> usize {
        self.first.count() + self.second.count()
    }

    /// Whether there is none: none waited, or none was wanted.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values, the oldest first.
    #[inline]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.first.iter().chain(self.second.iter())
    }

    /// The values, the oldest first, as two slices, of which the second is empty unless they go round the end of the
    /// queue.
    ///
    /// Only for types whose values stand without space in between, which are those of a multiple of 64 bytes, and
    /// those below that of a multiple of 8; with others it does not compile, and [`ReadChunk::iter`] does.
    #[inline]
    pub fn as_slices(&self) -> (&[T], &[T]) {
        side_by_side::<T>();
        (self.first.as_slice().unwrap_or_default(), self.second.as_slice().unwrap_or_default())
    }

    /// Takes the first `count`, at most all: how many. 1 store, or none for none.
    #[inline]
    pub fn commit(self, count: usize) -> usize {
        let count = count.min(self.len());
        if count > 0 {
            self.reader.hand_back(count);
        }
        count
    }

    /// Takes all: how many.
    #[inline]
    pub fn commit_all(self) -> usize {
        self.commit(usize::MAX)
    }
}

const fn side_by_side<T: Plain>() {
    const { assert!(slot_bytes::<T>() == size_of::<T>(), "there is space between values of this size") };
}
