// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The results of a sweep, for display and as JSON.

use std::fmt::Write;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use taut_planner::select::Equations;
use taut_sweep::{Generator, Summary};

use crate::columns::share;
use crate::sweep::partial::Origin;

/// The results to show.
pub(super) struct SweepReport<'s> {
    pub(super) generator: &'s Generator,
    pub(super) origin: &'s Origin,
    /// The rows that were requested.
    pub(super) rows: Range<u64>,
    pub(super) summary: &'s Summary,
    /// The file that has the rows.
    pub(super) out: Option<&'s Path>,
}

impl SweepReport<'_> {
    fn made(&self) -> u64 {
        (0..self.generator.points().len()).map(|point| self.summary.rows(point)).sum()
    }

    /// A headline, a table with one line per point, and an explanation of the numbers.
    pub(super) fn human(&self) -> String {
        let (made, wanted) = (self.made(), self.rows.end - self.rows.start);
        let mut text = match made == wanted {
            true => format!("{made} rows"),
            false => format!("{made} of {wanted} rows"),
        };
        if wanted < self.generator.rows() {
            let _ = write!(text, " (a part of {})", self.generator.rows());
        }
        let _ = write!(text, ", seed {}", self.origin.seed);
        if let Some(out) = self.out {
            let _ = write!(text, ", in {}", out.display());
        }
        text.push_str("\n\n");
        let mut head = vec!["scheme".to_owned(), "load".into(), "rows".into()];
        for method in self.generator.methods() {
            head.extend([method.name(), "bytes".into()]);
            head.extend(method.proves().then(|| "proven".to_owned()));
        }
        let mut lines = vec![head];
        for (at, point) in self.generator.points().iter().enumerate() {
            let load = share(Some(point.utilisation / 1_000));
            let mut line = vec![point.scheme.clone(), load, self.summary.rows(at).to_string()];
            for (method, sums) in self.generator.methods().iter().zip(self.summary.of(at)) {
                line.push(share(sums.schedulable_permille()));
                line.push(sums.bytes_mean().map_or_else(|| "-".into(), |bytes| bytes.to_string()));
                line.extend(method.proves().then(|| share(sums.proven_permille())));
            }
            lines.push(line);
        }
        text.push_str(&aligned(&lines));
        text.push_str(
            "\nload: of each core, without mechanisms. Per method: the share of systems whose deadlines it \
             keeps, and",
        );
        text.push_str(" the mean\nbytes of their objects.");
        if self.generator.methods().iter().any(taut_sweep::Method::proves) {
            text.push_str(" proven: the share of answers proven optimal.");
        }
        if self.generator.equations() == Equations::Printed {
            text.push_str("\nBy the published equations, which are unsound and prove nothing.");
        }
        text.push('\n');
        text
    }

    pub(super) fn json(&self) -> Value {
        let points = self.generator.points().iter().enumerate().map(|(at, point)| {
            let methods = self.generator.methods().iter().zip(self.summary.of(at)).map(|(method, sums)| {
                let mut reported = json!({
                    "asked": sums.asked,
                    "schedulable": sums.schedulable,
                    "bytes_mean": sums.bytes_mean(),
                });
                if method.proves() {
                    reported["proven"] = sums.proven.into();
                }
                (method.name(), reported)
            });
            json!({
                "scheme": point.scheme,
                "utilisation_permille": point.utilisation / 1_000,
                "rows": self.summary.rows(at),
                "methods": methods.collect::<serde_json::Map<_, _>>(),
            })
        });
        json!({
            "schema_version": 1,
            "generator": self.origin.digest,
            "seed": self.origin.seed,
            "equations": match self.generator.equations() {
                Equations::Sound => "sound",
                Equations::Printed => "printed",
            },
            "rows": {
                "from": self.rows.start,
                "to": self.rows.end,
                "made": self.made(),
                "of": self.generator.rows(),
            },
            "out": self.out.map(|out| out.display().to_string()),
            "points": points.collect::<Vec<_>>(),
        })
    }
}

/// An aligned table: the first column is a name, the others are numbers.
fn aligned(lines: &[Vec<String>]) -> String {
    let cells = |line: &Vec<String>| line.iter().map(|cell| cell.chars().count()).collect::<Vec<_>>();
    let mut widths = Vec::new();
    for line in lines {
        for (at, width) in cells(line).into_iter().enumerate() {
            match widths.get_mut(at) {
                Some(known) => *known = width.max(*known),
                None => widths.push(width),
            }
        }
    }
    let mut text = String::new();
    for line in lines {
        for (at, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let _ = if at == 0 { write!(text, "  {cell:<width$}") } else { write!(text, "  {cell:>width$}") };
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

/// The progress, with the time left at the same rate.
pub(super) fn progress(made: u64, wanted: u64, spent: Duration) -> String {
    let each = u64::try_from(spent.as_millis()).unwrap_or(u64::MAX).checked_div(made);
    let left = each.map(|each| each.saturating_mul(wanted - made) / 1_000);
    const WIDTH: u64 = 24;
    let filled = (u128::from(made) * u128::from(WIDTH)).checked_div(wanted.into()).unwrap_or(0) as usize;
    let bar = format!("{}{}", "=".repeat(filled), " ".repeat(WIDTH as usize - filled));
    let left = match left {
        None => String::new(),
        Some(seconds) if seconds < 60 => format!(", {seconds} s left"),
        Some(seconds) if seconds < 3_600 => format!(", {} min {} s left", seconds / 60, seconds % 60),
        Some(seconds) => format!(", {} h {} min left", seconds / 3_600, seconds % 3_600 / 60),
    };
    format!("[{bar}] {made} of {wanted} rows{left}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_as_the_time_before() {
        let reported = |made, wanted, seconds| progress(made, wanted, Duration::from_secs(seconds));
        assert_eq!(reported(0, 100, 1), format!("[{}] 0 of 100 rows", " ".repeat(24)));
        assert_eq!(reported(50, 100, 20), "[============            ] 50 of 100 rows, 20 s left");
        assert!(reported(1, 100, 1).ends_with("1 of 100 rows, 1 min 39 s left"));
        assert!(reported(10, 10_010, 10).ends_with("rows, 2 h 46 min left"));
        assert_eq!(reported(100, 100, 1), format!("[{}] 100 of 100 rows, 0 s left", "=".repeat(24)));
    }
}
