// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Several cores with global resources.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use taut_analysis::multi::fmlp07::FmlpResource;
use taut_analysis::multi::unsound::mixed_han14;
use taut_analysis::multi::unsound::mpcp_lnr09_paper::{self, Claims};
use taut_analysis::multi::{
    Bounds, Contribution, Guard, GuardedSet, ResponseTerms, Status, TaskBound, edf_msrp, fmlp_plus, fmlp07,
    mixed, mpcp_lnr09_sound, msrp_gai01, msrp_holistic, msrp_joint,
};
use taut_analysis::{Assumption, Verdict, Why};

use crate::answer::{Answer, answer};
use crate::edf::{DemandRow, ResponseRow, demand_row, response_row};
use crate::set::Set;
use crate::work::{fits, times};

/// Adds the functions of this file to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(multi_bounds, module)?)?;
    module.add_function(wrap_pyfunction!(multi_fmlp07, module)?)?;
    module.add_function(wrap_pyfunction!(multi_mixed, module)?)?;
    module.add_function(wrap_pyfunction!(multi_claims, module)?)?;
    module.add_function(wrap_pyfunction!(multi_blocking, module)?)?;
    module.add_function(wrap_pyfunction!(edf_msrp_cores, module)?)?;
    module.add_function(wrap_pyfunction!(edf_msrp_responses, module)?)?;
    module.add_function(wrap_pyfunction!(edf_msrp_spinning, module)?)
}

