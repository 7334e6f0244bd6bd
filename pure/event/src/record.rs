// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_time::Instant;

/// What happened. The numbers are part of the file format and never change meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[non_exhaustive]
pub enum Kind {
    /// Release 0 is due at this instant. Subject 0; value: time since the process was started (ns), 0 if unknown.
    Begin = 1,
    /// A job may run from this instant on. Subject: task; value: how much later the dispatcher reported the release
    /// to its scheduling policy (ns), 0 where Linux schedules. The record's time is the nominal release.
    Release = 2,
    /// A job runs its first instruction. Subject: task; value: 0.
    Start = 3,
    /// A job completed. Subject: task; value: processor time it used (ns).
    Complete = 4,
    /// A job completed after its deadline. Subject: task; value: response time (ns). Follows its `Complete`.
    Miss = 5,
    /// A release fell due while the previous job still ran. Subject: task; value: the overrun policy, in the order of
    /// `taut_policy::Overrun`.
    Overrun = 6,
    /// A release was dropped. Subject: task; value: 0 if the overrun policy or a pause dropped it, 1 if the backlog
    /// behind a job that is not complete was full.
    Skip = 7,
    /// A job returned an error. Subject: task; value: the application's code, 2³² − 1 if the job was refused a
    /// resource.
    Failed = 8,
    /// A job requested more bytes than its release scope had left. Subject: task; value: the bytes requested.
    ScopeExceeded = 9,
    /// A value was sent. Subject: channel; value: sequence number; job: the job that sent it, 0 for a task without
    /// jobs.
    Send = 10,
    /// A value was received. Subject: channel; value: time since it was sent (ns); job: sequence number.
    Receive = 11,
    /// A value could not be sent or was lost. Subject: channel; value: how many.
    Drop = 12,
    /// The machine itself was late on a core. Subject: core (position in the plan); value: lateness (ns).
    Stall = 13,
    /// The state of a service changed. Subject: service; value: `State as u64` of `taut_run`.
    Service = 14,
    /// A counter of a thread, read at the end of the run. Subject: task; job: [`Count`]; value: the count.
    Counted = 15,
    /// Records of a task's thread were lost because its ring was full. Subject: task; value: how many.
    Lost = 16,
    /// The run ended. Subject 0; job and value: how it ended, encoded by [`crate::Ending`].
    End = 17,
    /// A chain produced its output. Subject: chain; value: age of the data at the end of the chain (ns).
    ChainEnd = 18,
    /// Another job preempts this one. Subject: task; value: 0.
    Preempt = 19,
    /// A job resumes. Subject: task; value: 0.
    Resume = 20,
    /// A job acquired a resource. Subject: task; value: the resource.
    Locked = 21,
    /// A job released a resource. Subject: task; value: the resource.
    Unlock = 22,
    /// A job waits for a resource and keeps its core. Subject: task; value: the resource.
    Spin = 23,
    /// A job waits for a resource and leaves its core. Subject: task; value: the resource.
    Suspend = 24,
    /// The core was notified that one of its waiting jobs received a resource. Subject: task; value: the resource.
    Granted = 25,
    /// A job has used up its budget. Subject: task; value: the budget (ns).
    Exhausted = 26,
    /// A server's budget has this value from now on. Subject: server; value: the budget (ns).
    Budget = 27,
    /// A task's level changes with its next job. Subject: task; value: a priority, or a relative deadline (ns).
    Level = 28,
    /// A resource's ceiling or floor changes with the next lock. Subject: resource; value: a priority, or a relative
    /// deadline (ns).
    Ceiling = 29,
    /// Records of a core's dispatcher were lost because its ring was full. Subject: core (position in the plan);
    /// value: how many.
    CoreLost = 30,
    /// A core's dispatcher looked at its calendar, and no other record shows that. Some of the core's tasks are not
    /// in any calendar, so its deadline floors count from this instant on. Subject: the core's first task; value: 0.
    Looked = 31,
    /// While it held a resource, a job slept, waited for something that its dispatcher does not know, or was stopped
    /// from outside. Recorded at the end of the section. Subject: task; value: how often.
    Slept = 32,
    /// A counter of the threads that take turns on a core, read at the end of the run. Subject: core (position in the
    /// plan); job: [`Count`]; value: the count.
    CoreCounted = 33,
    /// A task's thread no longer has the placement that it had before release 0: something outside changed it.
    /// Subject: task; value: Linux's number of its current policy, plus 256 times its priority, plus 65536 if it may
    /// run on other CPUs.
    Moved = 34,
    /// The same for a core's threads that belong to no task. Subject: core (position in the plan); job: 0 the core's
    /// probe, 1 the main thread, which was kept off this core and may now run there; value: as in `Moved`.
    ProbeMoved = 35,
    /// The runtime asked for the safe state of the outputs at this instant. Subject: 1 more than how often the
    /// safe-state code used the heap, 0 if that was not counted; job: the result, encoded by [`crate::Rest`]; value:
    /// how long it took (ns).
    SafeState = 36,
    /// Where a job stood when the application was ended without waiting for it. Subject: task; value: encoded by
    /// [`crate::Stood`].
    Stood = 37,
    /// The same for a thread that takes turns with others on a dispatched core. Subject: core (position in the plan);
    /// job: 0 the dispatcher, otherwise the number of the worker thread, from 1 on; value: as in `Moved`.
    CoreMoved = 38,
    /// Something outside of the application interfered with its threads. Subject 0; job: 0 if all threads were
    /// stopped and continue from this instant on, 1 if a tracer (a debugger, `strace`) was attached at this instant;
    /// value: the tracer's process, 0 if there is none.
    Stopped = 39,
    /// A real-time thread outside of the application ran on one of its cores. See [`crate::Foreign`].
    Foreign = 40,
    /// Threads unknown to the core ran on it during a server's turn, and the server is not charged for that time.
    /// Applies before anything that was reported or decided at this instant. Subject: server; job: how long ago the
    /// dispatcher last charged the server (ns), 0 if not stated; value: for how long of that time the server is not
    /// charged (ns).
    Beside = 42,
}

