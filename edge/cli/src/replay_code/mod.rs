// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut replay --code`: runs the code of an application again with the recorded values of its inputs, and
//! compares what it sends with what it sent.

mod compare;
mod layout;
mod shown;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use taut_event::file::Run;
use taut_event::values::{REPLAYED_FILE, RecordedValues, VALUES_FILE};
use taut_plan::{Plan, digest};

use self::compare::TaskComparison;
use self::shown::Compared;
use crate::arguments::{Format, Replay};
use crate::build;
use crate::input::Files;
use crate::outcome::{Failure, Outcome};
use crate::report;
use crate::run::absolute;
use crate::say::{out, outln};

pub(crate) fn replay(arguments: &Replay) -> Result<Outcome, Failure> {
    let recording = report::find(&arguments.path)?;
    let (run, plan) = report::read(&recording)?;
    let path = recording.with_file_name(VALUES_FILE);
    let bytes = read(&path, &plan)?;
    let recorded = values(&path, &bytes)?;
    replayable(&path, &recorded, &run, &plan)?;
    let files = files(&manifest(arguments), &plan)?;
    if files.lock_text().as_ref() != Some(&run.plan) {
        return Err(Failure::Usage(format!(
            "{}: recorded under another plan than {}; code is replayed under the plan of its recording, so `taut run` \
             must record it anew",
            path.display(),
            files.lock.display()
        )));
    }
    let again = path.with_file_name(REPLAYED_FILE);
    execute(arguments, &files, &path)?;
    let bytes = std::fs::read(&again).map_err(Failure::read(&again))?;
    let replayed = values(&again, &bytes)?;
    let tasks = recorded.tasks.iter().map(|was| {
        let is = replayed.tasks.iter().find(|is| is.task == was.task);
        TaskComparison::of(&plan, was, is.map_or(&[], |is| is.jobs.as_slice()))
    });
    let begin = run.begin.map_or(0, taut_time::Instant::as_ns);
    let compared = Compared { plan: &plan, begin, tasks: tasks.collect() };
    match arguments.format {
        Format::Human => out!("{}", compared.text()),
        Format::Json => outln!("{:#}", compared.json()),
    }
    Ok(if compared.is_equal() { Outcome::Yes } else { Outcome::No })
}

/// The application's manifest, or its folder.
fn manifest(arguments: &Replay) -> PathBuf {
    let of_path = || Some(arguments.path.clone()).filter(|path| path.join("taut.toml").is_file());
    arguments.manifest.clone().or_else(of_path).unwrap_or_else(|| PathBuf::from("."))
}

/// The manifest with the overlays of the recorded run, which its plan names.
fn files(manifest: &Path, plan: &Plan) -> Result<Files, Failure> {
    let files = Files::at(manifest, &[])?;
    let overlays = plan.inputs.iter().skip(1).map(|overlay| files.folder.join(&overlay.path));
    let overlays: Vec<PathBuf> = overlays.collect();
    if overlays.is_empty() { Ok(files) } else { Files::at(manifest, &overlays) }
}

fn read(path: &Path, plan: &Plan) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound if plan.channels.iter().all(|channel| !channel.record) => {
            Failure::Usage(format!(
                "{}: there are no recorded values; write `record = true` below the channels that a task reads and \
                 writes, in the manifest or in an overlay, and run the application again",
                path.display()
            ))
        }
        _ => Failure::Read(path.to_owned(), error),
    })
}

fn values<'f>(path: &Path, bytes: &'f [u8]) -> Result<RecordedValues<'f>, Failure> {
    RecordedValues::from_bytes(bytes).map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))
}

/// Checks that the values are those of this run, are all there, and are enough for the code of a task.
fn replayable(path: &Path, values: &RecordedValues<'_>, run: &Run, plan: &Plan) -> Result<(), Failure> {
    let fails = |why: String| Err(Failure::Usage(format!("{}: {why}", path.display())));
    if values.plan != digest(run.plan.as_bytes()) || values.run != run.id {
        return fails("its values are of another run than the recording beside it".to_owned());
    }
    if values.lost > 0 {
        return fails(format!(
            "{} records were lost, so the code cannot be replayed: what it got is not all known",
            values.lost
        ));
    }
    if values.tasks.is_empty() {
        return fails(format!(
            "there is no task whose code can be replayed\n{}",
            shown::left_out(plan).trim_end()
        ));
    }
    Ok(())
}

/// Builds the application, and lets it run its code again.
fn execute(arguments: &Replay, files: &Files, values: &Path) -> Result<(), Failure> {
    let text = files.load()?;
    let exec = text.model().and_then(|model| model.app().exec.clone());
    let program = build::program(&files.folder, exec.as_deref())?;
    // The program writes its values beside the recorded ones. `TAUT_OUT` would also tell it where to write files of its own, and
    // those of the recorded run are there.
    let status = Command::new(&program)
        .args(&arguments.arguments)
        .env("TAUT_LOCK", absolute(&files.lock))
        .env_remove("TAUT_OUT")
        .env("TAUT_REPLAY", absolute(values))
        .stdin(Stdio::null())
        .status();
    let status =
        status.map_err(|error| Failure::Program(format!("cannot start {}: {error}", program.display())))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::Program(format!("{} did not replay its code: {status}", program.display())))
}
