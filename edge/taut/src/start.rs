// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

#![allow(clippy::print_stderr, reason = "edge: this is where people are told")]

use std::process::ExitCode;

use taut_boot::{LoadError, Posture};
use taut_plan::Plan;
use taut_run::{App, Config, Error, Observer, Reason};
use taut_time::Duration;

/// Boots and runs the application whose plan the environment names; see [`crate::main!`].
pub fn start(setup: impl for<'p> FnOnce(&mut App<'p>) -> Result<(), Error>) -> ExitCode {
    let config = match Config::from_environment() {
        Ok(config) => config,
        Err((variable, text)) => {
            eprintln!("error: {variable}: `{text}` is not a duration, as in \"10s\"");
            return ExitCode::from(2);
        }
    };
    match taut_run::run(&config, &mut Teller::default(), setup) {
        Ok(ending) if ending.orderly => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(4),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(match error {
                Error::Load(LoadError::Stale { .. } | LoadError::Unproven(_)) => 1,
                Error::Load(_) => 2,
                Error::Maps(_) | Error::Privilege(_) | Error::System(_) => 3,
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
            eprintln!("warning: running degraded: what was proven does not hold for this run");
        }
        for lost in &posture.lost {
            eprintln!("{lost}");
        }
    }

    fn removed_stale(&mut self, what: &str) {
        eprintln!("note: removed what an application that died left behind: {what}");
    }

    fn started(&mut self, plan: &Plan, boot: Option<Duration>) {
        self.tasks = plan.tasks.iter().map(|task| task.name.clone()).collect();
        match boot {
            Some(boot) => {
                let ms = boot.as_ns() / 1_000_000;
                eprintln!("{} runs: release 0 was due {ms} ms after the start of the process", plan.app);
            }
            None => eprintln!("{} runs", plan.app),
        }
    }

    fn stopping(&mut self, reason: Reason) {
        match reason {
            Reason::Elapsed | Reason::Asked => {}
            Reason::Signal(signal) => eprintln!("stopping: signal {signal}"),
            Reason::Overrun(task) => {
                eprintln!("stopping: task `{}` overran and says stop-app", self.name(task))
            }
            Reason::Panic(task) => eprintln!("stopping: task `{}` panicked", self.name(task)),
        }
    }

    fn stuck(&mut self, task: &str) {
        eprintln!("error: best-effort task `{task}` did not return; the application ends without it");
    }

    fn unfinished(&mut self, task: &str, error: &dyn std::error::Error) {
        eprintln!("error: task `{task}` could not finish: {error}");
    }
}
