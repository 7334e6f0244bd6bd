// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Counts the blocks of a bulk channel.

use taut_analysis::queue::{self, SendingTask, TakingTask, blocks};
use taut_model::{
    BLOCKS_MAX, BLOCKS_MIN, Channel, ChannelId, Fault, KeyPath, Model, OverflowPolicy, PartyId, codes,
};

use super::flow::{self, Realisation};
use crate::response::bounds::ResponseBounds;

/// Why the plan takes the mechanism: who the parties are, and what a writer does without a free block.
pub(crate) fn parties(model: &Model, channel: &Channel) -> String {
    if channel.readers.iter().any(|reader| matches!(reader, PartyId::Client(_))) {
        return "blocks to a client, which maps them read-only; a writer that finds none free takes the oldest back \
                that waits"
            .to_owned();
    }
    let reads = channel.readers.iter().any(|reader| model.is_real_time(*reader));
    let between = match (model.is_real_time(channel.writer), reads) {
        (true, true) => "blocks between real-time tasks",
        (true, false) => "blocks from a real-time task to a reader that is not",
        (false, _) => "blocks from a writer that is not real-time to a real-time reader",
    };
    let without = match channel.overflow {
        OverflowPolicy::Recall => "takes the oldest back that waits",
        _ => "gets none",
    };
    format!("{between}; a writer that finds none free {without}")
}

/// The number of blocks, and the latency if every block arrives and both ends are proven.
pub(crate) fn bound(
    model: &Model,
    id: ChannelId,
    bounds: &ResponseBounds,
    realisation: &mut Realisation,
    faults: &mut Vec<Fault>,
) {
    let channel = model.channel(id);
    let ends = flow::writer(model, channel, bounds).zip(flow::reader(model, id, bounds));
    let needed = ends.and_then(|((writer, _), (reader, _))| {
        let verdict = blocks::blocks(&writer, &reader).ok()?;
        verdict.bound().map(|needed| (*needed, writer, reader))
    });
    let is_needed = model.is_real_time(channel.writer) && channel.overflow == OverflowPolicy::Reject;
    let fits = needed.filter(|(needed, ..)| *needed <= BLOCKS_MAX.into());
    (realisation.capacity, realisation.capacity_reason) = match (channel.capacity, needed) {
        (Some(stated), Some((needed, writer, reader))) if u64::from(stated) < needed && is_needed => {
            faults.push(too_few(channel, stated, needed, counted(needed, &writer, &reader)));
            // Ask for the memory that is needed.
            (u32::try_from(needed).map_or(BLOCKS_MAX, |needed| needed.min(BLOCKS_MAX)), None)
        }
        (Some(stated), _) => (stated, None),
        (None, Some((needed, ..))) if is_needed && fits.is_none() => {
            faults.push(too_many(channel, needed));
            (BLOCKS_MAX, None)
        }
        (None, _) => match fits {
            Some((needed, writer, reader)) => {
                let capacity = u32::try_from(needed).unwrap_or(BLOCKS_MAX);
                (capacity.clamp(BLOCKS_MIN, BLOCKS_MAX), Some(counted(needed, &writer, &reader)))
            }
            None => three(channel),
        },
    };
    let loses_nothing = needed.is_some_and(|(needed, ..)| needed <= realisation.capacity.into());
    if let Some(((writer, true), (reader, true))) =
        ends.filter(|_| loses_nothing && model.is_real_time(channel.writer))
    {
        realisation.latency =
            queue::latency(&writer, &reader).ok().and_then(|verdict| verdict.bound().copied());
    }
}

/// The number of blocks where nothing bounds how many are away.
fn three(channel: &Channel) -> (u32, Option<String>) {
    let sends = channel.sends_per_release;
    let capacity = sends.saturating_add(2).min(BLOCKS_MAX);
    let reason = format!(
        "nothing bounds how many are away: one that the reader has, one that the writer fills, and {sends} that \
         wait"
    );
    (capacity, Some(reason))
}

fn counted(needed: u64, writer: &SendingTask, reader: &TakingTask) -> String {
    let (n, tw, rw) = (writer.sends, writer.period, writer.response.rounded());
    let (m, tr, rr) = (reader.takes, reader.period, reader.response.rounded());
    let (are, least) = match needed {
        0 | 1 => ("is", format!(", and a channel has {BLOCKS_MIN} at least")),
        _ => ("are", String::new()),
    };
    format!(
        "at most {needed} {are} away, filled, waiting or read: {n} sent per {tw} within {rw}, {m} taken per {tr} within \
         {rr}{least}"
    )
}

fn place(channel: &Channel) -> KeyPath {
    KeyPath::value(format!("channels.{}.capacity", channel.name))
}

/// The fault of a channel that states fewer blocks than can be away.
fn too_few(channel: &Channel, stated: u32, needed: u64, how: String) -> Fault {
    let message = format!("bulk channel `{}` can have no block when its writer asks for one", channel.name);
    let text = format!("{stated} blocks, {needed} can be away");
    let help = match needed <= BLOCKS_MAX.into() {
        true => format!("use `capacity = {needed}`, or \"auto\"; or `overflow = \"recall\"`"),
        false => format!(
            "it has {BLOCKS_MAX} at most: let its reader run more often, or write `overflow = \"recall\"`"
        ),
    };
    Fault::error(codes::BAD_CAPACITY, message, place(channel), text).note(how).help(help)
}

/// The fault of a channel that needs more blocks than it can have.
fn too_many(channel: &Channel, needed: u64) -> Fault {
    let message = format!("bulk channel `{}` would need {needed} blocks", channel.name);
    Fault::error(codes::BAD_CAPACITY, message, place(channel), format!("at most {BLOCKS_MAX}"))
        .help("let its reader run more often, or write `overflow = \"recall\"`")
}
