// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! An application whose tasks lock as a set to analyse, with all that the machine adds: [`taut_analysis::overheads`].
//!
//! A set has no order of segments beside its sections, so charges go where they can be: a lock at the start of its
//! section, context switches at the start of the job. Non-preemptive stretches, and under EDF the longest section of a
//! task with an enforced budget ([`crate::overheads::budget`]), are sections of a resource that stands for the core and
//! that all of its tasks use.

use taut_analysis::Overflow;
use taut_analysis::overheads::Charges;
use taut_analysis::overheads::probe::Slowdown;
use taut_model::{ArrivalPattern, Model, Resource, SetTask, TaskSet};
use taut_time::Duration;

use super::work::Works;
use crate::overheads::{budget, watched};
use crate::placement::{Placement, Placements};

/// Tasks as they are analysed, with what was charged.
pub(crate) struct Charged {
    pub(crate) set: TaskSet,
    /// By placement: context switches.
    pub(crate) switches: Vec<Duration>,
    /// By placement: locks, and what is added to global sections.
    pub(crate) locks: Vec<Duration>,
    /// By placement: the platform probe and the device thread, as cost and as jitter.
    pub(crate) probe: Vec<Duration>,
    /// The name of those in a bound.
    pub(crate) above: &'static str,
    /// The part of `probe` that is jitter, the same for all.
    pub(crate) once: Duration,
}

/// The set to analyse: one task per placement, in their order. A server's jitter includes its back-to-back effect, as
/// other tasks see it; that of the server `own` does not, as the server itself sees it.
pub(crate) fn charged(
    model: &Model,
    placements: &Placements<'_>,
    global: &[bool],
    suspends: &[bool],
    own: Option<usize>,
) -> Result<Charged, Overflow> {
    let charges = Charges::of(&model.platform().overheads);
    let slowdown = Slowdown::of(&charges, &watched::gaps_by_core(model, placements))?;
    let cores = model.platform().cores.len();
    // One more resource per core with a non-preemptive stretch: the core itself.
    let mut resources: Vec<Resource> =
        model.resources().iter().map(|shared| Resource { name: shared.name.clone() }).collect();
    let scheduler = model.platform().scheduler;
    let blocks_all = |placement: &Placement<'_>| budget::blocks_all(placement.task, scheduler, &charges);
    let kept: Vec<Option<usize>> = (0..cores)
        .map(|core| {
            let members = &placements.cores[core].members;
            members.iter().any(|&i| !blocks_all(&placements.placements[i]).is_zero()).then(|| {
                resources.push(Resource { name: format!("core {}", model.platform().cores[core]) });
                resources.len() - 1
            })
        })
        .collect();
    let mut tasks = Vec::with_capacity(placements.placements.len());
    let (mut of_switches, mut of_locks, mut of_probe) = (Vec::new(), Vec::new(), Vec::new());
    let works = Works { charges, slowdown, global, suspends };
    for (at, placement) in placements.placements.iter().enumerate() {
        let back_to_back = if own == Some(at) { Duration::ZERO } else { placement.back_to_back };
        let late = placement.task.delay().checked_add(back_to_back).ok_or(Overflow)?;
        let work = works.work(placement, kept[placement.core].map(|core| (core, blocks_all(placement))))?;
        tasks.push(SetTask {
            name: placement.name.to_owned(),
            core: placement.core,
            priority: placement.priority.into(),
            arrivals: ArrivalPattern::Sporadic,
            period: placement.task.arrival.period(),
            deadline: placement.task.deadline,
            jitter: slowdown.jitter(&charges, late)?,
            body: work.body,
        });
        // The rest of the cost is locks, and what is added to global sections.
        let reported = [placement.cost, work.switching, work.slowed];
        let reported =
            reported.into_iter().try_fold(Duration::ZERO, Duration::checked_add).ok_or(Overflow)?;
        of_locks.push(work.cost.saturating_sub(reported));
        of_switches.push(work.switching);
        of_probe.push(work.slowed.checked_add(slowdown.once()).ok_or(Overflow)?);
    }
    let schedulers = vec![model.platform().scheduler; cores];
    // The model guarantees what a set requires, so the only error left is a sum that does not fit.
    let set = TaskSet::new(schedulers, resources, tasks).map_err(|_| Overflow)?;
    let above =
        if watched::any(model, placements) { "platform probe and device threads" } else { "platform probe" };
    let once = slowdown.once();
    Ok(Charged { set, switches: of_switches, locks: of_locks, probe: of_probe, above, once })
}
