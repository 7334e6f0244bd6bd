// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Claims under fixed priority.

use taut_analysis::multi::{
    Bounds, Guard, GuardedSet, Status, TaskBound, fmlp_plus, fmlp07, mixed, mpcp_lnr09_sound, msrp_gai01,
    msrp_holistic, msrp_joint,
};
use taut_analysis::uni::fp::ceiling::Ceilings;
use taut_analysis::uni::fp::offsets::{self, Activity, ActivityPosition, OffsetTheorem, Transaction};
use taut_analysis::uni::fp::{local_locks, sweep};
use taut_analysis::{Assumption, Overflow, Verdict, Why};
use taut_model::{ArrivalPattern, TaskSet};
use taut_sim::{GlobalRule, LocalRule, Rules};
use taut_time::Duration;

use super::{Claim, Protocol, is_phased, judged};
use crate::draw::Shares;

/// The methods for offsets. The exact one may examine this many scenarios per activity.
const METHODS: [(&str, OffsetTheorem); 4] = [
    ("uni::fp::offsets::holistic", OffsetTheorem::Holistic),
    ("uni::fp::offsets::approximate", OffsetTheorem::Approximate),
    ("uni::fp::offsets::slanted", OffsetTheorem::Slanted),
    ("uni::fp::offsets::exact", OffsetTheorem::Exact(1000)),
];

/// The protocols under fixed priority, with their claims.
pub(super) fn protocols(
    set: &TaskSet,
    shares: Shares,
    canary: Option<&str>,
) -> Result<Vec<Protocol>, String> {
    let rules = |core, global| Rules::all(set, core, global);
    let weak = |name: &str| canary == Some(name);
    if shares != Shares::Global {
        let mut claims = vec![locks(set, weak("uni::fp::local_locks"))?];
        if shares == Shares::Nothing {
            claims.extend(swept(set)?);
        }
        claims.extend(with_offsets(set, canary)?);
        let mut all = vec![Protocol { rules: rules(LocalRule::Immediate, GlobalRule::Msrp), claims }];
        if shares == Shares::Local {
            let claims = vec![locks(set, weak("uni::fp::local_locks"))?];
            all.push(Protocol { rules: rules(LocalRule::Original, GlobalRule::Msrp), claims });
        }
        return Ok(all);
    }
    let claim = |name, found| of_bounds(set, name, found, weak(name));
    let mpcp = || {
        let sound = claim("multi::mpcp_lnr09_sound", mpcp_lnr09_sound::response_times(set))?;
        #[cfg(feature = "linear-programming")]
        let linear =
            Some(claim("multi::mpcp_linear", taut_analysis::multi::mpcp_linear::response_times(set))?);
        #[cfg(not(feature = "linear-programming"))]
        let linear = None;
        Ok::<_, String>([sound].into_iter().chain(linear).collect::<Vec<_>>())
    };
    let fmlp = || claim("multi::fmlp_plus", fmlp_plus::response_times(set));
    let short = fmlp07::response_times(set, |_| fmlp07::FmlpResource::Short);
    let long = fmlp07::response_times(set, |_| fmlp07::FmlpResource::Long);
    let kind = |at| if suspends(at) { fmlp07::FmlpResource::Long } else { fmlp07::FmlpResource::Short };
    let short_and_long = fmlp07::response_times(set, kind);
    Ok(vec![
        Protocol {
            rules: rules(LocalRule::Immediate, GlobalRule::Msrp),
            claims: vec![
                claim("multi::msrp_gai01", msrp_gai01::response_times(set))?,
                claim("multi::msrp_holistic", msrp_holistic::response_times(set))?,
                claim("multi::msrp_joint", msrp_joint::response_times(set))?,
                claim("multi::fmlp07", short)?,
            ],
        },
        Protocol { rules: rules(LocalRule::Immediate, GlobalRule::Mpcp), claims: mpcp()? },
        Protocol { rules: rules(LocalRule::Original, GlobalRule::Mpcp), claims: mpcp()? },
        Protocol {
            rules: rules(LocalRule::Immediate, GlobalRule::FmlpLong),
            claims: vec![fmlp()?, claim("multi::fmlp07", long)?],
        },
        Protocol { rules: rules(LocalRule::Original, GlobalRule::FmlpLong), claims: vec![fmlp()?] },
        Protocol { rules: by_turns(set, GlobalRule::Mpcp), claims: vec![claim("multi::mixed", both(set))?] },
        Protocol {
            rules: by_turns(set, GlobalRule::FmlpLong),
            claims: vec![claim("multi::fmlp07", short_and_long)?],
        },
    ])
}

