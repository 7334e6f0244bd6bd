// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Takes records one by one, and compares them with the events of a simulation.

use std::collections::VecDeque;

use taut_event::Record;
use taut_model::TaskSet;
use taut_policy::{Remedy, Trouble};
use taut_time::{Duration, Instant};

use super::log::{Flaw, Item, Log, MalformedLog, What};
use super::outside::Refused;
use super::reading::{self, Known};
use super::{CoreReplay, Difference, EarlyEnd, Replay, Replayed, Stop};
use crate::{Limit, RecordedServer, Rules, RulesFault, SimEvent, SimEventKind, Simulation, Sink};

/// How many equal records are shown before a difference.
const BEFORE: usize = 6;

pub(super) struct Replayer<'a, S> {
    pub(super) set: &'a TaskSet,
    pub(super) rules: &'a Rules,
    pub(super) simulation: Simulation,
    pub(super) log: &'a Log,
    pub(super) slack: u64,
    pub(super) patience: u64,
    pub(super) overlap: u64,
    pub(super) cursors: Vec<CoreCursor>,
    /// Per task, how many of its arrivals were delivered or dropped.
    pub(super) arrived: Vec<usize>,
    /// Per task, a granted resource that its thread may record once more as locked.
    pub(super) granted: Vec<Option<usize>>,
    /// Per resource, its holder in the simulation: task and job.
    pub(super) held: Vec<Option<(usize, u64)>>,
    /// Per global resource, whether it is free and its next holder has not requested it yet.
    pub(super) reserved: Vec<Reservation>,
    /// Per resource, how many jobs were granted it.
    pub(super) grants: Vec<usize>,
    /// Cores that go first, each up to one of its positions; the last entry first.
    pub(super) first: Vec<(usize, usize)>,
    /// Per core, when it last looked at its calendar.
    pub(super) looked: Vec<u64>,
    pub(super) reordered: u64,
    /// The tasks of the set that are servers.
    pub(super) servers: &'a [usize],
    pub(super) sink: &'a mut S,
}

/// The reservation of a free global resource for its next holder, which gets the resource when it requests it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Reservation {
    /// The resource is held, or no further job will hold it.
    #[default]
    No,
    /// No job has held it yet.
    New,
    /// A job released it: on which core, and at which position among its items.
    By(usize, usize),
}

/// The state of the replay of one core.
#[derive(Default)]
pub(super) struct CoreCursor {
    pub(super) found: CoreReplay,
    pub(super) next: usize,
    /// The position of a request that was made ahead of its turn.
    pub(super) queued_early: Option<usize>,
    /// Events that are simulated and not yet recorded.
    pub(super) expected: VecDeque<SimEvent>,
    /// The core received something at this instant, and has not decided yet.
    pub(super) undecided: Option<u64>,
    /// Servers whose turns began or ended at that instant, and the budget that each may use, in ns.
    pub(super) turns: Vec<(usize, u64)>,
    /// The last records that were equal, with their events.
    pub(super) equal: VecDeque<(Record, SimEvent)>,
}

/// Why a replay ends before its last record.
pub(super) enum Halt {
    Differs(Box<Difference>),
    Stops(usize, Stop),
}

pub(super) fn play(
    replay: &Replay<'_>,
    records: &[Record],
    sink: &mut impl Sink,
) -> Result<Replayed, MalformedLog> {
    let begin = records.iter().find(|record| record.kind == taut_event::Kind::Begin);
    // In the middle of a run, a server's remaining budget is not known.
    let servers = if begin.is_some() { replay.servers } else { &[] };
    let simulation = simulation(replay, servers, begin.map(|begin| begin.at))
        .map_err(|fault| MalformedLog { record: None, flaw: Flaw::Rules(fault) })?;
    let demotes = |task: usize| {
        let of_task = |(limited, limit): &(usize, Limit)| {
            *limited == task && limit.overrun.remedy(Trouble::Due) == Remedy::Demote
        };
        replay.limits.iter().any(of_task)
    };
    let places: Vec<usize> = servers.iter().map(|served| served.task).collect();
    let known = Known {
        set: replay.set,
        guard: |resource: usize| simulation.guard(resource),
        dispatched: replay.dispatched,
        demotes,
        servers: &places,
    };
    let log = reading::read(&known, records)?;
    let mut replayer = Replayer::new(replay, simulation, &log, &places, sink);
    replayer.reserve_and_foresee();
    let difference = replayer.compare(records);
    let pending = if difference.is_none() { replayer.finish() } else { Vec::new() };
    Ok(Replayed {
        difference: difference.map(|found| *found),
        pending,
        cores: replayer.cursors.iter().map(|cursor| cursor.found).collect(),
        reordered: replayer.reordered,
    })
}

/// The simulation to which a replay gives its inputs. `begin` is release 0, if the records begin with it.
fn simulation(
    replay: &Replay<'_>,
    servers: &[RecordedServer],
    begin: Option<Instant>,
) -> Result<Simulation, RulesFault> {
    let mut simulation = Simulation::driven(replay.set, replay.rules)?;
    if !replay.limits.is_empty() {
        // The records say when a budget is used up.
        let unlimited = |limit: &Limit| Limit { budget: None, ..*limit };
        let limits: Vec<_> = replay.limits.iter().map(|(task, limit)| (*task, unlimited(limit))).collect();
        simulation = simulation.limited(&limits)?;
    }
    if let Some(begin) = begin.filter(|_| !servers.is_empty()) {
        if replay.limits.is_empty() {
            simulation = simulation.limited(&[])?;
        }
        if !simulation.serve(servers, begin) {
            return Err(RulesFault::Cores);
        }
    }
    Ok(simulation)
}

