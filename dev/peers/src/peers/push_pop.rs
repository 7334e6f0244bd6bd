// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use rtrb::{Consumer, Producer, RingBuffer};

use crate::object::{About, Alone, Ends, Kind, capacity};

/// The crate `rtrb`, a value at a time.
pub(super) struct Rtrb;

impl About for Rtrb {
    const NAME: &'static str = "rtrb";
    const KIND: Kind = Kind::Queue;
    const LINES: [&'static str; 2] = ["L+1 posted", "1 (shared by what waits) + L, 1 posted"];
}

impl<const N: usize> Ends<N> for Rtrb {
    type Writer = Producer<[u64; N]>;
    type Reader = Consumer<[u64; N]>;

    #[inline(always)]
    fn put(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        writer.push(*value).is_ok()
    }

    #[inline(always)]
    fn take<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        reader.pop().ok().as_ref().map(look)
    }
}

impl<const N: usize> Alone<N> for Rtrb {
    fn pair() -> Result<(Self::Writer, Self::Reader), String> {
        Ok(RingBuffer::new(capacity(N)))
    }
}
