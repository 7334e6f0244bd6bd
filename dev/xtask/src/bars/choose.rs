// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The bars of selections: good, fast, and proven; and that Python costs little.
//!
//! What selections reach is measured by `taut-papers speed`, on random systems as \[Han14\] draws them and on a surrogate of
//! its fuel injection system. The long form of its Figure 15 is not run: its rows are timed, and their number is known.

use serde_json::Value;

use super::row::{Held, Row};
use crate::command::Command;
use crate::python;
use crate::tree::Tree;

/// All of them, in less than ten minutes once built.
pub(super) fn measure(tree: &Tree) -> Vec<Row> {
    let speed =
        Command::line("cargo run --quiet --locked --release -p taut-papers -- speed").dir(tree.root()).run();
    let figures = if speed.success() {
        serde_json::from_str::<Value>(speed.stdout.trim()).map_err(|error| format!("not JSON: {error}"))
    } else {
        Err(format!("the program that measures {}: {}", speed.reason(), speed.text))
    };
    let of = |name: &str| figures.as_ref().map_err(Clone::clone).and_then(|figures| numbers(&figures[name]));
    let gaps = || of("gap_percent");
    let minutes = || {
        let rows = of("fig15_rows")?;
        let rates = of("fig15_rows_per_second")?;
        let rows = rows.first().copied().ok_or("no number of rows")?;
        Ok(rates.into_iter().map(|rate| rows / rate / 60.0).collect())
    };
    let late = || {
        let times = of("twenty_ms")?;
        let late = times.iter().filter(|time| **time >= 10_000.0).count();
        Ok(vec![late as f64 * 100.0 / times.len().max(1) as f64])
    };
    let surrogate = "selection for the surrogate with 46 objects";
    vec![
        Row::at_most(surrogate, 1_000.0, "ms", Held::Max, of("surrogate_ms")),
        Row::at_most(
            format!("{surrogate}, above the published one at depth 5"),
            0.0,
            "%",
            Held::Max,
            of("surrogate_above_depth5_percent"),
        ),
        Row::at_most(
            "20 objects not proven least within 10 s, of random systems",
            5.0,
            "%",
            Held::Max,
            late(),
        ),
        Row::at_most(
            "20 objects, above the published one at depth 5",
            0.0,
            "%",
            Held::Max,
            of("above_paper_percent"),
        ),
        Row::at_most(
            "20 objects, above the least: mean",
            0.3,
            "%",
            Held::Max,
            gaps().map(|all| vec![mean(&all)]),
        ),
        Row::at_most("20 objects, above the least: worst", 10.0, "%", Held::Max, gaps()),
        Row::at_most(
            "Figure 15 in its long form, by the rate of its rows",
            30.0,
            "min",
            Held::Median,
            minutes(),
        ),
        Row::at_most("a sweep in Python, above the same in Rust", 10.0, "%", Held::Median, overhead(tree)),
    ]
}

/// Round by round, how much more of the processors Python takes: how long both last says more of what else runs.
fn overhead(tree: &Tree) -> Result<Vec<f64>, String> {
    let told = python::beside_the_command(tree)?;
    let told: Value = serde_json::from_str(told.trim()).map_err(|error| format!("not JSON: {error}"))?;
    if told["same_rows"] != true {
        return Err("Python makes other rows than the command".into());
    }
    let [python, command] = ["python", "command"].map(|name| numbers(&told["cpu_seconds"][name]));
    Ok(python?.into_iter().zip(command?).map(|(python, command)| (python / command - 1.0) * 100.0).collect())
}

fn mean(all: &[f64]) -> f64 {
    all.iter().sum::<f64>() / all.len().max(1) as f64
}

/// A list of numbers, or one.
fn numbers(value: &Value) -> Result<Vec<f64>, String> {
    let number = |value: &Value| value.as_f64().ok_or_else(|| format!("{value} is no number"));
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
}
