// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The decisions of a plan as a task set, for simulation.

use taut_model::{ArrivalPattern, Body, Model, Request, Resource, Segment, SetFault, SetTask, TaskSet};
use taut_time::Duration;

use crate::placement::{Placement, Placements};

/// The real-time tasks of a model on the cores and with the priorities that its plan gives them, in the
/// manifest's order, with their resources; cores in the platform's order. Costs include margins and two context
/// switches, and jitter includes the release latency; the set leaves out all other charges of the plan's bounds.
///
/// A task that a channel releases is sporadic and independent: a set does not know of channels. Servers come
/// last, as tasks that use up their budget, a deferrable one with jitter; the set leaves out the tasks that run
/// in them.
///
/// # Errors
/// What a set cannot hold. For a model that has a plan, that is at most a sum that does not fit in 64 bits.
pub fn task_set(model: &Model) -> Result<TaskSet, Vec<SetFault>> {
    let placements = Placements::choose(model, None);
    let overheads = model.platform().overheads;
    let switches = overheads.context_switch.checked_mul(2).unwrap_or_default();
    let tasks = placements.placements.iter().map(|placement| {
        let own = placement.task.cost().unwrap_or(placement.cost);
        let cost = own.checked_add(switches).unwrap_or(own);
        let body = match placement.task.segments.as_slice() {
            [] => anywhere(placement, cost),
            segments => ordered(segments, placement, switches),
        };
        let jitter = placement.task.delay().checked_add(placement.back_to_back);
        let jitter = jitter.and_then(|jitter| jitter.checked_add(overheads.release));
        SetTask {
            // This cannot be the name of a task, whatever the server's name is.
            name: if placement.is_server() {
                format!("server {}", placement.name)
            } else {
                placement.name.to_owned()
            },
            core: placement.core,
            priority: placement.priority.into(),
            arrivals: match &placement.task.arrival {
                _ if placement.is_server() => ArrivalPattern::Sporadic,
                // An offset of a period or more gives the same phase as its remainder.
                taut_model::Arrival::Periodic { offset, period } => {
                    let phase = offset.as_ns().checked_rem(period.as_ns()).unwrap_or(0);
                    ArrivalPattern::Phased(Duration::from_ns(phase))
                }
                taut_model::Arrival::Sporadic { .. } => ArrivalPattern::Sporadic,
            },
            period: placement.task.arrival.period(),
            deadline: placement
                .task
                .deadline
                .checked_add(placement.back_to_back)
                .unwrap_or(placement.task.deadline),
            jitter: jitter.unwrap_or(placement.task.delay()),
            body,
        }
    });
    let resources = model.resources().iter().map(|shared| Resource { name: shared.name.clone() });
    let schedulers = vec![model.platform().scheduler; model.platform().cores.len()];
    TaskSet::new(schedulers, resources.collect(), tasks.collect())
}

fn anywhere(placement: &Placement<'_>, cost: Duration) -> Body {
    let request = |section: &taut_model::Section| Request {
        resource: section.resource.index(),
        count: section.count,
        length: placement.task.wcet.with_margin(section.longest).unwrap_or(section.longest),
        outermost: true,
    };
    Body::Anywhere { cost, requests: placement.task.sections.iter().map(request).collect() }
}

/// Segments with their margins; the context switches come first, and the rest of the execution time last.
fn ordered(segments: &[Segment], placement: &Placement<'_>, switches: Duration) -> Body {
    fn parts(segments: &[Segment], placement: &Placement<'_>, left: &mut Duration) -> Vec<Segment> {
        let part = |segment: &Segment| match segment {
            Segment::Normal(time) => {
                let time = placement.task.wcet.with_margin(*time).unwrap_or(*time);
                *left = left.saturating_sub(time);
                Segment::Normal(time)
            }
            Segment::Section { resource, inside } => {
                Segment::Section { resource: *resource, inside: parts(inside, placement, left) }
            }
        };
        segments.iter().map(part).collect()
    }
    let mut left = placement.task.cost().unwrap_or(placement.cost);
    let mut all = vec![Segment::Normal(switches)];
    all.extend(parts(segments, placement, &mut left));
    all.push(Segment::Normal(left));
    Body::Segments(all)
}
