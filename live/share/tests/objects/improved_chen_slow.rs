// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_share::Memory;
use taut_share::state::improved_chen;

use super::{Got, State};

/// The readers that claim; there could be fast ones beside them.
pub(crate) struct ImprovedChenSlow;

impl<const N: usize> State<N> for ImprovedChenSlow {
    const NAME: &'static str = "Improved Chen, slow readers";
    const READERS: u32 = 2;
    const ATOMIC: bool = true;
    const WRITES_ALWAYS: bool = true;
    const READS_ALWAYS: bool = true;
    const READERS_MAY_DIE: bool = true;
    const WRITE_STEPS: u64 = 8 + N as u64;
    const READ_STEPS: u64 = 5 + N as u64;

    type Writer = improved_chen::Writer<'static, [u64; N]>;
    type Reader = improved_chen::SlowReader<'static, [u64; N]>;

    fn bytes() -> usize {
        improved_chen::bytes::<[u64; N]>(2, 2)
    }

    unsafe fn writer(memory: Memory<'static>) -> Self::Writer {
        // SAFETY: the caller's duties are the same.
        unsafe { improved_chen::writer(memory, 2, 2) }.unwrap()
    }

    unsafe fn reader(memory: Memory<'static>, which: u32) -> Self::Reader {
        // SAFETY: the caller's duties are the same.
        unsafe { improved_chen::slow_reader(memory, 2, 2, which) }.unwrap()
    }

    fn write(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        writer.write(value);
        true
    }

    fn read(reader: &mut Self::Reader) -> Got<[u64; N]> {
        reader.read().map_or(Got::Nothing, Got::Value)
    }
}
