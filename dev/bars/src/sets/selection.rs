// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The bars of selections: they are good, fast and proven least; and a sweep in Python costs little more than in Rust.
//!
//! `taut-papers speed` measures selections on random systems as \[Han14\] draws them and on a surrogate of its fuel
//! injection system. It does not run the long form of Figure 15: the time of that form follows from the known number
//! of its rows and the measured rate.

use serde_json::Value;
use xtask::{Command, Tree, beside_the_command};

use crate::row::{Held, Row};

/// Measures all bars of this set, in less than ten minutes after the build.
pub(super) fn measure(tree: &Tree) -> Vec<Row> {
    let speed =
        Command::line("cargo run --quiet --locked --release -p taut-papers -- speed").dir(tree.root()).run();
    let figures = if speed.success() {
        serde_json::from_str::<Value>(speed.stdout.trim()).map_err(|error| format!("not JSON: {error}"))
    } else {
        Err(format!("the program that measures {}: {}", speed.reason(), speed.text))
    };
    let of = |name: &str| figures.as_ref().map_err(Clone::clone).and_then(|figures| numbers(&figures[name]));
    let minutes = || {
        let rows = of("fig15_rows")?;
        let rates = of("fig15_rows_per_second")?;
        minutes_of(&rows, &rates)
    };
    let systems = |name: &str| match &figures {
        Ok(figures) => Systems::of(&figures[name]),
        Err(why) => Err(why.clone()),
    };
    let surrogate = "selection for the surrogate with 46 objects";
    let all = systems("surrogate");
    // For the surrogate, a limit of one second on each search replaces the bar on late searches.
    let [kept, _, above] = Systems::bars(surrogate, SURROGATES, &all);
    let times = all.map(|all| all.0.iter().map(|one| one.ms).collect());
    let mut rows = vec![kept, Row::at_most(surrogate, 1_000.0, "ms", Held::Max, times), above];
    rows.extend(Systems::bars("20 objects", TWENTY, &systems("twenty")));
    rows.extend(Systems::gaps("20 objects", &systems("twenty")));
    rows.extend([
        Row::at_most(
            "Figure 15 in its long form, by the rate of its rows",
            30.0,
            "min",
            Held::Median,
            minutes(),
        ),
        Row::at_most("a sweep in Python, above the same in Rust", 10.0, "%", Held::Median, overhead(tree)),
    ]);
    rows
}

/// The time for this number of rows, in minutes, at each of these rates in rows per second.
fn minutes_of(rows: &[f64], rates: &[f64]) -> Result<Vec<f64>, String> {
    match *rows {
        [rows] if rows > 0.0 => Ok(rates.iter().map(|rate| rows / rate / 60.0).collect()),
        _ => Err(format!("{rows:?} is not a number of rows")),
    }
}

/// The least number of systems with a selection: fewer systems say nothing about how good selections are.
const TWENTY: usize = 150;
/// The least number of surrogates with a selection: nine of ten loads, those up to 90 %. At 95 %, possibly no selection
/// keeps the deadlines.
const SURROGATES: usize = 9;
/// A search is late if within this time, in ms, it proves neither that its selection is the least nor that there is
/// none.
const LATE_MS: f64 = 10_000.0;

/// The result for one system, with or without a selection.
#[derive(Clone, Debug)]
struct One {
    ms: f64,
    ended: bool,
    found: bool,
    published: bool,
    above_paper: Option<f64>,
    gap: Option<f64>,
}

/// The results of all systems that were drawn.
#[derive(Clone, Debug)]
struct Systems(Vec<One>);

impl Systems {
    fn of(value: &Value) -> Result<Self, String> {
        let all = value.as_array().ok_or("no systems")?;
        let flag = |one: &Value, name: &str| one[name].as_bool().ok_or_else(|| format!("no `{name}`"));
        let one = |one: &Value| {
            Ok(One {
                ms: one["ms"].as_f64().ok_or("no time")?,
                ended: flag(one, "ended")?,
                found: flag(one, "found")?,
                published: flag(one, "published")?,
                above_paper: one["above_paper_percent"].as_f64(),
                gap: one["gap_percent"].as_f64(),
            })
        };
        all.iter().map(one).collect::<Result<_, String>>().map(Self)
    }

