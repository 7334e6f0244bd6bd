// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Policy, affinity, name and stack of the calling thread. (The standard library starts threads.)

use std::ffi::CStr;

use crate::error::check;
use crate::{Error, Result};

/// The number of CPUs that a set of Linux's C library can name: 0 to 1023.
pub const CPU_LIMIT: u16 = libc::CPU_SETSIZE as u16;

/// How Linux schedules a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadPolicy {
    /// The ordinary time-sharing policy, `SCHED_OTHER`.
    Other,
    /// `SCHED_FIFO` at a priority from 1 to 99, larger = more urgent.
    Fifo(u8),
    /// Another policy, by Linux's number (`SCHED_RR` 2, `SCHED_BATCH` 3, `SCHED_IDLE` 5, `SCHED_DEADLINE` 6).
    Unknown(i32),
}

/// Makes the calling thread `SCHED_FIFO` at `priority`, 1 to 99, larger = more urgent. Threads and processes that
/// it starts do not inherit this (`SCHED_RESET_ON_FORK`).
///
/// # Errors
/// EPERM without CAP_SYS_NICE and beyond RLIMIT_RTPRIO; EINVAL outside of 1 to 99.
pub fn set_fifo(priority: u8) -> Result {
    set(libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, priority.into())
}

/// Makes the calling thread an ordinary one, `SCHED_OTHER`.
///
/// # Errors
/// EPERM where `SCHED_RESET_ON_FORK` is set and CAP_SYS_NICE has been dropped since: the flag is kept then, so
/// this is not expected.
pub fn set_other() -> Result {
    // An unprivileged thread may not clear the flag, so the flag stays as it is.
    // SAFETY: no memory involved; 0 means the calling thread.
    let flag =
        check("sched_getscheduler", unsafe { libc::sched_getscheduler(0) })? & libc::SCHED_RESET_ON_FORK;
    set(libc::SCHED_OTHER | flag, 0)
}

/// As [`set_fifo`], for another thread of this process; `tid` as in [`tid`]. If the priority of another ready thread is
/// above the new one, that thread preempts the changed thread at once; if the priority of the running thread is below
/// the new one, the changed thread preempts the running thread.
///
/// *Real-time*: one system call that does not block, about a microsecond.
///
/// # Errors
/// As [`set_fifo`], and ESRCH if there is no such thread.
pub fn set_fifo_of(tid: i32, priority: u8) -> Result {
    set_of(tid, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, priority.into())
}

/// Makes another thread of this process an ordinary one; `tid` as in [`tid`]. Threads that it starts are ordinary,
/// too.
///
/// *Real-time*: as [`set_fifo_of`].
///
/// # Errors
/// ESRCH if there is no such thread.
pub fn set_other_of(tid: i32) -> Result {
    set_of(tid, libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK, 0)
}

/// Yields to ready threads of the same priority; returns at once if there are none.
///
/// *Real-time*: one system call, and the time that those threads run.
pub fn give_way() {
    // SAFETY: no memory involved; on Linux it cannot fail.
    unsafe { libc::sched_yield() };
}

fn set(policy: i32, priority: i32) -> Result {
    set_of(0, policy, priority)
}

fn set_of(tid: i32, policy: i32, priority: i32) -> Result {
    // SAFETY: all fields are integers, for which zero is a value.
    let mut param: libc::sched_param = unsafe { std::mem::zeroed() };
    param.sched_priority = priority;
    // SAFETY: `param` is ours and readable; 0 means the calling thread.
    check("sched_setscheduler", unsafe { libc::sched_setscheduler(tid, policy, &param) }).map(drop)
}

/// The calling thread's policy. *Real-time*: two short system calls.
///
/// # Errors
/// None is expected: a thread may always query itself.
pub fn current_policy() -> Result<ThreadPolicy> {
    policy_of(0)
}

/// A thread's policy and priority; `tid` as in [`tid`]. Two short system calls.
///
/// # Errors
/// ESRCH if there is no such thread.
pub fn policy_of(tid: i32) -> Result<ThreadPolicy> {
    // SAFETY: no memory involved.
    let policy = check("sched_getscheduler", unsafe { libc::sched_getscheduler(tid) })?;
    match policy & !libc::SCHED_RESET_ON_FORK {
        libc::SCHED_OTHER => Ok(ThreadPolicy::Other),
        libc::SCHED_FIFO => {
            // SAFETY: all fields are integers, for which zero is a value.
            let mut param: libc::sched_param = unsafe { std::mem::zeroed() };
            // SAFETY: `param` is ours and writable.
            check("sched_getparam", unsafe { libc::sched_getparam(tid, &mut param) })?;
            Ok(ThreadPolicy::Fifo(u8::try_from(param.sched_priority).unwrap_or(u8::MAX)))
        }
        other => Ok(ThreadPolicy::Unknown(other)),
    }
}

