// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut report`: bound and measured side by side.

use std::path::{Path, PathBuf};

use taut_event::file::Run;
use taut_plan::Plan;
use taut_report::{About, Report};

use crate::arguments::{self, Format, Screen};
use crate::outcome::{Failure, Outcome};
use crate::plan::write;
use crate::say::{errln, out, outln};

/// The recording's name in an output folder.
pub(crate) const RECORDING: &str = "run.taut";

pub(crate) fn report(arguments: &arguments::Report, screen: &Screen) -> Result<Outcome, Failure> {
    let recording = find(&arguments.path)?;
    make(&recording, arguments.format, screen)
}

/// The recording that a path names: itself, in that folder, or where a run of that application leaves it.
pub(crate) fn find(path: &Path) -> Result<PathBuf, Failure> {
    let candidates = [path.to_owned(), path.join(RECORDING), output_folder(path).join(RECORDING)];
    candidates
        .into_iter()
        .find(|path| path.is_file())
        .ok_or_else(|| Failure::Usage(format!("{}: no recorded run; `taut run` makes one", path.display())))
}

/// Where the recording and the report of an application go.
pub(crate) fn output_folder(folder: &Path) -> PathBuf {
    folder.join("target").join("taut")
}

/// A recording, with the plan that ran.
pub(crate) fn read(recording: &Path) -> Result<(Run, Plan), Failure> {
    let bytes = std::fs::read(recording).map_err(Failure::read(recording))?;
    let damaged = |error: &dyn std::fmt::Display| Failure::Usage(format!("{}: {error}", recording.display()));
    let run = Run::from_bytes(&bytes).map_err(|error| damaged(&error))?;
    let plan = Plan::from_lock(&run.plan).map_err(|error| match error.code() {
        Some(code) => damaged(&format!("the plan in it cannot be believed [{code}]: {error}")),
        None => damaged(&error),
    })?;
    Ok((run, plan))
}

/// Prints the report of a recording and writes it beside it in every form.
pub(crate) fn make(recording: &Path, format: Format, screen: &Screen) -> Result<Outcome, Failure> {
    let (run, plan) = read(recording)?;
    let report = Report::new(&plan, &run);
    match format {
        Format::Human => out!("{}", report.text(screen.width, screen.color_out)),
        Format::Json => outln!("{}", report.json()),
    }
    let folder = recording.parent().unwrap_or(Path::new("."));
    let command = format!("taut report {}", recording.display());
    let command = command.as_str();
    let files: [(&str, Vec<u8>, &str); 3] = [
        ("report.json", report.json().into_bytes(), ""),
        ("report.html", report.html(&About { generated: "", command }).into_bytes(), ""),
        ("run.perfetto-trace", report.perfetto(), crate::trace::HOW),
    ];
    for (name, content, how) in files {
        let path = folder.join(name);
        write(&path, content)?;
        errln!("wrote {}{how}", path.display());
    }
    Ok(if report.verdict().holds() { Outcome::Yes } else { Outcome::No })
}
