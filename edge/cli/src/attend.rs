// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What the user sees and can do at the terminal during a long operation: a line of progress, and Ctrl-C.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use taut_sys::signals;

use crate::arguments::Screen;
use crate::outcome::{Failure, Outcome};
use crate::say::{err, errln};

/// The terminal side of a long operation, which calls it between two steps.
pub(crate) struct Attendant {
    begun: Instant,
    reported: Instant,
    rewrites: bool,
    /// How many columns a line of progress may take.
    width: usize,
    shown: bool,
    interrupted: Arc<AtomicBool>,
}

impl Attendant {
    /// From now on the first Ctrl-C only requests an end; the second one ends the process.
    pub(crate) fn new(screen: &Screen) -> Result<Self, Failure> {
        let interrupted = Arc::new(AtomicBool::new(false));
        let only = [signals::SIGINT];
        signals::block(&only).map_err(|error| Failure::Environment(error.to_string()))?;
        let flag = Arc::clone(&interrupted);
        let watch = move || {
            if !matches!(signals::wait_for(&only, None), Ok(Some(_))) {
                return;
            }
            flag.store(true, Ordering::Relaxed);
            let again = match signals::wait_for(&only, Some(Duration::from_secs(1))) {
                Ok(None) => {
                    errln!("\nending after this step; Ctrl-C again ends at once");
                    signals::wait_for(&only, None)
                }
                other => other,
            };
            if matches!(again, Ok(Some(_))) {
                std::process::exit(i32::from(Outcome::INTERRUPTED));
            }
        };
        std::thread::Builder::new()
            .name("ctrl-c".to_owned())
            .spawn(watch)
            .map_err(|error| Failure::Environment(format!("cannot start a thread: {error}")))?;
        let begun = Instant::now();
        let width = screen.width - 1;
        Ok(Self { begun, reported: begun, rewrites: screen.rewrites, width, shown: false, interrupted })
    }

    /// Whether Ctrl-C was pressed.
    pub(crate) fn interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// The time since the start.
    pub(crate) fn spent(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Shows the progress, on a terminal that can erase a line: first after a second, then at most five times a
    /// second.
    pub(crate) fn report(&mut self, text: impl FnOnce() -> String) {
        let first = if self.shown { Duration::from_millis(200) } else { Duration::from_secs(1) };
        if self.rewrites && self.reported.elapsed() > first {
            (self.reported, self.shown) = (Instant::now(), true);
            // A line that wraps could not be erased.
            let text: String = text().chars().take(self.width).collect();
            err!("\r\x1b[K{text}");
            let _ = std::io::stderr().flush();
        }
    }

    /// Erases the line of progress.
    pub(crate) fn done(&mut self) {
        if std::mem::take(&mut self.shown) {
            err!("\r\x1b[K");
            let _ = std::io::stderr().flush();
        }
    }
}
