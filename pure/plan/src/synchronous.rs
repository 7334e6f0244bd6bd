// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A state with a synchronous flow: DBP or TCCP, in how many buffers.
//!
//! Of the two the one is taken whose object is smaller. DBP needs no times, TCCP counts with response times that are
//! proven, or, in a plan that is not proven and therefore not run, with deadlines. If times are not kept all the same,
//! nobody reads another value: whoever would take a buffer that is still read waits for it.

use taut_analysis::wait_free::flow::{self as counts, Cores, Reader, Writer};
use taut_model::{
    Channel, ChannelId, Class, Fault, Link, Mechanism, Model, Party, Place, RealTime, TaskId, codes,
};
use taut_time::Duration;

use crate::ChannelPlan;
use crate::flow::Promises;
use crate::waits;

/// The most buffers of TCCP, as of all objects whose readers are safe by time; DBP has 64 by itself.
const BUFFERS_MAX: u64 = 256;

/// A mechanism with its buffers.
pub(crate) struct Choice {
    pub(crate) mechanism: Mechanism,
    pub(crate) buffers: u32,
    bytes: u64,
}

/// Chooses between the two; the pinned one if there is one and it fits.
pub(crate) fn choose(
    model: &Model,
    id: ChannelId,
    promises: &Promises,
    faults: &mut Vec<Fault>,
) -> Option<(Choice, String)> {
    let channel = model.channel(id);
    let mut fit: Vec<Choice> = [Mechanism::Dbp, Mechanism::Tccp]
        .into_iter()
        .filter_map(|mechanism| candidate(model, id, promises, mechanism))
        .collect();
    // Stable: of equals DBP, which rests on nothing.
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
    let reason = reason(model, id, promises, &choice, fit.first());
    Some((choice, reason))
}

fn real_time<'m>(model: &'m Model, party: &Party) -> Option<(TaskId, &'m RealTime)> {
    let Party::Task(id) = *party else { return None };
    match &model.task(id).class {
        Class::RealTime(task) => Some((id, task)),
        Class::BestEffort(_) => None,
    }
}

fn candidate(model: &Model, id: ChannelId, promises: &Promises, mechanism: Mechanism) -> Option<Choice> {
    let channel = model.channel(id);
    let response =
        |id: TaskId, task: &RealTime| promises[id.index()].map_or(task.deadline, |promise| promise.response);
    let (from, task) = real_time(model, &channel.writer)?;
    // Activations count by their nominal instants: the writer's come exactly every period, and a reader's job lasts from
    // its arrival.
    let writer =
        Writer { period: task.arrival.period(), response: response(from, task), jitter: Duration::ZERO };
    let reader = |(party, delayed): (&Party, &bool)| {
        let (id, task) = real_time(model, party)?;
        let response = response(id, task);
        let period = task.arrival.period();
        Some(Reader { period, response, from_activation: response, above: *delayed })
    };
    let readers: Vec<Reader> =
        channel.readers.iter().zip(&channel.delayed).map(reader).collect::<Option<_>>()?;
    let verdict = match mechanism {
        Mechanism::Dbp => counts::dbp(cores(model, id, promises, &writer, &readers), &writer, &readers),
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

/// One, if all readers above the writer are done when it runs: then all that are active hold the same old value. They
/// are on its core by fixed priorities, nobody is suspended or released late, and none lasts until the writer's next
/// activation.
fn cores(model: &Model, id: ChannelId, promises: &Promises, writer: &Writer, readers: &[Reader]) -> Cores {
    let channel = model.channel(id);
    let Party::Task(from) = channel.writer else { return Cores::Several };
    let prompt = |party: &Party| real_time(model, party).is_some_and(|(_, task)| task.delay().is_zero());
    let as_said = |(at, party): (usize, &Party)| {
        let Party::Task(to) = *party else { return false };
        // A reader above its writer is one below it the other way round.
        let (below, above) =
            (Link { channel: id, writer: from, reader: to }, Link { channel: id, writer: to, reader: from });
        if channel.delayed[at] {
            waits::is_behind(model, promises, &above) && readers[at].response <= writer.period
        } else {
            waits::is_behind(model, promises, &below)
        }
    };
    let all = [channel.writer].iter().chain(&channel.readers).all(prompt)
        && channel.readers.iter().enumerate().all(as_said);
    if all { Cores::One } else { Cores::Several }
}

fn refused(channel: &Channel, pinned: Mechanism, fit: &[Choice]) -> Fault {
    let message = format!("{} does not fit the times of channel `{}`", pinned.paper_name(), channel.name);
    let place = Place::value(format!("channels.{}.mechanism", channel.name));
    let others =
        fit.iter().map(|choice| format!(" or \"{}\" ({} bytes)", choice.mechanism.word(), choice.bytes));
    Fault::error(codes::MECHANISM_MISFIT, message, place, format!("needs more than {BUFFERS_MAX} buffers"))
        .note("a buffer comes back to the writer after as many of its jobs as there are buffers, and may not be read then")
        .help(format!("write \"auto\"{}", others.collect::<String>()))
}

fn reason(
    model: &Model,
    id: ChannelId,
    promises: &Promises,
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
        } else if let (Party::Task(writer), Party::Task(reader)) = (channel.writer, *party) {
            let link = Link { channel: id, writer, reader };
            let by = waits::needed(model, promises, &link).rounded();
            parts.push(match waits::is_behind(model, promises, &link) {
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

impl ChannelPlan {
    /// Which reader of a synchronous flow a task is, from 0: those without a delay first, each kind in the manifest's
    /// order; `None` if it is none.
    pub fn flow_reader(&self, name: &str) -> Option<u32> {
        let of = |delayed: bool| self.readers.iter().filter(move |reader| reader.delayed == delayed);
        let at = of(false).chain(of(true)).position(|reader| reader.name == name)?;
        u32::try_from(at).ok()
    }

    /// How many readers of a synchronous flow read without a delay, and how many with one.
    pub fn flow_readers(&self) -> (u32, u32) {
        let count = |delayed: bool| self.readers.iter().filter(|reader| reader.delayed == delayed).count();
        let [direct, delayed] =
            [false, true].map(|delayed| u32::try_from(count(delayed)).unwrap_or(u32::MAX));
        (direct, delayed)
    }
}
