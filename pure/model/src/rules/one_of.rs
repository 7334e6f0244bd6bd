// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Messages that carry several payloads: each value is one of them.
//!
//! Such a message gets a payload of its own, of which all other rules, the plan and the runtime then know the size and the
//! layout. Its name, `message/payload`, is one that no payload of a manifest can have.

use std::collections::HashSet;

use super::faults::Faults;
use super::names::{Names, Want};
use crate::{ChannelDraft, Draft, Fault, KeyPath, PAYLOAD_BYTES_MAX, Payload, codes};

/// Makes the payload of each channel that names several, of those that are defined.
pub(super) fn join(draft: &mut Draft) {
    let mut joined = Vec::new();
    for channel in draft.channels.iter_mut().filter(|channel| channel.one_of.len() > 1) {
        channel.payload = format!("{}/payload", channel.name);
        let defined = |name: &String| draft.payloads.iter().find(|payload| payload.name == *name).cloned();
        let one_of: Vec<_> = channel.one_of.iter().filter_map(defined).collect();
        if !one_of.is_empty() {
            joined.push(Payload { one_of, ..Payload::new(channel.payload.clone(), Vec::new()) });
        }
    }
    draft.payloads.append(&mut joined);
}

/// Whether a payload was made by [`join`], and is not the manifest's.
pub(super) fn is_joined(payload: &Payload) -> bool {
    !payload.one_of.is_empty()
}

/// The rules of a channel that names several payloads.
pub(super) fn check(channel: &ChannelDraft, names: &Names<'_>, faults: &mut Faults<'_>) {
    let name = channel.table();
    let path = format!("channels.{name}.payload");
    let mut seen = HashSet::new();
    for (at, payload) in channel.one_of.iter().enumerate() {
        let place = KeyPath::value(format!("{path}.{at}"));
        if names.payload(payload).is_none() {
            names.dangling(Want::Payload, payload, place, faults);
        } else if !seen.insert(payload) {
            let message = format!("{} `{name}` names payload `{payload}` twice", channel.noun());
            let fault = Fault::error(codes::SEVERAL_PAYLOADS, message, place, "again");
            faults.push(fault.help("name each payload once"));
        }
    }
    if channel.lane.is_some() && !channel.is_timed() && !channel.request {
        return;
    }
    let message = format!("{} `{name}` names {} payloads", channel.noun(), channel.one_of.len());
    let fault = Fault::error(codes::SEVERAL_PAYLOADS, message, KeyPath::value(path), "several");
    let fault = match channel.is_timed() {
        true => fault
            .note("an alarm carries one type of value")
            .help("give the payload a field that says what the alarm is about"),
        false if channel.request => fault
            .note("each request is answered by one type of reply")
            .help("make a request of each payload, or give the payload a field that says what is asked"),
        false => fault
            .note("only the values of a message may be of several payloads")
            .help("write `kind = \"message\"`, or give each payload a channel of its own"),
    };
    faults.push_resting_on(fault, &[&format!("channels.{name}.kind")]);
}

/// Checks that a value of several payloads is not too large, whose number comes on top of the largest.
pub(super) fn size(draft: &Draft, payload: &Payload, faults: &mut Faults<'_>) {
    let is_larger = |bytes: Option<u32>| bytes.is_none_or(|bytes| bytes > PAYLOAD_BYTES_MAX);
    // A payload that is too large by itself has a fault of its own.
    if !is_larger(payload.size()) || payload.one_of.iter().any(|one| is_larger(one.size())) {
        return;
    }
    for channel in draft.channels.iter().filter(|channel| channel.payload == payload.name) {
        let name = channel.table();
        let message = format!("a value of {} `{name}` is too large", channel.noun());
        let label = format!("with a number in front more than {PAYLOAD_BYTES_MAX} bytes");
        let place = KeyPath::value(format!("channels.{name}.payload"));
        let fault = Fault::error(codes::BAD_LAYOUT, message, place, label).help("send it in pieces");
        let parts = channel.one_of.iter().map(|one| format!("payloads.{one}")).collect::<Vec<_>>();
        faults.push_resting_on(fault, &parts.iter().map(String::as_str).collect::<Vec<_>>());
    }
}
