// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Synchronous flows at run time: every job reads the values that the synchronous model prescribes.
//!
//! A task that takes part in a flow calls three hooks, whether Linux or a dispatcher schedules it:
//!
//! | when                           | hook                    | what it does                                        |
//! |--------------------------------|-------------------------|-----------------------------------------------------|
//! | at a release, before the job   | [`TaskFlows::begin`]    | makes due activations, or names the task in the way |
//! | after the job, or in its place | [`TaskFlows::complete`] | completes the activated job, used or not; notifies  |
//! | when its releases end          | [`TaskFlows::retire`]   | takes the task out of the order                     |
//!
//! `begin` never waits for a job. If another task is in the way, the caller tries again after that task has
//! notified its event count: a thread of the task's own sleeps on the event count; a dispatcher offers the job to
//! its scheduling rule once `begin` has succeeded. A release without a job, because its service is paused or a late
//! job took its place, counts as a job that does nothing: the value of a writer stays as it was.
//!
//! Files: [`calendar`] for the order of activations, [`ends`] for what a task reads and writes.
//!
//! Checked: `tests/flows.rs` compares applications whose jobs are late on purpose, paused and stopped with an
//! interpreter of the model; `examples/flow` does the same on two cores.

mod calendar;
mod ends;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use taut_lock::{EventCount, Listener, Notifier, Refused, Serial};
use taut_plan::{Arrival, ClassPlan, Flow, Mechanism, Plan};
use taut_share::state::flow::Shape;
use taut_share::state::{dbp, tccp};
use taut_share::{LayoutError, Memory};

use crate::payload::{Payload, Stamped};
use calendar::{Blocked, Calendar, Dispatcher, Member, Role};
use ends::End;
pub(crate) use ends::{Reader, Writer, read, write};

type Group<'p> = Serial<Calendar<'p>>;

/// One event count for each task of the plan; the task notifies it when a job is complete.
pub(crate) fn event_counts(plan: &Plan) -> Vec<EventCount> {
    plan.tasks.iter().map(|_| EventCount::new()).collect()
}

/// The end of a channel, as the job context sees it.
struct Hold<'p> {
    end: Arc<dyn End + 'p>,
    /// The position of the writing task.
    writer: usize,
}

/// Flows while tasks still take their ends.
pub(crate) struct Flows<'p> {
    event_counts: &'p [EventCount],
    /// By channel.
    dispatchers: HashMap<usize, Dispatcher<'p>>,
    /// By task: the channel, and its end.
    ends: Vec<(usize, usize, Hold<'p>)>,
}

impl std::fmt::Debug for Flows<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Flows").finish_non_exhaustive()
    }
}

impl<'p> Flows<'p> {
    pub(crate) fn new(event_counts: &'p [EventCount]) -> Self {
        Self { event_counts, dispatchers: HashMap::new(), ends: Vec::new() }
    }

    /// Takes what the tasks have taken so far, and leaves nothing.
    pub(crate) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::new(self.event_counts))
    }

    /// The shape of a channel's object, from the plan; `None` if the channel's flow is not synchronous.
    pub(crate) fn shape(plan: &Plan, channel: usize) -> Option<Shape> {
        let channel = &plan.channels[channel];
        let (lower, higher) = channel.flow_readers();
        let shape = Shape { lower, higher, buffers: channel.buffers? };
        (channel.flow == Flow::Synchronous).then_some(shape)
    }

    /// Makes the writing end of a channel for one task, and keeps the dispatcher's end.
    ///
    /// # Errors
    /// Those of the object.
    ///
    /// # Safety
    /// The memory holds zeros. Neither the writing end nor the dispatcher's end was taken before; other ends over
    /// the memory are readers of this shape.
    pub(crate) unsafe fn writer<P: Payload>(
        &mut self,
        plan: &Plan,
        (channel, task): (usize, usize),
        memory: [Memory<'p>; 2],
        shape: Shape,
    ) -> Result<Arc<std::sync::Mutex<Writer<'p, P>>>, LayoutError> {
        let [own, other] = memory;
        // SAFETY:
        // - the caller's duties are those of each function called here
        let (writer, dispatcher) = unsafe {
            if plan.channels[channel].mechanism == Mechanism::Dbp {
                let dispatcher = dbp::dispatcher::<Stamped<P>>(other, shape)?;
                (Writer::Dbp(dbp::writer(own, shape)?), Dispatcher::Dbp(Box::new(dispatcher)))
            } else {
                let dispatcher = tccp::dispatcher::<Stamped<P>>(other, shape)?;
                (Writer::Tccp(tccp::writer(own, shape)?), Dispatcher::Tccp(Box::new(dispatcher)))
            }
        };
        let end = Arc::new(std::sync::Mutex::new(writer));
        self.dispatchers.insert(channel, dispatcher);
        self.ends.push((task, channel, Hold { end: end.clone(), writer: task }));
        Ok(end)
    }

    /// Makes a reading end of a channel for one task.
    ///
    /// # Errors
    /// Those of the object.
    ///
    /// # Safety
    /// The memory holds this object, or zeros; no other reader of that task was taken.
    pub(crate) unsafe fn reader<P: Payload>(
        &mut self,
        plan: &Plan,
        (channel, task): (usize, usize),
        memory: Memory<'p>,
        shape: Shape,
    ) -> Result<Arc<std::sync::Mutex<Reader<'p, P>>>, LayoutError> {
        let of = &plan.channels[channel];
        let which = of.flow_reader(&plan.tasks[task].name).ok_or(LayoutError::Readers)?;
        let writer = plan.task(&of.writer.name).ok_or(LayoutError::Readers)?;
        // SAFETY:
        // - the caller's duties are those of each function called here
        let reader = unsafe {
            if of.mechanism == Mechanism::Dbp {
                Reader::Dbp(dbp::reader(memory, shape, which)?)
            } else {
                Reader::Tccp(tccp::reader(memory, shape, which)?)
            }
        };
        let end = Arc::new(std::sync::Mutex::new(reader));
        self.ends.push((task, channel, Hold { end: end.clone(), writer }));
        Ok(end)
    }

    /// The flows that each task's job context calls, by the task's position, once all ends are taken.
    ///
    /// # Errors
    /// Those of the system, if it has no mutexes with priority inheritance.
    pub(crate) fn assemble(self, plan: &Plan) -> taut_sys::Result<HashMap<usize, TaskFlows<'p>>> {
        let mut groups = HashMap::new();
        for (channel, dispatcher) in self.dispatchers {
            let of = &plan.channels[channel];
            let mut readers: Vec<_> = of.readers.iter().collect();
            readers.sort_by_key(|reader| of.flow_reader(&reader.name));
            let readers = readers.into_iter().filter_map(|reader| member(plan, &reader.name)).collect();
            let Some(writer) = member(plan, &of.writer.name) else { continue };
            let calendar = Calendar { dispatcher, writer, readers, written: 0, left: None };
            groups.insert(channel, Arc::new(Serial::new(calendar)?));
        }
        let mut tasks: HashMap<usize, TaskFlows<'p>> = HashMap::new();
        for (task, channel, hold) in self.ends {
            let Some(group) = groups.get(&channel) else { continue };
            let role = match plan.channels[channel].flow_reader(&plan.tasks[task].name) {
                Some(which) => Role::Reader(which),
                None => Role::Writer,
            };
            let event_counts = self.event_counts;
            let new = || TaskFlows {
                event_counts,
                notifier: event_counts[task].notifier(),
                joins: Vec::new(),
                ends: Vec::new(),
            };
            let flows = tasks.entry(task).or_insert_with(new);
            flows.joins.push((group.clone(), role));
            flows.ends.push(hold);
        }
        Ok(tasks)
    }
}

