// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Tasks as a search for mechanisms takes them: charged for what does not depend on it, and beside that what each kind
//! of guard adds. As [`super::charge`] charges a decided application, but for roundings, which are against us.

use taut_analysis::Overflow;
use taut_model::{Arrivals, Body, Model, Request, Resource, SetTask, TaskSet};
use taut_time::Duration;

use super::charge::Probe;
use super::choose::is_global;
use crate::placement::Placements;

/// A set in which every section is as long as it executes.
pub(crate) struct Layout {
    pub(crate) set: TaskSet,
    /// By resource.
    pub(crate) guards: Vec<Prices>,
    /// What comes to a job for each request that may be suspended.
    pub(crate) switching: Duration,
    /// What stretches all that executes.
    probe: Probe,
}

/// By how much sections of a resource are longer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Prices {
    /// Whether tasks of several cores use it.
    pub(crate) global: bool,
    /// Under a ceiling.
    pub(crate) ceiling: Duration,
    /// While others spin.
    pub(crate) spinning: Duration,
    /// While others are suspended.
    pub(crate) suspending: Duration,
}

impl Layout {
    /// Execution as it is seen beside the platform probe.
    pub(crate) fn slower(&self, time: Duration) -> Result<Duration, Overflow> {
        self.probe.slower(time)
    }

    /// Lays out a model whose tasks say no order of segments and have no stretch that is not preempted.
    pub(crate) fn of(model: &Model, placements: &Placements<'_>) -> Result<Self, Overflow> {
        let overheads = model.platform().overheads;
        let probe = Probe::new(&overheads)?;
        let switches = overheads.context_switch.checked_mul(2).ok_or(Overflow)?;
        let rest = |at| Prices { global: is_global(placements, at), ..Prices::default() };
        let mut guards: Vec<Prices> = (0..model.resources().len()).map(rest).collect();
        let mut tasks = Vec::with_capacity(placements.placements.len());
        for placement in &placements.placements {
            let (mut requests, mut inside) = (Vec::new(), Duration::ZERO);
            for section in &placement.task.sections {
                let (at, count) = (section.resource.index(), section.count);
                let length = placement.task.wcet.with_margin(section.longest).ok_or(Overflow)?;
                let plain = probe.slower(length)?;
                let longer = |parts: &[Duration]| {
                    parts.iter().try_fold(length, |sum, part| sum.checked_add(*part)).ok_or(Overflow)
                };
                let beside = |held: Duration| held.saturating_sub(plain);
                let (lock, kernel) = (overheads.lock, overheads.kernel_blocking);
                let guard = &mut guards[at];
                // 1 ns of the lock and 1 of its scaling are rounded up.
                let ceiling = probe.slower(longer(&[lock, Duration::from_ns(2)])?)?;
                guard.ceiling = guard.ceiling.max(beside(ceiling));
                guard.spinning = guard.spinning.max(beside(probe.section(longer(&[lock, kernel])?)?));
                let suspending = probe.section(longer(&[lock, kernel, overheads.release])?)?;
                guard.suspending = guard.suspending.max(beside(suspending));
                let all = plain.checked_mul(count.into()).ok_or(Overflow)?;
                inside = inside.checked_add(all).ok_or(Overflow)?;
                requests.push(Request { resource: at, count, length: plain, outermost: true });
            }
            let cost = probe.slower(placement.cost.checked_add(switches).ok_or(Overflow)?)?;
            tasks.push(SetTask {
                name: placement.name.to_owned(),
                core: placement.core,
                priority: placement.priority.into(),
                arrivals: Arrivals::Sporadic,
                period: placement.task.arrival.period(),
                deadline: placement.task.deadline,
                jitter: probe.late(&overheads, placement.task.delay())?,
                body: Body::Anywhere { cost: cost.max(inside), requests },
            });
        }
        let resources = model.resources().iter().map(|one| Resource { name: one.name.clone() });
        let schedulers = vec![model.platform().scheduler; model.platform().cores.len()];
        let set = TaskSet::new(schedulers, resources.collect(), tasks).map_err(|_| Overflow)?;
        Ok(Self { set, guards, switching: probe.slower(switches)?, probe })
    }
}
