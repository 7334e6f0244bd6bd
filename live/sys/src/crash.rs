// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What would end the process at once waits until another thread has done what must be done before: a crash, a signal whose
//! default is to end the process, a call of `exit`. Then the signal's own action follows, so that the parent sees the true one.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::error::check;
use crate::{Result, clock, futex, interrupt, process, safe_state, signals, thread};

/// Faults of a thread, and [`std::process::abort`]: the thread does not go on.
const CRASHES: [i32; 7] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT, libc::SIGSYS, libc::SIGTRAP];

/// What comes from outside, and ends a process that says nothing about it.
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

/// What asks a process to end. Threads of the runtime have these blocked, and the guardian awaits them; but code of others may
/// unblock them in its thread, where the kernel then delivers them.
const ASKED: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Who is told; 0: nobody.
static GUARDIAN: AtomicI32 = AtomicI32::new(0);
/// In which process: one that it forks is on its own.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// The first crash: who above the signal, which has [`SENT_BIT`] if somebody else sent it.
static CRASH: AtomicU64 = AtomicU64::new(0);
static DONE: AtomicU32 = AtomicU32::new(0);
/// How long a crashed thread waits, beyond what a safe state takes, ns.
static PATIENCE: AtomicU64 = AtomicU64::new(0);
/// Whether a call of `exit` is told, too.
static EXITS: AtomicBool = AtomicBool::new(false);
/// The handler of signals that are sent; 0: not installed.
static ON_SENT: AtomicUsize = AtomicUsize::new(0);

/// Above all numbers of signals.
const SENT_BIT: i32 = 1 << 16;

/// What would have ended the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crash {
    /// The thread, as [`crate::thread::tid`]; of a signal that was sent, the process that sent it, 0 if the kernel did.
    pub who: i32,
    /// The signal; 0: the thread called `exit`.
    pub signal: i32,
    /// Whether the signal was sent, by whoever: no thread of this process crashed.
    pub sent: bool,
}

impl Crash {
    /// Whether the thread stands where it crashed, and comes to its end by [`release_crashed_thread`].
    pub fn is_of_thread(&self) -> bool {
        !self.sent && CRASHES.contains(&self.signal)
    }
}

/// Tells the calling thread of crashes from now on, by [`interrupt::send`]; a crashed thread waits for it at most so long, and
/// as long as a safe state takes.
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
    // What the application does itself with it stays.
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

/// What may be sent, and ends a process that says nothing about it.
fn sent() -> impl Iterator<Item = i32> {
    SENT.into_iter().chain(libc::SIGRTMIN()..=libc::SIGRTMAX())
}

/// Of these, those about which the application does nothing itself.
fn ours() -> Vec<i32> {
    let on_sent = ON_SENT.load(Ordering::Relaxed);
    sent().filter(|signal| action(*signal).is_ok_and(|action| action == on_sent)).collect()
}

/// The calling thread, which is told of crashes, takes signals that are sent, though another one leaves them to it.
///
/// # Errors
/// None is expected.
pub fn take_sent() -> Result {
    signals::unblock(&ours())
}

/// Leaves signals that are sent to the thread that is told of crashes, until dropped: while the calling one waits for a disk,
/// its handlers do not run.
#[derive(Debug)]
pub struct LeftToGuardian(Vec<i32>);

impl LeftToGuardian {
    /// Of the calling thread.
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

/// What is done about a signal, as the C library has it.
fn action(signal: i32) -> Result<usize> {
    // SAFETY: zero is a value of all fields.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: nothing is set; the present one is written to what is ours.
    check("sigaction", unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) })?;
    Ok(action.sa_sigaction)
}

type Handler = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);

fn handle(signal: i32, handler: Handler) -> Result {
    // SAFETY: zero is a value of all fields.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
    action.sa_sigaction = handler as usize;
    // SAFETY: `action` is ours; the mask becomes one of all signals. The handlers touch atomics, and call what is safe in
    // handlers.
    unsafe {
        libc::sigfillset(&mut action.sa_mask);
        check("sigaction", libc::sigaction(signal, &action, std::ptr::null_mut())).map(drop)
    }
}

/// From now on a call of `exit` is told, too.
pub fn catch_exits() {
    EXITS.store(true, Ordering::Release);
}

/// Tells nobody any more: a crash has its own action.
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

/// Lets the crashed thread go on to its end.
pub fn release_crashed_thread() {
    DONE.store(1, Ordering::Release);
    let _ = futex::wake(&DONE, u32::MAX, false);
}

/// Ends the process by a signal's default action, or if that does not, with this code.
pub fn end_by(signal: i32, code: i32) -> ! {
    by_default(signal, thread::tid());
    let _ = signals::unblock(&[signal]);
    process::exit_now(code)
}

/// The first one is noted; another one ends the process already.
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
        // SAFETY: what the kernel gives a handler with SA_SIGINFO.
        let sender = signals::sender(unsafe { &*about });
        if sender.is_some_and(|sender| sender != std::process::id()) {
            // Of no fault of this thread, which goes on.
            on_sent(signal, about, context);
            return;
        }
        if safe_state::is_of(tid) {
            // Who waits for it goes on without it.
            safe_state::crashed(signal);
            interrupt::stay();
        }
        if tid == guardian {
            // Nobody else does: real-time threads are parked as far as they come to it.
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
    // It comes when this handler returns and its mask ends.
    by_default(signal, tid);
}

extern "C" fn on_sent(signal: i32, about: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    let (tid, guardian) = (thread::tid(), GUARDIAN.load(Ordering::Acquire));
    if guardian == 0 || is_forked() {
        by_default(signal, tid);
        return;
    }
    // SAFETY: the C library's, of the calling thread.
    let errno = unsafe { *libc::__errno_location() };
    // SAFETY: what the kernel gives a handler with SA_SIGINFO.
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
    // SAFETY: the C library's, of the calling thread; and what the kernel gives a handler with SA_SIGINFO. As if it had been sent
    // to the guardian, with who sent it; the kernel lets a thread say so of a queued signal alone.
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