    /// The bars that enough systems have a selection, few searches are late, and our selection is never above the
    /// published one. If only the published search finds a selection, ours counts as [`f64::MAX`] percent above it.
    fn bars(what: &str, least: usize, all: &Result<Self, String>) -> [Row; 3] {
        let of = |of: &dyn Fn(&[One]) -> Vec<f64>| all.as_ref().map(|all| of(&all.0)).map_err(Clone::clone);
        let lacking =
            |all: &[One]| vec![least.saturating_sub(all.iter().filter(|one| one.found).count()) as f64];
        let late = |all: &[One]| {
            let late = all.iter().filter(|one| !one.ended || one.ms >= LATE_MS).count();
            if all.is_empty() { Vec::new() } else { vec![late as f64 * 100.0 / all.len() as f64] }
        };
        let above = |all: &[One]| {
            let both = all.iter().filter(|one| one.published);
            both.map(|one| if one.found { one.above_paper.unwrap_or(f64::MAX) } else { f64::MAX }).collect()
        };
        [
            Row::at_most(
                format!("{what}: systems with a selection, fewer than {least}"),
                0.0,
                "systems",
                Held::Max,
                of(&lacking),
            ),
            Row::at_most(
                format!("{what}: not proven least, nor impossible, within 10 s"),
                5.0,
                "%",
                Held::Max,
                of(&late),
            ),
            Row::at_most(
                format!("{what}: above the published one at depth 5"),
                0.0,
                "%",
                Held::Max,
                of(&above),
            ),
        ]
    }

    /// How far our selections are above the proven lower bound of all selections, in percent: the mean and the worst.
    fn gaps(what: &str, all: &Result<Self, String>) -> [Row; 2] {
        let gaps = || {
            let all = all.as_ref().map_err(Clone::clone)?;
            // A selection whose gap is unknown counts as `f64::MAX` percent above the bound.
            let found = all.0.iter().filter(|one| one.found || one.gap.is_some());
            Ok::<Vec<f64>, String>(found.map(|one| one.gap.unwrap_or(f64::MAX)).collect())
        };
        let mean = gaps().map(|all| if all.is_empty() { all } else { vec![mean(&all)] });
        [
            Row::at_most(format!("{what}, above the least: mean"), 0.3, "%", Held::Max, mean),
            Row::at_most(format!("{what}, above the least: worst"), 10.0, "%", Held::Max, gaps()),
        ]
    }
}

/// How much more processor time Python takes, in percent, round by round. Elapsed times would say more about the
/// other load of the machine.
fn overhead(tree: &Tree) -> Result<Vec<f64>, String> {
    let reported = beside_the_command(tree)?;
    let reported: Value =
        serde_json::from_str(reported.trim()).map_err(|error| format!("not JSON: {error}"))?;
    if reported["same_rows"] != true {
        return Err("Python makes other rows than the command".into());
    }
    let [python, command] = ["python", "command"].map(|name| numbers(&reported["cpu_seconds"][name]));
    above(&python?, &command?)
}

/// How much more `one` takes than `other`, in percent, round by round.
fn above(one: &[f64], other: &[f64]) -> Result<Vec<f64>, String> {
    if one.len() != other.len() {
        return Err(format!("{} rounds of the one, {} of the other", one.len(), other.len()));
    }
    let pairs = one.iter().zip(other);
    pairs
        .map(|(one, other)| match (*one > 0.0, *other > 0.0) {
            (true, true) => Ok((one / other - 1.0) * 100.0),
            _ => Err(format!("a sweep in {one} s beside one in {other} s is not a measurement")),
        })
        .collect()
}

