// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `dev/oracle`: compares analyses with results of other tools and with simulated and executed runs of random sets.
//! It runs in release mode because it computes much.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use crate::command::{Command, End, Output};
use crate::step::{Outcome, Step};
use crate::tally::{SKIPPED, Tally};
use crate::tree::Tree;

/// Task sets with results of other tools.
const CASES: &str = "dev/oracle/cases";
/// Sets of the campaign that CI runs.
const SETS: &str = "2000";
/// Sets within which the campaign must catch an analysis that was weakened on purpose.
const SETS_WEAK: &str = "500";
/// Sets of the long campaign, and the seconds after which it stops, finished or not.
const SETS_LONG: &str = "100000";
const SECONDS_LONG: &str = "900";
/// Seconds of the hunt that CI runs, of a hunt for an analysis that was weakened on purpose, and of the long hunt.
const HUNT: &str = "5";
const HUNT_WEAK: &str = "30";
const HUNT_LONG: &str = "600";
/// Sets that CI executes, and sets within which an error on purpose must be found.
const EXECUTED: &str = "200";
const EXECUTED_WRONG: &str = "300";
/// Seconds of a run in the long form; each run measures the overheads of the machine again.
const EXECUTED_ROUND: u64 = 300;

/// The command that runs `dev/oracle` with these arguments.
pub fn program(tree: &Tree, arguments: &[&str]) -> Command {
    let run = "cargo run --quiet --locked --release -p taut-oracle --features linear-programming --";
    Command::line(run).args(arguments).dir(tree.root())
}

/// Compares the cases of a folder, with the output on the terminal.
pub(crate) fn run(tree: &Tree, folder: Option<PathBuf>) -> ExitCode {
    let folder = folder.unwrap_or_else(|| tree.join(CASES));
    // The program runs at the root: make a path absolute that is relative to the current folder.
    let folder = folder.canonicalize().unwrap_or(folder);
    match program(tree, &["cases", &folder.to_string_lossy()]).show() {
        End::Code(0) => ExitCode::SUCCESS,
        End::Code(2) => ExitCode::from(2),
        _ => ExitCode::FAILURE,
    }
}

/// The exit code of a run that could execute nothing because a privilege is missing.
const NOT_EXECUTED: i32 = 4;

/// The outcome of a program that reports what it left out: by [`NOT_EXECUTED`] if it left out everything, by lines
/// that begin with [`SKIPPED`] if it left out a part. A run with canaries does not end with this code: an error that
/// was never made is not caught.
pub(crate) fn executed(output: Output) -> Outcome {
    let said: Vec<&str> = output.stdout.lines().filter_map(|line| line.strip_prefix(SKIPPED)).collect();
    let mut outcome = match output.end {
        End::Code(NOT_EXECUTED) => Outcome::skipped(""),
        _ => {
            Outcome { tally: Tally { skipped: said.len() as u64, ..Tally::default() }, ..Outcome::default() }
        }
    };
    outcome.note = said.join("; ");
    if output.end != End::Code(NOT_EXECUTED) {
        let own = Outcome::of(output.clone());
        outcome.tally += own.tally;
        if !own.note.is_empty() {
            outcome.note = own.note;
        }
    }
    Outcome { log: output.text, ..outcome }
}

/// The steps that every change must pass.
pub(crate) fn steps() -> Vec<Step> {
    vec![
        Step::new("oracle", |tree| {
            let folder = tree.join(CASES);
            Outcome::of(program(tree, &["cases", &folder.to_string_lossy()]).run())
        }),
        Step::new("campaign", |tree| {
            Outcome::of(program(tree, &["campaign", "--sets", SETS, "--seed", "1"]).run())
        }),
        Step::new("campaign with canaries", |tree| {
            let weak = ["campaign", "--sets", SETS_WEAK, "--seed", "1", "--canary"];
            Outcome::of(program(tree, &weak).run())
        }),
        Step::new("hunt", |tree| {
            Outcome::of(program(tree, &["hunt", "--seconds", HUNT, "--seed", "1"]).run())
        }),
        Step::new("hunt with canaries", |tree| {
            let weak = ["hunt", "--seconds", HUNT_WEAK, "--seed", "1", "--canary"];
            Outcome::of(program(tree, &weak).run())
        }),
        Step::new("executed", |tree| {
            executed(program(tree, &["execute", "--sets", EXECUTED, "--seed", "1"]).run())
        }),
        Step::new("executed with canaries", |tree| {
            let wrong = ["execute", "--sets", EXECUTED_WRONG, "--seed", "1", "--canary"];
            executed(program(tree, &wrong).run())
        }),
    ]
}

