// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut calibrate`: the execution times in recorded runs, as an overlay.

use std::fmt::Write;

use taut_model::is_name;
use taut_plan::digest;
use taut_report::{CalibratedRun, CalibratedTask, Calibration, FittedBound};
use taut_time::{Duration, shown};

use crate::arguments::{Calibrate, Format};
use crate::columns::{columns, rounded};
use crate::outcome::{Failure, Outcome};
use crate::report::{find, parse};
use crate::say::{err, out, outln};

/// The version of the JSON format.
const SCHEMA_VERSION: u32 = 1;

pub(crate) fn calibrate(arguments: &Calibrate) -> Result<Outcome, Failure> {
    let mut calibration = Calibration::default();
    for path in &arguments.runs {
        let recording = find(path)?;
        let bytes = std::fs::read(&recording).map_err(Failure::read(&recording))?;
        let (run, plan) = parse(&recording, &bytes)?;
        let name = recording.display().to_string();
        let added = calibration.add(&name, &digest(&bytes), &plan, &run);
        added.map_err(|error| Failure::Usage(format!("{name}: {error}")))?;
    }
    let times = Times {
        tasks: calibration.tasks(arguments.exceedance),
        calibration,
        margin_permille: arguments.margin,
        fitted: arguments.fit,
    };
    let overlay = times.overlay();
    match arguments.format {
        Format::Json => outln!("{:#}", times.json()),
        Format::Human => out!("{overlay}"),
    }
    if let Some(path) = &arguments.out {
        std::fs::write(path, &overlay).map_err(Failure::write(path))?;
    }
    err!("{}", times.table());
    Ok(Outcome::Yes)
}

/// The execution times, and how to write them.
struct Times {
    calibration: Calibration,
    tasks: Vec<CalibratedTask>,
    margin_permille: u32,
    /// Whether a fitted bound takes the place of the largest time.
    fitted: bool,
}

impl Times {
    /// The value for the overlay, before the margin; `None` for a task without jobs.
    fn value_ns(&self, task: &CalibratedTask) -> Option<u64> {
        let max = task.max_ns?;
        // The manifest refuses an execution time of zero.
        Some(self.fit_of(task).map_or(max, |fit| fit.high_ns.max(max)).max(1))
    }

