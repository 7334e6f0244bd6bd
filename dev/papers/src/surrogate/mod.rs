// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Surrogates of the two systems that \[Han14\] examines. We know of no publication of their tasks and resources.
//! Those here are drawn from a fixed seed; they share with the originals what the paper prints, and nothing else.
//!
//! | | fuel injection | allocation |
//! |---|---|---|
//! | printed | 16 tasks; periods 4, 5, 10, 12, 50, 100, 1000 ms; 46 resources of 1 to 512 B, 5,032 B; WF-DBP 20,722 B, WF-TCCP 278,468 B; 17,330 B where nothing can be locked | 42 tasks; periods 14, 20, 35, 60 ms; 36 resources of 20 to 150 B, 2,240 B |
//! | assumed | two cores; which task runs where; a core's load cut among its tasks; the writer and the readers of each resource; sections of a tenth of a task's time | the same |

mod allocation;
mod draws;
pub(crate) mod examples;
mod from_model;
mod fuel_injection;
mod manifest;
pub(crate) mod search;

use taut_model::{ArrivalPattern, Body, Request, Resource, SchedulingPolicy, SetFault, SetTask, TaskSet};
use taut_sweep::{SharedObject, System};
use taut_time::Duration;

pub(crate) use allocation::allocation;
pub(crate) use from_model::from_manifest;
pub(crate) use fuel_injection::{PRINTED, fuel_injection};

/// A system whose load can be scaled.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) cores: usize,
    pub(crate) tasks: Vec<Task>,
    pub(crate) objects: Vec<SharedObject>,
}

/// A task of a case.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) name: String,
    pub(crate) period: Duration,
    pub(crate) deadline: Duration,
    pub(crate) core: usize,
    /// The share of the load, in millionths. The shares of a core sum to at most a whole, those of the most loaded
    /// core to a whole (each rounded down).
    pub(crate) share: u64,
    /// The objects that it accesses, once each, and the longest time of the access.
    pub(crate) sections: Vec<(usize, Section)>,
}

/// How long an access takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    /// In millionths of the task's execution time.
    Fraction(u64),
    /// The same at every load.
    Fixed(Duration),
}

impl Task {
    /// C, without the cost of mechanisms, if the most loaded core has this load, in permille.
    pub(crate) fn cost(&self, load: u64) -> Duration {
        let parts = u128::from(self.share) * u128::from(load);
        let cost = u128::from(self.period.as_ns()) * parts / 1_000_000_000;
        Duration::from_ns(u64::try_from(cost).unwrap_or(u64::MAX).max(1))
    }

    fn section(&self, load: u64, section: Section) -> Duration {
        match section {
            Section::Fraction(millionths) => {
                let length = u128::from(self.cost(load).as_ns()) * u128::from(millionths) / 1_000_000;
                Duration::from_ns(u64::try_from(length).unwrap_or(u64::MAX).max(1))
            }
            Section::Fixed(length) => length,
        }
    }
}

impl Case {
    /// The task set and its objects if the most loaded core has this load, in permille.
    ///
    /// # Errors
    /// The faults that a set must not have.
    pub(crate) fn system(&self, load: u64) -> Result<System, Vec<SetFault>> {
        let priorities = deadline_monotonic(&self.tasks);
        let tasks = self.tasks.iter().zip(priorities).map(|(task, priority)| {
            let request = |&(resource, section): &(usize, Section)| Request {
                resource,
                count: 1,
                length: task.section(load, section),
                outermost: true,
            };
            let requests: Vec<_> = task.sections.iter().map(request).collect();
            let inside = requests.iter().map(|request| request.length.as_ns()).sum();
            SetTask {
                name: task.name.clone(),
                core: task.core,
                priority,
                arrivals: ArrivalPattern::Periodic,
                period: task.period,
                deadline: task.deadline,
                jitter: Duration::ZERO,
                body: Body::Anywhere { cost: task.cost(load).max(Duration::from_ns(inside)), requests },
            }
        });
        let resources = (0..self.objects.len()).map(|at| Resource { name: format!("r{at}") }).collect();
        let set =
            TaskSet::new(vec![SchedulingPolicy::FixedPriority; self.cores], resources, tasks.collect())?;
        Ok(System { set, objects: self.objects.clone() })
    }

    /// Whether a task writes or reads an object.
    pub(crate) fn uses(&self, task: usize, object: usize) -> bool {
        let object = &self.objects[object];
        object.writer == task || object.readers.contains(&task)
    }
}

/// Priorities, larger for shorter deadlines; of equal deadlines the first is the most urgent.
fn deadline_monotonic(tasks: &[Task]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..tasks.len()).rev().collect();
    order.sort_by_key(|&task| std::cmp::Reverse(tasks[task].deadline));
    let mut priorities = vec![0; tasks.len()];
    (1..).zip(order).for_each(|(priority, task)| priorities[task] = priority);
    priorities
}
