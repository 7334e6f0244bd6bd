// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_share::Memory;
use taut_share::state::improved_peterson;

use super::{Got, State};

/// More buffers than Peterson's, for fast readers.
const BUFFERS: u32 = 4;

pub(crate) struct ImprovedPeterson;

impl<const N: usize> State<N> for ImprovedPeterson {
    const NAME: &'static str = "Improved-Peterson";
    const READERS: u32 = 2;
    const ATOMIC: bool = true;
    const WRITES_ALWAYS: bool = true;
    const READS_ALWAYS: bool = true;
    const READERS_MAY_DIE: bool = true;
    const WRITE_STEPS: u64 = 3 + 2 + N as u64 + 2 * (N as u64 + 1);
    const READ_STEPS: u64 = 6 + 2 * N as u64;

    type Writer = improved_peterson::Writer<'static, [u64; N]>;
    type Reader = improved_peterson::SlowReader<'static, [u64; N]>;

    fn bytes() -> usize {
        improved_peterson::bytes::<[u64; N]>(2, BUFFERS).unwrap()
    }

    unsafe fn writer(memory: Memory<'static>) -> Self::Writer {
        // SAFETY: the caller's duties are the same.
        unsafe { improved_peterson::writer(memory, 2, BUFFERS) }.unwrap()
    }

    unsafe fn reader(memory: Memory<'static>, which: u32) -> Self::Reader {
        // SAFETY: the caller's duties are the same.
        unsafe { improved_peterson::slow_reader(memory, 2, BUFFERS, which) }.unwrap()
    }

    fn write(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        writer.write(value);
        true
    }

    fn read(reader: &mut Self::Reader) -> Got<[u64; N]> {
        reader.read().map_or(Got::Nothing, Got::Value)
    }
}
