// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The same applications in virtual time: the same code over the same plan, in a bench, where the machine adds nothing. So no
//! bound may be exceeded at all. Jobs execute for drawn times, up to all that they may, and what is outside of the real-time
//! side acts at drawn periods.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use taut_boot::LoadedPlan;
use taut_event::file::Run;
use taut_event::values::VALUES_FILE;
use taut_plan::{ClassPlan, Plan};
use taut_report::{Report, RunVerdict};
use taut_run::Error;
use taut_run::bench::{Bench, ExecutionTime, PlayedParties};
use taut_time::Duration;

use crate::code::{Code, Names, Seen, Shared, Value};
use crate::draw::Draw;

/// Runs an application whose `taut.lock` lies in `folder`, and returns its recording. Its values are in the folder.
pub(crate) fn recorded(
    plan: &Plan,
    folder: &std::path::Path,
    seed: u64,
    length: Duration,
    shared: &Shared,
) -> Result<Run, Error> {
    let mut draw = Draw::new(seed ^ 0xbe4c);
    let mut others: Vec<UnixStream> = Vec::new();
    let loaded = LoadedPlan::from_file(&folder.join("taut.lock"))?;
    let mut bench = Bench::with_plan(loaded, |app| {
        let device = || -> std::io::Result<OwnedFd> {
            let (ours, theirs) = UnixStream::pair()?;
            theirs.set_nonblocking(true)?;
            others.push(theirs);
            Ok(ours.into())
        };
        Code { plan, seed, shared, spins: false }.set_up(app, device)
    })?
    .seed(seed);
    for task in &plan.tasks {
        let ClassPlan::RealTime { wcet, .. } = &task.class else { continue };
        // Now and then all jobs take as long as they may.
        let least = if draw.chance(30) { *wcet } else { Duration::from_ns(wcet.as_ns() / 4) };
        bench.execution(&task.name, ExecutionTime::uniform(least..=*wcet))?;
    }
    bench.record_values()?;
    play(&mut bench, plan, &mut draw, shared)?;
    for mut other in others {
        let gap = Duration::from_us(draw.pick(150, 9_000));
        bench.every(gap, move |_| {
            // A device that is not read in time is full.
            let _ = other.write(&[0; 32]);
            Ok(true)
        })?;
    }
    bench.run_for(length)?;
    let bytes = bench.recording()?;
    let values = bench.recorded_values()?;
    std::fs::write(folder.join(VALUES_FILE), values).map_err(|error| Error::Application(error.into()))?;
    // A component whose last job has panicked has no end.
    let restarts = plan.services.iter().any(|service| service.on_failure.is_some());
    bench.end().or_else(|error| if restarts { Ok(()) } else { Err(error) })?;
    Run::from_bytes(&bytes).map_err(|error| Error::Application(error.into()))
}

/// Plays the best-effort tasks: one sends, and changes services and modes; up to two receive.
fn play(bench: &mut Bench, plan: &Plan, draw: &mut Draw, shared: &Shared) -> Result<(), Error> {
    let position = |name: &str| plan.task(name).and_then(|at| u32::try_from(at).ok());
    if let Some(number) = position("noise") {
        let sends = plan.channels.iter().any(|channel| channel.writer.name == "noise");
        let (names, mut own, mut next) = (Names::of(plan), draw.fork(), 1);
        bench.every(Duration::from_us(draw.pick(100, 2_000)), move |parties: &mut PlayedParties| {
            if own.chance(10) {
                names.change(parties.control(), &mut own);
            }
            let value = Value { urgency: 9, sender: number, number: next };
            if sends && parties.task("noise").send("asks", value)? {
                next += 1;
            }
            Ok(true)
        })?;
    }
    for (reader, channel) in [("logger", "log"), ("watches", "all")] {
        let Some(at) = plan.channel(channel) else { continue };
        let (shared, plan) = (shared.clone(), plan.clone());
        bench.every(Duration::from_us(draw.pick(500, 20_000)), move |parties| {
            let mut seen = Seen::of_plan(&plan);
            while let Some(value) = parties.task(reader).receive::<Value>(channel)? {
                seen.take_any(at, &value);
            }
            seen.show(&shared);
            Ok(true)
        })?;
    }
    Ok(())
}

/// Whether every bound was kept.
pub(crate) fn judged(plan: &Plan, run: &Run) -> Result<(), String> {
    match Report::new(plan, run).verdict() {
        RunVerdict::Kept => Ok(()),
        verdict => Err(format!("in virtual time: {verdict:?}")),
    }
}
