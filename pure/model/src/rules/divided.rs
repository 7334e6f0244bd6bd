// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Divides channels with several writers into channels with one: each message into lanes, a queue for each sender, and each
//! state with several sources into states, one for each source. A request is a message whose receiver has a queue of replies
//! for each sender.
//!
//! All other rules, the plan and the runtime then know channels with one writer. Such a channel is called `message/sender`,
//! `state/source` or `request_reply/caller`, which no other channel can be called; its places in the manifest are
//! those of the message or the state.
//! Triggers and chains that name the whole name its parts afterwards.

use std::collections::{BTreeMap, HashSet};

use super::faults::Faults;
use super::messages::at;
use crate::{
    ArrivalDraft, ChannelDraft, ChannelKind, ClassDraft, Draft, Fault, Flow, MessageLane, OverflowPolicy,
    Reception, ReplyLane, StateSource, TaskDraft, codes,
};

/// The draft with lanes in place of messages, and sources in place of states that have several. A message without a sender
/// stays one channel, which the rules refuse.
pub(super) fn divide(mut draft: Draft) -> Draft {
    let mut writers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut channels = Vec::with_capacity(draft.channels.len());
    for channel in std::mem::take(&mut draft.channels) {
        if !is_divided(&channel) {
            channels.push(channel);
            continue;
        }
        let parts = channel.from.iter().enumerate();
        channels.extend(parts.clone().map(|(at, writer)| part(&draft.tasks, &channel, at, writer)));
        channels.extend(parts.filter_map(|(at, writer)| replies(&channel, at, writer)));
        writers.insert(channel.name, channel.from);
    }
    draft.channels = channels;
    if !writers.is_empty() {
        rename(&mut draft, &writers);
    }
    draft
}

/// Whether a channel is divided: a message with a sender, and a state with several sources.
fn is_divided(channel: &ChannelDraft) -> bool {
    let mut further = channel.from.iter().skip(1);
    let has_several = further.any(|writer| *writer != channel.from[0]);
    match &channel.lane {
        Some(_) => !channel.from.is_empty(),
        None => channel.kind == ChannelKind::State && has_several,
    }
}

/// The part of a channel that the writer at position `at` of its `from` writes.
fn part(tasks: &[TaskDraft], whole: &ChannelDraft, at: usize, writer: &str) -> ChannelDraft {
    let mut part = whole.clone();
    part.name = format!("{}/{writer}", whole.name);
    part.from = vec![writer.to_owned()];
    match &whole.lane {
        Some(lane) => {
            part.lane = Some(MessageLane { sender: at, ..lane.clone() });
            if whole.request {
                // Callers learn of replies by it; the receiver is real-time.
                part.reception = Reception::default();
            }
        }
        None => part.source = Some(StateSource { state: whole.name.clone(), place: at }),
    }
    let own = whole.sends_by_sender.iter().find(|(name, _)| name == writer);
    part.sends_per_release = own.map_or(whole.sends_per_release, |(_, sends)| *sends);
    if whole.lane.is_some() && drops_nothing(tasks, whole, writer) {
        part.overflow = OverflowPolicy::Reject;
    }
    part
}

/// Whether a sender's lane drops nothing though the message drops the oldest values: a real-time sender's lane is never full.
fn drops_nothing(tasks: &[TaskDraft], channel: &ChannelDraft, sender: &str) -> bool {
    let is_real_time =
        |task: &TaskDraft| task.name == *sender && matches!(task.class, ClassDraft::RealTime(_));
    channel.overflow == OverflowPolicy::DropOldest && !channel.is_timed() && tasks.iter().any(is_real_time)
}