impl<'a, S: Sink> Replayer<'a, S> {
    fn new(
        replay: &Replay<'a>,
        simulation: Simulation,
        log: &'a Log,
        servers: &'a [usize],
        sink: &'a mut S,
    ) -> Self {
        let (tasks, resources) = (replay.set.tasks().len(), replay.set.resources().len());
        let cursor = |core: usize| {
            let mut cursor = CoreCursor::default();
            (cursor.found.dispatched, cursor.found.before) = (log.dispatched[core], log.before[core]);
            cursor
        };
        Self {
            set: replay.set,
            rules: replay.rules,
            simulation,
            slack: replay.slack.as_ns(),
            patience: replay.patience.as_ns(),
            overlap: replay.overlap.as_ns(),
            cursors: (0..log.items.len()).map(cursor).collect(),
            arrived: log.arrived.clone(),
            granted: vec![None; tasks],
            held: vec![None; resources],
            reserved: vec![Reservation::No; resources],
            grants: vec![0; resources],
            first: Vec::new(),
            looked: log.looked.clone(),
            reordered: 0,
            servers,
            log,
            sink,
        }
    }

    /// Prepares for the first record: keeps each global resource for its next holder, and announces to each core
    /// the next arrivals of its tasks.
    fn reserve_and_foresee(&mut self) {
        for (resource, holds) in self.log.holds.iter().enumerate() {
            if !holds.is_empty() {
                self.simulation.keep(resource);
                self.reserved[resource] = Reservation::New;
            }
        }
        for task in 0..self.set.tasks().len() {
            self.foresee(task);
        }
        for core in 0..self.log.items.len() {
            self.foresee_untimed(core);
        }
    }

    /// Takes all records. Returns the first difference, unless lost records may be its cause.
    fn compare(&mut self, records: &[Record]) -> Option<Box<Difference>> {
        let found = self.play(records).err()?;
        match self.loss(&found) {
            Some((core, stop)) => {
                self.stop(core, stop);
                None
            }
            None => Some(found),
        }
    }

    /// Lets all cores decide for the last time. Returns the simulated events that no record followed.
    fn finish(&mut self) -> Vec<SimEvent> {
        for core in 0..self.cursors.len() {
            // If a rule refuses here, there is no record to differ from.
            let _ = self.decide(core);
        }
        self.cursors.iter().flat_map(|cursor| cursor.expected.iter().copied()).collect()
    }
}

impl<S: Sink> Replayer<'_, S> {
    fn play(&mut self, records: &[Record]) -> Result<(), Box<Difference>> {
        while let Some(core) = self.next_core() {
            let place = self.cursors[core].next;
            let item = self.log.items[core][place];
            match self.take(core, item, records) {
                Ok(()) => self.cursors[core].next = place + 1,
                Err(Halt::Stops(core, stop)) => self.stop(core, stop),
                Err(Halt::Differs(difference)) => return Err(difference),
            }
        }
        Ok(())
    }

    fn take(&mut self, core: usize, item: Item, records: &[Record]) -> Result<(), Halt> {
        // The rule receives none of these items, so there is no decision.
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
        let more = item.what.is_delivered() && self.cursors[core].undecided == Some(item.at);
        if !more {
            self.decide(core).map_err(|end| self.differs(core, item, Some(end), records))?;
        }
        if self.cursors[core].expected.is_empty() {
            match self.apply(core, item) {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(Refused::Stop(why)) => return Err(Halt::Stops(core, stop(item, why))),
                Err(Refused::By(end)) => return Err(self.differs(core, item, end, records)),
            }
        }
        let cursor = &mut self.cursors[core];
        match cursor.expected.front() {
            Some(event) if same(item, event) => {
                let late = Duration::from_ns(item.at.saturating_sub(event.at.as_ns()));
                cursor.found.late_max = cursor.found.late_max.max(late);
                cursor.found.events += 1;
                cursor.found.jobs += u64::from(item.what == What::Complete);
                if cursor.equal.len() == BEFORE {
                    cursor.equal.pop_front();
                }
                cursor.equal.extend(records.get(item.record).copied().zip(cursor.expected.pop_front()));
                Ok(())
            }
            _ => Err(self.differs(core, item, None, records)),
        }
    }
}

pub(super) fn stop(item: Item, why: EarlyEnd) -> Stop {
    Stop { at: Instant::from_ns(item.at), record: item.record, why }
}

fn same(item: Item, event: &SimEvent) -> bool {
    let kind = match item.what {
        What::Delivered(arrival) => {
            event.kind == SimEventKind::Release { arrival: Instant::from_ns(arrival) }
        }
        What::Granted(resource) | What::Locked(resource) => event.kind == SimEventKind::Locked(resource),
        What::Spin(resource) => event.kind == SimEventKind::Spin(resource),
        What::Suspend(resource) => event.kind == SimEventKind::Suspend(resource),
        What::Unlock(resource) => event.kind == SimEventKind::Unlock(resource),
        What::Complete => matches!(event.kind, SimEventKind::Complete { .. }),
        What::UsedUp => event.kind == SimEventKind::Exhausted,
        What::Start => event.kind == SimEventKind::Start,
        What::Preempt => event.kind == SimEventKind::Preempt,
        What::Resume => event.kind == SimEventKind::Resume,
        What::Level(_) | What::Ceiling(..) => false,
        What::Skip(_) | What::Looked | What::Late(_) | What::Turn(..) | What::Beside { .. } => false,
        What::Nothing | What::End(_) => false,
    };
    kind && (item.task, item.job) == (event.task, event.job)
}
