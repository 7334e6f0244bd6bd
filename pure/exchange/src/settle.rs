// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a manifest cannot hold is left out and told, so that what is written loads.

use std::collections::BTreeSet;

use taut_model::{PAYLOAD_BYTES_MAX, PRIORITY_MAX};
use taut_time::Duration;

use crate::sketch::{Arrival, Part, Sketch, Task, length};
use crate::{Unreadable, names};

/// So that sums of many times fit: three years.
const LONGEST: Duration = Duration::from_s(100_000_000);
/// What a manifest can count.
const ENTRIES_MAX: usize = 10_000;
const CORES_MAX: usize = 1_000;

/// Makes a sketch one that a manifest can hold.
pub(crate) fn settle(sketch: &mut Sketch) -> Result<(), Unreadable> {
    let many = [
        (sketch.tasks.len(), ENTRIES_MAX, "tasks"),
        (sketch.channels.len(), ENTRIES_MAX, "channels"),
        (sketch.resources.len(), ENTRIES_MAX, "resources"),
        (sketch.cores.len(), CORES_MAX, "cores"),
    ];
    for (count, most, what) in many {
        if count > most {
            return Err(Unreadable {
                at: None,
                why: format!("{count} {what}; at most {most} are carried over"),
            });
        }
    }
    if sketch.cores.is_empty() {
        sketch.cores.push(String::new());
    }
    tasks(sketch);
    if sketch.tasks.is_empty() {
        let told = sketch.lost.iter().find(|lost| lost.what.starts_with("task") && lost.at.is_some());
        let why = told.map_or_else(String::new, |lost| format!(": {}", lost.what));
        return Err(Unreadable { at: told.and_then(|lost| lost.at), why: format!("no task is left{why}") });
    }
    channels(sketch);
    nesting(sketch);
    priorities(sketch);
    let cores = sketch.cores.len();
    for core in 0..cores {
        let count = sketch.tasks.iter().filter(|task| cores == 1 || task.core == Some(core)).count();
        if count > usize::from(PRIORITY_MAX) && !sketch.edf {
            let why = format!("{count} tasks on a core; at most {PRIORITY_MAX} have priorities of their own");
            return Err(Unreadable { at: None, why });
        }
    }
    names::give_all(sketch);
    Ok(())
}

/// Why a task is in no manifest.
fn impossible(task: &Task) -> Option<String> {
    let Task { period, deadline, jitter, cost, .. } = *task;
    let offset = match task.arrival {
        Arrival::Periodic(offset) => offset,
        Arrival::Sporadic(_) => Duration::ZERO,
    };
    if [period, deadline, jitter, cost, offset].into_iter().any(|time| time > LONGEST) {
        return Some("has a time of more than three years".into());
    }
    match () {
        () if period.is_zero() => Some("has no period".into()),
        () if deadline.is_zero() => Some("has no deadline".into()),
        () if cost.is_zero() => Some("has no execution time".into()),
        () if cost > period.min(deadline) => Some(format!(
            "takes {cost}, more than its period or deadline of {}: it is never in time",
            period.min(deadline)
        )),
        () if jitter >= deadline => {
            Some(format!("may be released {jitter} late, after its deadline of {deadline}"))
        }
        () => None,
    }
}

fn tasks(sketch: &mut Sketch) {
    let mut kept = Vec::new();
    let mut places = Vec::with_capacity(sketch.tasks.len());
    for mut task in std::mem::take(&mut sketch.tasks) {
        let (at, name) = (task.at, task.named.name.clone());
        if let Some(why) = impossible(&task) {
            sketch.lose(at, format!("task `{name}` {why}; it is left out"));
            places.push(None);
            continue;
        }
        if task.non_preemptive && !task.parts.is_empty() {
            sections_of(&mut task);
        }
        let sections = task.sections.iter().try_fold(Duration::ZERO, |sum, section| {
            sum.checked_add(section.longest.checked_mul(section.count.into())?)
        });
        let within =
            [sections, length(&task.parts)].into_iter().all(|sum| sum.is_some_and(|sum| sum <= task.cost));
        if !within {
            sketch.lose(
                at,
                format!("the critical sections of task `{name}` are longer than it runs; they are left out"),
            );
            task.sections.clear();
            task.parts.clear();
        }
        task.sections.retain(|section| !section.longest.is_zero() && section.count > 0);
        places.push(Some(kept.len()));
        kept.push(task);
    }
    sketch.tasks = kept;
    for channel in &mut sketch.channels {
        channel.to = channel.to.iter().filter_map(|reader| *places.get(*reader)?).collect();
        if let Some(from) = channel.from {
            match places.get(from) {
                Some(Some(kept)) => channel.from = Some(*kept),
                _ => channel.to.clear(),
            }
        }
    }
}

/// The outermost sections of a task, instead of its parts.
fn sections_of(task: &mut Task) {
    fn walk(parts: &[Part], found: &mut Vec<(usize, Duration)>) {
        for part in parts {
            if let Part::Hold(resource, inside) = part {
                found.push((*resource, length(inside).unwrap_or(Duration::MAX)));
            }
        }
    }
    let mut found = Vec::new();
    walk(&std::mem::take(&mut task.parts), &mut found);
    found.into_iter().for_each(|(resource, longest)| task.section(resource, longest, 1));
}

