// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Gives inputs to a simulation: releases, requests, grants, completions.

use taut_time::Duration;

use super::EarlyEnd;
use super::log::{Item, What};
use super::replayer::{CoreCursor, Replayer, Reservation};
use crate::run::Act;
use crate::{LocalRule, RunEnd, SimEvent, SimEventKind, Simulation, Sink};

/// Receives the simulated events of a core.
struct EventSink<'a, S> {
    cursor: &'a mut CoreCursor,
    held: &'a mut [Option<(usize, u64)>],
    grants: &'a mut [usize],
    /// The first event.
    first: Option<SimEventKind>,
    sink: &'a mut S,
}

impl<S: Sink> Sink for EventSink<'_, S> {
    fn event(&mut self, event: SimEvent) {
        self.sink.event(event);
        self.first.get_or_insert(event.kind);
        match event.kind {
            // A miss follows from the `Complete` of its job.
            SimEventKind::Miss => return,
            SimEventKind::Locked(resource) => {
                self.held[resource] = Some((event.task, event.job));
                self.grants[resource] += 1;
            }
            SimEventKind::Unlock(resource) => self.held[resource] = None,
            _ => {}
        }
        self.cursor.expected.push_back(event);
    }
}

/// Why the simulation cannot take a record.
pub(super) enum Refused {
    Stop(EarlyEnd),
    By(Option<RunEnd>),
}

