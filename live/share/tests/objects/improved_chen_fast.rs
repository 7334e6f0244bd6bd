// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_share::Memory;
use taut_share::state::improved_chen;

use super::{Got, State};

/// The readers that rely on time, which nothing here guarantees; one slow reader beside them never reads.
pub(crate) struct ImprovedChenFast;

impl<const N: usize> State<N> for ImprovedChenFast {
    const NAME: &'static str = "Improved Chen, fast readers";
    const READERS: u32 = 2;
    const ATOMIC: bool = true;
    const WRITES_ALWAYS: bool = true;
    const READS_ALWAYS: bool = false;
    const READERS_MAY_DIE: bool = true;
    const WRITE_STEPS: u64 = 6 + N as u64;
    const READ_STEPS: u64 = 4 + N as u64;

    type Writer = improved_chen::Writer<'static, [u64; N]>;
    type Reader = improved_chen::FastReader<'static, [u64; N]>;

    fn bytes() -> usize {
        improved_chen::bytes::<[u64; N]>(1, 2)
    }

    unsafe fn writer(memory: Memory<'static>) -> Self::Writer {
        // SAFETY: the caller's duties are the same.
        unsafe { improved_chen::writer(memory, 1, 2) }.unwrap()
    }

    unsafe fn reader(memory: Memory<'static>, _: u32) -> Self::Reader {
        // SAFETY: the caller's duties are the same.
        unsafe { improved_chen::fast_reader(memory, 1, 2) }.unwrap()
    }

    fn write(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        writer.write(value);
        true
    }

    fn read(reader: &mut Self::Reader) -> Got<[u64; N]> {
        match reader.try_read() {
            Ok(Some(sample)) => Got::Value(sample.value),
            Ok(None) => Got::Nothing,
            Err(improved_chen::ReaderOvertaken) => Got::Unavailable,
        }
    }
}
