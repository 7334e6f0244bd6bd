// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What is claimed of random sets: by every analysis that is sound for them, under the rules that it speaks of.

use core::fmt;

use taut_analysis::multi::{
    Bounds, Status, edf_msrp, fmlp_plus, fmlp07, mpcp_lnr09_sound, msrp_gai01, msrp_holistic,
};
use taut_analysis::uni::edf::{demand, dfp, srp};
use taut_analysis::uni::fp::{local_locks, sweep};
use taut_analysis::{Overflow, Verdict, Why};
use taut_model::{Scheduler, TaskSet};
use taut_sim::{CoreRule, GlobalRule, Rules};
use taut_time::Duration;

use crate::draw::{self, Draw, Shares};

/// What an analysis says of a set.
pub(crate) struct Claim {
    pub(crate) name: &'static str,
    /// Of each task, if it is proven.
    pub(crate) bounds: Vec<Option<Duration>>,
    /// Whether all deadlines are kept.
    pub(crate) accepted: bool,
}

/// How a set is run, and what is claimed of these runs.
pub(crate) struct Protocol {
    pub(crate) rules: Rules,
    pub(crate) claims: Vec<Claim>,
}

/// The names of all analyses that can be weakened.
pub(crate) const CANARIES: [&str; 9] = [
    "uni::fp::local_locks",
    "multi::msrp_gai01",
    "multi::msrp_holistic",
    "multi::mpcp_lnr09_sound",
    "multi::fmlp_plus",
    "multi::fmlp07",
    "uni::edf::srp",
    "uni::edf::dfp",
    "multi::edf_msrp",
];

/// A set with all that is claimed of it.
pub(crate) struct Claimed {
    pub(crate) set: TaskSet,
    pub(crate) protocols: Vec<Protocol>,
}

impl Claim {
    /// What no response of a task may exceed, if something is claimed of it.
    pub(crate) fn limit(&self, set: &TaskSet, task: usize) -> Option<Duration> {
        let deadline = self.accepted.then(|| set.tasks()[task].deadline);
        self.bounds.get(task).copied().flatten().or(deadline)
    }
}

impl Protocol {
    /// Whether anything is claimed that a run could contradict.
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

/// The sets of a seed. One analysis may be weakened on purpose: it forgets that less urgent tasks are in the way.
pub(crate) fn of_seed(seed: u64, canary: Option<&str>) -> Result<Vec<Claimed>, String> {
    let mut draw = Draw::new(seed);
    let wish = draw::wish(&mut draw);
    let (mut tasks, resources) = draw::tasks(&mut draw, &wish);
    let set = draw::set(wish.cores, Scheduler::FixedPriority, &tasks, resources)?;
    let fixed = Claimed { protocols: fixed_priority(&set, wish.shares, canary)?, set };
    // With resources, the tests of EDF know no jitter.
    if wish.shares != Shares::Nothing {
        tasks.iter_mut().for_each(|task| task.jitter = Duration::ZERO);
    }
    let set = draw::set(wish.cores, Scheduler::Edf, &tasks, resources)?;
    let edf = Claimed { protocols: earliest_deadline(&set, wish.shares, canary)?, set };
    Ok(vec![fixed, edf])
}

fn fixed_priority(set: &TaskSet, shares: Shares, canary: Option<&str>) -> Result<Vec<Protocol>, String> {
    let rules = |core, global| Rules::all(set, core, global);
    let weak = |name: &str| canary == Some(name);
    if shares != Shares::Global {
        let mut claims = vec![locks(set, weak("uni::fp::local_locks"))?];
        if shares == Shares::Nothing {
            claims.extend(swept(set)?);
        }
        let mut all = vec![Protocol { rules: rules(CoreRule::Immediate, GlobalRule::Msrp), claims }];
        if shares == Shares::Local {
            let claims = vec![locks(set, weak("uni::fp::local_locks"))?];
            all.push(Protocol { rules: rules(CoreRule::Original, GlobalRule::Msrp), claims });
        }
        return Ok(all);
    }
    let claim = |name, found| of_bounds(set, name, found, weak(name));
    let mpcp = || claim("multi::mpcp_lnr09_sound", mpcp_lnr09_sound::response_times(set));
    let fmlp = || claim("multi::fmlp_plus", fmlp_plus::response_times(set));
    let short = fmlp07::response_times(set, |_| fmlp07::Kind::Short);
    let long = fmlp07::response_times(set, |_| fmlp07::Kind::Long);
    Ok(vec![
        Protocol {
            rules: rules(CoreRule::Immediate, GlobalRule::Msrp),
            claims: vec![
                claim("multi::msrp_gai01", msrp_gai01::response_times(set))?,
                claim("multi::msrp_holistic", msrp_holistic::response_times(set))?,
                claim("multi::fmlp07", short)?,
            ],
        },
        Protocol { rules: rules(CoreRule::Immediate, GlobalRule::Mpcp), claims: vec![mpcp()?] },
        Protocol { rules: rules(CoreRule::Original, GlobalRule::Mpcp), claims: vec![mpcp()?] },
        Protocol {
            rules: rules(CoreRule::Immediate, GlobalRule::FmlpLong),
            claims: vec![fmlp()?, claim("multi::fmlp07", long)?],
        },
        Protocol { rules: rules(CoreRule::Original, GlobalRule::FmlpLong), claims: vec![fmlp()?] },
    ])
}

fn earliest_deadline(set: &TaskSet, shares: Shares, canary: Option<&str>) -> Result<Vec<Protocol>, String> {
    let rules = |core| Rules::all(set, core, GlobalRule::Msrp);
    // Who forgets what is in the way asks for the demand alone.
    let verdict = |name: &'static str, core: CoreTest| {
        let core = if canary == Some(name) { demand::core } else { core };
        let mut accepted = true;
        for at in 0..set.cores().len() {
            accepted &= judged(core(set, at))?.holds();
        }
        Ok::<_, String>(Claim { name, bounds: Vec::new(), accepted })
    };
    let floor = CoreRule::Dfp { jitter: None };
    Ok(match shares {
        Shares::Nothing => vec![Protocol {
            rules: rules(CoreRule::Srp),
            claims: vec![verdict("uni::edf::demand", demand::core)?],
        }],
        Shares::Local => vec![
            Protocol { rules: rules(CoreRule::Srp), claims: vec![verdict("uni::edf::srp", srp::core)?] },
            Protocol { rules: rules(floor), claims: vec![verdict("uni::edf::dfp", dfp::core)?] },
        ],
        Shares::Global => {
            let name = "multi::edf_msrp";
            let claim = if canary == Some(name) {
                verdict(name, demand::core)?
            } else {
                Claim { name, bounds: Vec::new(), accepted: judged(edf_msrp::cores(set))?.holds() }
            };
            vec![Protocol { rules: rules(CoreRule::Srp), claims: vec![claim] }]
        }
    })
}

