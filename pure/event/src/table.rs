// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The one list of all events: for each its number, its fields, and the word of the record that carries each field.

/// Passes all rows to another macro. A row is the kind, its number, and its fields, each with its type and its word:
/// `subject`, `job` or `value`, or `both`: `job` and `value` together. `value[0..16]` is the lowest 16 bits of a word,
/// for fields that share one; the compiler refuses fields that share a bit. A number never changes its meaning, and a
/// field never changes its bits: both are part of the file format. A new kind has the number after the largest. No kind
/// has the number 41, which no version used.
macro_rules! with_all_events {
    ($then:ident) => {
        $then! {
            /// Release 0 is due at this instant.
            Begin = 1 {
                /// Time since the process was started; zero if unknown.
                running: Duration = value,
            }
            /// A job may run from this instant on. The record's time is the nominal release.
            Release = 2 {
                /// The task.
                task: u16 = subject,
                /// The job.
                job: u64 = job,
                /// How much later the dispatcher reported the release to its scheduling policy; zero where Linux
                /// schedules.
                delay: Duration = value,
            }
            /// A job runs its first instruction.
            Start = 3 {
                /// The task.
                task: u16 = subject,
                /// The job.
                job: u64 = job,
            }
            /// A job completed.
            Complete = 4 {
                /// The task.
                task: u16 = subject,
                /// The job.
                job: u64 = job,
                /// Processor time that it used.
                used: Duration = value,
            }
            /// A job completed after its deadline. Follows its `Complete`.
            Miss = 5 {
                /// The task.
                task: u16 = subject,
                /// The job.
                job: u64 = job,
                /// Its response time.
                response: Duration = value,
            }
            /// A release fell due while the previous job still ran.
            Overrun = 6 {
                /// The task.
                task: u16 = subject,
                /// The job that still ran.
                job: u64 = job,
                /// The overrun policy, in the order of `taut_policy::Overrun`.
                policy: u64 = value,
            }
            /// A release was dropped.
            Skip = 7 {
                /// The task.
                task: u16 = subject,
                /// The job that would have been released.
                job: u64 = job,
                /// Whether the backlog behind a job that is not complete was full; otherwise the overrun policy or a
                /// pause dropped the release.
                is_backlog_full: bool = value,
            }
            /// A job returned an error.
            Failed = 8 {
                /// The task.
                task: u16 = subject,
                /// The job.
                job: u64 = job,
                /// The application's code; 2³² − 1 if the job failed because a lock was refused.
                code: u64 = value,
            }
            /// A job requested more bytes than its release scope had left.
            ScopeExceeded = 9 {
                /// The task.
                task: u16 = subject,
                /// The job.
                job: u64 = job,
                /// The bytes requested.
                bytes: u64 = value,
            }
            /// A value was sent.
            Send = 10 {
                /// The channel.
                channel: u16 = subject,
                /// The job that sent it; 0 for a task without jobs.
                job: u64 = job,
                /// The value's sequence number.
                sequence: u64 = value,
            }
            /// A value was received.
            Receive = 11 {
                /// The channel.
                channel: u16 = subject,
                /// The value's sequence number.
                sequence: u64 = job,
                /// Time since the value was sent.
                latency: Duration = value,
            }
            /// A value could not be sent or was lost.
            Drop = 12 {
                /// The channel.
                channel: u16 = subject,
                /// The job that sent it; 0 for a task without jobs.
                job: u64 = job,
                /// How many values.
                values: u64 = value,
            }
            /// The machine itself was late: a core's probe woke up later than a healthy machine allows.
            Stall = 13 {
                /// The core.
                core: u16 = subject,
                /// How late the probe woke up.
                lateness: Duration = value,
            }
            /// The state of a service changed.
            Service = 14 {
                /// The service.
                service: u16 = subject,
                /// The task that follows the change.
                task: u16 = job,
                /// The new state: `State as u64` of `taut_run`; 4 when the task was reset because the service restarted.
                state: u64 = value,
            }
            /// A counter of a task, written at the end of the run.
            Counted = 15 {
                /// The task.
                task: u16 = subject,
                /// What was counted.
                count: Counter = job,
                /// How many.
                times: u64 = value,
            }
            /// Records of a task's thread were lost because its ring was full.
            Lost = 16 {
                /// The task.
                task: u16 = subject,
                /// How many.
                records: u64 = value,
            }
            /// The run ended.
            End = 17 {
                /// How. [`crate::Ending::Unrecorded`] stands for an ending that this version does not know.
                ending: Ending = both,
            }
            /// A chain produced its output.
            ChainEnd = 18 {
                /// The chain.
                chain: u16 = subject,
                /// The job that produced it.
                job: u64 = job,
                /// Age of the data at the end of the chain.
                age: Duration = value,
            }
            /// Another job preempts this one.
            Preempt = 19 {
                /// The task.
                task: u16 = subject,
                /// The job.
                job: u64 = job,
            }
            /// A job resumes.
            Resume = 20 {
                /// The task.
                task: u16 = subject,
                /// The job.
                job: u64 = job,
            }
            /// A job acquired a resource.
            Locked = 21 {
                /// The task.
                task: u16 = subject,
                /// The job.
                job: u64 = job,
                /// The resource.
                resource: u16 = value,
            }
            /// A job released a resource.
            Unlock = 22 {
                /// The task.
                task: u16 = subject,
                /// The job.
                job: u64 = job,
                /// The resource.
                resource: u16 = value,
            }
            /// A job waits for a resource and keeps its core.
            Spin = 23 {
                /// The task.
                task: u16 = subject,
                /// The job.
                job: u64 = job,
                /// The resource.
                resource: u16 = value,
            }
            /// A job waits for a resource and leaves its core.
            Suspend = 24 {
                /// The task.
                task: u16 = subject,
                /// The job.
                job: u64 = job,
                /// The resource.
                resource: u16 = value,
            }
            /// The core was notified that one of its waiting jobs received a resource.
            Granted = 25 {
                /// The task.
                task: u16 = subject,
                /// The job.
                job: u64 = job,
                /// The resource.
                resource: u16 = value,
            }
            /// A job has used up its budget.
            Exhausted = 26 {
                /// The task.
                task: u16 = subject,
                /// The job.
                job: u64 = job,
                /// The budget.
                budget: Duration = value,
            }
            /// A server's budget has this value from now on.
            Budget = 27 {
                /// The server.
                server: u16 = subject,
                /// The budget.
                budget: Duration = value,
            }
            /// A task's level changes with its next job.
            Level = 28 {
                /// The task.
                task: u16 = subject,
                /// A priority, or a relative deadline (ns).
                level: u64 = value,
            }
            /// A resource's ceiling or floor changes with the next lock.
            Ceiling = 29 {
                /// The resource.
                resource: u16 = subject,
                /// A priority, or a relative deadline (ns).
                ceiling: u64 = value,
            }
            /// Records of a core's dispatcher were lost because its ring was full.
            CoreLost = 30 {
                /// The core.
                core: u16 = subject,
                /// How many.
                records: u64 = value,
            }
            /// A core's dispatcher looked at its calendar, the list of its next releases, and no other record shows
            /// that. Some of the core's tasks are not in the calendar, so its deadline floors count from this instant
            /// on.
            Looked = 31 {
                /// The core's first task.
                task: u16 = subject,
            }
            /// While it held a resource, a job slept, waited for something that its dispatcher does not know, or was
            /// stopped from outside. Recorded at the end of the section.
            Slept = 32 {
                /// The task.
                task: u16 = subject,
                /// The job.
                job: u64 = job,
                /// How often.
                times: u64 = value,
            }
            /// A counter of the threads that take turns on a core, read at the end of the run.
            CoreCounted = 33 {
                /// The core.
                core: u16 = subject,
                /// What was counted.
                count: Counter = job,
                /// How many.
                times: u64 = value,
            }
            /// A task's thread no longer has the placement that it had before release 0: something outside changed
            /// it.
            Moved = 34 {
                /// The task.
                task: u16 = subject,
                /// Where the thread is now.
                placement: ObservedPlacement = value,
            }
            /// As `Moved`, for a thread of a core that belongs to no task.
            ProbeMoved = 35 {
                /// The core.
                core: u16 = subject,
                /// Whether it is the main thread, which was kept off this core and may now run there; otherwise it is
                /// the core's probe.
                is_main: bool = job,
                /// Where the thread is now.
                placement: ObservedPlacement = value,
            }
            /// The runtime asked for the safe state of the outputs at this instant.
            SafeState = 36 {
                /// How often the safe-state code used the heap, if that was counted.
                heap_use: Option<u16> = subject,
                /// The result; `None` stands for a result that this version does not know.
                result: Option<SafeStateOutcome> = job,
                /// How long it took.
                took: Duration = value,
            }
            /// Where a job stood when the runtime ended the application without waiting for it.
            Stood = 37 {
                /// The task.
                task: u16 = subject,
                /// The job.
                job: u64 = job,
                /// What its thread was doing, if the thread reported it.
                place: Option<CodeLocation> = value[0..46],
                /// The innermost resource that the job held or waited for, and whether the job held it.
                resource: Option<(u16, bool)> = value[46..64],
            }
            /// As `Moved`, for a thread that takes turns with others on a dispatched core.
            CoreMoved = 38 {
                /// The core.
                core: u16 = subject,
                /// 0 is the dispatcher, otherwise the number of the worker thread, from 1 on.
                worker: u64 = job,
                /// Where the thread is now.
                placement: ObservedPlacement = value,
            }
            /// Something outside of the application interfered with its threads.
            Stopped = 39 {
                /// What.
                interference: Interference = both,
            }
            /// A quarter of the description of a real-time thread outside of the application that ran on one of the
            /// application's cores. See [`crate::Foreign`].
            Foreign = 40 {
                /// The core.
                core: u16 = subject,
                /// The thread, and one fact about it.
                about: ForeignFact = both,
            }
            /// Threads unknown to the core ran on it during a server's turn, and the server is not charged for that
            /// time. Applies before anything that was reported or decided at this instant.
            Beside = 42 {
                /// The server.
                server: u16 = subject,
                /// How long ago the dispatcher last charged the server; zero if not stated.
                passed: Duration = job,
                /// For how long of that time the server is not charged.
                others: Duration = value,
            }
            /// A job sent more values than the manifest allows. The sending end refused them.
            TooMany = 43 {
                /// The channel.
                channel: u16 = subject,
                /// The job.
                job: u64 = job,
                /// How many values.
                values: u64 = value,
            }
            /// A job panicked.
            Panicked = 44 {
                /// The task.
                task: u16 = subject,
                /// The job.
                job: u64 = job,
                /// What the runtime did about it, in the order of `taut_policy::FailureRemedy`.
                remedy: u64 = value,
            }
            /// A job used the heap, which its manifest denies. Follows its `Complete`, or precedes it where a dispatcher
            /// schedules.
            HeapUsed = 45 {
                /// The task.
                task: u16 = subject,
                /// The job.
                job: u64 = job,
                /// Allocations, reallocations and frees.
                uses: u64 = value,
            }
            /// A task has followed a change of mode: it has stopped, or it has started and its first job is about to
            /// complete.
            ModeFollowed = 46 {
                /// The task.
                task: u16 = subject,
                /// The old mode.
                from: u16 = job[0..16],
                /// The new mode.
                to: u16 = job[16..32],
                /// Time since the application asked for the change; zero if the call that asked had not returned.
                since: Duration = value,
            }
            /// A task received a value of a channel to several tasks.
            ReceivedBy = 47 {
                /// The channel.
                channel: u16 = subject,
                /// The value's sequence number.
                sequence: u64 = job[0..48],
                /// The task.
                reader: u16 = job[48..64],
                /// Time since the value was sent.
                latency: Duration = value,
            }
            /// A reader of a channel to several tasks has lost values.
            LostBy = 48 {
                /// The channel.
                channel: u16 = subject,
                /// The task.
                reader: u16 = job[0..16],
                /// How many values.
                values: u64 = value,
            }
            /// The file of recorded values is complete.
            ValuesRecorded = 49 {
                /// The messages in it: values, and what passed between jobs and everything around them.
                messages: u64 = job,
                /// Its size in bytes.
                bytes: u64 = value,
            }
            /// Values, or what passed between jobs and everything around them, are not in the file of recorded values:
            /// a ring or the file was full.
            ValuesLost = 50 {
                /// How many records.
                records: u64 = value,
            }
            /// What a release of a task that follows a device's clock has to do with the device. Recorded when the state
            /// changes, the phase error becomes larger than since then, or the device has broken its word.
            Followed = 51 {
                /// The task.
                task: u16 = subject,
                /// The release, counted from 0.
                release: u64 = job,
                /// The most by which the release and its tick can be apart; zero if nothing says where the tick is.
                error: Duration = value[0..48],
                /// The state of the release grid.
                phase: GridPhase = value[48..50],
                /// Whether an observation proves that the device broke its word.
                has_broken: bool = value[50..51],
            }
        }
    };
}

pub(crate) use with_all_events;
