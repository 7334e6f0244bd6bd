// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Sleeping until a descriptor can be read, and reading and writing without waiting.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

use crate::error::{check, check_size};
use crate::socket::{self, Poll};
use crate::{Error, Result};

/// Ends a sleep in [`wait`]. Any thread may notify it.
#[derive(Debug)]
pub struct Wake(OwnedFd);

impl Wake {
    /// A wake that has not been notified. It is closed on exec.
    ///
    /// # Errors
    /// EMFILE and ENFILE without descriptors left.
    pub fn new() -> Result<Self> {
        // SAFETY: plain integers.
        let fd = check("eventfd", unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
        // SAFETY: the descriptor is new and ours alone.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Ends a sleep in [`wait`] with this wake, and each later one until [`Wake::clear`]. *Real-time*: one system call.
    pub fn notify(&self) {
        // It fails only if the counter is at its limit, and then the wake is notified already.
        let _ = write(self.0.as_fd(), &1_u64.to_ne_bytes());
    }

    /// Forgets all earlier calls of [`Wake::notify`]. *Real-time*: one system call.
    pub fn clear(&self) {
        // It fails only if the wake has not been notified.
        let _ = read(self.0.as_fd(), &mut [0; 8]);
    }
}

/// Makes [`read()`] and [`write()`] of a descriptor return instead of waiting. The same holds then for each user of the same open
/// file, also in other processes.
///
/// # Errors
/// EBADF is impossible for a descriptor that is borrowed; others as `fcntl(2)` says.
pub fn do_not_block(fd: BorrowedFd<'_>) -> Result {
    // SAFETY: plain integers.
    let flags = check("fcntl", unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) })?;
    // SAFETY: as above.
    check("fcntl", unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK) }).map(drop)
}

/// Sleeps until `device` can be read, has failed or was closed by its other side, until `wake` is notified, until a signal arrives,
/// or until `patience` has passed, if there is one. Returns whether the device ended the sleep.
///
/// *Real-time*: waits only for these; one system call.
pub fn wait(device: Option<BorrowedFd<'_>>, wake: Option<&Wake>, patience: Option<Duration>) -> bool {
    let entry = |fd: Option<_>| fd.map_or(Poll::NOTHING, Poll::readable);
    let mut entries = [entry(device), entry(wake.map(|wake| wake.0.as_fd()))];
    // After an error there was no wait: the caller looks, as after a signal.
    socket::poll(&mut entries, patience).is_ok() && entries[0].ready()
}

/// The most devices that [`wait_any`] waits for.
pub const WAIT_MAX: usize = 64;

