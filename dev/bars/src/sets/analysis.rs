// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The bars of analyses and simulated runs: they are fast enough to run a million times, and much faster than in
//! Python.
//!
//! The Python side is SimSo, from the package registry, in a virtual environment below the target folder. pyCPA, the
//! other tool that was intended, is in no registry. So simulated runs are compared with those of SimSo, and analyses
//! with no other tool.

use std::fs;

use serde_json::Value;
use xtask::{Command, Tree, oracle, simso};

use super::app;
use crate::observed::build;
use crate::row::{self, Held, Row};
use crate::spread::Spread;

/// The number of sets of 80 tasks.
const LARGE: usize = 100;
/// Rounds of the Python side.
const ROUNDS: &str = "5";

/// Measures all bars of this set, in about two minutes after the build.
pub(super) fn measure(tree: &Tree) -> Vec<Row> {
    let folder = tree.target().join("bars/prove");
    let sets = folder.join("sets.jsonl");
    let made = fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()));
    let figures = made.and_then(|()| {
        let output = oracle(tree, &["speed", "--sets-to", &sets.to_string_lossy()]).run();
        if !output.success() {
            return Err(format!("the program that measures {}: {}", output.reason(), output.text));
        }
        serde_json::from_str::<Value>(output.stdout.trim()).map_err(|error| format!("not JSON: {error}"))
    });
    let of = |name: &str| figures.as_ref().map_err(Clone::clone).and_then(|figures| times(figures, name));
    let large = |bar: &str, name: &str| {
        let bar = format!("{bar}, worst of {LARGE} sets: 4 cores, 80 tasks, 30 resources");
        Row::at_most(
            bar,
            1.0,
            "ms",
            Held::Max,
            figures.as_ref().map_err(Clone::clone).and_then(|all| of_sets(all, name)),
        )
    };
    let ratios = of("run_ms").and_then(|ours| {
        let theirs = beside(tree, &sets.to_string_lossy())?;
        let ours = Spread::of(&ours).ok_or("no run of ours")?.median;
        Ok(theirs.into_iter().map(|theirs| 100.0 * ours / theirs).collect())
    });
    let checks = build(tree).and_then(|()| app::checks(tree, &tree.join("apps/cochlear")));
    vec![
        Row::at_most("fixed-priority analysis of 6 tasks", 1000.0, "ns", Held::Median, of("sweep_ns")),
        large("MSRP as published", "msrp_gai01_ms"),
        large("MSRP, holistic", "msrp_holistic_ms"),
        large("MSRP, as plans use it", "msrp_joint_ms"),
        large("MPCP", "mpcp_lnr09_sound_ms"),
        large("FMLP+", "fmlp_plus_ms"),
        Row::at_most("an event of a simulated run", 200.0, "ns", Held::Median, of("event_ns")),
        Row::at_most("runs of the same sets, of SimSo's time", 1.0, "%", Held::Median, ratios),
        Row::at_most("check of apps/cochlear", 5.0, "ms", Held::Median, checks),
    ]
}

/// The times under the name `name`, all of them positive.
fn times(figures: &Value, name: &str) -> Result<Vec<f64>, String> {
    row::times(name, numbers(&figures[name])?)
}

/// The time of an analysis for each large set. At least one set must be accepted: an analysis that accepts none may
/// give up at once.
fn of_sets(figures: &Value, name: &str) -> Result<Vec<f64>, String> {
    let all = times(figures, name)?;
    if all.len() != LARGE {
        return Err(format!("{} sets, and {LARGE} were to be analysed", all.len()));
    }
    match figures["accepted"].as_u64() {
        Some(1..) => Ok(all),
        _ => Err("not one set was accepted".into()),
    }
}

fn numbers(value: &Value) -> Result<Vec<f64>, String> {
    let all = value.as_array().ok_or("a list of figures is missing")?;
    all.iter().map(|value| value.as_f64().ok_or_else(|| format!("{value} is not a number"))).collect()
}

/// The time of each round of all sets in SimSo, in ms.
fn beside(tree: &Tree, sets: &str) -> Result<Vec<f64>, String> {
    let python = simso(tree)?;
    let script = tree.join("dev/oracle/simso_runs.py");
    let output = Command::new(&python).args([script.to_string_lossy().as_ref(), sets, ROUNDS]).run();
    if !output.success() {
        return Err(format!("{}: {}", output.reason(), output.text));
    }
    let reported =
        serde_json::from_str(output.stdout.trim()).map_err(|error| format!("not JSON: {error}"))?;
    numbers(&reported)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn too_few_sets_or_none_that_holds() {
        let of = |sets: usize, ms: f64, accepted: u64| {
            let figures = json!({ "x_ms": vec![ms; sets], "accepted": accepted });
            Row::at_most("x", 1.0, "ms", Held::Max, of_sets(&figures, "x_ms")).met()
        };
        assert!(of(LARGE, 0.5, 1));
        assert!(!of(LARGE, 0.5, 0) && !of(LARGE - 1, 0.5, 1) && !of(0, 0.5, 1) && !of(LARGE, 0.0, 1));
        assert!(of_sets(&json!({ "x_ms": vec![0.5; LARGE] }), "x_ms").is_err(), "nobody said how many hold");
        assert!(times(&json!({ "event_ns": [0.0] }), "event_ns").is_err());
        assert!(times(&json!({}), "event_ns").is_err());
    }

    #[test]
    fn figures_are_numbers() {
        assert_eq!(numbers(&json!([1, 2.5])), Ok(vec![1.0, 2.5]));
        assert!(numbers(&json!([1, "two"])).is_err());
        assert!(numbers(&Value::Null).is_err());
    }
}
