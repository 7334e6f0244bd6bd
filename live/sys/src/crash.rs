// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Delays the end of the process until another thread, the guardian, has done its last work. This covers a crash, a
//! signal whose default action ends the process, and a call of `exit`. Then the signal's own action follows, so that
//! the parent sees the true cause.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::error::check;
use crate::{Result, clock, futex, interrupt, process, safe_state, signals, thread};

/// Faults of a thread, and [`std::process::abort`]: the thread does not go on.
const CRASHES: [i32; 7] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT, libc::SIGSYS, libc::SIGTRAP];

/// Signals from outside that end a process by default.
const SENT: [i32; 10] = [
    libc::SIGQUIT,
    libc::SIGXCPU,
    libc::SIGALRM,
    libc::SIGVTALRM,
    libc::SIGPROF,
    libc::SIGIO,
    libc::SIGPWR,
    libc::SIGSTKFLT,
    libc::SIGUSR1,
    libc::SIGUSR2,
];

/// Signals that request a process to end. The runtime's threads have these blocked, and the guardian awaits them; but
/// foreign code may unblock them in its thread, where the kernel then delivers them.
const ASKED: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// The thread that is notified of crashes; 0 if there is none.
static GUARDIAN: AtomicI32 = AtomicI32::new(0);
/// The guardian's process. A child of `fork` handles its own crashes.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// The first crash: `who` above the signal, which has [`SENT_BIT`] if a process or the kernel sent it.
static CRASH: AtomicU64 = AtomicU64::new(0);
static DONE: AtomicU32 = AtomicU32::new(0);
/// How long a crashed thread waits, beyond the time of a safe state, ns.
static PATIENCE: AtomicU64 = AtomicU64::new(0);
/// Whether a call of `exit` notifies the guardian, too.
static EXITS: AtomicBool = AtomicBool::new(false);
/// The handler of signals that are sent; 0 if it is not installed.
static ON_SENT: AtomicUsize = AtomicUsize::new(0);

/// A bit above all signal numbers.
const SENT_BIT: i32 = 1 << 16;

/// The event that would have ended the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crash {
    /// The thread, as [`crate::thread::tid`]; for a signal that was sent, the process that sent it, 0 if the kernel
    /// did.
    pub who: i32,
    /// The signal; 0 if the thread called `exit`.
    pub signal: i32,
    /// Whether a process or the kernel sent the signal: no thread of this process crashed.
    pub sent: bool,
}

impl Crash {
    /// Whether the thread waits where it crashed, and ends after [`release_crashed_thread`].
    pub fn is_of_thread(&self) -> bool {
        !self.sent && CRASHES.contains(&self.signal)
    }
}

/// Makes the calling thread the guardian: from now on a crash notifies it, by [`interrupt::send`]. A crashed thread
/// waits for the guardian for at most `patience_ns`, plus the time of a safe state.
///
/// # Errors
/// None is expected.
pub fn enrol_guardian(patience_ns: u64) -> Result {
    static AT_EXIT: Once = Once::new();
    PATIENCE.store(patience_ns, Ordering::Relaxed);
    PROCESS.store(std::process::id(), Ordering::Relaxed);
    GUARDIAN.store(thread::tid(), Ordering::Release);
    AT_EXIT.call_once(|| {
        // SAFETY: a function of ours that does not unwind, and stays as long as the process.
        let _ = unsafe { libc::atexit(on_exit) };
    });
    for signal in CRASHES {
        handle(signal, on_crash)?;
    }
    // If the application has set an action for the signal, that action stays.
    let handle_default = |signal: i32, handler: Handler| match is_default(signal)? {
        true => handle(signal, handler),
        false => Ok(()),
    };
    ON_SENT.store(on_sent as Handler as usize, Ordering::Relaxed);
    for signal in sent() {
        handle_default(signal, on_sent)?;
    }
    for signal in ASKED {
        handle_default(signal, on_asked)?;
    }
    Ok(())
}

/// Signals that may be sent, and that end a process by default.
fn sent() -> impl Iterator<Item = i32> {
    SENT.into_iter().chain(libc::SIGRTMIN()..=libc::SIGRTMAX())
}

/// The signals of [`sent`] for which the application has set no action of its own.
fn ours() -> Vec<i32> {
    let on_sent = ON_SENT.load(Ordering::Relaxed);
    sent().filter(|signal| action(*signal).is_ok_and(|action| action == on_sent)).collect()
}

/// Lets the calling thread, the guardian, receive the signals that are sent, which other threads leave to it.
///
/// # Errors
/// None is expected.
pub fn take_sent() -> Result {
    signals::unblock(&ours())
}

/// Leaves the signals that are sent to the guardian, until dropped: while the calling thread waits for a disk, its
/// handlers do not run.
#[derive(Debug)]
pub struct LeftToGuardian(Vec<i32>);

impl LeftToGuardian {
    /// Blocks these signals in the calling thread.
    ///
    /// # Errors
    /// None is expected.
    pub fn leave() -> Result<Self> {
        let ours = ours();
        signals::block(&ours)?;
        Ok(Self(ours))
    }
}

impl Drop for LeftToGuardian {
    fn drop(&mut self) {
        let _ = signals::unblock(&self.0);
    }
}

fn is_default(signal: i32) -> Result<bool> {
    Ok(action(signal)? == libc::SIG_DFL)
}

/// The action for a signal, as the C library reports it.
fn action(signal: i32) -> Result<usize> {
    // SAFETY: zero is a value of all fields.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: sets nothing; the present action is written to memory of ours.
    check("sigaction", unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) })?;
    Ok(action.sa_sigaction)
}

