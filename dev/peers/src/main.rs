// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Measures our objects beside other people's, in one run: `cargo xtask peers`.
//!
//! A trial has two threads, or a thread and a process, pinned to two processors, and real-time where the system
//! permits it. A run first checks every object. Then it runs rounds: each trial of each object once, compared trials
//! close together and in random order. Before each trial it times the round trip of a bare cache line, which changes
//! on a virtual machine.
//!
//! `cargo xtask peers --locks` measures locks and releases in the same way: `locks/`. `cargo xtask bars model` measures
//! messages and broadcast: `messages/`.
//!
//! To add an object: add a file in `ours/` or `peers/` beside the others, and its line in the list there.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a tool for people at a terminal")]

mod across;
mod bench;
mod clock;
mod figures;
mod locks;
mod messages;
mod object;
mod ours;
mod peers;
mod picture;
mod plan;
mod raw;
mod repeat;
mod run;
mod surroundings;
mod table;
mod trial;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use crate::bench::{Bench, InProcess, OnMemory};
use crate::plan::Options;
use crate::surroundings::Surroundings;
use crate::trial::Trial;

/// Measures our objects beside other people's, in one run.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask peers", bin_name = "cargo xtask peers")]
struct Arguments {
    /// Shorter trials and 3 rounds: a look, not a measurement
    #[arg(long)]
    quick: bool,
    /// Rounds
    #[arg(long)]
    rounds: Option<usize>,
    /// Only objects whose names begin so, separated by commas
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Only these trials: alone, flat, slices, trip, write, read, unchanged
    #[arg(long, value_delimiter = ',', value_parser = trial)]
    trials: Vec<Trial>,
    /// Only values of these bytes: 8, 64, 256, 4096
    #[arg(long, value_delimiter = ',', value_parser = words)]
    bytes: Vec<usize>,
    /// Only what a bar is held against
    #[arg(long)]
    bars: bool,
    /// The order of trials
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where to write peers.md, peers.json and peers.svg
    #[arg(long)]
    out: Option<PathBuf>,
}

fn trial(text: &str) -> Result<Trial, String> {
    Trial::named(text).filter(|trial| *trial != Trial::Check).ok_or_else(|| "no such trial".into())
}

fn words(text: &str) -> Result<usize, String> {
    let bytes: usize = text.parse().map_err(|_| "not a number")?;
    object::WORDS.into_iter().find(|words| 8 * words == bytes).ok_or_else(|| "no such size".into())
}

/// All objects, ours first, and the baselines last.
fn benches() -> Vec<Box<dyn Bench>> {
    let mut benches = ours::all();
    benches.extend(peers::all());
    benches.push(InProcess::<raw::Copied>::boxed());
    benches.push(OnMemory::<raw::Word>::theirs());
    benches
}

fn main() -> ExitCode {
    let benches = benches();
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.split_first() {
        Some((first, rest)) if first == "far" => across::far(&benches, rest),
        Some((first, rest)) if first == "locks" => locks::run(rest),
        Some((first, rest)) if first == "messages" => messages::run(rest),
        Some((first, rest)) if first == "repeat" => repeat::run(&benches, rest),
        _ => measure(&benches, Arguments::parse()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn measure(benches: &[Box<dyn Bench>], arguments: Arguments) -> Result<(), String> {
    let Arguments { quick, rounds, only, trials, bytes, bars, seed, out } = arguments;
    let rounds = rounds.unwrap_or(if quick { 3 } else { 11 }).max(1);
    let surroundings = Surroundings::new(if quick { 10 } else { 1 })?;
    let options = Options { bars, only, trials, words: bytes };
    let run = run::run(benches, &options, &surroundings, rounds, seed, &|what| eprintln!("{what}"))?;
    let table = table::markdown(&run);
    match out {
        None => print!("{table}"),
        Some(folder) => {
            let json = run.json(surroundings.clock.cost);
            let files = [("peers.md", table), ("peers.json", json), ("peers.svg", picture::svg(&run))];
            fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
            for (name, text) in files {
                let path = folder.join(name);
                fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
                println!("written to {}", path.display());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
        assert_eq!(words("64"), Ok(8));
        assert!(words("65").is_err() && words("512").is_err());
        assert!(trial("check").is_err() && trial("trip").is_ok());
    }
}
