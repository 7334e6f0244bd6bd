// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The tasks' side: which jobs are complete, and whether there is a value.

use taut_atomic::Ordering::{Acquire, Relaxed, Release};
use taut_atomic::{AtomicU64, Claimed};

use super::{Layout, Mailbox};

/// What a writer keeps of its jobs: which is complete, and since which there is a value.
pub(in crate::state) struct WriterJobs<'m> {
    shared_completed: &'m AtomicU64,
    shared_first: &'m AtomicU64,
    completed: u64,
    /// The first job that wrote; 0 for none.
    first: u64,
    /// The job in whose buffer a value may be unfinished; 0 for none.
    unfinished: u64,
    /// The last job that wrote; 0 for none.
    written: u64,
}

impl<'m> WriterJobs<'m> {
    /// `activated`: the writer's job that was activated last.
    pub(in crate::state) fn attach(memory: &Claimed<'m>, activated: u64) -> Self {
        let shared_completed = memory.word(Layout::COMPLETED);
        let shared_first = memory.word(Layout::FIRST);
        // Relaxed, both: the last writer has ended before this call.
        let completed = shared_completed.load(Relaxed);
        let mut first = shared_first.load(Relaxed);
        if first > completed {
            // The last writer died just before its first job was complete.
            first = 0;
            shared_first.store(0, Relaxed);
        }
        // If that job is not complete, the last writer may have died in it.
        let unfinished = activated;
        Self { shared_completed, shared_first, completed, first, unfinished, written: 0 }
    }

    /// The job that was completed last.
    #[inline(always)]
    pub(in crate::state) fn completed(&self) -> u64 {
        self.completed
    }

    /// Records that `job` is about to change its value in place: until it [wrote](Self::wrote), it has not written.
    #[inline(always)]
    pub(in crate::state) fn begins(&mut self, job: u64) {
        self.written = 0;
        self.unfinished = job;
    }

    /// Records that `job` has written its value.
    #[inline(always)]
    pub(in crate::state) fn wrote(&mut self, job: u64) {
        self.written = job;
    }

    /// Completes `job`. If it has not written, the value before stays: `keep` copies it, if it lies in another buffer
    /// than that of this job (`is_apart`).
    #[inline(always)]
    pub(in crate::state) fn complete(&mut self, job: u64, is_apart: bool, keep: impl FnOnce()) {
        if self.written == job {
            return self.complete_written(job);
        }
        let mut first = self.first;
        if first != 0 && is_apart {
            keep();
        } else if self.unfinished == job {
            // The value before was in this buffer, and is lost.
            first = 0;
        }
        self.publish(job, first);
    }

    /// Completes `job`, which has written. 1 store; 1 more in the first job that writes.
    #[inline(always)]
    pub(in crate::state) fn complete_written(&mut self, job: u64) {
        self.publish(job, if self.first == 0 { job } else { self.first });
    }

    #[inline(always)]
    fn publish(&mut self, job: u64, first: u64) {
        if first != self.first {
            self.first = first;
            self.shared_first.store(first, Relaxed); // O2 publish, below, comes after it.
        }
        self.completed = job;
        self.shared_completed.store(job, Release); // O2 publish
    }
}

/// What a reader keeps of its jobs.
pub(in crate::state) struct ReaderJobs<'m> {
    mailbox: Mailbox<'m>,
    writer_completed: &'m AtomicU64,
    first: &'m AtomicU64,
    completed: u64,
}

impl<'m> ReaderJobs<'m> {
    pub(in crate::state) fn attach(memory: &Claimed<'m>, which: u32) -> Self {
        let mailbox = Mailbox::new(memory, which);
        Self {
            mailbox,
            writer_completed: memory.word(Layout::COMPLETED),
            first: memory.word(Layout::FIRST),
            // Relaxed: the last reader of this number has ended before this call.
            completed: mailbox.completed.load(Relaxed),
        }
    }

    /// The activated job and what it reads; `None` if all activated jobs are complete. 2 loads; 1 if there is none.
    #[inline(always)]
    pub(in crate::state) fn activated(&self) -> Option<(u64, u64)> {
        let job = self.mailbox.announced.load(Acquire); // O3 announce
        // Relaxed: the dispatcher stored it before it announced the job.
        (job != self.completed).then(|| (job, self.mailbox.what.load(Relaxed)))
    }

    /// The writer's job that was completed last; its value is visible. 1 load.
    #[inline(always)]
    pub(in crate::state) fn writer_completed(&self) -> u64 {
        self.writer_completed.load(Acquire) // O2 publish
    }

    /// Whether there is a value at job `version`, which is complete: whether it or an earlier job wrote one.
    #[inline(always)]
    pub(in crate::state) fn is_there(&self, version: u64) -> bool {
        // Relaxed: the writer stored it before the completion that the caller has seen.
        let first = self.first.load(Relaxed);
        first != 0 && first <= version
    }

    /// Completes `job`. 1 store.
    #[inline(always)]
    pub(in crate::state) fn complete(&mut self, job: u64) {
        self.completed = job;
        self.mailbox.completed.store(job, Release); // O4 leave
    }
}

/// What a reader's job knows about its value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::state) enum Value {
    /// The writer's job may not be complete.
    Unknown,
    /// There is a value.
    There,
    /// No job had written a value.
    None,
}

impl Value {
    /// Before the reader's job, which reads the writer's job `version`, has looked.
    #[inline(always)]
    pub(in crate::state) fn of(version: u64) -> Self {
        if version == 0 { Self::None } else { Self::Unknown }
    }

    /// Looks again, unless it is known. At most 2 loads.
    #[inline(always)]
    pub(in crate::state) fn look(self, jobs: &ReaderJobs<'_>, version: u64) -> Self {
        if self != Self::Unknown || jobs.writer_completed() < version {
            return self;
        }
        if jobs.is_there(version) { Self::There } else { Self::None }
    }
}
