// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The rules of states with several sources that other states do not have.

use super::faults::Faults;
use super::messages::{self, at};
use crate::{ChannelDraft, Draft, Fault, Flow, KeyPath, codes};

pub(super) fn check(draft: &Draft, faults: &mut Faults<'_>) {
    for channel in draft.channels.iter().filter(|channel| channel.source.is_some() && channel.is_first()) {
        let parts = draft.channels.iter().filter(|other| other.table() == channel.table());
        let writers: Vec<&str> = parts.flat_map(|other| other.from.iter()).map(String::as_str).collect();
        messages::sends(channel, &writers, faults);
        synchronous(channel, writers.len(), faults);
    }
    reactions(draft, faults);
}

/// A synchronous flow has one writer: its instants decide which of its values a job reads.
fn synchronous(channel: &ChannelDraft, writers: usize, faults: &mut Faults<'_>) {
    if channel.flow != Flow::Synchronous {
        return;
    }
    let name = channel.table();
    let message = format!("state `{name}` has a synchronous flow and {writers} sources");
    let fault = Fault::error(codes::BAD_SOURCES, message, at(channel, "flow"), "the flow of one writer")
        .also(at(channel, "from"), format!("{writers} sources"))
        .note("readers of several sources get the value that was written last, by the clock")
        .help("give each source a state of its own, or write `flow = \"newest\"`");
    faults.push_resting_on(fault, &[&format!("channels.{name}.from"), &format!("channels.{name}.kind")]);
}

/// A chain's reaction is not bounded through such a state: the value of a source has no effect if another source's is newer.
fn reactions(draft: &Draft, faults: &mut Faults<'_>) {
    for (at_chain, chain) in draft.chains.iter().enumerate().filter(|(_, chain)| chain.max_reaction.is_some())
    {
        let through = |(_, step): &(usize, &String)| {
            draft.channels.iter().any(|channel| channel.name == **step && channel.source.is_some())
        };
        let Some((step, name)) = chain.path.iter().enumerate().find(through) else { continue };
        let state = name.split_once('/').map_or(name.as_str(), |(state, _)| state);
        let message = format!("the reaction of chain `{}` goes through state `{state}`", chain.name);
        let place = KeyPath::value(format!("chains.{at_chain}.max-reaction"));
        let fault = Fault::error(codes::BAD_SOURCES, message, place, "has no bound")
            .also(KeyPath::value(format!("chains.{at_chain}.path.{step}")), "several sources")
            .note("a value has no effect if another source has written a newer one before a reader looks")
            .help("remove `max-reaction`: `max-latency` bounds the age of the values that are read");
        faults
            .push_resting_on(fault, &[&format!("channels.{state}.from"), &format!("channels.{state}.kind")]);
    }
}
