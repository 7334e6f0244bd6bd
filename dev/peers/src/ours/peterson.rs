// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_share::state::peterson;

use super::said;
use crate::object::{About, Ends, Kind, Place, Placed};

pub(super) struct Peterson;

impl About for Peterson {
    const NAME: &'static str = "Peterson";
    const KIND: Kind = Kind::State;
    const LINES: [&'static str; 2] = [
        "L+1 posted, 1 of each reader, + L for each that asks for a copy",
        "2 + L, again from its copy if written meanwhile; 0 if unchanged",
    ];
}

impl<const N: usize> Ends<N> for Peterson {
    type Writer = peterson::Writer<'static, [u64; N]>;
    type Reader = peterson::Reader<'static, [u64; N]>;

    #[inline(always)]
    fn put(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        writer.write(value);
        true
    }

    #[inline(always)]
    fn take<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        reader.read().as_ref().map(look)
    }

    #[inline(always)]
    fn newer<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        reader.read_if_newer().map(|sample| look(&sample.value))
    }
}

impl<const N: usize> Placed<N> for Peterson {
    const MANY: bool = true;

    fn bytes(readers: u32) -> usize {
        peterson::bytes::<[u64; N]>(readers).unwrap_or(usize::MAX)
    }

    unsafe fn writer(place: Place<'_>) -> Result<Self::Writer, String> {
        // SAFETY: the caller's duties are the same.
        unsafe { peterson::writer(place.memory, place.readers) }.map_err(said)
    }

    unsafe fn reader(place: Place<'_>, which: u32) -> Result<Self::Reader, String> {
        // SAFETY: the caller's duties are the same.
        unsafe { peterson::reader(place.memory, place.readers, which) }.map_err(said)
    }
}
