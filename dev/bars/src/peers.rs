// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Builds and runs `dev/peers`, which is a separate workspace, and reads its figures.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use xtask::{Command, End, Tree, cargo_of_peers};

use crate::sets::share;

/// The folder of recorded runs.
const RECORD: &str = "docs/measured";

/// What is wanted of a run.
#[derive(Args, Debug)]
pub(crate) struct Peers {
    /// Locks and releases instead of objects: with `--record` docs/measured/locks.{md,json}
    #[arg(long, conflicts_with_all = ["trials", "bytes"])]
    locks: bool,
    /// Write docs/measured/peers.{md,json,svg}, the bars beside their figures and instruction counts (by valgrind),
    /// instead of printing the tables
    #[arg(long)]
    record: bool,
    /// Shorter trials and 3 rounds: a look, not a measurement
    #[arg(long, conflicts_with = "record")]
    quick: bool,
    /// Rounds
    #[arg(long)]
    rounds: Option<u32>,
    /// Only objects whose names begin so, separated by commas
    #[arg(long)]
    only: Option<String>,
    /// Only these trials, separated by commas: alone, flat, slices, trip, write, read, unchanged
    #[arg(long)]
    trials: Option<String>,
    /// Only values of these bytes, separated by commas: 8, 64, 256, 4096
    #[arg(long)]
    bytes: Option<String>,
    /// The order of trials
    #[arg(long)]
    seed: Option<u64>,
}

