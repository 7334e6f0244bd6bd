// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::ffi::CStr;
use std::fmt;

/// A call that Linux refused.
///
/// Two words, `Copy`, no allocation: a real-time path may return it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// The call's name, as in its manual page.
    pub call: &'static str,
    /// The error number, as in `errno(3)`.
    pub errno: i32,
}

/// The result of a call.
pub type Result<T = ()> = std::result::Result<T, Error>;

impl Error {
    /// The error of the call that just failed, with the calling thread's `errno`.
    pub(crate) fn last(call: &'static str) -> Self {
        // SAFETY: the location is the calling thread's own and always readable.
        Self { call, errno: unsafe { *libc::__errno_location() } }
    }

    /// From a failed operation of the standard library.
    pub fn from_io(call: &'static str, error: &std::io::Error) -> Self {
        Self { call, errno: error.raw_os_error().unwrap_or(libc::EIO) }
    }

    /// Whether a privilege is missing: EPERM or EACCES.
    pub fn is_privilege(&self) -> bool {
        matches!(self.errno, libc::EPERM | libc::EACCES)
    }

    /// Whether the call would have had to wait: EAGAIN.
    pub fn would_block(&self) -> bool {
        self.errno == libc::EAGAIN
    }
}

/// `value` unless it is -1.
pub(crate) fn check(call: &'static str, value: libc::c_int) -> Result<libc::c_int> {
    if value == -1 { Err(Error::last(call)) } else { Ok(value) }
}

/// As [`check`], for calls that count bytes.
pub(crate) fn check_size(call: &'static str, value: libc::ssize_t) -> Result<usize> {
    usize::try_from(value).map_err(|_| Error::last(call))
}

impl fmt::Display for Error {
    /// `sched_setscheduler: Operation not permitted (EPERM)`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut buffer = [0u8; 128];
        // SAFETY: the buffer is ours and as long as we say; the XSI form ends what it writes with a zero.
        let text = unsafe { libc::strerror_r(self.errno, buffer.as_mut_ptr().cast(), buffer.len()) };
        let text = match (text, CStr::from_bytes_until_nul(&buffer)) {
            (0, Ok(text)) => text.to_str().unwrap_or("unknown error"),
            _ => "unknown error",
        };
        match name(self.errno) {
            Some(name) => write!(f, "{}: {text} ({name})", self.call),
            None => write!(f, "{}: {text} ({})", self.call, self.errno),
        }
    }
}

impl std::error::Error for Error {}

macro_rules! names {
    ($($name:ident)*) => {
        /// The symbol of an error number that this crate's calls can return.
        fn name(errno: i32) -> Option<&'static str> {
            match errno {
                $(libc::$name => Some(stringify!($name)),)*
                _ => None,
            }
        }
    };
}

names! {
    EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT EBUSY EEXIST ENODEV ENOTDIR
    EISDIR EINVAL ENFILE EMFILE ETXTBSY EFBIG ENOSPC EROFS EPIPE ERANGE EDEADLK ENAMETOOLONG ENOSYS ELOOP EPROTO
    EOVERFLOW EMSGSIZE ENOTSOCK EOPNOTSUPP EADDRINUSE EADDRNOTAVAIL ENOBUFS ECONNRESET EISCONN ENOTCONN ETIMEDOUT
    ECONNREFUSED EALREADY EINPROGRESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "compares texts of the C library")]
    fn display_names_the_call_the_reason_and_the_symbol() {
        let error = Error { call: "sched_setscheduler", errno: libc::EPERM };
        assert_eq!(error.to_string(), "sched_setscheduler: Operation not permitted (EPERM)");
        let error = Error { call: "ioctl", errno: libc::ENOTTY };
        assert_eq!(error.to_string(), format!("ioctl: Inappropriate ioctl for device ({})", libc::ENOTTY));
        assert!(Error { call: "x", errno: 99_999 }.to_string().contains("99999"));
    }
}
