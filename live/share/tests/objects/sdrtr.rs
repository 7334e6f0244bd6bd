// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_share::Memory;
use taut_share::state::sdrtr;

use super::{Got, State};

pub(crate) struct Sdrtr;

impl<const N: usize> State<N> for Sdrtr {
    const NAME: &'static str = "SDrtR";
    const READERS: u32 = 1;
    const ATOMIC: bool = true;
    const WRITES_ALWAYS: bool = false;
    const READS_ALWAYS: bool = true;
    const READERS_MAY_DIE: bool = false;
    const WRITE_STEPS: u64 = 1 + N as u64;
    const READ_STEPS: u64 = 2 + N as u64;

    type Writer = sdrtr::Writer<'static, [u64; N]>;
    type Reader = sdrtr::Reader<'static, [u64; N]>;

    fn bytes() -> usize {
        sdrtr::bytes::<[u64; N]>()
    }

    unsafe fn writer(memory: Memory<'static>) -> Self::Writer {
        // SAFETY: the caller's duties are the same.
        unsafe { sdrtr::writer(memory) }.unwrap()
    }

    unsafe fn reader(memory: Memory<'static>, _: u32) -> Self::Reader {
        // SAFETY: the caller's duties are the same.
        unsafe { sdrtr::reader(memory) }.unwrap()
    }

    fn write(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        writer.try_publish(value).is_ok()
    }

    fn read(reader: &mut Self::Reader) -> Got<[u64; N]> {
        reader.read().map_or(Got::Nothing, Got::Value)
    }
}
