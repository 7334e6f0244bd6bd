// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Receivers and the channels that release them.

use super::channels::Link;
use super::faults::Faults;
use super::names::{Names, Want};
use crate::{
    ArrivalDraft, ChannelDraft, ChannelKind, ClassDraft, Draft, Fault, KeyPath, PartyId, TaskId, codes,
};

pub(super) fn check(draft: &Draft, names: &Names<'_>, links: &[Link], faults: &mut Faults<'_>) {
    // The task that releases each task; there is at most one.
    let mut released_by = vec![None; draft.tasks.len()];
    for (id, task) in (0..u16::MAX).map(TaskId).zip(&draft.tasks) {
        let ClassDraft::RealTime(real_time) = &task.class else { continue };
        let ArrivalDraft::Sporadic { trigger, .. } = &real_time.arrival else { continue };
        let place = KeyPath::value(format!("tasks.{}.arrival.trigger", task.name));
        let Some(channel) = names.channel(trigger) else {
            names.dangling(Want::Queue, trigger, place, faults);
            continue;
        };
        let (channel, link) = (&draft.channels[channel.index()], &links[channel.index()]);
        let message = format!("task `{}` cannot be released by channel `{trigger}`", task.name);
        if channel.kind != ChannelKind::Queue {
            let kind = KeyPath::value(format!("channels.{trigger}.kind"));
            faults.push(
                Fault::error(codes::BAD_TRIGGER, message, place, "a state releases no task")
                    .also(kind, "only a queue releases its reader")
                    .help("make the channel a queue, or the task periodic"),
            );
        } else if !link.readers.contains(&PartyId::Task(id)) {
            if link.readers.len() == channel.to.len() && !channel.to.is_empty() {
                faults.push(
                    Fault::error(codes::BAD_TRIGGER, message, place, "the task does not read it")
                        .also(KeyPath::value(format!("channels.{trigger}.to")), "its reader")
                        .help(format!("make the task its reader: `to = \"{}\"`", task.name)),
                );
            }
        } else {
            takes(&task.name, channel, place, faults);
            if let (true, Some(PartyId::Task(writer))) = (link.sound, link.writer) {
                released_by[id.index()] = Some(writer);
            }
        }
    }
    circles(draft, &released_by, faults);
}

/// A receiver's job handles the one value that released it.
fn takes(task: &str, channel: &ChannelDraft, trigger: KeyPath, faults: &mut Faults<'_>) {
    let takes = channel.takes_per_release;
    // `takes-per-release = 0` is reported with the channel.
    if takes > 1 {
        let message = format!("task `{task}` is released by each value, so it takes one, not {takes}");
        let place = KeyPath::value(format!("channels.{}.takes-per-release", channel.name));
        faults.push(
            Fault::error(codes::RECEIVER_TAKES, message, place, "not one")
                .also(trigger, "each value releases a job")
                .help("remove it, or make the task periodic"),
        );
    }
}

/// Reports every cycle once, at its first task. Linear: each task is visited once.
fn circles(draft: &Draft, released_by: &[Option<TaskId>], faults: &mut Faults<'_>) {
    let mut walk_of = vec![usize::MAX; released_by.len()];
    for start in 0..released_by.len() {
        let mut path = Vec::new();
        let mut at = Some(start);
        while let Some(task) = at {
            if walk_of[task] != usize::MAX {
                if walk_of[task] == start
                    && let Some(first) = path.iter().position(|t| *t == task)
                {
                    faults.push(circle(draft, &path[first..]));
                }
                break;
            }
            walk_of[task] = start;
            path.push(task);
            at = released_by[task].map(TaskId::index);
        }
    }
}

fn circle(draft: &Draft, backwards: &[usize]) -> Fault {
    let mut tasks = backwards.to_vec();
    tasks.reverse();
    // Start with the first task in the manifest.
    if let Some(first) = tasks.iter().enumerate().min_by_key(|(_, task)| **task).map(|(at, _)| at) {
        tasks.rotate_left(first);
    }
    let name = |task: usize| draft.tasks[task].name.as_str();
    let trigger = |task: usize| KeyPath::value(format!("tasks.{}.arrival.trigger", name(task)));
    let shown = tasks.iter().chain(tasks.first()).map(|t| format!("`{}`", name(*t)));
    let shown = shown.collect::<Vec<_>>().join(" -> ");
    let text = |task: usize, by: usize| format!("`{}` waits for `{}`", name(task), name(by));
    let last = tasks[tasks.len() - 1];
    let mut fault = Fault::error(
        codes::TRIGGER_CYCLE,
        "tasks release each other in a circle",
        trigger(tasks[0]),
        text(tasks[0], last),
    );
    for pair in tasks.windows(2) {
        fault = fault.also(trigger(pair[1]), text(pair[1], pair[0]));
    }
    fault.note(format!("{shown}: none of them would ever start")).help("make one of them periodic")
}