/// Whether a job that waits for this resource suspends, in a set with both kinds of lock.
fn suspends(resource: usize) -> bool {
    resource.is_multiple_of(2)
}

/// The rules with `suspending` for resources that suspend, and spinning for the others.
fn by_turns(set: &TaskSet, suspending: GlobalRule) -> Rules {
    let mut rules = Rules::all(set, LocalRule::Immediate, GlobalRule::Msrp);
    for (_, rule) in rules.resources.iter_mut().enumerate().filter(|(at, _)| suspends(*at)) {
        *rule = suspending;
    }
    rules
}

/// The bounds of a set with both MPCP and MSRP.
fn both(set: &TaskSet) -> Result<Verdict<Bounds>, Overflow> {
    let mut guarded = match GuardedSet::new(set)? {
        Ok(guarded) => guarded,
        Err(assumption) => return Ok(Verdict::NotApplicable(assumption)),
    };
    for resource in (0..set.resources().len()).filter(|&at| suspends(at)) {
        guarded.guard(resource, Guard::Suspending);
    }
    mixed::response_times(&guarded)
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
    let of_task = |task: &TaskBound| {
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

/// The bounds by `sweep`, the fast form for whole cores; none if two tasks share a priority, which it does not
/// support.
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
            sweep::SweepTask {
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

/// The claims of every method for offsets, if some task has an offset. Tasks of a core with given offsets and the
/// same period form one transaction; every other task is a transaction of its own.
fn with_offsets(set: &TaskSet, canary: Option<&str>) -> Result<Vec<Claim>, String> {
    if !(0..set.cores().len()).any(|core| is_phased(set, core)) {
        return Ok(Vec::new());
    }
    let ceilings = Ceilings::of(set);
    let claim = |(name, method): (&'static str, OffsetTheorem)| {
        let mut bounds = vec![None; set.tasks().len()];
        for core in 0..set.cores().len() {
            let (mut transactions, mut places): (Vec<Transaction>, Vec<Vec<usize>>) =
                (Vec::new(), Vec::new());
            let mut phased: Vec<usize> = Vec::new();
            for at in set.on_core(core) {
                let task = &set.tasks()[at];
                let (offset, is_phased) = match task.arrivals {
                    ArrivalPattern::Phased(offset) => (offset, true),
                    _ => (Duration::ZERO, false),
                };
                let blocking = ceilings.blocking(set, at).time;
                let activity = Activity {
                    cost: set.cost(at),
                    cost_least: Duration::ZERO,
                    priority: task.priority,
                    offset,
                    jitter: task.jitter,
                    blocking: if canary == Some(name) { Duration::ZERO } else { blocking },
                    deadline: offset.checked_add(task.deadline).ok_or("a deadline that does not fit")?,
                };
                let same = |of: &&usize| is_phased && transactions[**of].period == task.period;
                if let Some(&of) = phased.iter().find(same) {
                    transactions[of].activities.push(activity);
                    places[of].push(at);
                    continue;
                }
                if is_phased {
                    phased.push(transactions.len());
                }
                let periodic = task.arrivals != ArrivalPattern::Sporadic;
                transactions.push(Transaction { period: task.period, periodic, activities: vec![activity] });
                places.push(vec![at]);
            }
            for (transaction, of) in places.iter().enumerate() {
                for (activity, &at) in of.iter().enumerate() {
                    let place = ActivityPosition { transaction, activity };
                    let found = offsets::response(method, &transactions, place);
                    let offset = transactions[transaction].activities[activity].offset;
                    bounds[at] = match found.map_err(|overflow| overflow.to_string())? {
                        Verdict::NotApplicable(Assumption::FewScenarios) => None,
                        found => judged(Ok(found))?.bound().map(|r| r.from_event.saturating_sub(offset)),
                    };
                }
            }
        }
        Ok(Claim { name, accepted: bounds.iter().all(Option::is_some), bounds })
    };
    METHODS.into_iter().map(claim).collect()
}
