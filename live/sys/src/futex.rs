// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Waiting for a word to change, within a process or across processes.

use std::sync::atomic::AtomicU32;

use crate::clock::timespec;
use crate::{Error, Result};

/// Why a wait ended. Every reason can be spurious: check the word again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// A thread woke this one.
    Woken,
    /// The deadline passed.
    TimedOut,
    /// The word did not hold the expected value; the call did not wait.
    Changed,
    /// A signal arrived.
    Interrupted,
}

/// Waits while `word` holds `expected`, until a thread wakes it or [`crate::clock::monotonic_ns`] reaches `deadline`.
/// With `shared`, threads of other processes can wake it: the word lies in memory that they map too.
///
/// *Real-time*: one system call; blocks as its name says.
///
/// # Errors
/// EFAULT where the word cannot be read; ENOSYS, EINVAL are not expected.
pub fn wait(word: &AtomicU32, expected: u32, deadline: Option<u64>, shared: bool) -> Result<Waited> {
    let time = deadline.map(timespec);
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let operation = libc::FUTEX_WAIT_BITSET | private(shared);
    // SAFETY: the word is borrowed for the whole call, 4-byte aligned, and only read by the kernel; `time` is
    // null or a timespec that outlives the call. The bitset form takes the deadline as an absolute instant of
    // CLOCK_MONOTONIC.
    let result = unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            operation,
            expected,
            time,
            std::ptr::null::<u32>(),
            libc::FUTEX_BITSET_MATCH_ANY,
        )
    };
    if result == 0 { Ok(Waited::Woken) } else { ended("futex") }
}

/// The most words that [`wait_any`] takes.
pub const WORDS_MAX: usize = libc::FUTEX_WAITV_MAX as usize;

/// A word that a thread waits for together with others: see [`wait_any`].
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Awaited<'w>(libc::futex_waitv, std::marker::PhantomData<&'w AtomicU32>);

impl<'w> Awaited<'w> {
    /// Waits while `word` holds `expected`; `shared` as in [`wait`].
    pub fn new(word: &'w AtomicU32, expected: u32, shared: bool) -> Self {
        let private = if shared { 0 } else { libc::FUTEX2_PRIVATE };
        // SAFETY: all fields are integers, for which zero is a value; the reserved one must be zero.
        let mut waited: libc::futex_waitv = unsafe { std::mem::zeroed() };
        waited.val = expected.into();
        waited.uaddr = word.as_ptr().expose_provenance() as u64;
        waited.flags = (libc::FUTEX2_SIZE_U32 | private) as u32;
        Self(waited, std::marker::PhantomData)
    }
}

impl std::fmt::Debug for Awaited<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Awaited").field("expected", &self.0.val).finish_non_exhaustive()
    }
}

