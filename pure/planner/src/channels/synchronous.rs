// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A state with a synchronous flow: DBP or TCCP, in how many buffers.
//!
//! The plan takes the one whose object is smaller. DBP needs no times. TCCP uses proven response times, or
//! deadlines in a plan that is not proven and therefore not run. Even if a job takes longer, no job reads a wrong
//! value: a job that would take a buffer that is still being read waits for it.

use taut_analysis::wait_free::flow::{self as counts, Cores, FlowReader, FlowWriter};
use taut_model::{
    Channel, ChannelId, Class, Fault, FlowLink, KeyPath, Mechanism, Model, PartyId, RealTime, TaskId, codes,
};
use taut_time::Duration;

use crate::response::bounds::ResponseBounds;
use crate::response::waits;

/// The most buffers of TCCP, as of all objects whose readers are safe by time; DBP has at most 64 anyway.
const BUFFERS_MAX: u64 = 256;

/// A mechanism with its buffers.
pub(crate) struct Choice {
    pub(crate) mechanism: Mechanism,
    pub(crate) buffers: u32,
    bytes: u64,
}

/// Chooses between the two: the pinned or decided one if it fits, else the smaller one.
pub(crate) fn choose(
    model: &Model,
    id: ChannelId,
    bounds: &ResponseBounds,
    faults: &mut Vec<Fault>,
) -> Option<(Choice, String)> {
    let channel = model.channel(id);
    let mut fit: Vec<Choice> = [Mechanism::Dbp, Mechanism::Tccp]
        .into_iter()
        .filter_map(|mechanism| candidate(model, id, bounds, mechanism))
        .collect();
    // The sort is stable: if both are of one size, DBP comes first, which rests on no response times.
    fit.sort_by_key(|choice| choice.bytes);
    let wanted = channel.mechanism.or(channel.decided);
    let position = wanted.and_then(|wanted| fit.iter().position(|fit| fit.mechanism == wanted));
    if let (Some(pinned), None) = (channel.mechanism, position) {
        faults.push(refused(channel, pinned, &fit));
    }
    if fit.is_empty() {
        return None;
    }
    let choice = fit.remove(position.unwrap_or(0));
    let reason = reason(model, id, bounds, &choice, fit.first());
    Some((choice, reason))
}

fn real_time<'m>(model: &'m Model, party: &PartyId) -> Option<(TaskId, &'m RealTime)> {
    let PartyId::Task(id) = *party else { return None };
    match &model.task(id).class {
        Class::RealTime(task) => Some((id, task)),
        Class::BestEffort(_) => None,
    }
}

fn candidate(model: &Model, id: ChannelId, bounds: &ResponseBounds, mechanism: Mechanism) -> Option<Choice> {
    let channel = model.channel(id);
    let response =
        |id: TaskId, task: &RealTime| bounds[id.index()].map_or(task.deadline, |bound| bound.response);
    let (from, task) = real_time(model, &channel.writer)?;
    // Activations count at their nominal instants: those of the writer come exactly every period, and a reader's job
    // lasts from its arrival.
    let writer =
        FlowWriter { period: task.arrival.period(), response: response(from, task), jitter: Duration::ZERO };
    let reader = |(party, delayed): (&PartyId, &bool)| {
        let (id, task) = real_time(model, party)?;
        let response = response(id, task);
        let period = task.arrival.period();
        Some(FlowReader { period, response, from_activation: response, above: *delayed })
    };
    let readers: Vec<FlowReader> =
        channel.readers.iter().zip(&channel.delayed).map(reader).collect::<Option<_>>()?;
    let verdict = match mechanism {
        Mechanism::Dbp => counts::dbp(cores(model, id, bounds, &writer, &readers), &writer, &readers),
        _ => counts::tccp(&writer, &readers),
    };
    let buffers = *verdict.ok()?.bound()?;
    if buffers > BUFFERS_MAX {
        return None;
    }
    let buffers = u32::try_from(buffers).ok()?;
    let bytes = mechanism.bytes(model.value_bytes(id)?, buffers, u32::try_from(readers.len()).ok()?)?;
    Some(Choice { mechanism, buffers, bytes })
}

/// `One` if every reader above the writer is done when the writer runs: then all active readers hold the same old
/// value. That is so if the tasks are on one core under fixed priorities, no task is suspended or released late,
/// and no reader above the writer lasts until the writer's next activation.
fn cores(
    model: &Model,
    id: ChannelId,
    bounds: &ResponseBounds,
    writer: &FlowWriter,
    readers: &[FlowReader],
) -> Cores {
    let channel = model.channel(id);
    let PartyId::Task(from) = channel.writer else { return Cores::Several };
    let prompt = |party: &PartyId| real_time(model, party).is_some_and(|(_, task)| task.delay().is_zero());
    let as_said = |(at, party): (usize, &PartyId)| {
        let PartyId::Task(to) = *party else { return false };
        // A reader above its writer: ask the same with the roles exchanged.
        let (below, above) = (
            FlowLink { channel: id, writer: from, reader: to },
            FlowLink { channel: id, writer: to, reader: from },
        );
        if channel.delayed[at] {
            waits::is_behind(model, bounds, &above) && readers[at].response <= writer.period
        } else {
            waits::is_behind(model, bounds, &below)
        }
    };
    let all = [channel.writer].iter().chain(&channel.readers).all(prompt)
        && channel.readers.iter().enumerate().all(as_said);
    if all { Cores::One } else { Cores::Several }
}

fn refused(channel: &Channel, pinned: Mechanism, fit: &[Choice]) -> Fault {
    let message = format!("{} does not fit the times of channel `{}`", pinned.paper_name(), channel.name);
    let place = KeyPath::value(format!("channels.{}.mechanism", channel.table()));
    let others =
        fit.iter().map(|choice| format!(" or \"{}\" ({} bytes)", choice.mechanism.word(), choice.bytes));
    Fault::error(codes::MECHANISM_MISFIT, message, place, format!("needs more than {BUFFERS_MAX} buffers"))
        .note("the writer reuses a buffer after as many of its jobs as there are buffers, and no reader may read it \
               then")
        .help(format!("write \"auto\"{}", others.collect::<String>()))
}

fn reason(
    model: &Model,
    id: ChannelId,
    bounds: &ResponseBounds,
    choice: &Choice,
    next: Option<&Choice>,
) -> String {
    let channel = model.channel(id);
    let pinned = channel.mechanism.is_some();
    let mut parts = Vec::new();
    if pinned {
        parts.push("pinned".to_owned());
    }
    parts.push("synchronous flow".to_owned());
    parts.push(format!("{} buffers, {} bytes", choice.buffers, choice.bytes));
    let mut delayed = Vec::new();
    for (party, is_delayed) in channel.readers.iter().zip(&channel.delayed) {
        let name = model.party_name(*party);
        if *is_delayed {
            delayed.push(format!("`{name}`"));
        } else if let (PartyId::Task(writer), PartyId::Task(reader)) = (channel.writer, *party) {
            let link = FlowLink { channel: id, writer, reader };
            let by = waits::needed(model, bounds, &link).rounded();
            parts.push(match waits::is_behind(model, bounds, &link) {
                true => format!("`{name}` runs behind its writer"),
                false => format!("`{name}` waits for it, {by} at most"),
            });
        }
    }
    if !delayed.is_empty() {
        parts.push(format!("a unit delay to {}", delayed.join(", ")));
    }
    if let Some(next) = next {
        let (verb, name) = (if pinned { "the other" } else { "next" }, next.mechanism.paper_name());
        parts.push(format!("{verb} {name} with {} bytes", next.bytes));
    }
    parts.join("; ")
}
