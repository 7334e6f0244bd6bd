// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Replays a recorded run in the simulator and compares every scheduling decision.
//!
//! A recording has two kinds of records. Some are **inputs**, which come from outside the rules: a core looked at its
//! calendar or received a release, a job requested a resource, released one or completed, a core received a grant.
//! The replay gives them to a [`Simulation`], each at its recorded instant; so a job executes as long as in the run,
//! overheads included, and arrives when it did. The others are **decisions**: which job started, was preempted and
//! continued, whether a request was granted. The simulator must produce these by itself, in that order. The first
//! record that it does not produce is a [`Difference`].
//!
//! ```text
//! recorded on a core        Release a   Unlock r   Release b           Start b   Locked r    Complete b
//!                              |           |           |                  |         |            |
//! given to the simulator    release a   unlocks    release b              |      requests     completes
//!                              |           |           |                  |         |            |
//! it emits                  Release a   Unlock r   Release b, Preempt a, Start b   Locked r    Complete b, Resume a
//! ```
//!
//! **When it decides.** A dispatcher makes one decision for all inputs that it receives at one instant. So the
//! simulator decides when the next record of the core is not a further input of the same instant. A simulated
//! decision has the instant of its inputs, and its record is later by the time that the machine took;
//! [`CoreReplay::late_max`] is the longest such delay.
//!
//! **Between cores** the order is that of the records' instants. Two requests for one resource whose instants are
//! closer than [`Replay::slack`] may have come in either order, because a job reads the clock beside the step that
//! decides: the replay takes them in the order in which they held the resource. The same goes for a request and the
//! unlock before it, within [`Replay::patience`]. This permits neither a second holder beside the first, except for
//! [`Replay::overlap`], nor a holder out of turn.
//!
//! The records show only in part what a lock does between them. A request came after the previous record of its core,
//! and before its own record. A resource was released after the record of its unlock, and before the next record of
//! that core. So the replay reserves a resource from its unlock until the request of its next holder. Another job that
//! requests the resource meanwhile may wait in two cases; in any other case its wait is a difference. Either the job
//! that recorded the unlock may not have released the resource yet; or another core requests the resource in the same
//! span of time, because a job that takes a free lock chooses among all jobs that request it. And a job that is handed
//! the resource before it looks at the lock again is recorded as if it had not waited, although it queued before
//! others.
//!
//! **Budgets.** A dispatcher finds out that a budget is used up, so this is an input. What happens to the job follows
//! from its task's [`Limit`]: a job that is demoted, or that must end, continues in the background, and each decision
//! is compared. The point at which a job is ended is an input, like everything that the job does.
//!
//! **Servers** are simulated. An input says that a dispatcher looked at a server, because time began or ended a turn
//! of the server; the replay compares the budget that the server may then use. Another input says for how long threads
//! that the core does not know had the core during a turn.
//!
//! **Not compared** are values, misses, and the decisions of a core after it lost records; where the comparison of a
//! core ends, so does that of the cores that share a resource with it. Each [`CoreReplay`] says how far its core was
//! compared.

mod difference;
mod ending;
mod log;
mod notes;
mod order;
mod outside;
mod reading;
mod replayer;

use taut_event::Record;
use taut_model::TaskSet;
use taut_time::{Duration, Instant};

use crate::{Limit, RecordedServer, Rules, SimEvent, Sink};

pub use difference::{CoreState, Difference, Names};
pub use log::{Flaw, MalformedLog};

#[cfg(doc)]
use crate::Simulation;

/// How a recorded run is compared with its simulation.
#[derive(Clone, Copy, Debug)]
pub struct Replay<'a> {
    set: &'a TaskSet,
    rules: &'a Rules,
    slack: Duration,
    patience: Duration,
    overlap: Duration,
    limits: &'a [(usize, Limit)],
    servers: &'a [RecordedServer],
    dispatched: &'a [usize],
}

/// The result of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// The first difference, if there is one.
    pub difference: Option<Difference>,
    /// The result of each core of the set.
    pub cores: Vec<CoreReplay>,
    /// Simulated events that were not recorded before the recording ended, by core.
    pub pending: Vec<SimEvent>,
    /// Requests and unlocks that the replay took in the order of the holders, because their instants were too close.
    pub reordered: u64,
}

/// The replay of one core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreReplay {
    /// Whether a dispatcher recorded something on this core; if not, nothing is compared.
    pub dispatched: bool,
    /// Records that were compared and are equal.
    pub events: u64,
    /// Completed jobs among these.
    pub jobs: u64,
    /// Records that the replay skipped before the first instant at which no job was under way, if the recording begins
    /// later than its run.
    pub before: u64,
    /// The longest time from a decision to its record.
    pub late_max: Duration,
    /// Where the comparison of this core ended early.
    pub stop: Option<Stop>,
}

