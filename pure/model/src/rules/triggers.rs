// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Receivers and the channels that release them.

use super::channels::Link;
use super::faults::Faults;
use super::names::{Names, Want};
use crate::{
    ArrivalDraft, ChannelDraft, ChannelKind, ClassDraft, Draft, Fault, KeyPath, PartyId, RealTimeDraft,
    TaskDraft, TaskId, TriggerDraft, codes,
};

/// The most channels that release one task: its thread waits for all of them at once, with one system call.
const TRIGGERS_MAX: usize = 100;

pub(super) fn check(draft: &Draft, names: &Names<'_>, links: &[Link], faults: &mut Faults<'_>) {
    // By task: the tasks that release it, if no other party does.
    let mut released_by: Vec<Vec<TaskId>> = vec![Vec::new(); draft.tasks.len()];
    for (id, task) in (0..u16::MAX).map(TaskId).zip(&draft.tasks) {
        let ClassDraft::RealTime(real_time) = &task.class else { continue };
        let triggers = real_time.arrival.triggers();
        let device = match &real_time.arrival {
            ArrivalDraft::Periodic { .. } | ArrivalDraft::Clocked(_) => continue,
            ArrivalDraft::Sporadic { device, .. } => device.as_ref(),
            ArrivalDraft::Aperiodic { .. } => None,
        };
        count(&task.name, (triggers, device.is_some()), faults);
        if let Some(device) = device {
            released_by_device(draft, (id, &task.name), device, faults);
        }
        let writers = triggers.iter().enumerate().map(|(at, trigger)| {
            let place = place(&task.name, trigger);
            let again = triggers[..at].iter().any(|before| before.channel == trigger.channel);
            if again && !trigger.channel.is_empty() {
                let message = format!("task `{}` names trigger `{}` twice", task.name, trigger.channel);
                let fault = Fault::error(codes::BAD_TRIGGER, message, place, "again");
                faults.push(fault.help("name each channel once"));
                return None;
            }
            let only = triggers.len() == 1 && device.is_none();
            writer((id, &task.name, only), (&trigger.channel, place), (draft, names, links), faults)
        });
        let writers: Vec<Option<TaskId>> = writers.collect();
        // A device lets the task start, whoever else releases it.
        let writers = writers.into_iter().collect::<Option<_>>().filter(|_| device.is_none());
        released_by[id.index()] = writers.unwrap_or_default();
    }
    circles(draft, &never_starting(&released_by), faults);
}

fn place(task: &str, trigger: &TriggerDraft) -> KeyPath {
    KeyPath::value(format!("tasks.{task}.arrival.{}", trigger.key))
}

/// Checks the device of a task: it releases no other.
fn released_by_device(draft: &Draft, (id, task): (TaskId, &str), device: &str, faults: &mut Faults<'_>) {
    let key = format!("tasks.{task}.arrival.device");
    let at = || KeyPath::value(key.as_str());
    if faults.wrong(&key) {
        return;
    }
    if !taut_policy::is_name(device) {
        let message = format!("`{device}` is not the name of a device");
        let fault =
            Fault::error(codes::BAD_NAME, message, at(), "a letter, then letters, digits, `-` or `_`");
        faults.push(fault.help("choose a name; the application gives the device by it"));
        return;
    }
    let of = |other: &TaskDraft| match &other.class {
        ClassDraft::RealTime(RealTimeDraft { arrival: ArrivalDraft::Sporadic { device, .. }, .. }) => {
            device.clone()
        }
        _ => None,
    };
    let before = draft.tasks[..id.index()].iter().find(|other| of(other).as_deref() == Some(device));
    if let Some(other) = before {
        let message = format!("device `{device}` releases two tasks, `{}` and `{task}`", other.name);
        faults.push(
            Fault::error(codes::BAD_TRIGGER, message, at(), "again")
                .also(KeyPath::value(format!("tasks.{}.arrival.device", other.name)), "here first")
                .help("let one task read it, and send what it reads to the other"),
        );
    }
}

