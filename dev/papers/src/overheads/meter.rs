// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What calls take, call by call, into memory that is there before.

use taut_sys::clock;

use super::system::TICK_NS;

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Call {
    /// Until it has the lock of tasks of one core.
    GetLocal,
    /// From the end of the section on.
    GiveLocal,
    /// The same of tasks of both cores.
    GetGlobal,
    GiveGlobal,
    /// All of a write but the access to the value.
    Write,
    /// The same of a read.
    Read,
    /// Of a flow, at a release.
    ActivateWriter,
    ActivateReader,
    /// To have a flow's activations to oneself, for those of one release.
    Turn,
    /// Processor time of a reader that waits for its writer.
    Wait,
    /// To tell readers that it is written.
    Tell,
    /// The access to the value itself: no overhead.
    Access,
}

impl Call {
    pub(super) const ALL: [Self; 12] = [
        Self::GetLocal,
        Self::GiveLocal,
        Self::GetGlobal,
        Self::GiveGlobal,
        Self::Write,
        Self::Read,
        Self::ActivateWriter,
        Self::ActivateReader,
        Self::Turn,
        Self::Wait,
        Self::Tell,
        Self::Access,
    ];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::GetLocal => "get, local",
            Self::GiveLocal => "release, local",
            Self::GetGlobal => "get, global",
            Self::GiveGlobal => "release, global",
            Self::Write => "write",
            Self::Read => "read",
            Self::ActivateWriter => "activation of a writer",
            Self::ActivateReader => "activation of a reader",
            Self::Turn => "turn at a flow",
            Self::Wait => "wait for the writer",
            Self::Tell => "tell readers",
            Self::Access => "access",
        }
    }
}

/// What is accessed, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Touch {
    pub(super) bytes: u16,
    pub(super) readers: u8,
    pub(super) write: bool,
    /// Whether others on the other core use it.
    pub(super) across: bool,
}

/// A call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) call: Call,
    pub(super) touch: Touch,
    /// The timer period in which it began.
    pub(super) tick: u32,
    pub(super) ns: u32,
}

/// A call as it is written down, before anybody asks when release 0 was.
#[derive(Clone, Copy, Debug)]
struct Taken {
    call: Call,
    touch: Touch,
    at_ns: u64,
    ns: u32,
}

/// Where a task writes its own calls.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    taken: Vec<Taken>,
    /// Between two looks at the clock that have nothing between them.
    clock_ns: u64,
    /// Activations that were refused because a job was late, and reads without a value.
    pub(super) refused: u64,
}

/// The time now.
#[inline]
pub(super) fn now() -> u64 {
    clock::monotonic_ns()
}

/// What two looks at the clock take, at the median.
pub(super) fn clock_ns() -> u64 {
    let mut times: Vec<u64> = (0..1_001)
        .map(|_| {
            let begin = now();
            now() - begin
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

impl Meter {
    /// With room for so many calls.
    pub(super) fn new(room: usize, clock_ns: u64) -> Self {
        let touch = Touch { bytes: 0, readers: 0, write: false, across: false };
        // Written once, so that nothing is mapped while it is measured.
        let mut taken = vec![Taken { call: Call::Access, touch, at_ns: 1, ns: 1 }; room];
        taken.clear();
        Self { taken, clock_ns, refused: 0 }
    }

    /// A call that took from one look at the clock to another; in several parts: each pair.
    #[inline]
    pub(super) fn took(&mut self, call: Call, touch: Touch, task_codes: &[(u64, u64)]) {
        let spans = task_codes.iter().map(|(from, to)| (to - from).saturating_sub(self.clock_ns));
        self.spent(call, touch, task_codes.first().map_or(0, |task_code| task_code.0), spans.sum());
    }

    /// A call that took so long.
    #[inline]
    pub(super) fn spent(&mut self, call: Call, touch: Touch, at_ns: u64, ns: u64) {
        if self.taken.len() < self.taken.capacity() {
            self.taken.push(Taken { call, touch, at_ns, ns: u32::try_from(ns).unwrap_or(u32::MAX) });
        }
    }

    /// All calls, by timer periods since release 0.
    pub(super) fn samples(&self, origin_ns: u64) -> impl Iterator<Item = Sample> + '_ {
        self.taken.iter().map(move |taken| Sample {
            call: taken.call,
            touch: taken.touch,
            tick: (taken.at_ns.saturating_sub(origin_ns) / TICK_NS) as u32,
            ns: taken.ns,
        })
    }
}
