// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! EDF, one core at a time.

use serde_json::Value;
use taut_analysis::uni::edf::response::{self, Blocker, EdfResponse, Locks};
use taut_analysis::uni::edf::{demand, dfp, srp};
use taut_analysis::{Overflow, Verdict, Why};
use taut_model::{SchedulingPolicy, TaskSet};
use taut_time::Duration;

use super::values::{equal, said, same_count, shown, times, verdict};
use super::{Found, STEP};
use crate::case::Case;
use crate::table::{Agreement, Compared};

/// The outcome for a result, if its name is listed here.
pub(super) fn result_of(
    case: &Case,
    tool: &str,
    analysis: &str,
    result: &Value,
) -> Result<Option<Found>, String> {
    let set = || case.set(SchedulingPolicy::Edf, |_| ());
    let found = match (tool, analysis) {
        ("schedcat", "edf_qpa") | ("exhaustive_pdc", "edf") => {
            verdict("uni::edf::demand", result, all_cores(&set()?, demand::core)?)
        }
        ("schedcat", "edf_srp_qpa") | ("exhaustive_pdc", "edf_srp") => {
            verdict("uni::edf::srp", result, all_cores(&set()?, srp::core)?)
        }
        ("rta_crate", "edf_preemptive") => {
            let set = set()?;
            let mut compared = bounds(result, &without_locks(&set, |_| Duration::ZERO)?)?;
            let theirs = times(result)?;
            let fits = |(at, r): (usize, &Option<Duration>)| r.is_some_and(|r| r <= set.tasks()[at].deadline);
            let theirs = theirs.iter().enumerate().all(fits);
            let ours = all_cores(&set, demand::core)?;
            compared.take(theirs == ours, || format!("schedulable: {theirs}, ours {ours}"));
            Ok(Found::Compared("uni::edf::response, demand", Agreement::Equal, compared))
        }
        ("rta_crate", "edf_floating_np") => {
            let set = set()?;
            let longest = |at: usize| {
                let lengths = set.requests(at).iter().map(|request| request.length);
                lengths.max().map_or(Duration::ZERO, |length| length.saturating_sub(STEP))
            };
            let compared = bounds(result, &without_locks(&set, longest)?)?;
            Ok(Found::Compared("uni::edf::response", Agreement::Equal, compared))
        }
        ("own_simulator", "edf_srp") => {
            let locks = Locks::Srp(srp::Levels::Deadline);
            missed("uni::edf::srp, response", &set()?, result, srp::core, locks)
        }
        ("own_simulator", "edf_dfp") => {
            let locks = Locks::Dfp(dfp::Floors::Shared);
            missed("uni::edf::dfp, response", &set()?, result, dfp::core, locks)
        }
        _ => return Ok(None),
    };
    found.map(Some)
}

/// Whether a test accepts every core.
pub(super) fn all_cores(
    set: &TaskSet,
    core: impl Fn(&TaskSet, usize) -> Result<Verdict<demand::Demand>, Overflow>,
) -> Result<bool, String> {
    let mut all = true;
    for at in 0..set.cores().len() {
        match said(core(set, at))? {
            Verdict::NotApplicable(why) => return Err(format!("our analysis does not apply: {why}")),
            verdict => all &= verdict.holds(),
        }
    }
    Ok(all)
}

/// R of every task from its release, whatever its deadline. Sections only block: each for the time that `longest`
/// gives, up to the deadline of the task that is in it.
pub(super) fn without_locks(
    set: &TaskSet,
    longest: impl Fn(usize) -> Duration,
) -> Result<Vec<Option<Duration>>, String> {
    let mut found = vec![None; set.tasks().len()];
    for core in 0..set.cores().len() {
        let tasks: Vec<_> = set.on_core(core).map(|at| demand::EdfTask::of(set, at)).collect();
        let blocker = |at: usize| Blocker {
            time: longest(at),
            from: Duration::ZERO,
            until: set.tasks()[at].deadline,
            of: None,
        };
        let blockers: Vec<_> =
            set.on_core(core).map(blocker).filter(|blocker| !blocker.time.is_zero()).collect();
        for (which, at) in set.on_core(core).enumerate() {
            found[at] = match said(response::response(&tasks, which, &blockers, true))? {
                Verdict::Schedulable(r) | Verdict::Unschedulable(r) | Verdict::NotShown(Why::Passes(r)) => {
                    Some(r.from_release)
                }
                Verdict::NotShown(Why::Rate) => None,
                other => return Err(format!("ours gives no bound: {other:?}")),
            };
        }
    }
    Ok(found)
}

/// Compares the other tool's bounds of all tasks with ours.
fn bounds(result: &Value, ours: &[Option<Duration>]) -> Result<Compared, String> {
    let theirs = times(result)?;
    same_count(&theirs, ours.len())?;
    let mut compared = Compared::default();
    equal(&mut compared, "R", &theirs, |at| ours[at]);
    Ok(compared)
}

/// Compares a run with our verdict and bounds. The bounds count only if the run missed no deadline. Under SRP late
/// jobs can be later than ours, because of jobs that start before a more urgent one that a ceiling keeps out.
fn missed(
    name: &'static str,
    set: &TaskSet,
    result: &Value,
    test: impl Fn(&TaskSet, usize) -> Result<Verdict<demand::Demand>, Overflow>,
    locks: Locks,
) -> Result<Found, String> {
    let missed = result["miss"].as_bool().ok_or("no true or false in `miss`")?;
    let reached = times(&result["max_R"])?;
    same_count(&reached, set.tasks().len())?;
    let mut compared = Compared::default();
    if all_cores(set, test)? {
        compared.take(!missed, || "a deadline was missed in a set that ours accepts".into());
    }
    for core in (0..set.cores().len()).filter(|_| !missed) {
        let ours: Vec<EdfResponse> = match said(response::core(set, core, locks))? {
            Verdict::Schedulable(ours)
            | Verdict::Unschedulable(ours)
            | Verdict::NotShown(Why::Passes(ours)) => ours,
            Verdict::NotShown(Why::Rate) => continue,
            other => return Err(format!("ours gives no bound: {other:?}")),
        };
        for (at, ours) in set.on_core(core).zip(ours) {
            let Some(reached) = reached[at] else { continue };
            let bound = ours.from_arrival;
            compared.take(reached <= bound, || {
                format!("task {at} reached {}, ours {}", shown(Some(reached)), shown(Some(bound)))
            });
        }
    }
    if compared.values == 0 {
        return Ok(Found::Left("a deadline was missed, and our analysis does not exclude that"));
    }
    Ok(Found::Compared(name, Agreement::Reached, compared))
}
