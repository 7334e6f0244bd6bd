// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Rules of synchronous flows: they are states, their parties are periodic real-time tasks, and an order of
//! computation exists.

use super::channels::{Link, party_name};
use super::faults::Faults;
use crate::{
    ArrivalDraft, ChannelDraft, ChannelKind, ClassDraft, Draft, Fault, Flow, KeyPath, Mechanism, PartyId,
    RealTimeDraft, SchedulingPolicy, codes, nearest,
};

pub(super) fn check(draft: &Draft, links: &[Link], faults: &mut Faults<'_>) {
    for (channel, link) in draft.channels.iter().zip(links) {
        match channel.flow {
            Flow::Newest => undelayed(channel, faults),
            Flow::Synchronous => {
                kind(channel, faults);
                count(channel, link, faults);
                parties(draft, channel, link, faults);
                names(channel, faults);
            }
        }
    }
    let direct = direct(draft, links);
    for edge in &direct {
        order(draft, edge, faults);
    }
    circles(draft, &direct, faults);
}

/// For each reader, whether it is delayed.
pub(super) fn delayed(channel: &ChannelDraft) -> Vec<bool> {
    channel.to.iter().map(|reader| channel.delayed.contains(reader)).collect()
}

/// Whether a channel meets every condition for a synchronous flow except those on its mechanism.
pub(super) fn fits(draft: &Draft, channel: &ChannelDraft, link: &Link) -> bool {
    let parties = link.writers.iter().chain(&link.readers);
    channel.kind == ChannelKind::State
        && link.readers.len() <= Mechanism::Dbp.claims_max()
        && parties.into_iter().all(|party| unfit(draft, *party).is_none())
}

fn at(channel: &ChannelDraft, key: &str) -> KeyPath {
    KeyPath::value(format!("channels.{}.{key}", channel.table()))
}

fn undelayed(channel: &ChannelDraft, faults: &mut Faults<'_>) {
    if channel.delayed.is_empty() {
        return;
    }
    let message = format!("channel `{}` has unit delays but no synchronous flow", channel.name);
    let fault = Fault::error(codes::BAD_FLOW, message, at(channel, "delayed"), "unit delays")
        .note("without a synchronous flow, a job reads the value that is newest when it reads")
        .help("add `flow = \"synchronous\"`, or remove `delayed`");
    faults.push_resting_on(fault, &[&format!("channels.{}.flow", channel.table())]);
}

fn kind(channel: &ChannelDraft, faults: &mut Faults<'_>) {
    if channel.kind == ChannelKind::State {
        return;
    }
    let noun = channel.noun();
    let message = format!("{noun} `{}` has a synchronous flow", channel.name);
    faults.push(
        Fault::error(codes::BAD_FLOW, message, at(channel, "flow"), "only for a state")
            .also(at(channel, "kind"), "it delivers every value in order, whenever its reader takes it")
            .help("remove `flow`, or make the channel a state"),
    );
}

fn count(channel: &ChannelDraft, link: &Link, faults: &mut Faults<'_>) {
    let most = Mechanism::Dbp.claims_max();
    if link.readers.len() > most {
        let message = format!("channel `{}` has too many readers for a synchronous flow", channel.name);
        let text = format!("{} readers, {most} at most", link.readers.len());
        faults.push(
            Fault::error(codes::BAD_FLOW, message, at(channel, "to"), text)
                .also(at(channel, "flow"), "synchronous")
                .help("let one reader pass the value on to others"),
        );
    }
}

fn real_time(draft: &Draft, party: PartyId) -> Option<&RealTimeDraft> {
    let PartyId::Task(id) = party else { return None };
    match &draft.tasks[id.index()].class {
        ClassDraft::RealTime(task) => Some(task),
        ClassDraft::BestEffort(_) => None,
    }
}

