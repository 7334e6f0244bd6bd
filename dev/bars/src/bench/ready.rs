// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Readiness: the time from a write to a socket until a task on another CPU begins, compared with bare threads; and what a
//! socket that can always be read takes of a core.
//!
//! The side of taut is the application of `dev/device`: a task at priority [`PRIORITY`] on CPU 0 that the socket releases,
//! and a best-effort task on CPU 1 that writes the time every 2 ms. Either the task's own thread waits for the socket, or,
//! with the overlay [`DISPATCHED`], the core's device thread and its dispatcher. The bare sides have the same writer: a pinned
//! SCHED_FIFO thread that blocks in `read`, and one that a more urgent thread wakes, which polls. The sides take turns, and
//! ratios are taken per round.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use taut_sys::{clock, device, futex, thread as own};
use xtask::Tree;

use crate::observed::{Observed, Variant};
use crate::row::figure;
use crate::spread::{Spread, in_turns, percentile};

/// Rounds; each measures all sides.
const ROUNDS: usize = 9;
/// Seconds per side and round.
const SIDE_S: u64 = 2;
/// Of the readers.
const PRIORITY: u8 = 80;
/// Of the bare thread that polls.
const POLLS: u8 = 98;
/// Between two writes, as in `dev/device`.
const PERIOD: Duration = Duration::from_millis(2);
/// The overlay of `dev/device` with a device thread.
const DISPATCHED: &str = "dispatched.toml";

/// The medians of the sides of a round, in ns after the write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    /// The task's own thread waits: its job begins.
    began: f64,
    /// Its job has read the value.
    read: f64,
    /// The device thread waits: the job begins.
    watched: f64,
    /// A bare thread has returned from `read`.
    bare_read: f64,
    /// A bare thread has returned from the futex on which a thread that polls has woken it.
    bare_wake: f64,
}

/// What a socket that can always be read takes of CPU 0, in percent, in each round.
pub(crate) type Floods = Vec<f64>;

/// Measures all rounds. `taut` must be built.
///
/// # Errors
/// If a side cannot run as intended: without the privilege for real-time priorities there is nothing to compare.
pub(crate) fn measure(tree: &Tree) -> Result<Vec<Round>, String> {
    // Held to the end. If the device does not exist or may not be opened, all sides run without it.
    let hold = taut_sys::machine::dma_latency_hold();
    if let Err(error) = &hold {
        println!("wake-up latency is not held down: {error}");
    }
    let ours = || Ok((latencies(tree, None)?, latencies(tree, Some(DISPATCHED))?));
    let bare = || Ok((median(bare(read)?)?, median(bare(poll_and_wake)?)?));
    let pairs = in_turns(ROUNDS, ours, bare)?;
    let round = |(((began, read), (watched, _)), (bare_read, bare_wake))| Round {
        began,
        read,
        watched,
        bare_read,
        bare_wake,
    };
    Ok(pairs.into_iter().map(round).collect())
}

/// How long after the write jobs begin, and have read; medians.
fn latencies(tree: &Tree, overlay: Option<&str>) -> Result<(f64, f64), String> {
    let lines = results(tree, &Variant { overlay, set: &[] }, "latencies")?;
    let pair = |line: &str| {
        let (began, read) = line.split_once(' ')?;
        Some((began.parse().ok()?, read.parse().ok()?))
    };
    let pairs: Option<Vec<(u64, u64)>> = lines.lines().map(pair).collect();
    let (began, read) = pairs.ok_or("`latencies` has another form")?.into_iter().unzip();
    Ok((median(began)?, median(read)?))
}

