// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A task that follows a device's clock: a job at each release of its [`ReleaseGrid`].
//!
//! The application reports ticks by an end, [`TickReporter`]. It stores the instant of the newest one in a word, and wakes
//! nobody: the loop reads the word when it needs the next release, which is when the task has no job. So a report costs one
//! store, from any thread, and nothing that the analysis would have to charge.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use taut_event::{Event, GridPhase, Kind};
use taut_plan::DeviceClock;
use taut_policy::{GridRelease, GridState, ReleaseGrid};
use taut_time::{Duration, Instant};

use crate::body::{Release, TaskKind};
use crate::job::{Failure, Job};
use crate::lifecycle::JobContext;
use crate::native::TaskThread;
use crate::periodic::by_service;
use crate::{Component, Task};

/// The newest tick of a device's clock that was reported.
#[derive(Clone, Debug, Default)]
pub(crate) struct NewestTick {
    /// Its instant on the monotonic clock (ns); 0: none was reported. Relaxed: the word is all that is shared.
    at_ns: Arc<AtomicU64>,
}

impl NewestTick {
    fn get(&self) -> Option<Instant> {
        Some(self.at_ns.load(Ordering::Relaxed)).filter(|at_ns| *at_ns != 0).map(Instant::from_ns)
    }

    pub(crate) fn set(&self, at: Instant) {
        self.at_ns.store(at.as_ns(), Ordering::Relaxed);
    }
}

/// The end that reports the ticks of a device's clock, for the task that follows it. There is one for each clock, and any
/// thread may have it: the task itself, a task that the device releases, or a best-effort one.
pub struct TickReporter {
    newest: NewestTick,
}

impl fmt::Debug for TickReporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TickReporter").field(&self.newest.get()).finish()
    }
}

impl TickReporter {
    pub(crate) fn new(newest: NewestTick) -> Self {
        Self { newest }
    }

    /// Reports that the device's clock ticked, as observed at an instant on the monotonic clock ([`Job::now`], or a
    /// driver's time stamp of `CLOCK_MONOTONIC`): no earlier than the tick, and at most the manifest's `jitter` later. The call
    /// itself may come much later; the age of the newest tick counts. Not every tick need be reported, nor is one that was
    /// reported twice a fault.
    ///
    /// *Real-time*: one store.
    pub fn tick(&mut self, observed: Instant) {
        self.newest.set(observed);
    }
}

/// A task that follows a device's clock, whichever driver runs its jobs.
pub(crate) struct ClockedBody<T> {
    task: T,
    clock: DeviceClock,
    newest: NewestTick,
    /// `None` before the first release.
    grid: Option<ReleaseGrid>,
    /// The release that is due next.
    next: Option<u64>,
    /// Releases so far.
    count: u64,
    /// What was recorded last.
    recorded: GridState,
    /// The largest phase error since the grid was locked.
    error: Option<Duration>,
}

impl<T: Task> ClockedBody<T> {
    pub(crate) fn new(task: T, clock: DeviceClock, newest: NewestTick) -> Self {
        let recorded = GridState::Free;
        Self { task, clock, newest, grid: None, next: None, count: 0, recorded, error: None }
    }

    /// The instant of the next release, which stays the same until [`ClockedBody::pass`].
    fn due_ns(&mut self, context: &mut JobContext<'_>) -> u64 {
        if let Some(due_ns) = self.next {
            return due_ns;
        }
        let due_ns = match &mut self.grid {
            None => {
                let first_ns = context.next_ns();
                self.grid = Some(ReleaseGrid::new(&self.clock, Instant::from_ns(first_ns)));
                first_ns
            }
            Some(grid) => {
                let mut release = grid.next(self.newest.get());
                // A task that was paused, or took too long, goes on with its device.
                let late_ns = context.now_ns().saturating_sub(release.at.as_ns());
                let periods = late_ns.checked_div(self.clock.period.as_ns()).unwrap_or(0);
                if periods > 0 {
                    release = GridRelease { broke: release.broke, ..grid.pass_over(periods) };
                }
                self.record(context, release);
                release.at.as_ns()
            }
        };
        self.next = Some(due_ns);
        due_ns
    }

    /// The release that was due takes place.
    fn pass(&mut self) {
        self.next = None;
        self.count += 1;
    }

    /// Records what is new: another state, a larger phase error while locked, or that the device broke its word.
    fn record(&mut self, context: &mut JobContext<'_>, release: GridRelease) {
        let has_changed = release.state != self.recorded;
        if has_changed {
            (self.recorded, self.error) = (release.state, None);
        }
        let grows = release.state == GridState::Locked && release.error > self.error;
        if !(has_changed || grows || release.broke) {
            return;
        }
        self.error = self.error.max(release.error);
        let phase = match release.state {
            GridState::Free => GridPhase::Free,
            GridState::Approaching => GridPhase::Approaching,
            GridState::Locked => GridPhase::Locked,
            GridState::Unseen => GridPhase::Unseen,
        };
        let followed = Event::Followed {
            task: context.timing.task,
            release: self.count,
            error: release.error.unwrap_or(Duration::ZERO),
            phase,
            has_broken: release.broke,
        };
        let now_ns = context.now_ns();
        let record = followed.record(Instant::from_ns(now_ns), 0);
        context.record(now_ns, Kind::Followed, record.job, record.value);
    }
}

impl<T: Task> TaskKind for ClockedBody<T> {
    type Cause = ();

    fn component(&mut self) -> &mut impl Component {
        &mut self.task
    }

    fn next(&mut self, thread: &mut TaskThread<'_>) -> Option<(u64, Release<()>)> {
        let due_ns = self.due_ns(&mut thread.context);
        if !thread.sleep_until(due_ns) {
            return None;
        }
        self.pass();
        // The job, or the release that is skipped in its place, is due then.
        thread.context.set_next_release(due_ns);
        Some((due_ns, by_service(&mut self.task, &mut thread.context, due_ns)))
    }

    fn poll(&mut self, context: &mut JobContext<'_>, _: u64) -> Option<u64> {
        Some(self.due_ns(context))
    }

    fn released(&mut self, context: &mut JobContext<'_>, arrival_ns: u64) -> Release<()> {
        context.note_release(arrival_ns);
        // A dispatcher does not ask for the first release.
        let first = Instant::from_ns(arrival_ns);
        self.grid.get_or_insert_with(|| ReleaseGrid::new(&self.clock, first));
        self.pass();
        by_service(&mut self.task, context, arrival_ns)
    }

    fn replayed_cause(&self, _: u64) {}

    fn run(&mut self, (): (), job: &mut Job<'_>) -> Result<(), Failure> {
        self.task.release(job)
    }
}
