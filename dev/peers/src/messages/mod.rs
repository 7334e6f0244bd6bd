// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Many senders and one receiver, and one writer and many readers, ours beside others', in one run: what
//! `cargo xtask bars model` compares.
//!
//! | figure | what it is |
//! |---|---|
//! | `push`, `push + exchange`, `send`, `send + notify` `of N` | ns of one call, 64 B, to N lanes in turn, while the receiver is awake on the other processor: a bare ring, the same and an exchange, a lane (beyond 8 with a flag), a lane and its event count |
//! | `take of N`, `scan of N` | ns to take one value out of N lanes, which the other processor has just sent: by flags, by a look at each |
//! | `OBJECT p50 at U`, `OBJECT p99 at U` | ns from the send of the most urgent message to its start, while 300 other senders send 2 us of work each, all at once, so often that the receiver is busy for the share U |
//! | `OBJECT low at U` | the largest number of other messages that started between the end of such a send and its start |
//! | `broadcast to N` | ns of one push, 64 B, to N readers that take on the other processor |
//! | `block of SIZE` | ns from the loan of a block until the other processor has received it and looked at its first 64 bytes |
//! | `alarm insert WHAT`, `alarm cancel WHAT`, `alarm expire WHAT` | ns of one change of the order of 10,000 pending alarms: the mean, p99.9 |
//!
//! A round measures everything once. The figures of a call and of a block are means of the lower nine tenths, those of alarms
//! are of all samples; each is less what the timer takes.

mod alarms;
mod blocks;
mod calls;
mod urgent;

use std::fs;
use std::path::PathBuf;

use clap::Parser;
use serde_json::json;

use crate::figures::median;
use crate::run;
use crate::surroundings::Surroundings;

/// Messages and broadcast, ours beside others', in one run.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bars model", bin_name = "cargo xtask bars model")]
struct Arguments {
    /// Shorter trials and 3 rounds: a look, not a measurement
    #[arg(long)]
    quick: bool,
    /// Rounds
    #[arg(long)]
    rounds: Option<usize>,
    /// Where to write messages.json
    #[arg(long)]
    out: Option<PathBuf>,
    /// Only the most urgent message under a flood, by our lanes, at these shares (percent): a line for each repetition
    #[arg(long, value_delimiter = ',')]
    flood: Vec<u32>,
    /// The length of such a repetition, in ms
    #[arg(long, default_value_t = 500)]
    length: u32,
}

/// A figure with its name.
type Named = (String, f64);

/// Measures, and writes or prints the results.
///
/// # Errors
/// There are fewer than two processors, a side did not begin, or a file cannot be written.
pub(crate) fn run(words: &[String]) -> Result<(), String> {
    let arguments =
        Arguments::parse_from(std::iter::once("messages".to_owned()).chain(words.iter().cloned()));
    let Arguments { quick, rounds, out, flood, length } = arguments;
    let surroundings = Surroundings::new(if quick { 10 } else { 1 })?;
    if !flood.is_empty() {
        if !surroundings.real_time {
            return Err("no real-time priorities".into());
        }
        let times = rounds.unwrap_or(1).try_into().map_err(|_| "too many rounds")?;
        print!("{}", urgent::lines(&surroundings, length, times, &flood)?);
        return Ok(());
    }
    let rounds = rounds.unwrap_or(if quick { 3 } else { 11 }).max(1);
    let mut all: Vec<Vec<Named>> = Vec::new();
    for round in 0..rounds {
        eprintln!("round {} of {rounds}", round + 1);
        all.push(measured(&surroundings)?);
    }
    let Some(folder) = out else {
        for (at, (name, _)) in all[0].iter().enumerate() {
            let values: Vec<f64> = all.iter().map(|round| round[at].1).collect();
            println!("{name}: {:.1}", median(&values));
        }
        return Ok(());
    };
    let facts: serde_json::Map<_, _> = run::facts(&surroundings, rounds, 0, &[])
        .into_iter()
        .map(|(name, value)| (name, json!(value)))
        .collect();
    let rounds: Vec<serde_json::Map<_, _>> = all
        .into_iter()
        .map(|round| round.into_iter().map(|(name, value)| (name, json!(value))).collect())
        .collect();
    let path = folder.join("messages.json");
    fs::create_dir_all(&folder)
        .and_then(|()| fs::write(&path, format!("{:#}\n", json!({ "facts": facts, "rounds": rounds }))))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// All figures of a round.
fn measured(surroundings: &Surroundings) -> Result<Vec<Named>, String> {
    let mut figures = calls::measured(surroundings)?;
    figures.extend(urgent::measured(surroundings)?);
    figures.extend(alarms::measured(surroundings)?);
    figures.extend(blocks::measured(surroundings)?);
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// The figures that `cargo xtask bars model` reads, one a line.
    const NEEDED: &str = include_str!("needed.txt");

    #[test]
    fn a_round_has_what_the_bars_need() {
        Arguments::command().debug_assert();
        let surroundings = Surroundings::new(40).expect("two processors");
        let figures = measured(&surroundings).expect("both sides begin");
        let names: Vec<&str> = figures.iter().map(|(name, _)| name.as_str()).collect();
        let lacking: Vec<_> = NEEDED.lines().filter(|line| !names.contains(line)).collect();
        assert!(lacking.is_empty(), "{lacking:?} of {names:?}");
        let mut once = names.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), names.len());
        assert!(figures.iter().all(|(_, value)| value.is_finite()), "{figures:?}");
    }
}
