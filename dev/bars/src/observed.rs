// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A run of an application: the figures from its recording and its report that bars compare with their goals.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use taut_event::Kind;
use taut_event::file::Run;
use xtask::{Command, End, Tree};

/// One run.
#[derive(Clone, Debug)]
pub(crate) struct Observed {
    boot_ns: Option<u64>,
    report: Value,
}

/// How a run differs from the application as it stands.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Variant<'v> {
    /// An overlay of the manifest, in the application's folder.
    pub(crate) overlay: Option<&'v str>,
    /// Environment variables.
    pub(crate) set: &'v [(&'v str, &'v str)],
}

/// Release jitter of a task, in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Jitter {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) p999: f64,
}

/// Builds the `taut` command for measuring.
///
/// # Errors
/// The output of the compiler.
pub(crate) fn build(tree: &Tree) -> Result<(), String> {
    let output =
        Command::line("cargo build --release --locked -p taut-cli --bin taut").dir(tree.root()).run();
    if output.success() { Ok(()) } else { Err(format!("`taut` does not build: {}", output.text)) }
}

/// The path of the built command.
pub(crate) fn taut(tree: &Tree) -> std::path::PathBuf {
    tree.target().join("release/taut")
}

impl Observed {
    /// Runs the application of a folder for some seconds and reads `report.json` and `run.taut`, which the run writes.
    ///
    /// # Errors
    /// The last lines of the run if it did not start, did not end by itself or left no report. A run that missed a
    /// deadline (code 1) is no error: its figures count.
    pub(crate) fn of(tree: &Tree, app: &Path, seconds: u64) -> Result<Self, String> {
        Self::of_variant(tree, app, seconds, &Variant::default())
    }

    /// The same, of a variant of the application.
    ///
    /// # Errors
    /// As [`Observed::of`].
    pub(crate) fn of_variant(
        tree: &Tree,
        app: &Path,
        seconds: u64,
        variant: &Variant<'_>,
    ) -> Result<Self, String> {
        let name = app.file_name().unwrap_or_default();
        let results = tree.target().join("bars").join(name);
        let overlay = variant.overlay.map(|overlay| app.join(overlay));
        let overlay = overlay.iter().flat_map(|overlay| ["--overlay".as_ref(), overlay.as_os_str()]);
        let run = Command::new(taut(tree))
            .args(["run".as_ref(), app.as_os_str()])
            .args(overlay)
            .args(["--for".to_owned(), format!("{seconds}s")])
            .args(["--out".as_ref(), results.as_os_str()])
            .dir(tree.root())
            .limit(Duration::from_secs(seconds + 180));
        let run = variant.set.iter().fold(run, |run, (name, value)| run.env(name, value));
        let report = results.join("report.json");
        let recording = results.join("run.taut");
        // Remove the results of an earlier run, so that they are not taken for those of this run.
        for old in [&report, &recording] {
            let _ = fs::remove_file(old);
        }
        let output = run.run();
        let text = fs::read_to_string(&report).map_err(|error| {
            let lines: Vec<_> = output.text.lines().collect();
            let tail = lines[lines.len().saturating_sub(5)..].join(" | ");
            format!("`{}` {} and left no report ({error}): {tail}", run.shown(), output.reason())
        })?;
        let report: Value =
            serde_json::from_str(&text).map_err(|error| format!("{}: {error}", report.display()))?;
        // Code 1 reports a broken bound or a crash of the application.
        let whole = output.success() || matches!(output.end, End::Code(1));
        if !whole || report["ending"] != "done" {
            return Err(format!(
                "`{}` {}, and the run's end is {}",
                run.shown(),
                output.reason(),
                report["ending"]
            ));
        }
        let recording = fs::read(&recording).map_err(|error| format!("run.taut: {error}"))?;
        let run = Run::from_bytes(&recording).map_err(|error| format!("run.taut: {error}"))?;
        Ok(Self { boot_ns: boot_ns(&run), report })
    }

    /// The time from the start of the application's process to release 0, in ms.
    pub(crate) fn boot_ms(&self) -> Result<f64, String> {
        self.boot_ns
            .map(|ns| ns as f64 / 1e6)
            .ok_or_else(|| "the run does not know when it was started".to_owned())
    }

