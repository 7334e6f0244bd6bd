// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A bar: its goal, its measured value, and whether it is met.

use serde_json::{Value, json};

use crate::spread::Spread;

/// The least number of measurements for a median: with fewer, a single one that a stall has spoilt could decide it.
pub(crate) const ENOUGH: usize = 5;

/// Which of several measurements is compared with the goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// The median: occasional stalls of the machine must not decide.
    Median,
    /// The largest: the promise is for every run.
    Max,
}

/// A bar with its measurement. The value must be at most the goal.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    bar: String,
    goal: f64,
    unit: &'static str,
    held: Held,
    spread: Result<Spread, String>,
}

impl Row {
    /// A bar: the value of `samples` that `held` selects must not exceed `goal`. `Err` has the reason why there is no
    /// measurement; a bar without a measurement is not met.
    pub(crate) fn at_most(
        bar: impl Into<String>,
        goal: f64,
        unit: &'static str,
        held: Held,
        samples: Result<Vec<f64>, String>,
    ) -> Self {
        let spread = samples.and_then(|samples| {
            if let Some(sample) = samples.iter().find(|sample| !can_be(**sample, unit)) {
                return Err(format!("{} {unit} is not a measurement", figure(*sample)));
            }
            if held == Held::Median && (1..ENOUGH).contains(&samples.len()) {
                return Err(format!("{} rounds, fewer than {ENOUGH}", samples.len()));
            }
            Spread::of(&samples).ok_or_else(|| "no measurement".to_owned())
        });
        Self { bar: bar.into(), goal, unit, held, spread }
    }

    /// The value that is compared with the goal; `None` if it was not measured.
    pub(crate) fn value(&self) -> Option<f64> {
        let spread = self.spread.as_ref().ok()?;
        Some(match self.held {
            Held::Median => spread.median,
            Held::Max => spread.max,
        })
    }

    /// Whether the bar is met.
    pub(crate) fn met(&self) -> bool {
        self.value().is_some_and(|value| value <= self.goal)
    }

    fn json(&self) -> Value {
        let spread = self.spread.as_ref().ok();
        json!({
            "bar": self.bar,
            "goal": self.goal,
            "value": self.value(),
            "spread": spread.map(|s| json!({ "min": s.min, "median": s.median, "max": s.max })),
            "unit": self.unit,
            "met": self.met(),
        })
    }

    /// The goal and the value of this bar in the JSON of an earlier run.
    fn before(&self, run: &Value) -> [String; 2] {
        let same = run.as_array().and_then(|rows| rows.iter().find(|row| row["bar"] == self.bar));
        let cell = |name: &str, sign: &str| {
            let (row, number) = same.and_then(|row| Some((row, row[name].as_f64()?)))?;
            Some(format!("{sign}{} {}", figure(number), row["unit"].as_str().unwrap_or_default()))
        };
        [("goal", "<= "), ("value", "")].map(|(name, sign)| cell(name, sign).unwrap_or_else(|| "-".into()))
    }

    fn cells(&self) -> [String; 5] {
        let (value, spread) = match (&self.spread, self.value()) {
            (Ok(Spread { min, median, max }), Some(value)) => {
                let numbers = [min, median, max].map(|number| figure(*number));
                (format!("{} {}", figure(value), self.unit), numbers.join(" / "))
            }
            _ => ("-".into(), "-".into()),
        };
        let met = if self.met() { "yes" } else { "NO" };
        [self.bar.clone(), format!("<= {} {}", figure(self.goal), self.unit), value, spread, met.into()]
    }
}

/// Whether a sample can be a measurement in its unit. It must be finite. A time or a ratio must be positive: zero
/// means that it was not measured. A count must not be negative. Samples in ns, % and wakes may be differences, of
/// any sign.
fn can_be(sample: f64, unit: &str) -> bool {
    match unit {
        _ if !sample.is_finite() => false,
        "ns" | "%" | "wakes" => true,
        "x" | "ratio" | "ms" | "us" | "min" => sample > 0.0,
        _ => sample >= 0.0,
    }
}

/// Checks times in ns that are not differences.
///
/// # Errors
/// If a time is not positive and finite: it was not measured.
pub(crate) fn times(what: &str, ns: Vec<f64>) -> Result<Vec<f64>, String> {
    match ns.iter().find(|ns| !(ns.is_finite() && **ns > 0.0)) {
        Some(wrong) => Err(format!("{what} in {wrong} ns is not a measurement")),
        None => Ok(ns),
    }
}

/// All rows as JSON: a list with one object per row.
pub(crate) fn json(rows: &[Row]) -> Value {
    rows.iter().map(Row::json).collect()
}

