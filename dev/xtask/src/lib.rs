// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Every developer command. CI runs the same commands.
//!
//! `cargo xtask` without a command lists them. A command that checks prints a line per step and ends with
//! `N passed, N failed` (and `, N skipped` if a step could not run, with the reason above). It fails if a check failed.
//!
//! What is measured is in `dev/bars`, which uses what this library exports: how to run programs and build tools.
#![forbid(unsafe_code)]
// A tool for a terminal: it prints.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod absence;
mod applications;
mod checkers;
mod command;
mod counts;
mod covered;
mod deny;
mod document;
mod drivers;
mod exchange;
mod measured;
mod mutants;
mod nightly;
mod oracle;
mod orderings;
mod papers;
mod peers;
mod python;
mod skips;
mod spdx;
mod step;
mod storm;
mod suite;
mod tally;
mod toolchain;
mod tree;
mod uav;

pub use command::{Command, End, Output};
pub use exchange::simso;
pub use oracle::program as oracle;
pub use peers::cargo as cargo_of_peers;
pub use python::beside_the_command;
pub use tally::Tally;
pub use toolchain::jvm;
pub use tree::Tree;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::measured::Passed;
use crate::step::Step;

/// Every developer command of taut; CI runs the same.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Everything that must hold before a merge: rules, tests, model checking, Miri, thread sanitizer, documents
    Ci,
    /// What a contributor must see pass: the fast part of `ci`
    Test,
    /// Format, and let clippy mend what it can
    Fix,
    /// Build the documentation of all crates; warnings are errors
    Doc,
    /// Rules of absence: what must not be there (see ARCHITECTURE.md)
    Absence,
    /// Protocol files: headings, and memory orderings labelled at both ends
    Orderings,
    /// Links in Markdown lead somewhere
    Links,
    /// Source files begin with licence and authors
    Spdx,
    /// Crates of others are declared, used and explained
    Deps,
    /// Licences, versions, sources and advisories of the crates of others (see deny.toml)
    Deny,
    /// Commands in documents exist, and all commands are documented
    Commands,
    /// A test that returns early is counted as skipped
    Skips,
    /// What sources cite is in docs/bibliography.md
    Citations,
    /// A comparison, printed with its spread
    #[command(disable_help_flag = true)]
    Bench(Passed),
    /// Promises in numbers, measured anew; JSON in target/bars/NAME.json
    #[command(disable_help_flag = true)]
    Bars(Passed),
    /// Ours beside other people's libraries, measured in one run
    #[command(disable_help_flag = true)]
    Peers(Passed),
    /// The papers' experiments, run anew: pages, figures and rows
    Papers(papers::Papers),
    /// Analyses beside other tools' results of the same task sets
    Oracle {
        /// A folder of files of cases, *.jsonl [default: dev/oracle/cases]
        folder: Option<std::path::PathBuf>,
    },
    /// The drivers of examples/sweep, with two workers: the same rows as one process
    Drivers,
    /// What `taut export` writes, run by SimSo, rt-app and MAST as far as they are there, beside ours
    Exchange,
    /// `apps/uav` flies an aircraft of JSBSim, in virtual time and in real time
    Uav {
        /// How long it flies in real time, in s
        #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(10..=3600))]
        seconds: u64,
    },
    /// The Python package: wheel, tests, types and notebook, in environments of its own below target/
    Python,
    /// Miri over all of `live/` that it can run, by Stacked and by Tree Borrows: CI's step, and what is too long for CI
    Miri,
    /// Applications that faults drawn at random befall: what was drawn against what their verdicts name
    Storm(storm::Storm),
    /// The long forms of the tests, again and again for a time; or one of them
    Soak {
        /// `execute`: random sets on threads, analysed, executed and simulated, beside a load; `applications`: random
        /// applications, planned, executed and judged; `mutants`: changes of the source that no test notices; what the time
        /// was too short for is counted as skipped
        #[arg(value_parser = ["applications", "execute", "mutants"])]
        name: Option<String>,
        /// How long
        #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=1440))]
        minutes: u64,
        /// Ordinary threads that keep the machine busy beside `execute`; by default as many as processors
        #[arg(long, requires = "name")]
        load: Option<usize>,
        /// Of `mutants`, this area alone
        #[arg(long, requires = "name", value_parser = clap::builder::PossibleValuesParser::new(mutants::names()))]
        only: Option<String>,
    },
}

/// Runs the command that the arguments of this process name.
pub fn run() -> ExitCode {
    let arguments = Arguments::parse();
    let tree = match Tree::here() {
        Ok(tree) => tree,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::from(2);
        }
    };
    match arguments.task {
        Task::Ci => closing(&tree, &suite::ci()),
        Task::Test => closing(&tree, &suite::test()),
        Task::Fix => in_turn(
            &tree,
            &[
                "cargo clippy --workspace --all-targets --features taut-cli/parquet,taut-cochlear/screen --fix --allow-dirty --allow-staged",
                "cargo fmt --all",
            ],
        ),
        Task::Doc => closing(&tree, &suite::documentation()),
        Task::Absence => closing(&tree, &absence::steps()),
        Task::Orderings => closing(&tree, &[suite::orderings()]),
        Task::Links => closing(&tree, &[suite::links()]),
        Task::Spdx => closing(&tree, &[suite::spdx()]),
        Task::Deps => closing(&tree, &[suite::dependencies()]),
        Task::Deny => closing(&tree, &deny::steps()),
        Task::Commands => closing(&tree, &[suite::commands()]),
        Task::Citations => closing(&tree, &[suite::citations()]),
        Task::Skips => closing(&tree, &[suite::skips()]),
        Task::Bench(passed) => measured::run(&tree, "bench", &passed),
        Task::Bars(passed) => measured::run(&tree, "bars", &passed),
        Task::Peers(passed) => measured::run(&tree, "peers", &passed),
        Task::Papers(options) => papers::run(&tree, &options),
        Task::Oracle { folder } => oracle::run(&tree, folder),
        Task::Drivers => closing(&tree, &drivers::steps()),
        Task::Miri => closing(&tree, &checkers::miri_steps()),
        Task::Storm(storm) => storm::run(&tree, &storm),
        Task::Exchange => closing(&tree, &exchange::steps()),
        Task::Uav { seconds } => closing(&tree, &[uav::step(seconds)]),
        Task::Python => closing(&tree, &python::steps()),
        Task::Soak { name: None, minutes, .. } => suite::soak(&tree, minutes),
        Task::Soak { name: Some(name), only, minutes, .. } if name == "mutants" => {
            closing(&tree, &mutants::steps(only.as_deref(), minutes))
        }
        Task::Soak { name: Some(name), minutes, .. } if name == "applications" => {
            applications::soak(&tree, minutes)
        }
        Task::Soak { name: Some(_), minutes, load, .. } => oracle::soak(&tree, minutes, load),
    }
}

/// The names of all commands.
fn names() -> Vec<String> {
    let command = Arguments::command();
    command.get_subcommands().map(|task| task.get_name().to_owned()).filter(|name| name != "help").collect()
}

/// Runs the steps and prints the closing line.
fn closing(tree: &Tree, steps: &[Step]) -> ExitCode {
    let tally = step::run(tree, steps);
    println!("{tally}");
    tally.exit()
}

/// Runs commands, with their output on the terminal, until one fails.
fn in_turn(tree: &Tree, lines: &[&str]) -> ExitCode {
    for line in lines {
        println!("{line}");
        if Command::line(line).dir(tree.root()).show() != End::Code(0) {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
        assert!(names().contains(&"ci".to_owned()) && !names().contains(&"help".to_owned()));
    }
}
