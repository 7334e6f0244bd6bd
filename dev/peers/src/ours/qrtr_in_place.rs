// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_share::queue::qrtr;

use super::said;
use crate::object::{About, Ends, Kind, Place, Placed, capacity};

/// The ends make values and look at them in place.
pub(super) struct InPlace;

impl About for InPlace {
    const NAME: &'static str = "QrtR in place";
    const KIND: Kind = Kind::Queue;
    const LINES: [&'static str; 2] = ["L+1 posted", "1 (shared by what waits) + L, 1 posted"];
    const SLICES: bool = true;
}

impl<const N: usize> Ends<N> for InPlace {
    type Writer = qrtr::Writer<'static, [u64; N]>;
    type Reader = qrtr::Reader<'static, [u64; N]>;

    #[inline(always)]
    fn put(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        writer.push_with(|place| *place = *value).is_ok()
    }

    #[inline(always)]
    fn take<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        reader.pop_with(look).ok().flatten()
    }

    #[inline(always)]
    fn drain<R>(reader: &mut Self::Reader, mut look: impl FnMut(&[u64; N]) -> R) -> u64 {
        let waiting = reader.capacity();
        let Ok(chunk) = reader.read_chunk(waiting) else { return 0 };
        let count = chunk.iter().map(&mut look).count();
        chunk.commit_all();
        count as u64
    }
}

impl<const N: usize> Placed<N> for InPlace {
    const MANY: bool = false;

    fn bytes(_: u32) -> usize {
        qrtr::bytes::<[u64; N]>(capacity(N) as u32).unwrap_or(usize::MAX)
    }

    unsafe fn writer(place: Place<'_>) -> Result<Self::Writer, String> {
        // SAFETY: the caller's duties are the same.
        unsafe { qrtr::writer(place.memory, capacity(N) as u32) }.map_err(said)
    }

    unsafe fn reader(place: Place<'_>, _: u32) -> Result<Self::Reader, String> {
        // SAFETY: the caller's duties are the same.
        unsafe { qrtr::reader(place.memory, capacity(N) as u32) }.map_err(said)
    }
}
