// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Fixed priority, one core at a time.

use serde_json::Value;
use taut_analysis::uni::edf::demand;
use taut_analysis::uni::fp::preemptive::{FpTask, Subject};
use taut_analysis::uni::fp::{arbitrary, local_locks, non_preemptive};
use taut_model::ArrivalPattern;
use taut_model::{SchedulingPolicy, SetTask, TaskSet};
use taut_time::Duration;

use super::values::{equal, said, same, same_count, settled, times};
use super::{Found, STEP, done, edf};
use crate::case::Case;
use crate::table::{Agreement, Compared};

/// The crate for response times was asked only for bounds up to this.
const CRATE_LIMIT: Duration = Duration::from_us(20_000_000);

/// The outcome for a result, if its name is listed here.
pub(super) fn result_of(
    case: &Case,
    tool: &str,
    analysis: &str,
    result: &Value,
) -> Result<Option<Found>, String> {
    let fixed = || case.set(SchedulingPolicy::FixedPriority, |_| ());
    let found = match (tool, analysis) {
        ("schedcat", "fp_rta_noblock") => {
            let set = fixed()?;
            // The tool's verdict is about deadlines, and it gives R only if all deadlines are met.
            let found = fixed_priority(&set, |_| Duration::ZERO)?;
            let ours = |at: usize| found[at].filter(|r| *r <= set.tasks()[at].deadline);
            settled("uni::fp::arbitrary", result, &[("R", &ours)], set.tasks().len())
        }
        ("rta_crate", "fp_preemptive") => {
            let ours = fixed_priority(&fixed()?, |_| Duration::ZERO)?;
            same("uni::fp::arbitrary", result, &below(ours))
        }
        ("rta_crate", "fp_preemptive_jitter_T10") => {
            same("uni::fp::arbitrary", result, &below(with_jitter(case)?))
        }
        ("pycpa", "spp_jitter_T10") => same("uni::fp::arbitrary", result, &with_jitter(case)?),
        ("pycpa", "spp") => {
            same("uni::fp::arbitrary", result, &fixed_priority(&fixed()?, |_| Duration::ZERO)?)
        }
        ("rta_crate", "fp_floating_np") => {
            let set = fixed()?;
            let longest = |at: usize| set.requests(at).iter().map(|request| request.length).max();
            let blocking = |at: usize| {
                let sections = lower(&set, at).filter_map(longest);
                sections.max().map_or(Duration::ZERO, |time| time.saturating_sub(STEP))
            };
            same("uni::fp::arbitrary", result, &below(fixed_priority(&set, blocking)?))
        }
        ("rta_crate", "fp_nonpreemptive") => {
            let set = fixed()?;
            let blocking = |at: usize| non_preemptive::blocking(lower(&set, at).map(|l| set.cost(l)), STEP);
            let ours = each(&set, blocking, |subject, higher| {
                said(non_preemptive::response(subject, higher)).map(|v| v.bound().map(|r| r.from_release))
            })?;
            same("uni::fp::non_preemptive", result, &below(ours))
        }
        ("mast", "classic_rm") => ceilings(case, result),
        _ => return Ok(None),
    };
    found.map(Some)
}

/// The less urgent tasks of the same core.
fn lower(set: &TaskSet, at: usize) -> impl Iterator<Item = usize> + '_ {
    let own = &set.tasks()[at];
    set.on_core(own.core).filter(|&other| set.tasks()[other].priority < own.priority)
}

/// R of every task from its release, whatever its deadline.
fn fixed_priority(
    set: &TaskSet,
    blocking: impl Fn(usize) -> Duration,
) -> Result<Vec<Option<Duration>>, String> {
    each(set, blocking, |subject, higher| {
        said(arbitrary::response(subject, higher)).map(|verdict| verdict.bound().map(|r| r.from_release))
    })
}

