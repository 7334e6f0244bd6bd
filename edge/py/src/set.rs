// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Task sets.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use taut_model::{
    ArrivalPattern, Body, Request, Resource, SchedulingPolicy, Segment, SetFault, SetTask, TaskSet,
};

use crate::work::{free, position, time};

/// Adds the type of this file to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Set>()
}

/// A task set.
#[pyclass(name = "Set", module = "taut._taut", frozen)]
#[derive(Debug)]
pub(crate) struct Set(pub(crate) TaskSet);

/// A segment of a job: its length, or a resource with the segments inside.
#[derive(Debug, FromPyObject)]
enum Piece {
    Normal(u64),
    Section((usize, Vec<Piece>)),
}

/// How jobs arrive: a word, and the offset for `"phased"`.
type When = (String, u64);

/// A task: name, core, priority, arrivals, T, D, J, and then either C with its sections (each as resource, count,
/// length) or its segments.
type Row =
    (String, usize, u32, When, u64, u64, u64, Option<(u64, Vec<(usize, u32, u64)>)>, Option<Vec<Piece>>);

fn segments(parts: Vec<Piece>) -> Vec<Segment> {
    let segment = |part| match part {
        Piece::Normal(length) => Segment::Normal(time(length)),
        Piece::Section((resource, inside)) => Segment::Section { resource, inside: segments(inside) },
    };
    parts.into_iter().map(segment).collect()
}

fn task(row: Row) -> PyResult<SetTask> {
    let (name, core, priority, (arrivals, offset), period, deadline, jitter, anywhere, parts) = row;
    let arrivals = match arrivals.as_str() {
        "periodic" => ArrivalPattern::Periodic,
        "phased" => ArrivalPattern::Phased(time(offset)),
        "sporadic" => ArrivalPattern::Sporadic,
        other => return Err(PyValueError::new_err(format!("`{other}` is not an arrival pattern"))),
    };
    let body = match (anywhere, parts) {
        (_, Some(parts)) => Body::Segments(segments(parts)),
        (Some((cost, sections)), None) => {
            let request = |(resource, count, length)| Request {
                resource,
                count,
                length: time(length),
                outermost: true,
            };
            Body::Anywhere { cost: time(cost), requests: sections.into_iter().map(request).collect() }
        }
        (None, None) => return Err(PyValueError::new_err("a task needs a cost or parts")),
    };
    let (period, deadline, jitter) = (time(period), time(deadline), time(jitter));
    Ok(SetTask { name, core, priority, arrivals, period, deadline, jitter, body })
}

/// Faults as an exception: the text, and one pair per fault.
pub(crate) fn faults(faults: Vec<SetFault>, name: impl Fn(usize) -> String) -> PyErr {
    let each: Vec<_> = faults.iter().map(|fault| (fault.task, fault.what.to_string())).collect();
    let lines: Vec<_> = each.iter().map(|(at, what)| format!("task `{}`: {what}", name(*at))).collect();
    PyValueError::new_err((lines.join("\n"), each))
}

#[pymethods]
impl Set {
    #[new]
    fn new(py: Python<'_>, edf: Vec<bool>, resources: Vec<String>, tasks: Vec<Row>) -> PyResult<Self> {
        let scheduler = |edf| if edf { SchedulingPolicy::Edf } else { SchedulingPolicy::FixedPriority };
        let cores = edf.into_iter().map(scheduler).collect();
        let resources = resources.into_iter().map(|name| Resource { name }).collect();
        let tasks = tasks.into_iter().map(task).collect::<PyResult<Vec<_>>>()?;
        let names: Vec<_> = tasks.iter().map(|task| task.name.clone()).collect();
        let made = free(py, || TaskSet::new(cores, resources, tasks))?;
        made.map(Self).map_err(|found| faults(found, |at| names[at].clone()))
    }

    fn cost(&self, task: usize) -> PyResult<u64> {
        position("task", task, self.0.tasks().len())?;
        Ok(self.0.cost(task).as_ns())
    }

    fn requests(&self, task: usize) -> PyResult<Vec<(usize, u32, u64, bool)>> {
        position("task", task, self.0.tasks().len())?;
        let row = |r: &Request| (r.resource, r.count, r.length.as_ns(), r.outermost);
        Ok(self.0.requests(task).iter().map(row).collect())
    }

    fn users(&self, resource: usize) -> PyResult<Vec<usize>> {
        position("resource", resource, self.0.resources().len())?;
        Ok(self.0.users(resource).collect())
    }

    fn is_local(&self, resource: usize) -> PyResult<bool> {
        position("resource", resource, self.0.resources().len())?;
        Ok(self.0.is_local(resource))
    }

    /// The rows that the set was made from; sections that may be anywhere in a job come by resource.
    fn rows(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let rows = self.0.tasks().iter().enumerate().map(|(at, task)| {
            let (arrivals, offset) = match task.arrivals {
                ArrivalPattern::Periodic => ("periodic", 0),
                ArrivalPattern::Phased(offset) => ("phased", offset.as_ns()),
                ArrivalPattern::Sporadic | ArrivalPattern::Driven => ("sporadic", 0),
            };
            let (anywhere, parts) = match &task.body {
                Body::Segments(segments) => (None, Some(shown(py, segments)?)),
                Body::Anywhere { cost, .. } => {
                    let row = |r: &Request| (r.resource, r.count, r.length.as_ns());
                    let sections: Vec<_> = self.0.requests(at).iter().map(row).collect();
                    (Some((cost.as_ns(), sections)), None)
                }
            };
            let row = (
                task.name.as_str(),
                task.core,
                task.priority,
                (arrivals, offset),
                task.period.as_ns(),
                task.deadline.as_ns(),
                task.jitter.as_ns(),
                anywhere,
                parts,
            );
            Ok(row.into_pyobject(py)?.into_any().unbind())
        });
        let edf: Vec<_> = self.0.cores().iter().map(|core| *core == SchedulingPolicy::Edf).collect();
        let resources: Vec<_> = self.0.resources().iter().map(|resource| resource.name.as_str()).collect();
        let rows = rows.collect::<PyResult<Vec<_>>>()?;
        Ok((edf, resources, rows).into_pyobject(py)?.into_any().unbind())
    }
}

fn shown(py: Python<'_>, segments: &[Segment]) -> PyResult<Vec<Py<PyAny>>> {
    let part = |segment: &Segment| match segment {
        Segment::Normal(length) => Ok(length.as_ns().into_pyobject(py)?.into_any().unbind()),
        Segment::Section { resource, inside } => {
            Ok((*resource, shown(py, inside)?).into_pyobject(py)?.into_any().unbind())
        }
    };
    segments.iter().map(part).collect()
}