/// What a [`Kind::Counted`] record counts, in its job field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[non_exhaustive]
pub enum Count {
    /// Heap allocations, reallocations and frees after release 0.
    HeapUse = 1,
    /// Page faults that needed no IO, after release 0.
    MinorFaults = 2,
    /// Page faults that needed IO, after release 0.
    MajorFaults = 3,
    /// Voluntary context switches after release 0, without those to wait for a release or a trigger.
    Blocked = 4,
    /// Involuntary context switches after release 0.
    Preempted = 5,
}

impl Count {
    /// All counts, in the order of their numbers.
    pub const ALL: [Self; 5] =
        [Self::HeapUse, Self::MinorFaults, Self::MajorFaults, Self::Blocked, Self::Preempted];
}

impl Kind {
    const ALL: [Self; 41] = [
        Self::Begin,
        Self::Release,
        Self::Start,
        Self::Complete,
        Self::Miss,
        Self::Overrun,
        Self::Skip,
        Self::Failed,
        Self::ScopeExceeded,
        Self::Send,
        Self::Receive,
        Self::Drop,
        Self::Stall,
        Self::Service,
        Self::Counted,
        Self::Lost,
        Self::End,
        Self::ChainEnd,
        Self::Preempt,
        Self::Resume,
        Self::Locked,
        Self::Unlock,
        Self::Spin,
        Self::Suspend,
        Self::Granted,
        Self::Exhausted,
        Self::Budget,
        Self::Level,
        Self::Ceiling,
        Self::CoreLost,
        Self::Looked,
        Self::Slept,
        Self::CoreCounted,
        Self::Moved,
        Self::ProbeMoved,
        Self::SafeState,
        Self::Stood,
        Self::CoreMoved,
        Self::Stopped,
        Self::Foreign,
        Self::Beside,
    ];

    /// Each kind at the index of its number.
    const BY_NUMBER: [Option<Self>; 256] = {
        let mut places = [None; 256];
        let mut at = 0;
        while at < Self::ALL.len() {
            places[Self::ALL[at] as usize] = Some(Self::ALL[at]);
            at += 1;
        }
        places
    };

    /// The kind with that number, if there is one.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::BY_NUMBER[usize::from(number)]
    }
}

/// One event: when, what, to which subject and job, and a value whose meaning [`Kind`] gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When, on the run's clock.
    pub at: Instant,
    /// What happened.
    pub kind: Kind,
    /// The CPU it was recorded on.
    pub cpu: u8,
    /// The subject: a position in the plan's list of tasks, resources, servers, channels, cores, services or chains,
    /// by `kind`.
    pub subject: u16,
    /// The task's job, counted from 0; 0 where there is none. Some kinds give the field another meaning.
    pub job: u64,
    /// The meaning depends on `kind`.
    pub value: u64,
}

impl Record {
    /// Bytes of a record.
    pub const SIZE: usize = 32;

    /// The byte encoding: at, job, value (8 each), subject (2), kind, cpu, 4 zero; little-endian.
    pub fn to_bytes(self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        bytes[0..8].copy_from_slice(&self.at.as_ns().to_le_bytes());
        bytes[8..16].copy_from_slice(&self.job.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.value.to_le_bytes());
        bytes[24..26].copy_from_slice(&self.subject.to_le_bytes());
        bytes[26] = self.kind as u8;
        bytes[27] = self.cpu;
        bytes
    }

    /// Decodes a record; `None` if the kind is unknown.
    pub fn from_bytes(bytes: &[u8; Self::SIZE]) -> Option<Self> {
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(word)
        };
        Some(Self {
            at: Instant::from_ns(word(0)),
            job: word(8),
            value: word(16),
            subject: u16::from_le_bytes([bytes[24], bytes[25]]),
            kind: Kind::from_number(bytes[26])?,
            cpu: bytes[27],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_back() {
        for kind in Kind::ALL {
            assert_eq!(Kind::from_number(kind as u8), Some(kind));
            let record = Record {
                at: Instant::from_ns(u64::MAX - 1),
                kind,
                cpu: 255,
                subject: 0xabcd,
                job: 7,
                value: 1 << 40,
            };
            assert_eq!(Record::from_bytes(&record.to_bytes()), Some(record));
        }
        assert_eq!(Record::from_bytes(&[0; 32]), None);
        assert_eq!((0..=u8::MAX).filter_map(Kind::from_number).count(), Kind::ALL.len());
        assert_eq!(Kind::from_number(u8::MAX), None);
    }
}
