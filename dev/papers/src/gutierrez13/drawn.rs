// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Figures 6, 7 and 8: for each test two charts in ns, as in the paper, and the same two in instructions.

use super::measured::{Measured, Unit};
use super::rules::Variant;
use super::threads::{Activations, OTHERS, VARIANTS};
use super::trials::Test;
use crate::figure::{Axis, Body, Figure, Line, Marker, Panel, Stroke, Style, line};
use crate::fit::spread;

fn style(variant: Variant, without_clock: bool) -> Style {
    let (colour, mark) = match variant {
        Variant::SrpList => (1, Marker::Dot),
        Variant::DfpList => (2, Marker::Square),
        Variant::DfpHeap => (0, Marker::Triangle),
        Variant::Srp => (3, Marker::Dot),
        Variant::Dfp => (4, Marker::Square),
    };
    if without_clock { line(colour, Stroke::Dotted, Marker::None) } else { line(colour, Stroke::Solid, mark) }
}

/// The lines of a test's charts: one for each rule. Test A in ns also has the rules without the clock.
fn lines(test: Test, unit: Unit) -> Vec<(Variant, Test, Style)> {
    let all = Variant::ALL.into_iter();
    let mut lines: Vec<_> = all.clone().map(|variant| (variant, test, style(variant, false))).collect();
    if test == Test::Pair && unit == Unit::Ns {
        let without = all.filter(|variant| variant.reads_the_clock());
        lines.extend(without.map(|variant| (variant, Test::PairWithoutClock, style(variant, true))));
    }
    lines
}

/// The figure of a test.
pub(super) fn figure(measured: &Measured, test: Test) -> Figure {
    let (title, label) = match test {
        Test::Unlock => ("Test B: unlock (Fig. 7)", "an unlock"),
        Test::Activation => ("Test C: from a release to the decision (Fig. 8)", "a release"),
        _ => ("Test A: lock and unlock (Fig. 6)", "a pair"),
    };
    let mut panels = Vec::new();
    for unit in [Unit::Ns, Unit::Instructions] {
        if !measured.units().contains(&unit) {
            continue;
        }
        for (from, to) in [(0, 10), (10, 100)] {
            panels.push(panel(measured, (test, unit, label), from, to));
        }
    }
    if test == Test::Activation
        && let Ok(threads) = &measured.threads
    {
        panels.extend([(0, 10), (10, 100)].map(|(from, to)| on_threads(threads, from, to)));
    }
    let mut legend: Vec<_> =
        Variant::ALL.iter().map(|variant| (variant.name().to_owned(), style(*variant, false))).collect();
    if test == Test::Activation && measured.threads.is_ok() {
        legend.push(("a bare loop, on threads".into(), line(5, Stroke::Dashed, Marker::None)));
    }
    if test == Test::Pair {
        legend.push(("without a look at the clock".into(), line(5, Stroke::Dotted, Marker::None)));
    }
    let clock = if test == Test::Activation {
        "Instructions are those of the rule alone. On threads: from the instant of a release to the job's first instruction."
    } else if test == Test::Pair {
        "In ns, a lock of DFP reads the clock unless dotted; in instructions the clock is not counted."
    } else {
        "Instructions are those of the rule alone, with the call and the return."
    };
    Figure {
        title: title.into(),
        caption: vec![
            "By how many tasks with longer deadlines are ready beside the one that is looked at; medians of rounds.".into(),
            clock.into(),
        ],
        panels,
        columns: 2,
        legend,
    }
}

fn panel(measured: &Measured, (test, unit, label): (Test, Unit, &str), from: u32, to: u32) -> Panel {
    let lines: Vec<_> = lines(test, unit)
        .into_iter()
        .map(|(variant, test, style)| Line { style, points: measured.points(unit, variant, test, from, to) })
        .collect();
    let most = lines.iter().flat_map(|line| &line.points).map(|point| point.1).fold(0.0, f64::max);
    let name = unit.word();
    Panel {
        title: if to == 10 {
            format!("{name}, up to 10 others")
        } else {
            format!("{name}, 10 to 100 others")
        },
        x: Axis::linear("other ready tasks", from.into(), to.into(), if to == 10 { 1.0 } else { 10.0 }),
        y: Axis::from_zero(&format!("{name} of {label}"), most),
        body: Body::Lines(lines),
    }
}

/// Test C on threads, in us.
fn on_threads(threads: &Activations, from: u32, to: u32) -> Panel {
    let here = || OTHERS.into_iter().filter(|others| (from..=to).contains(others));
    let of = |variant: Variant| {
        let at = |others: u32| threads.dispatched.get(&(variant, others)).map(|rounds| spread(rounds)[1]);
        let points = here().filter_map(|others| Some((f64::from(others), at(others)?)));
        Line { style: style(variant, false), points: points.collect() }
    };
    let mut lines: Vec<_> = VARIANTS.map(of).into();
    let bare = spread(&threads.bare)[1];
    let ends = [from, to].map(|others| (f64::from(others), bare));
    lines.push(Line { style: line(5, Stroke::Dashed, Marker::None), points: ends.into() });
    let most = lines.iter().flat_map(|line| &line.points).map(|point| point.1).fold(0.0, f64::max);
    Panel {
        title: format!("us on threads, {}", if to == 10 { "up to 10 others" } else { "10 to 89 others" }),
        x: Axis::linear("other ready tasks", from.into(), to.into(), if to == 10 { 1.0 } else { 10.0 }),
        y: Axis::from_zero("us of a release", most),
        body: Body::Lines(lines),
    }
}

#[cfg(test)]
mod tests {
    use super::super::measured::tests::by;
    use super::*;

    #[test]
    fn as_many_lines_as_rules() {
        let mut measured = by(|_, _, others| 10.0 + others);
        let count = |figure: &Figure| {
            let of = |panel: &Panel| match &panel.body {
                Body::Lines(lines) => lines.iter().map(|line| line.points.len()).collect::<Vec<_>>(),
                _ => Vec::new(),
            };
            figure.panels.iter().map(of).collect::<Vec<_>>()
        };
        let pair = count(&figure(&measured, Test::Pair));
        assert_eq!(pair, [vec![11; 8], vec![10; 8], vec![11; 5], vec![10; 5]]);
        measured.counts = Err("no valgrind".into());
        assert_eq!(count(&figure(&measured, Test::Unlock)), [vec![11; 5], vec![10; 5]]);
    }
}
