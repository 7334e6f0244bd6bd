// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Blocking and awaiting signals. The runtime blocks termination in every thread and lets one best-effort thread
//! await it, so that no handler of it runs on a real-time thread.

use std::time::Duration;

use crate::error::check;
use crate::{Error, Result};

pub use libc::{SIGCONT, SIGHUP, SIGINT, SIGKILL, SIGSTOP, SIGTERM, SIGUSR1};

/// The signals that request a program to end. SIGHUP, which a terminal sends when it closes, is among them unless the
/// program was started with it ignored, as by `nohup`.
pub fn termination() -> &'static [i32] {
    let ignored = is_ignored(SIGHUP);
    if ignored { &[SIGINT, SIGTERM] } else { &[SIGINT, SIGTERM, SIGHUP] }
}

/// Whether a signal is ignored.
fn is_ignored(signal: i32) -> bool {
    // SAFETY: zero is a value of all fields.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: sets nothing; the present action is written to memory of ours.
    let asked = unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) };
    asked == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// Makes writing to a pipe without a reader, or to a file that has reached its size limit, an error of the write: no
/// signal ends the process. Includes [`write_in_background`].
///
/// # Errors
/// None is expected.
pub fn write_errors_only() -> Result {
    ignore(libc::SIGPIPE)?;
    ignore(libc::SIGXFSZ)?;
    write_in_background()
}

/// Lets this process write to a terminal from the background, even if the terminal is set to stop such processes
/// (`stty tostop`). Programs that this process starts inherit this.
///
/// # Errors
/// None is expected.
pub fn write_in_background() -> Result {
    ignore(libc::SIGTTOU)
}

fn ignore(signal: i32) -> Result {
    // SAFETY: ignoring a signal runs no code of ours.
    let before = unsafe { libc::signal(signal, libc::SIG_IGN) };
    if before == libc::SIG_ERR { Err(Error::last("signal")) } else { Ok(()) }
}

/// A signal that [`take`] received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Its number.
    pub number: i32,
    /// The process that sent it; 0 if the kernel did, as for Ctrl-C.
    pub sender: u32,
}

/// Faults of the thread itself: blocking them would not hold them back.
const FAULTS: [i32; 7] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGABRT, libc::SIGSYS];

/// Blocks these signals in the calling thread, and in threads that it starts afterwards.
///
/// # Errors
/// EINVAL for a number that is no signal.
pub fn block(signals: &[i32]) -> Result {
    mask(libc::SIG_BLOCK, &set(signals)?)
}

/// Undoes [`block`].
///
/// # Errors
/// EINVAL for a number that is no signal.
pub fn unblock(signals: &[i32]) -> Result {
    mask(libc::SIG_UNBLOCK, &set(signals)?)
}

/// Blocks every signal in the calling thread except its own faults: for real-time threads.
///
/// # Errors
/// None is expected.
pub fn block_all() -> Result {
    // Miri has no signals.
    if cfg!(miri) {
        return Ok(());
    }
    // SAFETY: a set of bits, for which zero is a value.
    let mut all: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is ours and writable.
    check("sigfillset", unsafe { libc::sigfillset(&mut all) })?;
    for signal in FAULTS {
        // SAFETY: the set is ours and writable.
        check("sigdelset", unsafe { libc::sigdelset(&mut all, signal) })?;
    }
    mask(libc::SIG_BLOCK, &all)
}

/// Awaits one of these signals, which every thread has blocked; `None` after `timeout` (no timeout: for ever).
/// Blocks; for a best-effort thread.
///
/// # Errors
/// EINVAL for a number that is no signal.
pub fn wait_for(signals: &[i32], timeout: Option<Duration>) -> Result<Option<i32>> {
    Ok(take(signals, timeout)?.map(|taken| taken.number))
}

