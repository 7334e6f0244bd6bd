// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A periodic task: the calendar releases its jobs.

use crate::body::{Release, TaskKind};
use crate::control::State;
use crate::job::{Failure, Job};
use crate::lifecycle::{JobContext, notify};
use crate::native::TaskThread;
use crate::{Component, Task};

/// A periodic task, whichever driver runs its jobs.
pub(crate) struct PeriodicBody<T> {
    task: T,
}

impl<T: Task> PeriodicBody<T> {
    pub(crate) fn new(task: T) -> Self {
        Self { task }
    }
}

/// What the release at `release_ns` leads to, by the state of the task's service, for a task that nothing but time releases.
pub(crate) fn by_service(
    task: &mut impl Component,
    context: &mut JobContext<'_>,
    release_ns: u64,
) -> Release<()> {
    if context.follow_restart(release_ns) {
        return Release::Reset;
    }
    if let Some(state) = context.follow_service(release_ns) {
        if !context.has_failed() {
            context.record_followed(release_ns);
            notify(task, state);
        }
        context.acknowledge();
    }
    match context.state() {
        State::Running => Release::Job(()),
        State::Paused | State::Stopped => Release::Nothing,
    }
}

impl<T: Task> TaskKind for PeriodicBody<T> {
    type Cause = ();

    fn component(&mut self) -> &mut impl Component {
        &mut self.task
    }

    fn next(&mut self, thread: &mut TaskThread<'_>) -> Option<(u64, Release<()>)> {
        let due_ns = thread.context.next_ns();
        thread.sleep_until(due_ns).then(|| (due_ns, by_service(&mut self.task, &mut thread.context, due_ns)))
    }

    fn released(&mut self, context: &mut JobContext<'_>, arrival_ns: u64) -> Release<()> {
        by_service(&mut self.task, context, arrival_ns)
    }

    fn replayed_cause(&self, _: u64) {}

    fn run(&mut self, (): (), job: &mut Job<'_>) -> Result<(), Failure> {
        self.task.release(job)
    }
}
