// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut report`: shows bound and measured side by side.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Seek, SeekFrom, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use taut_event::Ending;
use taut_event::file::{Blocks, Run};
use taut_plan::Plan;
use taut_report::{About, Report};
use taut_time::Instant;

use crate::arguments::{self, Format, Screen};
use crate::input::unreachable;
use crate::outcome::{Failure, Outcome};
use crate::plan::write;
use crate::say::{errln, out, outln};

/// The recording's name in an output folder.
pub(crate) const RECORDING: &str = "run.taut";

pub(crate) fn report(arguments: &arguments::Report, screen: &Screen) -> Result<Outcome, Failure> {
    let recording = find(&arguments.path)?;
    make(&recording, arguments.format, screen)
}

/// The recording that a path refers to: the path itself, in that folder, or where a run of that application writes
/// it.
pub(crate) fn find(path: &Path) -> Result<PathBuf, Failure> {
    // Distinguishes a missing path from one that this user may not read.
    std::fs::metadata(path).map_err(|error| unreachable(path, &error))?;
    let candidates = [path.to_owned(), path.join(RECORDING), output_folder(path).join(RECORDING)];
    for candidate in candidates {
        match std::fs::metadata(&candidate) {
            Ok(found) if found.is_file() => return Ok(candidate),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                return Err(unreachable(&candidate, &error));
            }
            _ => {}
        }
    }
    Err(Failure::Usage(format!("{}: no recorded run; `taut run` records one", path.display())))
}

/// Where the recording and the report of an application go.
pub(crate) fn output_folder(folder: &Path) -> PathBuf {
    folder.join("target").join("taut")
}

/// A recording, with the plan that was executed.
pub(crate) fn read(recording: &Path) -> Result<(Run, Plan), Failure> {
    parse(recording, &std::fs::read(recording).map_err(Failure::read(recording))?)
}

/// The same of the bytes of a recording that was read.
pub(crate) fn parse(recording: &Path, bytes: &[u8]) -> Result<(Run, Plan), Failure> {
    let damaged = |error: &dyn std::fmt::Display| Failure::Usage(format!("{}: {error}", recording.display()));
    let run = Run::from_bytes(bytes).map_err(|error| damaged(&error))?;
    let plan = Plan::from_lock(&run.plan).map_err(|error| match error.code() {
        Some(code) => damaged(&format!("the recorded plan cannot be trusted [{code}]: {error}")),
        None => damaged(&error),
    })?;
    Ok((run, plan))
}

/// Adds to a recording how the process ended, which only its parent knows, unless the end that the process itself
/// recorded says more. The added block replaces the remains of a torn block.
pub(crate) fn ended(recording: &Path, status: ExitStatus) -> std::io::Result<()> {
    let run = match Run::from_bytes(&std::fs::read(recording)?) {
        Ok(run) => run,
        // The report of this recording shows the error.
        Err(_) => return Ok(()),
    };
    let said = run.ending();
    let ending = match (status.signal(), status.code()) {
        (Some(signal), _) => Ending::Killed(signal.unsigned_abs()),
        // In the other cases the recorded end says more: a task overran, or panicked.
        (None, Some(code)) if said == Ending::Unrecorded && code == i32::from(Ending::EXIT_UNWRITTEN) => {
            Ending::Unwritten
        }
        (None, Some(code))
            if said == Ending::Unrecorded || code != 0 && said.is_own() && run.unwritten == 0 =>
        {
            Ending::Exited(code.unsigned_abs())
        }
        _ => return Ok(()),
    };
    if run.damage.is_some_and(|damage| !damage.cut) {
        return Ok(());
    }
    let last = run.records.iter().map(|record| record.at).max();
    let Some(record) = ending.to_record(last.or(run.begin).unwrap_or(Instant::from_ns(0))) else {
        return Ok(());
    };
    let mut file = OpenOptions::new().write(true).open(recording)?;
    if let Some(whole) = run.whole_bytes() {
        file.set_len(whole)?;
    }
    let mut block = Vec::new();
    let place = Blocks::behind(&run).block(&[record], true, 0, &mut block);
    file.seek(SeekFrom::Start(place))?;
    file.write_all(&block)
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
