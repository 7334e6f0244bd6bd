// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Gives a simulation what came from outside, and holds what it says against what was recorded.

use std::collections::VecDeque;

use taut_event::Record;
use taut_model::{Arrivals, TaskSet};
use taut_policy::{Remedy, Trouble};
use taut_time::{Duration, Instant};

use super::tape::{Flaw, Item, Malformed, Tape, What};
use super::{CoreReplay, Difference, Replay, Replayed, Stop, Why};
use crate::run::Act;
use crate::{CoreRule, End, Event, Fault, Kind, Limit, Rules, Simulation, Sink};

/// What is shown before a difference.
const BEFORE: usize = 6;

pub(super) struct Player<'a, S> {
    pub(super) set: &'a TaskSet,
    pub(super) rules: &'a Rules,
    pub(super) simulation: Simulation,
    pub(super) tape: &'a Tape,
    pub(super) slack: u64,
    pub(super) patience: u64,
    pub(super) overlap: u64,
    pub(super) lanes: Vec<Lane>,
    /// Per task, how many of its arrivals were told or dropped.
    pub(super) arrived: Vec<usize>,
    /// Per task, a resource that its thread may say once more that it holds.
    pub(super) granted: Vec<Option<usize>>,
    /// Per resource, as simulated: task, job, and which hold it is.
    pub(super) held: Vec<Option<(usize, u64)>>,
    /// Per resource, who gave it back, and others may not have it yet.
    pub(super) kept: Vec<Option<usize>>,
    /// Per resource, how many were granted it.
    pub(super) grants: Vec<usize>,
    /// Cores that go first until a place of theirs, the last one first.
    pub(super) first: Vec<(usize, usize)>,
    /// Per core, when it looked at its calendar last.
    pub(super) looked: Vec<u64>,
    pub(super) reordered: u64,
    /// Which tasks of the set are servers.
    pub(super) servers: &'a [usize],
    pub(super) sink: &'a mut S,
}

/// A core under way.
#[derive(Default)]
pub(super) struct Lane {
    pub(super) found: CoreReplay,
    pub(super) next: usize,
    /// Simulated, and not recorded yet.
    pub(super) expected: VecDeque<Event>,
    /// Something was told at this instant, and nobody has decided yet.
    pub(super) undecided: Option<u64>,
    /// Servers whose turns began or ended then, and what they may use.
    pub(super) turns: Vec<(usize, u64)>,
    /// The last that was recorded and simulated.
    pub(super) equal: VecDeque<(Record, Event)>,
}

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

/// Why a replay ends before its records.
pub(super) enum Halt {
    Differs(Box<Difference>),
    Stops(usize, Stop),
}

