// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_share::Memory;
use taut_share::state::double_buffer;

use super::{Got, State};

pub(crate) struct DoubleBuffer;

impl<const N: usize> State<N> for DoubleBuffer {
    const NAME: &'static str = "Double Buffer";
    const READERS: u32 = 2;
    const ATOMIC: bool = true;
    const WRITES_ALWAYS: bool = true;
    const READS_ALWAYS: bool = true;
    const READERS_MAY_DIE: bool = true;
    const WRITE_STEPS: u64 = 6 + N as u64;
    const READ_STEPS: u64 = 6 + N as u64;

    type Writer = double_buffer::Writer<'static, [u64; N]>;
    type Reader = double_buffer::Reader<'static, [u64; N]>;

    fn bytes() -> usize {
        double_buffer::bytes::<[u64; N]>(2)
    }

    unsafe fn writer(memory: Memory<'static>) -> Self::Writer {
        // SAFETY: the caller's duties are the same.
        unsafe { double_buffer::writer(memory, 2) }.unwrap()
    }

    unsafe fn reader(memory: Memory<'static>, which: u32) -> Self::Reader {
        // SAFETY: the caller's duties are the same.
        unsafe { double_buffer::reader(memory, 2, which) }.unwrap()
    }

    fn write(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        writer.write(value);
        true
    }

    fn read(reader: &mut Self::Reader) -> Got<[u64; N]> {
        reader.read().map_or(Got::Nothing, Got::Value)
    }
}
