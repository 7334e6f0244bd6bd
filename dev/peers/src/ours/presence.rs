// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_share::state::presence;

use super::said;
use crate::object::{About, Ends, Kind, Place, Placed};

pub(super) struct Presence;

impl About for Presence {
    const NAME: &'static str = "Presence";
    const KIND: Kind = Kind::State;
    const LINES: [&'static str; 2] = ["L + 1 exchange for each reader, waited for", "1 + L; 0 if unchanged"];
}

impl<const N: usize> Ends<N> for Presence {
    type Writer = presence::Writer<'static, [u64; N]>;
    type Reader = presence::Reader<'static, [u64; N]>;

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

impl<const N: usize> Placed<N> for Presence {
    const MANY: bool = true;

    fn bytes(readers: u32) -> usize {
        presence::bytes::<[u64; N]>(readers)
    }

    unsafe fn writer(place: Place<'_>) -> Result<Self::Writer, String> {
        // SAFETY: the caller's duties are the same.
        unsafe { presence::writer(place.memory, place.readers) }.map_err(said)
    }

    unsafe fn reader(place: Place<'_>, which: u32) -> Result<Self::Reader, String> {
        // SAFETY: the caller's duties are the same.
        unsafe { presence::reader(place.memory, place.readers, which) }.map_err(said)
    }
}
