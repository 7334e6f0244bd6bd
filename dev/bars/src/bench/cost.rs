// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The cost of an operation of each protocol, compared with a plain copy of the same bytes.
//!
//! The figures come from the bench `cost` of `taut-share`, which with `--json` prints a list of objects with
//! `protocol`, `operation`, `bytes`, `ns_median`, `ns_min`, `ns_max` and `over_memcpy` on its standard output. It
//! measures all rows, the copy among them, uncontended and in turns in one process.

use serde_json::Value;
use xtask::{Command, Tree};

/// One operation on one size.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cost {
    what: String,
    bytes: u64,
    median: f64,
    min: f64,
    max: f64,
    over_copy: f64,
}

/// Runs the bench.
///
/// # Errors
/// If it does not build or run, or if its output is not such a list.
pub(crate) fn measure(tree: &Tree) -> Result<Vec<Cost>, String> {
    let bench = Command::line("cargo bench --quiet --locked -p taut-share --bench cost -- --json");
    let output = bench.dir(tree.root()).run();
    if !output.success() {
        return Err(format!("the bench {}: {}", output.reason(), output.text));
    }
    parse(&output.stdout)
}

fn parse(text: &str) -> Result<Vec<Cost>, String> {
    let rows: Vec<Value> = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
    let cost = |row: &Value| {
        Some(Cost {
            what: format!("{} {}", row["protocol"].as_str()?, row["operation"].as_str()?),
            bytes: row["bytes"].as_u64()?,
            median: row["ns_median"].as_f64()?,
            min: row["ns_min"].as_f64()?,
            max: row["ns_max"].as_f64()?,
            over_copy: row["over_memcpy"].as_f64()?,
        })
    };
    rows.iter().map(|row| cost(row).ok_or_else(|| format!("not a cost: {row}"))).collect()
}

/// One line per operation and size.
pub(crate) fn table(rows: &[Cost], figure: &dyn Fn(f64) -> String) -> String {
    let mut text =
        String::from("cost of an operation, uncontended: median, (least / largest), times a plain copy\n");
    let width = rows.iter().map(|row| row.what.chars().count()).max().unwrap_or(0);
    for row in rows {
        let [median, min, max, over] = [row.median, row.min, row.max, row.over_copy].map(figure);
        let spread = format!("({min} / {max})");
        text += &format!("  {:width$} {:>6} B {median:>8} ns  {spread:<18} x {over}\n", row.what, row.bytes);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_shows() {
        let text = r#"[{"protocol":"SDrtR","operation":"read","bytes":64,"rounds":31,
            "ns_median":12.5,"ns_min":12.0,"ns_max":20.25,"over_memcpy":9.5}]"#;
        let rows = parse(text).unwrap();
        assert_eq!((rows[0].what.as_str(), rows[0].bytes, rows[0].max), ("SDrtR read", 64, 20.25));
        let table = table(&rows, &|value| format!("{value:.1}"));
        let line = table.lines().nth(1).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(line, "SDrtR read 64 B 12.5 ns (12.0 / 20.2) x 9.5");
        assert!(parse("[{}]").unwrap_err().starts_with("not a cost"));
        assert!(parse("running").unwrap_err().starts_with("not JSON"));
    }
}
