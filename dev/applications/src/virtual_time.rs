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
use taut_run::bench::{Bench, ExecutionTime, PartyCaller, PlayedParties};
use taut_run::{BlockReceiver, BlockSender, Error, OneOf};
use taut_time::Duration;

use crate::blocks::{self, Of, of_size};
use crate::code::{Code, Names};
use crate::draw::{CALLERS, Draw};
use crate::ends::carries_several;
use crate::requests::Asks;
use crate::seen::{Long, Seen, Several, Shared, Value};

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
        let writes =
            |table: &str| plan.channels.iter().any(|of| of.writer.name == "noise" && of.table() == table);
        let (sends, publishes) = (writes("asks"), writes("newest"));
        let several = plan.lanes("asks").first().is_some_and(|(_, lane)| carries_several(lane));
        let (names, mut own, mut next, mut newest) = (Names::of(plan), draw.fork(), 1, 1);
        bench.every(Duration::from_us(draw.pick(100, 2_000)), move |parties: &mut PlayedParties| {
            if own.chance(10) {
                names.change(parties.control(), &mut own);
            }
            let value = Value { urgency: 9, sender: number, number: next };
            if sends {
                let noise = parties.task("noise");
                next += u64::from(match several {
                    true => noise.send("asks", Several::of(value).to_stored())?,
                    false => noise.send("asks", value)?,
                });
            }
            let value = Value { number: newest, ..value };
            if publishes && parties.task("noise").publish("newest", value)? {
                newest += 1;
            }
            Ok(true)
        })?;
    }
    if let Some(number) = position("asker") {
        let (mut own, mut next) = (draw.fork(), 1);
        bench.every(Duration::from_us(draw.pick(300, 4_000)), move |parties: &mut PlayedParties| {
            for _ in 0..own.pick(0, 3) * own.pick(0, 3) {
                let value = Value { urgency: 9, sender: number, number: next };
                next += u64::from(parties.task("asker").send("orders", value)?);
            }
            Ok(true)
        })?;
    }
    for (reader, channel) in [("logger", "log"), ("watches", "all"), ("listens", "answers")] {
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
    play_callers(bench, plan, draw, shared)?;
    play_blocks(bench, plan, draw, shared)
}

/// Plays the callers of a request.
fn play_callers(bench: &mut Bench, plan: &Plan, draw: &mut Draw, shared: &Shared) -> Result<(), Error> {
    for caller in CALLERS {
        let Some(mut asks) = plan.task(caller).and_then(|task| Asks::new(plan, task, "info")) else {
            continue;
        };
        let (mut own, shared, plan) = (draw.fork(), shared.clone(), plan.clone());
        bench.every(Duration::from_us(draw.pick(200, 6_000)), move |parties| {
            let mut seen = Seen::of_plan(&plan);
            while let Some(answer) = parties.task(caller).answer::<Value, Long>("info")? {
                asks.came(answer, &mut seen);
            }
            for _ in 0..own.pick(0, 3) {
                let number = parties.task(caller).request::<Value, Long>("info", asks.value())?;
                asks.sent(number, &mut seen);
            }
            seen.show(&shared);
            Ok(true)
        })?;
    }
    Ok(())
}

/// Plays the end of a bulk channel that is not real-time: a sender, or a receiver that now and then is slow.
fn play_blocks(bench: &mut Bench, plan: &Plan, draw: &mut Draw, shared: &Shared) -> Result<(), Error> {
    let Some(at) = plan.channel("images") else { return Ok(()) };
    let is_played = |name: &str| ["noise", "views"].contains(&name);
    let sends = is_played(&plan.channels[at].writer.name);
    if !sends && !plan.channels[at].readers.iter().any(|reader| is_played(&reader.name)) {
        return Ok(());
    }
    let (of, mut own, mut next) = (Of::new(plan, at), draw.fork(), 1);
    let (shared, plan) = (shared.clone(), plan.clone());
    let gap = Duration::from_us(if sends { draw.pick(300, 4_000) } else { draw.pick(500, 20_000) });
    bench.every(gap, move |parties| {
        let mut seen = Seen::of_plan(&plan);
        of_size!(plan.channels[at], N => {
            if sends {
                let fill = |end: &mut BlockSender<'_, [u64; N]>, by: &mut PartyCaller| {
                    blocks::fill(end, by, of, &mut next, &mut seen)
                };
                parties.task("noise").send_blocks("images", fill)?;
            } else {
                let keeps = own.chance(20);
                let take = |end: &mut BlockReceiver<'_, [u64; N]>, by: &mut PartyCaller| {
                    blocks::take(end, by, of, keeps, &mut seen);
                };
                parties.task("views").receive_blocks("images", take)?;
            }
        });
        seen.show(&shared);
        Ok(true)
    })
}

/// Whether every bound was kept. Of values for an aperiodic task also those of senders that are not real-time: here nothing stops
/// one between its stamp and its send.
pub(crate) fn judged(plan: &Plan, run: &Run) -> Result<(), String> {
    let report = Report::new(plan, run);
    for channel in report.channels().iter().filter(|of| of.readers.iter().any(|name| plan.is_aperiodic(name)))
    {
        let longest = channel.latency.map_or(0, |latency| latency.max_ns);
        if channel.bound_ns.is_some_and(|bound| longest > bound) {
            let (name, bound) = (&channel.name, channel.bound_ns);
            return Err(format!("in virtual time: `{name}` took {longest} ns, {bound:?} promised"));
        }
    }
    match report.verdict() {
        RunVerdict::Kept => Ok(()),
        verdict => Err(format!("in virtual time: {verdict:?}")),
    }
}
