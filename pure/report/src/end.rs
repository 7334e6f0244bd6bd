// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a recording says about the end of its application: where jobs stood, and whether the outputs are in their
//! safe state.

use taut_event::{SafeStateOutcome, Stood};
use taut_plan::Plan;

use crate::observations::{AtRest, Observations};
use crate::verdict::{Breach, JobLocation, Unrest, Warning};
use crate::wording;

/// A job that was running when the application was ended without waiting for it.
pub(crate) fn stood(plan: &Plan, stood: &Stood) -> Breach {
    let task = plan.tasks.get(usize::from(stood.task)).map_or("?", |task| &task.name).to_owned();
    let JobLocation { in_call, offset, resource, held } = place(plan, stood);
    Breach::Stood { task, job: stood.job, in_call, offset, resource, held }
}

/// The place where the job stood.
pub(crate) fn place(plan: &Plan, &Stood { at, resource, .. }: &Stood) -> JobLocation {
    JobLocation {
        in_call: at.map(|at| at.in_call),
        offset: at.and_then(|at| at.offset),
        resource: resource.map(|(number, _)| resource_name(plan, number).to_owned()),
        held: resource.is_some_and(|(_, held)| held),
    }
}

/// The place where the job stood, in words.
pub(crate) fn stood_text(plan: &Plan, stood: &Stood) -> String {
    let JobLocation { in_call, offset, resource, held } = place(plan, stood);
    wording::stood(in_call, offset, resource.as_deref(), held)
}

/// The breach if the outputs may not be in their safe state.
pub(crate) fn not_at_rest(rest: &AtRest) -> Option<Breach> {
    Some(Breach::NotAtRest { why: unrest(rest.result)?, took_ns: rest.took_ns })
}

/// Why the outputs may not be in their safe state; `None` if they are. Takes the result that was recorded, if this
/// version knows it.
pub(crate) fn unrest(result: Option<SafeStateOutcome>) -> Option<Unrest> {
    match result {
        Some(SafeStateOutcome::Reached) => None,
        Some(SafeStateOutcome::Panicked) => Some(Unrest::Panicked),
        Some(SafeStateOutcome::Crashed(signal)) => Some(Unrest::Crashed { signal }),
        Some(SafeStateOutcome::Late) => Some(Unrest::Late),
        Some(SafeStateOutcome::NotStarted) => Some(Unrest::NotStarted),
        None => Some(Unrest::Unknown),
    }
}

/// The warning if the safe-state code used the heap.
pub(crate) fn rest_heap(rest: &AtRest) -> Option<Warning> {
    let times = rest.heap_use.filter(|times| *times > 0)?;
    Some(Warning::RestHeap { times: times.into() })
}

/// How long it took to bring the outputs to their safe state (ns), if that succeeded.
pub(crate) fn rested_ns(seen: &Observations) -> Option<u64> {
    let rest = seen.rests.first()?;
    (rest.result == Some(SafeStateOutcome::Reached)).then_some(rest.took_ns)
}

/// The name of a resource by its number: the manifest's resources, then the states under locks, in the order of the
/// channels.
fn resource_name(plan: &Plan, number: u16) -> &str {
    let states = plan.channels.iter().filter(|channel| channel.mechanism.locking().is_some());
    let names = plan.resources.iter().map(|resource| &resource.name).chain(states.map(|state| &state.name));
    names.into_iter().nth(number.into()).map_or("?", String::as_str)
}
