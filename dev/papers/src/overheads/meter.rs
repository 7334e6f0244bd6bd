// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Records the time of each call, in memory that is allocated before.

use taut_sys::clock;

use super::system::TICK_NS;

/// The kind of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Call {
    /// To lock an object that tasks of one core share, until the section begins.
    GetLocal,
    /// To unlock it, from the end of the section on.
    GiveLocal,
    /// The same for an object that tasks of both cores share.
    GetGlobal,
    GiveGlobal,
    /// A write without the access to the value.
    Write,
    /// A read without the access to the value.
    Read,
    /// To activate a member of a flow, at a release.
    ActivateWriter,
    ActivateReader,
    /// To enter and leave a flow for the activations of one release.
    Turn,
    /// The processor time of a reader that waits for its writer.
    Wait,
    /// To notify readers that the value is written.
    NotifyReaders,
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
        Self::NotifyReaders,
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
            Self::NotifyReaders => "tell readers",
            Self::Access => "access",
        }
    }
}

/// The object of an access, and the kind of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Touch {
    pub(super) bytes: u16,
    pub(super) readers: u8,
    pub(super) write: bool,
    /// Whether tasks on the other core use it.
    pub(super) across: bool,
}

/// One timed call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) call: Call,
    pub(super) touch: Touch,
    /// The timer period in which the call began.
    pub(super) tick: u32,
    pub(super) ns: u32,
}

/// A call as it is recorded, before the instant of release 0 is known.
#[derive(Clone, Copy, Debug)]
struct Taken {
    call: Call,
    touch: Touch,
    at_ns: u64,
    ns: u32,
}

/// The recorder of one task's calls.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    taken: Vec<Taken>,
    /// The time between two reads of the clock with nothing between them.
    clock_ns: u64,
    /// Activations that were refused because a job was late, reads without a value, and locks that were not obtained.
    pub(super) refused: u64,
}

/// The time now, in ns.
#[inline]
pub(super) fn now() -> u64 {
    clock::monotonic_ns()
}

/// The median time between two reads of the clock, in ns.
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
    /// With room for `room` calls.
    pub(super) fn new(room: usize, clock_ns: u64) -> Self {
        let touch = Touch { bytes: 0, readers: 0, write: false, across: false };
        // Written once, so that nothing is mapped during a measurement.
        let mut taken = vec![Taken { call: Call::Access, touch, at_ns: 1, ns: 1 }; room];
        taken.clear();
        Self { taken, clock_ns, refused: 0 }
    }

    /// Records a call that took from one read of the clock to another; a call in several parts has a pair for each.
    #[inline]
    pub(super) fn took(&mut self, call: Call, touch: Touch, parts: &[(u64, u64)]) {
        let spans = parts.iter().map(|(from, to)| (to - from).saturating_sub(self.clock_ns));
        self.spent(call, touch, parts.first().map_or(0, |part| part.0), spans.sum());
    }

    /// Records a call that began at `at_ns` and took `ns`.
    #[inline]
    pub(super) fn spent(&mut self, call: Call, touch: Touch, at_ns: u64, ns: u64) {
        if self.taken.len() < self.taken.capacity() {
            self.taken.push(Taken { call, touch, at_ns, ns: u32::try_from(ns).unwrap_or(u32::MAX) });
        }
    }

    /// All calls, by timer period since release 0.
    pub(super) fn samples(&self, origin_ns: u64) -> impl Iterator<Item = Sample> + '_ {
        self.taken.iter().map(move |taken| Sample {
            call: taken.call,
            touch: taken.touch,
            tick: (taken.at_ns.saturating_sub(origin_ns) / TICK_NS) as u32,
            ns: taken.ns,
        })
    }
}