pub(super) fn play(
    replay: &Replay<'_>,
    records: &[Record],
    sink: &mut impl Sink,
) -> Result<Replayed, Malformed> {
    let rules = |fault| Malformed { record: None, flaw: Flaw::Rules(fault) };
    let mut simulation = Simulation::driven(replay.set, replay.rules).map_err(rules)?;
    if !replay.limits.is_empty() {
        // That a budget is used up, the records say.
        let unlimited = |limit: &Limit| Limit { budget: None, ..*limit };
        let limits: Vec<_> = replay.limits.iter().map(|(task, limit)| (*task, unlimited(limit))).collect();
        simulation = simulation.limited(replay.rules, &limits).map_err(rules)?;
    }
    let begin = records.iter().find(|record| record.kind == taut_event::Kind::Begin);
    // What a server has of its budget is not known in the middle.
    let servers = if begin.is_some() { replay.servers } else { &[] };
    if let Some(begin) = begin.filter(|_| !servers.is_empty()) {
        if replay.limits.is_empty() {
            simulation = simulation.limited(replay.rules, &[]).map_err(rules)?;
        }
        if !simulation.serve(servers, begin.at) {
            return Err(rules(Fault::Cores));
        }
    }
    let demotes = |task: usize| {
        let of_task = |(limited, limit): &(usize, Limit)| {
            *limited == task && limit.overrun.remedy(Trouble::Due) == Remedy::Demote
        };
        replay.limits.iter().any(of_task)
    };
    let places: Vec<usize> = servers.iter().map(|served| served.task).collect();
    let tape = Tape::read(
        replay.set,
        |resource| simulation.guard(resource),
        (replay.dispatched, demotes),
        &places,
        records,
    )?;
    let (tasks, resources) = (replay.set.tasks().len(), replay.set.resources().len());
    let mut player = Player {
        set: replay.set,
        rules: replay.rules,
        simulation,
        slack: replay.slack.as_ns(),
        patience: replay.patience.as_ns(),
        overlap: replay.overlap.as_ns(),
        lanes: (0..tape.items.len()).map(|_| Lane::default()).collect(),
        arrived: tape.arrived.clone(),
        granted: vec![None; tasks],
        held: vec![None; resources],
        kept: vec![None; resources],
        grants: vec![0; resources],
        first: Vec::new(),
        looked: tape.looked.clone(),
        reordered: 0,
        servers: &places,
        tape: &tape,
        sink,
    };
    for (core, lane) in player.lanes.iter_mut().enumerate() {
        (lane.found.dispatched, lane.found.before) = (tape.dispatched[core], tape.before[core]);
    }
    for task in 0..tasks {
        player.foresee(task);
    }
    for core in 0..tape.items.len() {
        player.foresee_untimed(core);
    }
    let mut difference = player.play(records).err();
    // What was lost may be what it differs by.
    if let Some(found) = &difference
        && let Some((core, stop)) = player.loss(found)
    {
        player.stop(core, stop);
        difference = None;
    }
    let mut pending = Vec::new();
    if difference.is_none() {
        player.finish();
        pending.extend(player.lanes.iter().flat_map(|lane| lane.expected.iter().copied()));
    }
    Ok(Replayed {
        difference: difference.map(|found| *found),
        pending,
        cores: player.lanes.iter().map(|lane| lane.found).collect(),
        reordered: player.reordered,
    })
}

