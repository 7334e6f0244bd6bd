// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A drive's controller as a synchronous model: its blocks, what they compute, and an interpreter of the whole.
//!
//! ```text
//!            core 0                                              core 1
//!   ┌───────▶ current 10 ms ─amperes─▶ position 20 ms
//!   │ z⁻¹                                   │ angle
//!   │                                       ▼
//!   │                                     speed 20 ms ──rpm──▶ filter 10 ms ◀──┐ z⁻¹
//!   │                                       │ rpm                 │ smoothed   │
//!   │                                       ▼                     ▼            │
//!   │                                    planner 80 ms ─reference─▶ control 20 ms │
//!   │                                                             │ demand     │
//!   └──moment── torque 20 ms ◀────────────────────────────────────┤            │
//!               z⁻¹ ▲ bounds                                      │            │
//!                   └───────── limits 40 ms ◀─────────────────────┘            │
//!                                   └──────────────bounds─────────────────────┘
//!   monitor 80 ms on core 1 reads all of it at once.
//! ```
//!
//! The blocks compute no control law. Each computes a hash of everything that it reads, of its last output and of its
//! job's number: one wrong value anywhere changes every value that depends on it. So a run can be compared with the
//! model bit for bit.

/// What `taut generate` makes from `taut.toml`.
pub mod manifest;

use std::collections::{BTreeMap, BTreeSet};

/// An output of a block, and the number of the job that computed it.
pub type Value = (u64, u64);

/// A block of the model: a task of the manifest.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// The task's name.
    pub name: &'static str,
    /// T in ms; all blocks start at 0.
    pub period_ms: u64,
    /// The signals that it reads, by name; `true` through a unit delay.
    pub reads: &'static [(&'static str, bool)],
    /// The signal that it writes, if any.
    pub gives: Option<&'static str>,
    /// How long a job executes on purpose, in µs. The job reads its inputs before that, and again after.
    pub takes_us: u64,
}

const fn block(
    name: &'static str,
    period_ms: u64,
    reads: &'static [(&'static str, bool)],
    gives: &'static str,
) -> Block {
    Block { name, period_ms, reads, gives: Some(gives), takes_us: 0 }
}

/// The model. Two of its blocks make correct data flow hard, in the two ways of [Han14, Figure 1]. The planner is due
/// at the same instant as the control on the other core, which reads the planner's output, and the planner takes 3 ms
/// for it. The monitor reads again only after later jobs of the blocks that it reads have run.
pub const BLOCKS: &[Block] = &[
    block("current", 10, &[("moment", true), ("bounds", true)], "amperes"),
    block("position", 20, &[("amperes", false)], "angle"),
    block("speed", 20, &[("angle", false)], "rpm"),
    Block { takes_us: 3_000, ..block("planner", 80, &[("rpm", false)], "reference") },
    block("torque", 20, &[("demand", false), ("bounds", true)], "moment"),
    block("limits", 40, &[("demand", false)], "bounds"),
    block("filter", 10, &[("rpm", false), ("bounds", true)], "smoothed"),
    block("control", 20, &[("smoothed", false), ("reference", false)], "demand"),
    Block {
        gives: None,
        takes_us: 12_000,
        ..block(
            "monitor",
            80,
            &[
                ("amperes", false),
                ("angle", false),
                ("smoothed", false),
                ("demand", false),
                ("moment", false),
                ("bounds", false),
            ],
            "",
        )
    },
];

/// The output of a job: a hash of everything that the job knows.
pub fn compute(block: usize, job: u64, last: u64, read: impl Iterator<Item = Option<Value>>) -> u64 {
    let mixed = |hash: u64, word: u64| {
        let hash = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash ^ hash >> 29
    };
    let seed = mixed(mixed(mixed(0, block as u64 + 1), job), last);
    read.fold(seed, |hash, value| match value {
        Some((value, job)) => mixed(mixed(hash, value), job),
        None => mixed(hash, 1),
    })
}

/// What one job has read: each of its inputs, before it executed and again after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reads {
    /// The block's position in [`BLOCKS`].
    pub block: usize,
    /// The job's number.
    pub job: u64,
    /// By input, before the job executed.
    pub before: Vec<Option<Value>>,
    /// By input, after the job executed.
    pub behind: Vec<Option<Value>>,
}

