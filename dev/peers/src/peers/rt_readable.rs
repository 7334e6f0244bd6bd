// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use real_time::reader::{LockingWriter, RealtimeReader};

use crate::object::{About, Alone, Ends, Kind};

/// The crate `real-time`, `readable`: its reader is the real-time side; its writer allocates and waits.
pub(super) struct Readable;

impl About for Readable {
    const NAME: &'static str = "real-time readable";
    const KIND: Kind = Kind::State;
    const LINES: [&'static str; 2] =
        ["1 exchange waited for, again while the reader looks", "1 exchange + L, 1 back"];
}

impl<const N: usize> Ends<N> for Readable {
    type Writer = LockingWriter<[u64; N]>;
    type Reader = RealtimeReader<[u64; N]>;

    #[inline(always)]
    fn put(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        writer.set(*value);
        true
    }

    #[inline(always)]
    fn take<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        Some(look(&reader.read()))
    }
}

impl<const N: usize> Alone<N> for Readable {
    fn pair() -> Result<(Self::Writer, Self::Reader), String> {
        Ok(real_time::readable([0; N]))
    }
}
