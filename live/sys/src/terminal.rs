// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Output to a terminal.

use crate::error::{check, check_size};
use crate::{Error, Result};

/// Columns of the terminal on stdout, or else on stderr; `None` if neither is one.
pub fn width() -> Option<usize> {
    [libc::STDOUT_FILENO, libc::STDERR_FILENO].into_iter().find_map(|fd| {
        // SAFETY: four integers, for which zero is a value.
        let mut size: libc::winsize = unsafe { std::mem::zeroed() };
        // SAFETY: `size` is ours and writable, and what TIOCGWINSZ writes.
        let result = unsafe { libc::ioctl(fd, libc::TIOCGWINSZ, &mut size) };
        (result == 0 && size.ws_col > 0).then_some(size.ws_col.into())
    })
}

/// The bytes that a pipe takes in one piece, or refuses.
const WHOLE: usize = libc::PIPE_BUF;

/// Writes to the standard error stream as much as it takes without waiting, without a lock, a buffer or the heap. If
/// a pipe's reader does not read, the pipe takes only what it has room for, and the rest is lost.
///
/// # Errors
/// EAGAIN if it takes no more, EPIPE if its reader is gone, ENOSPC if a disk is full: the rest is lost.
pub fn write_error(text: &str) -> Result {
    for part in text.as_bytes().chunks(WHOLE) {
        let mut ready = libc::pollfd { fd: libc::STDERR_FILENO, events: libc::POLLOUT, revents: 0 };
        // SAFETY: one entry, which is ours and writable.
        if check("poll", unsafe { libc::poll(&mut ready, 1, 0) })? == 0 {
            return Err(Error { call: "poll", errno: libc::EAGAIN });
        }
        // SAFETY: the part is ours and as long as we say.
        let wrote = unsafe { libc::write(libc::STDERR_FILENO, part.as_ptr().cast(), part.len()) };
        check_size("write", wrote)?;
    }
    Ok(())
}
