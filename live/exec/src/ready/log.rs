// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_event::{Event, Kind, Record};
use taut_time::Instant;
use taut_trace::Recorder;

/// How much of what happens on a core is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecordingLevel {
    /// Nothing.
    #[default]
    None,
    /// Jobs: released, started, preempted, complete.
    Jobs,
    /// Locks as well, at the cost of a clock read at each end of a section.
    All,
}

/// A core's records, in the order of its decisions.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) recorder: Option<Recorder>,
    pub(crate) level: RecordingLevel,
    pub(crate) cpu: u8,
    /// The number by which the core is recorded.
    pub(crate) core: u16,
    /// The subject of each of its tasks.
    pub(crate) tasks: Box<[u16]>,
    /// The number of each of its resources.
    pub(crate) resources: Box<[u32]>,
    /// The stated ceilings, recorded before anything else: resource and value.
    pub(crate) stated: Box<[(u32, u64)]>,
}

impl Log {
    /// Records an event of a job.
    #[inline]
    pub(crate) fn job(&mut self, at: u64, kind: Kind, task: u32, job: u64, value: u64) {
        if self.level >= RecordingLevel::Jobs {
            self.put(at, kind, task, job, value);
        }
    }

    /// Records an event of a lock; the value is the resource's number.
    #[inline]
    pub(crate) fn lock(&mut self, at: impl FnOnce() -> u64, kind: Kind, task: u32, job: u64, resource: u32) {
        if self.level >= RecordingLevel::All {
            self.put(at(), kind, task, job, self.resources[resource as usize].into());
        }
    }

    /// Records an event of a lock that other cores use too; the value is `number`.
    pub(crate) fn across(&mut self, at: impl FnOnce() -> u64, kind: Kind, task: u32, job: u64, number: u32) {
        if self.level >= RecordingLevel::All {
            self.put(at(), kind, task, job, number.into());
        }
    }

    /// Records the stated ceilings. Called before any other record.
    pub(crate) fn begin(&mut self, at: u64) {
        for (resource, value) in std::mem::take(&mut self.stated) {
            self.ceiling(at, resource, value);
        }
    }

    /// Records a ceiling or floor that applies from now on.
    pub(crate) fn ceiling(&mut self, at: u64, resource: u32, value: u64) {
        if self.level >= RecordingLevel::Jobs {
            let subject = u16::try_from(self.resources[resource as usize]).unwrap_or(u16::MAX);
            self.put_as(at, Kind::Ceiling, subject, 0, value);
        }
    }

    /// Records an event whose subject is not one of the core's tasks, by its number in the plan.
    pub(crate) fn event(&mut self, at: u64, event: Event) {
        if self.level >= RecordingLevel::Jobs
            && let Some(recorder) = &mut self.recorder
        {
            recorder.record(event.record(Instant::from_ns(at), self.cpu));
        }
    }

    /// Records an event of the core as a whole.
    pub(crate) fn core(&mut self, at: u64, kind: Kind, job: u64, value: u64) {
        if self.level >= RecordingLevel::Jobs {
            let subject = self.core;
            self.put_as(at, kind, subject, job, value);
        }
    }

    fn put(&mut self, at: u64, kind: Kind, task: u32, job: u64, value: u64) {
        self.put_as(at, kind, self.tasks[task as usize], job, value);
    }

    fn put_as(&mut self, at: u64, kind: Kind, subject: u16, job: u64, value: u64) {
        let record = Record { at: Instant::from_ns(at), kind, cpu: self.cpu, subject, job, value };
        if let Some(recorder) = &mut self.recorder {
            recorder.record(record);
        }
    }
}
