// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The dispatcher's questions to works whose jobs need admission: see [`crate::ready::admission`].

use taut_policy::Misuse;

use crate::ready::state::State;
use crate::threads::worker::Works;

/// The questions to the works of a core. Only the core's dispatcher asks them.
#[derive(Debug)]
pub(crate) struct Admissions {
    asked: Vec<Asked>,
}

/// One question to a work, and whether the work has admitted the release.
#[derive(Clone, Copy, Debug)]
struct Asked {
    task: u32,
    next: u64,
    begins: bool,
    admitted: bool,
}

impl Admissions {
    /// Room for the questions to this many tasks.
    pub(crate) fn new(tasks: usize) -> Self {
        Self { asked: Vec::with_capacity(tasks) }
    }

    /// Reports the admitted releases to the rule.
    pub(crate) fn apply(&mut self, state: &mut State, now_ns: u64) -> Result<(), Misuse> {
        for asked in self.asked.drain(..).filter(|asked| asked.admitted) {
            state.admitted(asked.task, now_ns)?;
        }
        Ok(())
    }

    /// Collects the next questions, once all admitted releases have been reported.
    pub(crate) fn collect(&mut self, state: &mut State, now_ns: u64) {
        if !state.needs.admission {
            return;
        }
        for task in 0..state.tasks.len() as u32 {
            if let Some((next, begins)) = state.at_admission(task, now_ns) {
                // There is room for one question per task.
                self.asked.push(Asked { task, next, begins, admitted: false });
            }
        }
    }

    /// Asks the works, outside the core's state because a work may wait for a lock. Returns whether there is
    /// something to report. A work that panics admits nothing, and calls `panicked`.
    pub(crate) fn ask(&mut self, works: &Works<'_>, panicked: &(dyn Fn() + Sync)) -> bool {
        for asked in &mut self.asked {
            // SAFETY: the task has no job, and gets none before we report it. So no other thread has its work, and
            // the last job's accesses come before the scan that collected this question.
            let work = unsafe { &mut *works.works[asked.task as usize].get() };
            asked.admitted = works.call(panicked, || work.admit(asked.next, asked.begins)) == Some(true);
        }
        self.asked.iter().any(|asked| asked.admitted)
    }

    /// Whether a release waits for admission.
    pub(crate) fn wait(&self) -> bool {
        !self.asked.is_empty()
    }
}
