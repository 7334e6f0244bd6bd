// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The papers' experiments, run anew.
//!
//! `selection` draws systems as \[Han14\] does, and sets the published heuristic beside the least memory there is.
#![forbid(unsafe_code)]
// A tool for people at a terminal: it prints.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod draw;
mod offers;
mod selection;
mod system;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The papers' experiments, run anew.
#[derive(Debug, Parser)]
#[command(name = "taut-papers")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// The published selection of mechanisms beside the least memory: gaps and times
    Selection(selection::Wish),
}

fn main() -> ExitCode {
    let Arguments { task: Task::Selection(wish) } = Arguments::parse();
    match selection::run(&wish) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
