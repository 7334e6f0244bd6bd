// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_share::Memory;
use taut_share::state::tccp::{self, Shape};

use super::{Got, State};

/// The form whose writer activates itself at each write, and whose readers read the newest value.
pub(crate) struct Tccp;

const SHAPE: Shape = Shape { lower: 2, higher: 0, buffers: 4 };

impl<const N: usize> State<N> for Tccp {
    const NAME: &'static str = "TCCP";
    const READERS: u32 = 2;
    const ATOMIC: bool = true;
    const WRITES_ALWAYS: bool = true;
    const READS_ALWAYS: bool = false;
    const READERS_MAY_DIE: bool = true;
    const WRITE_STEPS: u64 = 4 + N as u64;
    const READ_STEPS: u64 = 4 + N as u64;

    type Writer = tccp::Publisher<'static, [u64; N]>;
    type Reader = tccp::Reader<'static, [u64; N]>;

    fn bytes() -> usize {
        tccp::bytes::<[u64; N]>(SHAPE).unwrap()
    }

    unsafe fn writer(memory: Memory<'static>) -> Self::Writer {
        // SAFETY: the caller's duties are the same.
        unsafe { tccp::publisher(memory, SHAPE) }.unwrap()
    }

    unsafe fn reader(memory: Memory<'static>, which: u32) -> Self::Reader {
        // SAFETY: the caller's duties are the same.
        unsafe { tccp::reader(memory, SHAPE, which) }.unwrap()
    }

    fn write(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        writer.write(value);
        true
    }

    fn read(reader: &mut Self::Reader) -> Got<[u64; N]> {
        match reader.read_newest() {
            Ok(Some(sample)) => Got::Value(sample.value),
            Ok(None) => Got::Nothing,
            Err(tccp::ReaderOvertaken) => Got::Unavailable,
        }
    }
}
