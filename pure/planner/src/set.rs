// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The decisions of a plan as a task set, for simulation.

use taut_analysis::Overflow;
use taut_analysis::overheads::Charges;
use taut_model::{
    ArrivalPattern, Body, Model, Request, Resource, Segment, SetFault, SetTask, TaskSet, Wrong,
};
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
    let charges = Charges::of(&model.platform().overheads);
    let (mut tasks, mut faults) = (Vec::with_capacity(placements.placements.len()), Vec::new());
    for (at, placement) in placements.placements.iter().enumerate() {
        match task(placement, &charges) {
            Ok(task) => tasks.push(task),
            Err(Overflow) => faults.push(SetFault { task: at, what: Wrong::Overflow }),
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let resources = model.resources().iter().map(|shared| Resource { name: shared.name.clone() });
    let schedulers = vec![model.platform().scheduler; model.platform().cores.len()];
    TaskSet::new(schedulers, resources.collect(), tasks)
}

fn task(placement: &Placement<'_>, charges: &Charges) -> Result<SetTask, Overflow> {
    let later = |time: Duration| time.checked_add(placement.back_to_back).ok_or(Overflow);
    let body = match placement.task.segments.as_slice() {
        [] => anywhere(placement, charges)?,
        segments => ordered(segments, placement, charges)?,
    };
    Ok(SetTask {
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
            taut_model::Arrival::Clocked(_)
            | taut_model::Arrival::Sporadic { .. }
            | taut_model::Arrival::Aperiodic { .. } => ArrivalPattern::Sporadic,
        },
        period: placement.task.arrival.period(),
        deadline: later(placement.task.deadline)?,
        jitter: charges.released(later(placement.task.delay())?)?,
        body,
    })
}

/// A job's own execution time, margin included.
fn own(placement: &Placement<'_>) -> Result<Duration, Overflow> {
    placement.task.cost().ok_or(Overflow)
}

fn margined(placement: &Placement<'_>, time: Duration) -> Result<Duration, Overflow> {
    placement.task.wcet.with_margin(time).ok_or(Overflow)
}

fn anywhere(placement: &Placement<'_>, charges: &Charges) -> Result<Body, Overflow> {
    let request = |section: &taut_model::Section| {
        Ok(Request {
            resource: section.resource.index(),
            count: section.count,
            length: margined(placement, section.longest)?,
            outermost: true,
        })
    };
    let requests = placement.task.sections.iter().map(request).collect::<Result<_, _>>()?;
    Ok(Body::Anywhere { cost: charges.job(own(placement)?)?, requests })
}

/// Segments with their margins; the context switches come first, and the rest of the execution time last.
fn ordered(segments: &[Segment], placement: &Placement<'_>, charges: &Charges) -> Result<Body, Overflow> {
    fn parts(
        segments: &[Segment],
        placement: &Placement<'_>,
        left: &mut Duration,
    ) -> Result<Vec<Segment>, Overflow> {
        let part = |segment: &Segment| match segment {
            Segment::Normal(time) => {
                let time = margined(placement, *time)?;
                *left = left.saturating_sub(time);
                Ok(Segment::Normal(time))
            }
            Segment::Section { resource, inside } => {
                Ok(Segment::Section { resource: *resource, inside: parts(inside, placement, left)? })
            }
        };
        segments.iter().map(part).collect()
    }
    let mut left = own(placement)?;
    let mut all = vec![Segment::Normal(charges.to_and_from()?)];
    all.extend(parts(segments, placement, &mut left)?);
    all.push(Segment::Normal(left));
    Ok(Body::Segments(all))
}
