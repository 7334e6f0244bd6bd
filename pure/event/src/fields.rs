// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Types that occur only as fields of events.

use taut_time::{Duration, Instant};

use crate::words::{TwoWords, Word};

/// What the runtime counts for a task or a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[non_exhaustive]
pub enum Counter {
    /// Heap allocations, reallocations and frees after release 0.
    HeapUse = 1,
    /// Page faults that needed no IO, after release 0.
    MinorFaults = 2,
    /// Page faults that needed IO, after release 0.
    MajorFaults = 3,
    /// Voluntary context switches after release 0, except those in which a thread waits for a release or a trigger.
    Blocked = 4,
    /// Involuntary context switches after release 0.
    Preempted = 5,
    /// Bytes of the heap that the set-up of the task's component took, and that were in use at its end.
    SetUpHeap = 6,
    /// The most bytes of the heap that it took and had in use at one time.
    SetUpHeapPeak = 7,
}

impl Counter {
    /// All counts, in the order of their numbers.
    pub const ALL: [Self; 7] = [
        Self::HeapUse,
        Self::MinorFaults,
        Self::MajorFaults,
        Self::Blocked,
        Self::Preempted,
        Self::SetUpHeap,
        Self::SetUpHeapPeak,
    ];

    /// What is counted, in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::HeapUse => "heap use",
            Self::MinorFaults => "page faults without IO",
            Self::MajorFaults => "page faults with IO",
            Self::Blocked => "voluntary context switches",
            Self::Preempted => "involuntary context switches",
            Self::SetUpHeap => "bytes of the heap after the set-up",
            Self::SetUpHeapPeak => "bytes of the heap in the set-up at most",
        }
    }
}

impl Word for Counter {
    fn from_word(word: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|count| *count as u64 == word)
    }

    fn to_word(self) -> u64 {
        self as u64
    }
}

/// The placement in which the runtime found a thread: Linux's number of its policy (8 bits), its priority (8 bits),
/// and whether it may run on other CPUs (1 bit).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ObservedPlacement {
    /// Linux's number of its policy.
    pub policy: u8,
    /// Its priority.
    pub priority: u8,
    /// Whether it may run on other CPUs, or did.
    pub is_unpinned: bool,
}

impl Word for ObservedPlacement {
    fn from_word(word: u64) -> Option<Self> {
        let [policy, priority, ..] = word.to_le_bytes();
        Some(Self { policy, priority, is_unpinned: word >> 16 & 1 == 1 })
    }

    fn to_word(self) -> u64 {
        u64::from(self.policy) | u64::from(self.priority) << 8 | u64::from(self.is_unpinned) << 16
    }
}

/// The state of the release grid of a task that follows a device's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum GridPhase {
    /// No tick has been observed that says where the device is.
    Free = 0,
    /// The grid moves towards the device's ticks.
    Approaching = 1,
    /// The phase error is within its bound.
    Locked = 2,
    /// Too many ticks have passed since the last one that was observed.
    Unseen = 3,
}

impl GridPhase {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Free, Self::Approaching, Self::Locked, Self::Unseen];
}

impl Word for GridPhase {
    fn from_word(word: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| *phase as u64 == word)
    }

    fn to_word(self) -> u64 {
        self as u64
    }
}

/// How something outside of the application interfered with its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interference {
    /// All threads were stopped and continue from this instant on. In a record: job 0.
    Stopped,
    /// A tracer (a debugger, `strace`) was attached at this instant. In a record: job 1; value: its process.
    Traced {
        /// The tracer's process.
        pid: u32,
    },
}

impl TwoWords for Interference {
    fn from_words(job: u64, value: u64) -> Option<Self> {
        if job == 1 { Some(Self::Traced { pid: u32::try_from(value).ok()? }) } else { Some(Self::Stopped) }
    }

    fn to_words(self) -> (u64, u64) {
        match self {
            Self::Stopped => (0, 0),
            Self::Traced { pid } => (1, pid.into()),
        }
    }
}

/// One fact about a thread outside of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ForeignFact {
    /// The thread.
    pub thread: ForeignThread,
    /// The fact.
    pub value: ForeignValue,
}

/// A real-time thread outside of the application. A greater one is more urgent, except that a `SCHED_DEADLINE` thread,
/// which has priority 0, is less than all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ForeignThread {
    /// Its priority; 0 under `SCHED_DEADLINE`.
    pub priority: u8,
    /// Linux's number of its policy.
    pub policy: u8,
    /// Its number.
    pub tid: u32,
}

/// What a record says about a thread outside of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ForeignValue {
    /// Processor time that it used.
    Ran(Duration),
    /// The start of the interval in which it ran.
    Since(Instant),
    /// The first half of its name.
    NameBegin([u8; 8]),
    /// The second half of its name.
    NameEnd([u8; 8]),
}

/// The bits of the job's word: see [`crate::Foreign`].
impl TwoWords for ForeignFact {
    fn from_words(job: u64, value: u64) -> Option<Self> {
        let [a, b, c, d, policy, priority, what, _] = job.to_le_bytes();
        let value = match what {
            0 => ForeignValue::Ran(Duration::from_ns(value)),
            1 => ForeignValue::Since(Instant::from_ns(value)),
            2 => ForeignValue::NameBegin(value.to_le_bytes()),
            3 => ForeignValue::NameEnd(value.to_le_bytes()),
            _ => return None,
        };
        let thread = ForeignThread { tid: u32::from_le_bytes([a, b, c, d]), policy, priority };
        Some(Self { thread, value })
    }

    fn to_words(self) -> (u64, u64) {
        let (what, value) = match self.value {
            ForeignValue::Ran(time) => (0, time.as_ns()),
            ForeignValue::Since(at) => (1, at.as_ns()),
            ForeignValue::NameBegin(bytes) => (2, u64::from_le_bytes(bytes)),
            ForeignValue::NameEnd(bytes) => (3, u64::from_le_bytes(bytes)),
        };
        let ForeignThread { tid, policy, priority } = self.thread;
        let [a, b, c, d] = tid.to_le_bytes();
        (u64::from_le_bytes([a, b, c, d, policy, priority, what, 0]), value)
    }
}
