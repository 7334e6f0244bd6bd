// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_share::Memory;
use taut_share::state::nbw_temporal;

use super::{Got, State};

/// The number that a writer needs if two writes can overlap a read.
const BUFFERS: u32 = 4;

pub(crate) struct NbwTemporal;

impl<const N: usize> State<N> for NbwTemporal {
    const NAME: &'static str = "NBW-temporal";
    const READERS: u32 = 2;
    const ATOMIC: bool = true;
    const WRITES_ALWAYS: bool = true;
    const READS_ALWAYS: bool = false;
    const READERS_MAY_DIE: bool = true;
    const WRITE_STEPS: u64 = 2 + N as u64;
    const READ_STEPS: u64 = 4 + N as u64;

    type Writer = nbw_temporal::Writer<'static, [u64; N]>;
    type Reader = nbw_temporal::Reader<'static, [u64; N]>;

    fn bytes() -> usize {
        nbw_temporal::bytes::<[u64; N]>(BUFFERS).unwrap()
    }

    unsafe fn writer(memory: Memory<'static>) -> Self::Writer {
        // SAFETY: the caller's duties are the same.
        unsafe { nbw_temporal::writer(memory, BUFFERS) }.unwrap()
    }

    unsafe fn reader(memory: Memory<'static>, _: u32) -> Self::Reader {
        // SAFETY: the caller's duties are the same.
        unsafe { nbw_temporal::reader(memory, BUFFERS) }.unwrap()
    }

    fn write(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        writer.write(value);
        true
    }

    fn read(reader: &mut Self::Reader) -> Got<[u64; N]> {
        match reader.read() {
            Ok(Some(sample)) => Got::Value(sample.value),
            Ok(None) => Got::Nothing,
            Err(nbw_temporal::ReaderOvertaken) => Got::Unavailable,
        }
    }
}
