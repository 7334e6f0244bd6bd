// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Gives a simulation what came from outside: releases, requests, grants, ends.

use taut_model::Arrivals;
use taut_time::Duration;

use super::Why;
use super::player::{Kept, Lane, Player};
use super::tape::{Item, What};
use crate::run::Act;
use crate::{CoreRule, End, Event, Kind, Simulation, Sink};

/// Listens to what is simulated on a core.
struct Ear<'a, S> {
    lane: &'a mut Lane,
    held: &'a mut [Option<(usize, u64)>],
    grants: &'a mut [usize],
    /// What was said first.
    first: Option<Kind>,
    sink: &'a mut S,
}

impl<S: Sink> Sink for Ear<'_, S> {
    fn event(&mut self, event: Event) {
        self.sink.event(event);
        self.first.get_or_insert(event.kind);
        match event.kind {
            // It follows from its `Complete`.
            Kind::Miss => return,
            Kind::Locked(resource) => {
                self.held[resource] = Some((event.task, event.job));
                self.grants[resource] += 1;
            }
            Kind::Unlock(resource) => self.held[resource] = None,
            _ => {}
        }
        self.lane.expected.push_back(event);
    }
}

/// Why a record cannot be given.
pub(super) enum Refused {
    Stop(Why),
    By(Option<End>),
}