/// As [`wait_for`], and also returns the sender.
///
/// # Errors
/// EINVAL for a number that is no signal.
pub fn take(signals: &[i32], timeout: Option<Duration>) -> Result<Option<Taken>> {
    let set = set(signals)?;
    let deadline = timeout.and_then(|timeout| std::time::Instant::now().checked_add(timeout));
    loop {
        let time = deadline.map(|deadline| {
            let left = deadline.saturating_duration_since(std::time::Instant::now());
            crate::clock::timespec(u64::try_from(left.as_nanos()).unwrap_or(u64::MAX))
        });
        let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: integers and room for them, for which zero is a value.
        let mut about: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: the set is ours, the information goes to memory of ours, `time` is null or outlives the call.
        let signal = unsafe { libc::sigtimedwait(&set, &mut about, time) };
        match check("sigtimedwait", signal) {
            Ok(number) => {
                return Ok(Some(Taken { number, sender: sender(&about).unwrap_or(0) }));
            }
            Err(error) if error.errno == libc::EAGAIN => return Ok(None),
            // A handler ran for another signal, outside the set.
            Err(error) if error.errno == libc::EINTR => {}
            Err(error) => return Err(error),
        }
    }
}

/// The process that sent a signal; `None` if the kernel did.
pub(crate) fn sender(about: &libc::siginfo_t) -> Option<u32> {
    let sent = matches!(about.si_code, libc::SI_USER | libc::SI_QUEUE | libc::SI_TKILL);
    // SAFETY: the field exists for a signal that a process sent.
    sent.then(|| u32::try_from(unsafe { about.si_pid() }).unwrap_or(0))
}

/// Sends a signal to a process.
///
/// # Errors
/// ESRCH if there is no such process; EPERM if it belongs to another user; EINVAL for a number that is no signal, or
/// for a `pid` below 1, which would name a process group.
pub fn kill(pid: u32, signal: i32) -> Result {
    let invalid = Error { call: "kill", errno: libc::EINVAL };
    let pid = i32::try_from(pid).ok().filter(|&pid| pid > 0).ok_or(invalid)?;
    // SAFETY: plain integers.
    check("kill", unsafe { libc::kill(pid, signal) }).map(drop)
}

/// Lets a closed pipe end the process silently, as command-line tools do. Rust's start-up code ignores the signal, so
/// that printing into `head` would panic.
///
/// # Errors
/// None is expected.
pub fn end_at_closed_pipe() -> Result {
    // SAFETY: the default action runs no code of ours.
    let before = unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    if before == libc::SIG_ERR { Err(Error::last("signal")) } else { Ok(()) }
}

fn set(signals: &[i32]) -> Result<libc::sigset_t> {
    // SAFETY: a set of bits, for which zero is a value.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is ours and writable.
    check("sigemptyset", unsafe { libc::sigemptyset(&mut set) })?;
    for &signal in signals {
        // SAFETY: as above; the call refuses a number that is no signal.
        check("sigaddset", unsafe { libc::sigaddset(&mut set, signal) })?;
    }
    Ok(set)
}

fn mask(how: i32, set: &libc::sigset_t) -> Result {
    // SAFETY: the set is ours and readable; the old one is not requested.
    match unsafe { libc::pthread_sigmask(how, set, std::ptr::null_mut()) } {
        0 => Ok(()),
        errno => Err(Error { call: "pthread_sigmask", errno }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "calls sigemptyset")]
    fn blocked_signals_wait_for_us() {
        // A signal to the process could reach another test's thread: send to this thread alone.
        std::thread::spawn(|| {
            block_all().unwrap();
            assert_eq!(wait_for(&[SIGUSR1], Some(Duration::from_millis(1))), Ok(None));
            // SAFETY: this thread is alive and has the signal blocked.
            assert_eq!(unsafe { libc::pthread_kill(libc::pthread_self(), SIGUSR1) }, 0);
            assert_eq!(wait_for(&[SIGUSR1, SIGTERM], None), Ok(Some(SIGUSR1)));
            unblock(termination()).unwrap();
        })
        .join()
        .unwrap();
        assert_eq!(block(&[0]).unwrap_err().errno, libc::EINVAL);
        assert_eq!(kill(0, 0).unwrap_err().errno, libc::EINVAL);
        kill(std::process::id(), 0).unwrap();
        assert_eq!(kill(i32::MAX as u32, 0).unwrap_err().errno, libc::ESRCH);
    }
}
