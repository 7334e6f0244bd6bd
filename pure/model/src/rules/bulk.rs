// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The rules of bulk channels that queues do not have: a client fills no blocks, their capacity is a number of blocks, and a ring of
//! recorded values takes what one release sends.

use super::channels::{Link, party_name};
use super::faults::Faults;
use crate::{
    BLOCKS_MAX, BLOCKS_MIN, ChannelDraft, ChannelKind, Draft, Fault, KeyPath, OverflowPolicy, PartyId,
    VALUE_RECORDS_OF_JOB, VALUE_RING_BYTES_MAX, VALUE_SLOT_BYTES, codes, value_slots,
};

fn at(channel: &ChannelDraft, key: &str) -> KeyPath {
    KeyPath::value(format!("channels.{}.{key}", channel.table()))
}

/// Checks that no client fills blocks, and that the writer can take them back from a client; returns whether both hold.
pub(super) fn parties(draft: &Draft, channel: &ChannelDraft, link: &Link, faults: &mut Faults<'_>) -> bool {
    if channel.kind != ChannelKind::Bulk {
        return true;
    }
    let is_client = |party: &&PartyId| matches!(party, PartyId::Client(_));
    let kind = format!("channels.{}.kind", channel.table());
    let mut sound = true;
    for party in link.writers.iter().filter(is_client) {
        let message =
            format!("client `{}` cannot fill blocks of `{}`", party_name(draft, *party), channel.name);
        let fault = Fault::error(codes::BAD_BULK, message, at(channel, "from"), "another process")
            .note("a task reads a block where it lies, which no other process must write meanwhile")
            .help("let the client send a queue, whose values are copied; a client may receive blocks");
        faults.push_resting_on(fault, &[&kind]);
        sound = false;
    }
    if channel.overflow == OverflowPolicy::Reject
        && let Some(party) = link.readers.iter().find(is_client)
    {
        let name = party_name(draft, *party);
        let message =
            format!("bulk channel `{}` rejects, and client `{name}` can keep its blocks", channel.name);
        let fault = Fault::error(codes::BAD_OVERFLOW, message, at(channel, "to"), "another process")
            .note("nothing bounds when another process gives a block back, so its writer takes back what it needs")
            .help("write `overflow = \"recall\"`");
        faults.push_resting_on(fault, &[&kind, &format!("channels.{}.overflow", channel.table())]);
        sound = false;
    }
    sound
}

/// Checks that a ring of recorded values takes what one release of a recorded channel's writer sends to all its recorded
/// channels.
pub(super) fn recorded(draft: &Draft, links: &[Link], faults: &mut Faults<'_>) {
    let all = || draft.channels.iter().zip(links).filter(|(channel, _)| channel.record);
    for (channel, link) in all().filter(|(channel, _)| channel.kind == ChannelKind::Bulk) {
        let Some(writer) = link.writer else { continue };
        let of_release = all()
            .filter(|(_, other)| other.writer == Some(writer))
            .map(|(channel, link)| slots(draft, channel, link).unwrap_or(0))
            .fold(VALUE_RECORDS_OF_JOB, u64::saturating_add);
        let bytes = of_release.saturating_mul(VALUE_SLOT_BYTES);
        if bytes <= VALUE_RING_BYTES_MAX {
            continue;
        }
        let writer = party_name(draft, writer);
        let message = format!("no ring of recorded values takes what a release of `{writer}` sends");
        let text = format!("{bytes} bytes in a ring, which has {VALUE_RING_BYTES_MAX} at most");
        let payload = format!("payloads.{}", channel.payload);
        let fault = Fault::error(codes::BLOCKS_NOT_RECORDED, message, at(channel, "record"), text)
            .also(KeyPath::key(payload.clone()), "its block lies there as a whole")
            .note("what does not fit is lost, and a run with losses is not replayed")
            .help("remove it, and record what the reader finds; or send smaller blocks, or fewer at once");
        faults
            .push_resting_on(fault, &[&payload, &format!("channels.{}.sends-per-release", channel.table())]);
    }
}

/// The slots of a ring that the values take which one release sends to a channel; `None` if they have no size.
fn slots(draft: &Draft, channel: &ChannelDraft, link: &Link) -> Option<u64> {
    let of_value = value_slots(draft.payloads.get(link.payload?)?.size()?);
    // Each loan of a block has a record of its own; so has what is asked of an alarm, its period, and what is cancelled.
    let beside = match channel.kind {
        ChannelKind::Bulk => 1,
        _ if channel.is_timed() => 3,
        _ => 0,
    };
    of_value.checked_add(beside)?.checked_mul(channel.sends_per_release.into())
}

/// Checks the number of blocks.
pub(super) fn capacity(channel: &ChannelDraft, capacity: i64, faults: &mut Faults<'_>) {
    let name = &channel.name;
    let fault = |message: String, text: String| {
        Fault::error(codes::BAD_CAPACITY, message, at(channel, "capacity"), text)
            .help("write \"auto\": the analysis counts the blocks")
    };
    let burst = i64::from(channel.sends_per_release);
    if !(i64::from(BLOCKS_MIN)..=i64::from(BLOCKS_MAX)).contains(&capacity) {
        let message = format!("bulk channel `{name}` has {capacity} blocks");
        let fault = fault(message, format!("not in {BLOCKS_MIN} to {BLOCKS_MAX}"));
        let fault = if (0..i64::from(BLOCKS_MIN)).contains(&capacity) {
            fault.note("the writer fills one while the reader has another")
        } else {
            fault
        };
        faults.push(fault);
    } else if capacity <= burst {
        let message =
            format!("bulk channel `{name}` cannot hold the blocks that one release of its writer sends");
        let fault = fault(message, format!("{capacity} blocks, of which its reader may have one"));
        faults.push(fault.also(at(channel, "sends-per-release"), format!("{burst} at once")));
    }
}

/// Checks the overflow policy of a bulk channel; returns false if it does not fit.
pub(super) fn overflow(channel: &ChannelDraft, faults: &mut Faults<'_>) -> bool {
    if matches!(channel.overflow, OverflowPolicy::Reject | OverflowPolicy::Recall) {
        return true;
    }
    let message = format!("bulk channel `{}` cannot drop waiting values", channel.name);
    let text = "its writer takes one block back at a time";
    let fault = Fault::error(codes::BAD_OVERFLOW, message, at(channel, "overflow"), text)
        .help("write \"recall\": the writer takes the oldest block back; or, to a task, \"reject\"");
    faults.push_resting_on(fault, &[&format!("channels.{}.kind", channel.table())]);
    false
}

/// Whether it is a bulk channel whose writer takes blocks back, so that its reader need not keep up.
pub(super) fn may_lose(channel: &ChannelDraft) -> bool {
    channel.kind == ChannelKind::Bulk && channel.overflow != OverflowPolicy::Reject
}

/// Refuses `recall` on another channel.
pub(super) fn recalls(channel: &ChannelDraft, faults: &mut Faults<'_>) {
    let noun = channel.noun();
    let message = format!("{noun} `{}` cannot recall values", channel.table());
    let fault = Fault::error(codes::BAD_OVERFLOW, message, at(channel, "overflow"), "its values are copied")
        .help("write `kind = \"bulk\"`, whose blocks can be taken back; or remove it");
    faults.push_resting_on(fault, &[&format!("channels.{}.kind", channel.table())]);
}
