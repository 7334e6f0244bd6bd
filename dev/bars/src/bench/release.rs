// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Release jitter: the time from a task's nominal release to the first instruction of its job, compared with a [`bare`]
//! loop.
//!
//! The side of taut is the application of `dev/jitter`: one periodic task, `tick`, with a period of 1 ms, alone on
//! CPU 0 at priority [`PRIORITY`]. Its job does nothing. Its report has `jitter` with `p50_ns`, `p99_ns` and
//! `p999_ns`. Both sides take turns on the same CPU within one run of this command. Wake-up latency is held down for
//! both, so that the power state of the machine favours neither. The ratio is taken per round.
//!
//! The table also shows p99 and p99.9: a virtual machine stalls for milliseconds, and these stalls decide them.

use std::time::Duration;

use xtask::Tree;

use super::bare::{self, Loop};
use crate::observed::{Jitter, Observed};
use crate::row::figure;
use crate::spread::{Spread, in_turns, percentile};

/// Rounds; each measures both sides.
const ROUNDS: usize = 9;
/// Seconds per side and round.
const SIDE_S: u64 = 3;
const CPU: u16 = 0;
/// The SCHED_FIFO priority of the task `tick` and of the bare loop.
const PRIORITY: u8 = 80;
const PERIOD: Duration = Duration::from_millis(1);

/// One round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    taut: Jitter,
    bare: Jitter,
}

/// Measures all rounds. `taut` must be built.
///
/// # Errors
/// If a side cannot run as intended: without the privilege for real-time priorities there is nothing to compare.
pub(crate) fn measure(tree: &Tree) -> Result<Vec<Round>, String> {
    // The device stays open to the end. If it does not exist or may not be opened, both sides run without it.
    let hold = taut_sys::machine::dma_latency_hold();
    if let Err(error) = &hold {
        println!("wake-up latency is not held down: {error}");
    }
    let app = tree.join("dev/jitter");
    let taut = || Observed::of(tree, &app, SIDE_S)?.jitter("tick");
    let releases = usize::try_from(SIDE_S * 1000).map_err(|error| error.to_string())?;
    let bare = || jitter(bare::run(Loop { cpu: CPU, priority: PRIORITY, period: PERIOD, releases })?);
    let pairs = in_turns(ROUNDS, taut, bare)?;
    Ok(pairs.into_iter().map(|(taut, bare)| Round { taut, bare }).collect())
}

fn jitter(mut late: Vec<u64>) -> Result<Jitter, String> {
    let mut at =
        |share| percentile(&mut late, share).map(|ns| ns as f64).ok_or("the bare loop had no release");
    Ok(Jitter { p50: at(0.5)?, p99: at(0.99)?, p999: at(0.999)? })
}

/// The ratio taut / bare of each round.
pub(crate) fn ratios(rounds: &[Round], figure: impl Fn(Jitter) -> f64) -> Vec<f64> {
    rounds.iter().map(|round| figure(round.taut) / figure(round.bare)).collect()
}

/// A table: for each percentile, the medians of both sides and the ratio with its spread.
pub(crate) fn table(rounds: &[Round]) -> String {
    let mut text = format!("release jitter, {ROUNDS} rounds of {SIDE_S} s a side, medians of rounds\n");
    text += "            taut       bare   ratio min / median / max\n";
    for (name, pick) in [
        ("p50", (|jitter| jitter.p50) as fn(Jitter) -> f64),
        ("p99", |jitter| jitter.p99),
        ("p99.9", |jitter| jitter.p999),
    ] {
        let median = |side: fn(&Round) -> Jitter| {
            let samples: Vec<_> = rounds.iter().map(|round| pick(side(round)) / 1e3).collect();
            Spread::of(&samples).map_or_else(|| "-".into(), |spread| format!("{} us", figure(spread.median)))
        };
        let (taut, bare) = (median(|round| round.taut), median(|round| round.bare));
        let ratio = Spread::of(&ratios(rounds, pick)).map_or_else(
            || "-".into(),
            |Spread { min, median, max }| [min, median, max].map(figure).join(" / "),
        );
        text += &format!("  {name:6}{taut:>9}  {bare:>9}   {ratio}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_per_round() {
        let jitter = |p50: f64| Jitter { p50, p99: 2.0 * p50, p999: 1e6 };
        let rounds = [(15.0, 10.0), (20.0, 20.0), (44.0, 40.0)];
        let rounds = rounds.map(|(taut, bare)| Round { taut: jitter(taut * 1e3), bare: jitter(bare * 1e3) });
        assert_eq!(ratios(&rounds, |jitter| jitter.p50), [1.5, 1.0, 1.1]);
        let table = table(&rounds);
        let p50: Vec<_> = table.lines().nth(2).unwrap().split_whitespace().collect();
        assert_eq!(p50, ["p50", "20", "us", "20", "us", "1", "/", "1.10", "/", "1.50"]);
    }

    #[test]
    fn percentiles_of_a_side() {
        let jitter = jitter((1..=1000).collect()).unwrap();
        assert_eq!(jitter, Jitter { p50: 500.0, p99: 990.0, p999: 999.0 });
        assert!(super::jitter(Vec::new()).is_err());
    }
}
