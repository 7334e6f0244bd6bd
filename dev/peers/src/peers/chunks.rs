// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use rtrb::{Consumer, Producer, RingBuffer};

use crate::object::{About, Alone, Ends, Kind, capacity};

/// The crate `rtrb`, with chunks of one value, which the reader looks at in place.
pub(super) struct Chunks;

impl About for Chunks {
    const NAME: &'static str = "rtrb chunks";
    const KIND: Kind = Kind::Queue;
    const LINES: [&'static str; 2] = ["L+1 posted", "1 (shared by what waits) + L, 1 posted"];
    const SLICES: bool = true;
}

impl<const N: usize> Ends<N> for Chunks {
    type Writer = Producer<[u64; N]>;
    type Reader = Consumer<[u64; N]>;

    #[inline(always)]
    fn put(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        writer.push_entire_slice(std::slice::from_ref(value)).is_ok()
    }

    #[inline(always)]
    fn take<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        let chunk = reader.read_chunk(1).ok()?;
        let looked = chunk.as_slices().0.first().map(look);
        chunk.commit_all();
        looked
    }

    #[inline(always)]
    fn drain<R>(reader: &mut Self::Reader, mut look: impl FnMut(&[u64; N]) -> R) -> u64 {
        let Ok(chunk) = reader.read_chunk(reader.slots()) else { return 0 };
        let (first, second) = chunk.as_slices();
        let count = first.iter().chain(second).map(&mut look).count();
        chunk.commit_all();
        count as u64
    }
}

impl<const N: usize> Alone<N> for Chunks {
    fn pair() -> Result<(Self::Writer, Self::Reader), String> {
        Ok(RingBuffer::new(capacity(N)))
    }
}
