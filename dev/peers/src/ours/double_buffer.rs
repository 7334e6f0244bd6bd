// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_share::state::double_buffer;

use super::said;
use crate::object::{About, Ends, Kind, Place, Placed};

pub(super) struct DoubleBuffer;

impl About for DoubleBuffer {
    const NAME: &'static str = "Double Buffer";
    const KIND: Kind = Kind::State;
    const LINES: [&'static str; 2] = ["L+1 waited for, 1 of each reader", "1 + L, 1 back; 0 if unchanged"];
}

impl<const N: usize> Ends<N> for DoubleBuffer {
    type Writer = double_buffer::Writer<'static, [u64; N]>;
    type Reader = double_buffer::Reader<'static, [u64; N]>;

    #[inline(always)]
    fn put(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        writer.write(value);
        true
    }

    #[inline(always)]
    fn take<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        reader.read_with(look)
    }

    #[inline(always)]
    fn newer<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        reader.read_if_newer().map(|sample| look(&sample.value))
    }
}

impl<const N: usize> Placed<N> for DoubleBuffer {
    const MANY: bool = true;

    fn bytes(readers: u32) -> usize {
        double_buffer::bytes::<[u64; N]>(readers)
    }

    unsafe fn writer(place: Place<'_>) -> Result<Self::Writer, String> {
        // SAFETY: the caller's duties are the same.
        unsafe { double_buffer::writer(place.memory, place.readers) }.map_err(said)
    }

    unsafe fn reader(place: Place<'_>, which: u32) -> Result<Self::Reader, String> {
        // SAFETY: the caller's duties are the same.
        unsafe { double_buffer::reader(place.memory, place.readers, which) }.map_err(said)
    }
}