/// The replies of a request to the caller at position `at`; `None` of a message, and of a request that states no payload for
/// them or has not one receiver, which rules refuse.
fn replies(whole: &ChannelDraft, at: usize, caller: &str) -> Option<ChannelDraft> {
    let payload = whole.reply.as_ref().filter(|_| whole.request && whole.to.len() == 1)?;
    Some(ChannelDraft {
        // No name in a manifest has a `_`.
        name: format!("{}_reply/{caller}", whole.name),
        from: whole.to.clone(),
        to: vec![caller.to_owned()],
        payload: payload.clone(),
        one_of: Vec::new(),
        reception: whole.reception,
        // A job answers what it takes.
        sends_per_release: whole.takes_per_release,
        takes_per_release: 1,
        record: whole.record,
        history: 0,
        capacity: None,
        overflow: OverflowPolicy::Reject,
        flow: Flow::Newest,
        delayed: Vec::new(),
        mechanism: None,
        order: None,
        order_by: None,
        sends_by_sender: Vec::new(),
        late: None,
        lane: None,
        request: false,
        reply: None,
        answers: Some(ReplyLane { request: whole.name.clone(), caller: at }),
        ..whole.clone()
    })
}

/// Lets triggers and chains name the parts of what they name. `writers` are those of each channel that was divided.
fn rename(draft: &mut Draft, writers: &BTreeMap<String, Vec<String>>) {
    for task in &mut draft.tasks {
        let ClassDraft::RealTime(task) = &mut task.class else { continue };
        let (ArrivalDraft::Sporadic { triggers, .. } | ArrivalDraft::Aperiodic { triggers }) =
            &mut task.arrival
        else {
            continue;
        };
        let parts = std::mem::take(triggers).into_iter().flat_map(|trigger| {
            let names: Vec<String> = match writers.get(&trigger.channel) {
                None => vec![trigger.channel.clone()],
                Some(all) => all.iter().map(|writer| format!("{}/{writer}", trigger.channel)).collect(),
            };
            names.into_iter().map(move |channel| crate::TriggerDraft { channel, key: trigger.key.clone() })
        });
        *triggers = parts.collect();
    }
    for chain in &mut draft.chains {
        for at in (1..chain.path.len()).step_by(2) {
            let Some(all) = writers.get(&chain.path[at]) else { continue };
            let before = &chain.path[at - 1];
            // Of another task the chain's own rule says that it does not write the channel.
            let writer = all.iter().find(|writer| *writer == before).unwrap_or(&all[0]);
            chain.path[at] = format!("{}/{writer}", chain.path[at]);
        }
    }
}

/// Refuses a writer that `from` of a divided channel names again.
pub(super) fn named_again(draft: &Draft, faults: &mut Faults<'_>) {
    let mut parts = HashSet::new();
    for channel in &draft.channels {
        let Some(place) = channel.place().filter(|_| !parts.insert(channel.name.as_str())) else { continue };
        let message = format!(
            "`{}` appears twice in `from` of {} `{}`",
            channel.from.join(", "),
            channel.noun(),
            channel.table()
        );
        let fault = Fault::error(codes::PARTY_TWICE, message, at(channel, &format!("from.{place}")), "again");
        faults.push(fault.help(if channel.lane.is_some() {
            "name each sender once"
        } else {
            "name each source once"
        }));
    }
}

/// The faults without those that parts of one channel repeat: one code at one place, with one text but for the part.
pub(super) fn once(draft: &Draft, faults: Vec<Fault>) -> Vec<Fault> {
    if draft.channels.iter().all(|channel| channel.place().is_none()) {
        return faults;
    }
    // The part's name in a text as that of the whole: what is quoted, up to its `/`.
    let of_whole = |text: &str| {
        let quoted = |(at, part): (usize, &str)| match part.split_once('/') {
            Some((whole, _)) if at % 2 == 1 => whole.to_owned(),
            _ => part.to_owned(),
        };
        text.split('`').enumerate().map(quoted).collect::<Vec<_>>()
    };
    let mut seen = HashSet::new();
    let mut is_first = |fault: &Fault| {
        seen.insert((fault.code, fault.primary.place.path().to_owned(), of_whole(&fault.message)))
    };
    faults.into_iter().filter(|fault| is_first(fault)).collect()
}
