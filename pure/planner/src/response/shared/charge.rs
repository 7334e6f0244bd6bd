// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Charges what the machine adds, always on the safe side:
//!
//! | what | charged as |
//! |---|---|
//! | context switch x | C' = C + 2x; under a protocol that suspends, 2x more for every request of a global resource |
//! | release y, kernel blocking k | J' = J + y + k: both come before a job's first instruction |
//! | lock l | every section is longer by it |
//! | kernel blocking in a section of a resource of several cores | the section is longer by k: others wait for it too |
//! | waking a suspended waiter | under a protocol that suspends, such a section is longer by y |
//! | platform probe | time on its cores goes slower; see below |
//! | segments | each part as above: a lock is taken at the start of its section, context switches at the start of the job |
//! | non-preemptive stretches | sections of a resource that stands for the core, and that all of its tasks use |
//! | an enforced budget | C is what it lets through; under EDF its longest section is such a stretch: [`crate::budget`] |
//!
//! **The probe** runs above all tasks, lock holders and spinning jobs included, so no bound on it depends on them.
//! In a window w it takes at most C_p · ⌈(w + y) / T_p⌉ ≤ K + u · w, with u = C_p / T_p and K = C_p · (1 + y /
//! T_p). Work that takes x of the core's time is over after (x + K) / (1 − u) at most. So all execution is scaled
//! by 1 / (1 − u), and K / (1 − u) is added once to the demand of a window: once per job, as jitter, and once per
//! section that jobs on other cores wait for. Jobs that spin for such a section are under the probe of their own
//! core, so its length is scaled once more.

use taut_analysis::{Overflow, PROBE_COST, PROBE_PERIOD};
use taut_model::{ArrivalPattern, Model, Overheads, Resource, SetTask, TaskSet};
use taut_time::Duration;

use super::work::Charges;
use crate::overheads::budget;
use crate::placement::{Placement, Placements};

/// Tasks as they are analysed, with what was charged.
pub(crate) struct Charged {
    pub(crate) set: TaskSet,
    /// By placement: context switches.
    pub(crate) switches: Vec<Duration>,
    /// By placement: locks, and what is added to global sections.
    pub(crate) locks: Vec<Duration>,
    /// By placement: the platform probe, as cost and as jitter.
    pub(crate) probe: Vec<Duration>,
    /// The part of `probe` that is jitter, the same for all.
    pub(crate) once: Duration,
}

/// What the platform probe does to time.
pub(crate) struct Probe {
    /// C_p, context switches included, and T_p, in ns; the former is less.
    cost: u64,
    period: u64,
    /// K / (1 − u).
    once: Duration,
}

impl Probe {
    pub(crate) fn new(overheads: &Overheads) -> Result<Self, Overflow> {
        let switches = overheads.context_switch.checked_mul(2).ok_or(Overflow)?;
        let cost = PROBE_COST.checked_add(switches).ok_or(Overflow)?;
        // A probe that leaves no time allows no bound.
        if cost >= PROBE_PERIOD {
            return Err(Overflow);
        }
        let mut probe = Self { cost: cost.as_ns(), period: PROBE_PERIOD.as_ns(), once: Duration::ZERO };
        let late = u128::from(probe.cost) * u128::from(overheads.release.as_ns());
        let late = u64::try_from(late.div_ceil(probe.period.into())).map_err(|_| Overflow)?;
        probe.once = probe.slower(cost.checked_add(Duration::from_ns(late)).ok_or(Overflow)?)?;
        Ok(probe)
    }

    /// x / (1 − u), rounded up.
    pub(crate) fn slower(&self, time: Duration) -> Result<Duration, Overflow> {
        let scaled = u128::from(time.as_ns()) * u128::from(self.period);
        let scaled = scaled.div_ceil(u128::from(self.period - self.cost));
        u64::try_from(scaled).map(Duration::from_ns).map_err(|_| Overflow)
    }

    /// J': the jitter, with what else comes before a job's first instruction, and the probe once.
    pub(crate) fn late(&self, overheads: &Overheads, jitter: Duration) -> Result<Duration, Overflow> {
        let parts = [overheads.release, overheads.kernel_blocking, self.once];
        parts.into_iter().try_fold(jitter, Duration::checked_add).ok_or(Overflow)
    }

    /// How long a section takes at most, as jobs on another core that wait for it see it.
    pub(crate) fn section(&self, time: Duration) -> Result<Duration, Overflow> {
        let real = self.slower(time)?.checked_add(self.once).ok_or(Overflow)?;
        self.slower(real)
    }
}

/// The set to analyse: one task per placement, in their order.
pub(crate) fn charged(
    model: &Model,
    placements: &Placements<'_>,
    global: &[bool],
    suspends: &[bool],
) -> Result<Charged, Overflow> {
    let overheads = model.platform().overheads;
    let probe = Probe::new(&overheads)?;
    let switches = overheads.context_switch.checked_mul(2).ok_or(Overflow)?;
    let cores = model.platform().cores.len();
    // One more resource per core with a non-preemptive stretch: the core itself.
    let mut resources: Vec<Resource> =
        model.resources().iter().map(|shared| Resource { name: shared.name.clone() }).collect();
    let scheduler = model.platform().scheduler;
    let blocks_all = |placement: &Placement<'_>| budget::blocks_all(placement.task, scheduler, &overheads);
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
    let charges = Charges { overheads, probe: &probe, global, suspends, switches };
    for placement in &placements.placements {
        let work = charges.work(placement, kept[placement.core].map(|core| (core, blocks_all(placement))))?;
        tasks.push(SetTask {
            name: placement.name.to_owned(),
            core: placement.core,
            priority: placement.priority.into(),
            arrivals: ArrivalPattern::Sporadic,
            period: placement.task.arrival.period(),
            deadline: placement.task.deadline,
            jitter: probe.late(&overheads, placement.task.delay())?,
            body: work.body,
        });
        // The rest of the cost is locks, and what is added to global sections.
        let reported = [placement.cost, work.switching, work.slowed];
        let reported =
            reported.into_iter().try_fold(Duration::ZERO, Duration::checked_add).ok_or(Overflow)?;
        of_locks.push(work.cost.saturating_sub(reported));
        of_switches.push(work.switching);
        of_probe.push(work.slowed.checked_add(probe.once).ok_or(Overflow)?);
    }
    let schedulers = vec![model.platform().scheduler; cores];
    // The model guarantees what a set requires, so the only error left is a sum that does not fit.
    let set = TaskSet::new(schedulers, resources, tasks).map_err(|_| Overflow)?;
    Ok(Charged { set, switches: of_switches, locks: of_locks, probe: of_probe, once: probe.once })
}
