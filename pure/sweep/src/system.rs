// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Draws the system of a row.
//!
//! ```text
//! tasks       a random number on each core; the load of the core is cut among them; C is the share of T, rounded up,
//!             at least a ten-thousandth of T; priorities are deadline-monotonic over all cores, and distinct
//! objects     each task writes one object; a random number of other tasks read it, all tasks equally likely
//! sections    one for each task and object that the task accesses; C is at least the sum of the task's sections
//! ```
//!
//! The values that are drawn, and their order, are part of the meaning of a file: the same file gives the same rows in
//! every version that reads it.

use taut_model::{ArrivalPattern, Body, Request, Resource, SchedulingPolicy, SetTask, TaskSet};
use taut_time::Duration;

use crate::draw::Draw;
use crate::generator::{Cut, Generator, Periods, Scheme, Sections};
use crate::row::NoRow;

/// The most systems that are drawn for a row until one has the required number of objects.
pub const DRAWS_MAX: u32 = 1_000;

/// A system: tasks and the objects that they share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct System {
    /// The tasks, with a resource for each object, in the objects' order.
    pub set: TaskSet,
    /// The shared objects.
    pub objects: Vec<SharedObject>,
}

/// A shared object. Tasks are given as positions in the set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedObject {
    /// Size of a value in bytes.
    pub bytes: u64,
    /// The task that writes it.
    pub writer: usize,
    /// The tasks that read it, each once.
    pub readers: Vec<usize>,
}

/// A task before it has sections. Times are in ns.
struct Sketch {
    core: usize,
    period: u64,
    deadline: u64,
    cost: u64,
}

impl Generator {
    /// The system of a row; a function of the file, the seed and the row only.
    ///
    /// # Errors
    /// There is no such row, no system in [`DRAWS_MAX`] draws has the required number of objects, or times do not fit
    /// in 64 bits.
    pub fn system(&self, row: u64) -> Result<System, NoRow> {
        if row >= self.rows() {
            return Err(NoRow::NotThere { row, rows: self.rows() });
        }
        let point = &self.points[self.point_of(row)];
        let mut draw = Draw::new(self.seed, row);
        for _ in 0..DRAWS_MAX {
            let tasks = self.tasks(point.utilisation, &mut draw);
            let objects = self.shared(&self.schemes[point.at], &tasks, &mut draw);
            if let Some(objects) = self.wanted(objects, &mut draw) {
                let set = self.set(&tasks, &objects, &mut draw).ok_or(NoRow::Overflow { row })?;
                return Ok(System { set, objects });
            }
        }
        Err(NoRow::FewObjects { row, wanted: self.objects.count.unwrap_or(0) })
    }

    fn tasks(&self, load: u64, draw: &mut Draw) -> Vec<Sketch> {
        let counts: Vec<u64> = (0..self.tasks.cores).map(|_| draw.between(self.tasks.per_core)).collect();
        let mut tasks = Vec::new();
        for (core, count) in counts.into_iter().enumerate() {
            // In 10⁻⁹ of the core.
            let whole = load * 1_000;
            let shares = match self.tasks.cut {
                Cut::Any => draw.cut(whole, count as usize),
                Cut::Even => vec![whole / count; count as usize],
            };
            for share in shares {
                let period = match &self.tasks.periods {
                    Periods::Listed(periods) => weighted(periods, draw),
                    Periods::Octaves { range, step } => draw.octaves(*range) / step * step,
                };
                // A time is at most an hour, so each quotient fits in 64 bits.
                let of = |whole: u64, share: u64, unit: u128| {
                    (u128::from(whole) * u128::from(share)).div_ceil(unit) as u64
                };
                let cost = of(period, share, 1_000_000_000).max(period / 10_000).max(1);
                let deadline = of(period, draw.between(self.tasks.deadlines), 1_000_000).max(1);
                tasks.push(Sketch { core, period, deadline, cost });
            }
        }
        tasks
    }

