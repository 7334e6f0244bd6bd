// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use real_time::writer::{LockingReader, RealtimeWriter};

use crate::object::{About, Alone, Ends, Kind};

/// The crate `real-time`, `writable`: its writer is the real-time side.
pub(super) struct Writable;

impl About for Writable {
    const NAME: &'static str = "real-time writable";
    const KIND: Kind = Kind::State;
    const LINES: [&'static str; 2] =
        ["2 exchanges waited for + L", "1 exchange + L, again while the writer writes"];
}

impl<const N: usize> Ends<N> for Writable {
    type Writer = RealtimeWriter<[u64; N]>;
    type Reader = LockingReader<[u64; N]>;

    #[inline(always)]
    fn put(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        writer.set(*value);
        true
    }

    #[inline(always)]
    fn take<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        Some(look(reader.get_ref()))
    }
}

impl<const N: usize> Alone<N> for Writable {
    fn pair() -> Result<(Self::Writer, Self::Reader), String> {
        Ok(real_time::writable([0; N]))
    }
}
