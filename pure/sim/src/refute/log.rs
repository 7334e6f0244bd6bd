// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a run shows to the search.

use crate::{Event, Kind, Sink};

/// Most marks of a run.
const MARKS_MAX: usize = 1 << 14;

/// An instant worth a thought.
#[derive(Clone, Copy, Debug)]
pub(super) struct Checkpoint {
    pub(super) at: u64,
    pub(super) task: usize,
    /// The resource that it asks for, or else it starts, goes on, stops or ends.
    pub(super) asks: Option<usize>,
}

/// The instants of a run, and the worst job of the task that is looked at.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    pub(super) marks: Vec<Checkpoint>,
    focus: usize,
    waits: Vec<bool>,
    /// The worst job's arrival and end.
    pub(super) arrival: u64,
    pub(super) end: u64,
}

impl Log {
    pub(super) fn start(&mut self, focus: usize, tasks: usize) {
        self.marks.clear();
        self.waits.clear();
        self.waits.resize(tasks, false);
        (self.focus, self.arrival, self.end) = (focus, 0, 0);
    }
}

impl Sink for Log {
    fn event(&mut self, event: Event) {
        let (at, task) = (event.at.as_ns(), event.task);
        let asks = match event.kind {
            Kind::Suspend(resource) | Kind::Spin(resource) => {
                self.waits[task] = true;
                Some(resource)
            }
            Kind::Locked(_) if core::mem::take(&mut self.waits[task]) => return,
            Kind::Locked(resource) => Some(resource),
            Kind::Complete { response } => {
                if task == self.focus && response.as_ns() > self.end - self.arrival {
                    (self.arrival, self.end) = (at - response.as_ns(), at);
                }
                None
            }
            Kind::Start | Kind::Resume | Kind::Preempt | Kind::Kill => None,
            Kind::Release { .. } | Kind::Drop | Kind::Unlock(_) | Kind::Exhausted | Kind::Miss => return,
        };
        if self.marks.len() < MARKS_MAX {
            self.marks.push(Checkpoint { at, task, asks });
        }
    }
}