/// Runs the model as a simulator of block diagrams does: in steps of the base rate. In each step all due blocks run,
/// in an order in which each block follows the blocks that it reads without a delay. Returns what the jobs before
/// `until_ms` read, by block and job. A job in `dropped` does nothing: it reads nothing, and its signal stays as it
/// was.
pub fn interpret(
    blocks: &[Block],
    until_ms: u64,
    dropped: &BTreeSet<(usize, u64)>,
) -> BTreeMap<(usize, u64), Vec<Option<Value>>> {
    let base_ms = blocks.iter().fold(0, |rate, block| gcd(rate, block.period_ms)).max(1);
    let order = order(blocks);
    let mut last = vec![0; blocks.len()];
    // The current value of each signal, and the output of its unit delay.
    let mut signals: BTreeMap<&str, Option<Value>> = BTreeMap::new();
    let mut delayed = signals.clone();
    let mut read = BTreeMap::new();
    for step in 0.. {
        let now_ms = step * base_ms;
        if now_ms >= until_ms {
            break;
        }
        let due = |at: &usize| now_ms % blocks[*at].period_ms == 0;
        // A unit delay runs with the block that feeds it: it gives that block's previous output.
        for signal in (0..blocks.len()).filter(due).filter_map(|at| blocks[at].gives) {
            delayed.insert(signal, signals.get(signal).copied().flatten());
        }
        for &at in order.iter().filter(|at| due(at)) {
            let job = now_ms / blocks[at].period_ms;
            if dropped.contains(&(at, job)) {
                continue;
            }
            let from = |(signal, late): &(&str, bool)| {
                let source = if *late { &delayed } else { &signals };
                source.get(signal).copied().flatten()
            };
            let got: Vec<Option<Value>> = blocks[at].reads.iter().map(from).collect();
            last[at] = compute(at, job, last[at], got.iter().copied());
            if let Some(signal) = blocks[at].gives {
                signals.insert(signal, Some((last[at], job)));
            }
            read.insert((at, job), got);
        }
    }
    read
}

/// A total order in which each block follows the blocks that it reads without a delay. The model has no cycle of such
/// reads; the check of the manifest verifies that too.
fn order(blocks: &[Block]) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::new();
    while order.len() < blocks.len() {
        let before = order.len();
        for at in 0..blocks.len() {
            let there = |signal: &str| order.iter().any(|done| blocks[*done].gives == Some(signal));
            let ready = blocks[at].reads.iter().all(|(signal, delayed)| *delayed || there(signal));
            if ready && !order.contains(&at) {
                order.push(at);
            }
        }
        if order.len() == before {
            break;
        }
    }
    order
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The comparison of a run with the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Jobs that ran.
    pub jobs: u64,
    /// Jobs that were released and dropped because they would have been late.
    pub dropped: u64,
    /// Values that the jobs read.
    pub reads: u64,
    /// How many of these values differ from the model's.
    pub different: u64,
    /// The first different value in order of time, in words.
    pub first: Option<String>,
}

