// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The code of a recorded run, once more: it does and gets the same.

use std::path::Path;
use std::sync::{Arc, Mutex};

use taut_event::Interaction;
use taut_event::values::{REPLAYED_FILE, RecordedJob, RecordedValues, VALUES_FILE};
use taut_plan::Plan;
use taut_run::ReplayConfig;

use crate::code::{Code, line};
use crate::seen::{Seen, Shared};

/// What was replayed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Replayed {
    pub(crate) tasks: u64,
    pub(crate) jobs: u64,
}

/// Replays the code of the run whose `taut.lock` is in `folder` and whose values are in `out`. Nothing if none are recorded.
///
/// # Errors
/// The first difference, or why nothing can be compared.
pub(crate) fn replayed(plan: &Plan, folder: &Path, out: &Path, code: Code<'_>) -> Result<Replayed, String> {
    if plan.channels.iter().all(|channel| !channel.record) {
        return Ok(Replayed::default());
    }
    let (lock, recorded) = (folder.join("taut.lock"), out.join(VALUES_FILE));
    let config = ReplayConfig { lock, recorded, replayed: out.join(REPLAYED_FILE) };
    // What its tasks see is not that of the run.
    let shared: Shared = Arc::new(Mutex::new(Seen::of_plan(plan)));
    let seed = code.seed;
    taut_run::replay(&config, |app| Code { shared: &shared, ..code }.set_up(app, || line(seed)))
        .map_err(|error| error.to_string())?;
    let [was, is] = [&config.recorded, &config.replayed].map(std::fs::read);
    let (was, is) = (was.map_err(|error| error.to_string())?, is.map_err(|error| error.to_string())?);
    let read = |bytes| RecordedValues::from_bytes(bytes).map_err(|error| error.to_string());
    let (was, is) = (read(&was)?, read(&is)?);
    let mut replayed = Replayed::default();
    for (at, task) in plan.tasks.iter().enumerate().filter(|(at, _)| plan.replays(*at).is_ok()) {
        let of = |values: &'_ RecordedValues<'_>| {
            values.tasks.iter().position(|task| usize::from(task.task) == at)
        };
        let (Some(before), Some(again)) = (of(&was), of(&is)) else {
            return Err(format!("the code of `{}` was not replayed", task.name));
        };
        let (before, again) = (&was.tasks[before].jobs, &is.tasks[again].jobs);
        same(before, again).map_err(|what| format!("the replay of `{}` differs: {what}", task.name))?;
        replayed.tasks += 1;
        replayed.jobs += before.len() as u64;
    }
    Ok(replayed)
}

/// Whether these jobs did and got the same.
fn same(was: &[RecordedJob<'_>], is: &[RecordedJob<'_>]) -> Result<(), String> {
    if was.len() != is.len() {
        return Err(format!("{} jobs, {} in the replay", was.len(), is.len()));
    }
    for (was, is) in was.iter().zip(is) {
        if (was.job, was.code, was.outcome) != (is.job, is.code, is.outcome) {
            return Err(format!("job {}: {:?}, in the replay {:?}", was.job, was.outcome, is.outcome));
        }
        let (before, again) = (all(was), all(is));
        if before != again {
            let at = before.iter().zip(&again).take_while(|(before, again)| before == again).count();
            let (before, again) = (before.get(at), again.get(at));
            return Err(format!("job {}: {before:?}, in the replay {again:?}", was.job));
        }
    }
    Ok(())
}

/// All that a job did and got. A replay gives the values that were received new numbers.
fn all<'f>(job: &RecordedJob<'f>) -> Vec<(Interaction, Option<&'f [u8]>)> {
    let of = job.interactions.iter().map(|of| match of.interaction {
        Interaction::Received { channel, lost, .. } => {
            (Interaction::Received { channel, number: 0, lost }, of.value)
        }
        other => (other, of.value),
    });
    of.collect()
}