/// Whether a thread may run on this CPU and on no other. One short system call.
///
/// # Errors
/// ESRCH if there is no such thread; EINVAL on a machine with more than [`CPU_LIMIT`] CPUs.
pub fn is_pinned(tid: i32, cpu: u16) -> Result<bool> {
    // SAFETY: a set of bits, for which zero is a value.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is ours, writable, and as long as we say.
    check("sched_getaffinity", unsafe { libc::sched_getaffinity(tid, size_of_val(&set), &mut set) })?;
    // SAFETY: the CPU is below the set's size.
    Ok(cpu < CPU_LIMIT && unsafe { libc::CPU_ISSET(cpu.into(), &set) && libc::CPU_COUNT(&set) == 1 })
}

/// Lets the calling thread run on these CPUs only.
///
/// # Errors
/// EINVAL for an empty set, a CPU of [`CPU_LIMIT`] or more, or if none of them is present and allowed to this
/// process by its cpuset.
pub fn set_affinity(cpus: &[u16]) -> Result {
    set_affinity_of(0, cpus)
}

/// As [`set_affinity`], for another thread of this process; `tid` as in [`tid`]. A ready thread moves to another
/// allowed CPU at once, whichever thread runs on the CPU that it leaves.
///
/// # Errors
/// As [`set_affinity`], and ESRCH if there is no such thread.
pub fn set_affinity_of(tid: i32, cpus: &[u16]) -> Result {
    // SAFETY: a set of bits, for which zero is a value.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for &cpu in cpus {
        if cpu >= CPU_LIMIT {
            return Err(Error { call: "sched_setaffinity", errno: libc::EINVAL });
        }
        // SAFETY: `cpu` is below the set's size, as just shown.
        unsafe { libc::CPU_SET(cpu.into(), &mut set) };
    }
    // SAFETY: the set is ours, readable, and as long as we say; 0 means the calling thread.
    check("sched_setaffinity", unsafe { libc::sched_setaffinity(tid, size_of_val(&set), &set) }).map(drop)
}

/// The CPUs that the calling thread may run on, ascending. Allocates.
///
/// # Errors
/// EINVAL on a machine with more than [`CPU_LIMIT`] CPUs.
pub fn affinity() -> Result<Vec<u16>> {
    // SAFETY: a set of bits, for which zero is a value.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is ours, writable, and as long as we say; 0 means the calling thread.
    check("sched_getaffinity", unsafe { libc::sched_getaffinity(0, size_of_val(&set), &mut set) })?;
    // SAFETY: every `cpu` is below the set's size.
    Ok((0..CPU_LIMIT).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu.into(), &set) }).collect())
}

/// The CPUs that are online, ascending; those of [`affinity`] where `/sys` is not readable. Allocates.
pub fn online_cpus() -> Vec<u16> {
    std::fs::read_to_string("/sys/devices/system/cpu/online")
        .ok()
        .and_then(|text| cpu_list(&text))
        .or_else(|| affinity().ok())
        .unwrap_or_default()
}

/// The CPUs of a list as in `/sys`: `0-3,8`. `None` if the text is no such list.
pub(crate) fn cpu_list(text: &str) -> Option<Vec<u16>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cpus.extend(first.parse::<u16>().ok()?..=last.parse().ok()?);
    }
    Some(cpus)
}

/// Names the calling thread, for `ps -L` and debuggers; 15 bytes are kept.
///
/// # Errors
/// None is expected.
pub fn name(name: &CStr) -> Result {
    // SAFETY: the name ends with a zero and outlives the call.
    check("prctl", unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) }).map(drop)
}

/// The calling thread's id, as in `/proc` and in traces. *Real-time*: one short system call.
pub fn tid() -> i32 {
    // SAFETY: no arguments, cannot fail.
    unsafe { libc::gettid() }
}

/// The CPU that the calling thread runs on at this moment. *Real-time*: no system call where the vDSO provides it.
#[inline]
pub fn current_cpu() -> u16 {
    // SAFETY: no arguments; on Linux it cannot fail.
    unsafe { libc::sched_getcpu() as u16 }
}

/// Sets by how many nanoseconds Linux may delay a timer of the calling thread (by default 50 µs for an ordinary thread;
/// without effect under a real-time policy). 0 restores the default.
///
/// # Errors
/// None is expected.
pub fn timer_slack(ns: u64) -> Result {
    // SAFETY: plain integers.
    check("prctl", unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, ns) }).map(drop)
}

/// Touches `bytes` of the calling thread's stack below here, so that using them later costs no page fault. Stops 64
/// KiB above the stack's end. Returns the number of bytes that it touched. For boot: the first call in the first
/// thread reads `/proc`.
pub fn prefault_stack(bytes: usize) -> usize {
    const MARGIN: usize = 64 * 1024;
    let here = std::ptr::from_ref(&bytes).addr();
    let room = stack_low().map_or(0, |low| here.saturating_sub(low).saturating_sub(MARGIN));
    let bytes = bytes.min(room);
    if bytes > 0 {
        descend(here - bytes);
    }
    bytes
}