    /// The largest count over all real-time threads of an event that must not happen after release 0. `name` is one of
    /// `heap_use`, `minor_faults`, `major_faults`, `blocked`.
    pub(crate) fn count(&self, name: &str) -> Result<f64, String> {
        let tasks = self.real_time()?;
        // The count of a task that never ran proves nothing.
        if let Some(idle) = tasks.iter().find(|task| task["releases"].as_u64().unwrap_or(0) == 0) {
            return Err(format!("task {} had no release", idle["name"]));
        }
        let counts: Result<Vec<_>, _> =
            tasks.iter().map(|task| number(task, &format!("/counts/{name}"))).collect();
        counts?.into_iter().reduce(f64::max).ok_or_else(|| "the report has no real-time task".to_owned())
    }

    /// The percentiles of start minus nominal release over a task's jobs.
    pub(crate) fn jitter(&self, task: &str) -> Result<Jitter, String> {
        let tasks = self.real_time()?;
        let found = tasks.iter().find(|found| found["name"] == task);
        let jitter = &found.ok_or_else(|| format!("the report has no task `{task}`"))?["jitter"];
        let [p50, p99, p999] = ["/p50_ns", "/p99_ns", "/p999_ns"].map(|at| number(jitter, at));
        Ok(Jitter { p50: p50?, p99: p99?, p999: p999? })
    }

    fn real_time(&self) -> Result<Vec<&Value>, String> {
        let tasks = self.report["tasks"].as_array().ok_or("the report has no list of tasks")?;
        Ok(tasks.iter().filter(|task| !task["deadline_ns"].is_null()).collect())
    }
}

/// The value of a run's `Begin` record: the time from the start of the process to release 0, in ns. `None` without
/// such a record or if its value is 0, which means unknown.
fn boot_ns(run: &Run) -> Option<u64> {
    let begin = run.records.iter().find(|record| record.kind == Kind::Begin)?;
    Some(begin.value).filter(|&ns| ns > 0)
}

fn number(value: &Value, pointer: &str) -> Result<f64, String> {
    value.pointer(pointer).and_then(Value::as_f64).ok_or_else(|| format!("the report has no `{pointer}`"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_what_a_report_says() {
        let counts =
            |heap: u64| json!({ "heap_use": heap, "minor_faults": 0, "major_faults": 0, "blocked": 0 });
        let report = json!({
            "tasks": [
                { "name": "a", "deadline_ns": 5, "releases": 3, "counts": counts(0),
                  "jitter": { "p50_ns": 14_000, "p99_ns": 40_000, "p999_ns": 90_000 } },
                { "name": "b", "deadline_ns": 5, "releases": 3, "counts": counts(3) },
                { "name": "c", "deadline_ns": null },
            ],
        });
        let observed = Observed { boot_ns: Some(41_500_000), report };
        assert_eq!(observed.boot_ms(), Ok(41.5));
        assert_eq!(observed.count("heap_use"), Ok(3.0));
        assert_eq!(observed.count("blocked"), Ok(0.0));
        assert_eq!(observed.jitter("a"), Ok(Jitter { p50: 14_000.0, p99: 40_000.0, p999: 90_000.0 }));
        assert!(observed.jitter("b").unwrap_err().contains("/p50_ns"));
        assert!(observed.jitter("c").unwrap_err().contains("`c`"));
        assert!(observed.count("other").is_err());
    }

    #[test]
    fn a_report_without_tasks_proves_nothing() {
        let observed = Observed { boot_ns: None, report: json!({ "tasks": [] }) };
        assert!(observed.count("heap_use").is_err());
        assert!(observed.boot_ms().is_err());
        let tasks = json!([{ "name": "a", "deadline_ns": 5, "releases": 0, "counts": { "heap_use": 0 } }]);
        let observed = Observed { boot_ns: Some(1), report: json!({ "tasks": tasks }) };
        assert_eq!(observed.count("heap_use"), Err("task \"a\" had no release".into()));
    }

    #[test]
    fn boot_is_the_value_of_begin() {
        let run = |value: u64| {
            // The layout of a record: at, job, value (8 bytes each), subject (2), kind, cpu, 4 zero bytes.
            let mut record = [0; taut_event::Record::SIZE];
            record[16..24].copy_from_slice(&value.to_le_bytes());
            record[26] = Kind::Begin as u8;
            boot_ns(&Run::of(taut_event::Record::from_bytes(&record).into_iter().collect()))
        };
        assert_eq!((run(5_000), run(0)), (Some(5_000), None));
    }
}
