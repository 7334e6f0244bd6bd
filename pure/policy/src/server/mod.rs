// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Aperiodic servers: a budget per period for requests that may arrive at any time.
//!
//! | server | budget | under | looks to less urgent tasks like |
//! |---|---|---|---|
//! | [`Polling`] | full when a period begins; lost when the server runs and finds no request | fixed priority | a periodic task |
//! | [`Deferrable`] | full when a period begins; kept until it ends | fixed priority | one with jitter T_s − C_s |
//! | [`Sporadic`] | a used part comes back a period after the backlogged server could begin to use it | fixed priority | a periodic task |
//! | [`ConstantBandwidth`] | always available; each time it is used up, the deadline moves by a period | EDF | a utilization of C_s / T_s |
//!
//! A [`ServerRule`] knows its budget and the time. [`Served`] puts servers beside the tasks of a core: the core's rule
//! treats each server as one more task.
//!
//! ```text
//! requests  ---> waiting? --+
//!                           |   release, complete         +------------+
//! time      ---> server  ---+---------------------------> | Scheduler  | ---> a task, or a server: its first request
//!                budget     |   "it has the core"         +------------+
//!                         <-+---------------------------------- decide
//! ```
//!
//! **A turn of a server is a job of the rule.** The turn is released when the server has both a budget and requests,
//! and completes when the budget or the requests end while the server runs; it never suspends. So a rule need not know
//! about servers, a server that has not run yet is no special case, and under EDF each turn has the deadline of its
//! budget. A server that is preempted keeps its turn. A polling server is released with every budget: it looks for
//! requests when it gets the core, not before.
//!
//! **Overruns are charged.** If the driver calls late, a server runs for longer than it may. The excess is deducted
//! from the next replenishments, so that other tasks lose that time only once.
//!
//! Requests do not use the locks of tasks, because the length of a request is not bounded.

mod constant_bandwidth;
mod deferrable;
mod periodic;
mod polling;
mod served;
mod sporadic;

pub use constant_bandwidth::ConstantBandwidth;
pub use deferrable::Deferrable;
pub use polling::Polling;
pub use served::{Served, ServerEntry, Servers, Turn};
pub use sporadic::{Replenishment, Sporadic};

use core::fmt;

use taut_time::{Duration, Instant};

use crate::Store;

/// No instant: an event at this instant never comes.
const NEVER: u64 = u64::MAX;

/// The default number of places for a [`Sporadic`] server's replenishments.
pub const REPLENISHMENTS: usize = 16;

/// Why a server cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// Not 0 < C_s ≤ T_s.
    Budget,
    /// There is no place for a replenishment.
    Replenishments,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Budget => "a budget must be more than 0 and no more than its period",
            Self::Replenishments => "the server has no place for a replenishment",
        })
    }
}

impl core::error::Error for Unfit {}

/// C_s and T_s, in ns, if 0 < C_s ≤ T_s.
fn figures(budget: Duration, period: Duration) -> Result<(u64, u64), Unfit> {
    let fits = !budget.is_zero() && budget <= period;
    if fits { Ok((budget.as_ns(), period.as_ns())) } else { Err(Unfit::Budget) }
}

/// How a budget is consumed and replenished. The driver reports time in order; an instant before the last reported one
/// counts as the last reported one.
///
/// All steps are O(1), except those that [`Sporadic`] names.
pub trait ServerRule {
    /// Time advances to `now`; `ran` says whether the server has had the core since the last call. Returns whether its
    /// turn has ended because it has used up the budget that it may use without a break.
    fn pass(&mut self, now: Instant, ran: bool) -> bool;

    /// Requests wait from this instant on, and none did just before.
    fn wake(&mut self);

    /// The server has the core at this instant, and no request waits.
    fn find_none(&mut self);

    /// Whether the server asks for the core; `backlog` says whether requests wait.
    fn is_ready(&self, backlog: bool) -> bool;

    /// How long the server may run from this instant on, if it is not preempted.
    fn left(&self) -> Duration;

    /// The instant at which the server will ask for the core, if it does not ask now and only time passes; none if
    /// time alone does not make it ask.
    fn next(&self, backlog: bool) -> Option<Instant>;

    /// The instant that the deadline of its next turn counts from: one period before that deadline.
    fn arrival(&self) -> Instant;

    /// The last instant that the driver has reported.
    fn now(&self) -> Instant;
}

/// How a server under fixed priority loses its budget and gets it back; a manifest's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum ServerPolicy {
    /// Looks for requests when its period begins, and gives up the budget that it cannot use at that time.
    Polling,
    /// Keeps its budget until its period ends.
    Deferrable,
    /// Gets back the budget that it used one period later.
    Sporadic,
}

/// Any of the servers, for cores that have several kinds.
#[derive(Clone, Debug)]
pub enum Any<P> {
    /// A polling server.
    Polling(Polling),
    /// A deferrable server.
    Deferrable(Deferrable),
    /// A sporadic server.
    Sporadic(Sporadic<P>),
    /// A constant bandwidth server.
    ConstantBandwidth(ConstantBandwidth),
}

/// Forwards a call to the chosen server.
macro_rules! each {
    ($self:ident, $server:ident => $call:expr) => {
        match $self {
            Self::Polling($server) => $call,
            Self::Deferrable($server) => $call,
            Self::Sporadic($server) => $call,
            Self::ConstantBandwidth($server) => $call,
        }
    };
}

impl<P: Store<Replenishment>> Any<P> {
    /// A server with budget C_s and period T_s. The first period of a polling or deferrable server begins at `start`.
    /// `parts` gives a sporadic server the places for its replenishments.
    ///
    /// # Errors
    /// [`Unfit`].
    pub fn new(
        policy: ServerPolicy,
        budget: Duration,
        period: Duration,
        start: Instant,
        parts: impl FnOnce() -> P,
    ) -> Result<Self, Unfit> {
        Ok(match policy {
            ServerPolicy::Polling => Self::Polling(Polling::new(budget, period, start)?),
            ServerPolicy::Deferrable => Self::Deferrable(Deferrable::new(budget, period, start)?),
            ServerPolicy::Sporadic => Self::Sporadic(Sporadic::new(budget, period, parts())?),
        })
    }
}

impl<P: Store<Replenishment>> ServerRule for Any<P> {
    fn pass(&mut self, now: Instant, ran: bool) -> bool {
        each!(self, server => server.pass(now, ran))
    }

    fn wake(&mut self) {
        each!(self, server => server.wake());
    }

    fn find_none(&mut self) {
        each!(self, server => server.find_none());
    }

    fn is_ready(&self, backlog: bool) -> bool {
        each!(self, server => server.is_ready(backlog))
    }

    fn left(&self) -> Duration {
        each!(self, server => server.left())
    }

    fn next(&self, backlog: bool) -> Option<Instant> {
        each!(self, server => server.next(backlog))
    }

    fn arrival(&self) -> Instant {
        each!(self, server => server.arrival())
    }

    fn now(&self) -> Instant {
        each!(self, server => server.now())
    }
}
