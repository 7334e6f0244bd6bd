// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How long synchronous flows make tasks wait: a job that reads a value of the same instant begins once it is
//! written.
//!
//! To an analysis that wait is release jitter: J' = max(J, R_w − g) over the writers that a reader waits for. R_w
//! bounds the writer's response from its arrival. g is the least time from an activation of the writer to the
//! activation of the reader that reads its value: (O_r − O_w) mod gcd(T_r, T_w), since both come at exact nominal
//! instants. A reader that is on one core with its writer, under fixed priorities, below its writer, waits for the
//! writer's release alone, J_w − g, if no task is ever suspended: then the writer goes first by itself.
//!
//! R_w depends on such waits in turn. The waits start from none and are raised until nothing changes, which is a
//! fixed point and therefore sound (the argument of holistic analysis [TindellClark94]); each round raises at least
//! one wait, up to the deadlines. A writer that is not shown to keep its deadline counts with that deadline: then
//! nothing is proven anyway, and if more effort shows a bound, readers wait for less than was counted.

use taut_analysis::uni::fp::assignment::Candidate;
use taut_model::{
    Arrival, Class, Fault, FlowLink, KeyPath, Model, RealTime, SchedulingPolicy, TaskId, codes,
};
use taut_time::Duration;

use crate::placement::{Placement, Placements, Who};
use crate::response::bounds::ResponseBounds;

fn real_time(model: &Model, id: TaskId) -> Option<&RealTime> {
    match &model.task(id).class {
        Class::RealTime(task) => Some(task),
        Class::BestEffort(_) => None,
    }
}

/// The longest time from a reader's arrival until its writer has written the value, by the response bounds.
pub(crate) fn needed(model: &Model, bounds: &ResponseBounds, link: &FlowLink) -> Duration {
    let (Some(writer), Some(reader)) = (real_time(model, link.writer), real_time(model, link.reader)) else {
        return Duration::ZERO;
    };
    let until = match bounds[link.writer.index()] {
        _ if is_behind(model, bounds, link) => writer.delay(),
        Some(bound) => bound.response,
        None => writer.deadline,
    };
    until.saturating_sub(gap(writer, reader))
}

/// Whether the reader cannot begin while its writer is ready: one core, fixed priorities, the writer more urgent,
/// and no task is ever suspended.
pub(crate) fn is_behind(model: &Model, bounds: &ResponseBounds, link: &FlowLink) -> bool {
    let place = |id: TaskId| bounds[id.index()].and_then(|bound| bound.place);
    let fixed = model.platform().scheduler == SchedulingPolicy::FixedPriority && model.resources().is_empty();
    fixed
        && place(link.writer)
            .zip(place(link.reader))
            .is_some_and(|(writer, reader)| writer.0 == reader.0 && writer.1 > reader.1)
}

/// The least time from an activation of the writer to one of the reader at or after it.
fn gap(writer: &RealTime, reader: &RealTime) -> Duration {
    let phase = |task: &RealTime| match task.arrival {
        Arrival::Periodic { period, offset } => (u128::from(period.as_ns()), u128::from(offset.as_ns())),
        Arrival::Clocked(_) | Arrival::Sporadic { .. } | Arrival::Aperiodic { .. } => (1, 0),
    };
    let ((writes, from), (reads, to)) = (phase(writer), phase(reader));
    let common = gcd(writes, reads).max(1);
    let gap = (to + common - from % common) % common;
    Duration::from_ns(u64::try_from(gap).unwrap_or(0))
}

fn gcd(a: u128, b: u128) -> u128 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The name of the term that a job's waits add to its bound.
pub(crate) const SWITCHING: &str = "waiting and waking";

/// What a task waits for longest, as a term of its bound says it; none if it does not wait, or if its release
/// jitter is no shorter.
pub(crate) fn whose(model: &Model, task: &RealTime) -> Option<String> {
    let of = task.waits.of.filter(|_| task.waits.by > task.jitter)?;
    Some(format!("waits for `{}`", model.channel(of).name))
}

/// Makes writers more urgent than their readers without a delay, among the candidates of one core: a writer's
/// laxity is at most that of its readers, and among equals writers come first. Returns the order in which to assign
/// the candidates.
pub(crate) fn writers_first(
    model: &Model,
    placements: &[Placement<'_>],
    members: &[usize],
    candidates: &mut [Candidate],
) -> Vec<usize> {
    let mut order: Vec<usize> = (0..members.len()).collect();
    let at = |id: TaskId| members.iter().position(|&i| placements[i].who == Who::Task(id));
    let links = model.links().filter_map(|link| at(link.writer).zip(at(link.reader)));
    let links: Vec<(usize, usize)> = links.collect();
    // The length of the longest chain of writers before each; there is no cycle.
    let mut depth = vec![0_usize; members.len()];
    for _ in 0..members.len() {
        let mut changed = false;
        for &(writer, reader) in &links {
            let (deeper, sooner) = (depth[writer] + 1, candidates[reader].laxity);
            if depth[reader] < deeper || candidates[writer].laxity > sooner {
                depth[reader] = depth[reader].max(deeper);
                candidates[writer].laxity = candidates[writer].laxity.min(sooner);
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    order.sort_by_key(|&at| depth[at]);
    order
}

/// Reports readers that are more urgent than a writer on their core for which they wait: the manifest's priorities
/// leave no other way.
pub(crate) fn order(model: &Model, placements: &Placements<'_>, faults: &mut Vec<Fault>) {
    if model.platform().scheduler != SchedulingPolicy::FixedPriority {
        return;
    }
    let placement =
        |id: TaskId| placements.placements.iter().find(|placement| placement.who == Who::Task(id));
    for link in model.links() {
        let (Some(writer), Some(reader)) = (placement(link.writer), placement(link.reader)) else { continue };
        if writer.core != reader.core || reader.priority <= writer.priority {
            continue;
        }
        let channel = &model.channel(link.channel).name;
        let (from, to) = (writer.name, reader.name);
        let message =
            format!("`{to}` is more urgent than `{from}`, whose value it waits for at channel `{channel}`");
        let at = |name: &str| KeyPath::value(format!("tasks.{name}.priority"));
        faults.push(
            Fault::error(codes::FLOW_ORDER, message, at(to), format!("priority {}", reader.priority))
                .also(at(from), format!("priority {}", writer.priority))
                .also(
                    KeyPath::value(format!("channels.{channel}.flow")),
                    "the reader waits for the value of the same \
                     instant",
                )
                .help(format!(
                    "leave more priorities to the plan, or let the reader have the value of the previous \
                               instant: `delayed = [\"{to}\"]`"
                )),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gcd_of_periods() {
        assert_eq!(gcd(12, 18), 6);
        assert_eq!(gcd(0, 5), 5);
        assert_eq!(gcd(5, 0), 5);
    }
}
