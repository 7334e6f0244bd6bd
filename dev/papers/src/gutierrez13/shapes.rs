// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The paper's statements about its charts, checked against ours.

use super::measured::{Measured, Unit, between};
use super::rules::Variant::{self, Dfp, DfpHeap, DfpList, Srp, SrpList};
use super::trials::Test::{self, Activation, Pair, PairWithoutClock, Unlock};
use crate::fit::{fit, spread};
use crate::page::table;

/// A statement about a chart, and whether it holds.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    /// The statement, and the chart that it is about.
    said: &'static str,
    unit: Unit,
    pub(super) found: bool,
    /// The numbers on which the answer rests.
    numbers: String,
}

/// A check of one statement, and the units in which it applies.
type Way = (fn(Looked<'_>) -> Finding, &'static [Unit]);

/// All findings, in all units that have figures.
pub(super) fn findings(measured: &Measured) -> Vec<Finding> {
    // Two statements are about reading the clock, which instruction counts leave out.
    let (both, ns): (&'static [Unit], &'static [Unit]) = (&[Unit::Instructions, Unit::Ns], &[Unit::Ns]);
    let ways: [Way; 12] = [
        (linear, both),
        (logarithmic, both),
        (steps_of_unlock, both),
        (steps_of_activation, both),
        (worst, both),
        (alike, both),
        (lock_slower, ns),
        (crossing, ns),
        (proportional, both),
        (heap_ahead, both),
        (activation, both),
        (flat, both),
    ];
    let there = measured.units();
    let each = |(way, units): &Way| {
        let units = units.iter().filter(|unit| there.contains(unit));
        units.map(|unit| way(Looked { measured, unit: *unit })).collect::<Vec<_>>()
    };
    ways.iter().flat_map(each).collect()
}

/// The findings as a table.
pub(super) fn reported(findings: &[Finding]) -> String {
    let mut rows = vec![["what the paper says", "by", "found", "numbers"].map(str::to_owned).to_vec()];
    for (at, finding) in findings.iter().enumerate() {
        let again = at > 0 && findings[at - 1].said == finding.said;
        let said = if again { "" } else { finding.said };
        let found = if finding.found { "yes" } else { "**no**" };
        rows.push([said, finding.unit.word(), found, &finding.numbers].map(str::to_owned).to_vec());
    }
    // Text is aligned to the left.
    table(&rows).replacen("|---|---:|---:|---:|", "|---|---|---|---|", 1)
}

/// The figures in one unit.
#[derive(Clone, Copy)]
struct Looked<'a> {
    measured: &'a Measured,
    unit: Unit,
}

impl Looked<'_> {
    fn at(self, variant: Variant, test: Test, others: u32) -> f64 {
        self.measured.at(self.unit, (variant, test, others))
    }

    fn slope(self, variant: Variant, test: Test) -> f64 {
        fit(&self.measured.points(self.unit, variant, test, 10, 100)).slope
    }

    /// The slope in words; in ns with its spread over rounds.
    fn format_slope(self, variant: Variant, test: Test) -> String {
        let slope = self.slope(variant, test);
        match self.unit {
            Unit::Instructions => format!("{slope:.1}"),
            Unit::Ns => {
                let [least, _, most] = spread(&self.measured.slopes_ns(variant, test));
                format!("{slope:.2} [{least:.2}, {most:.2}]")
            }
        }
    }

    /// The number of other tasks from which on `one` costs no more than `other` at every measured number; `None` if
    /// there is no such number.
    fn ahead_from(self, one: (Variant, Test), other: (Variant, Test)) -> Option<u32> {
        let behind = between(0, 100)
            .filter(|others| self.at(one.0, one.1, *others) > self.at(other.0, other.1, *others));
        match behind.last() {
            None => Some(0),
            Some(last) => between(last + 1, 100).next(),
        }
    }

    fn finding(self, said: &'static str, found: bool, numbers: String) -> Finding {
        Finding { said, unit: self.unit, found, numbers }
    }
}

fn from(others: Option<u32>) -> String {
    others.map_or_else(|| "at no number".into(), |others| format!("from {others} others on"))
}

/// A chart has a shape if a line explains more than this share of its variance.
const EXPLAINED: f64 = 0.98;

fn linear(looked: Looked<'_>) -> Finding {
    let explains = |variant| fit(&looked.measured.points(looked.unit, variant, Unlock, 10, 100)).explains;
    let both = [SrpList, DfpList];
    looked.finding(
        "lists: general insert is O(n), so B is linear",
        both.into_iter().all(|variant| explains(variant) > EXPLAINED && looked.slope(variant, Unlock) > 0.0),
        format!(
            "a task more: SRP {}, DFP {}; a line explains {:.1} and {:.1} %",
            looked.format_slope(SrpList, Unlock),
            looked.format_slope(DfpList, Unlock),
            100.0 * explains(SrpList),
            100.0 * explains(DfpList)
        ),
    )
}

