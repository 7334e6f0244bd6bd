// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_share::queue::qrtwc;

use super::{ReadAhead, said};
use crate::object::{About, Ends, Kind, Place, Placed, capacity};

pub(super) struct Qrtwc;

impl About for Qrtwc {
    const NAME: &'static str = "QrtWc";
    const KIND: Kind = Kind::Losing;
    const LINES: [&'static str; 2] =
        ["L+1 posted", "1 + L, +1 if written meanwhile; once for the values of a line"];
    const SLICES: bool = true;
}

impl<const N: usize> Ends<N> for Qrtwc {
    type Writer = qrtwc::Writer<'static, [u64; N]>;
    type Reader = ReadAhead<qrtwc::Reader<'static, [u64; N]>, N>;

    #[inline(always)]
    fn put(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        writer.push(value);
        true
    }

    #[inline(always)]
    fn take<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        reader.end.pop_into(&mut reader.values[0]).ok().flatten()?;
        Some(look(&reader.values[0]))
    }

    #[inline(always)]
    fn drain<R>(reader: &mut Self::Reader, mut look: impl FnMut(&[u64; N]) -> R) -> u64 {
        let count = reader.end.pop_slice(&mut reader.values).map_or(0, |popped| popped.count);
        for value in &reader.values[..count] {
            look(value);
        }
        count as u64
    }
}

impl<const N: usize> Placed<N> for Qrtwc {
    const MANY: bool = false;

    fn bytes(_: u32) -> usize {
        qrtwc::bytes::<[u64; N]>(capacity(N) as u32, qrtwc::spare::<[u64; N]>()).unwrap_or(usize::MAX)
    }

    unsafe fn writer(place: Place<'_>) -> Result<Self::Writer, String> {
        // SAFETY: the caller's duties are the same.
        unsafe { qrtwc::writer(place.memory, capacity(N) as u32, qrtwc::spare::<[u64; N]>()) }.map_err(said)
    }

    unsafe fn reader(place: Place<'_>, _: u32) -> Result<Self::Reader, String> {
        // SAFETY: the caller's duties are the same.
        unsafe { qrtwc::reader(place.memory, capacity(N) as u32, qrtwc::spare::<[u64; N]>()) }
            .map(ReadAhead::new)
            .map_err(said)
    }
}