type CoreTest = fn(&TaskSet, usize) -> Result<Verdict<demand::Demand>, Overflow>;

/// A verdict about a set that the generator made for this analysis: it applies.
fn judged<B>(found: Result<Verdict<B>, Overflow>) -> Result<Verdict<B>, String> {
    match found.map_err(|overflow| overflow.to_string())? {
        Verdict::NotApplicable(why) => Err(format!("an analysis does not apply: {why}")),
        verdict => Ok(verdict),
    }
}

fn of_bounds(
    set: &TaskSet,
    name: &'static str,
    found: Result<Verdict<Bounds>, Overflow>,
    weak: bool,
) -> Result<Claim, String> {
    let found = judged(found)?;
    let accepted = found.holds();
    let bounds = match found {
        Verdict::Schedulable(bounds)
        | Verdict::NotShown(Why::Passes(bounds))
        | Verdict::Unschedulable(bounds) => bounds.tasks,
        _ => return Ok(Claim { name, bounds: vec![None; set.tasks().len()], accepted: false }),
    };
    let of_task = |task: &taut_analysis::multi::TaskBound| {
        let forgotten = if weak { task.terms.local_blocking } else { Duration::ZERO };
        (task.status == Status::Proven).then(|| task.from_arrival.saturating_sub(forgotten))
    };
    Ok(Claim { name, bounds: bounds.iter().map(of_task).collect(), accepted })
}

fn locks(set: &TaskSet, weak: bool) -> Result<Claim, String> {
    let mut bounds = vec![None; set.tasks().len()];
    for core in 0..set.cores().len() {
        for found in local_locks::responses(set, core).map_err(|overflow| overflow.to_string())? {
            let forgotten = if weak { found.blocking.time } else { Duration::ZERO };
            let bound = judged(Ok(found.verdict))?.bound().map(|r| r.from_arrival);
            bounds[found.task] = bound.map(|bound| bound.saturating_sub(forgotten));
        }
    }
    let accepted = bounds.iter().all(Option::is_some);
    Ok(Claim { name: "uni::fp::local_locks", bounds, accepted })
}

/// The fast form for whole cores; none if two tasks are as urgent, which it does not know.
fn swept(set: &TaskSet) -> Result<Option<Claim>, String> {
    let mut bounds = vec![None; set.tasks().len()];
    let mut levels = Vec::new();
    for core in 0..set.cores().len() {
        let mut order: Vec<usize> = set.on_core(core).collect();
        order.sort_by_key(|&at| u32::MAX - set.tasks()[at].priority);
        if order.windows(2).any(|pair| set.tasks()[pair[0]].priority == set.tasks()[pair[1]].priority) {
            return Ok(None);
        }
        let task = |&at: &usize| {
            let task = &set.tasks()[at];
            sweep::Task {
                cost: set.cost(at),
                period: task.period,
                deadline: task.deadline,
                jitter: task.jitter,
                blocking: Duration::ZERO,
            }
        };
        let tasks: Vec<_> = order.iter().map(task).collect();
        let shown = match judged(sweep::responses(&tasks, &mut levels))? {
            Verdict::Schedulable(_) => tasks.len(),
            Verdict::NotShown(Why::Passes(at)) | Verdict::Unschedulable(at) => at,
            _ => 0,
        };
        for (&at, level) in order.iter().zip(&levels).take(shown) {
            bounds[at] = Some(level.response);
        }
    }
    let accepted = bounds.iter().all(Option::is_some);
    Ok(Some(Claim { name: "uni::fp::sweep", bounds, accepted }))
}