impl<S: Sink> Player<'_, S> {
    fn play(&mut self, records: &[Record]) -> Result<(), Box<Difference>> {
        while let Some(core) = self.next_core() {
            let place = self.lanes[core].next;
            let item = self.tape.items[core][place];
            match self.take(core, item, records) {
                Ok(()) => self.lanes[core].next = place + 1,
                Err(Halt::Stops(core, stop)) => self.stop(core, stop),
                Err(Halt::Differs(difference)) => return Err(difference),
            }
        }
        Ok(())
    }

    fn take(&mut self, core: usize, item: Item, records: &[Record]) -> Result<(), Halt> {
        // No rule is told of these, so nobody decides.
        match item.what {
            What::Skip(_) => {
                self.arrived[item.task] += 1;
                self.foresee(item.task);
                return Ok(());
            }
            What::Looked => {
                self.look(core, item.at);
                return Ok(());
            }
            What::Level(to) => {
                let set = self.simulation.set_level(item.task, to);
                return set.map_err(|end| self.differs(core, item, Some(end), records));
            }
            What::Ceiling(resource, to) => {
                let set = self.simulation.set_ceiling(item.task, resource, to);
                return set.map_err(|end| self.differs(core, item, Some(end), records));
            }
            What::Nothing => return Ok(()),
            _ => {}
        }
        let more = item.what.is_told() && self.lanes[core].undecided == Some(item.at);
        if !more {
            self.decide(core).map_err(|end| self.differs(core, item, Some(end), records))?;
        }
        if self.lanes[core].expected.is_empty() {
            match self.apply(core, item) {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(Refused::Stop(why)) => return Err(Halt::Stops(core, stop(item, why))),
                Err(Refused::By(end)) => return Err(self.differs(core, item, end, records)),
            }
        }
        let lane = &mut self.lanes[core];
        match lane.expected.front() {
            Some(event) if same(item, event) => {
                let late = Duration::from_ns(item.at.saturating_sub(event.at.as_ns()));
                lane.found.late_max = lane.found.late_max.max(late);
                lane.found.events += 1;
                lane.found.jobs += u64::from(item.what == What::Complete);
                if lane.equal.len() == BEFORE {
                    lane.equal.pop_front();
                }
                lane.equal.extend(records.get(item.record).copied().zip(lane.expected.pop_front()));
                Ok(())
            }
            _ => Err(self.differs(core, item, None, records)),
        }
    }

    /// Gives the simulation what came from outside. Gives whether it says something about it.
    fn apply(&mut self, core: usize, item: Item) -> Result<bool, Refused> {
        let Item { at, task, job, what, .. } = item;
        let act = match what {
            What::Told(arrival) => {
                self.arrived[task] += 1;
                self.foresee(task);
                if item.looks() {
                    self.look(core, at);
                }
                let said = self.run(core, at, |run, sink| run.told(at, task, (job, arrival), sink))?;
                return if said == Some(Kind::Drop) {
                    Err(Refused::Stop(Why::Behind(task)))
                } else {
                    Ok(true)
                };
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
                Act::Request(resource)
            }
            What::Spin(resource) | What::Suspend(resource) => Act::Request(resource),
            What::Unlock(resource) if self.heir(core, resource, at).is_some() => {
                self.kept[resource] = Some(task);
                Act::UnlockAndKeep(resource)
            }
            What::Unlock(resource) => Act::Unlock(resource),
            What::Complete => Act::Complete,
            What::Start | What::Preempt | What::Resume => return Err(Refused::By(None)),
        };
        if !self.simulation.executes(task, job) {
            return Err(Refused::By(None));
        }
        let kept = match act {
            Act::Request(resource) if self.inherits(core, resource) => self.kept[resource].take(),
            _ => None,
        };
        let own = kept.is_some_and(|giver| self.set.tasks()[giver].core == core);
        if own {
            self.let_go(core, act, kept, at)?;
        }
        self.run(core, at, |run, sink| run.act(at, task, act, sink))?;
        if !own {
            self.let_go(core, act, kept, at)?;
        }
        Ok(true)
    }

    /// Others may have what was given back before.
    fn let_go(&mut self, core: usize, act: Act, kept: Option<usize>, at: u64) -> Result<(), Refused> {
        if let (Act::Request(resource), Some(giver)) = (act, kept) {
            self.reordered += 1;
            self.run(core, at, |run, sink| run.lets_go(at, giver, resource, sink))?;
        }
        Ok(())
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
    fn foresee(&mut self, task: usize) {
        let of = &self.set.tasks()[task];
        if self.rules.cores[of.core] == CoreRule::DfpNext && of.arrivals != Arrivals::Sporadic {
            let next = self.tape.arrivals[task].get(self.arrived[task]);
            self.simulation.comes_next(task, next.copied());
        }
    }

    fn look(&mut self, core: usize, at: u64) {
        self.looked[core] = at;
        self.foresee_untimed(core);
    }

    /// Of what no calendar knows, the next arrives when it is told: not before the calendar was looked at last.
    fn foresee_untimed(&mut self, core: usize) {
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

enum Refused {
    Stop(Why),
    By(Option<End>),
}

pub(super) fn stop(item: Item, why: Why) -> Stop {
    Stop { at: Instant::from_ns(item.at), record: item.record, why }
}

fn same(item: Item, event: &Event) -> bool {
    let kind = match item.what {
        What::Told(arrival) => event.kind == Kind::Release { arrival: Instant::from_ns(arrival) },
        What::Granted(resource) | What::Locked(resource) => event.kind == Kind::Locked(resource),
        What::Spin(resource) => event.kind == Kind::Spin(resource),
        What::Suspend(resource) => event.kind == Kind::Suspend(resource),
        What::Unlock(resource) => event.kind == Kind::Unlock(resource),
        What::Complete => matches!(event.kind, Kind::Complete { .. }),
        What::UsedUp => event.kind == Kind::Exhausted,
        What::Start => event.kind == Kind::Start,
        What::Preempt => event.kind == Kind::Preempt,
        What::Resume => event.kind == Kind::Resume,
        What::Level(_) | What::Ceiling(..) => false,
        What::Skip(_) | What::Looked | What::Late(_) | What::Turn(..) | What::Nothing | What::End(_) => false,
    };
    kind && (item.task, item.job) == (event.task, event.job)
}