/// Runs the application, and returns what it writes to a file.
fn results(tree: &Tree, variant: &Variant<'_>, file: &str) -> Result<String, String> {
    let path = tree.target().join("bars/device").join(file);
    let _ = std::fs::remove_file(&path);
    Observed::of_variant(tree, &tree.join("dev/device"), SIDE_S, variant)?;
    std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Measures what a flood takes of CPU 0, with the task's own thread and with a device thread: the processor time of all threads
/// there beside the same without an event. `taut` must be built.
///
/// # Errors
/// As [`measure`].
pub(crate) fn floods(tree: &Tree) -> Result<[Floods; 2], String> {
    let of = |overlay| {
        let used = |floods| {
            let set = [("DEVICE_FLOODS", floods)];
            let used = results(tree, &Variant { overlay, set: &set }, "used")?;
            used.trim().parse::<f64>().map_err(|error| format!("`used`: {error}"))
        };
        let pairs = in_turns(crate::row::ENOUGH, || used("1"), || used("0"))?;
        Ok::<_, String>(pairs.into_iter().map(|(flood, quiet)| ((flood - quiet) / 1e7).max(0.0)).collect())
    };
    Ok([of(None)?, of(Some(DISPATCHED))?])
}

fn median(mut late: Vec<u64>) -> Result<f64, String> {
    percentile(&mut late, 0.5).map(|ns| ns as f64).ok_or_else(|| "nothing was read".to_owned())
}

/// How long after its write each value reached a reader.
type Late = Result<Vec<u64>, String>;

/// The latencies of bare threads on CPU 0, beside a writer on CPU 1.
fn bare(start: fn(UnixStream) -> JoinHandle<Late>) -> Late {
    let (ours, mut theirs) = UnixStream::pair().map_err(|error| error.to_string())?;
    let reader = start(ours);
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

fn placed(priority: u8) -> Result<(), String> {
    own::set_affinity(&[0]).and_then(|()| own::set_fifo(priority)).map_err(|error| error.to_string())
}

/// Blocks in `read`.
fn read(mut from: UnixStream) -> JoinHandle<Late> {
    std::thread::spawn(move || {
        placed(PRIORITY)?;
        let mut late = Vec::with_capacity(16_384);
        let mut written = [0; 8];
        while from.read_exact(&mut written).is_ok() {
            late.push(clock::monotonic_ns().saturating_sub(u64::from_ne_bytes(written)));
        }
        Ok(late)
    })
}

/// Waits on a futex for a thread that polls.
fn poll_and_wake(from: UnixStream) -> JoinHandle<Late> {
    std::thread::spawn(move || {
        placed(PRIORITY)?;
        let polled = from.try_clone().map_err(|error| error.to_string())?;
        let (seen, over) = (AtomicU32::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let polls = scope.spawn(|| {
                placed(POLLS)?;
                while !over.load(Ordering::Relaxed) {
                    if device::wait(Some(polled.as_fd()), None, Some(PERIOD)) {
                        seen.fetch_add(1, Ordering::Release);
                        let _ = futex::wake(&seen, 1, false);
                        // Long enough for the reader to read.
                        std::thread::sleep(PERIOD / 4);
                    }
                }
                Ok::<(), String>(())
            });
            let late = wait_and_read(from, &seen);
            over.store(true, Ordering::Relaxed);
            polls.join().map_err(|_| "the thread that polls panicked".to_owned())??;
            Ok(late)
        })
    })
}

/// Reads a value each time that `seen` has changed, until the other side has closed.
fn wait_and_read(mut from: UnixStream, seen: &AtomicU32) -> Vec<u64> {
    let mut late = Vec::with_capacity(16_384);
    let (mut known, mut written) = (0, [0; 8]);
    loop {
        while seen.load(Ordering::Acquire) == known {
            let _ = futex::wait(seen, known, None, false);
        }
        let began_ns = clock::monotonic_ns();
        known = seen.load(Ordering::Acquire);
        if from.read_exact(&mut written).is_err() {
            return late;
        }
        late.push(began_ns.saturating_sub(u64::from_ne_bytes(written)));
    }
}

impl Round {
    /// To the begin of a job for which its own thread waited, over `read` of a bare thread.
    pub(crate) fn own_thread(&self) -> f64 {
        self.began / self.bare_read
    }

    /// To the end of the job's `read`, over `read` of a bare thread.
    pub(crate) fn own_read(&self) -> f64 {
        self.read / self.bare_read
    }

    /// To the begin of a job for which the device thread waited, over a bare poll and a bare wake.
    pub(crate) fn device_thread(&self) -> f64 {
        self.watched / self.bare_wake
    }
}

/// A line for each comparison: the medians of both sides, and the ratio with its spread.
pub(crate) fn table(rounds: &[Round]) -> String {
    let spread = |of: &dyn Fn(&Round) -> f64| Spread::of(&rounds.iter().map(of).collect::<Vec<_>>());
    let us = |side: fn(&Round) -> f64| {
        spread(&|round| side(round) / 1e3)
            .map_or_else(|| "-".into(), |spread| format!("{} us", figure(spread.median)))
    };
    let line = |what: &str, ours: fn(&Round) -> f64, bare: fn(&Round) -> f64, ratio: fn(&Round) -> f64| {
        let ratio = spread(&ratio).map_or_else(
            || "-".into(),
            |Spread { min, median, max }| [min, median, max].map(figure).join(" / "),
        );
        format!("  {what}: taut {}, bare {}, ratio {ratio}\n", us(ours), us(bare))
    };
    let head =
        format!("from a write to its reader on another CPU, p50, {ROUNDS} rounds of {SIDE_S} s a side\n");
    [
        head,
        line("own thread, job begins", |round| round.began, |round| round.bare_read, Round::own_thread),
        line("own thread, job has read", |round| round.read, |round| round.bare_read, Round::own_read),
        line(
            "device thread, job begins",
            |round| round.watched,
            |round| round.bare_wake,
            Round::device_thread,
        ),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_per_round() {
        let round = |began, bare_read| Round {
            began,
            read: 2.0 * began,
            watched: 3.0 * began,
            bare_read,
            bare_wake: 2.0 * bare_read,
        };
        let rounds = [round(11e3, 10e3), round(20e3, 20e3), round(24e3, 20e3)];
        assert_eq!(rounds.each_ref().map(Round::own_thread), [1.1, 1.0, 1.2]);
        assert_eq!((rounds[1].own_read(), rounds[1].device_thread()), (2.0, 1.5));
        let table = table(&rounds);
        assert!(table.contains("job begins: taut 20 us, bare 20 us, ratio 1 / 1.10 / 1.20"), "{table}");
        assert!(table.contains("device thread, job begins: taut 60 us, bare 40 us, ratio 1.50"), "{table}");
        assert!(median(Vec::new()).is_err());
    }

    /// Both bare readers read all that is written, and end.
    #[test]
    fn bare_readers_read_and_end() {
        for reader in [read, poll_and_wake] {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            let reader = reader(ours);
            for _ in 0..5 {
                theirs.write_all(&clock::monotonic_ns().to_ne_bytes()).unwrap();
                std::thread::sleep(PERIOD);
            }
            drop(theirs);
            match reader.join().unwrap() {
                Ok(late) => assert_eq!(late.len(), 5),
                // Without the privilege nothing is compared.
                Err(why) => assert!(placed(1).is_err(), "{why}"),
            }
        }
    }
}