    /// Draws the objects: for each writer, the readers and the size.
    fn shared(&self, scheme: &Scheme, tasks: &[Sketch], draw: &mut Draw) -> Vec<SharedObject> {
        let mut objects = Vec::new();
        for writer in 0..tasks.len() {
            let mut others: Vec<usize> = (0..tasks.len()).filter(|&other| other != writer).collect();
            let count = (weighted(&scheme.readers, draw) as usize).min(others.len());
            let readers: Vec<usize> =
                (0..count).map(|_| others.swap_remove(draw.position(others.len()))).collect();
            let bytes = weighted(&scheme.sizes, draw);
            let crosses = readers.iter().any(|&reader| tasks[reader].core != tasks[writer].core);
            if crosses || (self.objects.same_core && !readers.is_empty()) {
                objects.push(SharedObject { bytes, writer, readers });
            }
        }
        objects
    }

    /// Removes random objects until the required number is left; `None` if there are fewer.
    fn wanted(&self, mut objects: Vec<SharedObject>, draw: &mut Draw) -> Option<Vec<SharedObject>> {
        let Some(wanted) = self.objects.count else { return Some(objects) };
        while objects.len() > wanted {
            objects.remove(draw.position(objects.len()));
        }
        (objects.len() == wanted).then_some(objects)
    }

    fn set(&self, tasks: &[Sketch], objects: &[SharedObject], draw: &mut Draw) -> Option<TaskSet> {
        let mut accessed = vec![Vec::new(); tasks.len()];
        for (at, object) in objects.iter().enumerate() {
            for &task in [object.writer].iter().chain(&object.readers) {
                accessed[task].push(at);
            }
        }
        // In ascending urgency: the last is the most urgent.
        let mut order: Vec<usize> = (0..tasks.len()).collect();
        order.sort_by_key(|&task| std::cmp::Reverse(tasks[task].deadline));
        let mut priorities = vec![0; tasks.len()];
        (1..).zip(order).for_each(|(priority, task)| priorities[task] = priority);
        let mut all = Vec::with_capacity(tasks.len());
        for (at, (task, accessed)) in tasks.iter().zip(accessed).enumerate() {
            let lengths = match self.sections {
                Sections::Share(share) => {
                    let share = u128::from(draw.between(share));
                    let inside = (u128::from(task.cost) * share / 1_000_000) as u64;
                    draw.cut(inside, accessed.len().max(1))
                }
                Sections::Length(range) => accessed.iter().map(|_| draw.between(range)).collect(),
                Sections::Access { fixed, per_byte } => {
                    let length = |&at: &usize| per_byte.checked_mul(objects[at].bytes)?.checked_add(fixed);
                    accessed.iter().map(length).collect::<Option<_>>()?
                }
            };
            let requests = accessed.iter().zip(lengths).map(|(&resource, length)| Request {
                resource,
                count: 1,
                length: Duration::from_ns(length.max(1)),
                outermost: true,
            });
            let requests: Vec<Request> = requests.collect();
            let sections = requests.iter().try_fold(0u64, |sum, one| sum.checked_add(one.length.as_ns()))?;
            all.push(SetTask {
                name: format!("t{at}"),
                core: task.core,
                priority: priorities[at],
                arrivals: ArrivalPattern::Periodic,
                period: Duration::from_ns(task.period),
                deadline: Duration::from_ns(task.deadline),
                jitter: Duration::ZERO,
                body: Body::Anywhere { cost: Duration::from_ns(task.cost.max(sections)), requests },
            });
        }
        let resources = (0..objects.len()).map(|at| Resource { name: format!("r{at}") }).collect();
        TaskSet::new(vec![SchedulingPolicy::FixedPriority; self.tasks.cores], resources, all).ok()
    }
}

/// One value of several, chosen by weight; at least one weight must be above 0.
fn weighted(all: &[(u64, u64)], draw: &mut Draw) -> u64 {
    let mut left = draw.below(all.iter().map(|(weight, _)| weight).sum());
    for (weight, value) in all {
        match left.checked_sub(*weight) {
            Some(rest) => left = rest,
            None => return *value,
        }
    }
    all.last().map_or(1, |(_, value)| *value)
}