    /// The fit whose bound is written; `None` if the largest time is written.
    fn fit_of<'t>(&self, task: &'t CalibratedTask) -> Option<&'t FittedBound> {
        task.fit.as_ref().filter(|_| self.fitted)
    }

    /// The runs that have jobs of the task, each with the number of these jobs: the value rests on them.
    fn evidence<'t>(&'t self, task: &'t CalibratedTask) -> impl Iterator<Item = (&'t CalibratedRun, u64)> {
        let runs = self.calibration.runs().iter().zip(task.jobs_by_run.iter().copied());
        runs.filter(|(_, jobs)| *jobs > 0)
    }

    fn overlay(&self) -> String {
        let runs = self.calibration.runs();
        let recorded = match runs.len() {
            1 => "one recorded run".to_owned(),
            number => format!("{number} recorded runs"),
        };
        let mut text = String::new();
        comment(
            &mut text,
            &format!("Measured by `taut calibrate` in {recorded} of `{}`.", self.calibration.app()),
        );
        for run in runs {
            comment(&mut text, &format!("{}: {} jobs on {}.", run.file, run.jobs, machine(run)));
            for note in run.degraded.iter().chain(&run.notes) {
                comment(&mut text, &format!("{}: {note}.", run.file));
            }
        }
        comment(&mut text, "A largest time is what was seen, not a bound: the margin is for what was not.");
        for task in &self.tasks {
            text.push('\n');
            let Some(value_ns) = self.value_ns(task) else {
                comment(&mut text, &format!("{}: {}.", task.name, task.against_plan()));
                continue;
            };
            let name = if is_name(&task.name) { task.name.clone() } else { quoted(&task.name) };
            let _ = writeln!(text, "[tasks.{name}.wcet]");
            for line in self.lines(task) {
                comment(&mut text, &format!("{line}."));
            }
            let _ = writeln!(text, "value = \"{}\"", Duration::from_ns(value_ns));
            text.push_str("source = \"measured\"\n");
            let _ = writeln!(text, "margin = \"{}\"", percent(self.margin_permille));
            text.push_str("evidence = [\n");
            for (run, jobs) in self.evidence(task) {
                let (file, hash) = (quoted(&run.file), quoted(&run.hash));
                let _ = writeln!(text, "    {{ file = {file}, hash = {hash}, jobs = {jobs} }},");
            }
            text.push_str("]\n");
        }
        text
    }

    /// What the measurements say about a task that has some.
    fn lines(&self, task: &CalibratedTask) -> Vec<String> {
        let max_ns = task.max_ns.unwrap_or(0);
        let mut lines = vec![format!(
            "{} jobs, the largest took {}; {}",
            task.jobs,
            shown::time(max_ns),
            task.against_plan()
        )];
        if task.stolen_ns > 0 {
            let stolen = shown::time(task.stolen_ns);
            lines.push(format!("The machine may have added up to {stolen} to the largest"));
        }
        match &task.fit {
            Some(fit) => {
                let which = if self.fitted { "The value is the upper end of the fit" } else { "Fit" };
                lines.push(format!("{which}: {}", fit_text(fit)));
            }
            None => lines.extend(task.no_fit.iter().map(|why| format!("No fit, {why}"))),
        }
        lines
    }

    /// The table for people, and what qualifies it.
    fn table(&self) -> String {
        let time = |ns: Option<u64>| rounded(ns.map(Duration::from_ns));
        let rows = self.tasks.iter().map(|task| {
            let holds = match (task.max_ns, task.holds) {
                (None, _) => "-",
                (_, true) => "holds",
                (_, false) => "exceeded",
            };
            let fit = task.fit.as_ref().map(|fit| fit.high_ns);
            [
                task.name.clone(),
                task.jobs.to_string(),
                time(task.p50_ns),
                time(task.p99_ns),
                time(task.p999_ns),
                time(task.max_ns),
                time(Some(task.planned_ns)),
                holds.to_owned(),
                time(fit),
            ]
        });
        let head = ["task", "jobs", "50 %", "99 %", "99.9 %", "largest", "planned", "", "fit"];
        let mut text = columns(head, &rows.collect::<Vec<_>>());
        for task in &self.tasks {
            for why in &task.no_fit {
                let _ = writeln!(text, "`{}` has no fit, {why}", task.name);
            }
        }
        for run in self.calibration.runs() {
            for note in run.degraded.iter().chain(&run.notes) {
                let _ = writeln!(text, "warning: {}: {note}", run.file);
            }
        }
        text
    }

    fn json(&self) -> serde_json::Value {
        let task = |task: &CalibratedTask| {
            let mut value = serde_json::json!(task);
            value["value_ns"] = self.value_ns(task).into();
            let files = self.evidence(task).map(|(run, _)| &run.file);
            let files: Vec<&String> = files.filter(|_| task.max_ns.is_some()).collect();
            value["evidence"] = serde_json::json!(files);
            value
        };
        serde_json::json!({
            "schema_version": SCHEMA_VERSION,
            "app": self.calibration.app(),
            "margin_permille": self.margin_permille,
            "fitted": self.fitted,
            "runs": self.calibration.runs(),
            "tasks": self.tasks.iter().map(task).collect::<Vec<_>>(),
        })
    }
}

/// A bound with its probability and its interval.
fn fit_text(fit: &FittedBound) -> String {
    format!(
        "a job takes more than {} with a probability of {:e}; with 95 % confidence that time is {} to {} ({} blocks of {} \
         jobs, shape {:.2})",
        shown::time(fit.bound_ns),
        fit.exceedance,
        shown::time(fit.low_ns),
        shown::time(fit.high_ns),
        fit.blocks,
        fit.block_jobs,
        fit.shape
    )
}

/// The processor and the kernel of a run.
fn machine(run: &CalibratedRun) -> String {
    let fact = |key: &str| {
        let fact = run.machine.iter().find(|(name, _)| name == key);
        fact.map_or_else(|| format!("an unknown {key}"), |(_, value)| value.clone())
    };
    match run.machine.is_empty() {
        true => "an unknown machine".to_owned(),
        false => format!("{}, kernel {}", fact("cpu"), fact("kernel")),
    }
}

/// Adds a comment of one line. A text from a recording may hold any characters: control characters become
/// spaces, because a line break would end the comment.
fn comment(text: &mut String, line: &str) {
    let line: String = line.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    let _ = writeln!(text, "# {line}");
}

/// A text in the syntax of a manifest: in quotes, with JSON's escapes, and with that of U+007F, which JSON
/// does not need.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

/// A margin in the syntax of a manifest.
fn percent(permille: u32) -> String {
    match permille % 10 {
        0 => format!("{}%", permille / 10),
        tenth => format!("{}.{tenth}%", permille / 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_as_a_manifest_writes_them() {
        for (permille, text) in [(0, "0%"), (200, "20%"), (125, "12.5%"), (100_000, "10000%")] {
            assert_eq!(percent(permille), text);
        }
    }

    #[test]
    fn a_comment_is_one_line() {
        let mut text = String::new();
        comment(&mut text, "a\n[tasks.x]\rb\u{1b}c");
        assert_eq!(text, "# a [tasks.x] b c\n");
    }

    #[test]
    fn a_file_of_any_name_is_a_text() {
        assert_eq!(quoted("a\"\\\n\u{1}\u{7f}ü"), r#""a\"\\\n\u0001\u007fü""#);
    }
}
