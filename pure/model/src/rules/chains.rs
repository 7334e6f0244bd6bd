// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Chains: task, channel, task, …, task, each channel from the task before it to the task after it.

use super::channels::is_real_time;
use super::names::{Names, Want};
use crate::{Chain, Draft, Fault, Party, Place, Step, codes};

pub(super) fn check(draft: &Draft, names: &Names<'_>, faults: &mut Vec<Fault>) -> Vec<Option<Chain>> {
    let mut chains = Vec::with_capacity(draft.chains.len());
    for (at, chain) in draft.chains.iter().enumerate() {
        let unread = draft.incomplete.contains(&format!("chains.{at}"));
        let steps = if unread { None } else { steps(draft, names, at, faults) };
        chains.push(steps.map(|path| Chain {
            name: chain.name.clone(),
            path,
            max_latency: chain.max_latency,
        }));
    }
    chains
}

fn steps(draft: &Draft, names: &Names<'_>, chain: usize, faults: &mut Vec<Fault>) -> Option<Vec<Step>> {
    let name = &draft.chains[chain].name;
    let path = &draft.chains[chain].path;
    let place = |step: usize| Place::value(format!("chains.{chain}.path.{step}"));
    let broken =
        |message: String, at: Place, text: &str| Fault::error(codes::BROKEN_CHAIN, message, at, text);
    if path.is_empty() {
        let at = Place::value(format!("chains.{chain}.path"));
        let message = format!("chain `{name}` has no step");
        faults.push(broken(message, at, "empty").help("name its tasks and the channels between them"));
        return None;
    }
    let before = faults.len();
    let mut steps = Vec::with_capacity(path.len());
    for (i, step) in path.iter().enumerate() {
        steps.push(if i % 2 == 0 {
            task(draft, names, name, step, place(i), faults)
        } else {
            channel(names, name, step, place(i), faults)
        });
    }
    if path.len().is_multiple_of(2) && faults.len() == before {
        let message = format!("chain `{name}` ends with a channel");
        let fault = broken(message, place(path.len() - 1), "the last step");
        faults.push(fault.help("end it with the task that reads the channel"));
    }
    for i in (1..path.len()).step_by(2) {
        let Some(Step::Channel(id)) = steps[i] else { continue };
        let channel = &draft.channels[id.index()];
        let ends = [(i.checked_sub(1), "from", "write", "writer"), (Some(i + 1), "to", "read", "reader")];
        for (end, key, verb, noun) in ends {
            let Some(end) = end.filter(|end| *end < path.len()) else { continue };
            let Some(Step::Task(_)) = steps[end] else { continue };
            // By name: who a faulty channel should connect is known all the same.
            let parties = if key == "from" { &channel.from } else { &channel.to };
            if !parties.is_empty() && !parties.contains(&path[end]) {
                let (task, channel) = (&path[end], &path[i]);
                let message = format!("chain `{name}`: `{task}` does not {verb} channel `{channel}`");
                faults.push(
                    broken(message, place(end), "not connected")
                        .also(Place::value(format!("channels.{channel}.{key}")), format!("its {noun}"))
                        .help(format!(
                            "put the {noun} of `{channel}` here, or connect the channel to `{task}`"
                        )),
                );
            }
        }
    }
    (faults.len() == before).then(|| steps.into_iter().collect()).flatten()
}

fn task(
    draft: &Draft,
    names: &Names<'_>,
    chain: &str,
    step: &str,
    place: Place,
    faults: &mut Vec<Fault>,
) -> Option<Step> {
    match names.party(step) {
        Some(party @ Party::Task(id)) => {
            if is_real_time(draft, party) {
                return Some(Step::Task(id));
            }
            let message = format!("chain `{chain}`: task `{step}` is not real-time");
            faults.push(
                Fault::error(codes::BROKEN_CHAIN, message, place, "its response time has no bound")
                    .also(Place::value(format!("tasks.{step}.class")), "best effort")
                    .help("let the chain start after it and end before it"),
            );
        }
        Some(Party::Client(_)) => {
            let message = format!("chain `{chain}`: `{step}` is a client");
            faults.push(
                Fault::error(codes::BROKEN_CHAIN, message, place, "its response time has no bound")
                    .also(Place::key(format!("clients.{step}")), "a process of its own")
                    .help("let the chain start after it and end before it"),
            );
        }
        None if names.channel(step).is_some() => {
            let message = format!("chain `{chain}`: `{step}` is a channel where a task belongs");
            faults.push(
                Fault::error(codes::BROKEN_CHAIN, message, place, "a channel")
                    .help("a path is task, channel, task, …, task"),
            );
        }
        None => faults.extend(names.dangling(Want::Party, step, place)),
    }
    None
}

fn channel(
    names: &Names<'_>,
    chain: &str,
    step: &str,
    place: Place,
    faults: &mut Vec<Fault>,
) -> Option<Step> {
    if let Some(id) = names.channel(step) {
        return Some(Step::Channel(id));
    }
    if names.party(step).is_some() {
        let message = format!("chain `{chain}`: `{step}` is a task or client where a channel belongs");
        faults.push(
            Fault::error(codes::BROKEN_CHAIN, message, place, "not a channel")
                .help("put the channel between its two tasks: a path is task, channel, task, …, task"),
        );
    } else {
        faults.extend(names.dangling(Want::Channel, step, place));
    }
    None
}
