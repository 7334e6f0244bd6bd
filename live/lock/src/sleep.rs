// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A word that threads of this process sleep on: a futex, or in a model a stand-in for one.

use std::fmt;

use taut_atomic::AtomicU32;
use taut_atomic::Ordering::Relaxed;

#[derive(Default)]
pub(crate) struct Futex {
    pub(crate) word: AtomicU32,
    #[cfg(any(loom, shuttle))]
    sleepers: taut_atomic::Sleepers,
}

#[cfg(not(any(loom, shuttle)))]
impl Futex {
    /// Sleeps if the word is `expected`, until woken. May return in vain.
    pub(crate) fn sleep(&self, expected: u32) {
        // An error could only mean that the word is not mapped.
        let _ = taut_sys::futex::wait(self.kernels(), expected, None, false);
    }

    /// Wakes one sleeping thread. One system call that does not block; a woken thread of a higher priority runs
    /// before the call returns.
    pub(crate) fn wake_one(&self) {
        // An error could only mean that the word is not mapped.
        let _ = taut_sys::futex::wake(self.kernels(), 1, false);
    }

    /// The word for the kernel. The kernel's accesses do not count as steps of ours.
    fn kernels(&self) -> &std::sync::atomic::AtomicU32 {
        // SAFETY: the word lives as long as `self`, and its type aligns it; all accesses are atomic.
        unsafe { std::sync::atomic::AtomicU32::from_ptr(self.word.as_ptr()) }
    }
}

#[cfg(any(loom, shuttle))]
impl Futex {
    pub(crate) fn sleep(&self, expected: u32) {
        self.sleepers.sleep_if(|| self.word.load(Relaxed) == expected);
    }

    pub(crate) fn wake_one(&self) {
        self.sleepers.wake_one();
    }
}

impl fmt::Debug for Futex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Futex({})", self.word.load(Relaxed))
    }
}

/// For the models in the protocol files: all executions of a small run by loom, 20 000 random ones by shuttle.
#[cfg(all(test, any(loom, shuttle)))]
pub(crate) fn explore(run: impl Fn() + Send + Sync + 'static) {
    #[cfg(loom)]
    {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(run);
    }
    #[cfg(shuttle)]
    shuttle::check_random(run, 20_000);
}

#[cfg(all(test, not(any(loom, shuttle))))]
pub(crate) mod tests {
    use std::sync::atomic::{AtomicI32, Ordering};

    /// Publishes the id of this thread.
    pub(crate) fn say_which(tid: &AtomicI32) {
        tid.store(taut_sys::thread::tid(), Ordering::Release);
    }

    /// Waits until the thread that publishes its id in `tid` sleeps. After that the thread does one thing that may
    /// block, and sleeps in it.
    pub(crate) fn until_asleep(tid: &AtomicI32) {
        loop {
            let tid = tid.load(Ordering::Acquire);
            if tid != 0 {
                let stat = std::fs::read_to_string(format!("/proc/self/task/{tid}/stat"));
                let (_, after_name) =
                    stat.as_deref().ok().and_then(|stat| stat.rsplit_once(')')).expect("it has ended");
                if after_name.starts_with(" S") {
                    return;
                }
            }
            std::thread::yield_now();
        }
    }
}
