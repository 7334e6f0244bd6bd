// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Runs the papers' experiments anew.
//!
//! | command | what it runs |
//! |---|---|
//! | `huang02` | \[Huang02\]: the space of state messages |
//! | `han14` | \[Han14\]: mechanisms for shared resources on several cores |
//! | `han14-overheads` | the same: what they cost in time |
//! | `gutierrez13` | \[Gutierrez13\]: what SRP and DFP cost |
//! | `examples` | surrogates of the systems of \[Han14\], as manifests |
//! | `speed` | how good selections are and how long they take, for bars |
#![forbid(unsafe_code)]
// A tool for people at a terminal: it prints.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod callgrind;
mod draw;
mod figure;
mod fit;
mod gutierrez13;
mod han14;
mod huang02;
mod output;
mod overheads;
mod page;
mod speed;
mod surrogate;

use std::path::PathBuf;
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
    /// How good selections are and how long they take, as JSON
    Speed(speed::Options),
    /// Mechanisms for shared resources: Figures 14 to 20
    #[command(name = "han14")]
    Mechanisms(han14::Options),
    /// What mechanisms for shared resources cost in time: Tables I to III, Figures 5 to 13
    #[command(name = "han14-overheads")]
    Overheads(overheads::Options),
    /// What `han14-overheads` has valgrind count
    #[command(name = overheads::COMMAND, hide = true)]
    CountedCalls,
    /// What SRP and DFP cost: Figures 6 to 10 and Table 1
    #[command(name = "gutierrez13")]
    Locks(gutierrez13::Options),
    /// What `gutierrez13` has valgrind count
    #[command(name = gutierrez13::COMMAND, hide = true)]
    Counted,
    /// The surrogates of two published systems, as manifests below `examples/`
    Examples {
        /// The root of the repository
        #[arg(long)]
        root: PathBuf,
    },
    /// The space of state messages: Figures 9, 10, 14 and 15 (c)
    #[command(name = "huang02")]
    Space {
        /// Where the page and its figures go
        #[arg(long)]
        out: PathBuf,
    },
}

fn main() -> ExitCode {
    let done = match Arguments::parse().task {
        Task::Speed(options) => speed::run(&options),
        Task::Mechanisms(options) => han14::run(&options),
        Task::Overheads(options) => overheads::run(&options),
        Task::CountedCalls => overheads::everything(),
        Task::Locks(options) => gutierrez13::run(&options),
        Task::Counted => gutierrez13::everything(),
        Task::Examples { root } => surrogate::examples::write(&root),
        Task::Space { out } => output::Output::new(out).and_then(|output| huang02::run(&output)),
    };
    match done {
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
