// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Locks and releases, ours beside others', in one run: `cargo xtask peers --locks`.
//!
//! | trial | what is timed |
//! |---|---|
//! | `alone` | lock and unlock without contention |
//! | `handed` | from the end of a section to the beginning of the next, whose thread waits on another processor |
//! | `release` | from a release to the first instruction after it |
//! | `preempt` | from a wake, or an unlock, to the first instruction of what then runs, on the same processor |
//! | `completion` | from the last instruction of a job to the next or first one of another |
//!
//! A round runs each row once, in random order. Before each row it times the round trip of a bare cache line.
//!
//! To add a lock: implement [`partner::Partner`], and add its line to [`all`].

mod dispatched;
mod kernel;
mod libraries;
mod ours;
mod partner;
mod releases;
mod report;
mod rules;

use std::fs;
use std::path::PathBuf;

use clap::Parser;

use self::partner::Row;
use crate::figures::Figures;
use crate::plan::Random;
use crate::raw;
use crate::surroundings::Surroundings;

/// Locks and releases, ours beside others', in one run.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask peers --locks", bin_name = "cargo xtask peers --locks")]
pub(crate) struct Arguments {
    /// Shorter trials and 3 rounds: a look, not a measurement
    #[arg(long)]
    quick: bool,
    /// Rounds
    #[arg(long)]
    rounds: Option<usize>,
    /// Only rows whose names begin so, separated by commas
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// The order of rows
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where to write locks.md and locks.json
    #[arg(long)]
    out: Option<PathBuf>,
}

/// All rows, in the order of the tables.
fn all() -> Vec<Box<dyn Row>> {
    let mut rows = dispatched::rows();
    rows.extend(rules::rows());
    let locks = [
        partner::rows::<ours::Msrp>(),
        partner::rows::<ours::Mpcp>(),
        partner::rows::<libraries::Std>(),
        partner::rows::<libraries::ParkingLot>(),
        partner::rows::<kernel::Plain>(),
        partner::rows::<kernel::Inheriting>(),
        partner::rows::<kernel::Protected>(),
        partner::rows::<libraries::Ticket>(),
        partner::rows::<libraries::Mcs>(),
        partner::rows::<kernel::Wake>(),
    ];
    rows.extend(locks.into_iter().flatten());
    // A bare futex excludes no side, and a side alone never ends.
    rows.retain(|row| (row.name(), row.trial()) != ("bare futex", "alone"));
    rows.extend(releases::rows());
    rows
}

/// One row, round by round: the round trip of a bare line, timed right before, and the figures.
struct Rounds {
    name: &'static str,
    ours: bool,
    trial: &'static str,
    rounds: Vec<Result<(f64, Figures), String>>,
}

/// Measures, and writes or prints the results.
///
/// # Errors
/// There are fewer than two processors, or a file cannot be written.
pub(crate) fn run(words: &[String]) -> Result<(), String> {
    let arguments = Arguments::parse_from(std::iter::once("locks".to_owned()).chain(words.iter().cloned()));
    let Arguments { quick, rounds, only, seed, out } = arguments;
    let surroundings = Surroundings::new(if quick { 10 } else { 1 })?;
    let rounds = rounds.unwrap_or(if quick { 3 } else { 11 }).max(1);
    // The limit on wake-up latency holds to the end. If the system refuses it, all measurements lack it alike.
    let hold = taut_sys::machine::dma_latency_hold();
    let measured = measured(&surroundings, rounds, &only, seed);
    let mut facts = report::facts(&surroundings, rounds, seed);
    if let Err(error) = &hold {
        facts.push(("note".into(), format!("wake-up latency is not held down: {error}")));
    }
    let page = report::markdown(&measured, &facts);
    let Some(folder) = out else {
        print!("{page}");
        return Ok(());
    };
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for (name, text) in [("locks.md", page), ("locks.json", report::json(&measured, &facts))] {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        println!("written to {}", path.display());
    }
    Ok(())
}

fn measured(surroundings: &Surroundings, rounds: usize, only: &[String], seed: u64) -> Vec<Rounds> {
    let rows = all();
    let named =
        |row: &dyn Row| only.is_empty() || only.iter().any(|name| row.name().starts_with(name.as_str()));
    let mut order: Vec<usize> = (0..rows.len()).filter(|at| named(&*rows[*at])).collect();
    let made =
        |row: &dyn Row| Rounds { name: row.name(), ours: row.ours(), trial: row.trial(), rounds: Vec::new() };
    let mut measured: Vec<Rounds> = rows.iter().map(|row| made(&**row)).collect();
    let mut random = Random::new(seed);
    for round in 0..rounds {
        eprintln!("round {} of {rounds}", round + 1);
        random.shuffle(&mut order);
        for &at in &order {
            let figures =
                raw::round_trip(surroundings).and_then(|raw| Ok((raw, rows[at].run(surroundings)?)));
            measured[at].rounds.push(figures);
        }
    }
    measured.retain(|row| !row.rounds.is_empty());
    measured
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn rows_are_distinguished() {
        Arguments::command().debug_assert();
        let mut keys: Vec<_> = all().iter().map(|row| (row.name(), row.trial())).collect();
        let count = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), count);
    }

    #[test]
    fn a_look_has_figures_or_reasons() {
        let surroundings = Surroundings::new(40).expect("two processors");
        for row in measured(&surroundings, 1, &["std".into(), "ticket".into(), "pthread".into()], 7) {
            match &row.rounds[0] {
                Ok((raw, figures)) => assert!(*raw > 0.0 && figures["ns"].is_finite(), "{}", row.name),
                Err(why) => assert!(row.trial == "handed" && !why.is_empty(), "{}: {why}", row.name),
            }
        }
    }
}