impl<S: Sink> Player<'_, S> {
    /// Gives the simulation what came from outside. Gives whether it says something about it.
    pub(super) fn apply(&mut self, core: usize, item: Item) -> Result<bool, Refused> {
        let Item { at, task, job, what, .. } = item;
        let act = match what {
            What::Told(arrival) => {
                self.arrived[task] += 1;
                self.foresee(task);
                if item.looks(&self.tape.timed) {
                    self.look(core, at);
                }
                self.run(core, at, |run, sink| run.told(at, task, (job, arrival), sink))?;
                return Ok(true);
            }
            What::UsedUp => {
                let mut has_core = false;
                self.run(core, at, |run, sink| {
                    has_core = run.has_used_up(at, task, job, sink)?;
                    Ok(())
                })?;
                return if has_core { Ok(true) } else { Err(Refused::By(None)) };
            }
            What::Turn(server, left) => {
                self.lanes[core].undecided = Some(at);
                self.lanes[core].turns.push((server, left));
                return Ok(false);
            }
            What::Beside(others) => {
                // Nobody decides before what comes next at that instant.
                let pass = self.simulation.pass_beside(core, others, at);
                return pass.map(|()| false).map_err(|_| Refused::By(Some(End::Misuse { task })));
            }
            What::Late(timed) => {
                if timed {
                    self.look(core, at);
                }
                self.lanes[core].undecided = Some(at);
                self.simulation.is_demoted_late(task);
                return Ok(false);
            }
            What::Skip(_) | What::Looked | What::Nothing | What::Level(_) | What::Ceiling(..) => {
                return Ok(false);
            }
            What::End(why) => return Err(Refused::Stop(why)),
            What::Granted(resource) => {
                self.granted[task] = Some(resource);
                return self.deliver(core, item, resource);
            }
            What::Locked(resource) => {
                if self.granted[task].take() == Some(resource) && self.held[resource] == Some((task, job)) {
                    return Ok(false);
                }
                if !self.simulation.executes(task, job) {
                    return self.deliver(core, item, resource);
                }
                let lane = &mut self.lanes[core];
                if lane.lined_up.take() == Some(lane.next) {
                    Act::Look(resource)
                } else {
                    match self.kept[resource] {
                        Kept::No => Act::Request(resource),
                        kept if self.may_find_it_kept(core, resource, kept) => {
                            self.kept[resource] = Kept::No;
                            Act::RequestAndLetGo(resource)
                        }
                        _ => {
                            self.let_go(core, resource, at)?;
                            Act::Request(resource)
                        }
                    }
                }
            }
            What::Spin(resource) | What::Suspend(resource) => {
                return self.line_up(core, item, resource);
            }
            What::Unlock(resource) if self.is_to_be_kept(resource) => {
                self.kept[resource] = Kept::By(core, self.lanes[core].next);
                Act::UnlockAndKeep(resource)
            }
            What::Unlock(resource) => Act::Unlock(resource),
            What::Complete => Act::Complete,
            What::Start | What::Preempt | What::Resume => return Err(Refused::By(None)),
        };
        self.act(core, item, act)?;
        Ok(true)
    }

    fn act(&mut self, core: usize, item: Item, act: Act) -> Result<(), Refused> {
        let Item { at, task, job, .. } = item;
        if !self.simulation.executes(task, job) {
            return Err(Refused::By(None));
        }
        self.run(core, at, |run, sink| run.act(at, task, act, sink)).map(drop)
    }

    /// A job asks for what another one holds, and will have it before it looks.
    pub(super) fn line_up_early(&mut self, core: usize, place: usize) {
        let Some(Item { at, task, what: What::Locked(resource), .. }) =
            self.tape.items[core].get(place).copied()
        else {
            return;
        };
        self.lanes[core].lined_up = Some(place);
        self.simulation.line_up(at, task, resource);
    }

    /// A job asks, and waits.
    fn line_up(&mut self, core: usize, item: Item, resource: usize) -> Result<bool, Refused> {
        let kept = self.kept[resource];
        let waits = kept == Kept::No || self.may_find_it_kept(core, resource, kept);
        if !waits {
            self.let_go(core, resource, item.at)?;
        }
        self.act(core, item, Act::Request(resource))?;
        if waits && kept != Kept::No {
            self.reordered += 1;
            if self.is_heir(core, resource) {
                self.let_go(core, resource, item.at)?;
            }
        }
        Ok(true)
    }

    /// Whoever is next may have what was kept.
    fn let_go(&mut self, core: usize, resource: usize, at: u64) -> Result<(), Refused> {
        self.kept[resource] = Kept::No;
        self.run(core, at, |run, sink| run.lets_go(at, resource, sink)).map(drop)
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

    pub(super) fn decide(&mut self, core: usize) -> Result<(), End> {
        let Some(at) = self.lanes[core].undecided.take() else { return Ok(()) };
        self.listen(core, |run, sink| run.decide(at, core, sink))?;
        for (server, left) in std::mem::take(&mut self.lanes[core].turns) {
            if self.simulation.left(server) != Some(Duration::from_ns(left)) {
                return Err(End::Misuse { task: server });
            }
        }
        Ok(())
    }

    /// Something happens on a core, after which somebody has to decide. Gives what is said of it first.
    fn run(
        &mut self,
        core: usize,
        at: u64,
        act: impl FnOnce(&mut Simulation, &mut Ear<'_, S>) -> Result<(), End>,
    ) -> Result<Option<Kind>, Refused> {
        self.lanes[core].undecided = Some(at);
        self.listen(core, act).map_err(|end| Refused::By(Some(end)))
    }

    fn listen(
        &mut self,
        core: usize,
        act: impl FnOnce(&mut Simulation, &mut Ear<'_, S>) -> Result<(), End>,
    ) -> Result<Option<Kind>, End> {
        let Self { simulation, lanes, sink, held, grants, .. } = self;
        let mut ear = Ear { lane: &mut lanes[core], held, grants, first: None, sink: &mut **sink };
        act(simulation, &mut ear)?;
        Ok(ear.first)
    }

    /// What a task's core knows of its next arrival.
    pub(super) fn foresee(&mut self, task: usize) {
        let of = &self.set.tasks()[task];
        if self.rules.cores[of.core] == CoreRule::DfpNext && of.arrivals != Arrivals::Sporadic {
            let next = self.tape.arrivals[task].get(self.arrived[task]);
            self.simulation.comes_next(task, next.copied());
        }
    }

    pub(super) fn look(&mut self, core: usize, at: u64) {
        self.looked[core] = at;
        self.foresee_untimed(core);
    }

    /// Of what no calendar knows, the next arrives when it is told: not before the calendar was looked at last.
    pub(super) fn foresee_untimed(&mut self, core: usize) {
        if self.rules.cores[core] == CoreRule::DfpNext {
            for task in self.set.on_core(core) {
                // A server arrives never: it locks nothing.
                let server = self.servers.contains(&task);
                if !server && self.set.tasks()[task].arrivals == Arrivals::Sporadic {
                    self.simulation.comes_next(task, Some(self.looked[core]));
                }
            }
        }
    }
}