/// Compares every value that a run read with the model's.
pub fn compare(run: &[Reads]) -> Comparison {
    let instant = |reads: &Reads| reads.job * BLOCKS[reads.block].period_ms;
    // A job that is missing among the others of its block was dropped.
    let mut ran: Vec<BTreeSet<u64>> = vec![BTreeSet::new(); BLOCKS.len()];
    for reads in run {
        ran[reads.block].insert(reads.job);
    }
    let missing = |(block, jobs): (usize, &BTreeSet<u64>)| {
        let last = jobs.last().copied().unwrap_or(0);
        (0..last).filter(|job| !jobs.contains(job)).map(|job| (block, job)).collect::<Vec<_>>()
    };
    let dropped: BTreeSet<(usize, u64)> = ran.iter().enumerate().flat_map(missing).collect();
    let model = interpret(BLOCKS, run.iter().map(instant).max().map_or(0, |last| last + 1), &dropped);
    let jobs = run.len() as u64;
    let mut comparison = Comparison { jobs, dropped: dropped.len() as u64, ..Comparison::default() };
    let mut run: Vec<&Reads> = run.iter().collect();
    run.sort_by_key(|reads| (instant(reads), reads.block));
    for reads in run {
        let Some(expected) = model.get(&(reads.block, reads.job)) else { continue };
        let block = &BLOCKS[reads.block];
        for (got, when) in [(&reads.before, "before"), (&reads.behind, "after")] {
            for ((got, expected), (signal, _)) in got.iter().zip(expected).zip(block.reads) {
                comparison.reads += 1;
                if got == expected {
                    continue;
                }
                comparison.different += 1;
                comparison.first.get_or_insert_with(|| {
                    let says = |value: &Option<Value>| match value {
                        Some((value, job)) => format!("{value:016x} of job {job}"),
                        None => "nothing".to_owned(),
                    };
                    let (name, job, at) = (block.name, reads.job, instant(reads));
                    format!(
                        "`{name}`, job {job} at {at} ms, read `{signal}` {when} it executed as {}; the model \
                         reads {}",
                        says(got),
                        says(expected)
                    )
                });
            }
        }
    }
    comparison
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_blocks_have_an_order() {
        assert_eq!(order(BLOCKS).len(), BLOCKS.len());
    }

    #[test]
    fn the_model_by_hand() {
        // A signal that counts every 2 ms, read every 1 ms directly and with a delay.
        let blocks = [
            block("slow", 2, &[], "x"),
            block("direct", 1, &[("x", false)], "y"),
            block("late", 1, &[("x", true)], "z"),
        ];
        let model = interpret(&blocks, 5, &BTreeSet::new());
        let job = |block: usize, job: u64| model[&(block, job)][0].map(|(_, job)| job);
        assert_eq!([0, 1, 2, 3, 4].map(|at| job(1, at)), [Some(0), Some(0), Some(1), Some(1), Some(2)]);
        assert_eq!([0, 1, 2, 3, 4].map(|at| job(2, at)), [None, None, Some(0), Some(0), Some(1)]);
    }

    #[test]
    fn a_job_that_was_dropped_does_nothing() {
        let gone = |jobs: &[(usize, u64)]| jobs.iter().copied().collect::<BTreeSet<_>>();
        let blocks = [block("slow", 2, &[], "x"), block("direct", 1, &[("x", false)], "y")];
        let model = interpret(&blocks, 5, &gone(&[(0, 1), (1, 3)]));
        let job = |job: u64| model[&(1, job)][0].map(|(_, job)| job);
        // `slow` never wrote its second value.
        assert_eq!([0, 1, 2, 4].map(job), [Some(0), Some(0), Some(0), Some(2)]);
        assert!(!model.contains_key(&(1, 3)) && !model.contains_key(&(0, 1)));
        // A run with missing jobs is compared with the model without the same jobs.
        let dropped = gone(&[(7, 3), (0, 5)]);
        let reads = |((block, job), got): (&(usize, u64), &Vec<Option<Value>>)| Reads {
            block: *block,
            job: *job,
            before: got.clone(),
            behind: got.clone(),
        };
        let run: Vec<Reads> = interpret(BLOCKS, 200, &dropped).iter().map(reads).collect();
        let same = compare(&run);
        assert_eq!((same.jobs, same.dropped, same.different), (89, 2, 0), "{same:?}");
        // The comparison finds a run that behaved as if these jobs had not been dropped.
        let run: Vec<Reads> = interpret(BLOCKS, 200, &BTreeSet::new()).iter().map(reads).collect();
        let without: Vec<Reads> =
            run.into_iter().filter(|reads| !dropped.contains(&(reads.block, reads.job))).collect();
        assert!(compare(&without).different > 0);
    }

    #[test]
    fn differences_are_found() {
        let model = interpret(BLOCKS, 200, &BTreeSet::new());
        let reads = |((block, job), got): (&(usize, u64), &Vec<Option<Value>>)| Reads {
            block: *block,
            job: *job,
            before: got.clone(),
            behind: got.clone(),
        };
        let mut run: Vec<Reads> = model.iter().map(reads).collect();
        let same = compare(&run);
        assert_eq!((same.jobs, same.different, same.first), (91, 0, None));
        assert!(same.reads > 200, "{}", same.reads);
        let control = run.iter_mut().find(|reads| reads.block == 7 && reads.job == 4).expect("there");
        control.behind[1] = Some((0xab, 0));
        let other = compare(&run);
        assert_eq!((other.reads, other.different), (same.reads, 1));
        let first = other.first.expect("one");
        assert!(
            first.starts_with(
                "`control`, job 4 at 80 ms, read `reference` after it executed as 00000000000000ab of job 0"
            ),
            "{first}"
        );
    }
}
