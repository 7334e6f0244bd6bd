// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use left_right::{Absorb, ReadHandle, WriteHandle};

use crate::object::{About, Alone, Ends, Kind};

/// The crate `left-right`: the writer waits for readers.
pub(super) struct LeftRight;

impl About for LeftRight {
    const NAME: &'static str = "left-right";
    const KIND: Kind = Kind::State;
    const LINES: [&'static str; 2] =
        ["2 L, exchanges waited for, and every reader", "2 exchanges on a line of its own + L"];
}

impl<const N: usize> Ends<N> for LeftRight {
    type Writer = WriteHandle<Held<N>, Held<N>>;
    type Reader = ReadHandle<Held<N>>;

    #[inline(always)]
    fn put(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        writer.append(Held(*value)).publish();
        true
    }

    #[inline(always)]
    fn take<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        reader.enter().map(|held| look(&held.0))
    }
}

impl<const N: usize> Alone<N> for LeftRight {
    fn pair() -> Result<(Self::Writer, Self::Reader), String> {
        Ok(left_right::new_from_empty(Held([0; N])))
    }
}

/// A value, which is also the operation that puts it there.
#[derive(Clone)]
pub(super) struct Held<const N: usize>([u64; N]);

impl<const N: usize> Absorb<Self> for Held<N> {
    fn absorb_first(&mut self, operation: &mut Self, _: &Self) {
        self.0 = operation.0;
    }

    fn sync_with(&mut self, first: &Self) {
        self.0 = first.0;
    }
}
