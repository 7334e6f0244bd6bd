// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Aperiodic servers: a budget per period for requests that promise nothing of when they come.
//!
//! | server | budget | under | looks to less urgent tasks like |
//! |---|---|---|---|
//! | [`Polling`] | full when a period begins; given up when the server has the core and finds no request | fixed priority | a periodic task |
//! | [`Deferrable`] | full when a period begins; kept until the next does | fixed priority | one with jitter T_s − C_s |
//! | [`Sporadic`] | what is used comes back a period after the server, backlogged, could begin to use it | fixed priority | a periodic task |
//! | [`ConstantBandwidth`] | always there; each time it is used up, the deadline moves by a period | EDF | a load of C_s / T_s |
//!
//! A [`Server`] knows its budget and the time. [`Served`] puts servers beside the tasks of a core: to the rule of the
//! core each is one more task.
//!
//! ```text
//! requests  ---> waiting? --+
//!                           |   release, complete         +------------+
//! time      ---> Server  ---+---------------------------> | Scheduler  | ---> a task, or a server: its first request
//!                budget     |   "it has the core"         +------------+
//!                         <-+---------------------------------- decide
//! ```
//!
//! **A turn of a server is a job of the rule.** It is released when the server has both budget and something to do, and
//! complete when one of them ends while it runs; it never suspends. So a rule needs to know nothing of servers, a
//! server that has not run yet is no special case, and under EDF each turn has the deadline of its budget. A server
//! that loses the core keeps its turn. A polling one is released with every budget, as it looks for requests when it
//! gets the core, not before.
//!
//! **Late is charged.** A driver that comes late lets a server run for longer than it may. What it took too much is
//! taken from what comes back next, so that others lose no more than once.
//!
//! Requests use no locks of tasks, as their length is not bounded.

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

/// No instant: what would come then never comes.
const NEVER: u64 = u64::MAX;

/// Places for parts of a [`Sporadic`] server's budget where nobody has a reason for another number.
pub const REPLENISHMENTS: usize = 16;

/// Why there is no such server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// Not 0 < C_s ≤ T_s.
    Budget,
    /// There is no place for a part of the budget.
    Replenishments,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Budget => "a budget must be more than 0 and no more than its period",
            Self::Replenishments => "there is no place for a part of the budget",
        })
    }
}

impl core::error::Error for Unfit {}

/// C_s and T_s, in ns, if they fit each other.
fn figures(budget: Duration, period: Duration) -> Result<(u64, u64), Unfit> {
    let fits = !budget.is_zero() && budget <= period;
    if fits { Ok((budget.as_ns(), period.as_ns())) } else { Err(Unfit::Budget) }
}

/// How a budget is lost and comes back. Told of time in order; an instant before the last one counts as that.
///
/// All steps are O(1), but for those that [`Sporadic`] names.
pub trait Server {
    /// Time has come to `now`; `ran` says whether the server has had the core since the last call. Says whether its turn
    /// has ended: what it might use at a stretch is used up.
    fn pass(&mut self, now: Instant, ran: bool) -> bool;

    /// At this instant requests wait, and none did just before.
    fn wake(&mut self);

    /// At this instant it has the core, and no request waits.
    fn find_none(&mut self);

    /// Whether it asks for the core, if requests wait or not.
    fn is_ready(&self, backlog: bool) -> bool;

    /// How long it may run from this instant on, if nothing takes the core from it.
    fn left(&self) -> Duration;

    /// When it asks for the core if it does not now, as far as time alone decides.
    fn next(&self, backlog: bool) -> Option<Instant>;

    /// From when the deadline of its next turn counts, a period before it.
    fn arrival(&self) -> Instant;

    /// The instant that it was told of last.
    fn now(&self) -> Instant;
}

/// Any server, for cores that have several kinds.
#[derive(Clone, Debug)]
pub enum Any<P> {
    /// A polling one.
    Polling(Polling),
    /// A deferrable one.
    Deferrable(Deferrable),
    /// A sporadic one.
    Sporadic(Sporadic<P>),
    /// A constant bandwidth one.
    ConstantBandwidth(ConstantBandwidth),
}

/// Calls the server that there is.
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

impl<P: Store<Replenishment>> Server for Any<P> {
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