/// Builds the program and runs it, with its output on the terminal.
pub(crate) fn run(tree: &Tree, options: &Peers) -> ExitCode {
    let build = build(tree, options.locks);
    println!("{}", build.shown());
    if build.show() != End::Code(0) {
        return ExitCode::FAILURE;
    }
    let program = Command::new(program(tree)).args(options.arguments(tree)).dir(tree.root());
    if program.show() != End::Code(0) {
        return ExitCode::FAILURE;
    }
    if options.record
        && !options.locks
        && let Err(why) = figures_recorded(&tree.join(RECORD)).and_then(|()| instructions_recorded(tree))
    {
        eprintln!("{why}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Reduces the figures of the run in `folder` to those that bars read, and writes the page of bars beside them.
fn figures_recorded(folder: &Path) -> Result<(), String> {
    let figures = folder.join("peers.json");
    let text =
        std::fs::read_to_string(&figures).map_err(|error| format!("{}: {error}", figures.display()))?;
    let record = share::recorded(&text)?;
    for (path, text) in [(folder.join("bars.md"), share::page(&record)?), (figures, record)] {
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

impl Peers {
    fn arguments(&self, tree: &Tree) -> Vec<String> {
        let mut arguments: Vec<String> = self.locks.then(|| "locks".to_owned()).into_iter().collect();
        let mut add = |name: &str, value: Option<String>| {
            arguments.extend(value.into_iter().flat_map(|value| [format!("--{name}"), value]));
        };
        add("rounds", self.rounds.map(|rounds| rounds.to_string()));
        add("only", self.only.clone());
        add("trials", self.trials.clone());
        add("bytes", self.bytes.clone());
        add("seed", self.seed.map(|seed| seed.to_string()));
        add("out", self.record.then(|| tree.join(RECORD).display().to_string()));
        if self.quick {
            arguments.push("--quick".into());
        }
        arguments
    }
}

/// The command that builds the program. A program of 40 objects in 4 sizes takes long to compile. For locks and for
/// messages, the largest of the other libraries is left out: it is a queue.
fn build(tree: &Tree, without_largest: bool) -> Command {
    let what = if without_largest { "build --release --no-default-features" } else { "build --release" };
    cargo_of_peers(what, tree).limit(std::time::Duration::from_secs(30 * 60))
}

fn program(tree: &Tree) -> std::path::PathBuf {
    tree.target().join("peers/release/taut-peers")
}

/// Builds the program, runs the trials that the bars of shared objects need, and returns its JSON.
///
/// # Errors
/// The output of the compiler or the program.
pub(crate) fn measured_for_bars(tree: &Tree, rounds: usize, folder: &Path) -> Result<String, String> {
    measured(tree, &["--bars"], "peers.json", rounds, folder)
}

/// As [`measured_for_bars`], for the bars of locks and releases.
///
/// # Errors
/// The output of the compiler or the program.
pub(crate) fn locks_for_bars(tree: &Tree, rounds: usize, folder: &Path) -> Result<String, String> {
    measured(tree, &["locks"], "locks.json", rounds, folder)
}

/// Builds the program, and returns a function that makes the command for the most urgent message under a flood: from the
/// length of a repetition in ms, how many of each share, and the shares in percent. The command prints a line for each.
///
/// # Errors
/// The output of the compiler.
pub(crate) fn flood_of_lanes(tree: &Tree) -> Result<impl Fn(u32, usize, &[u32]) -> Command, String> {
    let built = build(tree, true).run();
    if !built.success() {
        return Err(format!("taut-peers does not build: {}", built.text));
    }
    let program = program(tree);
    Ok(move |length: u32, times: usize, shares: &[u32]| {
        let shares: Vec<String> = shares.iter().map(u32::to_string).collect();
        Command::new(&program).args(["messages", "--flood", &shares.join(",")]).args([
            "--rounds",
            &times.to_string(),
            "--length",
            &length.to_string(),
        ])
    })
}

/// As [`measured_for_bars`], for the bars of messages and broadcast.
///
/// # Errors
/// The output of the compiler or the program.
pub(crate) fn messages_for_bars(tree: &Tree, rounds: usize, folder: &Path) -> Result<String, String> {
    measured(tree, &["messages"], "messages.json", rounds, folder)
}

fn measured(tree: &Tree, words: &[&str], name: &str, rounds: usize, folder: &Path) -> Result<String, String> {
    let built = build(tree, words.contains(&"locks") || words.contains(&"messages")).run();
    if !built.success() {
        return Err(format!("taut-peers does not build: {}", built.text));
    }
    let run = Command::new(program(tree))
        .args(words)
        .args(["--rounds", &rounds.to_string()])
        .args(["--out".as_ref(), folder.as_os_str()])
        .run();
    if !run.success() {
        return Err(format!("taut-peers {}: {}", run.reason(), run.text));
    }
    let path = folder.join(name);
    std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
}

/// The objects whose instructions are counted: those that bars compare.
const COUNTED: [&str; 9] =
    ["QrtR", "QrtR in place", "QrtWo", "QrtWc", "rtrb", "SDrtR", "SDrtW", "Hybrid", "triple_buffer"];
/// The sizes of values, in bytes. A repeating instruction copies larger values, so their count would say little.
const COUNTED_BYTES: [u32; 2] = [8, 64];
/// How many values are put in and taken out.
const COUNTED_TIMES: u32 = 10_000;

/// Counts the instructions of an operation and writes them to the folder of the recorded run.
fn instructions_recorded(tree: &Tree) -> Result<(), String> {
    let mut text = format!(
        "# Instructions of an operation\n\n\
         Made by `cargo xtask peers --record`: of {COUNTED_TIMES} values that one thread puts in and takes out in turns, \
         what `valgrind --tool=callgrind` counts in the operation alone, with the call and the return, divided by their \
         number. Nobody else is there: no attempt fails.\n\n\
         | object | in, 8 B | out, 8 B | in, 64 B | out, 64 B |\n|---|---|---|---|---|\n"
    );
    for object in COUNTED {
        text += &format!("| {object} |");
        for bytes in COUNTED_BYTES {
            for function in ["put_once", "take_once"] {
                text += &format!(" {:.1} |", instructions(tree, object, bytes, function)?);
            }
        }
        text.push('\n');
    }
    let path = tree.join(RECORD).join("instructions.md");
    std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}

/// The instructions of one operation, which the function `function` of the program makes.
fn instructions(tree: &Tree, object: &str, bytes: u32, function: &str) -> Result<f64, String> {
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .args([format!("--toggle-collect=*::{function}*")])
        .args([program(tree).as_os_str()])
        .args(["repeat", object, &bytes.to_string(), &COUNTED_TIMES.to_string()])
        .run();
    match collected(&run.text) {
        Some(count) if run.success() && count > 0 => Ok(count as f64 / f64::from(COUNTED_TIMES)),
        _ => Err(format!("valgrind {}: {}", run.reason(), run.text)),
    }
}

/// The count in the output of valgrind.
fn collected(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.split_once("Collected :"))?;
    line.1.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page of bars must be that of the recorded run, and the record must have what bars read and no more.
    /// `BARS_UPDATE=1` rewrites both after a change of goals without a new run.
    #[test]
    fn the_recorded_bars_are_those_of_the_recorded_run() {
        let folder = Tree::here().unwrap().join(RECORD);
        if std::env::var_os("BARS_UPDATE").is_some() {
            figures_recorded(&folder).unwrap();
        }
        let read = |name| std::fs::read_to_string(folder.join(name)).unwrap();
        let record = read("peers.json");
        let is_right = share::page(&record) == Ok(read("bars.md")) && share::recorded(&record) == Ok(record);
        assert!(is_right, "run with BARS_UPDATE=1 and commit docs/measured/bars.md and peers.json");
    }

    #[test]
    fn counts_are_read() {
        assert_eq!(collected("==1== Events    : Ir\n==1== Collected : 123456\n==1== \n"), Some(123_456));
        assert_eq!(collected("==1== Events    : Ir\n"), None);
    }

    #[test]
    fn options_are_passed_on() {
        let tree = Tree::here().unwrap();
        let mut options = Peers {
            locks: false,
            record: false,
            quick: true,
            rounds: Some(5),
            only: None,
            trials: None,
            bytes: None,
            seed: None,
        };
        options.only = Some("rtrb,QrtR".into());
        assert_eq!(options.arguments(&tree).join(" "), "--rounds 5 --only rtrb,QrtR --quick");
        options = Peers { locks: true, record: true, quick: false, ..options };
        let said = options.arguments(&tree).join(" ");
        assert!(said.starts_with("locks --rounds 5") && said.ends_with("docs/measured"), "{said}");
    }
}
