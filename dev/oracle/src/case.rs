// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A case: a task set, and the results of other tools for it. Each line of a file is one case, as JSON.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use taut_model::{ArrivalPattern, Body, Request, Resource, SchedulingPolicy, SetTask, TaskSet};
use taut_time::Duration;

/// A century, in microseconds. A longer time is a mistake; a shorter one fits in 64 bits of nanoseconds.
pub(crate) const MOST_US: u64 = 100 * 366 * 86_400 * 1_000_000;

/// One case of a file.
#[derive(Debug, Deserialize)]
pub(crate) struct Case {
    /// Its name.
    pub(crate) id: String,
    /// Its group: `A` to `G`.
    pub(crate) group: String,
    /// The number of cores.
    m: usize,
    /// The number of resources.
    #[serde(default)]
    n_res: usize,
    /// The unit of all times. Absent means microseconds.
    #[serde(default)]
    unit: Option<String>,
    /// The tasks, most urgent first.
    #[serde(default)]
    tasks: Vec<Task>,
    /// The transactions, in cases without tasks.
    #[serde(default)]
    pub(crate) transactions: Vec<Transaction>,
    /// The results, by tool and analysis.
    pub(crate) oracle: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
struct Task {
    #[serde(rename = "core")]
    core: usize,
    /// 0 is the most urgent.
    #[serde(rename = "prio")]
    prio: u32,
    c: u64,
    t: u64,
    d: u64,
    #[serde(default)]
    j: u64,
    #[serde(default, rename = "cs")]
    sections: Vec<Section>,
}

#[derive(Debug, Deserialize)]
struct Section {
    r: usize,
    n: u32,
    len: u64,
}

/// Activities that one event releases, each after the previous one.
#[derive(Debug, Deserialize)]
pub(crate) struct Transaction {
    /// The period.
    #[serde(rename = "T")]
    pub(crate) period: u64,
    /// Its activities, in order.
    #[serde(rename = "acts")]
    pub(crate) activities: Vec<Activity>,
}

/// An activity of a transaction.
#[derive(Debug, Deserialize)]
pub(crate) struct Activity {
    /// The earliest release, from the event on.
    #[serde(rename = "off")]
    pub(crate) offset: u64,
    /// The cost.
    #[serde(rename = "C")]
    pub(crate) cost: u64,
    /// Larger is more urgent.
    #[serde(rename = "mast_priority")]
    pub(crate) priority: u32,
}

/// Reads the cases of a file.
pub(crate) fn read(path: &Path) -> Result<Vec<Case>, String> {
    let reported = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| reported(&error))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| {
            serde_json::from_str(line).map_err(|error| reported(&format!("line {}: {error}", at + 1)))
        })
        .collect()
}

impl Case {
    /// Builds the task set with `scheduler` on every core; `change` may alter each task.
    pub(crate) fn set(
        &self,
        scheduler: SchedulingPolicy,
        change: impl Fn(&mut SetTask),
    ) -> Result<TaskSet, String> {
        if self.tasks.is_empty() {
            return Err("no tasks".into());
        }
        if self.unit.as_deref().is_some_and(|unit| unit != "us") {
            return Err(format!("times in {:?}", self.unit));
        }
        for task in &self.tasks {
            let sections = task.sections.iter().map(|section| section.len);
            let times = [task.c, task.t, task.d, task.j];
            if times.into_iter().chain(sections).any(|us| us > MOST_US) {
                return Err(format!("a time longer than {MOST_US} us"));
            }
        }
        let most = self.tasks.iter().map(|task| task.prio).max().unwrap_or(0);
        let tasks = self.tasks.iter().enumerate().map(|(at, task)| {
            let section = |section: &Section| Request {
                resource: section.r,
                count: section.n,
                length: Duration::from_us(section.len),
                outermost: true,
            };
            let mut made = SetTask {
                name: at.to_string(),
                core: task.core,
                priority: most - task.prio,
                arrivals: ArrivalPattern::Sporadic,
                period: Duration::from_us(task.t),
                deadline: Duration::from_us(task.d),
                jitter: Duration::from_us(task.j),
                body: Body::Anywhere {
                    cost: Duration::from_us(task.c),
                    requests: task.sections.iter().map(section).collect(),
                },
            };
            change(&mut made);
            made
        });
        let resources = (0..self.n_res).map(|at| Resource { name: at.to_string() }).collect();
        TaskSet::new(vec![scheduler; self.m], resources, tasks.collect()).map_err(|faults| {
            let faults = faults.iter().map(|fault| format!("task {}: {}", fault.task, fault.what));
            faults.collect::<Vec<_>>().join("; ")
        })
    }
}
