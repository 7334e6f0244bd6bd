// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::object::{About, Alone, Ends, Kind};

/// The crate `arc-swap`: the writer allocates.
pub(super) struct Swapped;

impl About for Swapped {
    const NAME: &'static str = "arc-swap";
    const KIND: Kind = Kind::State;
    const LINES: [&'static str; 2] = ["exchanges waited for, the allocator + L", "1 to 2 + L"];
}

impl<const N: usize> Ends<N> for Swapped {
    type Writer = Arc<ArcSwap<[u64; N]>>;
    type Reader = Arc<ArcSwap<[u64; N]>>;

    #[inline(always)]
    fn put(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        writer.store(Arc::new(*value));
        true
    }

    #[inline(always)]
    fn take<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        Some(look(&reader.load()))
    }
}

impl<const N: usize> Alone<N> for Swapped {
    fn pair() -> Result<(Self::Writer, Self::Reader), String> {
        let swap = Arc::new(ArcSwap::new(Arc::new([0; N])));
        Ok((swap.clone(), swap))
    }
}
