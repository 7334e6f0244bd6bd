// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The bars of an application: `taut check` keeps up with typing, boot is short, real-time threads only compute after
//! boot, releases are as prompt as Linux allows, and no protocol takes more steps than its bound.

use std::fs;
use std::path::Path;
use std::process::{Command as Program, Stdio};
use std::time::{Duration, Instant};

use xtask::{Command, Tally, Tree};

use super::generated;
use crate::bench::{cost, release};
use crate::observed::{Observed, build, taut};
use crate::row::{Held, Row, figure};

/// Runs of the application.
const RUNS: usize = 5;
/// Seconds of each run.
const RUN_S: u64 = 3;
/// Runs of the check.
const CHECKS: usize = 31;

/// Measures all bars of this set, in about two minutes after the build.
pub(super) fn measure(tree: &Tree) -> Vec<Row> {
    let built = build(tree);
    let mut rows = vec![check(tree, &built)];
    rows.extend(runs(tree, &built));
    rows.push(jitter(tree, &built));
    rows.push(steps(tree));
    print_costs(tree);
    rows
}

/// `taut check` of 100 tasks and 100 channels: elapsed time of the whole process, cold start included.
fn check(tree: &Tree, built: &Result<(), String>) -> Row {
    let measure = || {
        built.clone()?;
        let folder = tree.target().join("bars/generated");
        let manifest = folder.join("taut.toml");
        let written =
            fs::create_dir_all(&folder).and_then(|()| fs::write(&manifest, generated::manifest(100)));
        written.map_err(|error| format!("{}: {error}", manifest.display()))?;
        let output = Command::new(taut(tree)).args(["check".as_ref(), folder.as_os_str()]).run();
        if !output.success() {
            return Err(format!("the generated manifest was refused: {}", output.text));
        }
        checks(tree, &folder)
    };
    Row::at_most("check of 100 tasks, 100 channels", 20.0, "ms", Held::Median, measure())
}

/// The elapsed time of the whole process `taut check` of a folder, in ms, for each of [`CHECKS`] runs.
pub(super) fn checks(tree: &Tree, folder: &Path) -> Result<Vec<f64>, String> {
    let once = || {
        let mut program = Program::new(taut(tree));
        program.arg("check").arg(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let begin = Instant::now();
        let status = program.status().map_err(|error| error.to_string())?;
        let elapsed = begin.elapsed();
        if status.success() { Ok(elapsed.as_secs_f64() * 1e3) } else { Err("the verdict changed".to_owned()) }
    };
    (0..CHECKS).map(|_| once()).collect()
}

/// Boot of the application, and what its real-time threads do besides computing.
fn runs(tree: &Tree, built: &Result<(), String>) -> Vec<Row> {
    let runs: Result<Vec<Observed>, String> = built
        .clone()
        .and_then(|()| (0..RUNS).map(|_| Observed::of(tree, &tree.join("apps/cochlear"), RUN_S)).collect());
    let over = |figure: &dyn Fn(&Observed) -> Result<f64, String>| {
        runs.clone().and_then(|runs| runs.iter().map(figure).collect::<Result<Vec<_>, _>>())
    };
    let faults = |run: &Observed| Ok(run.count("minor_faults")? + run.count("major_faults")?);
    vec![
        Row::at_most("boot to release 0", 150.0, "ms", Held::Median, over(&Observed::boot_ms)),
        Row::at_most("heap use after boot", 0.0, "calls", Held::Max, over(&|run| run.count("heap_use"))),
        Row::at_most("page faults after boot", 0.0, "faults", Held::Max, over(&faults)),
        Row::at_most("blocking calls after boot", 0.0, "calls", Held::Max, over(&|run| run.count("blocked"))),
    ]
}

/// Release jitter, compared with a bare loop.
fn jitter(tree: &Tree, built: &Result<(), String>) -> Row {
    let measured = built.clone().and_then(|()| release::measure(tree));
    if let Ok(measured) = &measured {
        print!("{}", release::table(measured));
    }
    let ratios = measured.map(|measured| release::ratios(&measured, |jitter| jitter.p50));
    Row::at_most("release jitter p50, taut / bare", 1.15, "ratio", Held::Median, ratios)
}

/// Tests count the steps of each protocol; if a test fails, a bound does not hold.
fn steps(tree: &Tree) -> Row {
    let output = step_tests(tree).run();
    let tally = Tally::of(&output.text);
    // Without any verdict, the tests did not run.
    let failed = if tally.failed > 0 || (output.success() && tally.passed > 0) {
        Ok(vec![tally.failed as f64])
    } else {
        Err(format!("the tests that count steps {}, {} passed", output.reason(), tally.passed))
    };
    Row::at_most("protocols beyond their steps", 0.0, "tests", Held::Max, failed)
}

/// The tests that SDrtR, SDrtW and QrtR take exactly the published number of steps, and that no protocol takes more
/// steps than its bound. Only these tests are compiled with step counting.
fn step_tests(tree: &Tree) -> Command {
    Command::line("cargo test --locked --release -p taut-share --test steps --target-dir")
        .args([tree.target().join("steps")])
        .env("RUSTFLAGS", "--cfg steps")
        .dir(tree.root())
        .limit(Duration::from_secs(600))
}

/// Prints the cost of an operation beside that of a plain copy. It has no goal.
fn print_costs(tree: &Tree) {
    match cost::measure(tree) {
        Ok(rows) => print!("{}", cost::table(&rows, &figure)),
        Err(why) => println!("costs beside a copy: not measured: {why}"),
    }
}
