// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use heapless::spsc::{Consumer, Producer, Queue};

use crate::object::{About, Alone, Ends, Kind, capacity};

/// The crate `heapless`: both counters are on one line, and no side caches the other's.
pub(super) struct Heapless;

impl About for Heapless {
    const NAME: &'static str = "heapless";
    const KIND: Kind = Kind::Queue;
    const LINES: [&'static str; 2] = ["1 + L+1", "1 + L+1"];
}

impl<const N: usize> Ends<N> for Heapless {
    type Writer = Producer<'static, [u64; N]>;
    type Reader = Consumer<'static, [u64; N]>;

    #[inline(always)]
    fn put(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        writer.enqueue(*value).is_ok()
    }

    #[inline(always)]
    fn take<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        reader.dequeue().as_ref().map(look)
    }
}

impl<const N: usize> Alone<N> for Heapless {
    /// The ends borrow the queue, so it is never freed: at most 256 KiB a trial.
    fn pair() -> Result<(Self::Writer, Self::Reader), String> {
        // One place stays empty.
        if capacity(N) == 64 {
            Ok(Box::leak(Box::new(Queue::<[u64; N], 65>::new())).split())
        } else {
            Ok(Box::leak(Box::new(Queue::<[u64; N], 257>::new())).split())
        }
    }
}
