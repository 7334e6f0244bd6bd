// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a trial sees of an object, ours or another's: two ends, and one operation on each.
//!
//! Values are `[u64; N]`. An adapter decides nothing: it only names the object's operations.

use taut_share::Memory;

/// The words of a value in trials: 8, 64, 256 and 4096 bytes.
pub(crate) const WORDS: [usize; 4] = [1, 8, 32, 512];

/// What an object is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Every value, in order; a full queue refuses a value.
    Queue,
    /// Values in order; older values make room for newer ones.
    Losing,
    /// The newest value.
    State,
}

impl Kind {
    /// The name in tables.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Losing => "losing queue",
            Self::State => "state",
        }
    }

    /// Whether the reader takes values out one by one.
    pub(crate) fn is_queue(self) -> bool {
        self != Self::State
    }
}

/// The number of values of `words` words that a queue holds.
pub(crate) const fn capacity(words: usize) -> usize {
    if words >= 512 { 64 } else { 256 }
}

/// Facts about an object.
pub(crate) trait About: 'static {
    /// Its name in tables and on the command line.
    const NAME: &'static str;
    /// What it is for.
    const KIND: Kind;
    /// Cache lines that move between processors in an operation when the other side is busy: for the writer, for a
    /// reader. L: lines of the value; posted: the operation does not wait for it. By the protocol; see the times for
    /// the effect.
    const LINES: [&'static str; 2];
    /// Whether its reader has an operation that takes several values at once.
    const SLICES: bool = false;
}

/// The ends of an object for values of `N` words.
pub(crate) trait Ends<const N: usize>: About {
    /// The end that writes or pushes.
    type Writer: Send;
    /// The end that reads or pops.
    type Reader: Send;

    /// Tries once to write. Returns whether it did.
    fn put(writer: &mut Self::Writer, value: &[u64; N]) -> bool;

    /// Tries once to read the newest value or to take the oldest. Returns the result of `look`.
    fn take<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R>;

    /// Takes the waiting values, several at once if the object has [`About::SLICES`]. Returns their number.
    fn drain<R>(reader: &mut Self::Reader, look: impl FnMut(&[u64; N]) -> R) -> u64 {
        u64::from(Self::take(reader, look).is_some())
    }

    /// [`Ends::take`] if there is a newer value than this reader has seen, where the object can tell.
    fn newer<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        Self::take(reader, look)
    }
}

/// An object within one process.
pub(crate) trait Alone<const N: usize>: Ends<N> {
    /// Makes an object, and returns both ends.
    fn pair() -> Result<(Self::Writer, Self::Reader), String>;
}

/// The place of an object that several processes can reach.
pub(crate) struct Place<'a> {
    /// Memory of the size that the object asked for, zero at first.
    pub(crate) memory: Memory<'static>,
    /// The number of ends that read.
    pub(crate) readers: u32,
    /// A name that no other object has, for objects that do not live on the memory.
    #[cfg_attr(not(feature = "iceoryx2"), expect(dead_code, reason = "those are left out of this build"))]
    pub(crate) name: &'a str,
}

/// An object that several processes can reach.
pub(crate) trait Placed<const N: usize>: Ends<N> {
    /// Whether there may be more than one reader.
    const MANY: bool;

    /// The bytes of memory that it needs.
    fn bytes(readers: u32) -> usize;

    /// The end that writes.
    ///
    /// # Safety
    ///
    /// The memory is zero or holds such an object; there is no other writer; the caller drops the end before the
    /// memory.
    unsafe fn writer(place: Place<'_>) -> Result<Self::Writer, String>;

    /// Reader number `which`.
    ///
    /// # Safety
    ///
    /// The memory is zero or holds such an object; there is no other reader of that number; the caller drops the end
    /// before the memory.
    unsafe fn reader(place: Place<'_>, which: u32) -> Result<Self::Reader, String>;
}

/// Fills a value so that a mixture of two is detected: the first word is its number.
pub(crate) fn mark<const N: usize>(value: &mut [u64; N], number: u64) {
    for (at, word) in value.iter_mut().enumerate() {
        *word = number.wrapping_mul(at as u64 * 0x9e37_79b9 + 1);
    }
}

/// The number of a marked value; `None` for a mixture.
pub(crate) fn number<const N: usize>(value: &[u64; N]) -> Option<u64> {
    let mut whole = [0; N];
    mark(&mut whole, value[0]);
    (whole == *value).then_some(value[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mixture_shows() {
        let (mut one, mut two) = ([0; 8], [0; 8]);
        mark(&mut one, 7);
        mark(&mut two, 8);
        assert_eq!((number(&one), number(&two)), (Some(7), Some(8)));
        one[5] = two[5];
        assert_eq!(number(&one), None);
    }
}
