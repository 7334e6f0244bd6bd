// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_share::state::hybrid;

use super::{ReadAhead, said};
use crate::object::{About, Ends, Kind, Place, Placed};

pub(super) struct Hybrid;

impl About for Hybrid {
    const NAME: &'static str = "Hybrid";
    const KIND: Kind = Kind::State;
    const LINES: [&'static str; 2] = [
        "L+1 posted, then 1 of each reader, which hits unless it claimed",
        "1 + L, +1 if written meanwhile; +2 if overtaken; 0 if unchanged",
    ];
}

impl<const N: usize> Ends<N> for Hybrid {
    type Writer = hybrid::Writer<'static, [u64; N]>;
    type Reader = ReadAhead<hybrid::Reader<'static, [u64; N]>, N>;

    #[inline(always)]
    fn put(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        writer.write(value);
        true
    }

    #[inline(always)]
    fn take<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        reader.seen = reader.end.read_into(&mut reader.values[0])?;
        Some(look(&reader.values[0]))
    }

    #[inline(always)]
    fn newer<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        if reader.end.version() == reader.seen { None } else { Self::take(reader, look) }
    }
}

impl<const N: usize> Placed<N> for Hybrid {
    const MANY: bool = true;

    fn bytes(readers: u32) -> usize {
        hybrid::bytes::<[u64; N]>(readers, hybrid::spare::<[u64; N]>())
    }

    unsafe fn writer(place: Place<'_>) -> Result<Self::Writer, String> {
        // SAFETY: the caller's duties are the same.
        unsafe { hybrid::writer(place.memory, place.readers, hybrid::spare::<[u64; N]>()) }.map_err(said)
    }

    unsafe fn reader(place: Place<'_>, which: u32) -> Result<Self::Reader, String> {
        // SAFETY: the caller's duties are the same.
        unsafe { hybrid::reader(place.memory, place.readers, hybrid::spare::<[u64; N]>(), which) }
            .map(ReadAhead::new)
            .map_err(said)
    }
}
