// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Fault injection. `apps/cochlear` and `apps/drive` run on both executors, and an application with locks besides;
//! each run suffers one fault. The fault, its instant and the application are drawn at random, and a seed reproduces
//! all of them. Each run must end in time, and its report must name the fault.
//!
//! `cargo xtask storm` builds the programs and starts the storm. It prints the drawn faults against the findings. A
//! finding fails the storm unless it names the fault or an excuse explains it.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

mod code;
mod draw;
mod fault;
mod finding;
mod matrix;
mod run;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};

use crate::draw::Trial;
use crate::finding::Finding;
use crate::matrix::{Matrix, Worth};
use crate::run::{Outcome, Programs};

/// Applications that faults drawn at random befall.
#[derive(Debug, Parser)]
#[command(name = "taut-storm", args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    role: Option<Role>,
    /// How many runs.
    #[arg(long, default_value_t = 100)]
    runs: u64,
    /// What the storm follows from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// This fault alone.
    #[arg(long, value_parser = known)]
    only: Option<String>,
    /// The folder in which `taut` and the applications have been built.
    #[arg(long, default_value = "target/release")]
    built: PathBuf,
    /// The repository, with the applications' manifests.
    #[arg(long, default_value = ".")]
    repository: PathBuf,
    /// Keeps the folders of runs that failed, and says where they are.
    #[arg(long)]
    keep: bool,
}

/// This program as a part of the storm.
#[derive(Debug, Subcommand)]
enum Role {
    /// A real-time thread of somebody else, for a limited time.
    #[command(hide = true)]
    Hog {
        /// On this CPU.
        cpu: u16,
    },
}

/// Accepts the name of a fault.
fn known(name: &str) -> Result<String, String> {
    let names: Vec<String> = fault::all().map(|fault| fault.name()).collect();
    if names.iter().any(|known| known == name) {
        return Ok(name.to_owned());
    }
    Err(format!("there are {}", names.join(", ")))
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Some(Role::Hog { cpu }) = arguments.role {
        return match run::hog(cpu) {
            Ok(()) => ExitCode::SUCCESS,
            Err(why) => {
                eprintln!("{why}");
                ExitCode::from(3)
            }
        };
    }
    match storm(&arguments) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(3)
        }
    }
}

/// Runs all trials; returns how many failed.
fn storm(arguments: &Arguments) -> Result<u64, String> {
    let absolute =
        |path: &PathBuf| path.canonicalize().map_err(|error| format!("{}: {error}", path.display()));
    let programs =
        Programs { built: absolute(&arguments.built)?, repository: absolute(&arguments.repository)? };
    let mut matrix = Matrix::default();
    let mut skipped: BTreeMap<String, (u64, String)> = BTreeMap::new();
    let mut longest = Duration::ZERO;
    for number in 0..arguments.runs {
        let trial = draw::trial(arguments.seed, number, arguments.only.as_deref());
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let outcome = run::run(trial, &programs, folder.path())?;
        if let Some(why) = &outcome.skipped {
            let entry = skipped.entry(trial.fault.name()).or_insert_with(|| (0, why.clone()));
            entry.0 += 1;
            continue;
        }
        let worth = judge(trial, outcome.finding);
        matrix.add(&trial.fault.name(), &outcome.finding.to_string(), worth);
        longest = longest.max(outcome.took);
        if worth == Worth::Unexplained {
            report(number, trial, &outcome);
            if arguments.keep {
                println!("  kept: {}", folder.keep().display());
            }
        }
    }
    print!("{matrix}");
    println!("the longest run took {} ms", longest.as_millis());
    for (fault, (times, why)) in &skipped {
        println!("skipped {fault}, {times} times: {why}");
    }
    println!("{} named the fault", matrix.named());
    let not_made = skipped.values().map(|(times, _)| times).sum::<u64>();
    let skipped = if not_made > 0 { format!(", {not_made} skipped") } else { String::new() };
    println!("{} passed, {} failed{skipped}", matrix.passed(), matrix.failed());
    Ok(matrix.failed())
}

fn judge(trial: Trial, finding: Finding) -> Worth {
    if finding == trial.fault.expected(trial.application) {
        return Worth::Named;
    }
    trial.fault.excused(trial.application, finding).map_or(Worth::Unexplained, Worth::Excused)
}

fn report(number: u64, trial: Trial, outcome: &Outcome) {
    let Trial { application, executor, fault, after_ms } = trial;
    println!(
        "run {number}: {} {}, {} after {after_ms} ms: found {}, not {}; {} ms, {}",
        application.name(),
        executor.name(),
        fault.name(),
        outcome.finding,
        fault.expected(application),
        outcome.took.as_millis(),
        outcome.status.map_or_else(|| "did not end".to_owned(), |status| status.to_string())
    );
    for line in outcome.said.lines().take(40) {
        println!("  | {line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::{Application, Executor};

    #[test]
    fn the_command_line_is_consistent() {
        <Arguments as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn a_fault_that_is_named_passes_and_one_that_is_hidden_fails() {
        for (number, executor) in (0..).zip(Executor::ALL.repeat(200)) {
            let trial = Trial { executor, ..draw::trial(5, number, None) };
            let expected = trial.fault.expected(trial.application);
            assert_eq!(judge(trial, expected), Worth::Named);
            assert_eq!(judge(trial, Finding::DidNotEnd), Worth::Unexplained);
            assert_eq!(judge(trial, Finding::NoReport), Worth::Unexplained);
        }
        let crash = |number: u64| draw::trial(5, number, Some("SIGSEGV"));
        assert!((0..20).all(|number| judge(crash(number), Finding::Kept) == Worth::Unexplained));
        assert!((0..20).all(|number| judge(crash(number), Finding::Machine) == Worth::Unexplained));
    }

    #[test]
    fn a_foreign_thread_on_a_cpu_without_tasks_does_no_harm() {
        let trial = |application| Trial { application, ..draw::trial(1, 0, Some("foreign-thread-1")) };
        assert_eq!(judge(trial(Application::Cochlear), Finding::Kept), Worth::Named);
        assert_eq!(judge(trial(Application::Drive), Finding::Kept), Worth::Unexplained);
    }
}
