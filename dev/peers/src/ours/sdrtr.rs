// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_share::state::sdrtr;

use super::{ReadAhead, said};
use crate::object::{About, Ends, Kind, Place, Placed};

/// The back-off of a write: it attempts to change the word this many times, with a pause in between, before it
/// reports failure.
const ATTEMPTS: u32 = 64;

pub(super) struct Sdrtr;

impl About for Sdrtr {
    const NAME: &'static str = "SDrtR";
    const KIND: Kind = Kind::State;
    const LINES: [&'static str; 2] =
        ["L + 1 exchange waited for, again while the reader copies", "1 exchange + L, 1 posted"];
}

impl<const N: usize> Ends<N> for Sdrtr {
    type Writer = sdrtr::Writer<'static, [u64; N]>;
    type Reader = ReadAhead<sdrtr::Reader<'static, [u64; N]>, N>;

    #[inline(always)]
    fn put(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        writer.publish_within(value, ATTEMPTS).is_ok()
    }

    #[inline(always)]
    fn take<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        reader.end.read_into(&mut reader.values[0]).then(|| look(&reader.values[0]))
    }
}

impl<const N: usize> Placed<N> for Sdrtr {
    const MANY: bool = false;

    fn bytes(_: u32) -> usize {
        sdrtr::bytes::<[u64; N]>()
    }

    unsafe fn writer(place: Place<'_>) -> Result<Self::Writer, String> {
        // SAFETY: the caller's duties are the same.
        unsafe { sdrtr::writer(place.memory) }.map_err(said)
    }

    unsafe fn reader(place: Place<'_>, _: u32) -> Result<Self::Reader, String> {
        // SAFETY: the caller's duties are the same.
        unsafe { sdrtr::reader(place.memory) }.map(ReadAhead::new).map_err(said)
    }
}