/// Why a party cannot take part in a synchronous flow, and the key of its task that says so.
fn unfit(draft: &Draft, party: PartyId) -> Option<(&'static str, &'static str)> {
    let PartyId::Task(_) = party else {
        return Some(("is a client, and a client runs at unknown instants", ""));
    };
    let Some(task) = real_time(draft, party) else {
        return Some(("is not real-time, so it runs at unknown instants", "class"));
    };
    match task.arrival {
        ArrivalDraft::Sporadic { .. } | ArrivalDraft::Aperiodic { .. } => {
            Some(("is released by a queue, at unknown instants", "arrival"))
        }
        ArrivalDraft::Clocked(_) => Some(("follows the clock of a device, and no calendar", "arrival")),
        ArrivalDraft::Periodic { period, .. } if task.deadline > period => {
            Some(("may have several jobs at once: its deadline is longer than its period", "deadline"))
        }
        ArrivalDraft::Periodic { .. } if task.server.is_some() => {
            Some(("runs in a server, whose budget may end while other tasks wait for the task", "server"))
        }
        ArrivalDraft::Periodic { .. } => None,
    }
}

fn parties(draft: &Draft, channel: &ChannelDraft, link: &Link, faults: &mut Faults<'_>) {
    for party in link.writers.iter().chain(&link.readers) {
        let Some((why, key)) = unfit(draft, *party) else { continue };
        let name = party_name(draft, *party);
        let message = format!("the flow of channel `{}` cannot be synchronous with `{name}`", channel.name);
        let place = match party {
            PartyId::Client(_) => KeyPath::key(format!("clients.{name}")),
            PartyId::Task(_) => KeyPath::value(format!("tasks.{name}.{key}")),
        };
        let fault = Fault::error(codes::BAD_FLOW, message, at(channel, "flow"), format!("`{name}` {why}"))
            .also(place, format!("`{name}`"))
            .note("a synchronous model computes its blocks at instants that are known in advance")
            .help("write `flow = \"newest\"`, or give the other parties a channel of their own");
        let class = format!("tasks.{name}.class");
        let rests: &[&str] = if matches!(party, PartyId::Task(_)) { &[&class] } else { &[] };
        faults.push_resting_on(fault, rests);
    }
}

/// Every name in `delayed` is that of a reader, and stands there once.
fn names(channel: &ChannelDraft, faults: &mut Faults<'_>) {
    for (i, name) in channel.delayed.iter().enumerate() {
        let place = || at(channel, &format!("delayed.{i}"));
        if !channel.to.contains(name) {
            let message =
                format!("`{name}` has a unit delay in channel `{}`, which it does not read", channel.name);
            let help = match nearest(name, channel.to.iter().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the readers are {}", channel.to.join(", ")),
            };
            let fault = Fault::error(codes::BAD_FLOW, message, place(), "does not read it")
                .also(at(channel, "to"), "its readers")
                .help(help);
            faults.push_resting_on(fault, &[&format!("channels.{}.to", channel.table())]);
        } else if channel.delayed[..i].contains(name) {
            let message = format!("`{name}` appears twice in `delayed` of channel `{}`", channel.name);
            faults.push(
                Fault::error(codes::PARTY_TWICE, message, place(), "again").help("name each reader once"),
            );
        }
    }
}

/// A read without a delay; tasks by position.
struct Direct<'d> {
    channel: &'d ChannelDraft,
    writer: usize,
    reader: usize,
}

fn direct<'d>(draft: &'d Draft, links: &[Link]) -> Vec<Direct<'d>> {
    let mut direct = Vec::new();
    for (channel, link) in draft.channels.iter().zip(links) {
        let sound = link.sound && channel.flow == Flow::Synchronous && fits(draft, channel, link);
        let Some(PartyId::Task(writer)) = link.writer.filter(|_| sound) else { continue };
        for (reader, delayed) in link.readers.iter().zip(delayed(channel)) {
            if let PartyId::Task(reader) = reader
                && !delayed
            {
                direct.push(Direct { channel, writer: writer.index(), reader: reader.index() });
            }
        }
    }
    direct
}