fn member(plan: &Plan, name: &str) -> Option<Member> {
    let task = plan.task(name)?;
    let ClassPlan::RealTime { arrival: Arrival::Periodic { period, offset }, .. } = &plan.tasks[task].class
    else {
        return None;
    };
    Some(Member { task, next_ns: offset.as_ns(), period_ns: period.as_ns(), gone: false })
}

/// Why a job cannot begin yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotBegun {
    /// A job of this task, by its position in the plan, must complete first.
    Behind(usize),
    /// A panic left the order of activations half changed, or the system refused a lock.
    Refused,
}

/// The flows that one task takes part in.
pub(crate) struct TaskFlows<'p> {
    event_counts: &'p [EventCount],
    notifier: Notifier<'p>,
    joins: Vec<(Arc<Group<'p>>, Role)>,
    /// In the order of `joins`.
    ends: Vec<Hold<'p>>,
}

impl<'p> TaskFlows<'p> {
    /// Makes all activations up to the task's release at `at_ns` after release 0, its own included. The caller may
    /// repeat the call for the same release. Waits for a lock of another task only as long as one activation takes;
    /// `waits` counts these waits.
    ///
    /// # Errors
    /// [`NotBegun`]: the task in the way, or a lock that was refused. All activations before the one that failed are
    /// made.
    pub(crate) fn begin(&mut self, at_ns: u64, waits: &mut u64) -> Result<(), NotBegun> {
        for (group, role) in &self.joins {
            let advance = |calendar: &mut Calendar<'p>| calendar.advance(*role, at_ns);
            let advanced = match group.try_with(advance) {
                Err(Refused::Busy) => {
                    *waits += 1;
                    group.with(advance)
                }
                had => had,
            };
            let advanced = advanced.map_err(|_| NotBegun::Refused)?;
            advanced.map_err(|Blocked { task }| NotBegun::Behind(task))?;
        }
        match self.ends.iter().find(|hold| !hold.end.is_ready()) {
            Some(hold) => Err(NotBegun::Behind(hold.writer)),
            None => Ok(()),
        }
    }

    /// Completes the job that has begun, and wakes the tasks that wait for it.
    pub(crate) fn complete(&mut self) {
        for hold in &self.ends {
            hold.end.complete();
        }
        self.notifier.notify();
    }

    /// Takes the task out of all of its flows, as if all its further jobs did nothing: no task waits for it any
    /// more, and the value that it wrote last stays.
    pub(crate) fn retire(&mut self) {
        self.complete();
        for ((group, role), hold) in self.joins.iter().zip(&self.ends) {
            // Fails only if a panic left the calendar half changed, after which no task makes an activation any more,
            // or if the system refuses the lock.
            let _ = group.with(|calendar| calendar.retire(*role, hold.end.clone()));
            // Completes a job that another task activated before it saw the retirement.
            hold.end.complete();
        }
        self.notifier.notify();
    }

    /// The listener that a task notifies when its job is complete.
    pub(crate) fn listener(&self, task: usize) -> Listener<'p> {
        self.event_counts[task].listener()
    }
}
