// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_share::Memory;
use taut_share::queue::broadcast;

use super::{Got, Queue, WhenFull};

/// With one reader. `messages/` has runs with several.
pub(crate) struct Broadcast;

impl<const N: usize> Queue<N> for Broadcast {
    const NAME: &'static str = "Broadcast";
    const WHEN_FULL: WhenFull = WhenFull::Refuse;
    const PUSH_STEPS: u64 = 3 + N as u64;
    // A reader copies values by the line if several fit in a line.
    const POP_STEPS: u64 = 5 + if N <= 4 { 8 / N * N } else { N } as u64;

    type Writer = broadcast::Writer<'static, [u64; N]>;
    type Reader = broadcast::Reader<'static, [u64; N]>;

    fn bytes(capacity: u32) -> usize {
        broadcast::bytes::<[u64; N]>(1, capacity).unwrap()
    }

    unsafe fn writer(memory: Memory<'static>, capacity: u32) -> Self::Writer {
        // SAFETY: the caller's duties are the same.
        unsafe { broadcast::writer(memory, 1, capacity) }.unwrap()
    }

    unsafe fn reader(memory: Memory<'static>, capacity: u32) -> Self::Reader {
        // SAFETY: the caller's duties are the same.
        unsafe { broadcast::reader(memory, 1, capacity, 0) }.unwrap()
    }

    fn push(writer: &mut Self::Writer, value: [u64; N]) -> bool {
        writer.push(&value).is_ok()
    }

    fn pop(reader: &mut Self::Reader) -> Got<([u64; N], u64)> {
        match reader.pop() {
            Ok(Some(popped)) => Got::Value((popped.value, popped.lost)),
            Ok(None) => Got::Nothing,
            Err(broadcast::Overwritten) => Got::Unavailable,
        }
    }
}
