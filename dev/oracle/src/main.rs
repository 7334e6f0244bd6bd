// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Compares our analyses with the results of other tools, of the simulator and of real threads, for the same task
//! sets.
//!
//! `cases` reads task sets with the results of other tools, and compares every result whose analysis we have.
//! `speed` measures how long analyses and runs take.
//! `campaign` draws task sets, applies every analysis that is sound for them, and simulates them.
//! `hunt` draws the same sets, and searches for runs that exceed a claimed bound.
//! `execute` draws sets that are schedulable on this machine, executes them on threads, and replays the records in
//! the simulator.
#![forbid(unsafe_code)]
// A command-line tool: it prints.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod campaign;
mod case;
mod claims;
mod compare;
mod draw;
mod executed;
mod hunt;
mod served;
mod speed;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};

use crate::case::Case;
use crate::claims::{CANARIES, hunted};
use crate::executed::End;
use crate::table::Table;

/// The exit code when a missing privilege prevents every execution.
const NOT_EXECUTED: u8 = 4;

/// Analyses held against what others say of the same task sets.
#[derive(Debug, Parser)]
#[command(name = "taut-oracle")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Compare with other tools' results; fails if one that must be equal is not, or a bound is exceeded
    Cases {
        /// A folder of files of cases, *.jsonl
        folder: PathBuf,
    },
    /// How long analyses and runs take, as JSON
    Speed {
        /// Write the sets of the runs that others are held against to this file, a line of JSON each
        #[arg(long)]
        sets_to: Option<PathBuf>,
    },
    /// Analyse random sets, and run them; fails if a run does what was ruled out
    Campaign {
        /// How many
        #[arg(long, default_value_t = 2000)]
        sets: u64,
        /// Of the first set; each next one has the next
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Stop after so long, wherever it is
        #[arg(long)]
        seconds: Option<u64>,
        /// Weaken this analysis on purpose, and fail if that is not caught; without a name each in turn
        #[arg(long, value_name = "ANALYSIS", value_parser = clap::builder::PossibleValuesParser::new(CANARIES), num_args = 0..=1)]
        canary: Option<Option<String>>,
    },
    /// Search random sets for runs that exceed what is claimed; fails if there is one
    Hunt {
        /// How long
        #[arg(long, default_value_t = 60)]
        seconds: u64,
        /// Of the first set; each next one has the next
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Look at the claims of this analysis alone
        #[arg(long, value_name = "ANALYSIS")]
        analysis: Option<String>,
        /// Weaken this analysis on purpose, and fail if that is not caught; without a name each in turn
        #[arg(long, value_name = "ANALYSIS", value_parser = clap::builder::PossibleValuesParser::new(hunted()), num_args = 0..=1)]
        canary: Option<Option<String>>,
    },
    /// Execute random sets on threads; fails if one is not what is simulated, or passes a bound that counts with what was
    /// measured of this machine
    Execute {
        /// How many, of those that are schedulable
        #[arg(long, default_value_t = 200)]
        sets: u64,
        /// Of the first set; each next one has the next
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Stop after so long, wherever it is
        #[arg(long)]
        seconds: Option<u64>,
        /// How long each set runs, in ms
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(10..=10_000))]
        time: u64,
        /// Ordinary threads that keep the machine busy meanwhile
        #[arg(long, default_value_t = 0)]
        load: usize,
        /// Keep what was found in this file, and go on from it
        #[arg(long, value_name = "FILE")]
        state: Option<PathBuf>,
        /// Do this wrong on purpose, and fail if that is not caught; without a name each in turn
        #[arg(long, value_name = "WHAT", value_parser = clap::builder::PossibleValuesParser::new(executed::CANARIES), num_args = 0..=1)]
        canary: Option<Option<String>>,
    },
}

fn main() -> ExitCode {
    let done = match Arguments::parse().task {
        Task::Cases { folder } => cases(&folder),
        Task::Speed { sets_to } => speed::run(sets_to.as_deref()).map(|()| true),
        Task::Campaign { sets, seed, seconds, canary } => {
            let limit = seconds.map(Duration::from_secs);
            in_turn(
                canary.as_ref(),
                CANARIES,
                true,
                |one, other| one & other,
                |canary| campaign::run(&campaign::Settings { sets, seed, limit, canary }),
            )
        }
        Task::Hunt { seconds, seed, analysis, canary } => {
            let limit = Duration::from_secs(seconds);
            in_turn(
                canary.as_ref(),
                hunted(),
                true,
                |one, other| one & other,
                |canary| {
                    let analysis = canary.or(analysis.as_deref());
                    hunt::run(&hunt::Settings { limit, seed, analysis, canary })
                },
            )
        }
        Task::Execute { sets, seed, seconds, time, load, state, canary } => {
            let (limit, time) = (seconds.map(Duration::from_secs), Duration::from_millis(time));
            let end = in_turn(canary.as_ref(), &executed::CANARIES, End::Ran(true), End::and, |canary| {
                let state = state.as_deref();
                executed::run(&executed::Settings { sets, seed, limit, time, load, state, canary })
            });
            match (end, canary.is_some()) {
                (Ok(End::NotExecuted), false) => return ExitCode::from(NOT_EXECUTED),
                // Nothing was executed, so the deliberate mistake was not made and cannot be found.
                (Ok(End::NotExecuted), true) => {
                    println!("deliberate errors, NOT caught");
                    Ok(false)
                }
                (Ok(End::Ran(held)), _) => Ok(held),
                (Err(why), _) => Err(why),
            }
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

/// Runs without a deliberate mistake, or with the one that is named, or with each of `all` in turn, whose results
/// `and` joins, from `none` on.
fn in_turn<R>(
    canary: Option<&Option<String>>,
    all: &[&str],
    none: R,
    and: impl Fn(R, R) -> R,
    run: impl Fn(Option<&str>) -> Result<R, String>,
) -> Result<R, String> {
    match canary {
        None => run(None),
        Some(Some(name)) => run(Some(name)),
        Some(None) => all.iter().try_fold(none, |found, name| Ok(and(found, run(Some(name))?))),
    }
}

/// Prints the comparison; returns whether every judged value holds.
/// A result that cannot be compared, and a folder with nothing to compare, are errors.
fn cases(folder: &Path) -> Result<bool, String> {
    let mut table = Table::default();
    for case in read(folder)? {
        compare::case(&case, &mut table);
    }
    print!("{table}");
    let (values, differ) = table.judged();
    if table.faults() > 0 {
        return Err(format!("{}: {} results that cannot be compared", folder.display(), table.faults()));
    }
    if values == 0 {
        return Err(format!("{}: no result can be compared", folder.display()));
    }
    Ok(differ == 0)
}

/// All cases of a folder, in order of file names.
fn read(folder: &Path) -> Result<Vec<Case>, String> {
    let reported = |error: &dyn std::fmt::Display| format!("{}: {error}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|error| reported(&error))? {
        let path = entry.map_err(|error| reported(&error))?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(reported(&"the folder has no *.jsonl file of cases"));
    }
    let mut all = Vec::new();
    for file in files {
        all.extend(case::read(&file)?);
    }
    Ok(all)
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