/// Checks that a receiver states its triggers by one key, at least one unless a device releases it, and not too many.
fn count(task: &str, (triggers, by_device): (&[TriggerDraft], bool), faults: &mut Faults<'_>) {
    let arrival = format!("tasks.{task}.arrival");
    let is_one = |trigger: &TriggerDraft| trigger.key == "trigger";
    let is_of_many = |trigger: &TriggerDraft| !is_one(trigger);
    if triggers.is_empty() && by_device {
        return;
    }
    if triggers.is_empty() {
        let message = format!("nothing releases task `{task}`");
        let fault = Fault::error(codes::BAD_TRIGGER, message, KeyPath::value(arrival.as_str()), "no trigger")
            .help(
                "name the queue whose values release it: `trigger = \"…\"`, or several: `triggers = […]`, or a \
                 device: `device = \"…\"`",
            );
        faults.push_resting_on(fault, &[&format!("{arrival}.trigger"), &format!("{arrival}.triggers")]);
    } else if triggers.iter().any(is_one) && triggers.iter().any(is_of_many) {
        let message = format!("task `{task}` has `trigger` and `triggers`");
        let place = KeyPath::value(format!("{arrival}.trigger"));
        faults.push(
            Fault::error(codes::BAD_TRIGGER, message, place, "one channel")
                .also(KeyPath::value(format!("{arrival}.triggers")), "a list of them")
                .help("put all of them into `triggers`"),
        );
    } else if triggers.len() > TRIGGERS_MAX {
        let message = format!("task `{task}` has {} triggers", triggers.len());
        let place = KeyPath::value(format!("{arrival}.triggers"));
        let fault = Fault::error(codes::BAD_TRIGGER, message, place, format!("at most {TRIGGERS_MAX}"));
        faults.push(
            fault
                .note("the task's thread waits for all of them at once")
                .help("divide them among several tasks"),
        );
    }
}

/// Checks a trigger of a task. Returns the task that writes it, if it is sound and a task does.
fn writer(
    (id, task, only): (TaskId, &str, bool),
    (trigger, place): (&str, KeyPath),
    (draft, names, links): (&Draft, &Names<'_>, &[Link]),
    faults: &mut Faults<'_>,
) -> Option<TaskId> {
    let Some(channel) = names.channel(trigger) else {
        names.dangling(Want::Queue, trigger, place, faults);
        return None;
    };
    let (channel, link) = (&draft.channels[channel.index()], &links[channel.index()]);
    let message = format!("task `{task}` cannot be released by channel `{trigger}`");
    if !channel.kind.is_queued() {
        let kind = KeyPath::value(format!("channels.{}.kind", channel.table()));
        faults.push(
            Fault::error(codes::BAD_TRIGGER, message, place, "a state releases no task")
                .also(kind, "only a queue releases its reader")
                .help("make the channel a queue, or the task periodic"),
        );
        return None;
    }
    if !link.readers.contains(&PartyId::Task(id)) {
        if link.readers.len() == channel.to.len() && !channel.to.is_empty() {
            faults.push(
                Fault::error(codes::BAD_TRIGGER, message, place, "the task does not read it")
                    .also(KeyPath::value(format!("channels.{}.to", channel.table())), "its reader")
                    .help(format!("make the task its reader: `to = \"{task}\"`")),
            );
        }
        return None;
    }
    // Of a broadcast the count is that of its other readers; of a message and of a bulk channel, the job takes the values by
    // itself.
    if only && channel.lane.is_none() && !channel.broadcast && channel.kind == ChannelKind::Queue {
        takes(task, channel, place, faults);
    }
    match link.writer {
        Some(PartyId::Task(writer)) if link.sound => Some(writer),
        _ => None,
    }
}

/// By task: a task that releases it, if the task can never start, because none of the tasks that release it can.
fn never_starting(released_by: &[Vec<TaskId>]) -> Vec<Option<TaskId>> {
    let mut starts: Vec<bool> = released_by.iter().map(Vec::is_empty).collect();
    let mut releases: Vec<Vec<usize>> = vec![Vec::new(); released_by.len()];
    for (task, writers) in released_by.iter().enumerate() {
        writers.iter().for_each(|writer| releases[writer.index()].push(task));
    }
    let mut started: Vec<usize> = (0..starts.len()).filter(|task| starts[*task]).collect();
    while let Some(task) = started.pop() {
        for &released in &releases[task] {
            if !std::mem::replace(&mut starts[released], true) {
                started.push(released);
            }
        }
    }
    let never = |(task, writers): (usize, &Vec<TaskId>)| writers.first().filter(|_| !starts[task]).copied();
    released_by.iter().enumerate().map(never).collect()
}

/// A receiver's job handles the one value that released it.
fn takes(task: &str, channel: &ChannelDraft, trigger: KeyPath, faults: &mut Faults<'_>) {
    let takes = channel.takes_per_release;
    // `takes-per-release = 0` is reported with the channel.
    if takes > 1 {
        let message = format!("task `{task}` is released by each value, so it takes one, not {takes}");
        let place = KeyPath::value(format!("channels.{}.takes-per-release", channel.table()));
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
    let trigger = |task: usize| match &draft.tasks[task].class {
        ClassDraft::RealTime(RealTimeDraft { arrival, .. }) => {
            arrival.triggers().first().map(|trigger| place(name(task), trigger))
        }
        ClassDraft::BestEffort(_) => None,
    };
    let trigger = |task: usize| trigger(task).unwrap_or(KeyPath::value(format!("tasks.{}", name(task))));
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
