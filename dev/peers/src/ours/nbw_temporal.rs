// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_share::state::nbw_temporal;

use super::said;
use crate::object::{About, Ends, Kind, Place, Placed};

/// Enough where at most two writes overlap a read; here a writer at full speed overtakes the reader, which tries
/// again.
const BUFFERS: u32 = 4;

pub(super) struct NbwTemporal;

impl About for NbwTemporal {
    const NAME: &'static str = "NBW temporal";
    const KIND: Kind = Kind::State;
    const LINES: [&'static str; 2] = ["L+1 posted", "1 + L, +1 if written meanwhile; 0 if unchanged"];
}

impl<const N: usize> Ends<N> for NbwTemporal {
    type Writer = nbw_temporal::Writer<'static, [u64; N]>;
    type Reader = nbw_temporal::Reader<'static, [u64; N]>;

    #[inline(always)]
    fn put(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        writer.write(value);
        true
    }

    #[inline(always)]
    fn take<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        reader.read().ok().flatten().map(|sample| look(&sample.value))
    }

    #[inline(always)]
    fn newer<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        reader.read_if_newer().ok().flatten().map(|sample| look(&sample.value))
    }
}

impl<const N: usize> Placed<N> for NbwTemporal {
    const MANY: bool = true;

    fn bytes(_: u32) -> usize {
        nbw_temporal::bytes::<[u64; N]>(BUFFERS).unwrap_or(usize::MAX)
    }

    unsafe fn writer(place: Place<'_>) -> Result<Self::Writer, String> {
        // SAFETY: the caller's duties are the same.
        unsafe { nbw_temporal::writer(place.memory, BUFFERS) }.map_err(said)
    }

    unsafe fn reader(place: Place<'_>, _: u32) -> Result<Self::Reader, String> {
        // SAFETY: the caller's duties are the same.
        unsafe { nbw_temporal::reader(place.memory, BUFFERS) }.map_err(said)
    }
}
