// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Chains: task, channel, task, …, task. Each channel leads from the task before it to the task after it.

use super::channels::is_real_time;
use super::faults::Faults;
use super::names::{Names, Want};
use crate::{
    Chain, ChainDraft, ChainStep, ChannelKind, Draft, Fault, KeyPath, OverflowPolicy, PartyId, codes,
};

pub(super) fn check(draft: &Draft, names: &Names<'_>, faults: &mut Faults<'_>) -> Vec<Option<Chain>> {
    let mut chains = Vec::with_capacity(draft.chains.len());
    for (at, chain) in draft.chains.iter().enumerate() {
        let steps = steps(draft, names, at, faults);
        chains.push(steps.map(|path| Chain {
            name: chain.name.clone(),
            path,
            max_latency: chain.max_latency,
            max_reaction: chain.max_reaction,
        }));
    }
    chains
}

fn broken(message: String, at: KeyPath, text: &str) -> Fault {
    Fault::error(codes::BROKEN_CHAIN, message, at, text)
}

fn steps(draft: &Draft, names: &Names<'_>, chain: usize, faults: &mut Faults<'_>) -> Option<Vec<ChainStep>> {
    let ChainDraft { name, path, .. } = &draft.chains[chain];
    let place = |step: usize| KeyPath::value(format!("chains.{chain}.path.{step}"));
    if path.is_empty() {
        let at = KeyPath::value(format!("chains.{chain}.path"));
        let message = format!("chain `{name}` has no step");
        faults.push(broken(message, at, "empty").help("name its tasks and the channels between them"));
        return None;
    }
    // One step too few or too many shifts all following steps; only the first one is reported.
    let mut shifted = false;
    let mut steps = Vec::with_capacity(path.len());
    for (i, step) in path.iter().enumerate() {
        let task_wanted = i.is_multiple_of(2);
        let known = names.party(step).is_some() || names.channel(step).is_some();
        steps.push(match (known, task_wanted) {
            (true, _) if shifted => None,
            (true, true) => task(draft, names, name, step, place(i), &mut shifted, faults),
            (true, false) => channel(names, name, step, place(i), &mut shifted, faults),
            (false, _) => {
                let want = if task_wanted != shifted { Want::Party } else { Want::Channel };
                names.dangling(want, step, place(i), faults);
                None
            }
        });
    }
    if path.len().is_multiple_of(2) && !shifted {
        let message = format!("chain `{name}` ends with a channel");
        let fault = broken(message, place(path.len() - 1), "the last step");
        faults.push(fault.help("end it with the task that reads the channel"));
    }
    let mut connected = true;
    for i in (1..path.len()).step_by(2) {
        let Some(ChainStep::Channel(id)) = steps[i] else { continue };
        let channel = &draft.channels[id.index()];
        if channel.is_timed() {
            connected = false;
            let message = format!("chain `{name}` goes through alarm `{}`", channel.table());
            let fault = broken(message, place(i), "an alarm")
                .note("its setter chooses when it is due, so nothing bounds the age of its value")
                .help("let the chain end before the alarm, and another one begin with its receiver");
            faults.push_resting_on(fault, &[&format!("channels.{}.kind", channel.table())]);
            continue;
        }
        if channel.kind == ChannelKind::Bulk && channel.overflow == OverflowPolicy::Recall {
            connected = false;
            let message = format!("chain `{name}` goes through bulk channel `{}`", channel.name);
            let overflow = format!("channels.{}.overflow", channel.name);
            let fault = broken(message, place(i), "its writer may take blocks back")
                .also(KeyPath::value(overflow.as_str()), "recalls what waits")
                .note("nothing bounds how long it takes until a block is not taken back")
                .help("write `overflow = \"reject\"`, for which the plan proves that every block arrives");
            faults.push_resting_on(fault, &[&overflow]);
            continue;
        }
        let ends = [(i - 1, "from", "write", "writer"), (i + 1, "to", "read", "reader")];
        for (end, key, verb, noun) in ends {
            let Some(Some(ChainStep::Task(_))) = steps.get(end) else { continue };
            let parties = if key == "from" { &channel.from } else { &channel.to };
            // An unresolved name may be a misspelling of this task.
            let resolved = !parties.is_empty() && parties.iter().all(|party| names.party(party).is_some());
            if resolved && !parties.contains(&path[end]) {
                connected = false;
                let (task, channel) = (&path[end], &path[i]);
                let message = format!("chain `{name}`: `{task}` does not {verb} channel `{channel}`");
                let of_channel = format!("channels.{}.{key}", draft.channels[id.index()].table());
                let help = format!("put the {noun} of `{channel}` here, or connect the channel to `{task}`");
                let fault = broken(message, place(end), "not connected")
                    .also(KeyPath::value(of_channel.as_str()), format!("its {noun}"))
                    .help(help);
                faults.push_resting_on(fault, &[&of_channel]);
            }
        }
    }
    let complete = connected && !path.len().is_multiple_of(2);
    complete.then(|| steps.into_iter().collect()).flatten()
}

fn task(
    draft: &Draft,
    names: &Names<'_>,
    chain: &str,
    step: &str,
    place: KeyPath,
    shifted: &mut bool,
    faults: &mut Faults<'_>,
) -> Option<ChainStep> {
    match names.party(step) {
        Some(party @ PartyId::Task(id)) => {
            if is_real_time(draft, party) {
                return Some(ChainStep::Task(id));
            }
            let message = format!("chain `{chain}`: task `{step}` is not real-time");
            faults.push(
                broken(message, place, "its response time has no bound")
                    .also(KeyPath::value(format!("tasks.{step}.class")), "best effort")
                    .help("let the chain start after it and end before it"),
            );
        }
        Some(PartyId::Client(_)) => {
            let message = format!("chain `{chain}`: `{step}` is a client");
            faults.push(
                broken(message, place, "its response time has no bound")
                    .also(KeyPath::key(format!("clients.{step}")), "a process of its own")
                    .help("let the chain start after it and end before it"),
            );
        }
        None => {
            *shifted = true;
            let message = format!("chain `{chain}`: `{step}` is a channel where a task belongs");
            faults.push(broken(message, place, "a channel").help("a path is task, channel, task, …, task"));
        }
    }
    None
}

fn channel(
    names: &Names<'_>,
    chain: &str,
    step: &str,
    place: KeyPath,
    shifted: &mut bool,
    faults: &mut Faults<'_>,
) -> Option<ChainStep> {
    if let Some(id) = names.channel(step) {
        return Some(ChainStep::Channel(id));
    }
    *shifted = true;
    let message = format!("chain `{chain}`: `{step}` is a task or client where a channel belongs");
    faults.push(
        broken(message, place, "not a channel")
            .help("put the channel between its two tasks: a path is task, channel, task, …, task"),
    );
    None
}