fn logarithmic(looked: Looked<'_>) -> Finding {
    let points = looked.measured.points(looked.unit, DfpHeap, Unlock, 1, 100);
    let levels: Vec<_> = points.iter().map(|(others, cost)| ((others + 1.0).log2(), *cost)).collect();
    let (by_tasks, by_levels) = (fit(&points), fit(&levels));
    looked.finding(
        "heap: insert and remove are O(log n), so B is logarithmic",
        by_levels.explains > 0.9 && by_levels.explains > by_tasks.explains,
        format!(
            "{:.1} for each doubling, which explains {:.1} %; a line in tasks {:.1} %",
            by_levels.slope,
            100.0 * by_levels.explains,
            100.0 * by_tasks.explains
        ),
    )
}

/// The heap holds the others and one more task; a new level begins at 4 and at 8 tasks.
fn steps(looked: Looked<'_>, test: Test, said: &'static str) -> Finding {
    let rise = |others: u32| looked.at(DfpHeap, test, others) - looked.at(DfpHeap, test, others - 1);
    let most = [2, 4, 5, 6, 8, 9, 10].map(rise).into_iter().fold(f64::MIN, f64::max);
    looked.finding(
        said,
        rise(3).min(rise(7)) > most,
        format!("{:+.1} and {:+.1}, and at most {most:+.1} at another number", rise(3), rise(7)),
    )
}

fn steps_of_unlock(looked: Looked<'_>) -> Finding {
    steps(looked, Unlock, "B: a heap's time \"increases abruptly from 3 to 4 tasks\", and from 7 to 8")
}

fn steps_of_activation(looked: Looked<'_>) -> Finding {
    steps(looked, Activation, "C: the same")
}

fn worst(looked: Looked<'_>) -> Finding {
    let others = |variant| from(looked.ahead_from((variant, Unlock), (SrpList, Unlock)));
    let found = between(1, 10).all(|at| {
        [DfpList, DfpHeap]
            .into_iter()
            .all(|other| looked.at(other, Unlock, at) < looked.at(SrpList, Unlock, at))
    });
    looked.finding(
        "B, up to 10 tasks: \"SRP & DLL has the worst performance\"",
        found,
        format!("DFP & list is cheaper {}, DFP & heap {}", others(DfpList), others(DfpHeap)),
    )
}

fn alike(looked: Looked<'_>) -> Finding {
    let apart = between(1, 5).map(|at| looked.at(DfpHeap, Unlock, at) / looked.at(DfpList, Unlock, at));
    let (least, most) =
        apart.fold((f64::MAX, f64::MIN), |(least, most), ratio| (least.min(ratio), most.max(ratio)));
    let ahead = looked.ahead_from((DfpHeap, Unlock), (DfpList, Unlock));
    looked.finding(
        "B: DFP on list and on heap are \"more or less the same until we have more than five tasks\"",
        least > 0.75 && most < 1.33 && ahead.is_some_and(|others| (5..=10).contains(&others)),
        format!("heap over list {least:.2} to {most:.2} at 1 to 5; the heap is cheaper {}", from(ahead)),
    )
}

fn lock_slower(looked: Looked<'_>) -> Finding {
    let lock = |variant, test| looked.at(variant, test, 0) - looked.at(variant, Unlock, 0);
    let (srp, dfp) = (lock(SrpList, Pair), lock(DfpList, Pair));
    looked.finding(
        "A: \"the lock operation is slower in the DFP\", which reads the clock",
        dfp > srp,
        format!(
            "A less B: SRP & list {srp:.1}, DFP & list {dfp:.1}, {:.1} without a look at the clock",
            lock(DfpList, PairWithoutClock)
        ),
    )
}

fn crossing(looked: Looked<'_>) -> Finding {
    let ahead = |variant, test| looked.ahead_from((variant, test), (SrpList, Pair));
    let list = ahead(DfpList, Pair);
    let gain = looked.slope(SrpList, Pair) - looked.slope(DfpList, Pair);
    looked.finding(
        "A: \"for more than three tasks we can see how DFP performs better than SRP\"",
        list.is_some_and(|others| (2..=5).contains(&others)),
        format!(
            "DFP & list is cheaper {}, DFP & heap {}; {:.1} behind with none, and gains {gain:.2} a task; without a look at the clock DFP & list is cheaper {}, DFP & heap {}",
            from(list),
            from(ahead(DfpHeap, Pair)),
            looked.at(DfpList, Pair, 0) - looked.at(SrpList, Pair, 0),
            from(ahead(DfpList, PairWithoutClock)),
            from(ahead(DfpHeap, PairWithoutClock))
        ),
    )
}

