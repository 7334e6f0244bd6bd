// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Takes records one by one, and holds what a simulation says against them.

use std::collections::VecDeque;

use taut_event::Record;
use taut_model::TaskSet;
use taut_policy::{Remedy, Trouble};
use taut_time::{Duration, Instant};

use super::outside::Refused;
use super::tape::{Flaw, Item, Malformed, Tape, What};
use super::{CoreReplay, Difference, Replay, Replayed, Stop, Why};
use crate::{Event, Fault, Kind, Limit, Rules, Simulation, Sink};

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
    /// Per resource of several cores, whether nobody has it, and who comes to hold it next has not asked.
    pub(super) kept: Vec<Kept>,
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

/// Of a resource of several cores that nobody holds: it is given to who comes to hold it next, when that one asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kept {
    /// It is held, or nobody comes to hold it any more.
    #[default]
    No,
    /// Nobody has held it yet.
    New,
    /// It was given back: on which core, and where among its items.
    By(usize, usize),
}

/// A core under way.
#[derive(Default)]
pub(super) struct Lane {
    pub(super) found: CoreReplay,
    pub(super) next: usize,
    /// Of these, a request that was made already.
    pub(super) lined_up: Option<usize>,
    /// Simulated, and not recorded yet.
    pub(super) expected: VecDeque<Event>,
    /// Something was told at this instant, and nobody has decided yet.
    pub(super) undecided: Option<u64>,
    /// Servers whose turns began or ended then, and what they may use.
    pub(super) turns: Vec<(usize, u64)>,
    /// The last that was recorded and simulated.
    pub(super) equal: VecDeque<(Record, Event)>,
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
        kept: vec![Kept::No; resources],
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
    for resource in 0..resources {
        if !tape.holds[resource].is_empty() {
            player.simulation.keep(resource);
            player.kept[resource] = Kept::New;
        }
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
        What::Skip(_) | What::Looked | What::Late(_) | What::Turn(..) | What::Beside(_) => false,
        What::Nothing | What::End(_) => false,
    };
    kind && (item.task, item.job) == (event.task, event.job)
}
