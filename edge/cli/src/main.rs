// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The `taut` command: checks, plans, runs and reports.

mod arguments;
mod attend;
mod bench;
mod build;
mod calibrate;
mod check;
mod claims;
mod columns;
mod doctor;
mod explain;
mod export;
mod generate;
mod import;
mod input;
mod new;
mod others;
mod outcome;
mod package;
mod plan;
mod ps;
mod refute;
mod replay;
mod replay_code;
mod report;
mod run;
mod say;
mod sim;
mod sweep;
mod synthetic;
mod task_set;
mod trace;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::{Arguments, Command};
use crate::say::errln;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // `run` and `report` also write files, so they continue if the reader of their output has gone. If this call
    // fails, the other commands only continue for longer.
    if !matches!(arguments.command, Command::Run(_) | Command::Report(_)) {
        let _ = taut_sys::signals::end_at_closed_pipe();
    }
    let screen = arguments.screen();
    let outcome = match arguments.command {
        Command::New(arguments) => new::new(&arguments),
        Command::Generate(arguments) => generate::generate(&arguments, &screen),
        Command::Check(arguments) => check::check(&arguments, &screen),
        Command::Plan(arguments) => plan::plan(&arguments, &screen),
        Command::Run(arguments) => run::run(&arguments, &screen),
        Command::Refute(arguments) => refute::refute(&arguments, &screen),
        Command::Sim(arguments) => sim::sim(&arguments, &screen),
        Command::Replay(arguments) => replay::replay(&arguments),
        Command::Report(arguments) => report::report(&arguments, &screen),
        Command::Explain(arguments) => explain::explain(&arguments, &screen),
        Command::Import(arguments) => import::import(&arguments),
        Command::Export(arguments) => export::export(&arguments, &screen),
        Command::Sweep(arguments) => sweep::sweep(&arguments, &screen),
        Command::Bench(arguments) => bench::bench(&arguments),
        Command::Calibrate(arguments) => calibrate::calibrate(&arguments),
        Command::Schema => explain::schema(),
        Command::Ps(arguments) => ps::ps(&arguments),
        Command::Doctor(arguments) => doctor::doctor(&arguments, &screen),
    };
    outcome
        .unwrap_or_else(|failure| {
            errln!("error: {failure}");
            failure.outcome()
        })
        .code()
}
