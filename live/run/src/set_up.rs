// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What the set-up of each component takes from the heap: its `create`, its `start`, and the component itself.
//!
//! The thread that runs the code counts what it takes: the main thread, and for `start` of a native task the
//! task's own thread, before that is real-time. What the runtime allocates for the ends of channels, in
//! [`Create`](crate::Create), is not the component's.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use taut_event::{Counter, Kind, Record};
use taut_plan::{ClassPlan, Plan, Size};
use taut_time::Instant;

use crate::guard::{HeapTaken, Measure};
use crate::names::position;

/// What each task's set-up has taken so far, by its position in the plan; `None` before anything is counted.
#[derive(Debug)]
pub(crate) struct SetUpHeap(Vec<Mutex<Option<HeapTaken>>>);

impl SetUpHeap {
    pub(crate) fn new(tasks: usize) -> Self {
        Self((0..tasks).map(|_| Mutex::new(None)).collect())
    }

    /// Runs a part of a task's set-up, after those before it, and counts what it takes.
    pub(crate) fn count<R>(&self, task: usize, part: impl FnOnce() -> R) -> R {
        let measure = Measure::begin();
        let result = part();
        let taken = measure.taken();
        drop(measure);
        self.add(task, taken);
        result
    }

    /// Counts the component itself, which the runtime keeps on the heap (bytes).
    pub(crate) fn count_itself(&self, task: usize, size: usize) {
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        let taken = Measure::begin().taken().map(|_| HeapTaken { in_use: size, peak: size });
        self.add(task, taken);
    }

    fn add(&self, task: usize, taken: Option<HeapTaken>) {
        if let Some((of_task, taken)) = self.0.get(task).zip(taken) {
            let mut of_task = of_task.lock().unwrap_or_else(PoisonError::into_inner);
            *of_task = Some(of_task.unwrap_or_default().then(taken));
        }
    }

    /// By task: the bytes in use, and the most at one time.
    fn taken(&self) -> impl Iterator<Item = (usize, u64, u64)> {
        let bytes = |count: i64| u64::try_from(count).unwrap_or(0);
        self.0.iter().enumerate().filter_map(move |(task, of_task)| {
            let taken = (*of_task.lock().unwrap_or_else(PoisonError::into_inner))?;
            Some((task, bytes(taken.in_use), bytes(taken.peak)))
        })
    }

    /// Checks every task whose bound the plan states, once all have started.
    ///
    /// # Errors
    /// [`SetUpExceeded`].
    pub(crate) fn check(&self, plan: &Plan) -> Result<(), SetUpExceeded> {
        let exceeded = self.taken().filter_map(|(task, in_use, _)| {
            let ClassPlan::RealTime { set_up: Some(bound), .. } = plan.tasks[task].class else { return None };
            let name = plan.tasks[task].name.clone();
            (in_use > bound.as_bytes()).then_some((name, Size::from_bytes(in_use), bound))
        });
        let exceeded: Vec<_> = exceeded.collect();
        if exceeded.is_empty() { Ok(()) } else { Err(SetUpExceeded(exceeded)) }
    }

    /// The records of what each set-up has taken.
    pub(crate) fn records(&self, at: Instant) -> Vec<Record> {
        let counts = self.taken().flat_map(|(task, in_use, peak)| {
            [(task, Counter::SetUpHeap, in_use), (task, Counter::SetUpHeapPeak, peak)]
        });
        let record = |(task, count, value)| {
            let (kind, subject, job) = (Kind::Counted, position(task), count as u64);
            Record { at, kind, cpu: 0, subject, job, value }
        };
        counts.map(record).collect()
    }
}

/// Components whose set-up left more of the heap in use than the manifest states: by task, what it left, and the bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetUpExceeded(Vec<(String, Size, Size)>);

impl fmt::Display for SetUpExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TAUT0604: set-ups left more of the heap in use than the manifest states")?;
        self.0.iter().try_for_each(|(task, taken, bound)| {
            write!(f, "\n  tasks.{task}.memory.set-up = \"{bound}\": `{task}` left {taken} in use")
        })
    }
}
