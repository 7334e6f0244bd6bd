// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a recording says about the end of its application: where jobs stood, and whether the outputs are in their
//! safe state.

use taut_event::{Kind, Record, Rest, Stood};
use taut_plan::Plan;

use crate::verdict::{Breach, Place, Unrest, Warning};

/// A job that was running when the application was ended without waiting for it.
pub(crate) fn stood(plan: &Plan, record: &Record) -> Option<Breach> {
    let Stood { task, job, .. } = Stood::from_record(record)?;
    let task = plan.tasks.get(usize::from(task)).map_or("?", |task| &task.name).to_owned();
    let Place { in_call, offset, resource, held } = place(plan, record)?;
    Some(Breach::Stood { task, job, in_call, offset, resource, held })
}

/// The place where the job stood.
pub(crate) fn place(plan: &Plan, record: &Record) -> Option<Place> {
    let Stood { at, resource, .. } = Stood::from_record(record)?;
    Some(Place {
        in_call: at.map(|at| at.in_call),
        offset: at.and_then(|at| at.offset),
        resource: resource.map(|(number, _)| resource_name(plan, number).to_owned()),
        held: resource.is_some_and(|(_, held)| held),
    })
}

/// The breach if the outputs may not be in their safe state.
pub(crate) fn not_at_rest(record: &Record) -> Option<Breach> {
    let why = match Rest::from_record(record) {
        _ if record.kind != Kind::SafeState => return None,
        Some(Rest::Reached) => return None,
        Some(Rest::Panicked) => Unrest::Panicked,
        Some(Rest::Crashed(signal)) => Unrest::Crashed { signal },
        Some(Rest::Late) => Unrest::Late,
        Some(Rest::NotStarted) => Unrest::NotStarted,
        None => Unrest::Unknown,
    };
    Some(Breach::NotAtRest { why, took_ns: record.value })
}

/// The warning if the safe-state code used the heap.
pub(crate) fn rest_heap(record: &Record) -> Option<Warning> {
    let times = u64::from(record.subject).saturating_sub(1);
    (record.kind == Kind::SafeState && times > 0).then_some(Warning::RestHeap { times })
}

/// How long it took to bring the outputs to their safe state (ns), if that succeeded.
pub(crate) fn rested_ns(records: &[Record]) -> Option<u64> {
    let record = records.iter().find(|record| record.kind == Kind::SafeState)?;
    (Rest::from_record(record) == Some(Rest::Reached)).then_some(record.value)
}

/// The name of a resource by its number: the manifest's resources, then the states under locks, in the order of the
/// channels.
fn resource_name(plan: &Plan, number: u16) -> &str {
    let states = plan.channels.iter().filter(|channel| channel.mechanism.locking().is_some());
    let names = plan.resources.iter().map(|resource| &resource.name).chain(states.map(|state| &state.name));
    names.into_iter().nth(number.into()).map_or("?", String::as_str)
}
