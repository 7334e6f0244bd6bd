// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The rules of tasks that follow a device's clock: what must be stated of the clock, and where only a calendar serves.

use super::faults::Faults;
use crate::{
    ArrivalDraft, ClassDraft, ClockDraft, DRIFT_PPM_MAX, Draft, Fault, KeyPath, RealTimeDraft, TaskDraft,
    codes,
};

pub(super) fn check(draft: &Draft, faults: &mut Faults<'_>) {
    for (at, task) in draft.tasks.iter().enumerate() {
        let Some(clock) = clock_of(task) else { continue };
        let before = faults.count();
        stated(&task.name, clock, faults);
        name(draft, (at, &task.name), clock, faults);
        if faults.count() == before {
            distinct(&task.name, clock, faults);
        }
        chains(draft, &task.name, faults);
    }
}

fn clock_of(task: &TaskDraft) -> Option<&ClockDraft> {
    match &task.class {
        ClassDraft::RealTime(RealTimeDraft { arrival: ArrivalDraft::Clocked(clock), .. }) => Some(clock),
        _ => None,
    }
}

fn place(task: &str, key: &str) -> KeyPath {
    KeyPath::value(format!("tasks.{task}.arrival.{key}"))
}

fn fault(message: String, task: &str, key: &str, text: impl Into<String>) -> Fault {
    Fault::error(codes::BAD_CLOCK, message, place(task, key), text)
}

/// Checks that a name, a drift and a jitter are stated, and that they are in range.
fn stated(task: &str, clock: &ClockDraft, faults: &mut Faults<'_>) {
    let arrival = format!("tasks.{task}.arrival");
    let missing: Vec<&str> = [
        ("clock", clock.name.is_none()),
        ("drift-ppm", clock.drift_ppm.is_none()),
        ("jitter", clock.jitter.is_none()),
    ]
    .into_iter()
    .filter(|(key, missing)| *missing && !faults.wrong(&format!("{arrival}.{key}")))
    .map(|(key, _)| key)
    .collect();
    if !missing.is_empty() {
        let listed: Vec<String> = missing.iter().map(|key| format!("`{key}`")).collect();
        let message = format!("task `{task}` follows a clock of which something is not stated");
        let text = format!("no {}", listed.join(", "));
        faults.push(
            Fault::error(codes::BAD_CLOCK, message, KeyPath::value(arrival), text)
                .note("how far a release is from a tick follows from `drift-ppm` and `jitter`")
                .help("write `clock = \"…\", drift-ppm = 200, jitter = \"500us\"`, or none of them"),
        );
    }
    if let Some(drift) = clock.drift_ppm.filter(|drift| *drift > DRIFT_PPM_MAX) {
        let message = format!("the clock of task `{task}` drifts too much");
        let text = format!("{drift} millionths");
        faults.push(
            fault(message, task, "drift-ppm", text)
                .help(format!("at most {DRIFT_PPM_MAX}; a quartz has less than 200")),
        );
    }
    if clock.offset >= clock.period && !clock.period.is_zero() {
        let message = format!("task `{task}` is released a period or more after a tick");
        faults.push(
            fault(message, task, "offset", format!("offset {}", clock.offset))
                .also(place(task, "periodic"), format!("period {}", clock.period))
                .help("each release belongs to the tick before it"),
        );
    }
}

/// Checks the name of the clock: no other task follows it.
fn name(draft: &Draft, (at, task): (usize, &str), clock: &ClockDraft, faults: &mut Faults<'_>) {
    let Some(name) = clock.name.as_deref() else { return };
    if !taut_policy::is_name(name) {
        let message = format!("`{name}` is not the name of a clock");
        let text = "a letter, then letters, digits, `-` or `_`";
        faults.push(
            Fault::error(codes::BAD_NAME, message, place(task, "clock"), text)
                .help("choose a name; the application asks for the clock by it"),
        );
        return;
    }
    let is_same = |other: &&TaskDraft| clock_of(other).is_some_and(|of| of.name.as_deref() == Some(name));
    if let Some(other) = draft.tasks[..at].iter().find(is_same) {
        let message = format!("two tasks follow clock `{name}`, `{}` and `{task}`", other.name);
        faults.push(
            fault(message, task, "clock", "again")
                .also(place(&other.name, "clock"), "here first")
                .help("let one task follow it, and release the other by what that task sends"),
        );
    }
}

/// Checks that an observation tells which tick was observed.
fn distinct(task: &str, clock: &ClockDraft, faults: &mut Faults<'_>) {
    let Some(stated) = clock.clock().filter(|of| !of.period.is_zero() && !of.is_distinct()) else { return };
    let message = format!("task `{task}`: an observation does not tell which tick of its clock was observed");
    let text = format!("jitter {}, drift {} in each period", stated.jitter, stated.drift());
    faults.push(
        fault(message, task, "jitter", text)
            .also(place(task, "periodic"), format!("period {}", stated.period))
            .note("twice the jitter and 36 times the drift in a period must be less than the period")
            .help("take the instants of ticks from the driver, if it has them: they are less late"),
    );
}

/// The bounds of chains suppose a calendar, or a release by a value.
fn chains(draft: &Draft, name: &str, faults: &mut Faults<'_>) {
    for (at, chain) in draft.chains.iter().enumerate() {
        let Some(step) = chain.path.iter().position(|step| step == name) else { continue };
        let message =
            format!("chain `{}` goes through task `{name}`, which follows a device's clock", chain.name);
        let step = KeyPath::value(format!("chains.{at}.path.{step}"));
        faults.push(
            Fault::error(codes::CLOCKED_CHAIN, message, step, "no theorem for chains has such a task")
                .also(place(name, "clock"), "the clock")
                .help("let the chain begin behind it, or end before it"),
        );
    }
}