fn channels(sketch: &mut Sketch) {
    // Whoever is released by a channel that is gone is released by somebody unknown.
    let mut channels = Vec::new();
    let mut places = Vec::with_capacity(sketch.channels.len());
    for mut channel in std::mem::take(&mut sketch.channels) {
        let writer = channel.from;
        channel.to.retain(|reader| Some(*reader) != writer);
        channel.to.sort_unstable();
        channel.to.dedup();
        let name = channel.named.name.clone();
        let fault = match () {
            () if channel.to.is_empty() => {
                Some("no task that is carried over reads it from another".to_owned())
            }
            () if channel.queue && channel.to.len() > 1 => Some("a queue has one reader".to_owned()),
            () if channel.bytes == 0 => Some("it has no size".to_owned()),
            () if channel.bytes > PAYLOAD_BYTES_MAX => Some(format!(
                "{} bytes are more than the {PAYLOAD_BYTES_MAX} that a value can have",
                channel.bytes
            )),
            () => None,
        };
        match fault {
            Some(why) => {
                sketch.lose(channel.at, format!("`{name}` is left out: {why}"));
                places.push(None);
            }
            None => {
                places.push(Some(channels.len()));
                channels.push(channel);
            }
        }
    }
    sketch.channels = channels;
    for task in &mut sketch.tasks {
        if let Arrival::Sporadic(Some(by)) = task.arrival {
            task.arrival = Arrival::Sporadic(places.get(by).copied().flatten());
        }
    }
}

/// Only what one core uses is nested.
fn nesting(sketch: &mut Sketch) {
    let mut cores = vec![BTreeSet::new(); sketch.resources.len()];
    let one = sketch.cores.len() == 1;
    for (at, task) in sketch.tasks.iter().enumerate() {
        // Where a task may be anywhere, so may its resources' users.
        let core = if one { 0 } else { task.core.unwrap_or(CORES_MAX + at) };
        for resource in task.uses() {
            if let Some(cores) = cores.get_mut(resource) {
                cores.insert(core);
            }
        }
    }
    let global: Vec<bool> = cores.iter().map(|cores| cores.len() > 1).collect();
    let mut lost = Vec::new();
    for task in &mut sketch.tasks {
        let mut flattened = false;
        task.parts = flat(&task.parts, &mut Vec::new(), &global, &mut flattened);
        if flattened {
            let name = &task.named.name;
            lost.push((task.at, format!(
                "task `{name}` locks inside of a critical section what it holds, or what several cores use: only the \
                 outer section is carried over"
            )));
        }
    }
    lost.into_iter().for_each(|(at, what)| sketch.lose(at, what));
}

fn flat(parts: &[Part], held: &mut Vec<usize>, global: &[bool], flattened: &mut bool) -> Vec<Part> {
    let mut all = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            Part::Run(time) if time.is_zero() => {}
            Part::Run(time) => all.push(Part::Run(*time)),
            Part::Hold(resource, inside) => {
                let is = |at: &usize| global.get(*at).copied().unwrap_or(true);
                let again = held.contains(resource);
                if again || !held.is_empty() && (is(resource) || held.iter().any(is)) {
                    *flattened = true;
                    all.extend(flat(inside, held, global, flattened));
                } else {
                    held.push(*resource);
                    let inside = flat(inside, held, global, flattened);
                    held.pop();
                    if !inside.is_empty() {
                        all.push(Part::Hold(*resource, inside));
                    }
                }
            }
        }
    }
    all
}

fn priorities(sketch: &mut Sketch) {
    if sketch.edf {
        sketch.tasks.iter_mut().for_each(|task| task.priority = None);
        return;
    }
    let one = sketch.cores.len() == 1;
    let mut order: Vec<usize> =
        (0..sketch.tasks.len()).filter(|at| sketch.tasks[*at].priority.is_some()).collect();
    // The least urgent first; of equals, who comes first is the more urgent.
    order.sort_by_key(|at| (sketch.tasks[*at].priority, std::cmp::Reverse(*at)));
    let mut anew = false;
    let meet = |a: &Task, b: &Task| one || a.core.is_none() || b.core.is_none() || a.core == b.core;
    let mut ties = Vec::new();
    for run in order.chunk_by(|a, b| sketch.tasks[*a].priority == sketch.tasks[*b].priority) {
        let range = 1..=i64::from(PRIORITY_MAX);
        anew |= run
            .iter()
            .any(|at| sketch.tasks[*at].priority.is_some_and(|priority| !range.contains(&priority)));
        for pair in run.windows(2) {
            let (second, first) = (&sketch.tasks[pair[0]], &sketch.tasks[pair[1]]);
            if run.iter().any(|at| *at != pair[0] && meet(second, &sketch.tasks[*at])) {
                let (a, b) = (&first.named.name, &second.named.name);
                ties.push((
                    second.at,
                    format!("`{a}` and `{b}` have the same priority: the first is made the more urgent"),
                ));
            }
        }
    }
    if !anew && ties.is_empty() {
        return;
    }
    if order.len() > usize::from(PRIORITY_MAX) {
        sketch.tasks.iter_mut().for_each(|task| task.priority = None);
        sketch.lose(None, format!("more than {PRIORITY_MAX} priorities: they are left to the plan"));
        return;
    }
    for (level, at) in (1..).zip(order) {
        sketch.tasks[at].priority = Some(level);
    }
    let why = if anew { format!("not all in 1 to {PRIORITY_MAX}") } else { "not all different".to_owned() };
    sketch.lose(None, format!("priorities are {why}: they are numbered anew, in the same order"));
    ties.into_iter().for_each(|(at, what)| sketch.lose(at, what));
}
