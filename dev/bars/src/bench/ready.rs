// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Readiness: the time from a write to a socket until a task on another CPU has read it, compared with a bare thread that
//! blocks in `read`.
//!
//! The side of taut is the application of `dev/device`: a task at priority [`PRIORITY`] on CPU 0 that the socket releases,
//! and a best-effort task on CPU 1 that writes the time every 2 ms. The bare side has the same writer, and a pinned
//! SCHED_FIFO thread. Both sides take turns, and the ratio is taken per round.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use taut_sys::{clock, thread as own};
use xtask::Tree;

use crate::observed::Observed;
use crate::row::figure;
use crate::spread::{Spread, in_turns, percentile};

/// Rounds; each measures both sides.
const ROUNDS: usize = 9;
/// Seconds per side and round.
const SIDE_S: u64 = 2;
/// Of both readers.
const PRIORITY: u8 = 80;
/// Between two writes, as in `dev/device`.
const PERIOD: Duration = Duration::from_millis(2);

/// The medians of both sides of a round, in ns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    taut: f64,
    bare: f64,
}

/// Measures all rounds. `taut` must be built.
///
/// # Errors
/// If a side cannot run as intended: without the privilege for real-time priorities there is nothing to compare.
pub(crate) fn measure(tree: &Tree) -> Result<Vec<Round>, String> {
    // Held to the end. If the device does not exist or may not be opened, both sides run without it.
    let hold = taut_sys::machine::dma_latency_hold();
    if let Err(error) = &hold {
        println!("wake-up latency is not held down: {error}");
    }
    let app = tree.join("dev/device");
    let taut = || {
        Observed::of(tree, &app, SIDE_S)?;
        let path = tree.target().join("bars/device/latencies");
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let late: Result<Vec<u64>, _> = text.lines().map(str::parse).collect();
        median(late.map_err(|error| error.to_string())?)
    };
    let pairs = in_turns(ROUNDS, taut, || median(bare()?))?;
    Ok(pairs.into_iter().map(|(taut, bare)| Round { taut, bare }).collect())
}

fn median(mut late: Vec<u64>) -> Result<f64, String> {
    percentile(&mut late, 0.5).map(|ns| ns as f64).ok_or_else(|| "nothing was read".to_owned())
}

/// The latencies of a bare thread that blocks in `read` on CPU 0, beside a writer on CPU 1.
fn bare() -> Result<Vec<u64>, String> {
    let (mut ours, mut theirs) = UnixStream::pair().map_err(|error| error.to_string())?;
    let reader = std::thread::spawn(move || {
        own::set_affinity(&[0]).and_then(|()| own::set_fifo(PRIORITY)).map_err(|error| error.to_string())?;
        let mut late = Vec::with_capacity(16_384);
        let mut written = [0; 8];
        while ours.read_exact(&mut written).is_ok() {
            late.push(clock::monotonic_ns().saturating_sub(u64::from_ne_bytes(written)));
        }
        Ok(late)
    });
    let writer = std::thread::spawn(move || {
        let _ = own::set_affinity(&[1]);
        let end_ns = clock::monotonic_ns() + SIDE_S * 1_000_000_000;
        while clock::monotonic_ns() < end_ns {
            std::thread::sleep(PERIOD);
            if theirs.write_all(&clock::monotonic_ns().to_ne_bytes()).is_err() {
                return;
            }
        }
    });
    writer.join().map_err(|_| "the writer panicked".to_owned())?;
    reader.join().map_err(|_| "the reader panicked".to_owned())?
}

/// The ratio taut / bare of each round.
pub(crate) fn ratios(rounds: &[Round]) -> Vec<f64> {
    rounds.iter().map(|round| round.taut / round.bare).collect()
}

/// A line with the medians of both sides, and the ratio with its spread.
pub(crate) fn table(rounds: &[Round]) -> String {
    let middle = |side: fn(&Round) -> f64| {
        let samples: Vec<_> = rounds.iter().map(|round| side(round) / 1e3).collect();
        Spread::of(&samples).map_or_else(|| "-".into(), |spread| format!("{} us", figure(spread.median)))
    };
    let ratio = Spread::of(&ratios(rounds))
        .map_or_else(|| "-".into(), |Spread { min, median, max }| [min, median, max].map(figure).join(" / "));
    format!(
        "from a write to its read on another CPU, p50, {ROUNDS} rounds of {SIDE_S} s a side: taut {}, bare {}, ratio {ratio}\n",
        middle(|round| round.taut),
        middle(|round| round.bare),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_per_round() {
        let rounds = [(11e3, 10e3), (20e3, 20e3), (24e3, 20e3)].map(|(taut, bare)| Round { taut, bare });
        assert_eq!(ratios(&rounds), [1.1, 1.0, 1.2]);
        let table = table(&rounds);
        assert!(table.contains("taut 20 us, bare 20 us, ratio 1 / 1.10 / 1.20"), "{table}");
        assert!(median(Vec::new()).is_err());
    }
}
