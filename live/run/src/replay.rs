// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Runs the code of an application again, with the inputs that its jobs had in a recorded run.
//!
//! The application is made by its own set-up, under the plan of the recorded run, in memory of this process
//! alone, as in a [bench](crate::bench). No job waits, and nothing is real-time: each task by itself runs its
//! recorded jobs, one after the other, on this thread. What its jobs read, ask and send goes through
//! [`crate::values`], which answers as the recorded run did. What they do in the replay is written into a
//! file of the same form, which a tool compares with the recorded one.

use std::cell::RefCell;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use taut_boot::LoadedPlan;
use taut_event::values::{REPLAYED_FILE, RecordedTask, RecordedValues};
use taut_plan::{Plan, digest};
use taut_time::Duration;
use taut_trace::{RingOwner, ring};

use crate::app::{App, Code, TaskCode};
use crate::bench::environment::{Environment, Parts};
use crate::bench_resource::BenchJob;
use crate::clock::{BenchClock, RunClock};
use crate::dispatch::Dispatch;
use crate::job::EventRecorder;
use crate::lifecycle::{JobContext, Released};
use crate::supervisor::create;
use crate::values::{ReplayedTask, TaskValues, ValuesWriter, answers};
use crate::{Control, Error};

/// What to replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayConfig {
    /// The plan, which must be that of the recorded run.
    pub lock: PathBuf,
    /// The file of recorded values.
    pub recorded: PathBuf,
    /// The file that the replay writes.
    pub replayed: PathBuf,
}

impl ReplayConfig {
    /// What `taut replay --code` hands to the program it starts, in its environment: `TAUT_REPLAY` names the file of
    /// recorded values; `TAUT_LOCK` and `TAUT_OUT` mean what they mean in a run. `None` without `TAUT_REPLAY`: a run.
    pub fn from_environment() -> Option<Self> {
        let variable = |name| std::env::var_os(name).map(PathBuf::from);
        let recorded = variable("TAUT_REPLAY")?;
        let lock = variable("TAUT_LOCK").unwrap_or_else(|| Path::new("taut.lock").to_owned());
        let out = variable("TAUT_OUT").or_else(|| recorded.parent().map(Path::to_owned)).unwrap_or_default();
        Some(Self { lock, recorded, replayed: out.join(REPLAYED_FILE) })
    }
}

/// Replays the code of all tasks whose jobs are recorded. The code of the others does not run.
///
/// # Errors
/// [`Error`] if the plan cannot be booted, or if the set-up fails or does not fit it; [`Error::Replay`] if the recorded values
/// cannot be used: the reason.
pub fn replay(
    config: &ReplayConfig,
    setup: impl for<'p> FnOnce(&mut App<'p>) -> Result<(), Error>,
) -> Result<(), Error> {
    let loaded = LoadedPlan::from_file(&config.lock)?;
    let cannot = |why: &dyn std::fmt::Display| Error::Replay(format!("{}: {why}", config.recorded.display()));
    let bytes = std::fs::read(&config.recorded).map_err(|error| cannot(&error))?;
    let values = RecordedValues::from_bytes(&bytes).map_err(|error| cannot(&error))?;
    if values.plan != digest(loaded.text.as_bytes()) {
        return Err(cannot(&"it was recorded under another plan"));
    }
    if values.lost > 0 {
        return Err(cannot(&format_args!("{} records are missing", values.lost)));
    }
    let environment = Environment::new(loaded, Arc::new(BenchClock::default()))?;
    // SAFETY:
    // - all that is made from the parts is dropped in `with_parts`, or in this call before `environment` is
    // - `setup` gets them with a lifetime of which it knows nothing
    let parts = unsafe { environment.parts() };
    with_parts(&parts, config, &values, setup).map_err(|error| match error {
        Error::Replay(why) => cannot(&why),
        error => error,
    })
}

fn with_parts(
    parts: &Parts,
    config: &ReplayConfig,
    values: &RecordedValues<'_>,
    setup: impl for<'p> FnOnce(&mut App<'p>) -> Result<(), Error>,
) -> Result<(), Error> {
    let Parts { loaded, maps, control, event_counts, service_scopes, task_scopes } = *parts;
    let plan = &loaded.plan;
    let dispatch = Dispatch::in_bench(plan)?;
    let mut app = App::new(plan, maps, control, service_scopes, task_scopes, event_counts, dispatch);
    setup(&mut app)?;
    app.check_complete()?;
    let output = |error| Error::Output(config.replayed.clone(), error);
    let file = create(&config.replayed).map_err(output)?;
    let run = (values.run, loaded.text.as_str());
    let mut writer = ValuesWriter::new(file, plan, run, None, true).map_err(output)?;
    let mut codes = app.take_task_codes()?;
    for task in &values.tasks {
        let at = codes.iter().position(|code| code.task == usize::from(task.task));
        let code =
            at.filter(|_| plan.replays(usize::from(task.task)).is_ok()).map(|at| codes.swap_remove(at));
        let code =
            code.ok_or_else(|| Error::Replay("it has jobs of a task that is not replayed".to_owned()))?;
        replay_task(plan, control, task, code, &mut writer)?;
    }
    match writer.finish(0).0.lost {
        0 => Ok(()),
        _ => Err(output(std::io::ErrorKind::StorageFull.into())),
    }
}

/// Runs all recorded jobs of a task.
fn replay_task(
    plan: &Plan,
    control: &'static Control,
    task: &RecordedTask<'_>,
    code: TaskCode<'static>,
    writer: &mut ValuesWriter<File>,
) -> Result<(), Error> {
    let Code::RealTime { mut body, scope, timing, .. } = code.code else { return Ok(()) };
    let clock = Arc::new(BenchClock::default());
    // Nobody reads its events.
    let (recorder, _) = ring(RingOwner::Task(task.task), 2);
    let recorder = EventRecorder::with_clock(recorder, task.task, RunClock::Bench(clock.clone(), 0));
    let values = TaskValues::Replayed(Box::new(RefCell::new(ReplayedTask::new(plan))));
    let mut context = JobContext::new(scope, recorder.with_values(values), control, timing, None);
    body.start();
    for job in &task.jobs {
        let answers = answers(plan, job).ok_or_else(|| {
            let name = &plan.tasks[usize::from(task.task)].name;
            Error::Replay(format!("job {} of `{name}` does not fit the plan", job.job))
        })?;
        clock.set(job.begin_ns);
        context.values().next_job(answers);
        let released = Released { number: job.job, at_ns: job.release_ns };
        let bench = BenchJob { task: 0, execution: Duration::ZERO, is_killed: false, inside: None };
        body.run_replayed(&mut context, released, job.code, bench);
        for (at_ns, interaction, value) in context.values().take_done() {
            writer.put(task.task, at_ns, interaction, &value);
        }
    }
    Ok(())
}
