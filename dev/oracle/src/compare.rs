// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which analysis of ours answers which of others', and whether they agree.
//!
//! A row here is a name, never a case: whatever set carries a result under a name of the list is compared.

use serde_json::Value;
use taut_analysis::multi::mpcp_lnr09_paper::{self, Claims};
use taut_analysis::multi::{
    Bounds, Status, TaskBound, Terms, edf_msrp, fmlp_plus, mpcp_lnr09_sound, msrp_gai01, msrp_holistic,
};
use taut_analysis::uni::edf::{demand, dfp, srp};
use taut_analysis::uni::fp::offsets::{self, Activity, Method, Transaction};
use taut_analysis::uni::fp::preemptive::{Release, Subject, Task};
use taut_analysis::uni::fp::{arbitrary, local_locks, non_preemptive};
use taut_analysis::{Overflow, Verdict};
use taut_model::{Scheduler, SetTask, TaskSet};
use taut_time::Duration;

use crate::case::{Case, MOST_US};
use crate::table::{Compared, Standing, Table};

/// What came of a result.
enum Found {
    /// It was compared with ours, of this name.
    Compared(&'static str, Standing, Compared),
    /// It was not, for this reason.
    Left(&'static str),
}

/// What others' results that mean no bound look like: 32 bits of ones.
const UNBOUNDED: u64 = u32::MAX as u64;
/// The crate for response times was asked for bounds below this.
const CRATE_LIMIT: Duration = Duration::from_us(20_000_000);
/// Scenarios per activity that are looked at.
const SCENARIOS: u64 = 10_000_000;
/// Microseconds are the step of time of all cases.
const STEP: Duration = Duration::from_us(1);

/// The groups that the format names.
const GROUPS: [&str; 7] = ["A", "B", "C", "D", "E", "F", "G"];

/// Compares all results of a case. One that is not of the form that the format says is a fault of the table's.
pub(crate) fn case(case: &Case, table: &mut Table) {
    if !GROUPS.contains(&case.group.as_str()) {
        table.odd_group(&case.group);
    }
    for (tool, results) in &case.oracle {
        let Some(named) = results.as_object() else {
            table.fault(format!("{}: {tool}: no results by name", case.id));
            continue;
        };
        // That tool has one result, and no name for it.
        if tool.starts_with("simso") {
            let scheduler = results["scheduler"].as_str().unwrap_or("run");
            let analysis = scheduler.rsplit('.').next().unwrap_or_default();
            note(case, tool, analysis, simso(case, analysis, results), table);
            continue;
        }
        for (analysis, result) in named {
            let found = match result.get("timeout") {
                Some(_) => Ok(Found::Left("it ran out of time")),
                None => result_of(case, tool, analysis, result),
            };
            note(case, tool, analysis, found, table);
        }
    }
}

fn note(case: &Case, tool: &str, analysis: &str, found: Result<Found, String>, table: &mut Table) {
    let key = [case.group.clone(), tool.to_owned(), analysis.to_owned()];
    match found {
        Ok(Found::Compared(ours, standing, compared)) => table.add(key, ours, standing, &case.id, compared),
        Ok(Found::Left(why)) => table.leave(key, why),
        Err(why) => table.fault(format!("{}: {tool} {analysis}: {why}", case.id)),
    }
}

fn result_of(case: &Case, tool: &str, analysis: &str, result: &Value) -> Result<Found, String> {
    // A tool's name may end in its version.
    let tool = ["rta_crate", "pycpa", "mast"].into_iter().find(|name| tool.starts_with(name)).unwrap_or(tool);
    let fixed = || case.set(Scheduler::FixedPriority, |_| ());
    let edf = || case.set(Scheduler::Edf, |_| ());
    match (tool, analysis) {
        ("schedcat", "fp_rta_noblock") => {
            let set = fixed()?;
            // Its verdict is about deadlines, and R is there only if all are kept.
            let found = fixed_priority(&set, |_| Duration::ZERO)?;
            let ours = |at: usize| found[at].filter(|r| *r <= set.tasks()[at].deadline);
            settled("uni::fp::arbitrary", result, &[("R", &ours)], set.tasks().len())
        }
        ("schedcat", "msrp_classic") | ("rts_sysu", "msrp_original") => {
            let set = fixed()?;
            let bounds = bounds(msrp_gai01::response_times(&set))?;
            spinning("multi::msrp_gai01", result, &bounds, set.tasks().len())
        }
        ("schedcat", "msrp_holistic") => {
            let set = fixed()?;
            let bounds = bounds(msrp_holistic::response_times(&set))?;
            spinning("multi::msrp_holistic", result, &bounds, set.tasks().len())
        }
        ("rts_sysu", "msrp_new") => {
            let set = fixed()?;
            let bounds = bounds(msrp_holistic::response_times(&set))?;
            Ok(match spinning("multi::msrp_holistic", result, &bounds, set.tasks().len())? {
                Found::Compared(ours, _, compared) => Found::Compared(ours, Standing::Hint, compared),
                left @ Found::Left(_) => left,
            })
        }
        ("schedcat", "mpcp_lnr09") => {
            let set = fixed()?;
            let bounds = bounds(mpcp_lnr09_sound::response_times(&set))?;
            suspending("multi::mpcp_lnr09_sound", result, &bounds, set.tasks().len())
        }
        ("schedcat", "fmlpplus") => {
            let set = fixed()?;
            let bounds = bounds(fmlp_plus::response_times(&set))?;
            suspending("multi::fmlp_plus", result, &bounds, set.tasks().len())
        }
        ("schedcat", "msrp_holistic_atD") => {
            let set = fixed()?;
            let terms = terms(msrp_holistic::blocking(&set, &deadlines(&set)))?;
            let parts = [part("arrival", local), part("spin", |t| t.spin)];
            of_terms("multi::msrp_holistic::blocking", result, &terms, &parts)
        }
        ("schedcat", "fmlpplus_atD") => {
            let set = fixed()?;
            let terms = terms(fmlp_plus::blocking(&set, &deadlines(&set)))?;
            let parts = [part("local", local), part("remote", remote), part("total", waiting)];
            of_terms("multi::fmlp_plus::blocking", result, &terms, &parts)
        }
        // None of these terms depends on windows.
        ("schedcat", "mpcp_lnr09_atD") => paper(&fixed()?, result, ["remote", "local"]),
        ("own_paper_equation", "mpcp_lnr09_Br_jitter") => paper(&fixed()?, result, ["Br", "Bl"]),
        ("schedcat", "pedf_msrp_classic_qpa") => {
            let ours = said(edf_msrp::cores(&edf()?))?.holds();
            verdict("multi::edf_msrp", result, ours)
        }
        ("schedcat", "edf_qpa") | ("exhaustive_pdc", "edf") => {
            verdict("uni::edf::demand", result, all_cores(&edf()?, demand::core)?)
        }
        ("schedcat", "edf_srp_qpa") | ("exhaustive_pdc", "edf_srp") => {
            verdict("uni::edf::srp", result, all_cores(&edf()?, srp::core)?)
        }
        ("rta_crate", "edf_preemptive") => {
            let set = edf()?;
            let theirs = times(result)?;
            same_count(&theirs, set.tasks().len())?;
            let fits = |(at, r): (usize, &Option<Duration>)| r.is_some_and(|r| r <= set.tasks()[at].deadline);
            let theirs = theirs.iter().enumerate().all(fits);
            let ours = all_cores(&set, demand::core)?;
            let mut compared = Compared::default();
            compared.take(theirs == ours, || format!("schedulable: {theirs}, ours {ours}"));
            Ok(Found::Compared("uni::edf::demand", Standing::Equal, compared))
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
        ("mast", "holistic") => transactions(case, "uni::fp::offsets::holistic", Method::Holistic, result),
        ("mast", "offset_based_approx") => {
            transactions(case, "uni::fp::offsets::approximate", Method::Approximate, result)
        }
        ("mast", "offset_based_slanted") => {
            transactions(case, "uni::fp::offsets::slanted", Method::Slanted, result)
        }
        ("mast", "offset_based_brute_force") => {
            transactions(case, "uni::fp::offsets::exact", Method::Exact(SCENARIOS), result)
        }
        ("own_simulator", "msrp") => {
            let set = fixed()?;
            let reached = times(&result["max_R"])?;
            let mut compared = reached_within(&reached, &bounds(msrp_gai01::response_times(&set))?)?;
            compared.join(reached_within(&reached, &bounds(msrp_holistic::response_times(&set))?)?);
            Ok(Found::Compared("multi::msrp_gai01, _holistic", Standing::Reached, compared))
        }
        ("own_simulator", "mpcp") => {
            let bounds = bounds(mpcp_lnr09_sound::response_times(&fixed()?))?;
            let compared = reached_within(&times(&result["max_R"])?, &bounds)?;
            Ok(Found::Compared("multi::mpcp_lnr09_sound", Standing::Reached, compared))
        }
        ("own_simulator", "edf_srp") => missed("uni::edf::srp", result, all_cores(&edf()?, srp::core)?),
        ("own_simulator", "edf_dfp") => missed("uni::edf::dfp", result, all_cores(&edf()?, dfp::core)?),
        (_, "edf_floating_np") => {
            Ok(Found::Left("none of ours knows sections under EDF that no protocol bounds"))
        }
        ("schedcat", "mpcp_lnr09_vspin") => Ok(Found::Left("another protocol: virtual spinning is not ours")),
        ("schedcat", "pfifo_spin_lp") | ("rts_sysu", "pwlp_new") => {
            Ok(Found::Left("another protocol: whoever spins can be preempted"))
        }
        ("schedcat" | "schedcat_patched", name) if name.contains("_lp") => {
            Ok(Found::Left("the bound is that of a linear program, of which we have none"))
        }
        _ => Ok(Found::Left("the name is not known here")),
    }
}

// Ours.

fn said<T>(found: Result<T, Overflow>) -> Result<T, String> {
    found.map_err(|overflow| format!("our analysis: {overflow}"))
}

/// What was found of a set, accepted or not.
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
    found: Result<Result<Vec<Terms>, taut_analysis::Assumption>, Overflow>,
) -> Result<Vec<Terms>, String> {
    said(found)?.map_err(|why| format!("our analysis does not apply: {why}"))
}

fn deadlines(set: &TaskSet) -> Vec<Duration> {
    set.tasks().iter().map(|task| task.deadline).collect()
}

/// The less urgent tasks of its core.
fn lower(set: &TaskSet, at: usize) -> impl Iterator<Item = usize> + '_ {
    let own = &set.tasks()[at];
    set.on_core(own.core).filter(|&other| set.tasks()[other].priority < own.priority)
}

/// R from the release of every task, whatever its deadline.
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
    ask: impl Fn(&Subject, &[Task]) -> Result<Option<Duration>, String>,
) -> Result<Vec<Option<Duration>>, String> {
    let plain = |at: usize| Task {
        cost: set.cost(at),
        period: set.tasks()[at].period,
        jitter: set.tasks()[at].jitter,
        release: Release::Free,
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

/// With a tenth of the period as jitter, in whole microseconds.
fn with_jitter(case: &Case) -> Result<Vec<Option<Duration>>, String> {
    let tenth = |task: &mut SetTask| task.jitter = Duration::from_us(task.period.as_ns() / 1000 / 10);
    fixed_priority(&case.set(Scheduler::FixedPriority, tenth)?, |_| Duration::ZERO)
}

/// What the crate would have given up.
fn below(found: Vec<Option<Duration>>) -> Vec<Option<Duration>> {
    found.into_iter().map(|r| r.filter(|r| *r <= CRATE_LIMIT)).collect()
}

fn all_cores(
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

// Theirs.

/// A time in microseconds; none if there is no bound.
fn time(value: &Value) -> Result<Option<Duration>, String> {
    if value.is_null() {
        return Ok(None);
    }
    let whole = value.as_u64().or_else(|| {
        let float = value.as_f64()?;
        // Whole numbers up to here are exact in a float.
        (float >= 0.0 && float.fract() == 0.0 && float < 9.0e15).then_some(float as u64)
    });
    match whole {
        Some(UNBOUNDED) => Ok(None),
        Some(us) if us <= MOST_US => Ok(Some(Duration::from_us(us))),
        _ => Err(format!("{value} is no time in whole microseconds")),
    }
}

fn times(value: &Value) -> Result<Vec<Option<Duration>>, String> {
    value.as_array().ok_or("a list of times is missing")?.iter().map(time).collect()
}

fn same_count(theirs: &[Option<Duration>], count: usize) -> Result<(), String> {
    if theirs.len() == count { Ok(()) } else { Err(format!("{} times for {count} tasks", theirs.len())) }
}

/// Whether others call it schedulable; none if they cannot tell.
fn schedulable(result: &Value) -> Result<Option<bool>, String> {
    match &result["schedulable"] {
        Value::Bool(is) => Ok(Some(*is)),
        Value::Null if result.get("schedulable").is_some() => Ok(None),
        _ => Err("neither true, false nor null in `schedulable`".into()),
    }
}

// Both.

/// A time in microseconds, for people.
fn shown(time: Option<Duration>) -> String {
    time.map_or("none".into(), |time| format!("{} us", time.as_ns() as f64 / 1000.0))
}

fn equal(
    compared: &mut Compared,
    what: &str,
    theirs: &[Option<Duration>],
    ours: impl Fn(usize) -> Option<Duration>,
) {
    for (at, theirs) in theirs.iter().enumerate() {
        let ours = ours(at);
        compared.take(*theirs == ours, || {
            format!("{what} of task {at}: {}, ours {}", shown(*theirs), shown(ours))
        });
    }
}

fn same(name: &'static str, result: &Value, ours: &[Option<Duration>]) -> Result<Found, String> {
    let theirs = times(result)?;
    same_count(&theirs, ours.len())?;
    let mut compared = Compared::default();
    equal(&mut compared, "R", &theirs, |at| ours[at]);
    Ok(Found::Compared(name, Standing::Equal, compared))
}

/// What a list is of, by where it stands in a result, and ours.
type List<'a> = (&'a str, &'a dyn Fn(usize) -> Option<Duration>);

/// A verdict of a whole set; lists if it passes, and then all of ours must be there.
fn settled(name: &'static str, result: &Value, lists: &[List<'_>], tasks: usize) -> Result<Found, String> {
    let Some(theirs) = schedulable(result)? else {
        return Ok(Found::Left("it did not settle"));
    };
    let bounded = |list: &List<'_>| (0..tasks).all(|at| list.1(at).is_some());
    let ours = lists.iter().all(bounded);
    let mut compared = Compared::default();
    compared.take(theirs == ours, || format!("schedulable: {theirs}, ours {ours}"));
    if theirs {
        for (path, ours) in lists {
            let value = path.split('.').fold(result, |value, key| &value[key]);
            let theirs = times(value)?;
            same_count(&theirs, tasks)?;
            equal(&mut compared, path, &theirs, ours);
        }
    }
    Ok(Found::Compared(name, Standing::Equal, compared))
}

fn spinning(name: &'static str, result: &Value, ours: &Outcome, tasks: usize) -> Result<Found, String> {
    let take = |part: fn(&TaskBound) -> Duration| {
        move |at: usize| ours.tasks.get(at).filter(|task| task.status == Status::Proven).map(part)
    };
    let response = take(|task| task.from_arrival);
    let arrival = take(|task| task.terms.local_blocking);
    let spin = take(|task| task.terms.spin);
    let all: [List<'_>; 3] = [("R", &response), ("B.arrival", &arrival), ("B.spin", &spin)];
    // Not every tool tells the terms.
    let told = if result["B"].is_object() { &all[..] } else { &all[..1] };
    settled(name, result, told, tasks)
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

type Part = (&'static str, fn(&Terms) -> Duration);

fn part(key: &'static str, of: fn(&Terms) -> Duration) -> Part {
    (key, of)
}

fn local(terms: &Terms) -> Duration {
    terms.local_blocking
}

fn remote(terms: &Terms) -> Duration {
    terms.remote_blocking
}

fn waiting(terms: &Terms) -> Duration {
    terms.local_blocking.checked_add(terms.remote_blocking).unwrap_or(Duration::MAX)
}

fn of_terms(name: &'static str, result: &Value, ours: &[Terms], parts: &[Part]) -> Result<Found, String> {
    let mut compared = Compared::default();
    for (key, part) in parts {
        let theirs = times(&result[key])?;
        same_count(&theirs, ours.len())?;
        equal(&mut compared, key, &theirs, |at| Some(part(&ours[at])));
    }
    Ok(Found::Compared(name, Standing::Equal, compared))
}

/// The equation as it was published: R null means that the deadline is not claimed to be kept.
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
    // Ours gives the first value past the period where there is no solution, and claims nothing.
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
    Ok(Found::Compared("multi::mpcp_lnr09_paper", Standing::Equal, compared))
}

fn verdict(name: &'static str, result: &Value, ours: bool) -> Result<Found, String> {
    let Some(theirs) = schedulable(result)? else {
        return Ok(Found::Left("it did not settle"));
    };
    let mut compared = Compared::default();
    compared.take(theirs == ours, || format!("schedulable: {theirs}, ours {ours}"));
    Ok(Found::Compared(name, Standing::Equal, compared))
}

fn missed(name: &'static str, result: &Value, accepted: bool) -> Result<Found, String> {
    let missed = result["miss"].as_bool().ok_or("no true or false in `miss`")?;
    if !accepted {
        return Ok(Found::Left("ours proves nothing of the set, so no run can contradict it"));
    }
    let mut compared = Compared::default();
    compared.take(!missed, || "a deadline was missed in a set that ours accepts".into());
    Ok(Found::Compared(name, Standing::Reached, compared))
}

/// What was reached, beside every bound that is proven.
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

/// Its clock is a float in milliseconds, rounded down somewhere below a microsecond: what it reached is looked at with
/// that much patience. It ignores sections.
fn simso(case: &Case, scheduler: &str, result: &Value) -> Result<Found, String> {
    let reached = result["max_R_ms"].as_array().ok_or("no list in `max_R_ms`")?;
    let misses = result["misses"].as_u64().ok_or("no count in `misses`")?;
    let mut compared = Compared::default();
    if scheduler.starts_with("EDF") {
        let accepted = all_cores(&case.set(Scheduler::Edf, |_| ())?, demand::core)?;
        if !accepted {
            return Ok(Found::Left("ours proves nothing of the set, so no run can contradict it"));
        }
        compared.take(misses == 0, || format!("{misses} deadlines missed in a set that ours accepts"));
        return Ok(Found::Compared("uni::edf::demand", Standing::Reached, compared));
    }
    if scheduler != "FP" {
        return Ok(Found::Left("the name is not known here"));
    }
    let bounds = fixed_priority(&case.set(Scheduler::FixedPriority, |_| ())?, |_| Duration::ZERO)?;
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
    Ok(Found::Compared("uni::fp::arbitrary", Standing::Reached, compared))
}

/// Whether it gave bounds; it holds them against deadlines afterwards.
fn done(result: &Value) -> bool {
    result["status"].as_str().is_none_or(|status| ["DONE", "NOT-SCHEDULABLE"].contains(&status))
}

fn ceilings(case: &Case, result: &Value) -> Result<Found, String> {
    if !done(result) {
        return Ok(Found::Left("it did not finish"));
    }
    // It looks at deadlines afterwards.
    let set = case.set(Scheduler::FixedPriority, |task| task.deadline = Duration::MAX)?;
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
    Ok(Found::Compared("uni::fp::ceiling, local_locks", Standing::Equal, compared))
}

fn transactions(case: &Case, name: &'static str, method: Method, result: &Value) -> Result<Found, String> {
    if !done(result) {
        return Ok(Found::Left("it did not finish"));
    }
    if case.transactions.is_empty() {
        return Err("no transactions".into());
    }
    let us = |us: u64| {
        if us <= MOST_US {
            Ok(Duration::from_us(us))
        } else {
            Err(format!("a time longer than {MOST_US} us"))
        }
    };
    let mut set = Vec::new();
    for given in &case.transactions {
        let mut activities = Vec::new();
        for activity in &given.activities {
            activities.push(Activity {
                cost: us(activity.cost)?,
                cost_least: us(activity.cost)?,
                priority: activity.priority,
                offset: us(activity.offset)?,
                jitter: Duration::ZERO,
                blocking: Duration::ZERO,
                deadline: Duration::MAX,
            });
        }
        set.push(Transaction { period: us(given.period)?, periodic: true, activities });
    }
    let ours = match said(offsets::chained(method, &set))? {
        Verdict::Schedulable(ends) => ends,
        other => return Err(format!("ours gives no bound: {other:?}")),
    };
    let theirs = result["R"].as_array().ok_or("no list in `R`")?;
    if theirs.len() != ours.len() {
        return Err(format!("{} lists for {} transactions", theirs.len(), ours.len()));
    }
    let mut compared = Compared::default();
    for (at, (theirs, ours)) in theirs.iter().zip(&ours).enumerate() {
        let theirs = times(theirs)?;
        same_count(&theirs, ours.len())?;
        equal(&mut compared, &format!("R of transaction {at}"), &theirs, |at| Some(ours[at]));
    }
    Ok(Found::Compared(name, Standing::Equal, compared))
}