/// Sleeps until one of the devices can be read, has failed or was closed by its other side, until a signal arrives, or until
/// `patience` has passed, if there is one. Returns a bit for each device that ended the sleep, by position; it does not wait
/// for those that are `None`, nor for those behind the first [`WAIT_MAX`].
///
/// *Real-time*: waits only for these; one system call, whose time grows with the number of devices.
///
/// # Errors
/// Those of `ppoll(2)`: the limit of open files is below the number of devices.
pub fn wait_any(devices: &[Option<BorrowedFd<'_>>], patience: Option<Duration>) -> Result<u64> {
    let mut entries = [Poll::NOTHING; WAIT_MAX];
    let count = devices.len().min(WAIT_MAX);
    for (entry, device) in entries.iter_mut().zip(devices) {
        *entry = device.map_or(Poll::NOTHING, Poll::readable);
    }
    socket::poll(&mut entries[..count], patience)?;
    Ok(entries.iter().enumerate().filter(|(_, entry)| entry.ready()).fold(0, |bits, (at, _)| bits | 1 << at))
}

/// Reads what is there, at most as much as fits, and returns how many bytes; 0 at the end of the file.
///
/// *Real-time*: one system call, which does not wait after [`do_not_block`]. How long it takes depends on the device's driver.
///
/// # Errors
/// EAGAIN if nothing is there; others as `read(2)` says.
pub fn read(fd: BorrowedFd<'_>, to: &mut [u8]) -> Result<usize> {
    // SAFETY: the bytes are ours, and as many as we say.
    check_size("read", unsafe { libc::read(fd.as_raw_fd(), to.as_mut_ptr().cast(), to.len()) })
}

/// Writes as much as fits now, and returns how many bytes.
///
/// *Real-time*: as [`read`].
///
/// # Errors
/// EAGAIN if nothing fits; others as `write(2)` says. A peer that is gone is EPIPE, and SIGPIPE, which Rust programs ignore.
pub fn write(fd: BorrowedFd<'_>, from: &[u8]) -> Result<usize> {
    // SAFETY: the bytes are readable, and as many as we say.
    check_size("write", unsafe { libc::write(fd.as_raw_fd(), from.as_ptr().cast(), from.len()) })
}

impl From<Error> for std::io::Error {
    /// The error number; the name of the call is lost.
    fn from(error: Error) -> Self {
        Self::from_raw_os_error(error.errno)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "calls poll")]
    fn a_sleep_ends_by_the_device_or_the_wake() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let wake = Wake::new().unwrap();
        let ms = |ms| Some(Duration::from_millis(ms));
        let wait = |patience| wait(Some(ours.as_fd()), Some(&wake), patience);
        let before = Instant::now();
        assert!(!wait(ms(30)));
        assert!(before.elapsed() >= Duration::from_millis(30), "nothing was there");
        wake.notify();
        wake.notify();
        assert!(!wait(None), "the wake ended it");
        assert!(!wait(None), "until it is cleared");
        wake.clear();
        assert!(!wait(ms(1)));
        write(theirs.as_fd(), b"abc").unwrap();
        assert!(wait(None));
        assert!(super::wait(Some(ours.as_fd()), None, None), "still there");
        wake.notify();
        assert!(!super::wait(None, Some(&wake), None), "nobody asked for the device");
        do_not_block(ours.as_fd()).unwrap();
        let mut bytes = [0; 8];
        assert_eq!(read(ours.as_fd(), &mut bytes), Ok(3));
        assert_eq!(&bytes[..3], b"abc");
        assert!(read(ours.as_fd(), &mut bytes).unwrap_err().would_block());
        // A child that another test starts may have a copy for a moment: so the sleep has to end by the device.
        wake.clear();
        drop(theirs);
        assert!(wait(None), "the other side is gone");
        assert_eq!(read(ours.as_fd(), &mut bytes), Ok(0));
        assert_eq!(write(ours.as_fd(), b"x").unwrap_err().errno, libc::EPIPE);
    }

    #[test]
    #[cfg_attr(miri, ignore = "calls poll")]
    fn each_of_several_devices_is_told_apart() {
        let pairs: Vec<_> = (0..3).map(|_| UnixStream::pair().unwrap()).collect();
        let devices = |of: [bool; 3]| -> Vec<_> {
            pairs.iter().zip(of).map(|((ours, _), of)| of.then(|| ours.as_fd())).collect()
        };
        let soon = Some(Duration::from_millis(5));
        assert_eq!(wait_any(&devices([true; 3]), soon), Ok(0));
        write(pairs[0].1.as_fd(), b"a").unwrap();
        write(pairs[2].1.as_fd(), b"a").unwrap();
        assert_eq!(wait_any(&devices([true; 3]), None), Ok(0b101));
        assert_eq!(wait_any(&devices([false, true, true]), None), Ok(0b100), "nobody asked for the first");
        assert_eq!(wait_any(&devices([false, true, false]), soon), Ok(0));
        assert_eq!(wait_any(&[], soon), Ok(0));
    }

    #[test]
    #[cfg_attr(miri, ignore = "calls poll")]
    fn a_ring_from_another_thread_ends_a_sleep() {
        let wake = Wake::new().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                wake.notify();
            });
            assert!(!wait(None, Some(&wake), None));
        });
    }
}
