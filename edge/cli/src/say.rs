// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Printing that never fails: output that a closed pipe or a full disk does not take is lost. The standard library's
//! macros panic there, and a command that supervises an application must not.

/// Prints to stdout.
macro_rules! out {
    ($($text:tt)*) => {{
        let _ = std::io::Write::write_fmt(&mut std::io::stdout(), format_args!($($text)*));
    }};
}

/// Prints a line to stdout.
macro_rules! outln {
    ($($text:tt)*) => {
        $crate::say::out!("{}\n", format_args!($($text)*))
    };
}

/// Prints to stderr.
macro_rules! err {
    ($($text:tt)*) => {{
        let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!($($text)*));
    }};
}

/// Prints a line to stderr.
macro_rules! errln {
    ($($text:tt)*) => {
        $crate::say::err!("{}\n", format_args!($($text)*))
    };
}

pub(crate) use {err, errln, out, outln};
