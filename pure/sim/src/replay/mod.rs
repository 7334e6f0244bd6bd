// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A recorded run again, in virtual time: does the simulator decide as the machine did?
//!
//! A recording has two sorts of records. Some say what **came from outside** of the rules: that a core looked at its
//! calendar or was told of a release, what a job did (asked for a resource, gave one back, was done), that a core was told of
//! a grant. Those are given to a [`Simulation`], each at its recorded instant; so a job executes as long as it did, overheads
//! included, and arrives when it did. The others say what was **decided**: who started, was preempted and went on, whether a
//! request was granted. Those the simulator must say by itself, in that order. The first that it does not say is a
//! [`Difference`].
//!
//! ```text
//! recorded on a core        Release a   Unlock r   Release b           Start b   Locked r    Complete b
//!                              |           |           |                  |         |            |
//! given to the simulator    told of a   unlocks    told of b              |      requests     completes
//!                              |           |           |                  |         |            |
//! it says                   Release a   Unlock r   Release b, Preempt a, Start b   Locked r    Complete b, Resume a
//! ```
//!
//! **When it decides.** When the next record of that core is not one more thing that came from outside at the same instant:
//! what a dispatcher is told of at once is one decision. So a decision's time is that of what led to it, and its record is
//! later by what the machine took; [`CoreReplay::late_max`] has the most of it.
//!
//! **Between cores** the order is that of the records' instants. Two requests for one resource whose instants are closer than
//! [`Replay::slack`] may have come in either order, for a job reads the clock beside the step that decides: then they are
//! taken in the order in which the resource was held. So may a request and the unlock before, within
//! [`Replay::patience`]. That is no licence for a holder beside another, but for [`Replay::overlap`], or for one that went
//! before its turn.
//!
//! What a lock does between two records is known in part: a request was made after the record before it on its core, and
//! before its own; what was given back was let go after its record, and before the next one of that core. So a resource
//! is kept from the unlock on until that one asks that came to hold it next. Who asks meanwhile waits, if one of these holds,
//! else it is a difference: whoever gave it back may not have let it go yet; or another core asks in the same span of
//! time, for who takes a free lock chooses among all that ask. And who was handed it before it looked is recorded as if it
//! had not waited, although it had lined up before others.
//!
//! **Budgets.** That one is used up was found by a dispatcher, so it comes from outside. What becomes of the job follows from
//! its task's [`Limit`]: one that is demoted or to be ended goes on in the background, and each decision is compared. Where a
//! job is ended is its own business, as is everything that it does.
//!
//! **Servers** decide by themselves; that somebody looked at one, as time gave it a turn or took it away, comes from outside,
//! and what it may use then is compared. So does for how long threads that the core does not know of had it in a turn.
//!
//! **What is not compared**: values, misses, and what a core decided after it lost records; cores that share a resource with
//! it end with it. Each core says how far it was compared.

mod difference;
mod ending;
mod log;
mod notes;
mod order;
mod outside;
mod replayer;

use taut_event::Record;
use taut_model::TaskSet;
use taut_time::{Duration, Instant};

use crate::{Event, Limit, Rules, Served, Sink};

pub use difference::{CoreState, Difference, Names};
pub use log::{Flaw, Malformed};

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
    servers: &'a [Served],
    dispatched: &'a [usize],
}

/// What a replay found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// The first difference, if there is one.
    pub difference: Option<Difference>,
    /// Per core of the set.
    pub cores: Vec<CoreReplay>,
    /// What was decided last and not recorded before the recording ended, by core.
    pub pending: Vec<Event>,
    /// Requests and unlocks that were taken in the order of who held the resource, as they were too close to tell.
    pub reordered: u64,
}

/// A core of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreReplay {
    /// Whether a dispatcher recorded something on it; if not, nothing is compared.
    pub dispatched: bool,
    /// Records that were compared and are equal.
    pub events: u64,
    /// Jobs of these that were complete.
    pub jobs: u64,
    /// Records before the first instant at which nothing was under way, where the recording does not begin with its run.
    pub before: u64,
    /// The longest from a decision to its record.
    pub late_max: Duration,
    /// From where on it was not compared.
    pub stop: Option<Stop>,
}

