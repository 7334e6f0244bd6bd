// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_share::Memory;
use taut_share::state::spinlock;

use super::{Got, State};

pub(crate) struct Spinlock;

impl<const N: usize> State<N> for Spinlock {
    const NAME: &'static str = "spinlock";
    const READERS: u32 = 2;
    const ATOMIC: bool = true;
    const WRITES_ALWAYS: bool = false;
    const READS_ALWAYS: bool = false;
    const READERS_MAY_DIE: bool = false;
    const WRITE_STEPS: u64 = 3 + N as u64;
    const READ_STEPS: u64 = 3 + N as u64;

    type Writer = spinlock::Writer<'static, [u64; N]>;
    type Reader = spinlock::Reader<'static, [u64; N]>;

    fn bytes() -> usize {
        spinlock::bytes::<[u64; N]>()
    }

    unsafe fn writer(memory: Memory<'static>) -> Self::Writer {
        // SAFETY: the caller's duties are the same.
        unsafe { spinlock::writer(memory) }.unwrap()
    }

    unsafe fn reader(memory: Memory<'static>, which: u32) -> Self::Reader {
        // SAFETY: the caller's duties are the same.
        unsafe { spinlock::reader(memory, which) }.unwrap()
    }

    fn write(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        writer.try_write(value).is_ok()
    }

    fn read(reader: &mut Self::Reader) -> Got<[u64; N]> {
        match reader.try_read() {
            Ok(Some(sample)) => Got::Value(sample.value),
            Ok(None) => Got::Nothing,
            Err(spinlock::LockHeld) => Got::Unavailable,
        }
    }
}