/// All rows as a table. Each row comes with the JSON of an earlier run, from which it shows the earlier goal and value.
/// Below the table stands the reason for every bar that could not be measured.
pub(crate) fn table(rows: &[(&Row, &Value)]) -> String {
    let head = ["bar", "goal before", "goal", "value before", "value", "min / median / max", "met"];
    let body = rows.iter().map(|(row, before)| {
        let [bar, goal, value, spread, met] = row.cells();
        let [goal_before, value_before] = row.before(before);
        [bar, goal_before, goal, value_before, value, spread, met]
    });
    let mut lines: Vec<Vec<String>> =
        std::iter::once(head.map(str::to_owned)).chain(body).map(Vec::from).collect();
    // Without an earlier run, these columns are empty: remove them.
    for column in [3, 1] {
        if lines.iter().skip(1).all(|line| line[column] == "-") {
            lines.iter_mut().for_each(|line| drop(line.remove(column)));
        }
    }
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..lines[0].len()).map(width).collect();
    let mut text = String::new();
    for line in &lines {
        let last = line.len() - 1;
        for (at, (cell, width)) in line.iter().zip(&widths).enumerate() {
            text += &match at {
                0 => format!("{cell:width$}"),
                at if at == last => format!("  {cell}\n"),
                _ => format!("  {cell:>width$}"),
            };
        }
    }
    for (row, _) in rows {
        if let Err(why) = &row.spread {
            text += &format!("{}: not measured: {why}\n", row.bar);
        }
    }
    text
}

/// All rows as a Markdown table; a bar that is not met has a bold **no**.
pub(crate) fn markdown(rows: &[Row]) -> String {
    let mut text = String::from("| bar | goal | value | min / median / max | met |\n|---|---|---|---|---|\n");
    for row in rows {
        let [bar, goal, value, spread, _] = row.cells();
        let met = if row.met() { "yes" } else { "**no**" };
        text += &format!("| {bar} | {} | {value} | {spread} | {met} |\n", goal.replace("<=", "≤"));
    }
    text
}

/// A number as text: all digits of a whole number; otherwise three significant digits from 1 to 1000, no decimals above
/// and three decimals below. From 1e15 on, one digit and the exponent.
pub(crate) fn figure(value: f64) -> String {
    if value.abs() >= 1e15 {
        return format!("{value:.0e}");
    }
    let digits = match value.abs() {
        size if size == size.trunc() || size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Row> {
        vec![
            Row::at_most("check", 20.0, "ms", Held::Median, Ok(vec![3.25, 2.5, 40.0, 3.0, 4.0])),
            Row::at_most("heap", 0.0, "uses", Held::Max, Ok(vec![0.0, 1.0])),
            Row::at_most("jitter", 1.15, "ratio", Held::Median, Err("no privilege".into())),
        ]
    }

    #[test]
    fn the_held_value_decides() {
        let rows = rows();
        assert_eq!(rows.iter().map(Row::value).collect::<Vec<_>>(), [Some(3.25), Some(1.0), None]);
        assert_eq!(rows.iter().map(Row::met).collect::<Vec<_>>(), [true, false, false]);
    }

    /// A bar on a median needs enough rounds, a bar on the largest at least one.
    #[test]
    fn too_few_rounds_are_no_median() {
        let met = |held, count| Row::at_most("one", 2.0, "ns", held, Ok(vec![1.0; count])).met();
        assert!(met(Held::Median, ENOUGH) && !met(Held::Median, ENOUGH - 1) && !met(Held::Median, 1));
        assert!(met(Held::Max, 1) && !met(Held::Max, 0));
    }

    #[test]
    fn a_table_for_pages() {
        let rows = [
            Row::at_most("one", 2.0, "ns", Held::Median, Ok(vec![1.0; ENOUGH])),
            Row::at_most("other", 2.0, "ns", Held::Median, Err("no".into())),
        ];
        let text = markdown(&rows);
        assert!(text.contains("| one | ≤ 2 ns | 1 ns | 1 / 1 / 1 | yes |\n"), "{text}");
        assert!(text.ends_with("| other | ≤ 2 ns | - | - | **no** |\n"), "{text}");
    }

    #[test]
    fn a_table_for_people() {
        let wanted = "\
bar            goal    value  min / median / max  met
check      <= 20 ms  3.25 ms    2.50 / 3.25 / 40  yes
heap      <= 0 uses   1 uses       0 / 0.500 / 1  NO
jitter  <= 1.15 ratio        -                   -  NO
";
        let rows = rows();
        let table = table(&rows.iter().map(|row| (row, &Value::Null)).collect::<Vec<_>>());
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (lines, reason) = table.rsplit_once("jitter: ").unwrap();
        assert_eq!(squeezed(lines), squeezed(wanted));
        assert_eq!(reason, "not measured: no privilege\n");
        let ends: Vec<_> = ["goal", "ms", "uses", "ratio"]
            .iter()
            .zip(lines.lines())
            .map(|(word, line)| line.find(word).unwrap() + word.len())
            .collect();
        assert_eq!(ends, [ends[0]; 4], "columns end at one place:\n{lines}");
    }

    #[test]
    fn json_for_tools() {
        let json = json(&rows());
        assert_eq!(json[0]["spread"], json!({ "min": 2.5, "median": 3.25, "max": 40.0 }));
        assert_eq!(json[0]["met"], true);
        assert_eq!(
            json[2],
            json!({ "bar": "jitter", "goal": 1.15, "value": null, "spread": null, "unit": "ratio", "met": false })
        );
    }
}
