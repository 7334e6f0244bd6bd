// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_share::Memory;
use taut_share::queue::qrtwo;

use super::{Got, Queue, WhenFull};

pub(crate) struct Qrtwo;

impl<const N: usize> Queue<N> for Qrtwo {
    const NAME: &'static str = "QrtWo";
    const WHEN_FULL: WhenFull = WhenFull::DropOldest;
    const PUSH_STEPS: u64 = 2 + N as u64;
    // A reader copies values by the line if several fit in a line.
    const POP_STEPS: u64 = 5 + if N <= 4 { 8 / N * N } else { N } as u64;

    type Writer = qrtwo::Writer<'static, [u64; N]>;
    type Reader = qrtwo::Reader<'static, [u64; N]>;

    fn bytes(capacity: u32) -> usize {
        qrtwo::bytes::<[u64; N]>(capacity, 0).unwrap()
    }

    unsafe fn writer(memory: Memory<'static>, capacity: u32) -> Self::Writer {
        // SAFETY: the caller's duties are the same.
        unsafe { qrtwo::writer(memory, capacity, 0) }.unwrap()
    }

    unsafe fn reader(memory: Memory<'static>, capacity: u32) -> Self::Reader {
        // SAFETY: the caller's duties are the same.
        unsafe { qrtwo::reader(memory, capacity, 0) }.unwrap()
    }

    fn push(writer: &mut Self::Writer, value: [u64; N]) -> bool {
        writer.push(&value);
        true
    }

    fn pop(reader: &mut Self::Reader) -> Got<([u64; N], u64)> {
        match reader.pop() {
            Ok(Some(popped)) => Got::Value((popped.value, popped.lost)),
            Ok(None) => Got::Nothing,
            Err(qrtwo::Overwritten) => Got::Unavailable,
        }
    }
}