fn mean(all: &[f64]) -> f64 {
    all.iter().sum::<f64>() / all.len() as f64
}

/// The numbers of a list, or a single number.
fn numbers(value: &Value) -> Result<Vec<f64>, String> {
    let number = |value: &Value| value.as_f64().ok_or_else(|| format!("{value} is not a number"));
    match value {
        Value::Array(all) => all.iter().map(number).collect(),
        one => Ok(vec![number(one)?]),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_are_numbers() {
        assert_eq!(numbers(&json!([1, 2.5])), Ok(vec![1.0, 2.5]));
        assert_eq!(numbers(&json!(3)), Ok(vec![3.0]));
        assert!(numbers(&json!([1, "two"])).is_err());
        assert!(numbers(&Value::Null).is_err());
        assert!((mean(&[1.0, 3.0]) - 2.0).abs() < 1e-9);
    }

    fn one(ms: f64, ours: Option<f64>, published: bool) -> Value {
        let (found, above) = (ours.is_some(), ours.filter(|_| published));
        json!({ "ms": ms, "ended": ms < 10_000.0, "found": found, "published": published,
                "above_paper_percent": above, "gap_percent": ours.map(|_| 0.0) })
    }

    fn met(all: Vec<Value>) -> Vec<bool> {
        let all = Systems::of(&Value::from(all));
        let rows = Systems::bars("x", 3, &all).into_iter().chain(Systems::gaps("x", &all));
        rows.map(|row| row.met()).collect()
    }

    #[test]
    fn a_time_of_zero_is_not_a_measurement() {
        let minutes = |rows: &[f64], rates: &[f64]| {
            Row::at_most("x", 30.0, "min", Held::Median, minutes_of(rows, rates)).met()
        };
        assert!(minutes(&[600.0], &[10.0; 5]));
        assert!(!minutes(&[600.0], &[0.0; 5]) && !minutes(&[600.0], &[-1.0; 5]) && !minutes(&[600.0], &[]));
        assert!(!minutes(&[0.0], &[10.0; 5]) && !minutes(&[], &[10.0; 5]));
        assert!(!minutes(&[600.0], &[f64::INFINITY; 5]) && !minutes(&[600.0], &[10.0; 4]));
        assert_eq!(above(&[3.0, 2.0], &[2.0, 2.0]), Ok(vec![50.0, 0.0]));
        assert!(above(&[0.0], &[1.0]).is_err() && above(&[1.0], &[0.0]).is_err());
        assert!(above(&[1.0; 5], &[1.0; 4]).is_err() && above(&[f64::NAN], &[1.0]).is_err());
        let unknown = json!([{ "ms": 1.0, "ended": true, "found": true, "published": false }]);
        assert!(!Systems::gaps("x", &Systems::of(&unknown)).iter().any(Row::met), "nobody knows how far");
    }

    /// The five bars in order: enough systems; on time; not above the published one; the mean and the worst gap.
    #[test]
    fn systems_without_a_selection_count() {
        let good = || vec![one(1.0, Some(-3.0), true); 3];
        let with = |more: Value| met([good(), vec![more]].concat());
        assert_eq!(met(good()), [true; 5]);
        assert_eq!(with(one(1.0, None, false)), [true; 5], "that there is none was shown");
        assert_eq!(with(one(1.0, None, true)), [true, true, false, true, true], "the published one has some");
        assert_eq!(with(one(10_000.0, None, false)), [true, false, true, true, true], "it gave up");
        assert_eq!(with(one(10_000.0, None, true)), [true, false, false, true, true]);
        assert_eq!(with(one(1.0, Some(0.1), true)), [true, true, false, true, true]);
        assert_eq!(met(good()[..2].to_vec()), [false, true, true, true, true], "too few");
        assert_eq!(met(Vec::new()), [false; 5], "none at all");
        assert!(Systems::of(&json!([{ "ms": 1.0 }])).is_err());
    }
}