/// Touches every page of the stack from here down to the address `low`.
#[inline(never)]
fn descend(low: usize) {
    let mut page = [0u8; 4096];
    std::hint::black_box(&mut page);
    if page.as_ptr().addr() > low {
        descend(low);
    }
    // Used after the call too: the compiler cannot turn the call into a tail call and drop the frame.
    std::hint::black_box(&mut page);
}

/// The lowest address of the calling thread's stack.
fn stack_low() -> Option<usize> {
    stack().map(|(low, _)| low)
}

/// The lowest address of the calling thread's stack, and its size in bytes.
pub(crate) fn stack() -> Option<(usize, usize)> {
    let mut low = std::ptr::null_mut();
    let mut size = 0;
    // SAFETY: `attributes` is written by the first call before the others read it, and destroyed once, only if it
    // was made; the two outputs are ours.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
            return None;
        }
        let got = libc::pthread_attr_getstack(&attributes, &mut low, &mut size);
        libc::pthread_attr_destroy(&mut attributes);
        (got == 0).then(|| (low.addr(), size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::thread_usage;

    #[test]
    #[cfg_attr(miri, ignore = "calls sched_getcpu")]
    fn lists_of_cpus() {
        assert_eq!(cpu_list("0-2,5\n"), Some(vec![0, 1, 2, 5]));
        assert_eq!(cpu_list("\n"), Some(vec![]));
        assert_eq!(cpu_list("0-x"), None);
        assert_eq!(cpu_list("70000"), None);
        assert!(online_cpus().contains(&current_cpu()));
    }

    #[test]
    #[cfg_attr(miri, ignore = "calls sched_getscheduler")]
    fn policy_and_back() {
        std::thread::spawn(|| {
            assert_eq!(current_policy(), Ok(ThreadPolicy::Other));
            match set_fifo(3) {
                Err(error) if error.is_privilege() => println!("skipped: {error}"),
                Err(error) => panic!("{error}"),
                Ok(()) => {
                    assert_eq!(current_policy(), Ok(ThreadPolicy::Fifo(3)));
                    let me = tid();
                    let seen = std::thread::spawn(move || policy_of(me)).join().unwrap();
                    assert_eq!(seen, Ok(ThreadPolicy::Fifo(3)));
                    let inherited = std::thread::spawn(current_policy).join().unwrap();
                    assert_eq!(
                        inherited,
                        Ok(ThreadPolicy::Other),
                        "a child must not be real-time by accident"
                    );
                    set_other().unwrap();
                    assert_eq!(current_policy(), Ok(ThreadPolicy::Other));
                }
            }
            let refused = set_fifo(100).unwrap_err();
            assert_eq!((refused.call, refused.errno), ("sched_setscheduler", libc::EINVAL));
        })
        .join()
        .unwrap();
    }

    #[test]
    #[cfg_attr(miri, ignore = "calls sched_getcpu")]
    fn affinity_holds() {
        std::thread::spawn(|| {
            for cpu in affinity().unwrap() {
                set_affinity(&[cpu]).unwrap();
                assert_eq!(affinity().unwrap(), [cpu]);
                assert_eq!((is_pinned(tid(), cpu), is_pinned(0, cpu ^ 1)), (Ok(true), Ok(false)));
                assert_eq!(current_cpu(), cpu);
            }
            assert_eq!(set_affinity(&[]).unwrap_err().errno, libc::EINVAL);
            assert_eq!(set_affinity(&[CPU_LIMIT]).unwrap_err().errno, libc::EINVAL);
        })
        .join()
        .unwrap();
    }

    #[test]
    #[cfg_attr(miri, ignore = "calls prctl")]
    fn name_and_slack() {
        std::thread::spawn(|| {
            name(c"taut-test-of-names").unwrap();
            let comm = std::fs::read_to_string(format!("/proc/self/task/{}/comm", tid())).unwrap();
            assert_eq!(comm.trim(), "taut-test-of-na");
            timer_slack(1).unwrap();
            // SAFETY: reads the calling thread's value.
            assert_eq!(unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) }, 1);
        })
        .join()
        .unwrap();
    }

    #[test]
    #[cfg_attr(miri, ignore = "calls pthread_getattr_np")]
    fn prefaulted_stack_does_not_fault() {
        let work = || {
            let touched = prefault_stack(512 * 1024);
            assert_eq!(touched, 512 * 1024);
            let before = thread_usage();
            descend(std::ptr::from_ref(&touched).addr() - 256 * 1024);
            assert_eq!(thread_usage().since(before).minor_faults, 0);
        };
        std::thread::Builder::new().stack_size(1024 * 1024).spawn(work).unwrap().join().unwrap();
        // All of the stack, which the C library may have rounded up: touching must end before the guard page.
        let all = || assert!(prefault_stack(usize::MAX) > 15 << 20);
        std::thread::Builder::new().stack_size(16 << 20).spawn(all).unwrap().join().unwrap();
    }
}
