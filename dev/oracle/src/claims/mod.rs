// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Claims about random sets: by every analysis that is sound for them, under the rules that it covers.

mod edf;
mod fixed;
mod regions;

use core::fmt;

use taut_analysis::{Overflow, Verdict};
use taut_model::{ArrivalPattern, SchedulingPolicy, TaskSet};
use taut_sim::Rules;
use taut_time::Duration;

use crate::draw::{self, Draw, Shares};

/// The claim of one analysis about a set.
pub(crate) struct Claim {
    pub(crate) name: &'static str,
    /// The bound of each task, if it is proven.
    pub(crate) bounds: Vec<Option<Duration>>,
    /// Whether the analysis claims that all deadlines are met.
    pub(crate) accepted: bool,
}

/// The rules of a run, and the claims about runs under these rules.
pub(crate) struct Protocol {
    pub(crate) rules: Rules,
    pub(crate) claims: Vec<Claim>,
}

/// The analyses that can be weakened. The hunt leaves out the last ones.
pub(crate) const CANARIES: &[&str] = &[
    "uni::fp::local_locks",
    "uni::fp::limited_preemption",
    "uni::fp::non_preemptive",
    "uni::fp::offsets::holistic",
    "uni::fp::offsets::approximate",
    "uni::fp::offsets::slanted",
    "uni::fp::offsets::exact",
    "multi::msrp_gai01",
    "multi::msrp_holistic",
    "multi::msrp_joint",
    "multi::mpcp_lnr09_sound",
    #[cfg(feature = "linear-programming")]
    "multi::mpcp_linear",
    "multi::fmlp_plus",
    "multi::fmlp07",
    "multi::mixed",
    "uni::edf::srp",
    "uni::edf::dfp",
    "uni::edf::response",
    "multi::edf_msrp",
    "uni::server::polling",
    "uni::server::deferrable",
    "uni::server::sporadic",
];

/// How many of them are servers, whose runs differ in kind.
const SERVERS: usize = 3;

/// The analyses that the hunt covers.
pub(crate) fn hunted() -> &'static [&'static str] {
    &CANARIES[..CANARIES.len() - SERVERS]
}

/// A set with all claims about it.
pub(crate) struct Claimed {
    pub(crate) set: TaskSet,
    pub(crate) protocols: Vec<Protocol>,
}

impl Claim {
    /// The response time that no job of a task may exceed, if the claim covers the task.
    pub(crate) fn limit(&self, set: &TaskSet, task: usize) -> Option<Duration> {
        let deadline = self.accepted.then(|| set.tasks()[task].deadline);
        self.bounds.get(task).copied().flatten().or(deadline)
    }
}

impl Protocol {
    /// Whether there is a claim that a run could contradict.
    pub(crate) fn says_something(&self) -> bool {
        self.claims.iter().any(|claim| claim.accepted || claim.bounds.iter().any(Option::is_some))
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rules.cores.first() {
            Some(core) => write!(f, "{core:?}")?,
            None => f.write_str("no core")?,
        }
        match self.rules.resources.first() {
            Some(global) => write!(f, ", {global:?}"),
            None => Ok(()),
        }
    }
}

/// The sets of a seed. The analysis `canary` is weakened on purpose: it ignores blocking by less urgent tasks.
pub(crate) fn of_seed(seed: u64, canary: Option<&str>) -> Result<Vec<Claimed>, String> {
    let mut draw = Draw::new(seed);
    let requirements = draw::requirements(&mut draw);
    let (mut tasks, resources) = draw::tasks(&mut draw, &requirements);
    let set = draw::set(requirements.cores, SchedulingPolicy::FixedPriority, &tasks, resources)?;
    let protocols = fixed::protocols(&set, requirements.shares, canary)?;
    let mut all = vec![Claimed { set, protocols }];
    if requirements.shares == Shares::Nothing {
        let (set, protocols) = regions::of(&mut draw, requirements.cores, &tasks, canary)?;
        all.push(Claimed { set, protocols });
    }
    // With global resources, only EDF analyses support deadlines past the period.
    if requirements.shares == Shares::Global && draw.chance(33) {
        for task in &mut tasks {
            let times = draw.pick(100, 300);
            task.deadline = Duration::from_ns(task.period.as_ns() * times / 100).max(task.deadline);
        }
    }
    let set = draw::set(requirements.cores, SchedulingPolicy::Edf, &tasks, resources)?;
    let protocols = edf::protocols(&set, requirements.shares, canary)?;
    all.push(Claimed { set, protocols });
    Ok(all)
}

/// The claims about a set under the scheduler of its cores.
pub(crate) fn of(set: &TaskSet, shares: Shares) -> Result<Vec<Protocol>, String> {
    match set.cores().first() {
        Some(SchedulingPolicy::Edf) => edf::protocols(set, shares, None),
        _ => fixed::protocols(set, shares, None),
    }
}

/// Whether a task of a core begins at a given offset.
fn is_phased(set: &TaskSet, core: usize) -> bool {
    set.on_core(core).any(|at| matches!(set.tasks()[at].arrivals, ArrivalPattern::Phased(_)))
}

/// The verdict about a set that the generator made for this analysis. An analysis that does not apply is an error.
pub(super) fn judged<B>(found: Result<Verdict<B>, Overflow>) -> Result<Verdict<B>, String> {
    match found.map_err(|overflow| overflow.to_string())? {
        Verdict::NotApplicable(why) => Err(format!("an analysis does not apply: {why}")),
        verdict => Ok(verdict),
    }
}
