// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Random applications, executed: as a step of CI, and as a soak for a given time.

use std::process::ExitCode;
use std::time::Duration;

use crate::step::Step;
use crate::{Command, End, Tree, oracle};

/// How many CI executes, and how many it runs in virtual time.
const RUNS: [&str; 2] = ["24", "1000"];
/// How many a soak runs in virtual time.
const MANY: &str = "10000";

fn program(tree: &Tree, arguments: &[&str]) -> Command {
    Command::line("cargo run --quiet --locked --release -p taut-applications --")
        .args(arguments)
        .dir(tree.root())
        .limit(Duration::from_secs(900))
}

/// The step of CI.
pub(crate) fn step() -> Step {
    Step::new("random applications", |tree| {
        let [runs, virtual_runs] = RUNS;
        let arguments = ["--runs", runs, "--in-virtual-time", virtual_runs, "--seed", "1"];
        oracle::executed(program(tree, &arguments).run())
    })
}

/// Runs random applications in virtual time, then executes others for `minutes`, and replays those of dispatched cores.
pub(crate) fn soak(tree: &Tree, minutes: u64) -> ExitCode {
    let built = Command::line("cargo build --locked --release -p taut-cli --bin taut").dir(tree.root());
    if built.show() != End::Code(0) {
        return ExitCode::FAILURE;
    }
    let (seconds, most) = ((minutes * 60).to_string(), u64::MAX.to_string());
    let taut = tree.target().join("release/taut").to_string_lossy().into_owned();
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seed = since.map_or(1, |time| time.as_secs()).to_string();
    let long =
        ["--in-virtual-time", MANY, "--runs", &most, "--seconds", &seconds, "--seed", &seed, "--taut", &taut];
    let limit = Duration::from_secs(minutes * 60 + 1_500);
    match program(tree, &long).limit(limit).show() {
        End::Code(0) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
