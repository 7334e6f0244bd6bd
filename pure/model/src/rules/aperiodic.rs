// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The rules of aperiodic tasks, which nothing but a server bounds: what they need, and what only a rate would bound.

use super::channels::{Link, is_real_time};
use super::faults::Faults;
use super::messages::at;
use crate::{
    ArrivalDraft, ChannelDraft, ChannelKind, ClassDraft, Draft, Fault, KeyPath, NO_DEADLINE, Overrun,
    PartyId, RealTimeDraft, codes,
};

pub(super) fn check(draft: &Draft, links: &[Link], faults: &mut Faults<'_>) {
    for task in &draft.tasks {
        let ClassDraft::RealTime(real_time) = &task.class else { continue };
        if matches!(real_time.arrival, ArrivalDraft::Aperiodic { .. }) {
            served(&task.name, real_time, faults);
            keys(&task.name, real_time, faults);
            deadline(draft, &task.name, real_time, faults);
            chains(draft, &task.name, faults);
        }
    }
    for (channel, link) in draft.channels.iter().zip(links) {
        readers(draft, channel, link, faults);
        writer(draft, channel, link, faults);
    }
}

fn is_aperiodic(draft: &Draft, party: PartyId) -> bool {
    let PartyId::Task(id) = party else { return false };
    let class = &draft.tasks[id.index()].class;
    matches!(class, ClassDraft::RealTime(task) if matches!(task.arrival, ArrivalDraft::Aperiodic { .. }))
}

fn arrival(task: &str) -> KeyPath {
    KeyPath::value(format!("tasks.{task}.arrival"))
}

/// Checks that a server bounds what the task takes from others.
fn served(name: &str, task: &RealTimeDraft, faults: &mut Faults<'_>) {
    if task.server.is_none() {
        let message = format!("nothing bounds what aperiodic task `{name}` takes from other tasks");
        let fault =
            Fault::error(codes::BAD_APERIODIC, message, arrival(name), "no least time between two jobs")
                .note("a server lets the task have a budget in each period, however often it is released")
                .help(
                    "let it run in a server: `server = \"…\"`; or state a least time between two jobs: \
                 `arrival = { sporadic = \"…\", triggers = […] }`",
                );
        faults.push_resting_on(fault, &[&format!("tasks.{name}.server")]);
    }
}

/// Checks that the task states nothing that rests on a rate.
fn keys(name: &str, task: &RealTimeDraft, faults: &mut Faults<'_>) {
    let jitter = ("jitter", "its job arrives when a value waits", "remove it");
    let on_overrun = match task.on_overrun {
        Overrun::KillJob | Overrun::StopApp => Some((
            "on-overrun",
            "no release falls due while its job runs",
            "remove it: the server's budget bounds what a long job takes from others",
        )),
        // A task in a server is not demoted: the rules of servers say so.
        Overrun::RunOn | Overrun::SkipNext | Overrun::Demote => None,
    };
    for (key, why, help) in Some(jitter).filter(|_| !task.jitter.is_zero()).into_iter().chain(on_overrun) {
        let message = format!("task `{name}` is aperiodic and has `{key}`");
        let place = KeyPath::value(format!("tasks.{name}.{key}"));
        let fault = Fault::error(codes::BAD_APERIODIC, message, place, why);
        faults.push(fault.also(arrival(name), "aperiodic").help(help));
    }
}

/// A deadline holds for each value that a channel takes, so the author says how many values may wait.
fn deadline(draft: &Draft, name: &str, task: &RealTimeDraft, faults: &mut Faults<'_>) {
    if task.deadline == NO_DEADLINE {
        return;
    }
    let releases = |channel: &&ChannelDraft| {
        task.arrival.triggers().iter().any(|trigger| trigger.channel == channel.name)
    };
    let open = draft.channels.iter().filter(releases).find(|channel| channel.capacity.is_none());
    let Some(channel) = open else { return };
    let (noun, of) = (channel.noun(), channel.table());
    let message =
        format!("task `{name}` has a deadline, and {noun} `{of}` does not say how many values may wait");
    let place = KeyPath::value(format!("tasks.{name}.deadline"));
    let fault = Fault::error(codes::BAD_APERIODIC, message, place, "for a value behind how many?")
        .also(KeyPath::key(format!("channels.{of}")), "no `capacity`")
        .help("write `capacity = 4`: the deadline then holds for a value that finds all other places taken");
    faults.push_resting_on(fault, &[&format!("channels.{of}.capacity"), &format!("channels.{of}.kind")]);
}

/// A chain through the task has no bound that follows from rates.
fn chains(draft: &Draft, name: &str, faults: &mut Faults<'_>) {
    for (at, chain) in draft.chains.iter().enumerate() {
        let Some(step) = chain.path.iter().position(|step| step == name) else { continue };
        let message = format!("chain `{}` goes through aperiodic task `{name}`", chain.name);
        let place = KeyPath::value(format!("chains.{at}.path.{step}"));
        faults.push(
            Fault::error(codes::BAD_APERIODIC, message, place, "nothing says how often it runs")
                .also(arrival(name), "aperiodic")
                .help("let the chain end before it: `taut check` prints how long a value waits for it"),
        );
    }
}

/// The task reads what parties send at any rate: a queue or a message. Of other channels the writer relies on a reader that
/// looks in bounded time.
fn readers(draft: &Draft, channel: &ChannelDraft, link: &Link, faults: &mut Faults<'_>) {
    if !channel.broadcast && channel.kind != ChannelKind::Bulk && !channel.is_timed() {
        return;
    }
    for (at_reader, _) in link.readers.iter().enumerate().filter(|(_, of)| is_aperiodic(draft, **of)) {
        let (noun, name, task) = (channel.noun(), channel.table(), &channel.to[at_reader]);
        let message = format!("aperiodic task `{task}` reads {noun} `{name}`");
        let place = at(channel, &format!("to.{at_reader}"));
        let fault = Fault::error(codes::APERIODIC_CHANNEL, message, place, "nothing bounds when it looks")
            .also(arrival(task), "aperiodic")
            .help("send it a queue or a message, which holds as many values as its `capacity` says");
        faults.push_resting_on(fault, &[&format!("channels.{name}.kind")]);
    }
}

/// Nothing bounds how much the task sends. What it sends to real-time tasks could keep others' values from them.
fn writer(draft: &Draft, channel: &ChannelDraft, link: &Link, faults: &mut Faults<'_>) {
    let Some(writer) = link.writer.filter(|writer| is_aperiodic(draft, *writer)) else { return };
    let to_real_time = link.readers.iter().any(|reader| is_real_time(draft, *reader));
    if !channel.kind.is_queued() || !to_real_time && channel.kind != ChannelKind::Bulk && !channel.broadcast {
        return;
    }
    let PartyId::Task(id) = writer else { return };
    let (noun, name, task) = (channel.noun(), channel.table(), &draft.tasks[id.index()].name);
    let message = format!("aperiodic task `{task}` sends to {noun} `{name}`");
    let sender = channel.lane.as_ref().map_or(0, |lane| lane.sender);
    let place = at(channel, &format!("from.{sender}"));
    let fault = Fault::error(codes::APERIODIC_CHANNEL, message, place, "nothing bounds how often it sends")
        .also(arrival(task), "aperiodic")
        .help("let it publish a state, of which readers get the newest value; or send to tasks that are not real-time");
    faults.push_resting_on(fault, &[&format!("channels.{name}.kind")]);
}