impl<S: Sink> Replayer<'_, S> {
    /// Gives an input to the simulation. Returns whether the simulation emits an event for it.
    pub(super) fn apply(&mut self, core: usize, item: Item) -> Result<bool, Refused> {
        let Item { at, task, what, .. } = item;
        match what {
            What::Delivered(arrival) => self.release(core, item, arrival),
            What::UsedUp => self.use_up(core, item),
            What::Turn(server, left) => {
                self.cursors[core].undecided = Some(at);
                self.cursors[core].turns.push((server, left));
                Ok(false)
            }
            What::Beside { passed, others } => {
                // The core does not decide before its next item at that instant.
                let pass = self.simulation.pass_beside(core, (passed, others), at);
                pass.map(|()| false).map_err(|_| Refused::By(Some(RunEnd::Misuse { task })))
            }
            What::Late(timed) => {
                if timed {
                    self.look(core, at);
                }
                self.cursors[core].undecided = Some(at);
                self.simulation.is_demoted_late(task);
                Ok(false)
            }
            What::Skip(_) | What::Looked | What::Nothing | What::Level(_) | What::Ceiling(..) => Ok(false),
            What::End(why) => Err(Refused::Stop(why)),
            What::Granted(resource) => {
                self.granted[task] = Some(resource);
                self.deliver(core, item, resource)
            }
            What::Locked(resource) => self.lock(core, item, resource),
            What::Spin(resource) | What::Suspend(resource) => self.request_and_wait(core, item, resource),
            What::Unlock(resource) => self.unlock(core, item, resource),
            What::Complete => self.act(core, item, Act::Complete),
            What::Start | What::Preempt | What::Resume => Err(Refused::By(None)),
        }
    }

    /// A job's release is delivered.
    fn release(&mut self, core: usize, item: Item, arrival: u64) -> Result<bool, Refused> {
        let Item { at, task, job, .. } = item;
        self.arrived[task] += 1;
        self.foresee(task);
        if item.checks_calendar(&self.log.timed) {
            self.look(core, at);
        }
        self.run(core, at, |run, sink| run.release_delivered(at, task, (job, arrival), sink))?;
        Ok(true)
    }

    /// A job has used up its budget, which only the job that has the core can do.
    fn use_up(&mut self, core: usize, item: Item) -> Result<bool, Refused> {
        let Item { at, task, job, .. } = item;
        let mut has_core = false;
        self.run(core, at, |run, sink| {
            has_core = run.has_used_up(at, task, job, sink)?;
            Ok(())
        })?;
        if has_core { Ok(true) } else { Err(Refused::By(None)) }
    }

    /// A job requests a resource and is granted it, or its thread records once more what the job was granted.
    fn lock(&mut self, core: usize, item: Item, resource: usize) -> Result<bool, Refused> {
        let Item { at, task, job, .. } = item;
        if self.granted[task].take() == Some(resource) && self.held[resource] == Some((task, job)) {
            return Ok(false);
        }
        if !self.simulation.executes(task, job) {
            return self.deliver(core, item, resource);
        }
        let cursor = &mut self.cursors[core];
        let act = if cursor.queued_early.take() == Some(cursor.next) {
            Act::CheckGrant(resource)
        } else {
            match self.reserved[resource] {
                Reservation::No => Act::Request(resource),
                reserved if self.may_find_it_reserved(core, resource, reserved) => {
                    self.reserved[resource] = Reservation::No;
                    Act::RequestAndRelease(resource)
                }
                _ => {
                    self.release_reservation(core, resource, at)?;
                    Act::Request(resource)
                }
            }
        };
        self.act(core, item, act)
    }

    /// A job unlocks a resource, which may then be reserved for its next holder.
    fn unlock(&mut self, core: usize, item: Item, resource: usize) -> Result<bool, Refused> {
        let act = if self.is_to_be_reserved(resource) {
            self.reserved[resource] = Reservation::By(core, self.cursors[core].next);
            Act::UnlockAndReserve(resource)
        } else {
            Act::Unlock(resource)
        };
        self.act(core, item, act)
    }

    /// The job that executes does a step, for which the simulation emits an event.
    fn act(&mut self, core: usize, item: Item, act: Act) -> Result<bool, Refused> {
        let Item { at, task, job, .. } = item;
        if !self.simulation.executes(task, job) {
            return Err(Refused::By(None));
        }
        self.run(core, at, |run, sink| run.act(at, task, act, sink))?;
        Ok(true)
    }

    /// A job requests a resource that another job holds, and will get the resource before it looks.
    pub(super) fn queue_request_early(&mut self, core: usize, place: usize) {
        let Some(Item { at, task, what: What::Locked(resource), .. }) =
            self.log.items[core].get(place).copied()
        else {
            return;
        };
        self.cursors[core].queued_early = Some(place);
        self.simulation.queue_request(at, task, resource);
    }

    /// A job requests a resource, and waits.
    fn request_and_wait(&mut self, core: usize, item: Item, resource: usize) -> Result<bool, Refused> {
        let reserved = self.reserved[resource];
        let waits = reserved == Reservation::No || self.may_find_it_reserved(core, resource, reserved);
        if !waits {
            self.release_reservation(core, resource, item.at)?;
        }
        self.act(core, item, Act::Request(resource))?;
        if waits && reserved != Reservation::No {
            self.reordered += 1;
            if self.is_next_holder(core, resource) {
                self.release_reservation(core, resource, item.at)?;
            }
        }
        Ok(true)
    }

    /// Ends a reservation: the next waiter may have the resource.
    fn release_reservation(&mut self, core: usize, resource: usize, at: u64) -> Result<(), Refused> {
        self.reserved[resource] = Reservation::No;
        self.run(core, at, |run, sink| run.releases_reservation(at, resource, sink)).map(drop)
    }

    fn deliver(&mut self, core: usize, item: Item, resource: usize) -> Result<bool, Refused> {
        let Item { at, task, job, .. } = item;
        let mut came = false;
        self.run(core, at, |run, sink| {
            came = run.deliver(at, (task, job), resource, sink)?;
            Ok(())
        })?;
        if came { Ok(true) } else { Err(Refused::By(None)) }
    }

    pub(super) fn decide(&mut self, core: usize) -> Result<(), RunEnd> {
        let Some(at) = self.cursors[core].undecided.take() else { return Ok(()) };
        self.listen(core, |run, sink| run.decide(at, core, sink))?;
        for (server, left) in std::mem::take(&mut self.cursors[core].turns) {
            if self.simulation.left(server) != Some(Duration::from_ns(left)) {
                return Err(RunEnd::Misuse { task: server });
            }
        }
        Ok(())
    }

    /// Applies an input to a core, which then has to decide. Returns the first event.
    fn run(
        &mut self,
        core: usize,
        at: u64,
        act: impl FnOnce(&mut Simulation, &mut EventSink<'_, S>) -> Result<(), RunEnd>,
    ) -> Result<Option<SimEventKind>, Refused> {
        self.cursors[core].undecided = Some(at);
        self.listen(core, act).map_err(|end| Refused::By(Some(end)))
    }

    fn listen(
        &mut self,
        core: usize,
        act: impl FnOnce(&mut Simulation, &mut EventSink<'_, S>) -> Result<(), RunEnd>,
    ) -> Result<Option<SimEventKind>, RunEnd> {
        let Self { simulation, cursors, sink, held, grants, .. } = self;
        let mut ear = EventSink { cursor: &mut cursors[core], held, grants, first: None, sink: &mut **sink };
        act(simulation, &mut ear)?;
        Ok(ear.first)
    }

    /// Sets what a task's core knows about the task's next arrival.
    pub(super) fn foresee(&mut self, task: usize) {
        let of = &self.set.tasks()[task];
        if self.rules.cores[of.core] == LocalRule::Dfp && !of.arrivals.is_sporadic() {
            let next = self.log.arrivals[task].get(self.arrived[task]);
            self.simulation.comes_next(task, next.copied());
        }
    }

    pub(super) fn look(&mut self, core: usize, at: u64) {
        self.looked[core] = at;
        self.foresee_untimed(core);
    }

    /// The next job of a task outside the calendar arrives when it is delivered, so not before the core last looked at
    /// its calendar.
    pub(super) fn foresee_untimed(&mut self, core: usize) {
        if self.rules.cores[core] == LocalRule::Dfp {
            for task in self.set.on_core(core) {
                // A server never arrives: it locks nothing.
                let server = self.servers.contains(&task);
                if !server && self.set.tasks()[task].arrivals.is_sporadic() {
                    self.simulation.comes_next(task, Some(self.looked[core]));
                }
            }
        }
    }
}