/// Where the comparison of a core ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The instant.
    pub at: Instant,
    /// The record: a position among those given.
    pub record: usize,
    /// The reason.
    pub why: EarlyEnd,
}

/// Why the comparison of a core ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlyEnd {
    /// So many records were lost.
    Lost(u64),
    /// The core's jobs may lock, no lock was recorded, and the core decided otherwise than it would without locks.
    NoLocks,
    /// Servers run on the core, and their remaining budgets, or their tasks, are not known.
    Server,
    /// The core shares a resource with the core given here, whose comparison ended.
    With(usize),
    /// The recording begins later than its run, and at each of its instants a job is under way.
    NoBeginning,
}

impl<'a> Replay<'a> {
    /// A replay of a set under rules.
    pub fn new(set: &'a TaskSet, rules: &'a Rules) -> Self {
        let (slack, patience, overlap) = (Self::SLACK, Self::SLACK, Self::OVERLAP);
        Self { set, rules, slack, patience, overlap, limits: &[], servers: &[], dispatched: &[] }
    }

    /// The default of [`Replay::slack`].
    pub const SLACK: Duration = Duration::from_ms(1);
    /// The default of [`Replay::overlap`].
    pub const OVERLAP: Duration = Duration::from_us(5);

    /// How close in time two requests of different cores for one resource may be if either may have come first: a
    /// thread reads the clock beside the step that decides, and may be preempted in between. Whatever the slack is,
    /// only one job holds the resource.
    #[must_use]
    pub fn slack(self, slack: Duration) -> Self {
        Self { slack, ..self }
    }

    /// How long a thread may take to release a resource after it has recorded the unlock; by default
    /// [`Replay::SLACK`]. A job that requests the resource until then and waits is not a difference. A thread that is
    /// not real-time may take long.
    #[must_use]
    pub fn patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// How long two jobs may seem to hold a resource at once, because the first read the clock after it released the
    /// resource.
    #[must_use]
    pub fn overlap(self, overlap: Duration) -> Self {
        Self { overlap, ..self }
    }

    /// What happens to jobs of these tasks that use up their budgets or are late. For other tasks, a record of that has
    /// no effect. The records say when a budget is used up, so the budget's size does not matter here.
    #[must_use]
    pub fn limits(self, limits: &'a [(usize, Limit)]) -> Self {
        Self { limits, ..self }
    }

    /// The servers; the subject of a server's record is its position here.
    #[must_use]
    pub fn servers(self, servers: &'a [RecordedServer]) -> Self {
        Self { servers, ..self }
    }

    /// Cores that have a dispatcher. The records of any other core show whether it has one, unless nothing on it is
    /// preempted, locked, or released by a calendar.
    #[must_use]
    pub fn dispatched(self, dispatched: &'a [usize]) -> Self {
        Self { dispatched, ..self }
    }

    /// Compares records with their simulation; each core's records must be in the order in which it wrote them. The
    /// subject of a task's record is its position in the set, and resources are positions in the set too. Records of
    /// other kinds are ignored.
    ///
    /// # Errors
    /// [`MalformedLog`] if something that the records say about tasks or resources cannot be true; a difference is not
    /// an error.
    pub fn of(set: &TaskSet, rules: &Rules, records: &[Record]) -> Result<Replayed, MalformedLog> {
        Replay::new(set, rules).run(records, &mut ())
    }

    /// As [`Replay::of`], with these settings. `sink` receives the simulated events: those of each core in order, all
    /// cores by time, except events that waited for the next record of their core.
    ///
    /// # Errors
    /// As [`Replay::of`].
    pub fn run(&self, records: &[Record], sink: &mut impl Sink) -> Result<Replayed, MalformedLog> {
        replayer::play(self, records, sink)
    }
}

impl Replayed {
    /// The number of records that were compared and are equal.
    pub fn events(&self) -> u64 {
        self.cores.iter().map(|core| core.events).sum()
    }

    /// Whether a dispatcher recorded anything.
    pub fn is_dispatched(&self) -> bool {
        self.cores.iter().any(|core| core.dispatched)
    }

    /// Whether there is no difference, and all records of dispatchers were compared.
    pub fn is_equal(&self) -> bool {
        self.difference.is_none() && self.cores.iter().all(|core| core.stop.is_none())
    }
}
