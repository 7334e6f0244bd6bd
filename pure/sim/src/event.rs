// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_time::{Duration, Instant};

/// What happened to a job. This is a separate vocabulary: `taut-event` is the format of recorded runs, and there only
/// dispatchers record preemptions and locks; [`crate::replay`] relates the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimEventKind {
    /// It is ready from now on, unless an earlier job of its task is not complete.
    Release {
        /// When it arrived.
        arrival: Instant,
    },
    /// It is dropped, instead of a `Release`: an earlier job is not complete and the task's limit says so, or too
    /// many jobs wait.
    Drop,
    /// It runs for the first time.
    Start,
    /// Another job continues in its place.
    Preempt,
    /// It runs again.
    Resume,
    /// It waits for a resource and is suspended.
    Suspend(usize),
    /// It waits for a resource and spins.
    Spin(usize),
    /// It holds a resource.
    Locked(usize),
    /// It has released a resource.
    Unlock(usize),
    /// It is done.
    Complete {
        /// From its arrival.
        response: Duration,
    },
    /// It has used up its budget, and is not complete.
    Exhausted,
    /// It is ended before it is complete.
    Kill,
    /// It completed after its deadline. Follows its `Complete`.
    Miss,
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimEvent {
    /// When.
    pub at: Instant,
    /// The task: a position in the set.
    pub task: usize,
    /// The job's number, counted from 0, dropped ones included.
    pub job: u64,
    /// What happened.
    pub kind: SimEventKind,
}

/// Receives every event, in order. `()` ignores them, at no cost.
pub trait Sink {
    /// An event.
    fn event(&mut self, event: SimEvent);

    /// Whether jobs have limits in the run. It is a constant of the sink, so that runs without limits do not check
    /// for them. Internal to this crate.
    #[doc(hidden)]
    const LIMITED: bool = false;
}

/// The sink of a run in which jobs have limits, or may exceed C.
pub(crate) struct Watched<'a, S>(pub(crate) &'a mut S);

impl<S: Sink> Sink for Watched<'_, S> {
    fn event(&mut self, event: SimEvent) {
        self.0.event(event);
    }

    const LIMITED: bool = true;
}

impl Sink for () {
    fn event(&mut self, _: SimEvent) {}
}

impl<F: FnMut(SimEvent)> Sink for F {
    fn event(&mut self, event: SimEvent) {
        self(event);
    }
}
