// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `dev/oracle`: analyses held against other tools' results, and against simulated runs of random sets. In release
//! mode: it computes much.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use crate::command::{Command, End, Output};
use crate::step::{Outcome, Step};
use crate::tally::{SKIPPED, Tally};
use crate::tree::Tree;

/// Task sets with other tools' results.
const CASES: &str = "dev/oracle/cases";
/// Sets of the campaign that every change runs.
const SETS: &str = "2000";
/// Sets in which an analysis that was weakened on purpose must be caught.
const SETS_WEAK: &str = "500";
/// Sets of the long one, and the seconds after which it ends wherever it is.
const SETS_LONG: &str = "100000";
const SECONDS_LONG: &str = "900";
/// Seconds of the hunt of every change, of one for an analysis that was weakened, and of the long one.
const HUNT: &str = "5";
const HUNT_WEAK: &str = "30";
const HUNT_LONG: &str = "600";
/// Sets that every change executes, and those in which a mistake on purpose must be found.
const EXECUTED: &str = "200";
const EXECUTED_WRONG: &str = "300";
/// Seconds between two looks at what the machine adds, in the long form.
const EXECUTED_ROUND: u64 = 300;

/// The program, with these arguments.
pub(crate) fn program(tree: &Tree, arguments: &[&str]) -> Command {
    let run = "cargo run --quiet --locked --release -p taut-oracle --features linear-programming --";
    Command::line(run).args(arguments).dir(tree.root())
}

/// Compares the cases of a folder, in view.
pub(crate) fn run(tree: &Tree, folder: Option<PathBuf>) -> ExitCode {
    let folder = folder.unwrap_or_else(|| tree.join(CASES));
    // It runs at the root, wherever this was called.
    let folder = folder.canonicalize().unwrap_or(folder);
    match program(tree, &["cases", &folder.to_string_lossy()]).show() {
        End::Code(0) => ExitCode::SUCCESS,
        End::Code(2) => ExitCode::from(2),
        _ => ExitCode::FAILURE,
    }
}

/// The exit code of a run that could execute nothing, for want of a privilege.
const NOT_EXECUTED: i32 = 4;

/// What came of a program that says what it left out: by its exit code if that is all, and by lines if it is a part. One that
/// plays mistakes on purpose has no such code: a mistake that was never made is not caught.
fn executed(output: Output) -> Outcome {
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

/// What every change must pass.
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

/// Executes random sets for some minutes in view, beside ordinary threads that are busy: as many as processors if nobody
/// says. What was found is kept, and the next one goes on from there. First, that what is wrong is found.
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

/// The long form, elsewhere each round.
pub(crate) fn long_campaign(round: u64) -> Step {
    Step::new("campaign", move |tree| {
        let seed = (1000 * round).to_string();
        let long = ["campaign", "--sets", SETS_LONG, "--seconds", SECONDS_LONG, "--seed", &seed];
        Outcome::of(program(tree, &long).limit(Duration::from_secs(3600)).run())
    })
}

/// The long search for a run that exceeds a bound, elsewhere each round.
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
    fn what_was_not_executed_did_not_pass() {
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