/// Own time, spinning, local blocking, remote blocking, interference, jitter.
type TermsRow = (u64, u64, u64, u64, u64, u64);
/// Task, resource, time.
type WitnessRow = (Option<usize>, Option<usize>, u64);
/// The witnesses of spinning, local blocking, remote blocking, interference.
type WitnessesRow = (WitnessRow, WitnessRow, WitnessRow, WitnessRow);
/// From release, from arrival, status, terms, witnesses.
type TaskRow = (u64, u64, &'static str, TermsRow, WitnessesRow);
/// One row per task, and the number of rounds.
type BoundsRow = (Vec<TaskRow>, u32);

fn terms(terms: &ResponseTerms) -> TermsRow {
    (
        terms.own.as_ns(),
        terms.spin.as_ns(),
        terms.local_blocking.as_ns(),
        terms.remote_blocking.as_ns(),
        terms.interference.as_ns(),
        terms.jitter.as_ns(),
    )
}

fn witness(witness: &Contribution) -> WitnessRow {
    (witness.task, witness.resource, witness.time.as_ns())
}

fn task(bound: &TaskBound) -> TaskRow {
    let status = match bound.status {
        Status::Proven => "proven",
        Status::Passes => "passes",
        Status::Depends => "depends",
    };
    let w = &bound.witnesses;
    let witnesses =
        (witness(&w.spin), witness(&w.local_blocking), witness(&w.remote_blocking), witness(&w.interference));
    (bound.from_release.as_ns(), bound.from_arrival.as_ns(), status, terms(&bound.terms), witnesses)
}

fn rows(bounds: Bounds) -> BoundsRow {
    (bounds.tasks.iter().map(task).collect(), bounds.rounds)
}

/// Response times of all tasks by a theorem, by the name of its file.
#[pyfunction]
fn multi_bounds(py: Python<'_>, theorem: &str, set: &Bound<'_, Set>) -> PyResult<Answer<BoundsRow>> {
    let set = &set.get().0;
    let solve = match theorem {
        "msrp_gai01" => msrp_gai01::response_times,
        "msrp_holistic" => msrp_holistic::response_times,
        "msrp_joint" => msrp_joint::response_times,
        "mpcp_lnr09_sound" => mpcp_lnr09_sound::response_times,
        "fmlp_plus" => fmlp_plus::response_times,
        other => return Err(PyValueError::new_err(format!("no theorem `{other}`"))),
    };
    Ok(answer(fits(py, || solve(set))?, rows))
}

/// FMLP of 2007; `long` says of each resource whether it is long.
#[pyfunction]
fn multi_fmlp07(py: Python<'_>, set: &Bound<'_, Set>, long: Vec<bool>) -> PyResult<Answer<BoundsRow>> {
    let set = &set.get().0;
    same("resources", long.len(), set.resources().len())?;
    let kind = |resource: usize| if long[resource] { FmlpResource::Long } else { FmlpResource::Short };
    Ok(answer(fits(py, || fmlp07::response_times(set, kind))?, rows))
}

fn same(what: &str, given: usize, are: usize) -> PyResult<()> {
    if given == are { Ok(()) } else { Err(PyValueError::new_err(format!("{given} values for {are} {what}"))) }
}

/// The guard that a word names.
pub(crate) fn guard(word: &str) -> PyResult<Guard> {
    Ok(match word {
        "absent" => Guard::Absent,
        "spinning" => Guard::Spinning,
        "suspending" => Guard::Suspending,
        other => {
            return Err(PyValueError::new_err(format!(
                "`{other}` is not one of absent, spinning, suspending"
            )));
        }
    })
}

fn guarded(
    py: Python<'_>,
    set: &Bound<'_, Set>,
    guards: &[String],
) -> PyResult<Result<GuardedSet, Assumption>> {
    let set = &set.get().0;
    same("resources", guards.len(), set.resources().len())?;
    let guards = guards.iter().map(|word| guard(word)).collect::<PyResult<Vec<_>>>()?;
    Ok(fits(py, || GuardedSet::new(set))?.map(|mut guarded| {
        guards.iter().enumerate().for_each(|(resource, guard)| guarded.guard(resource, *guard));
        guarded
    }))
}

/// MSRP, MPCP and wait-free objects side by side.
#[pyfunction]
fn multi_mixed(py: Python<'_>, set: &Bound<'_, Set>, guards: Vec<String>) -> PyResult<Answer<BoundsRow>> {
    let guarded = match guarded(py, set, &guards)? {
        Ok(guarded) => guarded,
        Err(assumption) => return Ok(answer(Verdict::NotApplicable(assumption), rows)),
    };
    Ok(answer(fits(py, || mixed::response_times(&guarded))?, rows))
}

/// Per task: the claimed bound, whether the equations claim that the deadline is kept, and the terms of the bound.
type ClaimRow = (u64, bool, TermsRow);

/// What printed equations claim, which is no proof: those of MPCP if `guards` is not given, else the mixed ones.
#[pyfunction]
#[pyo3(signature = (set, guards=None))]
fn multi_claims(
    py: Python<'_>,
    set: &Bound<'_, Set>,
    guards: Option<Vec<String>>,
) -> PyResult<Answer<Vec<ClaimRow>>> {
    let tasks = &set.get().0;
    let claims = match guards {
        None => fits(py, || mpcp_lnr09_paper::claims(tasks))?,
        Some(guards) => match guarded(py, set, &guards)? {
            Ok(guarded) => fits(py, || mixed_han14::claims(&guarded))?,
            Err(assumption) => Claims::NotApplicable(assumption),
        },
    };
    // No verdict follows from claims: they are returned as "not shown".
    Ok(match claims {
        Claims::Unsound(claims) => {
            let row = |claim: &mpcp_lnr09_paper::ClaimedBound| {
                (claim.claimed.as_ns(), claim.claimed_to_fit, terms(&claim.terms))
            };
            let text = "the published equations are unsound: their claims prove nothing";
            ("not shown", Some(claims.iter().map(row).collect()), Some("unsound".into()), Some(text.into()))
        }
        Claims::NotApplicable(assumption) => {
            answer(Verdict::<Vec<ClaimRow>>::NotApplicable(assumption), |r| r)
        }
        Claims::Steps(steps) => answer(Verdict::<Vec<ClaimRow>>::NotShown(Why::Steps(steps)), |r| r),
    })
}

/// Spinning and blocking alone, if each job ends within its task's window after its release.
#[pyfunction]
fn multi_blocking(
    py: Python<'_>,
    theorem: &str,
    set: &Bound<'_, Set>,
    windows: Vec<u64>,
) -> PyResult<Answer<Vec<TermsRow>>> {
    let set = &set.get().0;
    same("tasks", windows.len(), set.tasks().len())?;
    let windows = times(&windows);
    let found = fits(py, || match theorem {
        "fmlp_plus" => fmlp_plus::blocking(set, &windows),
        _ => msrp_holistic::blocking(set, &windows),
    })?;
    let verdict = found.map_or_else(Verdict::NotApplicable, Verdict::Schedulable);
    Ok(answer(verdict, |all: Vec<ResponseTerms>| all.iter().map(terms).collect()))
}

/// All cores under EDF.
#[pyfunction]
fn edf_msrp_cores(py: Python<'_>, set: &Bound<'_, Set>) -> PyResult<Answer<Vec<DemandRow>>> {
    let set = &set.get().0;
    Ok(answer(fits(py, || edf_msrp::cores(set))?, |all| all.iter().map(demand_row).collect()))
}

/// Response times of all tasks under EDF.
#[pyfunction]
fn edf_msrp_responses(py: Python<'_>, set: &Bound<'_, Set>) -> PyResult<Answer<Vec<ResponseRow>>> {
    let set = &set.get().0;
    Ok(answer(fits(py, || edf_msrp::response_times(set))?, |all| all.iter().map(response_row).collect()))
}

/// For each task, how long a job spins at most, and the resource that it spins longest for.
#[pyfunction]
fn edf_msrp_spinning(py: Python<'_>, set: &Bound<'_, Set>) -> PyResult<Vec<(u64, WitnessRow)>> {
    let set = &set.get().0;
    let all = fits(py, || edf_msrp::spinning(set))?;
    Ok(all.iter().map(|(time, of)| (time.as_ns(), witness(of))).collect())
}
