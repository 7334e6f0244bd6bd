// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a panic says, without waiting for who reads it: a job that waits to say that it panicked has not ended, and nobody knows.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::fmt::Write;
use std::panic;
use std::thread;

use taut_sys::terminal;

/// From now on the message of a panic goes to stderr as far as that takes it without waiting, in place of the standard library's
/// own way, which waits. With a backtrace, if the environment asks for one (`RUST_BACKTRACE`). For a program's start: who sets a
/// hook of his own afterwards has his own.
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
