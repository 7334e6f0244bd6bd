// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::sync::Arc;

use crossbeam_queue::ArrayQueue;

use crate::object::{About, Alone, Ends, Kind, capacity};

/// The crate `crossbeam-queue`; the oldest value makes room.
pub(super) struct ForcePush;

impl About for ForcePush {
    const NAME: &'static str = "ArrayQueue force";
    const KIND: Kind = Kind::Losing;
    const LINES: [&'static str; 2] = ["2 exchanges waited for + L", "2 exchanges waited for + L"];
}

impl<const N: usize> Ends<N> for ForcePush {
    type Writer = Arc<ArrayQueue<[u64; N]>>;
    type Reader = Arc<ArrayQueue<[u64; N]>>;

    #[inline(always)]
    fn put(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        writer.force_push(*value);
        true
    }

    #[inline(always)]
    fn take<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        reader.pop().as_ref().map(look)
    }
}

impl<const N: usize> Alone<N> for ForcePush {
    fn pair() -> Result<(Self::Writer, Self::Reader), String> {
        let queue = Arc::new(ArrayQueue::new(capacity(N)));
        Ok((queue.clone(), queue))
    }
}
