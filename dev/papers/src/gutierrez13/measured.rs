// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Looks up what was measured, and fits lines through it.

use super::counts::Counts;
use super::rules::Variant;
use super::threads::Activations;
use super::trials::{Cell, OTHERS, Test, Times, cells};
use crate::fit::{fit, spread};

/// The measurements of one run.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) times: Times,
    /// The counts, or the reason why instructions could not be counted.
    pub(super) counts: Result<Counts, String>,
    /// Test C on threads, or the reason why it could not run.
    pub(super) threads: Result<Activations, String>,
}

/// The unit in which an operation is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Instructions,
    Ns,
}

impl Unit {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Ns => "ns",
        }
    }
}

impl Measured {
    /// The cost of an operation beside a number of other tasks: the median of the rounds, or the count. NaN if it was
    /// not measured.
    pub(super) fn at(&self, unit: Unit, cell: Cell) -> f64 {
        match unit {
            Unit::Ns => spread(self.rounds(cell))[1],
            Unit::Instructions => {
                self.counts.as_ref().ok().and_then(|counts| counts.get(&cell)).copied().unwrap_or(f64::NAN)
            }
        }
    }

    /// The times of each round, in ns.
    pub(super) fn rounds(&self, cell: Cell) -> &[f64] {
        self.times.get(&cell).map_or(&[], Vec::as_slice)
    }

    /// The units that have figures.
    pub(super) fn units(&self) -> Vec<Unit> {
        let counted = self.counts.is_ok().then_some(Unit::Instructions);
        counted.into_iter().chain([Unit::Ns]).collect()
    }

    /// A point for each number of others from `from` to `to`.
    pub(super) fn points(
        &self,
        unit: Unit,
        variant: Variant,
        test: Test,
        from: u32,
        to: u32,
    ) -> Vec<(f64, f64)> {
        between(from, to).map(|others| (f64::from(others), self.at(unit, (variant, test, others)))).collect()
    }

    /// The slope of each round, in ns per task, from 10 to 100 others.
    pub(super) fn slopes_ns(&self, variant: Variant, test: Test) -> Vec<f64> {
        let rounds = self.rounds((variant, test, 10)).len();
        let of = |round: usize| {
            let point = |others| (f64::from(others), self.rounds((variant, test, others))[round]);
            fit(&between(10, 100).map(point).collect::<Vec<_>>()).slope
        };
        (0..rounds).map(of).collect()
    }

    /// A row for each rule, test and number of others.
    pub(super) fn csv(&self) -> String {
        let mut text = String::from("test,rule,others,instructions,ns,ns_least,ns_most\n");
        for cell in cells() {
            let (variant, test, others) = cell;
            let [least, middle, most] = spread(self.rounds(cell));
            let count = self.at(Unit::Instructions, cell);
            let count = if count.is_nan() { String::new() } else { format!("{count:.1}") };
            text += &format!(
                "{},{},{others},{count},{middle:.2},{least:.2},{most:.2}\n",
                test.word(),
                variant.word()
            );
        }
        for ((variant, others), rounds) in self.threads.iter().flat_map(|threads| &threads.dispatched) {
            let [least, middle, most] = spread(rounds).map(|us| 1e3 * us);
            text += &format!("c_threads,{},{others},,{middle:.0},{least:.0},{most:.0}\n", variant.word());
        }
        text
    }
}

/// The measured numbers of others from `from` to `to`, both included.
pub(super) fn between(from: u32, to: u32) -> impl Iterator<Item = u32> {
    OTHERS.into_iter().filter(move |others| (from..=to).contains(others))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Figures by a formula of rule, test and number of others, in three rounds that differ by a tenth.
    pub(in crate::gutierrez13) fn by(of: impl Fn(Variant, Test, f64) -> f64) -> Measured {
        let figure = |(variant, test, others): Cell| of(variant, test, f64::from(others));
        let times = cells().map(|cell| (cell, [1.0, 0.9, 1.1].map(|part| part * figure(cell)).to_vec()));
        let counts = cells().map(|cell| (cell, figure(cell))).collect();
        Measured { times: times.collect(), counts: Ok(counts), threads: Err("not asked for".into()) }
    }

    #[test]
    fn rows_and_slopes() {
        let measured = by(|_, _, others| 10.0 + 2.0 * others);
        let slopes = measured.slopes_ns(Variant::SrpList, Test::Unlock);
        for (slope, expected) in slopes.iter().zip([2.0, 1.8, 2.2]) {
            assert!((slope - expected).abs() < 1e-9, "{slopes:?}");
        }
        let csv = measured.csv();
        assert!(csv.contains("\nb,srp_list,10,30.0,30.00,27.00,33.00\n"), "{csv}");
        assert_eq!(csv.lines().count(), 1 + 20 * 18);
    }
}
