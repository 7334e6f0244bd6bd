// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The CPU that the calling thread is on, read with one load.

use crate::rseq;

/// Reads the number of the CPU that the calling thread runs on.
///
/// The kernel keeps this number for each thread that has registered for restartable sequences, which glibc does for
/// all threads from 2.35 on. Elsewhere, or where registration is switched off, the reader calls
/// [`crate::thread::current_cpu`].
#[derive(Clone, Copy, Debug)]
pub struct CpuReader {
    /// From the thread pointer to the kernel's word; 0 if the thread is not registered.
    offset: isize,
}

impl CpuReader {
    /// Finds out whether the kernel's word can be read. For boot.
    pub fn new() -> Self {
        Self { offset: rseq::offset() }
    }

    /// Whether reading the CPU is one load.
    pub fn is_load(&self) -> bool {
        self.offset != 0
    }

    /// The CPU. *Real-time*: one load, or the cost of [`crate::thread::current_cpu`].
    #[inline(always)]
    pub fn now(&self) -> u32 {
        #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
        if self.offset != 0 {
            return rseq::cpu(self.offset);
        }
        crate::thread::current_cpu().into()
    }
}

impl CpuReader {
    /// The CPU, for a caller that knows that it is one load ([`CpuReader::is_load`]); otherwise any number. One load.
    #[inline(always)]
    pub fn loaded(&self) -> u32 {
        #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
        return rseq::cpu(self.offset);
        #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
        return u32::MAX;
    }
}

impl Default for CpuReader {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread::{affinity, set_affinity};

    #[test]
    #[cfg_attr(miri, ignore = "calls sched_getcpu")]
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
