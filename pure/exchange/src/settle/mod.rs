// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Leaves out and reports what a manifest cannot hold, so that the manifest written loads.

mod channels;
mod nesting;
mod placement;

use taut_model::PRIORITY_MAX;
use taut_time::Duration;

use crate::sketch::{Arrival, Party, Segment, Sender, Sketch, Task, length};
use crate::{Unreadable, names};

/// The longest time carried over, three years: so that sums of many times fit.
const LONGEST: Duration = Duration::from_s(100_000_000);
/// The most entries and cores that a manifest can have.
const ENTRIES_MAX: usize = 10_000;
const CORES_MAX: usize = 1_000;

/// This is reported because in other models, a task released at the completion of another one inherits that task's
/// jitter.
const RELEASED: &str = "a task that another task releases is released a period after its previous release, or later: the runtime \
     enforces it";

/// Changes a sketch into one that a manifest can hold.
pub(crate) fn settle(sketch: &mut Sketch) -> Result<(), Unreadable> {
    let many = [
        (sketch.tasks.len(), ENTRIES_MAX, "tasks"),
        (sketch.clients.len(), ENTRIES_MAX, "clients"),
        (sketch.channels.len(), ENTRIES_MAX, "channels"),
        (sketch.resources.len(), ENTRIES_MAX, "resources"),
        (sketch.servers.len(), ENTRIES_MAX, "servers"),
        (sketch.chains.len(), ENTRIES_MAX, "deadlines of several tasks"),
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
        let reported = sketch.lost.iter().find(|lost| lost.what.starts_with("task") && lost.at.is_some());
        let why = reported.map_or_else(String::new, |lost| format!(": {}", lost.what));
        return Err(Unreadable {
            at: reported.and_then(|lost| lost.at),
            why: format!("no task is left{why}"),
        });
    }
    channels::channels(sketch);
    if sketch.tasks.iter().any(|task| matches!(&task.arrival, Arrival::Sporadic(by) if !by.is_empty())) {
        sketch.lose(None, RELEASED);
    }
    placement::servers(sketch);
    nesting::nesting(sketch);
    placement::priorities(sketch);
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

/// Why a manifest cannot hold a task.
fn impossible(task: &Task) -> Option<String> {
    let Task { period, deadline, jitter, cost, .. } = *task;
    let offset = match &task.arrival {
        Arrival::Periodic(offset) => *offset,
        Arrival::Sporadic(_) => Duration::ZERO,
        Arrival::Any => return None,
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
        if task.non_preemptive && !task.segments.is_empty() {
            sections_of(&mut task);
        }
        let sections = task.sections.iter().try_fold(Duration::ZERO, |sum, section| {
            sum.checked_add(section.longest.checked_mul(section.count.into())?)
        });
        let longest = sections.zip(length(&task.segments)).map(|(sections, segments)| sections.max(segments));
        match longest {
            Some(longest) if longest <= task.cost => {}
            Some(longest) if longest <= task.period.min(task.deadline) => {
                let cost = task.cost;
                sketch.lose(
                    at,
                    format!(
                        "task `{name}` runs {cost}, less than its critical sections: {longest} are written"
                    ),
                );
                task.cost = longest;
            }
            _ => {
                sketch.lose(
                    at,
                    format!(
                        "the critical sections of task `{name}` are longer than it runs; they are left out"
                    ),
                );
                task.sections.clear();
                task.segments.clear();
            }
        }
        task.sections.retain(|section| !section.longest.is_zero() && section.count > 0);
        places.push(Some(kept.len()));
        kept.push(task);
    }
    sketch.tasks = kept;
    for chain in &mut sketch.chains {
        // If some of its tasks are left out, `channels` reports the chain.
        chain.tasks = chain.tasks.iter().filter_map(|task| *places.get(*task)?).collect();
    }
    let kept = |party: Party| match party {
        Party::Task(at) => places.get(at).copied().flatten().map(Party::Task),
        Party::Client(_) => Some(party),
    };
    for channel in &mut sketch.channels {
        channel.to = channel.to.iter().filter_map(|reader| kept(*reader)).collect();
        let senders = channel.from.iter();
        channel.from =
            senders.filter_map(|sender| Some(Sender { party: kept(sender.party)?, ..*sender })).collect();
    }
}

/// Replaces the segments of a task by its outermost sections.
fn sections_of(task: &mut Task) {
    fn walk(segments: &[Segment], found: &mut Vec<(usize, Duration)>) {
        for segment in segments {
            if let Segment::Hold(resource, inside) = segment {
                found.push((*resource, length(inside).unwrap_or(Duration::MAX)));
            }
        }
    }
    let mut found = Vec::new();
    walk(&std::mem::take(&mut task.segments), &mut found);
    found.into_iter().for_each(|(resource, longest)| task.section(resource, longest, 1));
}
