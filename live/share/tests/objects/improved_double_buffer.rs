// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_share::Memory;
use taut_share::state::improved_double_buffer;

use super::{Got, State};

/// One slow reader, number 0, and a fast one whose reads up to 3 writes may overlap.
pub(crate) struct ImprovedDoubleBuffer;

pub(crate) enum Reader<T> {
    Slow(improved_double_buffer::SlowReader<'static, T>),
    Fast(improved_double_buffer::FastReader<'static, T>),
}

impl<const N: usize> State<N> for ImprovedDoubleBuffer {
    const NAME: &'static str = "Improved Double Buffer";
    const READERS: u32 = 2;
    const ATOMIC: bool = true;
    const WRITES_ALWAYS: bool = true;
    const READS_ALWAYS: bool = false;
    const READERS_MAY_DIE: bool = true;
    const WRITE_STEPS: u64 = 6 + N as u64;
    const READ_STEPS: u64 = 9 + N as u64;

    type Writer = improved_double_buffer::Writer<'static, [u64; N]>;
    type Reader = Reader<[u64; N]>;

    fn bytes() -> usize {
        improved_double_buffer::bytes::<[u64; N]>(1, 3).unwrap()
    }

    unsafe fn writer(memory: Memory<'static>) -> Self::Writer {
        // SAFETY: the caller's duties are the same.
        unsafe { improved_double_buffer::writer(memory, 1, 3) }.unwrap()
    }

    unsafe fn reader(memory: Memory<'static>, which: u32) -> Self::Reader {
        // SAFETY: the caller's duties are the same.
        unsafe {
            if which == 0 {
                Reader::Slow(improved_double_buffer::slow_reader(memory, 1, 3, 0).unwrap())
            } else {
                Reader::Fast(improved_double_buffer::fast_reader(memory, 1, 3).unwrap())
            }
        }
    }

    fn write(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        writer.write(value);
        true
    }

    fn read(reader: &mut Self::Reader) -> Got<[u64; N]> {
        match reader {
            Reader::Slow(reader) => reader.read().map_or(Got::Nothing, Got::Value),
            Reader::Fast(reader) => match reader.read() {
                Ok(value) => value.map_or(Got::Nothing, Got::Value),
                Err(improved_double_buffer::ReaderOvertaken) => Got::Unavailable,
            },
        }
    }
}