type Handler = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);

fn handle(signal: i32, handler: Handler) -> Result {
    // SAFETY: zero is a value of all fields.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
    action.sa_sigaction = handler as usize;
    // SAFETY: `action` is ours; the mask becomes one of all signals. The handlers touch atomics, and call only
    // async-signal-safe functions.
    unsafe {
        libc::sigfillset(&mut action.sa_mask);
        check("sigaction", libc::sigaction(signal, &action, std::ptr::null_mut())).map(drop)
    }
}

/// From now on a call of `exit` notifies the guardian, too.
pub fn catch_exits() {
    EXITS.store(true, Ordering::Release);
}

/// Ends all notifications: after that, the signal of a crash takes its own action.
pub fn dismiss_guardian() {
    EXITS.store(false, Ordering::Release);
    GUARDIAN.store(0, Ordering::Release);
}

/// The first crash.
pub fn seen() -> Option<Crash> {
    let crash = CRASH.load(Ordering::Acquire);
    let signal = (crash & 0xffff_ffff) as i32;
    let (who, sent) = ((crash >> 32) as i32, signal & SENT_BIT != 0);
    (crash != 0).then_some(Crash { who, signal: signal & !SENT_BIT, sent })
}

/// Lets the crashed thread continue to its end.
pub fn release_crashed_thread() {
    DONE.store(1, Ordering::Release);
    let _ = futex::wake(&DONE, u32::MAX, false);
}

/// Ends the process by a signal's default action; with exit code `code` if that action does not end the process.
pub fn end_by(signal: i32, code: i32) -> ! {
    by_default(signal, thread::tid());
    let _ = signals::unblock(&[signal]);
    process::exit_now(code)
}

/// Records the first crash; returns `false` for a later one, since the first already ends the process.
fn note(who: i32, signal: i32) -> bool {
    CRASH.compare_exchange(0, (who as u64) << 32 | signal as u64, Ordering::AcqRel, Ordering::Relaxed).is_ok()
}

fn wait_for_the_end() {
    let patience_ns = PATIENCE.load(Ordering::Relaxed).saturating_add(safe_state::patience_ns());
    let until_ns = clock::monotonic_ns().saturating_add(patience_ns);
    while DONE.load(Ordering::Acquire) == 0 && clock::monotonic_ns() < until_ns {
        let _ = futex::wait(&DONE, 0, Some(until_ns), false);
    }
}

fn by_default(signal: i32, tid: i32) {
    // SAFETY: the default action runs no code of ours; plain integers.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, signal);
    }
}

fn is_forked() -> bool {
    PROCESS.load(Ordering::Relaxed) != std::process::id()
}

extern "C" fn on_crash(signal: i32, about: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let (tid, guardian) = (thread::tid(), GUARDIAN.load(Ordering::Acquire));
    if guardian != 0 && !is_forked() {
        // SAFETY: the kernel passes it to a handler with SA_SIGINFO.
        let sender = signals::sender(unsafe { &*about });
        if sender.is_some_and(|sender| sender != std::process::id()) {
            // Another process sent the signal: this thread has no fault, and goes on.
            on_sent(signal, about, context);
            return;
        }
        if safe_state::is_of(tid) {
            // The threads that wait for the safe state go on without it.
            safe_state::crashed(signal);
            interrupt::stay();
        }
        if tid == guardian {
            // No other thread does this: the guardian itself crashed. Of the real-time threads, those that reach their
            // handler in time park.
            interrupt::park();
            let _ = safe_state::bring_to_rest();
        } else {
            if !note(tid, signal) {
                interrupt::stay();
            }
            interrupt::note_own(context);
            interrupt::send(guardian);
            wait_for_the_end();
        }
    }
    // The signal arrives when this handler returns and the handler's signal mask ends.
    by_default(signal, tid);
}

extern "C" fn on_sent(signal: i32, about: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    let (tid, guardian) = (thread::tid(), GUARDIAN.load(Ordering::Acquire));
    if guardian == 0 || is_forked() {
        by_default(signal, tid);
        return;
    }
    // SAFETY: the C library's word of the calling thread.
    let errno = unsafe { *libc::__errno_location() };
    // SAFETY: the kernel passes it to a handler with SA_SIGINFO.
    let sender = signals::sender(unsafe { &*about }).unwrap_or(0);
    if note(sender as i32, signal | SENT_BIT) {
        interrupt::send(guardian);
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

extern "C" fn on_asked(signal: i32, about: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    let (tid, guardian) = (thread::tid(), GUARDIAN.load(Ordering::Acquire));
    if guardian == 0 || is_forked() {
        by_default(signal, tid);
        return;
    }
    // SAFETY: the C library's word of the calling thread; and the kernel passes `about` to a handler with SA_SIGINFO.
    // Forwards the signal to the guardian, with its sender, as if it had been sent there; the kernel allows a thread
    // to set the sender only for a queued signal.
    unsafe {
        let errno = *libc::__errno_location();
        let mut about = *about;
        about.si_code = libc::SI_QUEUE;
        libc::syscall(libc::SYS_rt_tgsigqueueinfo, libc::getpid(), guardian, signal, &raw mut about);
        *libc::__errno_location() = errno;
    }
}

extern "C" fn on_exit() {
    let (tid, guardian) = (thread::tid(), GUARDIAN.load(Ordering::Acquire));
    let reported = guardian != 0 && EXITS.load(Ordering::Acquire) && !is_forked();
    if !reported || tid == guardian || safe_state::is_of(tid) {
        return;
    }
    if note(tid, 0) {
        interrupt::send(guardian);
    }
    wait_for_the_end();
}
