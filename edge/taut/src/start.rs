// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::process::ExitCode;

use taut_boot::{LoadError, Posture};
use taut_plan::Plan;
use taut_run::{App, Config, Error, Observer, Reason};
use taut_time::Duration;

/// A line to stderr, of what that takes without waiting: the application goes on whoever reads it, or does not.
macro_rules! tell {
    ($($text:tt)*) => {{
        let _ = taut_run::tell(&format!("{}\n", format_args!($($text)*)));
    }};
}

/// Boots and runs the application whose plan the environment names; see [`crate::main!`].
pub fn start(setup: impl for<'p> FnOnce(&mut App<'p>) -> Result<(), Error>) -> ExitCode {
    taut_run::tell_panics();
    let config = match Config::from_environment() {
        Ok(config) => config,
        Err((variable, text)) => {
            tell!("error: {variable}: `{text}` is not a duration, as in \"10s\"");
            return ExitCode::from(2);
        }
    };
    match taut_run::run(&config, &mut Teller::default(), setup) {
        Ok(ending) if ending.orderly => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(4),
        Err(error) => {
            tell!("error: {error}");
            ExitCode::from(match error {
                Error::Load(LoadError::Stale { .. } | LoadError::Unproven(_)) => 1,
                Error::Load(_) => 2,
                Error::Maps(_) | Error::Privilege(_) | Error::System(_) | Error::Output(..) => 3,
                Error::Unwritten(..) => taut_run::EXIT_UNWRITTEN,
                _ => 4,
            })
        }
    }
}

/// Tells people on stderr.
#[derive(Default)]
struct Teller {
    /// The tasks' names, once they are known.
    tasks: Vec<String>,
}

impl Teller {
    fn name(&self, task: u32) -> &str {
        self.tasks.get(task as usize).map_or("?", String::as_str)
    }
}

impl Observer for Teller {
    fn posture(&mut self, posture: &Posture) {
        if posture.is_degraded() {
            tell!("warning: running degraded: what was proven does not hold for this run");
        }
        for lost in &posture.lost {
            tell!("{lost}");
        }
    }

    fn removed_stale(&mut self, what: &str) {
        tell!("note: removed what an application that died left behind: {what}");
    }

    fn started(&mut self, plan: &Plan, boot: Option<Duration>) {
        self.tasks = plan.tasks.iter().map(|task| task.name.clone()).collect();
        match boot {
            Some(boot) => {
                let ms = boot.as_ns() / 1_000_000;
                tell!("{} runs: release 0 was due {ms} ms after the start of the process", plan.app);
            }
            None => tell!("{} runs", plan.app),
        }
    }

    fn stopping(&mut self, reason: Reason) {
        match reason {
            Reason::Elapsed | Reason::Asked => {}
            Reason::Signal(signal) => tell!("stopping: signal {signal}"),
            Reason::Overrun(task) => {
                tell!("stopping: task `{}` overran and says stop-app", self.name(task))
            }
            Reason::Panic(task) => tell!("stopping: task `{}` panicked", self.name(task)),
            Reason::Limit(task) => tell!("stopping: task `{}` was told to end and did not", self.name(task)),
        }
    }

    fn rested(&mut self, what: &dyn std::fmt::Display) {
        tell!("error: {what}");
    }

    fn stuck(&mut self, task: &str) {
        tell!("error: best-effort task `{task}` did not return; the application ends without it");
    }

    fn unfinished(&mut self, task: &str, error: &dyn std::error::Error) {
        tell!("error: task `{task}` could not finish: {error}");
    }
}
