// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Whether the calling thread has lost its processor since its last check, at the cost of a load.
//!
//! A thread that has registered for restartable sequences (glibc registers all, from 2.35 on) declares to the kernel
//! in one word which sequence it is in. Whenever the kernel has switched the thread out, it reads that word, and
//! writes 0 if the thread is at none of the instructions described there. [`SwitchMark::set`] describes a sequence
//! without instructions. So the word stays as it is until the kernel has switched the thread out for any reason: the
//! thread slept, or another one preempted it. A signal that the thread handles clears the word as well.
//!
//! Kernels from 6.19 on may leave the word alone if the thread went to sleep in a system call. [`SwitchMark::new`]
//! tries this; if a sleep leaves the word as it was, there is no mark.

use crate::rseq;
use crate::usage::thread_usage;

/// A word that the kernel clears when it has switched the calling thread out.
#[derive(Clone, Copy, Debug)]
pub struct SwitchMark {
    /// From the thread pointer to the kernel's area; 0 if there is no mark.
    offset: isize,
}

impl SwitchMark {
    /// Finds out whether there is a mark, with a sleep of some microseconds. For boot.
    pub fn new() -> Self {
        let mark = Self { offset: rseq::offset() };
        if !mark.exists() {
            return mark;
        }
        // One try may succeed by chance: a preemption on the way to sleep clears the word as well. And if the sleep's
        // end comes before it begins, as on a machine that was paused meanwhile, the kernel does not switch the
        // thread out.
        let mut sleeps = 0;
        for _ in 0..64 {
            let before = thread_usage();
            mark.set();
            crate::clock::sleep_until(crate::clock::monotonic_ns() + 2_000);
            let clears = !mark.is_set();
            if thread_usage().since(before).voluntary_switches == 0 {
                continue;
            }
            if !clears {
                return Self::none();
            }
            sleeps += 1;
            if sleeps == 8 {
                return mark;
            }
        }
        Self::none()
    }

    /// Why there is no mark here; `None` if there is one. For boot.
    pub fn missing() -> Option<&'static str> {
        if rseq::offset() == 0 {
            return Some("the C library has not registered restartable sequences");
        }
        (!Self::new().exists()).then_some("the kernel does not change the mark when a thread sleeps")
    }

    /// No mark: [`SwitchMark::is_set`] is never true.
    pub const fn none() -> Self {
        Self { offset: 0 }
    }

    /// Whether there is a mark.
    pub const fn exists(self) -> bool {
        self.offset != 0
    }

    /// Sets the mark, which the kernel clears when it switches the calling thread out. *Real-time*: one store.
    #[inline(always)]
    pub fn set(self) {
        #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
        if self.exists() {
            rseq::set_sequence(self.offset);
        }
    }

    /// Whether there is a mark, and the calling thread has been switched out since it called [`SwitchMark::set`].
    /// *Real-time*: one load.
    #[inline(always)]
    pub fn is_lost(self) -> bool {
        self.exists() && !self.is_set()
    }

    /// Whether there is a mark, and the calling thread has not been switched out since it called [`SwitchMark::set`].
    /// Without a mark this is unknown, and the result false. *Real-time*: one load.
    #[inline(always)]
    pub fn is_set(self) -> bool {
        #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
        return self.exists() && rseq::sequence(self.offset) != 0;
        #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
        return false;
    }
}

impl Default for SwitchMark {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{monotonic_ns, sleep_until};

    #[test]
    #[cfg_attr(miri, ignore = "calls getrusage")]
    fn a_sleep_clears_it_and_work_does_not() {
        let mark = SwitchMark::new();
        println!("there is one: {}", mark.exists());
        std::thread::spawn(move || {
            let (mut kept, mut sleeps) = (0, 0);
            for _ in 0..200 {
                let before = thread_usage();
                mark.set();
                let end = monotonic_ns() + 20_000;
                while monotonic_ns() < end {}
                let set = mark.is_set();
                let after = thread_usage().since(before);
                // No switch around the reading of the mark, so none during it.
                if mark.exists() && after.voluntary_switches + after.involuntary_switches == 0 {
                    kept += u32::from(set);
                }
                let before = thread_usage();
                mark.set();
                sleep_until(monotonic_ns() + 1_000);
                let cleared = !mark.is_set();
                // A sleep whose end has come before it begins is no sleep.
                let slept = thread_usage().since(before).voluntary_switches > 0;
                assert!(cleared || !slept);
                sleeps += u32::from(slept);
            }
            assert!(sleeps > 100, "{sleeps} of 200");
            assert!(!mark.exists() || kept > 100, "{kept} of 200");
        })
        .join()
        .unwrap();
    }

    /// In this process, and in a child in which the registration is switched off.
    #[test]
    #[cfg_attr(miri, ignore = "starts other processes")]
    fn why_there_is_none_is_said() {
        const REFUSED: &str = "TAUT_TEST_REFUSED";
        let missing = SwitchMark::missing();
        assert_eq!(missing.is_some(), !SwitchMark::new().exists());
        if std::env::var_os(REFUSED).is_some() {
            assert_eq!(missing, Some("the C library has not registered restartable sequences"));
        } else {
            let mut child = std::process::Command::new(std::env::current_exe().unwrap());
            child.args(["switched::tests::why_there_is_none_is_said", "--exact"]);
            let child =
                child.env("GLIBC_TUNABLES", "glibc.pthread.rseq=0").env(REFUSED, "").output().unwrap();
            let said = String::from_utf8_lossy(&child.stdout);
            assert!(child.status.success() && said.contains("1 passed"), "{said}");
        }
    }

    #[test]
    fn without_a_mark_no_switch_is_seen() {
        let mark = SwitchMark::none();
        mark.set();
        assert!(!mark.is_set() && !mark.exists());
    }

    /// 20,000 times beside a thread that competes for the same processor: the mark shows every switch.
    #[test]
    #[cfg_attr(miri, ignore = "calls sched_getcpu")]
    fn no_switch_goes_unseen() {
        use std::sync::atomic::{AtomicBool, Ordering};
        let mark = SwitchMark::new();
        let over = AtomicBool::new(false);
        let cpu = crate::thread::current_cpu();
        std::thread::scope(|threads| {
            threads.spawn(|| {
                let _ = crate::thread::set_affinity(&[cpu]);
                while !over.load(Ordering::Relaxed) {
                    sleep_until(monotonic_ns() + 50_000);
                }
            });
            threads.spawn(|| {
                let _ = crate::thread::set_affinity(&[cpu]);
                let mut seen = 0;
                for _ in 0..20_000 {
                    mark.set();
                    let before = thread_usage();
                    let end = monotonic_ns() + 2_000;
                    while monotonic_ns() < end {}
                    let after = thread_usage().since(before);
                    let switched = after.voluntary_switches + after.involuntary_switches > 0;
                    assert!(!switched || !mark.is_set());
                    seen += u32::from(switched);
                }
                println!("switched out {seen} times");
                over.store(true, Ordering::Relaxed);
            });
        });
    }
}