fn each(
    set: &TaskSet,
    blocking: impl Fn(usize) -> Duration,
    ask: impl Fn(&Subject, &[FpTask]) -> Result<Option<Duration>, String>,
) -> Result<Vec<Option<Duration>>, String> {
    let plain = |at: usize| FpTask {
        cost: set.cost(at),
        period: set.tasks()[at].period,
        jitter: set.tasks()[at].jitter,
        arrivals: ArrivalPattern::Periodic,
    };
    let of_task = |at: usize| {
        let own = &set.tasks()[at];
        let above = |other: &usize| *other != at && set.tasks()[*other].priority >= own.priority;
        let higher: Vec<_> = set.on_core(own.core).filter(above).map(plain).collect();
        let subject = Subject {
            task: plain(at),
            deadline: Duration::MAX,
            blocking: blocking(at),
            blocking_attained: true,
            preemptible: true,
        };
        ask(&subject, &higher)
    };
    (0..set.tasks().len()).map(of_task).collect()
}

/// R with a tenth of the period as jitter, in whole microseconds.
fn with_jitter(case: &Case) -> Result<Vec<Option<Duration>>, String> {
    let tenth = |task: &mut SetTask| task.jitter = Duration::from_us(task.period.as_ns() / 1000 / 10);
    fixed_priority(&case.set(SchedulingPolicy::FixedPriority, tenth)?, |_| Duration::ZERO)
}

/// Drops the bounds that the crate would not have searched for.
fn below(found: Vec<Option<Duration>>) -> Vec<Option<Duration>> {
    found.into_iter().map(|r| r.filter(|r| *r <= CRATE_LIMIT)).collect()
}

fn ceilings(case: &Case, result: &Value) -> Result<Found, String> {
    if !done(result) {
        return Ok(Found::Left("it did not finish"));
    }
    // MAST compares with deadlines afterwards.
    let set = case.set(SchedulingPolicy::FixedPriority, |task| task.deadline = Duration::MAX)?;
    let mut found = Vec::new();
    for core in 0..set.cores().len() {
        found.extend(said(local_locks::responses(&set, core))?);
    }
    found.sort_by_key(|found| found.task);
    let (blocking, responses) = (times(&result["B"])?, times(&result["R"])?);
    same_count(&blocking, found.len())?;
    same_count(&responses, found.len())?;
    let mut compared = Compared::default();
    equal(&mut compared, "B", &blocking, |at| Some(found[at].blocking.time));
    equal(&mut compared, "R", &responses, |at| found[at].verdict.bound().map(|r| r.from_arrival));
    Ok(Found::Compared("uni::fp::ceiling, local_locks", Agreement::Equal, compared))
}

/// SimSo's clock is a float in milliseconds, rounded down somewhere below a microsecond. So a response may exceed a
/// bound by a microsecond. SimSo ignores sections.
pub(super) fn simso(case: &Case, scheduler: &str, result: &Value) -> Result<Found, String> {
    let reached = result["max_R_ms"].as_array().ok_or("no list in `max_R_ms`")?;
    let misses = result["misses"].as_u64().ok_or("no count in `misses`")?;
    let mut compared = Compared::default();
    if scheduler.starts_with("EDF") {
        let accepted = edf::all_cores(&case.set(SchedulingPolicy::Edf, |_| ())?, demand::core)?;
        if !accepted {
            return Ok(Found::Left("our analysis proves nothing of the set, so no run can contradict it"));
        }
        compared.take(misses == 0, || format!("{misses} deadlines missed in a set that ours accepts"));
        return Ok(Found::Compared("uni::edf::demand", Agreement::Reached, compared));
    }
    if scheduler != "FP" {
        return Ok(Found::Left("the name is not known here"));
    }
    let bounds = fixed_priority(&case.set(SchedulingPolicy::FixedPriority, |_| ())?, |_| Duration::ZERO)?;
    if reached.len() != bounds.len() {
        return Err(format!("{} times for {} tasks", reached.len(), bounds.len()));
    }
    for (at, (reached, bound)) in reached.iter().zip(&bounds).enumerate() {
        let (Some(reached), Some(bound)) = (reached.as_f64(), bound) else { continue };
        let bound_ms = bound.as_ns() as f64 / 1e6;
        compared.take(reached <= bound_ms + 1e-3, || {
            format!("task {at} reached {reached} ms, ours {bound_ms} ms")
        });
    }
    Ok(Found::Compared("uni::fp::arbitrary", Agreement::Reached, compared))
}
