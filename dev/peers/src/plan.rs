// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The trials of a run and their order: compared trials run close together, each time in another order.

use crate::bench::{Bench, Case};
use crate::object::{Kind, WORDS};
use crate::raw;
use crate::trial::Trial;

/// An object, by its position in the list, in a trial.
pub(crate) type Entry = (usize, Case);

/// Trials of one kind at one size: for each object those that belong together.
pub(crate) type Group = Vec<Vec<Entry>>;

/// What to run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    /// Only trials that a bar needs.
    pub(crate) bars: bool,
    /// Only objects whose names begin with one of these; all if empty.
    pub(crate) only: Vec<String>,
    /// Only these trials; all if empty.
    pub(crate) trials: Vec<Trial>,
    /// Only values with these numbers of words; all if empty.
    pub(crate) words: Vec<usize>,
}

/// Numbers of readers above 1.
const CROWDS: [u32; 2] = [4, 20];

/// The requested groups.
pub(crate) fn groups(benches: &[Box<dyn Bench>], options: &Options) -> Vec<Group> {
    let mut groups = Vec::new();
    for trial in
        Trial::ALL.into_iter().filter(|trial| options.trials.is_empty() || options.trials.contains(trial))
    {
        for words in
            WORDS.into_iter().filter(|words| options.words.is_empty() || options.words.contains(words))
        {
            for queues in [true, false] {
                let group: Group = (0..benches.len())
                    .filter(|&at| benches[at].kind().is_queue() == queues && named(&*benches[at], options))
                    .map(|at| {
                        unit(&*benches[at], trial, words, options.bars)
                            .into_iter()
                            .map(|case| (at, case))
                            .collect()
                    })
                    .filter(|unit: &Vec<Entry>| !unit.is_empty())
                    .collect();
                if !group.is_empty() {
                    groups.push(group);
                }
            }
        }
    }
    groups
}

fn named(bench: &dyn Bench, options: &Options) -> bool {
    let name = bench.name().to_lowercase();
    options.only.is_empty() || options.only.iter().any(|only| name.starts_with(&only.to_lowercase()))
}

/// The trials of an object that belong together: with one reader and with several, in a process and across.
fn unit(bench: &dyn Bench, trial: Trial, words: usize, bars: bool) -> Vec<Case> {
    let plain = Case { trial, words, readers: 1, across: false };
    let wanted = match bench.name() {
        raw::COPY => trial == Trial::Alone,
        raw::WORD => trial == Trial::Unchanged && words == 1,
        _ => bench.takes(&plain) && if bars { held(bench, trial, words) } else { usual(bench, trial, words) },
    };
    if !wanted {
        return Vec::new();
    }
    let mut cases = vec![plain];
    let large = [8, 512].contains(&words);
    if large && bench.kind() == Kind::State && [Trial::Write, Trial::Read].contains(&trial) {
        cases.extend(CROWDS.map(|readers| Case { readers, ..plain }));
    }
    if large && [Trial::Trip, Trial::Write, Trial::Read].contains(&trial) {
        cases.push(Case { across: true, ..plain });
    }
    cases.retain(|case| bench.takes(case) && (bench.ours() || !bars || !case.across));
    cases
}

/// Whether a full run has this trial.
fn usual(bench: &dyn Bench, trial: Trial, words: usize) -> bool {
    match trial {
        Trial::Unchanged => words == 8,
        // Statements about queues from 8 B to 4 KiB are also shown at a size in between.
        Trial::Write | Trial::Read => true,
        _ => words != 32 || bench.kind() == Kind::State,
    }
}

/// Objects of others that a bar names.
const NAMED: [&str; 3] = ["rtrb", "rtrb chunks", "triple_buffer"];
/// Objects of others that may be the fastest.
const FAST: [&str; 7] =
    ["rtrb", "rtrb chunks", "ringbuf", "heapless", "bbqueue", "ArrayQueue", "real-time fifo"];

/// Whether a bar needs this trial.
fn held(bench: &dyn Bench, trial: Trial, words: usize) -> bool {
    let name = bench.name();
    match trial {
        Trial::Alone | Trial::Check => false,
        Trial::Flat | Trial::Slices => {
            bench.kind().is_queue() && words != 32 && (bench.ours() || FAST.contains(&name))
        }
        Trial::Unchanged => words == 8 && (bench.ours() || NAMED.contains(&name)),
        _ => usual(bench, trial, words) && (bench.ours() || NAMED.contains(&name)),
    }
}

/// A small generator, so that a seed reproduces the order.
pub(crate) struct Random(u64);

impl Random {
    /// From a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Shuffles the items.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, (self.next() % (at as u64 + 1)) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn benches() -> Vec<Box<dyn Bench>> {
        crate::benches()
    }

    #[test]
    fn a_full_run_has_every_object_in_every_trial_that_it_takes() {
        let benches = benches();
        let groups = groups(&benches, &Options::default());
        let entries: Vec<Entry> = groups.into_iter().flatten().flatten().collect();
        for (at, bench) in benches.iter().enumerate() {
            assert!(entries.iter().any(|(other, _)| *other == at), "{} is not a participant", bench.name());
        }
        let mut sorted = entries.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), entries.len(), "nothing twice");
    }

    /// What the bars of `cargo xtask bars share` need, one line each. That command knows the same list; a run that
    /// lacks a line leaves bars without a figure.
    const NEEDED: &str = include_str!("../needed.txt");

    #[test]
    fn one_run_has_all_that_bars_need() {
        let benches = benches();
        for bars in [true, false] {
            let groups = groups(&benches, &Options { bars, ..Options::default() });
            let line = |(at, case): &Entry| {
                let far = if case.across { ", across" } else { "" };
                let (name, trial, bytes) = (benches[*at].name(), case.trial.word(), 8 * case.words);
                format!("{name}: {trial}, {bytes} B, {} readers{far}", case.readers)
            };
            let planned: Vec<String> = groups.iter().flatten().flatten().map(line).collect();
            let lacking: Vec<_> =
                NEEDED.lines().filter(|line| !planned.iter().any(|other| other == line)).collect();
            assert!(lacking.is_empty(), "bars {bars}: no trial measures {lacking:#?}");
            // The bars compare with the fastest of the others, so they must know all others that are measured.
            let others = groups.iter().flatten().flatten().filter(|(at, case)| {
                bars && !benches[*at].ours() && [Trial::Flat, Trial::Slices].contains(&case.trial)
            });
            let missing: Vec<_> =
                others.map(line).filter(|line| !NEEDED.lines().any(|other| other == line)).collect();
            assert!(missing.is_empty(), "no bar uses {missing:#?}");
        }
    }

    #[test]
    fn bars_need_less_than_a_full_run() {
        let benches = benches();
        let count = |bars| {
            groups(&benches, &Options { bars, ..Options::default() }).iter().flatten().flatten().count()
        };
        assert!(count(true) < count(false));
        assert!(count(true) > 0);
    }

    #[test]
    fn a_seed_gives_the_order_again() {
        let order = |seed| {
            let mut items: Vec<u32> = (0..20).collect();
            Random::new(seed).shuffle(&mut items);
            items
        };
        assert_eq!(order(7), order(7));
        assert_ne!(order(7), order(8));
        let mut sorted = order(7);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..20).collect::<Vec<_>>());
    }
}
