// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use real_time::fifo::{Consumer, Producer};

use crate::object::{About, Alone, Ends, Kind};

/// The crate `real-time`, `fifo`, of 256 values whatever their size: its length is part of its type.
pub(super) struct Fifo;

impl About for Fifo {
    const NAME: &'static str = "real-time fifo";
    const KIND: Kind = Kind::Queue;
    const LINES: [&'static str; 2] = ["L+1 posted", "1 (shared by what waits) + L, 1 posted"];
}

impl<const N: usize> Ends<N> for Fifo {
    type Writer = Producer<[u64; N], 256>;
    type Reader = Consumer<[u64; N], 256>;

    #[inline(always)]
    fn put(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        writer.push(*value).is_ok()
    }

    #[inline(always)]
    fn take<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        reader.pop_ref().map(|value| look(&value))
    }
}

impl<const N: usize> Alone<N> for Fifo {
    fn pair() -> Result<(Self::Writer, Self::Reader), String> {
        Ok(real_time::fifo())
    }
}
