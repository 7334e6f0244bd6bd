// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What the search notes of a run.

use crate::{SimEvent, SimEventKind, Sink};

/// The most checkpoints of a run.
const MARKS_MAX: usize = 1 << 14;

/// An instant at which a change of the scenario may have an effect.
#[derive(Clone, Copy, Debug)]
pub(super) struct Checkpoint {
    pub(super) at: u64,
    pub(super) task: usize,
    /// The resource that the task requests; none if it starts, continues, stops or ends.
    pub(super) asks: Option<usize>,
}

/// The checkpoints of a run, and the worst job of the task in focus.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    pub(super) marks: Vec<Checkpoint>,
    focus: usize,
    waits: Vec<bool>,
    /// The worst job's arrival and completion.
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
    fn event(&mut self, event: SimEvent) {
        let (at, task) = (event.at.as_ns(), event.task);
        let asks = match event.kind {
            SimEventKind::Suspend(resource) | SimEventKind::Spin(resource) => {
                self.waits[task] = true;
                Some(resource)
            }
            SimEventKind::Locked(_) if core::mem::take(&mut self.waits[task]) => return,
            SimEventKind::Locked(resource) => Some(resource),
            SimEventKind::Complete { response } => {
                if task == self.focus && response.as_ns() > self.end - self.arrival {
                    (self.arrival, self.end) = (at - response.as_ns(), at);
                }
                None
            }
            SimEventKind::Start | SimEventKind::Resume | SimEventKind::Preempt | SimEventKind::Kill => None,
            SimEventKind::Release { .. }
            | SimEventKind::Drop
            | SimEventKind::Unlock(_)
            | SimEventKind::Exhausted
            | SimEventKind::Miss => return,
        };
        if self.marks.len() < MARKS_MAX {
            self.marks.push(Checkpoint { at, task, asks });
        }
    }
}
