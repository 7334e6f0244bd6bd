// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a person looks at.

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
