// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_share::Memory;
use taut_share::state::hybrid;

use super::{Got, State};

/// Without spare slots, so that the writer soon uses a slot again and readers make claims.
pub(crate) struct Hybrid;

impl<const N: usize> State<N> for Hybrid {
    const NAME: &'static str = "Hybrid";
    const READERS: u32 = 2;
    const ATOMIC: bool = true;
    const WRITES_ALWAYS: bool = true;
    const READS_ALWAYS: bool = true;
    const READERS_MAY_DIE: bool = true;
    const WRITE_STEPS: u64 = 8 + N as u64;
    const READ_STEPS: u64 = 7 + 2 * N as u64;

    type Writer = hybrid::Writer<'static, [u64; N]>;
    type Reader = hybrid::Reader<'static, [u64; N]>;

    fn bytes() -> usize {
        hybrid::bytes::<[u64; N]>(2, 0)
    }

    unsafe fn writer(memory: Memory<'static>) -> Self::Writer {
        // SAFETY: the caller's duties are the same.
        unsafe { hybrid::writer(memory, 2, 0) }.unwrap()
    }

    unsafe fn reader(memory: Memory<'static>, which: u32) -> Self::Reader {
        // SAFETY: the caller's duties are the same.
        unsafe { hybrid::reader(memory, 2, 0, which) }.unwrap()
    }

    fn write(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        writer.write(value);
        true
    }

    fn read(reader: &mut Self::Reader) -> Got<[u64; N]> {
        reader.read().map_or(Got::Nothing, Got::Value)
    }
}
