// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Printing that stops nothing: what a closed pipe or a full disk does not take is lost. The standard library's macros panic
//! there, and a command that watches an application must not.

/// To stdout.
macro_rules! out {
    ($($text:tt)*) => {{
        let _ = std::io::Write::write_fmt(&mut std::io::stdout(), format_args!($($text)*));
    }};
}

/// A line to stdout.
macro_rules! outln {
    ($($text:tt)*) => {
        $crate::say::out!("{}\n", format_args!($($text)*))
    };
}

/// To stderr.
macro_rules! err {
    ($($text:tt)*) => {{
        let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!($($text)*));
    }};
}

/// A line to stderr.
macro_rules! errln {
    ($($text:tt)*) => {
        $crate::say::err!("{}\n", format_args!($($text)*))
    };
}

pub(crate) use {err, errln, out, outln};