fn proportional(looked: Looked<'_>) -> Finding {
    let points = between(10, 100).map(|others| {
        (f64::from(others), looked.at(SrpList, Unlock, others) - looked.at(DfpList, Unlock, others))
    });
    let line = fit(&points.collect::<Vec<_>>());
    looked.finding(
        "10 to 100: DFP & list behaves better than SRP & list, the difference \"is proportional to the number of threads\"",
        line.slope > 0.0 && line.explains > 0.9,
        format!("B: {:.2} a task, which explains {:.1} %", line.slope, 100.0 * line.explains),
    )
}

fn heap_ahead(looked: Looked<'_>) -> Finding {
    let over = |test| looked.at(SrpList, test, 100) / looked.at(DfpHeap, test, 100);
    let least = [Pair, Unlock, Activation].map(over).into_iter().fold(f64::MAX, f64::min);
    looked.finding(
        "10 to 100: DFP & heap \"clearly outperforms\" SRP & list",
        least > 2.0,
        format!(
            "SRP & list over DFP & heap at 100: A {:.1}, B {:.1}, C {:.1}",
            over(Pair),
            over(Unlock),
            over(Activation)
        ),
    )
}

fn activation(looked: Looked<'_>) -> Finding {
    let [srp, dfp] =
        [SrpList, DfpList].map(|variant| looked.slope(variant, Activation) / looked.slope(variant, Unlock));
    let order = |test| {
        looked.at(SrpList, test, 100) > looked.at(DfpList, test, 100)
            && looked.at(DfpList, test, 100) > looked.at(DfpHeap, test, 100)
    };
    looked.finding(
        "C: \"basically the same as what we have seen in tests A and B\"",
        order(Unlock) && order(Activation) && [srp, dfp].iter().all(|ratio| (0.8..1.25).contains(ratio)),
        format!("slope of C over that of B: SRP & list {srp:.2}, DFP & list {dfp:.2}; the same order at 100"),
    )
}

/// Not a statement of the paper, which holds that a heap cannot be used with SRP.
fn flat(looked: Looked<'_>) -> Finding {
    let reported = |variant: Variant| {
        let at = |others| looked.at(variant, Unlock, others);
        (at(100) - at(0), format!("{}: {:.1}, {:.1} and {:.1}", variant.name(), at(0), at(10), at(100)))
    };
    let (srp, dfp) = (reported(Srp), reported(Dfp));
    // The limit in instructions is what one more task costs in a list.
    let most = if looked.unit == Unit::Ns { 1.0 } else { 20.0 };
    looked.finding(
        "not the paper's: our unlock costs the same with any number of tasks",
        srp.0.max(dfp.0) <= most,
        format!("at 0, 10 and 100 others: {}; {}", srp.1, dfp.1),
    )
}

#[cfg(test)]
mod tests {
    use super::super::measured::tests::by;
    use super::*;

    fn found(measured: &Measured) -> Vec<bool> {
        let findings = findings(measured);
        // Both units have the same figures here; only the limit of `flat` differs.
        let alike = findings.chunk_by(|one, other| one.said == other.said);
        alike.map(|alike| alike.iter().all(|finding| finding.found)).collect()
    }

    fn level(others: f64) -> f64 {
        (others + 1.0).log2().floor()
    }

    /// Costs with the shapes that the paper's text describes.
    fn paper(variant: Variant, test: Test, others: f64) -> f64 {
        let clock = if test == Pair && variant.reads_the_clock() { 20.0 } else { 0.0 };
        let lock = if matches!(test, Pair | PairWithoutClock) { 5.0 } else { 0.0 };
        clock
            + lock
            + match variant {
                SrpList => 14.0 + 9.0 * others,
                DfpList => 12.0 + 3.5 * others,
                DfpHeap => 13.5 + 6.3 * level(others) + 0.01 * others,
                Srp | Dfp => 5.0,
            }
    }

    #[test]
    fn the_papers_shapes_are_found() {
        assert_eq!(found(&by(paper)), [true; 12]);
    }

    #[test]
    fn missing_shapes_are_not_found() {
        assert_eq!(found(&by(|_, _, _| 5.0)), {
            let mut none = [false; 12];
            // No rule is steeper than another, and ours is flat.
            none[11] = true;
            none
        });
        // A slow clock moves the crossing.
        let slow = by(|variant, test, others| {
            paper(variant, test, others) + if variant.reads_the_clock() && test == Pair { 200.0 } else { 0.0 }
        });
        assert!(!found(&slow)[7]);
        // A heap whose cost has no steps.
        let smooth = by(|variant, test, others| {
            if variant == DfpHeap { 13.5 + 6.3 * (others + 1.0).log2() } else { paper(variant, test, others) }
        });
        assert!(!found(&smooth)[2] && !found(&smooth)[3]);
    }

    #[test]
    fn findings_are_a_table() {
        let text = reported(&findings(&by(paper)));
        assert_eq!(text.lines().count(), 2 + 22);
        assert!(
            text.starts_with("| what the paper says | by | found | numbers |\n|---|---|---|---|\n| lists: ")
        );
        assert!(text.contains("\n|  | ns | yes | "), "{text}");
    }
}
