// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_share::state::sdrtw;

use super::{ReadAhead, said};
use crate::object::{About, Ends, Kind, Place, Placed};

pub(super) struct Sdrtw;

impl About for Sdrtw {
    const NAME: &'static str = "SDrtW";
    const KIND: Kind = Kind::State;
    const LINES: [&'static str; 2] = [
        "L posted (the counter shares the first)",
        "L + 1 look again, again if written meanwhile; 0 if unchanged",
    ];
}

impl<const N: usize> Ends<N> for Sdrtw {
    type Writer = sdrtw::Writer<'static, [u64; N]>;
    type Reader = ReadAhead<sdrtw::Reader<'static, [u64; N]>, N>;

    #[inline(always)]
    fn put(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        writer.write(value);
        true
    }

    #[inline(always)]
    fn take<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        reader.seen = reader.end.try_read_into(&mut reader.values[0]).ok().flatten()?;
        Some(look(&reader.values[0]))
    }

    #[inline(always)]
    fn newer<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        if reader.end.version() == reader.seen { None } else { Self::take(reader, look) }
    }
}

impl<const N: usize> Placed<N> for Sdrtw {
    const MANY: bool = true;

    fn bytes(_: u32) -> usize {
        sdrtw::bytes::<[u64; N]>()
    }

    unsafe fn writer(place: Place<'_>) -> Result<Self::Writer, String> {
        // SAFETY: the caller's duties are the same.
        unsafe { sdrtw::writer(place.memory) }.map_err(said)
    }

    unsafe fn reader(place: Place<'_>, _: u32) -> Result<Self::Reader, String> {
        // SAFETY: the caller's duties are the same.
        unsafe { sdrtw::reader(place.memory) }.map(ReadAhead::new).map_err(said)
    }
}
