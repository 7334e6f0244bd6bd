// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The devices that the device thread of each core watches. Where Linux schedules a task and nothing else releases it, the
//! task's own thread waits for its device, and the core has no device thread for it.

use taut_analysis::{Bound, BoundTerm};
use taut_model::{DEVICES_MAX, Fault, KeyPath, Model, RealTime, codes};
use taut_time::Duration;

use crate::placement::{CorePlacement, Placement, Placements, Who, dispatch};

/// A device that the device thread of a core watches.
pub(crate) struct Watched<'m> {
    pub(crate) device: &'m str,
    /// The task that it releases.
    pub(crate) task: &'m str,
    /// T of that task: the thread looks at the device, and wakes to look again, once in this time.
    pub(crate) gap: Duration,
}

/// The devices that the device thread of a core watches, by the placements on that core.
pub(crate) fn on_core<'m>(
    model: &'m Model,
    here: impl Iterator<Item = &'m Placement<'m>> + Clone,
) -> Vec<Watched<'m>> {
    let mut by_device: Vec<(&str, &RealTime)> = Vec::new();
    for placement in here.clone() {
        match placement.who {
            Who::Task(_) if placement.task.arrival.device().is_some() => {
                by_device.push((placement.name, placement.task));
            }
            Who::Task(_) => {}
            Who::Server(at) => {
                let served = model.real_time().filter(|(.., task)| task.server == Some(at));
                by_device.extend(served.map(|(_, of, task)| (of.name.as_str(), task)));
            }
        }
    }
    if by_device.is_empty() {
        return Vec::new();
    }
    let is_dispatched = dispatch::reason_of(model, here).is_some();
    let watched = |(name, task): (&'m str, &'m RealTime)| {
        let device = task.arrival.device()?;
        let is_watched = is_dispatched || !task.arrival.triggers().is_empty();
        is_watched.then(|| Watched { device, task: name, gap: task.arrival.period() })
    };
    by_device.into_iter().filter_map(watched).collect()
}

/// The devices that the device threads of all cores watch, by core.
pub(crate) fn by_core<'m>(model: &'m Model, placements: &'m Placements<'_>) -> Vec<Vec<Watched<'m>>> {
    let core =
        |core: &'m CorePlacement| on_core(model, core.members.iter().map(|&at| &placements.placements[at]));
    placements.cores.iter().map(core).collect()
}

/// The devices that the device thread watches on the core of a bound, for its terms; none if it has no such term.
pub(crate) fn of_terms<'m>(
    model: &'m Model,
    placements: &'m Placements<'_>,
    (core, bound): (usize, &Bound),
) -> Vec<Watched<'m>> {
    if !bound.terms.iter().any(|term| matches!(term.kind, BoundTerm::Device(_))) {
        return Vec::new();
    }
    on_core(model, placements.cores[core].members.iter().map(|&at| &placements.placements[at]))
}

/// Whether a core has a device thread.
pub(crate) fn any(model: &Model, placements: &Placements<'_>) -> bool {
    by_core(model, placements).iter().any(|watched| !watched.is_empty())
}

/// The least gaps of the devices that the device threads of all cores watch, by core.
pub(crate) fn gaps_by_core(model: &Model, placements: &Placements<'_>) -> Vec<Vec<Duration>> {
    by_core(model, placements).iter().map(|watched| gaps(watched)).collect()
}

/// The least gaps of devices.
pub(crate) fn gaps(watched: &[Watched<'_>]) -> Vec<Duration> {
    watched.iter().map(|watched| watched.gap).collect()
}

/// Refuses more devices on a core than its device thread watches.
pub(crate) fn report(model: &Model, placements: &Placements<'_>, faults: &mut Vec<Fault>) {
    for (core, watched) in by_core(model, placements).iter().enumerate() {
        let Some(first) = watched.get(DEVICES_MAX) else { continue };
        let cpu = model.platform().cores[core];
        let message = format!("the device thread of CPU {cpu} watches {} devices", watched.len());
        let place = KeyPath::value(format!("tasks.{}.arrival.device", first.task));
        faults.push(
            Fault::error(codes::DEVICES_EXCEEDED, message, place, format!("at most {DEVICES_MAX} a core"))
                .help("put some of their tasks on another core, or let one task read several of them"),
        );
    }
}
