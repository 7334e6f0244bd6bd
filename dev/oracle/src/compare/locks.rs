// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Global resources.

use serde_json::Value;
use taut_analysis::multi::unsound::mpcp_lnr09_paper::{self, Claims};
use taut_analysis::multi::{
    Bounds, ResponseTerms, Status, TaskBound, edf_msrp, fmlp_plus, mpcp_lnr09_sound, msrp_gai01,
    msrp_holistic, msrp_joint,
};
use taut_analysis::{Overflow, Verdict};
use taut_model::{SchedulingPolicy, TaskSet};
use taut_time::Duration;

use super::Found;
use super::values::{List, equal, said, same_count, schedulable, settled, shown, times, verdict};
use crate::case::Case;
use crate::table::{Agreement, Compared};

/// The outcome for a result, if its name is listed here.
pub(super) fn result_of(
    case: &Case,
    tool: &str,
    analysis: &str,
    result: &Value,
) -> Result<Option<Found>, String> {
    let name = (tool, analysis);
    for compare in [of_response_times, of_blocking, of_runs, of_programs] {
        if let Some(found) = compare(case, name, result)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// A result's tool and analysis.
type Name<'n> = (&'n str, &'n str);

fn fixed(case: &Case) -> Result<TaskSet, String> {
    case.set(SchedulingPolicy::FixedPriority, |_| ())
}

/// Compares the response times, or the verdict, of an analysis that we have too.
fn of_response_times(case: &Case, name: Name<'_>, result: &Value) -> Result<Option<Found>, String> {
    let found = match name {
        ("schedcat", "msrp_classic") | ("rts_sysu", "msrp_original") => {
            let set = fixed(case)?;
            let bounds = bounds(msrp_gai01::response_times(&set))?;
            spinning("multi::msrp_gai01", result, &bounds, set.tasks().len())
        }
        ("schedcat", "msrp_holistic") => {
            let set = fixed(case)?;
            let bounds = bounds(msrp_holistic::response_times(&set))?;
            spinning("multi::msrp_holistic", result, &bounds, set.tasks().len())
        }
        ("rts_sysu", "msrp_new") => {
            let set = fixed(case)?;
            let bounds = bounds(msrp_holistic::response_times(&set))?;
            Ok(match spinning("multi::msrp_holistic", result, &bounds, set.tasks().len())? {
                Found::Compared(ours, _, compared) => Found::Compared(ours, Agreement::Hint, compared),
                left @ Found::Left(_) => left,
            })
        }
        ("schedcat", "mpcp_lnr09") => {
            let set = fixed(case)?;
            let bounds = bounds(mpcp_lnr09_sound::response_times(&set))?;
            suspending("multi::mpcp_lnr09_sound", result, &bounds, set.tasks().len())
        }
        ("schedcat", "fmlpplus") => {
            let set = fixed(case)?;
            let bounds = bounds(fmlp_plus::response_times(&set))?;
            suspending("multi::fmlp_plus", result, &bounds, set.tasks().len())
        }
        ("schedcat", "pedf_msrp_classic_qpa") => {
            let ours = said(edf_msrp::cores(&case.set(SchedulingPolicy::Edf, |_| ())?))?.holds();
            verdict("multi::edf_msrp", result, ours)
        }
        _ => return Ok(None),
    };
    found.map(Some)
}

/// Compares the terms of blocking.
fn of_blocking(case: &Case, name: Name<'_>, result: &Value) -> Result<Option<Found>, String> {
    let found = match name {
        ("schedcat", "msrp_holistic_atD") => {
            let set = fixed(case)?;
            let terms = terms(msrp_holistic::blocking(&set, &deadlines(&set)))?;
            let parts = [part("arrival", local), part("spin", |t| t.spin)];
            of_terms("multi::msrp_holistic::blocking", result, &terms, &parts)
        }
        ("schedcat", "fmlpplus_atD") => {
            let set = fixed(case)?;
            let terms = terms(fmlp_plus::blocking(&set, &deadlines(&set)))?;
            let parts = [part("local", local), part("remote", remote), part("total", waiting)];
            of_terms("multi::fmlp_plus::blocking", result, &terms, &parts)
        }
        // None of these terms depends on the length of a window.
        ("schedcat", "mpcp_lnr09_atD") => paper(&fixed(case)?, result, ["remote", "local"]),
        ("own_paper_equation", "mpcp_lnr09_Br_jitter") => paper(&fixed(case)?, result, ["Br", "Bl"]),
        _ => return Ok(None),
    };
    found.map(Some)
}

/// Compares our bounds with what runs in a simulator reached.
fn of_runs(case: &Case, name: Name<'_>, result: &Value) -> Result<Option<Found>, String> {
    let (ours, compared) = match name {
        ("own_simulator", "msrp") => {
            let set = fixed(case)?;
            let reached = times(&result["max_R"])?;
            let mut compared = reached_within(&reached, &bounds(msrp_gai01::response_times(&set))?)?;
            compared.join(reached_within(&reached, &bounds(msrp_holistic::response_times(&set))?)?);
            ("multi::msrp_gai01, _holistic", compared)
        }
        ("own_simulator", "mpcp") => {
            let bounds = bounds(mpcp_lnr09_sound::response_times(&fixed(case)?))?;
            ("multi::mpcp_lnr09_sound", reached_within(&times(&result["max_R"])?, &bounds)?)
        }
        _ => return Ok(None),
    };
    Ok(Some(Found::Compared(ours, Agreement::Reached, compared)))
}

/// Compares with linear programs, and leaves out analyses of protocols that we do not have.
fn of_programs(case: &Case, name: Name<'_>, result: &Value) -> Result<Option<Found>, String> {
    let found = match name {
        ("schedcat", "mpcp_lnr09_vspin") => Found::Left("another protocol: taut has no virtual spinning"),
        ("schedcat", "pfifo_spin_lp") | ("rts_sysu", "pwlp_new") => {
            Found::Left("another protocol: its spinning jobs can be preempted")
        }
        ("schedcat", "msrp_lp") => {
            let bounds = bounds(msrp_joint::response_times(&fixed(case)?))?;
            hint("multi::msrp_joint", result, &bounds)?
        }
        #[cfg(feature = "linear-programming")]
        ("schedcat_patched", "mpcp_lp") => {
            let bounds = bounds(taut_analysis::multi::mpcp_linear::response_times(&fixed(case)?))?;
            hint("multi::mpcp_linear", result, &bounds)?
        }
        ("schedcat" | "schedcat_patched", name) if name.contains("_lp") => {
            Found::Left("the bound is of a linear program that taut does not have")
        }
        _ => return Ok(None),
    };
    Ok(Some(found))
}

/// The bounds that an analysis found for a set, accepted or not.
struct Outcome {
    tasks: Vec<TaskBound>,
    accepted: bool,
}

fn bounds(found: Result<Verdict<Bounds>, Overflow>) -> Result<Outcome, String> {
    use taut_analysis::Why;
    match said(found)? {
        Verdict::Schedulable(bounds) => Ok(Outcome { tasks: bounds.tasks, accepted: true }),
        Verdict::NotShown(Why::Passes(bounds)) | Verdict::Unschedulable(bounds) => {
            Ok(Outcome { tasks: bounds.tasks, accepted: false })
        }
        Verdict::NotShown(Why::Rate) => Ok(Outcome { tasks: Vec::new(), accepted: false }),
        Verdict::NotShown(Why::Steps(steps)) => Err(format!("our analysis gave up after {steps} steps")),
        Verdict::NotApplicable(why) => Err(format!("our analysis does not apply: {why}")),
    }
}

fn terms(
    found: Result<Result<Vec<ResponseTerms>, taut_analysis::Assumption>, Overflow>,
) -> Result<Vec<ResponseTerms>, String> {
    said(found)?.map_err(|why| format!("our analysis does not apply: {why}"))
}

fn deadlines(set: &TaskSet) -> Vec<Duration> {
    set.tasks().iter().map(|task| task.deadline).collect()
}

fn spinning(name: &'static str, result: &Value, ours: &Outcome, tasks: usize) -> Result<Found, String> {
    let take = |part: fn(&TaskBound) -> Duration| {
        move |at: usize| ours.tasks.get(at).filter(|task| task.status == Status::Proven).map(part)
    };
    let response = take(|task| task.from_arrival);
    let arrival = take(|task| task.terms.local_blocking);
    let spin = take(|task| task.terms.spin);
    let all: [List<'_>; 3] = [("R", &response), ("B.arrival", &arrival), ("B.spin", &spin)];
    // Not every tool reports the terms.
    let reported = if result["B"].is_object() { &all[..] } else { &all[..1] };
    settled(name, result, reported, tasks)
}

/// Compares with another implementation's linear program, which has its own constraints: the verdict, and R where
/// both accept the set.
fn hint(name: &'static str, result: &Value, ours: &Outcome) -> Result<Found, String> {
    let Some(theirs) = schedulable(result)? else {
        return Ok(Found::Left("it did not settle"));
    };
    let mut compared = Compared::default();
    compared.take(theirs == ours.accepted, || format!("schedulable: {theirs}, ours {}", ours.accepted));
    if theirs && ours.accepted {
        let times = times(&result["R"])?;
        same_count(&times, ours.tasks.len())?;
        equal(&mut compared, "R", &times, |at| Some(ours.tasks[at].from_arrival));
    }
    Ok(Found::Compared(name, Agreement::Hint, compared))
}

fn suspending(name: &'static str, result: &Value, ours: &Outcome, tasks: usize) -> Result<Found, String> {
    let take = |part: fn(&TaskBound) -> Duration| {
        move |at: usize| ours.tasks.get(at).filter(|_| ours.accepted).map(part)
    };
    let response = take(|task| task.from_arrival);
    let local = take(|task| local(&task.terms));
    let remote = take(|task| remote(&task.terms));
    let total = take(|task| waiting(&task.terms));
    let mut all: Vec<List<'_>> = vec![("R", &response), ("B.local", &local), ("B.remote", &remote)];
    if result["B"].get("total").is_some() {
        all.push(("B.total", &total));
    }
    settled(name, result, &all, tasks)
}

type TermOf = (&'static str, fn(&ResponseTerms) -> Duration);

fn part(key: &'static str, of: fn(&ResponseTerms) -> Duration) -> TermOf {
    (key, of)
}

fn local(terms: &ResponseTerms) -> Duration {
    terms.local_blocking
}

fn remote(terms: &ResponseTerms) -> Duration {
    terms.remote_blocking
}

fn waiting(terms: &ResponseTerms) -> Duration {
    terms.local_blocking.checked_add(terms.remote_blocking).unwrap_or(Duration::MAX)
}

fn of_terms(
    name: &'static str,
    result: &Value,
    ours: &[ResponseTerms],
    parts: &[TermOf],
) -> Result<Found, String> {
    let mut compared = Compared::default();
    for (key, part) in parts {
        let theirs = times(&result[key])?;
        same_count(&theirs, ours.len())?;
        equal(&mut compared, key, &theirs, |at| Some(part(&ours[at])));
    }
    Ok(Found::Compared(name, Agreement::Equal, compared))
}

/// Compares with the equation as published. R null means that the equation does not claim that the deadline is met.
fn paper(set: &TaskSet, result: &Value, [remote, local]: [&str; 2]) -> Result<Found, String> {
    let Claims::Unsound(claims) = said(mpcp_lnr09_paper::claims(set))? else {
        return Err("our analysis does not apply".into());
    };
    let mut compared = Compared::default();
    let theirs = times(&result[local])?;
    same_count(&theirs, claims.len())?;
    equal(&mut compared, local, &theirs, |at| Some(claims[at].terms.local_blocking));
    let theirs = times(&result[remote])?;
    same_count(&theirs, claims.len())?;
    // Where the equation has no solution, ours gives the first value past the period and claims nothing.
    let without = |at: usize| theirs[at].is_none() && !claims[at].claimed_to_fit;
    let ours = |at: usize| (!without(at)).then_some(claims[at].terms.remote_blocking);
    equal(&mut compared, remote, &theirs, ours);
    if result.get("R").is_some() {
        let theirs = times(&result["R"])?;
        same_count(&theirs, claims.len())?;
        let claimed = |at: usize| claims[at].claimed_to_fit.then_some(claims[at].claimed);
        equal(&mut compared, "R", &theirs, claimed);
        if let Some(theirs) = schedulable(result)? {
            let ours = claims.iter().all(|claim| claim.claimed_to_fit);
            compared.take(theirs == ours, || format!("schedulable: {theirs}, ours {ours}"));
        }
    }
    Ok(Found::Compared("multi::unsound::mpcp_lnr09_paper", Agreement::Equal, compared))
}

/// Compares the response times that a run reached with every proven bound.
fn reached_within(reached: &[Option<Duration>], ours: &Outcome) -> Result<Compared, String> {
    let mut compared = Compared::default();
    if !ours.tasks.is_empty() {
        same_count(reached, ours.tasks.len())?;
    }
    for (at, (reached, task)) in reached.iter().zip(&ours.tasks).enumerate() {
        if let Some(reached) = reached.filter(|_| task.status == Status::Proven) {
            let bound = task.from_arrival;
            compared.take(reached <= bound, || {
                format!("task {at} reached {}, ours {}", shown(Some(reached)), shown(Some(bound)))
            });
        }
    }
    Ok(compared)
}
