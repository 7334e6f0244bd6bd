// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_share::Memory;
use taut_share::state::emeralds;

use super::{Got, State};

/// The smallest number with which two attempts suffice, if stores become visible in time.
const BUFFERS: u32 = 3;

pub(crate) struct Emeralds;

impl<const N: usize> State<N> for Emeralds {
    const NAME: &'static str = "EMERALDS";
    const READERS: u32 = 2;
    const ATOMIC: bool = true;
    const WRITES_ALWAYS: bool = true;
    const READS_ALWAYS: bool = false;
    const READERS_MAY_DIE: bool = true;
    const WRITE_STEPS: u64 = 2 + 2 + N as u64 + 2 * (N as u64 + 1);
    const READ_STEPS: u64 = 9 + 3 * N as u64;

    type Writer = emeralds::Writer<'static, [u64; N]>;
    type Reader = emeralds::SlowReader<'static, [u64; N]>;

    fn bytes() -> usize {
        emeralds::bytes::<[u64; N]>(2, BUFFERS).unwrap()
    }

    unsafe fn writer(memory: Memory<'static>) -> Self::Writer {
        // SAFETY: the caller's duties are the same.
        unsafe { emeralds::writer(memory, 2, BUFFERS) }.unwrap()
    }

    unsafe fn reader(memory: Memory<'static>, which: u32) -> Self::Reader {
        // SAFETY: the caller's duties are the same.
        unsafe { emeralds::slow_reader(memory, 2, BUFFERS, which) }.unwrap()
    }

    fn write(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        writer.write(value);
        true
    }

    fn read(reader: &mut Self::Reader) -> Got<[u64; N]> {
        match reader.read() {
            Ok(Some(sample)) => Got::Value(sample.value),
            Ok(None) => Got::Nothing,
            Err(emeralds::ReaderOvertaken) => Got::Unavailable,
        }
    }
}