/// Executes random sets for some minutes, with the output on the terminal, beside `load` busy ordinary threads (by
/// default as many as processors). First it checks that errors on purpose are found. The results are kept, and the
/// next call goes on from them.
pub(crate) fn soak(tree: &Tree, minutes: u64, load: Option<usize>) -> ExitCode {
    let kept = tree.target().join("soak");
    let state = kept.join("execute.json");
    if let Err(error) = std::fs::create_dir_all(&kept) {
        eprintln!("{}: {error}", kept.display());
        return ExitCode::from(3);
    }
    let all = || std::thread::available_parallelism().map_or(1, usize::from);
    let load = load.unwrap_or_else(all).to_string();
    let state = state.to_string_lossy().into_owned();
    let wrong = program(tree, &["execute", "--sets", EXECUTED_WRONG, "--load", &load, "--canary"]);
    if wrong.show() != End::Code(0) {
        return ExitCode::FAILURE;
    }
    let mut left = minutes * 60;
    while left > 0 {
        let round = left.min(EXECUTED_ROUND);
        left -= round;
        let (seconds, most) = (round.to_string(), u64::MAX.to_string());
        let long = ["execute", "--sets", &most, "--seconds", &seconds, "--load", &load, "--state", &state];
        if program(tree, &long).show() != End::Code(0) {
            return ExitCode::FAILURE;
        }
    }
    println!("kept in {state}");
    ExitCode::SUCCESS
}

/// The long campaign, with another seed in each round.
pub(crate) fn long_campaign(round: u64) -> Step {
    Step::new("campaign", move |tree| {
        let seed = (1000 * round).to_string();
        let long = ["campaign", "--sets", SETS_LONG, "--seconds", SECONDS_LONG, "--seed", &seed];
        Outcome::of(program(tree, &long).limit(Duration::from_secs(3600)).run())
    })
}

/// The long search for a run that exceeds a bound, with another seed in each round.
pub(crate) fn long_hunt(round: u64) -> Step {
    Step::new("hunt", move |tree| {
        let seed = (1_000_000 * round).to_string();
        let long = ["hunt", "--seconds", HUNT_LONG, "--seed", &seed];
        Outcome::of(program(tree, &long).limit(Duration::from_secs(3600)).run())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_execution_does_not_pass() {
        let of = |code, stdout: &str| {
            let (stdout, elapsed) = (stdout.to_owned(), Duration::ZERO);
            executed(Output { end: End::Code(code), text: stdout.clone(), stdout, elapsed })
        };
        let counts = |code, stdout| {
            let Tally { passed, failed, skipped } = of(code, stdout).tally;
            (passed, failed, skipped)
        };
        assert_eq!(counts(0, "200 sets\n"), (1, 0, 0));
        assert_eq!(counts(4, "skipped: nothing was executed: EPERM\n"), (0, 0, 1));
        assert_eq!(of(4, "skipped: nothing was executed: EPERM\n").note, "nothing was executed: EPERM");
        assert_eq!(counts(4, ""), (0, 0, 1));
        assert_eq!(counts(0, "skipped: no second processor for MSRP\n100 sets\n"), (1, 0, 1), "a part");
        assert_eq!(counts(1, "skipped: nothing was executed: EPERM\nNOT caught\n"), (0, 1, 1), "a canary");
        assert_eq!(counts(2, "cannot measure\n"), (0, 1, 0), "any other error is one");
    }
}