/// As [`wait`], for up to [`WORDS_MAX`] words at once.
///
/// *Real-time*: one system call; blocks as its name says.
///
/// # Errors
/// ENOSYS before Linux 5.16; EINVAL for no word or too many; EFAULT where a word cannot be read.
#[cfg(not(miri))]
pub fn wait_any(words: &[Awaited<'_>], deadline: Option<u64>) -> Result<Waited> {
    let time = deadline.map(timespec);
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let count = u32::try_from(words.len()).unwrap_or(u32::MAX);
    // SAFETY: `Awaited` is a `futex_waitv` and nothing else, as many as we say; its words are borrowed for the whole
    // call, and the kernel only reads them; `time` as in `wait`, by the named clock.
    let result = unsafe {
        libc::syscall(libc::SYS_futex_waitv, words.as_ptr(), count, 0, time, libc::CLOCK_MONOTONIC)
    };
    // The result is the index of the word whose waiter was woken.
    if result >= 0 {
        return Ok(Waited::Woken);
    }
    ended("futex_waitv")
}

/// Miri has no such call: this function checks the words once, and then returns after a short sleep.
#[cfg(miri)]
pub fn wait_any(words: &[Awaited<'_>], deadline: Option<u64>) -> Result<Waited> {
    let has_changed = |Awaited(word, _): &Awaited<'_>| {
        let at = std::ptr::with_exposed_provenance_mut(word.uaddr as usize);
        // SAFETY: made of a reference that is still borrowed; all accesses are atomic.
        let now = unsafe { AtomicU32::from_ptr(at) }.load(std::sync::atomic::Ordering::SeqCst);
        u64::from(now) != word.val
    };
    if words.iter().any(has_changed) {
        return Ok(Waited::Changed);
    }
    let soon = crate::clock::monotonic_ns() + 100_000;
    crate::clock::sleep_until(deadline.unwrap_or(u64::MAX).min(soon));
    Ok(if deadline.is_some_and(|deadline| deadline <= soon) { Waited::TimedOut } else { Waited::Woken })
}

/// Why a wait ended, if no wake ended it.
fn ended(call: &'static str) -> Result<Waited> {
    let error = Error::last(call);
    match error.errno {
        libc::EAGAIN => Ok(Waited::Changed),
        libc::ETIMEDOUT => Ok(Waited::TimedOut),
        libc::EINTR => Ok(Waited::Interrupted),
        _ => Err(error),
    }
}

/// Wakes up to `count` waiters of `word`; returns how many it woke. `shared` as in [`wait`], and the same on both
/// sides.
///
/// *Real-time*: one system call that does not block.
///
/// # Errors
/// EFAULT where the word is not mapped: not expected of a reference.
pub fn wake(word: &AtomicU32, count: u32, shared: bool) -> Result<u32> {
    let operation = libc::FUTEX_WAKE | private(shared);
    // The kernel takes a signed count.
    let count = count.min(i32::MAX as u32);
    // SAFETY: the kernel uses the word's address as a key and does not write to it.
    let result = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, count) };
    u32::try_from(result).map_err(|_| Error::last("futex"))
}

const fn private(shared: bool) -> i32 {
    if shared { 0 } else { libc::FUTEX_PRIVATE_FLAG }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::monotonic_ns;
    use std::sync::atomic::Ordering;

    #[test]
    fn every_reason() {
        for shared in [false, true] {
            let word = AtomicU32::new(7);
            assert_eq!(wait(&word, 8, None, shared), Ok(Waited::Changed));
            let deadline = monotonic_ns() + 2_000_000;
            assert_eq!(wait(&word, 7, Some(deadline), shared), Ok(Waited::TimedOut));
            assert!(monotonic_ns() >= deadline);
            assert_eq!(wake(&word, u32::MAX, shared), Ok(0));
            std::thread::scope(|scope| {
                let waiter = scope.spawn(|| {
                    while word.load(Ordering::Acquire) == 7 {
                        wait(&word, 7, None, shared).unwrap();
                    }
                });
                std::thread::sleep(std::time::Duration::from_millis(2));
                word.store(8, Ordering::Release);
                wake(&word, 1, shared).unwrap();
                waiter.join().unwrap();
            });
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "calls futex_waitv")]
    fn any_of_several() {
        let words = [const { AtomicU32::new(7) }; 3];
        let all = |expected| words.each_ref().map(|word| Awaited::new(word, expected, false));
        assert_eq!(wait_any(&all(8), None), Ok(Waited::Changed));
        let deadline = monotonic_ns() + 2_000_000;
        assert_eq!(wait_any(&all(7), Some(deadline)), Ok(Waited::TimedOut));
        assert!(monotonic_ns() >= deadline);
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                while words[2].load(Ordering::Acquire) == 7 {
                    wait_any(&all(7), None).unwrap();
                }
            });
            std::thread::sleep(std::time::Duration::from_millis(2));
            words[2].store(8, Ordering::Release);
            wake(&words[2], 1, false).unwrap();
            waiter.join().unwrap();
        });
        assert!(wait_any(&[], None).is_err());
    }
}
