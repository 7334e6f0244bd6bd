// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_time::{Duration, Instant};

/// What happened to a job. A vocabulary of its own: `taut-event` is the layout of recorded runs, of which only those of
/// dispatchers know of preemption and locks; [`crate::replay`] joins the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It may run from now on, unless an earlier job of its task is not complete.
    Release {
        /// When it arrived.
        arrival: Instant,
    },
    /// It was dropped, as an earlier one is not complete, by its limit, or too many. In place of `Release`.
    Drop,
    /// It runs for the first time.
    Start,
    /// Another goes on in its place.
    Preempt,
    /// It runs again.
    Resume,
    /// It waits for a resource without running.
    Suspend(usize),
    /// It waits for a resource and runs.
    Spin(usize),
    /// It holds a resource.
    Locked(usize),
    /// It has given a resource back.
    Unlock(usize),
    /// It is done.
    Complete {
        /// From its arrival.
        response: Duration,
    },
    /// It has used up its budget, and is not done.
    Exhausted,
    /// It is ended before it was done.
    Kill,
    /// It was done after its deadline. Follows its `Complete`.
    Miss,
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at: Instant,
    /// The task: a position in the set.
    pub task: usize,
    /// Which of its jobs, from 0, dropped ones included.
    pub job: u64,
    /// What.
    pub kind: Kind,
}

/// Who is told of every event, in order. `()` is nobody, at no cost.
pub trait Sink {
    /// An event.
    fn event(&mut self, event: Event);

    /// Whether jobs have limits in the run. It stands here so that runs without them do not ask; nobody else's business.
    #[doc(hidden)]
    const LIMITED: bool = false;
}

/// Of a run in which jobs have limits, or do not keep to C.
pub(crate) struct Watched<'a, S>(pub(crate) &'a mut S);

impl<S: Sink> Sink for Watched<'_, S> {
    fn event(&mut self, event: Event) {
        self.0.event(event);
    }

    const LIMITED: bool = true;
}

impl Sink for () {
    fn event(&mut self, _: Event) {}
}

impl<F: FnMut(Event)> Sink for F {
    fn event(&mut self, event: Event) {
        self(event);
    }
}
