// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A thread that crashes waits until another one has done what must be done before the process ends. Then the signal's own
//! action follows, so that the parent sees the true one.

use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use crate::error::check;
use crate::{Result, clock, futex, interrupt, thread};

/// Faults of a thread, and [`std::process::abort`].
const SIGNALS: [i32; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT];

/// Who is told; 0: nobody.
static GUARDIAN: AtomicI32 = AtomicI32::new(0);
/// Whose crash nobody has to be told of: it runs the hook.
static APART: AtomicI32 = AtomicI32::new(0);
/// The first crash: the thread above the signal.
static CRASH: AtomicU64 = AtomicU64::new(0);
static DONE: AtomicU32 = AtomicU32::new(0);
/// How long a crashed thread waits, ns.
static PATIENCE: AtomicU64 = AtomicU64::new(0);

/// A crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crash {
    /// The thread, as [`crate::thread::tid`].
    pub tid: i32,
    /// The signal.
    pub signal: i32,
}

/// Tells the calling thread of crashes from now on, by [`interrupt::send`]; a crashed thread waits for it at most so long.
///
/// # Errors
/// None is expected.
pub fn tell_me(patience_ns: u64) -> Result {
    PATIENCE.store(patience_ns, Ordering::Relaxed);
    GUARDIAN.store(thread::tid(), Ordering::Release);
    for signal in SIGNALS {
        // SAFETY: zero is a value of all fields.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        action.sa_sigaction =
            on_crash as extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) as usize;
        // SAFETY: `action` is ours; the mask becomes one of all signals. The handler touches atomics, and calls what is safe in
        // handlers.
        unsafe {
            libc::sigfillset(&mut action.sa_mask);
            check("sigaction", libc::sigaction(signal, &action, std::ptr::null_mut()))?;
        }
    }
    Ok(())
}

/// The calling thread's own crash is nobody's business from now on.
pub fn apart() {
    APART.store(thread::tid(), Ordering::Release);
}

/// Tells nobody any more: a crash has its own action.
pub fn tell_nobody() {
    GUARDIAN.store(0, Ordering::Release);
}

/// The first crash.
pub fn seen() -> Option<Crash> {
    let crash = CRASH.load(Ordering::Acquire);
    (crash != 0).then_some(Crash { tid: (crash >> 32) as i32, signal: (crash & 0xffff_ffff) as i32 })
}

/// Lets the crashed thread go on to its end.
pub fn let_go() {
    DONE.store(1, Ordering::Release);
    let _ = futex::wake(&DONE, u32::MAX, false);
}

extern "C" fn on_crash(signal: i32, _about: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let (tid, guardian) = (thread::tid(), GUARDIAN.load(Ordering::Acquire));
    if guardian != 0 && tid != guardian && tid != APART.load(Ordering::Acquire) {
        let crash = (tid as u64) << 32 | signal as u64;
        if CRASH.compare_exchange(0, crash, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            // Another one came first, and ends the process.
            interrupt::stay();
        }
        interrupt::note_own(context);
        interrupt::send(guardian);
        let until_ns = clock::monotonic_ns().saturating_add(PATIENCE.load(Ordering::Relaxed));
        while DONE.load(Ordering::Acquire) == 0 && clock::monotonic_ns() < until_ns {
            let _ = futex::wait(&DONE, 0, Some(until_ns), false);
        }
    }
    // SAFETY: the default action runs no code of ours; plain integers. It comes when this handler returns and its mask ends.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, signal);
    }
}
