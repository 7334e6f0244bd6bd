// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What an operation of each protocol costs beside a plain copy of the same bytes.
//!
//! The figures come from the bench `cost` of `taut-share`, which with `--json` prints a list of objects
//! `{"what", "bytes", "ns", "copy_ns"}` on its standard output: medians, uncontended, in one process.

use serde_json::Value;

use crate::command::Command;
use crate::tree::Tree;

/// One operation on one size.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cost {
    what: String,
    bytes: u64,
    ns: f64,
    copy_ns: f64,
}

/// Runs the bench.
///
/// # Errors
/// If it does not build, run, or say what it should.
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
            what: row["what"].as_str()?.to_owned(),
            bytes: row["bytes"].as_u64()?,
            ns: row["ns"].as_f64()?,
            copy_ns: row["copy_ns"].as_f64()?,
        })
    };
    rows.iter().map(|row| cost(row).ok_or_else(|| format!("not a cost: {row}"))).collect()
}

/// One line per operation and size.
pub(crate) fn table(rows: &[Cost], figure: &dyn Fn(f64) -> String) -> String {
    let mut text = String::from("cost of an operation beside a plain copy, uncontended, medians\n");
    let width = rows.iter().map(|row| row.what.chars().count()).max().unwrap_or(0);
    for Cost { what, bytes, ns, copy_ns } in rows {
        let (ns, copy_ns) = (figure(*ns), figure(*copy_ns));
        text += &format!("  {what:width$} {bytes:>6} B {ns:>8} ns   copy {copy_ns:>8} ns\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_shows() {
        let text = r#"[{"what":"SDrtR read","bytes":64,"ns":12.5,"copy_ns":1.25}]"#;
        let rows = parse(text).unwrap();
        assert_eq!(rows, [Cost { what: "SDrtR read".into(), bytes: 64, ns: 12.5, copy_ns: 1.25 }]);
        let table = table(&rows, &|value| format!("{value:.1}"));
        assert!(table.ends_with("  SDrtR read     64 B     12.5 ns   copy      1.2 ns\n"), "{table}");
        assert!(parse("[{}]").unwrap_err().starts_with("not a cost"));
        assert!(parse("running").unwrap_err().starts_with("not JSON"));
    }
}
