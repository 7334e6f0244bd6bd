// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Starts `dev/bars`, which measures. It runs in release mode, and parses its own arguments.

use std::process::ExitCode;

use clap::Args;

use crate::command::{Command, End};
use crate::tree::Tree;

/// Arguments that are passed on.
#[derive(Args, Debug)]
pub(crate) struct Passed {
    /// What `dev/bars` takes; `--help` shows it
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Builds the program and runs one of its commands, with the output on the terminal.
pub(crate) fn run(tree: &Tree, command: &str, passed: &Passed) -> ExitCode {
    match program(tree, command, passed).show() {
        End::Code(code) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        _ => ExitCode::FAILURE,
    }
}

fn program(tree: &Tree, command: &str, passed: &Passed) -> Command {
    let run = "cargo run --quiet --locked --release -p taut-bars --";
    Command::line(run).args([command]).args(&passed.arguments).dir(tree.root())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_passed_on() {
        let tree = Tree::here().unwrap();
        let passed = Passed { arguments: ["--rounds", "5"].map(str::to_owned).into() };
        assert!(program(&tree, "peers", &passed).shown().ends_with("-p taut-bars -- peers --rounds 5"));
    }
}
