// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Synchronous flows at run time: what runs reads what the synchronous model reads.
//!
//! A task that takes part calls three hooks, whoever schedules it:
//!
//! | when                          | hook                  | what it does                                             |
//! |-------------------------------|-----------------------|----------------------------------------------------------|
//! | at a release, before the job  | [`TaskFlows::begin`]  | makes the activations that are due, says who is waited for |
//! | behind the job, or in its place | [`TaskFlows::complete`] | completes what was activated, used or not, and rings  |
//! | when it is released no more   | [`TaskFlows::retire`] | takes it out of the order                                |
//!
//! `begin` never waits. Who is told of a task in the way tries again when that one has rung; a thread of its own sleeps
//! on the bell, a dispatcher tells its rule of the job when it may begin. A release without a job, because its service is paused or
//! a late job took its place, is a job that does nothing: the value of its writer stays as it was.
//!
//! Files: [`calendar`] for the order of activations, [`ends`] for what a task reads and writes.
//!
//! Checked: `tests/flows.rs` runs applications with jobs that are late on purpose, paused and stopped, against an
//! interpreter of the model; `examples/flow` the same on two cores.

mod calendar;
mod ends;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use taut_lock::{Bell, Listener, Refused, Ringer, Serial};
use taut_plan::{ArrivalPlan, ClassPlan, Flow, Mechanism, Plan};
use taut_share::state::flow::Shape;
use taut_share::state::{dbp, tccp};
use taut_share::{LayoutError, Memory};

use crate::payload::{Payload, Stamped};
use calendar::{Blocked, Calendar, Dispatcher, Member, Role};
use ends::End;
pub(crate) use ends::{Reader, Writer, read, write};

type Group<'p> = Serial<Calendar<'p>>;

/// A bell for each task of the plan, which it rings when a job is complete.
pub(crate) fn bells(plan: &Plan) -> Vec<Bell> {
    plan.tasks.iter().map(|_| Bell::new()).collect()
}

/// What an end reads from or writes to, as the stage sees it.
struct Hold<'p> {
    end: Arc<dyn End + 'p>,
    /// The position of the task that writes.
    writer: usize,
}

/// Flows while their ends are handed out.
pub(crate) struct Flows<'p> {
    bells: &'p [Bell],
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
    pub(crate) fn new(bells: &'p [Bell]) -> Self {
        Self { bells, dispatchers: HashMap::new(), ends: Vec::new() }
    }

    /// What the plan says that a channel's object is made of; none if its flow is not synchronous.
    pub(crate) fn shape(plan: &Plan, channel: usize) -> Option<Shape> {
        let channel = &plan.channels[channel];
        let (lower, higher) = channel.flow_readers();
        let shape = Shape { lower, higher, buffers: channel.buffers? };
        (channel.flow == Flow::Synchronous).then_some(shape)
    }

    /// The writing end of a channel, for one task, and the dispatcher's.
    ///
    /// # Errors
    /// The object's.
    ///
    /// # Safety
    /// What stands on the memory is zeros; neither this nor the reading ends were taken, but for other readers.
    pub(crate) unsafe fn writer<P: Payload>(
        &mut self,
        plan: &Plan,
        (channel, task): (usize, usize),
        memory: [Memory<'p>; 2],
        shape: Shape,
    ) -> Result<Arc<std::sync::Mutex<Writer<'p, P>>>, LayoutError> {
        let [own, other] = memory;
        // SAFETY:
        // - the caller's duties are those of each
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

    /// A reading end of a channel, for one task.
    ///
    /// # Errors
    /// The object's.
    ///
    /// # Safety
    /// What stands on the memory is this object, or zeros; no other reader of that task was taken.
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
        // - the caller's duties are those of each
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

    /// What the stage of each task calls, by the task's position, once all ends are handed out.
    ///
    /// # Errors
    /// The system's, if it has no mutexes with priority inheritance.
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
            let bells = self.bells;
            let new =
                || TaskFlows { bells, ringer: bells[task].ringer(), joins: Vec::new(), ends: Vec::new() };
            let flows = tasks.entry(task).or_insert_with(new);
            flows.joins.push((group.clone(), role));
            flows.ends.push(hold);
        }
        Ok(tasks)
    }
}

fn member(plan: &Plan, name: &str) -> Option<Member> {
    let task = plan.task(name)?;
    let ClassPlan::RealTime { arrival: ArrivalPlan::Periodic { periodic, offset }, .. } =
        &plan.tasks[task].class
    else {
        return None;
    };
    Some(Member { task, next_ns: offset.as_ns(), period_ns: periodic.as_ns(), gone: false })
}

/// Why a job cannot begin yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotBegun {
    /// A job of that task, by its position in the plan, must complete before.
    Behind(usize),
    /// A panic left the order of activations in the middle of a change, or the system refused a lock.
    Refused,
}

/// The flows that one task takes part in.
pub(crate) struct TaskFlows<'p> {
    bells: &'p [Bell],
    ringer: Ringer<'p>,
    joins: Vec<(Arc<Group<'p>>, Role)>,
    /// In the order of `joins`.
    ends: Vec<Hold<'p>>,
}

impl<'p> TaskFlows<'p> {
    /// Makes what must be activated up to the task's release at `at_ns` behind release 0, its own included; may be
    /// called again for the same one. Locks of other tasks are waited for as long as an activation takes; `waits`
    /// counts those.
    ///
    /// # Errors
    /// [`NotBegun`]: who is in the way; all but that was done.
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

    /// Completes the job that has begun, and wakes who waits for it.
    pub(crate) fn complete(&mut self) {
        for hold in &self.ends {
            hold.end.complete();
        }
        self.ringer.ring();
    }

    /// Takes the task out of all of its flows, as if it had jobs from now on that do nothing: nobody waits for it any
    /// more, and what it wrote last stays.
    pub(crate) fn retire(&mut self) {
        self.complete();
        for ((group, role), hold) in self.joins.iter().zip(&self.ends) {
            // Refused only if a panic left the calendar in the middle of a change, after which nothing is activated any more.
            let _ = group.with(|calendar| calendar.retire(*role, hold.end.clone()));
            // What was activated before others heard of it.
            hold.end.complete();
        }
        self.ringer.ring();
    }

    /// What rings when a task's job is complete.
    pub(crate) fn listener(&self, task: usize) -> Listener<'p> {
        self.bells[task].listener()
    }
}
