// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_share::Memory;
use taut_share::queue::qrtr;

use super::{Got, Queue, WhenFull};

pub(crate) struct Qrtr;

impl<const N: usize> Queue<N> for Qrtr {
    const NAME: &'static str = "QrtR";
    const WHEN_FULL: WhenFull = WhenFull::Refuse;
    const PUSH_STEPS: u64 = 2 + N as u64;
    const POP_STEPS: u64 = 2 + N as u64;

    type Writer = qrtr::Writer<'static, [u64; N]>;
    type Reader = qrtr::Reader<'static, [u64; N]>;

    fn bytes(capacity: u32) -> usize {
        qrtr::bytes::<[u64; N]>(capacity).unwrap()
    }

    unsafe fn writer(memory: Memory<'static>, capacity: u32) -> Self::Writer {
        // SAFETY: the caller's duties are the same.
        unsafe { qrtr::writer(memory, capacity) }.unwrap()
    }

    unsafe fn reader(memory: Memory<'static>, capacity: u32) -> Self::Reader {
        // SAFETY: the caller's duties are the same.
        unsafe { qrtr::reader(memory, capacity) }.unwrap()
    }

    fn push(writer: &mut Self::Writer, value: [u64; N]) -> bool {
        writer.push(value).is_ok()
    }

    fn pop(reader: &mut Self::Reader) -> Got<([u64; N], u64)> {
        match reader.pop() {
            Ok(Some(value)) => Got::Value((value, 0)),
            Ok(None) => Got::Nothing,
            Err(qrtr::Corrupt) => Got::Unavailable,
        }
    }
}
