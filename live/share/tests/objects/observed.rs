// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_share::Memory;
use taut_share::state::hybrid;

use super::{Got, State};

/// Only observers, on two slots: no reader is registered.
pub(crate) struct Observed;

impl<const N: usize> State<N> for Observed {
    const NAME: &'static str = "Hybrid, observers alone";
    const READERS: u32 = 2;
    const ATOMIC: bool = true;
    const WRITES_ALWAYS: bool = true;
    const READS_ALWAYS: bool = false;
    const READERS_MAY_DIE: bool = true;
    const WRITE_STEPS: u64 = 3 + N as u64;
    const READ_STEPS: u64 = 4 + N as u64;

    type Writer = hybrid::Writer<'static, [u64; N]>;
    type Reader = hybrid::Observer<'static, [u64; N]>;

    fn bytes() -> usize {
        hybrid::bytes::<[u64; N]>(0, 0)
    }

    unsafe fn writer(memory: Memory<'static>) -> Self::Writer {
        // SAFETY: the caller's duties are the same.
        unsafe { hybrid::writer(memory, 0, 0) }.unwrap()
    }

    unsafe fn reader(memory: Memory<'static>, _: u32) -> Self::Reader {
        // SAFETY: the caller's duties are the same.
        unsafe { hybrid::observer(memory, 0, 0) }.unwrap()
    }

    fn write(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        writer.write(value);
        true
    }

    fn read(reader: &mut Self::Reader) -> Got<[u64; N]> {
        match reader.try_read() {
            Ok(Some(sample)) => Got::Value(sample.value),
            Ok(None) => Got::Nothing,
            Err(hybrid::ReaderOvertaken) => Got::Unavailable,
        }
    }
}
