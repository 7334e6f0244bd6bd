// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_share::bulk;

use super::said;
use crate::object::{About, Ends, Kind, Place, Placed};

/// Blocks of the pool.
const BLOCKS: u32 = 64;

/// The ends fill a block and look at it in place.
pub(super) struct Bulk;

impl About for Bulk {
    const NAME: &'static str = "Bulk";
    const KIND: Kind = Kind::Queue;
    const LINES: [&'static str; 2] =
        ["L, 1 for the word that says whose it is, 1", "1 + 1 exchange + L, 1 back"];
}

impl<const N: usize> Ends<N> for Bulk {
    type Writer = bulk::BlockSender<'static, [u64; N]>;
    type Reader = bulk::BlockReceiver<'static, [u64; N]>;

    #[inline(always)]
    fn put(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        let Some(mut loan) = writer.loan() else { return false };
        *loan = *value;
        loan.send();
        true
    }

    #[inline(always)]
    fn take<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        reader.receive().ok().flatten().map(|block| look(&block))
    }
}

impl<const N: usize> Placed<N> for Bulk {
    const MANY: bool = false;

    fn bytes(_: u32) -> usize {
        bulk::bytes::<[u64; N]>(BLOCKS).unwrap_or(usize::MAX)
    }

    unsafe fn writer(place: Place<'_>) -> Result<Self::Writer, String> {
        // SAFETY: the caller's duties are the same.
        unsafe { bulk::sender(place.memory, BLOCKS) }.map_err(said)
    }

    unsafe fn reader(place: Place<'_>, _: u32) -> Result<Self::Reader, String> {
        // SAFETY: the caller's duties are the same.
        unsafe { bulk::receiver(place.memory, BLOCKS) }.map_err(said)
    }
}
