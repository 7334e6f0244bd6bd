// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut replay`: replays a recorded run of dispatched cores in virtual time.

use std::fmt::Write;
use std::path::Path;

use taut_event::file::{Damage, Run};
use taut_event::{Ending, Kind, Record};
use taut_plan::Plan;
use taut_sim::SimEvent;
use taut_sim::planned::Executed;
use taut_sim::replay::{CoreReplay, CoreState, Difference, EarlyEnd, Flaw, Names, Replay, Replayed, Stop};
use taut_time::{Duration, Instant};

use crate::arguments::{self, Format};
use crate::columns::{columns, micros};
use crate::outcome::{Failure, Outcome};
use crate::replay_code;
use crate::report;
use crate::say::{out, outln};

/// Why a replay compares nothing on native cores. `live/run/src/lifecycle.rs` lists what they record.
const NATIVE: &str = "Linux scheduled these tasks, and no thread learns when Linux preempts or resumes it, so the \
                      recording has no decision to compare";

pub(crate) fn replay(arguments: &arguments::Replay) -> Result<Outcome, Failure> {
    if arguments.code {
        return replay_code::replay(arguments);
    }
    let recording = report::find(&arguments.path)?;
    let (run, plan) = report::read(&recording)?;
    let executed = Executed::new(&plan).map_err(|damaged| Failure::Usage(damaged.to_string()))?;
    let (kept, records): (Vec<usize>, Vec<Record>) = run
        .records
        .iter()
        .enumerate()
        .filter_map(|(at, record)| Some((at, of_set(record, &executed.subjects)?)))
        .unzip();
    let replay = Replay::new(&executed.set, &executed.rules)
        .slack(arguments.slack)
        .patience(arguments.slack)
        .limits(&executed.limits)
        .dispatched(&executed.dispatched)
        .servers(&executed.served);
    let tasks: Vec<String> = executed.set.tasks().iter().map(|task| task.name.clone()).collect();
    let resources: Vec<String> =
        executed.set.resources().iter().map(|resource| resource.name.clone()).collect();
    let replayed = replay.run(&records, &mut ()).map_err(|fault| {
        let record = fault.record.and_then(|at| kept.get(at));
        let record = record.map_or_else(String::new, |at| format!("record {at}: "));
        let flaw = match fault.flaw {
            Flaw::Undeclared(task, resource) => {
                format!(
                    "`{}` uses resource `{}`, which the plan does not list for it",
                    tasks[task], resources[resource]
                )
            }
            other => other.to_string(),
        };
        Failure::Usage(format!("{}: {record}{flaw}", recording.display()))
    })?;
    comparable(&recording, &run, &replayed)?;
    let begin = run.records.iter().find(|record| record.kind == Kind::Begin).map(|record| record.at);
    let begin = begin.or(run.begin).unwrap_or(Instant::from_ns(0));
    let seen = Seen {
        plan: &plan,
        names: Names { tasks: &tasks, resources: &resources, begin },
        replayed: &replayed,
        kept: &kept,
        ended: run.ending() != Ending::Unrecorded,
        damage: run.damage,
        dropped: run.dropped,
    };
    match arguments.format {
        Format::Human => out!("{}", seen.text()),
        Format::Json => outln!("{:#}", seen.json()),
    }
    Ok(if seen.is_equal() { Outcome::Yes } else { Outcome::No })
}

/// Checks that a recording has a decision of a dispatcher to compare.
fn comparable(recording: &Path, run: &Run, replayed: &Replayed) -> Result<(), Failure> {
    let path = recording.display();
    if !replayed.is_dispatched() {
        return Err(Failure::Usage(format!(
            "{path}: not recorded by a dispatcher: {NATIVE}; set `executor = \"dispatched\"` in [platform] \
             to record decisions"
        )));
    }
    if run.unwritten > 0 {
        return Err(Failure::Usage(format!(
            "{path}: cannot compare: {} records of the run could not be written, and the decisions that \
             depend on them are unknown",
            run.unwritten
        )));
    }
    if replayed.events() == 0 && replayed.difference.is_none() {
        let until = if run.damage.is_some() { " before its damaged part" } else { "" };
        return Err(Failure::Usage(format!(
            "{path}: nothing to compare: the recording has no decision of a dispatcher{until}"
        )));
    }
    Ok(())
}

/// A record in the form in which a replay takes it: if its subject is a task, as a position in the set; `None` if the
/// set does not have the task. A replay has the same cores, servers and resources as the recording.
fn of_set(record: &Record, subjects: &[Option<usize>]) -> Option<Record> {
    if !record.kind.is_of_task() {
        return Some(*record);
    }
    let subject = subjects.get(usize::from(record.subject)).copied().flatten()?;
    Some(Record { subject: u16::try_from(subject).ok()?, ..*record })
}