/// From where on a core was not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// When.
    pub at: Instant,
    /// The record: a position in what was given.
    pub record: usize,
    /// Why.
    pub why: Why,
}

/// Why a core was not compared any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// So many records were lost.
    Lost(u64),
    /// Its jobs may lock, no lock was recorded, and then it decided otherwise than without.
    NoLocks,
    /// Servers run on it, and it is not known what they had of their budgets, or of which tasks they are.
    Server,
    /// It shares a resource with this core, which was not compared any further.
    With(usize),
    /// The recording does not begin with its run, and there is always something under way in it.
    NoBeginning,
}

impl<'a> Replay<'a> {
    /// Of a set under rules.
    pub fn new(set: &'a TaskSet, rules: &'a Rules) -> Self {
        let (slack, patience, overlap) = (Self::SLACK, Self::SLACK, Self::OVERLAP);
        Self { set, rules, slack, patience, overlap, limits: &[], servers: &[], dispatched: &[] }
    }

    /// What [`Replay::slack`] is if nobody says.
    pub const SLACK: Duration = Duration::from_ms(1);
    /// What [`Replay::overlap`] is if nobody says.
    pub const OVERLAP: Duration = Duration::from_us(5);

    /// How close requests of several cores for a resource are that may have come in either order: a thread looks at the
    /// clock beside the step that decides, and its core may be taken from it in between. Whatever it is, one holds it.
    #[must_use]
    pub fn slack(self, slack: Duration) -> Self {
        Self { slack, ..self }
    }

    /// How long after it has recorded an unlock a thread may take to let others have the resource; [`Replay::SLACK`] if
    /// nobody says. Who asks until then and waits is no difference. A thread that is not real-time may take long.
    #[must_use]
    pub fn patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// How long two may seem to hold a resource, as the one that gave it back looked at the clock after that.
    #[must_use]
    pub fn overlap(self, overlap: Duration) -> Self {
        Self { overlap, ..self }
    }

    /// What becomes of jobs of these tasks that use up their budgets or are late. Of others it is no more than a note. When a
    /// budget is used up is in the records, so how large it is does not matter here.
    #[must_use]
    pub fn limits(self, limits: &'a [(usize, Limit)]) -> Self {
        Self { limits, ..self }
    }

    /// Servers: the subject of their records is the position here.
    #[must_use]
    pub fn servers(self, servers: &'a [Served]) -> Self {
        Self { servers, ..self }
    }

    /// Cores that have a dispatcher. What is recorded on others shows it, but where nothing is preempted, locked, or
    /// released by a calendar.
    #[must_use]
    pub fn dispatched(self, dispatched: &'a [usize]) -> Self {
        Self { dispatched, ..self }
    }

    /// Compares records with what is simulated: those of each core in the order in which it wrote them. The subject of a
    /// task's record is its position in the set, and a resource is the position there too. Records of other kinds are
    /// passed over.
    ///
    /// # Errors
    /// What the records say of tasks and resources that cannot be; a difference is no error.
    pub fn of(set: &TaskSet, rules: &Rules, records: &[Record]) -> Result<Replayed, Malformed> {
        Replay::new(set, rules).run(records, &mut ())
    }

    /// The same, and `sink` is told of what is simulated: core by core in order, all cores by time but for what waited for
    /// the next record of its core.
    ///
    /// # Errors
    /// As [`Replay::of`].
    pub fn run(&self, records: &[Record], sink: &mut impl Sink) -> Result<Replayed, Malformed> {
        replayer::play(self, records, sink)
    }
}

impl Replayed {
    /// Records that were compared and are equal.
    pub fn events(&self) -> u64 {
        self.cores.iter().map(|core| core.events).sum()
    }

    /// Whether a dispatcher recorded anything.
    pub fn is_dispatched(&self) -> bool {
        self.cores.iter().any(|core| core.dispatched)
    }

    /// Whether there is no difference, and everything that a dispatcher recorded was compared.
    pub fn is_equal(&self) -> bool {
        self.difference.is_none() && self.cores.iter().all(|core| core.stop.is_none())
    }
}
