// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Prints the message of a panic without waiting for the reader of stderr: a job that waits to print its panic has
//! not ended, and nobody notices the panic.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::fmt::Write;
use std::panic;
use std::thread;

use taut_sys::terminal;

/// From now on, a panic writes as much of its message to stderr as stderr takes without waiting; the hook of the
/// standard library waits. The message has a backtrace if the environment asks for one (`RUST_BACKTRACE`). For the
/// start of a program: a hook that the program sets later replaces this one.
pub fn report_panics() {
    panic::set_hook(Box::new(|about| {
        let thread = thread::current();
        let mut text = format!("\nthread '{}' {about}\n", thread.name().unwrap_or("<unnamed>"));
        let backtrace = Backtrace::capture();
        let _ = match backtrace.status() {
            BacktraceStatus::Captured => write!(text, "stack backtrace:\n{backtrace}"),
            _ => text.write_str("note: `RUST_BACKTRACE=1` in the environment gives a backtrace\n"),
        };
        let _ = terminal::write_error(&text);
    }));
}