/// The result of a replay, for display.
struct Seen<'a> {
    plan: &'a Plan,
    names: Names<'a>,
    replayed: &'a Replayed,
    /// Positions in the recording of the records that were replayed.
    kept: &'a [usize],
    /// Whether the recording has an end record.
    ended: bool,
    /// Where the recording is damaged, if it is.
    damage: Option<Damage>,
    /// How many records are missing at its beginning.
    dropped: u64,
}

/// A number of things: `1 event`, `2 events`.
fn plural(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

impl Seen<'_> {
    fn cpu(&self, core: usize) -> String {
        self.plan.cores.get(core).map_or_else(|| core.to_string(), |core| core.cpu.to_string())
    }

    /// Whether everything was compared and is equal, which a damaged recording cannot be.
    fn is_equal(&self) -> bool {
        self.replayed.is_equal() && self.damage.is_none()
    }

    fn verdict(&self) -> &'static str {
        match &self.replayed.difference {
            Some(_) => "differs",
            None if self.is_equal() => "equal",
            None => "equal-until",
        }
    }

    fn text(&self) -> String {
        let mut text = format!("{}: {}\n", self.plan.app, self.verdict_in_words());
        if let Some(found) = &self.replayed.difference {
            let (at, record) = &found.recorded;
            let at = self.kept.get(*at).copied().unwrap_or(*at);
            let _ = writeln!(
                text,
                "record {at}: recorded `{}`, simulated `{}`",
                self.names.record(record),
                found.instead(&self.names)
            );
            text += &found.table(&self.names);
        }
        let row = |(core, of): (usize, &CoreReplay)| {
            [
                format!("cpu {}", self.cpu(core)),
                of.events.to_string(),
                of.jobs.to_string(),
                micros(of.dispatched.then_some(of.late_max)),
            ]
        };
        let rows: Vec<_> = self.replayed.cores.iter().enumerate().map(row).collect();
        text += &columns(["core", "events", "jobs", "decided to done"], &rows);
        text += "in µs: the longest delay from a simulated decision to its record\n";
        for (core, of) in self.replayed.cores.iter().enumerate() {
            text += &self.left_out(core, of);
        }
        text += &self.unrecorded();
        text
    }

    /// The verdict and how much was compared, in words.
    fn verdict_in_words(&self) -> String {
        let cores = self.replayed.cores.iter().filter(|core| core.events > 0).count();
        let compared =
            format!("{} on {}", plural(self.replayed.events(), "event"), plural(cores as u64, "core"));
        match &self.replayed.difference {
            Some(found) => format!("DIFFERS on cpu {}, after {compared}", self.cpu(found.core)),
            None if self.is_equal() => format!("equal: {compared}"),
            None => format!("equal as far as can be compared: {compared}"),
        }
    }

    /// What of a core was not compared, and why; a line for each.
    fn left_out(&self, core: usize, of: &CoreReplay) -> String {
        let mut text = String::new();
        let cpu = self.cpu(core);
        if !of.dispatched {
            let _ = writeln!(text, "cpu {cpu}: not compared: no dispatcher recorded events on it");
        }
        if of.before > 0 {
            let before = plural(of.before, "record");
            let _ = writeln!(
                text,
                "cpu {cpu}: {before} not compared: they precede the first instant at which no job was under \
                 way"
            );
        }
        if let Some(stop) = &of.stop {
            let (when, why) = (self.when(stop), self.why(stop));
            let _ = writeln!(text, "cpu {cpu}: not compared from {when} on: {why}");
        }
        text
    }

    /// What the recording lacks; a line for each.
    fn unrecorded(&self) -> String {
        let mut text = String::new();
        if let Some(damage) = self.damage {
            let what = if damage.cut { "cut" } else { "damaged" };
            let _ = writeln!(
                text,
                "the recording is {what} at byte {}: the {} bytes from there on are not compared",
                damage.at, damage.bytes
            );
        }
        if self.dropped > 0 {
            let _ = writeln!(text, "{} dropped to make room for newer ones", plural(self.dropped, "record"));
        }
        if !self.ended && self.damage.is_none() {
            text += "the recording has no end: the application was killed, or the file was cut; later events are not \
                     compared\n";
        }
        for event in &self.replayed.pending {
            let _ = writeln!(text, "simulated, but not recorded before the end: {}", self.names.event(event));
        }
        if self.replayed.reordered > 0 {
            let _ = writeln!(
                text,
                "{} too close to one on another core to order by time: replayed in the order in which jobs \
                 held the resource",
                plural(self.replayed.reordered, "request")
            );
        }
        text
    }

    fn when(&self, stop: &Stop) -> String {
        let micros = stop.at.since(self.names.begin).as_ns().div_ceil(1_000);
        format!("{}.{:03} ms", micros / 1_000, micros % 1_000)
    }

    fn why(&self, stop: &Stop) -> String {
        match stop.why {
            EarlyEnd::Lost(count) => format!("{count} records were lost because the ring was full"),
            EarlyEnd::NoLocks => "its jobs use locks, and the recording has no locks".to_owned(),
            EarlyEnd::Server => {
                "servers run on it, and the recording does not say how much of their budgets they used"
                    .to_owned()
            }
            EarlyEnd::With(core) => format!("it shares resources with cpu {}", self.cpu(core)),
            EarlyEnd::NoBeginning => {
                "the recording begins in the middle of the run, and a job was under way at every \
                 instant"
                    .to_owned()
            }
        }
    }

    fn json(&self) -> serde_json::Value {
        let Replayed { cores, pending, reordered, difference } = self.replayed;
        let core = |(at, core): (usize, &CoreReplay)| {
            let stop = core.stop.as_ref().map(|stop| {
                serde_json::json!({
                    "at_ns": stop.at.since(self.names.begin).as_ns(),
                    "record": self.kept.get(stop.record),
                    "why": self.why(stop),
                })
            });
            serde_json::json!({
                "cpu": self.plan.cores.get(at).map(|core| core.cpu),
                "dispatched": core.dispatched,
                "events": core.events,
                "jobs": core.jobs,
                "left_out_before": core.before,
                "decided_to_done_ns_max": core.late_max.as_ns(),
                "stop": stop,
            })
        };
        serde_json::json!({
            "schema_version": 1,
            "app": self.plan.app,
            "verdict": self.verdict(),
            "events": self.replayed.events(),
            "ended": self.ended,
            "whole": self.damage.is_none(),
            "records_dropped": self.dropped,
            "cores": cores.iter().enumerate().map(core).collect::<Vec<_>>(),
            "difference": difference.as_ref().map(|found| self.difference(found)),
            "not_recorded": pending.iter().map(|event| self.event(event)).collect::<Vec<_>>(),
            "reordered": reordered,
        })
    }

    fn difference(&self, found: &Difference) -> serde_json::Value {
        let before = found.before.iter().map(|(record, event)| {
            serde_json::json!({ "recorded": self.record(record), "simulated": self.event(event) })
        });
        let job = |(task, job): (usize, u64)| self.job(task, job);
        let core = |(at, core): (usize, &CoreState)| {
            let waits = core.waits.iter().map(|&(task, job, resource)| {
                serde_json::json!({ "job": self.job(task, job), "resource": self.names.resources.get(resource) })
            });
            serde_json::json!({
                "cpu": self.plan.cores.get(at).map(|core| core.cpu),
                "runs": core.runs.map(job),
                "ready": core.ready.iter().copied().map(job).collect::<Vec<_>>(),
                "waits": waits.collect::<Vec<_>>(),
            })
        };
        let held = found.held.iter().enumerate().filter_map(|(resource, holder)| {
            let resource = self.names.resources.get(resource);
            holder.map(|holder| serde_json::json!({ "resource": resource, "by": job(holder) }))
        });
        serde_json::json!({
            "cpu": self.plan.cores.get(found.core).map(|core| core.cpu),
            "equal_before": found.index,
            "record": self.kept.get(found.recorded.0),
            "recorded": self.record(&found.recorded.1),
            "simulated": found.simulated.as_ref().map(|event| self.event(event)),
            "instead": found.instead(&self.names),
            "before": before.collect::<Vec<_>>(),
            "recorded_after": found.recorded_after.iter().map(|record| self.record(record)).collect::<Vec<_>>(),
            "simulated_after": found.simulated_after.iter().map(|event| self.event(event)).collect::<Vec<_>>(),
            "cores": found.cores.iter().enumerate().map(core).collect::<Vec<_>>(),
            "held": held.collect::<Vec<_>>(),
        })
    }

    fn job(&self, task: usize, job: u64) -> serde_json::Value {
        serde_json::json!({ "task": self.names.tasks.get(task), "job": job })
    }

    fn record(&self, record: &Record) -> serde_json::Value {
        serde_json::json!({ "at_ns": self.names.when(record), "what": self.names.record(record) })
    }

    fn event(&self, event: &SimEvent) -> serde_json::Value {
        let at = Duration::from_ns(event.at.as_ns().saturating_sub(self.names.begin.as_ns()));
        serde_json::json!({ "at_ns": at.as_ns(), "what": self.names.event(event) })
    }
}
