// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::sync::Arc;

use crate::object::{About, Alone, Ends, Kind, capacity};

/// The crate `crossbeam-queue`, which any number of threads may use.
pub(super) struct ArrayQueue;

impl About for ArrayQueue {
    const NAME: &'static str = "ArrayQueue";
    const KIND: Kind = Kind::Queue;
    const LINES: [&'static str; 2] = ["2 exchanges waited for + L", "2 exchanges waited for + L"];
}

impl<const N: usize> Ends<N> for ArrayQueue {
    type Writer = Arc<crossbeam_queue::ArrayQueue<[u64; N]>>;
    type Reader = Arc<crossbeam_queue::ArrayQueue<[u64; N]>>;

    #[inline(always)]
    fn put(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        writer.push(*value).is_ok()
    }

    #[inline(always)]
    fn take<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        reader.pop().as_ref().map(look)
    }
}

impl<const N: usize> Alone<N> for ArrayQueue {
    fn pair() -> Result<(Self::Writer, Self::Reader), String> {
        let queue = Arc::new(crossbeam_queue::ArrayQueue::new(capacity(N)));
        Ok((queue.clone(), queue))
    }
}
