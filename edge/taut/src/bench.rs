// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! An application in virtual time, for tests: the program's own components run under its own plan, on one
//! thread, without privilege. The same seed gives the same run.
//!
//! ```no_run
//! use taut::bench::{Bench, ExecutionTime};
//! use taut::{App, Component, Duration, Error, Failure, Job, Task};
//!
//! # struct Blink;
//! # impl Component for Blink {}
//! # impl Task for Blink {
//! #     fn release(&mut self, _: &mut Job<'_>) -> Result<(), Failure> { Ok(()) }
//! # }
//! fn set_up(app: &mut App<'_>) -> Result<(), Error> {
//!     app.task("blink", |_| Ok(Blink))
//! }
//!
//! # fn main() -> Result<(), Error> {
//! let mut bench = Bench::new("taut.lock", set_up)?.seed(7);
//! bench.execution("blink", ExecutionTime::uniform(Duration::from_us(10)..=Duration::from_us(90)))?;
//! bench.run_for(Duration::from_s(1_000))?;
//! assert_eq!(bench.stopped(), None);
//! # Ok(())
//! # }
//! ```
//!
//! [`Bench`] says when the code of a job runs, and what a bench does not show. docs/testing.md has more:
//! clients that a test plays, faults, and reports.

use taut_event::file::Run;
pub use taut_report::{Report, RunVerdict};
pub use taut_run::Reason;
pub use taut_run::bench::{Bench, ExecutionTime, PartyCaller, PlayedParties, PlayedParty, Sent};

use crate::Error;

/// The report of a run so far: every figure and the verdict that `taut report` gives for a recording.
///
/// # Errors
/// As [`Bench::recording`].
pub fn report(bench: &Bench) -> Result<Report, Error> {
    let bytes = bench.recording()?;
    let run = Run::from_bytes(&bytes).map_err(|malformed| Error::Bench(malformed.to_string()))?;
    Ok(Report::new(bench.plan(), &run))
}
