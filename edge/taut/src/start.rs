// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::process::ExitCode;

use taut_boot::{Guarantees, LoadError, RunningApplication};
use taut_plan::Plan;
use taut_run::{App, Config, Error, Reason, ReplayConfig, RunObserver};
use taut_time::Duration;

/// Prints to stderr as much of a line as stderr takes without waiting: the application goes on whether or not anybody
/// reads it.
macro_rules! report {
    ($($text:tt)*) => {{
        let _ = taut_run::write_error(&format!("{}\n", format_args!($($text)*)));
    }};
}

/// Boots and runs the application whose plan the environment names; see [`crate::main!`].
pub fn start(setup: impl for<'p> FnOnce(&mut App<'p>) -> Result<(), Error>) -> ExitCode {
    taut_run::report_panics();
    if let Some(config) = ReplayConfig::from_environment() {
        return ended(taut_run::replay(&config, setup).map(|()| true));
    }
    let config = match Config::from_environment() {
        Ok(config) => config,
        Err((variable, text)) => {
            let wanted = match variable {
                "TAUT_RECORD_LIMIT" => "a size, as in \"64MiB\"",
                _ => "a duration, as in \"10s\"",
            };
            report!("error: {variable}: `{text}` is not {wanted}");
            return ExitCode::from(2);
        }
    };
    ended(taut_run::run(&config, &mut Reporter::default(), setup).map(|ending| ending.orderly))
}

/// Whether [`start`] runs the code of a recorded run again, in place of the application (`TAUT_REPLAY`). Then no component
/// finishes and no safe state runs, so a program that goes on with what they leave returns the exit code of `start` before.
pub fn is_replay() -> bool {
    ReplayConfig::from_environment().is_some()
}

/// The exit code of a run that ended, in order or not, or of an error, which this prints.
fn ended(ending: Result<bool, Error>) -> ExitCode {
    match ending {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(4),
        Err(error) => {
            report!("error: {error}");
            ExitCode::from(match error {
                Error::Load(LoadError::Stale { .. } | LoadError::Unproven(_)) => 1,
                Error::Load(_) | Error::Replay(_) => 2,
                Error::Maps(_) | Error::Privilege(_) | Error::System(_) | Error::Output(..) => 3,
                Error::Unwritten(..) => taut_run::EXIT_UNWRITTEN,
                Error::NotAdmitted(_) => taut_run::EXIT_NOT_ADMITTED,
                _ => 4,
            })
        }
    }
}

/// Reports to a person, on stderr.
#[derive(Default)]
struct Reporter {
    /// The tasks' names, once they are known.
    tasks: Vec<String>,
}

impl Reporter {
    fn name(&self, task: u32) -> &str {
        self.tasks.get(task as usize).map_or("?", String::as_str)
    }
}

impl RunObserver for Reporter {
    fn guarantees(&mut self, guarantees: &Guarantees) {
        if guarantees.is_degraded() {
            report!("warning: running degraded: the proof does not hold for this run");
        }
        for lost in &guarantees.lost {
            report!("{lost}");
        }
    }

    fn beside(&mut self, others: &[RunningApplication]) {
        for other in others {
            report!("note: {other} runs beside this application");
        }
    }

    fn removed_stale(&mut self, what: &str) {
        report!("note: removed the remains of an application that died: {what}");
    }

    fn started(&mut self, plan: &Plan, boot: Option<Duration>) {
        self.tasks = plan.tasks.iter().map(|task| task.name.clone()).collect();
        match boot {
            Some(boot) => {
                let ms = boot.as_ns() / 1_000_000;
                report!("{} runs: release 0 was due {ms} ms after the start of the process", plan.app);
            }
            None => report!("{} runs", plan.app),
        }
    }

    fn stopping(&mut self, reason: Reason) {
        match reason {
            Reason::Elapsed | Reason::Asked => {}
            Reason::Signal(signal) => report!("stopping: signal {signal}"),
            Reason::Overrun(task) => {
                report!("stopping: task `{}` overran, and its policy is stop-app", self.name(task))
            }
            Reason::Panic(task) => report!("stopping: task `{}` panicked", self.name(task)),
            Reason::Limit(task) => {
                report!(
                    "stopping: a job of task `{}` did not end after kill-job requested its end",
                    self.name(task)
                )
            }
        }
    }

    fn rested(&mut self, what: &dyn std::fmt::Display) {
        report!("error: {what}");
    }

    fn stuck(&mut self, task: &str) {
        report!("error: best-effort task `{task}` did not return; the application ends without it");
    }

    fn unfinished(&mut self, task: &str, error: &dyn std::error::Error) {
        report!("error: task `{task}` could not finish: {error}");
    }
}
