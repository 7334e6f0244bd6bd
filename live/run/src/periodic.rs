// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A periodic task: its jobs are released by the calendar.

use std::error::Error;

use taut_event::Kind;
use taut_plan::Overrun;

use crate::Task;
use crate::control::Reason;
use crate::lifecycle::{Body, JobContext};

/// A periodic task on a thread of its own, or dispatched.
pub(crate) struct PeriodicBody<T> {
    task: T,
}

impl<T: Task> PeriodicBody<T> {
    pub(crate) fn new(task: T) -> Self {
        Self { task }
    }
}

impl<T: Task> Body for PeriodicBody<T> {
    fn start(&mut self) {
        self.task.start();
    }

    fn run(&mut self, context: &mut JobContext<'_>) {
        let period_ns = context.timing.period_ns;
        let mut due_ns = context.origin_ns.saturating_add(context.timing.offset_ns);
        let mut number = 0;
        while context.sleep_until(due_ns) {
            match context.follow(&mut self.task) {
                None => {
                    context.retire();
                    break;
                }
                Some(false) => {
                    context.event_recorder.own(due_ns, Kind::Skip, number, 0);
                    if !context.hold(due_ns) {
                        break;
                    }
                }
                Some(true) => {
                    if !context.activate(due_ns) {
                        break;
                    }
                    let end_ns = context.job(number, due_ns, |job| self.task.release(job));
                    if end_ns > due_ns.saturating_add(period_ns) {
                        let policy = context.timing.on_overrun;
                        context.event_recorder.own(end_ns, Kind::Overrun, number, policy as u64);
                        match policy {
                            Overrun::SkipNext => {
                                let mut next_ns = due_ns.saturating_add(period_ns);
                                while next_ns <= end_ns && !context.control.is_past(next_ns) {
                                    number += 1;
                                    context.event_recorder.own(next_ns, Kind::Skip, number, 0);
                                    if !context.hold(next_ns) {
                                        break;
                                    }
                                    due_ns = next_ns;
                                    next_ns = due_ns.saturating_add(period_ns);
                                }
                            }
                            Overrun::StopApp => {
                                context.control.stop_because(Reason::Overrun(context.timing.task.into()));
                                break;
                            }
                            // The next job starts at once. The last two policies exist on dispatched cores only.
                            Overrun::RunOn | Overrun::KillJob | Overrun::Demote => {}
                        }
                    }
                }
            }
            due_ns = due_ns.saturating_add(period_ns);
            number += 1;
        }
        self.stop();
    }

    fn once(&mut self, context: &mut JobContext<'_>, job: &mut taut_exec::Job<'_>) -> bool {
        match context.follow(&mut self.task) {
            // The task retires from its flows at its next release, because retiring may take a lock.
            None => {
                context.complete();
                return false;
            }
            Some(false) => {}
            Some(true) => context.dispatched(job, |job| self.task.release(job)),
        }
        context.complete();
        true
    }

    fn stop(&mut self) {
        self.task.stop();
    }

    fn finish(&mut self) -> Result<(), Box<dyn Error>> {
        self.task.finish()
    }
}
