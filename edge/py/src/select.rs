// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Selection of mechanisms: least memory that keeps every deadline.

use std::time::{Duration, Instant};

use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use taut_analysis::Overflow;
use taut_planner::select::{
    Aim, Alone, Alternative, BufferCount, Buffers, Equations, Judged, Miss, ObjectOffers, Offer, OfferMemory,
    Problem, ProblemFault, Selection, best, exhaustive, paper, why,
};

use crate::multi::guard;
use crate::set::Set;
use crate::work::{fits, free, numbers, position, time};

/// Adds the types of this file to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Choice>()
}

/// How often a search checks for signals and reports its progress.
const LOOK_UP: Duration = Duration::from_millis(100);

/// A problem.
#[pyclass(name = "Problem", module = "taut._taut", frozen)]
#[derive(Debug)]
struct Choice(Problem);

/// Bytes of a buffer, writer, readers, and whether the number of buffers depends on time only.
type BuffersRow = (u64, usize, Vec<usize>, bool);
/// Name, guard, time added to jobs of tasks, time added to each section, bytes besides buffers, buffers.
type OfferRow = (String, String, Vec<(usize, u64)>, u64, u64, Option<BuffersRow>);
/// Name, resource, offers.
type ObjectRow = (String, usize, Vec<OfferRow>);
/// Response times, bytes, and in millionths Σ R / D and the largest R / D.
type JudgedRow = (Vec<u64>, u64, u64, u64);
/// Offers by position, and their judgement.
type FoundRow = (Vec<usize>, JudgedRow);
/// An offer, the object's bytes with it, the result (`"selected"`, `"kept"`, or what is missed), its judgement, and
/// where a deadline is missed, the task and the first bound found that exceeds it.
type AlternativeRow = (usize, Option<u64>, &'static str, Option<JudgedRow>, Option<(usize, u64)>);

fn offer((name, word, added, held, fixed, buffers): OfferRow) -> PyResult<Offer> {
    let memory = match buffers {
        None => OfferMemory::Fixed(fixed),
        Some((each, writer, readers, by_time)) => {
            let count = if by_time { BufferCount::Lifetime } else { BufferCount::Smallest };
            OfferMemory::Timed(Buffers { fixed, each, writer, readers, count })
        }
    };
    let mut tasks: Vec<_> = added.iter().map(|(task, _)| *task).collect();
    tasks.sort_unstable();
    if tasks.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(PyValueError::new_err(format!("offer `{name}` adds to the same task twice")));
    }
    let added = added.into_iter().map(|(task, ns)| (task, time(ns))).collect();
    Ok(Offer { name, guard: guard(&word)?, added, held: time(held), memory })
}

fn row(judged: &Judged) -> JudgedRow {
    (numbers(&judged.responses), judged.bytes, judged.response_ppm, judged.tightest_ppm)
}

fn found((selection, judged): (Selection, Judged)) -> FoundRow {
    (selection, row(&judged))
}

#[pymethods]
impl Choice {
    #[new]
    fn new(
        py: Python<'_>,
        set: &Bound<'_, Set>,
        objects: Vec<ObjectRow>,
        others: Vec<String>,
        printed: bool,
        aim: &str,
    ) -> PyResult<Self> {
        let aim = match aim {
            "memory" => Aim::Memory,
            "response" => Aim::Response,
            "slack" => Aim::Slack,
            other => {
                return Err(PyValueError::new_err(format!(
                    "`{other}` is not one of memory, response, slack"
                )));
            }
        };
        let set = &set.get().0;
        if others.len() != set.resources().len() {
            return Err(PyValueError::new_err("one guard per resource"));
        }
        let others = others.iter().map(|word| guard(word)).collect::<PyResult<Vec<_>>>()?;
        let object = |(name, resource, offers): ObjectRow| {
            let offers = offers.into_iter().map(offer).collect::<PyResult<Vec<_>>>()?;
            Ok(ObjectOffers { name, resource, offers })
        };
        let objects = objects.into_iter().map(object).collect::<PyResult<Vec<_>>>()?;
        let names: Vec<_> = objects.iter().map(|object| object.name.clone()).collect();
        let equations = if printed { Equations::Printed } else { Equations::Sound };
        let made = free(py, || Problem::new(set, objects, |resource| others[resource], equations))?;
        let made = made.map(|mut problem| {
            problem.aim(aim);
            Self(problem)
        });
        made.map_err(|fault| match &fault {
            ProblemFault::Object(at) => PyValueError::new_err(format!(
                "object `{}`: it has no offer or more than 64, or names a resource of another object, or \
                 something that is not in the set",
                names.get(*at).map_or("?", String::as_str)
            )),
            _ => PyValueError::new_err(fault.to_string()),
        })
    }