/// On one core, with fixed priorities in the manifest, the reader must be less urgent than the writer that it waits
/// for.
fn order(draft: &Draft, edge: &Direct<'_>, faults: &mut Faults<'_>) {
    let fixed = draft.platform.scheduler == SchedulingPolicy::FixedPriority;
    let task = |at: usize| match &draft.tasks[at].class {
        ClassDraft::RealTime(task) => Some((task, &draft.tasks[at].name)),
        ClassDraft::BestEffort(_) => None,
    };
    let (Some((writer, from)), Some((reader, to))) = (task(edge.writer), task(edge.reader)) else { return };
    let one = draft.platform.cores.len() == 1 || (writer.core.is_some() && writer.core == reader.core);
    let (Some(high), Some(low)) = (reader.priority, writer.priority) else { return };
    if !fixed || !one || high <= low {
        return;
    }
    let channel = &edge.channel.name;
    let message =
        format!("`{to}` is more urgent than `{from}`, whose value it waits for at channel `{channel}`");
    let place = KeyPath::value(format!("tasks.{to}.priority"));
    faults.push(
        Fault::error(codes::FLOW_ORDER, message, place, format!("priority {high}"))
            .also(KeyPath::value(format!("tasks.{from}.priority")), format!("priority {low}"))
            .also(at(edge.channel, "flow"), "the reader waits for the value of the same instant")
            .help(format!(
                "exchange the priorities, or let the reader have the value of the previous instant: `delayed = \
                 [\"{to}\"]`"
            )),
    );
}

/// Reports every cycle once, at its first task: a depth-first search, in which an edge back to the path closes a
/// cycle.
fn circles(draft: &Draft, direct: &[Direct<'_>], faults: &mut Faults<'_>) {
    let mut edges: Vec<Vec<usize>> = vec![Vec::new(); draft.tasks.len()];
    for (at, edge) in direct.iter().enumerate() {
        edges[edge.writer].push(at);
    }
    // 0 not visited, 1 on the path, 2 done.
    let mut state = vec![0_u8; draft.tasks.len()];
    for start in 0..draft.tasks.len() {
        if state[start] != 0 {
            continue;
        }
        state[start] = 1;
        // A task and the index of its next edge. `came` holds the edge that led to each task.
        let mut path: Vec<(usize, usize)> = vec![(start, 0)];
        let mut came: Vec<usize> = Vec::new();
        while let Some(&mut (task, ref mut next)) = path.last_mut() {
            let Some(&edge) = edges[task].get(*next) else {
                state[task] = 2;
                path.pop();
                came.pop();
                continue;
            };
            *next += 1;
            let reader = direct[edge].reader;
            match state[reader] {
                0 => {
                    state[reader] = 1;
                    path.push((reader, 0));
                    came.push(edge);
                }
                1 => {
                    let from = path.iter().position(|(task, _)| *task == reader).unwrap_or(0);
                    let circle = came[from..].iter().chain([&edge]).map(|edge| &direct[*edge]);
                    faults.push(circle_fault(draft, &circle.collect::<Vec<_>>()));
                }
                _ => {}
            }
        }
    }
}

fn circle_fault(draft: &Draft, circle: &[&Direct<'_>]) -> Fault {
    let name = |task: usize| draft.tasks[task].name.as_str();
    let mut circle = circle.to_vec();
    if let Some(first) = circle.iter().enumerate().min_by_key(|(_, edge)| edge.writer).map(|(at, _)| at) {
        circle.rotate_left(first);
    }
    let text = |edge: &Direct<'_>| format!("`{}` waits for `{}`", name(edge.reader), name(edge.writer));
    let mut fault = Fault::error(
        codes::FLOW_CYCLE,
        "tasks wait for each other's values in a circle",
        at(circle[0].channel, "flow"),
        text(circle[0]),
    );
    for edge in &circle[1..] {
        fault = fault.also(at(edge.channel, "flow"), text(edge));
    }
    let shown = circle.iter().map(|edge| edge.writer).chain([circle[0].writer]);
    let shown = shown.map(|task| format!("`{}`", name(task))).collect::<Vec<_>>().join(" -> ");
    let last = circle[circle.len() - 1];
    fault.note(format!("{shown}: none of these tasks could run first at an instant")).help(format!(
        "add a unit delay, for example in channel `{}`: `delayed = [\"{}\"]`",
        last.channel.name,
        name(last.reader)
    ))
}
