// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Measures what is promised in numbers, and what it is compared with. `cargo xtask bars`, `cargo xtask bench` and
//! `cargo xtask peers` run it.
//!
//! | command | what it measures |
//! |---|---|
//! | `bars` | a set of promises, each beside its goal; JSON in `target/bars/NAME.json` |
//! | `bench` | a comparison, printed with its spread |
//! | `peers` | our objects beside other people's libraries: builds and runs `dev/peers` |
#![forbid(unsafe_code)]
// A tool for people at a terminal: it prints.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod observed;
mod peers;
mod row;
mod sets;
mod spread;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use xtask::Tree;

/// Promises in numbers, measured anew.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// A comparison, printed with its spread
    Bench {
        /// Which
        #[arg(value_parser = bench::names())]
        name: String,
    },
    /// Promises in numbers, measured anew; JSON in target/bars/NAME.json
    Bars {
        /// Which set; `all` measures one after the other, each in less than ten minutes once built
        #[arg(value_parser = sets::names())]
        name: String,
    },
    /// Ours beside other people's libraries, measured in one run
    Peers(peers::Peers),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let tree = match Tree::here() {
        Ok(tree) => tree,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::from(2);
        }
    };
    match arguments.task {
        Task::Bench { name } => bench::run(&tree, &name),
        Task::Bars { name } => sets::run(&tree, &name),
        Task::Peers(options) => peers::run(&tree, &options),
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
