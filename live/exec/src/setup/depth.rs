// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How many threads a core needs: see [`crate::ready::depth`].

use crate::setup::CoreSetup;

impl CoreSetup<'_> {
    /// D1: the most jobs that may have begun at once.
    pub(crate) fn depth(&self) -> usize {
        let (plain, others): (Vec<_>, Vec<_>) = self.tasks.iter().partition(|task| task.is_plain(self.rule));
        let mut levels: Vec<_> = plain.into_iter().map(|task| self.level(task).number()).collect();
        levels.sort_unstable();
        levels.dedup();
        others.len() + levels.len()
    }

    /// The number of worker threads: one per task, but at most 90.
    #[cfg(not(test))]
    pub(crate) fn threads(&self) -> usize {
        self.tasks.len().min(crate::ready::worker_priorities::WORKERS_MAX)
    }

    /// In tests only as many as the core needs, and fewer where a test checks what happens then.
    #[cfg(test)]
    pub(crate) fn threads(&self) -> usize {
        self.depth() - self.missing
    }
}
