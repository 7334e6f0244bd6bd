// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use ringbuf::traits::{Consumer, Producer, Split};
use ringbuf::{HeapCons, HeapProd, HeapRb};

use crate::object::{About, Alone, Ends, Kind, capacity};

/// The crate `ringbuf`.
pub(super) struct Ringbuf;

impl About for Ringbuf {
    const NAME: &'static str = "ringbuf";
    const KIND: Kind = Kind::Queue;
    const LINES: [&'static str; 2] = ["L+1 posted", "1 (shared by what waits) + L, 1 posted"];
    const SLICES: bool = true;
}

impl<const N: usize> Ends<N> for Ringbuf {
    type Writer = HeapProd<[u64; N]>;
    type Reader = HeapCons<[u64; N]>;

    #[inline(always)]
    fn put(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        writer.try_push(*value).is_ok()
    }

    #[inline(always)]
    fn take<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        reader.try_pop().as_ref().map(look)
    }

    #[inline(always)]
    fn drain<R>(reader: &mut Self::Reader, mut look: impl FnMut(&[u64; N]) -> R) -> u64 {
        reader.pop_iter().map(|value| look(&value)).count() as u64
    }
}

impl<const N: usize> Alone<N> for Ringbuf {
    fn pair() -> Result<(Self::Writer, Self::Reader), String> {
        Ok(HeapRb::new(capacity(N)).split())
    }
}
