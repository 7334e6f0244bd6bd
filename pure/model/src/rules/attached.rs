// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The rules of clients of which several processes may be attached at a time: they store nothing that another party reads, so
//! that none of them disturbs another, whatever it does and however it ends.

use super::channels::{Link, is_real_time, party_name};
use super::faults::Faults;
use super::messages::at;
use crate::{
    ATTACHED_MAX, ChannelDraft, ChannelKind, Draft, Fault, KeyPath, OverflowPolicy, PartyId, Reception, codes,
};

pub(super) fn check(draft: &Draft, links: &[Link], faults: &mut Faults<'_>) {
    for client in &draft.clients {
        range(&client.name, client.max_attached, faults);
    }
    // What holds of a request holds of its replies.
    let stated = draft.channels.iter().zip(links).filter(|(channel, _)| channel.answers.is_none());
    for (channel, link) in stated {
        if let Some(party) = link.writers.iter().copied().find(|party| is_several(draft, *party)) {
            refuse(draft, channel, party, writes(channel), faults);
        }
        let Some(party) = link.readers.iter().copied().find(|party| is_several(draft, *party)) else {
            continue;
        };
        if let Some(what) =
            waits(channel).or_else(|| takes(draft, channel, link)).or_else(|| reserves(channel))
        {
            refuse(draft, channel, party, what, faults);
        }
    }
}

fn is_several(draft: &Draft, party: PartyId) -> bool {
    matches!(party, PartyId::Client(id) if draft.clients[id.index()].max_attached > 1)
}

fn range(client: &str, max_attached: u16, faults: &mut Faults<'_>) {
    if (1..=ATTACHED_MAX).contains(&max_attached) {
        return;
    }
    let message = format!("`max-attached` of client `{client}` is {max_attached}");
    let place = KeyPath::value(format!("clients.{client}.max-attached"));
    let help = format!("use 1 to {ATTACHED_MAX}");
    faults.push(Fault::error(codes::OUT_OF_RANGE, message, place, "out of range").help(help));
}

/// What several processes cannot share: the key at fault, what it asks, why, and a way out.
type Unshared = (&'static str, &'static str, &'static str, &'static str);

fn writes(channel: &ChannelDraft) -> Unshared {
    let help = match channel.kind {
        ChannelKind::Queue if channel.lane.is_some() => "give each process that sends a client of its own",
        _ => "give the process that writes a client of its own",
    };
    (
        "from",
        "written by one process",
        "two processes that write one object would spoil each other's values",
        help,
    )
}

fn waits(channel: &ChannelDraft) -> Option<Unshared> {
    let note = "the sender would wake each process with each value, so its execution time would grow with their number";
    let help = "remove it: such a client looks each millisecond, and the sender does nothing for it";
    (channel.reception == Reception::Wait).then_some(("reception", "wakes each reader", note, help))
}

/// A queue that rejects values has one reader, which stores what it has taken; a broadcast has observers besides.
fn takes(draft: &Draft, channel: &ChannelDraft, link: &Link) -> Option<Unshared> {
    let leaves = link.writer.is_some_and(|writer| is_real_time(draft, writer));
    let is_taken = channel.kind == ChannelKind::Queue
        && channel.overflow == OverflowPolicy::Reject
        && !channel.broadcast
        && leaves;
    let note = "with `overflow = \"reject\"` one process takes each value; with the others each process gets every value";
    let help = "write `overflow = \"drop-oldest\"`, or make the channel a broadcast";
    is_taken.then_some(("to", "several processes", note, help))
}

/// The receiver of a bulk channel says in one word which block it reads.
fn reserves(channel: &ChannelDraft) -> Option<Unshared> {
    let note =
        "a client that receives blocks reserves the one that it reads, in one word for all its processes";
    let help = "give the process that reads the blocks a client of its own";
    (channel.kind == ChannelKind::Bulk).then_some(("to", "read by one process", note, help))
}

fn refuse(
    draft: &Draft,
    channel: &ChannelDraft,
    party: PartyId,
    (key, text, note, help): Unshared,
    faults: &mut Faults<'_>,
) {
    let (name, table) = (party_name(draft, party), channel.table());
    let message = format!("channel `{table}` cannot have several processes of client `{name}` at this end");
    let limit = KeyPath::value(format!("clients.{name}.max-attached"));
    let fault = Fault::error(codes::SEVERAL_PROCESSES, message, at(channel, key), text)
        .also(limit, "several processes")
        .note(note)
        .help(help);
    let rests_on =
        ["kind", "from", "to", "overflow", "reception"].map(|key| format!("channels.{table}.{key}"));
    faults.push_resting_on(fault, &rests_on.each_ref().map(String::as_str));
}