    /// Judges an offer per object; `None` leaves an object open. Returns `None` if a deadline is not shown to be kept.
    fn judge(&self, py: Python<'_>, selection: Vec<Option<usize>>) -> PyResult<Option<JudgedRow>> {
        let objects = self.0.objects();
        let known = |(object, offer): (&ObjectOffers, &Option<usize>)| {
            offer.is_none_or(|at| at < object.offers.len())
        };
        if selection.len() != objects.len() || !objects.iter().zip(&selection).all(known) {
            return Err(PyIndexError::new_err("one offer per object, by position, or None"));
        }
        let mut problem = self.0.clone();
        let judged = fits(py, || problem.judge(&selection))?;
        Ok(judged.as_ref().map(row))
    }

    /// Our search: the best selection, a lower bound for every selection, whether the best is proven, judgements. Calls
    /// `progress` with judgements, the best value so far and the lower bound; the search stops if `progress` returns
    /// something false other than `None`.
    #[pyo3(signature = (judgements, budget_ns, progress))]
    fn best(
        &self,
        py: Python<'_>,
        judgements: u64,
        budget_ns: Option<u64>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(Option<FoundRow>, u64, bool, u64)> {
        let mut problem = self.0.clone();
        let mut raised = None;
        let begin = Instant::now();
        let mut reported: Option<Instant> = None;
        let answer = fits(py, || {
            best::search(&mut problem, judgements, &mut |now| {
                let over = budget_ns.is_some_and(|budget| begin.elapsed() >= Duration::from_nanos(budget));
                if over || reported.is_some_and(|reported| reported.elapsed() < LOOK_UP) {
                    return !over;
                }
                reported = Some(Instant::now());
                let go_on = Python::attach(|py| {
                    py.check_signals()?;
                    let Some(progress) = &progress else { return Ok(true) };
                    let answer = progress.call1(py, (now.judged, now.best, now.at_least))?;
                    Ok(answer.is_none(py) || answer.is_truthy(py)?)
                });
                go_on.unwrap_or_else(|error| {
                    raised = Some(error);
                    false
                })
            })
        })?;
        if let Some(error) = raised {
            return Err(error);
        }
        let proven = answer.is_proven();
        Ok((answer.best.map(found), answer.at_least, proven, problem.judged()))
    }

    /// A search of all selections, or a published algorithm: the best selection, and judgements.
    fn other(&self, py: Python<'_>, algorithm: &str, depth: usize) -> PyResult<(Option<FoundRow>, u64)> {
        let mut problem = self.0.clone();
        let search: Result<_, Overflow> = free(py, || match algorithm {
            "exhaustive" => exhaustive::search(&mut problem),
            "backtracking" => paper::backtracking(&mut problem, depth),
            _ => paper::heuristic(&mut problem, depth),
        })?;
        let best = fits(py, || search)?;
        Ok((best.map(found), problem.judged()))
    }

    /// The offers of an object while the other objects keep theirs; `None` if the selection does not keep every
    /// deadline.
    fn why(
        &self,
        py: Python<'_>,
        selection: Vec<usize>,
        object: usize,
    ) -> PyResult<Option<Vec<AlternativeRow>>> {
        self.known(&selection.iter().copied().map(Some).collect::<Vec<_>>())?;
        position("object", object, self.0.objects().len())?;
        let mut problem = self.0.clone();
        let all = fits(py, || why(&mut problem, &selection, object))?;
        let alternative = |each: &Alternative| {
            let (what, judged, task) = match &each.alone {
                Alone::Selected(judged) => ("selected", Some(row(judged)), None),
                Alone::Feasible(judged) => ("kept", Some(row(judged)), None),
                Alone::Missed(Miss::Deadline { task, response, .. }) => {
                    ("deadline", None, Some((*task, response.as_ns())))
                }
                Alone::Missed(Miss::Constraint { .. }) => ("constraint", None, None),
                Alone::Missed(Miss::Memory) => ("memory", None, None),
                Alone::Missed(Miss::Steps) => ("steps", None, None),
            };
            (each.offer, each.bytes, what, judged, task)
        };
        Ok(all.map(|all| all.iter().map(alternative).collect()))
    }
}

impl Choice {
    /// Checks that a selection has one offer per object.
    fn known(&self, selection: &[Option<usize>]) -> PyResult<()> {
        let objects = self.0.objects();
        let known = |(object, offer): (&ObjectOffers, &Option<usize>)| {
            offer.is_none_or(|at| at < object.offers.len())
        };
        if selection.len() == objects.len() && objects.iter().zip(selection).all(known) {
            Ok(())
        } else {
            Err(PyIndexError::new_err("one offer per object, by position, or None"))
        }
    }
}
