// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The CPU that the calling thread is on, at the cost of a load.

/// Reads the number of the CPU that the calling thread runs on.
///
/// The kernel keeps it for each thread that has registered for restartable sequences, which the C library does for all
/// (glibc from 2.35 on). Elsewhere, or where that is switched off, it is asked for by [`crate::thread::current_cpu`].
#[derive(Clone, Copy, Debug)]
pub struct CpuReader {
    /// From the thread pointer to the kernel's word; 0 if there is none.
    offset: isize,
}

impl CpuReader {
    /// Finds out how. For boot.
    pub fn new() -> Self {
        Self { offset: offset() }
    }

    /// Whether it is one load.
    pub fn is_load(&self) -> bool {
        self.offset != 0
    }

    /// The CPU. *Real-time*: one load, or what [`crate::thread::current_cpu`] takes.
    #[inline(always)]
    pub fn now(&self) -> u32 {
        #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
        if self.offset != 0 {
            return load(self.offset);
        }
        crate::thread::current_cpu().into()
    }
}

impl CpuReader {
    /// The CPU, for who knows that it is one load ([`CpuReader::is_load`]); without that it is any number. One load.
    #[inline(always)]
    pub fn loaded(&self) -> u32 {
        #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
        return load(self.offset);
        #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
        return u32::MAX;
    }
}

impl Default for CpuReader {
    fn default() -> Self {
        Self::new()
    }
}

/// `cpu_id` of `struct rseq`: the CPU, or a negative number while the thread is not registered.
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
#[inline(always)]
fn load(offset: isize) -> u32 {
    let cpu: u32;
    // SAFETY: `offset` is what the C library says: that from any thread's pointer to its own registered area, which
    // lives as long as the thread; the word is read by one instruction, as the kernel's interface wants it.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        core::arch::asm!(
            "mov {cpu:e}, dword ptr fs:[{offset} + 4]",
            cpu = lateout(reg) cpu,
            offset = in(reg) offset,
            options(nostack, preserves_flags, readonly)
        );
        #[cfg(target_arch = "aarch64")]
        core::arch::asm!(
            "mrs {pointer}, tpidr_el0",
            "add {pointer}, {pointer}, {offset}",
            "ldr {cpu:w}, [{pointer}, #4]",
            pointer = out(reg) _,
            cpu = lateout(reg) cpu,
            offset = in(reg) offset,
            options(nostack, preserves_flags, readonly)
        );
    }
    cpu
}

/// From the thread pointer to the area, if the calling thread's is registered.
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
fn offset() -> isize {
    // SAFETY: the names end with a zero; the symbols, where they exist, are an isize and a u32 that are set before main
    // and never change.
    let (offset, size) = unsafe {
        let offset = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_offset".as_ptr()).cast::<isize>();
        let size = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_size".as_ptr()).cast::<u32>();
        if offset.is_null() || size.is_null() {
            return 0;
        }
        (offset.read(), size.read())
    };
    // The size is 0 where the registration failed or was switched off.
    if offset == 0 || size < 8 || load(offset) >= crate::thread::CPU_LIMIT.into() { 0 } else { offset }
}

#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
fn offset() -> isize {
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread::{affinity, set_affinity};

    #[test]
    fn it_is_the_cpu_that_the_thread_was_put_on() {
        let reader = CpuReader::new();
        println!("one load: {}", reader.is_load());
        std::thread::spawn(move || {
            for cpu in affinity().unwrap() {
                set_affinity(&[cpu]).unwrap();
                assert_eq!(reader.now(), u32::from(cpu));
            }
        })
        .join()
        .unwrap();
    }
}
