// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Builds `dev/storm` and the applications that it runs in release mode, as they are shipped.

use std::process::ExitCode;

use crate::command::{Command, End};
use crate::tree::Tree;

/// What is drawn.
#[derive(Debug, clap::Args)]
pub(crate) struct Storm {
    /// How many runs
    #[arg(long, default_value_t = 100)]
    runs: u32,
    /// What the storm follows from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// This fault alone
    #[arg(long)]
    only: Option<String>,
}

/// Builds and runs the storm, with its output on the terminal.
pub(crate) fn run(tree: &Tree, storm: &Storm) -> ExitCode {
    let build = "cargo build --locked --release -p taut-cli -p taut-cochlear -p taut-drive -p taut-storm";
    if Command::line(build).dir(tree.root()).show() != End::Code(0) {
        return ExitCode::FAILURE;
    }
    let mut program = Command::new(tree.target().join("release/taut-storm"))
        .args(["--runs".to_owned(), storm.runs.to_string(), "--seed".to_owned(), storm.seed.to_string()])
        .args(["--built".as_ref(), tree.target().join("release").as_os_str()]);
    if let Some(fault) = &storm.only {
        program = program.args(["--only", fault]);
    }
    match program.dir(tree.root()).show() {
        End::Code(0) => ExitCode::SUCCESS,
        End::Code(2) => ExitCode::from(2),
        _ => ExitCode::FAILURE,
    }
}
