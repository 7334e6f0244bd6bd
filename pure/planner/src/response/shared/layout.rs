// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Tasks in the form that a search for mechanisms takes: charged for what does not depend on the mechanisms, and
//! beside that what each kind of guard adds. Charges are those of [`super::charge`] for a decided application,
//! except for roundings, which are on the safe side.

use taut_analysis::Overflow;
use taut_analysis::overheads::Charges;
use taut_analysis::overheads::probe::Slowdown;
use taut_model::{ArrivalPattern, Body, Model, Request, Resource, SetTask, TaskSet, Waiting};
use taut_time::Duration;

use super::choose::is_global;
use crate::overheads::watched;
use crate::placement::Placements;

/// A set in which every section is as long as it executes.
pub(crate) struct Layout {
    pub(crate) set: TaskSet,
    /// By resource.
    pub(crate) guards: Vec<Prices>,
    /// What is added to a job for each request that may suspend it.
    pub(crate) switching: Duration,
    /// What the platform probe does to all execution.
    slowdown: Slowdown,
}

/// How much longer the sections of a resource are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Prices {
    /// Whether tasks of several cores use it.
    pub(crate) global: bool,
    /// Under a ceiling.
    pub(crate) ceiling: Duration,
    /// While waiters spin.
    pub(crate) spinning: Duration,
    /// While waiters are suspended.
    pub(crate) suspending: Duration,
}

impl Layout {
    /// How long execution takes beside the platform probe.
    pub(crate) fn slower(&self, time: Duration) -> Result<Duration, Overflow> {
        self.slowdown.slower(time)
    }

    /// Lays out a model whose tasks have no order of segments and no non-preemptive stretch.
    pub(crate) fn of(model: &Model, placements: &Placements<'_>) -> Result<Self, Overflow> {
        let charges = Charges::of(&model.platform().overheads);
        let slowdown = Slowdown::of(&charges, &watched::gaps_by_core(model, placements))?;
        let rest = |at| Prices { global: is_global(placements, at), ..Prices::default() };
        let mut guards: Vec<Prices> = (0..model.resources().len()).map(rest).collect();
        let mut tasks = Vec::with_capacity(placements.placements.len());
        for placement in &placements.placements {
            let (mut requests, mut inside) = (Vec::new(), Duration::ZERO);
            for section in &placement.task.sections {
                let (at, count) = (section.resource.index(), section.count);
                let length = placement.task.wcet.with_margin(section.longest).ok_or(Overflow)?;
                let plain = slowdown.slower(length)?;
                let beside = |held: Duration| held.saturating_sub(plain);
                let of_several = |waiting| {
                    charges.section_of_several_cores(length, waiting).and_then(|held| slowdown.section(held))
                };
                let guard = &mut guards[at];
                // Rounding up may add 1 ns for the lock and 1 ns for its scaling.
                let rounded = charges.section(length)?.checked_add(Duration::from_ns(2)).ok_or(Overflow)?;
                guard.ceiling = guard.ceiling.max(beside(slowdown.slower(rounded)?));
                guard.spinning = guard.spinning.max(beside(of_several(Waiting::Spinning)?));
                guard.suspending = guard.suspending.max(beside(of_several(Waiting::Suspended)?));
                let all = plain.checked_mul(count.into()).ok_or(Overflow)?;
                inside = inside.checked_add(all).ok_or(Overflow)?;
                requests.push(Request { resource: at, count, length: plain, outermost: true });
            }
            let cost = slowdown.slower(charges.job(placement.cost)?)?;
            tasks.push(SetTask {
                name: placement.name.to_owned(),
                core: placement.core,
                priority: placement.priority.into(),
                arrivals: ArrivalPattern::Sporadic,
                period: placement.task.arrival.period(),
                deadline: placement.task.deadline,
                jitter: slowdown.jitter(&charges, placement.task.delay())?,
                body: Body::Anywhere { cost: cost.max(inside), requests },
            });
        }
        let resources = model.resources().iter().map(|one| Resource { name: one.name.clone() });
        let schedulers = vec![model.platform().scheduler; model.platform().cores.len()];
        let set = TaskSet::new(schedulers, resources.collect(), tasks).map_err(|_| Overflow)?;
        Ok(Self { set, guards, switching: slowdown.slower(charges.to_and_from()?)?, slowdown })
    }
}
