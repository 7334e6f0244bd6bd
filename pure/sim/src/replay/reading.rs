// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Reads records into a log: to which core each belongs, and what it is to a replay.

use std::collections::{BTreeMap, BTreeSet};

use taut_event::{Event, Kind, Record, Undecodable};
use taut_model::TaskSet;

use super::EarlyEnd;
use super::log::{Flaw, Item, Log, MalformedLog, What};
use super::notes::components;
use crate::program::Guard;
use crate::run::END_OF_TIME;

/// What a reader of records knows about the run.
pub(super) struct Known<'a, G, D> {
    pub(super) set: &'a TaskSet,
    /// The guard of a resource.
    pub(super) guard: G,
    /// Cores that have a dispatcher.
    pub(super) dispatched: &'a [usize],
    /// Whether a job of the task is demoted when the next one is due.
    pub(super) demotes: D,
    /// The tasks of the set that are servers.
    pub(super) servers: &'a [usize],
}

/// What an event is to a replay.
enum Meaning {
    Nothing,
    OfTask {
        task: usize,
        job: u64,
        what: What,
        /// How long after the record's instant it was delivered to the core.
        delay: u64,
        /// Whether it shows that the core has a dispatcher.
        dispatched: bool,
    },
    OfServer {
        server: usize,
        what: What,
    },
    OfCore {
        core: usize,
        what: What,
    },
    /// The comparison of all cores ends.
    OfAllCores(EarlyEnd),
}

impl Meaning {
    fn of_task(task: u16, job: u64, what: What) -> Self {
        Self::OfTask { task: task.into(), job, what, delay: 0, dispatched: false }
    }

    /// The same for what is recorded on a core with a dispatcher.
    fn of_dispatched(task: u16, job: u64, what: What) -> Self {
        Self::OfTask { task: task.into(), job, what, delay: 0, dispatched: true }
    }
}

struct Reader<'a, G, D> {
    known: &'a Known<'a, G, D>,
    /// By resource.
    users: Vec<BTreeSet<usize>>,
    log: Log,
}

/// Reads the records of a run.
pub(super) fn read<G, D>(known: &Known<'_, G, D>, records: &[Record]) -> Result<Log, MalformedLog>
where
    G: Fn(usize) -> Option<Guard>,
    D: Fn(usize) -> bool,
{
    let set = known.set;
    let users = (0..set.resources().len()).map(|resource| set.users(resource).collect()).collect();
    let mut reader = Reader { known, users, log: empty(set, known.dispatched) };
    for (at, record) in records.iter().enumerate() {
        reader.read(at, record).map_err(|flaw| MalformedLog { record: Some(at), flaw })?;
    }
    let mut log = reader.log;
    log.leave_out_other_cores();
    log.note_silence(set);
    log.withdraw();
    log.note_arrivals(set);
    match records.iter().find(|record| record.kind == Kind::Begin) {
        Some(begin) => log.looked.fill(begin.at.as_ns().saturating_sub(1)),
        None => {
            let untimed = |task: usize| !log.timed[task];
            let untimed: Vec<bool> =
                (0..log.items.len()).map(|core| set.on_core(core).any(untimed)).collect();
            log.begin_where_nothing_is_under_way(&untimed);
        }
    }
    log.note_holds(&known.guard);
    Ok(log)
}

/// A log without items.
fn empty(set: &TaskSet, dispatched: &[usize]) -> Log {
    let (cores, tasks, resources) = (set.cores().len(), set.tasks().len(), set.resources().len());
    Log {
        items: vec![Vec::new(); cores],
        dispatched: (0..cores).map(|core| dispatched.contains(&core)).collect(),
        before: vec![0; cores],
        timed: set.tasks().iter().map(|task| !task.arrivals.is_sporadic()).collect(),
        arrivals: vec![Vec::new(); tasks],
        arrived: vec![0; tasks],
        looked: vec![0; cores],
        silent: vec![false; cores],
        component: components(set),
        holds: vec![Vec::new(); resources],
        sure: vec![0; resources],
        ranks: BTreeMap::new(),
    }
}

impl<G, D: Fn(usize) -> bool> Reader<'_, G, D> {
    /// Adds a record to the log of its core.
    fn read(&mut self, record: usize, of: &Record) -> Result<(), Flaw> {
        let event = match Event::of(of) {
            Ok(event) => event,
            Err(Undecodable {
                kind: Kind::Locked | Kind::Unlock | Kind::Spin | Kind::Suspend | Kind::Granted,
                word,
            }) => return Err(Flaw::Resource(word)),
            Err(_) => return Ok(()),
        };
        let time = of.at.as_ns();
        let within = |time: u64| if time < END_OF_TIME { Ok(time) } else { Err(Flaw::Time) };
        let set = self.known.set;
        let core_of = |task: usize| Ok(set.tasks().get(task).ok_or(Flaw::Task(task))?.core);
        match self.meaning(event, time)? {
            Meaning::Nothing => {}
            Meaning::OfTask { task, job, what, delay, dispatched } => {
                let at = within(time.checked_add(delay).ok_or(Flaw::Time)?)?;
                let core = core_of(task)?;
                self.log.dispatched[core] |= delay > 0 || dispatched;
                self.log.put(core, Item { record, at, task, job, what });
            }
            Meaning::OfServer { server, what } => {
                let (at, task) = (within(time)?, self.known.servers[server]);
                self.log.put(core_of(task)?, Item { record, at, task, job: 0, what });
            }
            Meaning::OfCore { core, what } => {
                let at = within(time)?;
                let core = (core < set.cores().len()).then_some(core).ok_or(Flaw::Core(core))?;
                self.log.put(core, Item { record, at, task: 0, job: 0, what });
            }
            Meaning::OfAllCores(why) => {
                for core in (0..set.cores().len()).filter(|_| time < END_OF_TIME) {
                    self.log.put(core, Item { record, at: time, task: 0, job: 0, what: What::End(why) });
                }
            }
        }
        Ok(())
    }

    /// What an event is to a replay. All that is not compared means nothing to it.
    fn meaning(&self, event: Event, time: u64) -> Result<Meaning, Flaw> {
        Ok(match event {
            Event::Release { task, job, delay } => Meaning::OfTask {
                task: task.into(),
                job,
                what: What::Delivered(time),
                delay: delay.as_ns(),
                dispatched: false,
            },
            Event::Overrun { task, job, .. } => self.overrun(task, job),
            Event::Skip { task, job, .. } => Meaning::of_task(task, job, What::Skip(time)),
            Event::Start { task, job } => Meaning::of_task(task, job, What::Start),
            Event::Complete { task, job, .. } => Meaning::of_task(task, job, What::Complete),
            Event::Lost { task, records } => Meaning::of_task(task, 0, What::End(EarlyEnd::Lost(records))),
            Event::Preempt { task, job } => Meaning::of_dispatched(task, job, What::Preempt),
            Event::Resume { task, job } => Meaning::of_dispatched(task, job, What::Resume),
            Event::Locked { task, job, resource } => self.lock(task, job, What::Locked, resource)?,
            Event::Unlock { task, job, resource } => self.lock(task, job, What::Unlock, resource)?,
            Event::Spin { task, job, resource } => self.lock(task, job, What::Spin, resource)?,
            Event::Suspend { task, job, resource } => self.lock(task, job, What::Suspend, resource)?,
            Event::Granted { task, job, resource } => self.lock(task, job, What::Granted, resource)?,
            Event::Exhausted { task, job, .. } => Meaning::of_dispatched(task, job, What::UsedUp),
            Event::Level { task, level } => Meaning::of_dispatched(task, 0, What::Level(level)),
            Event::Ceiling { resource, ceiling } => self.ceiling(resource, ceiling)?,
            Event::Looked { task } => Meaning::of_dispatched(task, 0, What::Looked),
            Event::Budget { server, budget } => self.server(server, |at| What::Turn(at, budget.as_ns())),
            Event::Beside { server, passed, others } => {
                self.server(server, |_| What::Beside { passed: passed.as_ns(), others: others.as_ns() })
            }
            Event::CoreLost { core, records } => {
                Meaning::OfCore { core: core.into(), what: What::End(EarlyEnd::Lost(records)) }
            }
            Event::Begin { .. } | Event::End { .. } => Meaning::Nothing,
            Event::Miss { .. } | Event::Failed { .. } | Event::ScopeExceeded { .. } => Meaning::Nothing,
            Event::Panicked { .. } | Event::ModeFollowed { .. } => Meaning::Nothing,
            Event::ValuesRecorded { .. } | Event::ValuesLost { .. } | Event::Followed { .. } => {
                Meaning::Nothing
            }
            Event::Send { .. } | Event::Receive { .. } => Meaning::Nothing,
            Event::ReceivedBy { .. } | Event::LostBy { .. } => Meaning::Nothing,
            Event::Drop { .. } | Event::TooMany { .. } | Event::HeapUsed { .. } => Meaning::Nothing,
            Event::Stall { .. } | Event::Service { .. } | Event::ChainEnd { .. } => Meaning::Nothing,
            Event::Counted { .. } | Event::CoreCounted { .. } | Event::Slept { .. } => Meaning::Nothing,
            Event::Moved { .. } | Event::ProbeMoved { .. } | Event::CoreMoved { .. } => Meaning::Nothing,
            Event::SafeState { .. } | Event::Stood { .. } => Meaning::Nothing,
            Event::Stopped { .. } | Event::Foreign { .. } => Meaning::Nothing,
        })
    }

    /// The next job of a task is due while this one runs.
    fn overrun(&self, task: u16, job: u64) -> Meaning {
        let timed = self.log.timed.get(usize::from(task)).copied().unwrap_or(false);
        if (self.known.demotes)(task.into()) {
            Meaning::of_task(task, job, What::Late(timed))
        } else if timed {
            Meaning::of_task(task, job, What::Looked)
        } else {
            Meaning::Nothing
        }
    }

    /// A task's step at a resource, which the set must say that it uses.
    fn lock(
        &self,
        task: u16,
        job: u64,
        what: impl Fn(usize) -> What,
        resource: u16,
    ) -> Result<Meaning, Flaw> {
        let at = usize::from(resource);
        let users = self.users.get(at).ok_or(Flaw::Resource(resource.into()))?;
        if !users.contains(&task.into()) {
            return Err(Flaw::Undeclared(task.into(), at));
        }
        Ok(Meaning::of_dispatched(task, job, what(at)))
    }

    /// A change of a resource's ceiling belongs to the core of its users.
    fn ceiling(&self, resource: u16, ceiling: u64) -> Result<Meaning, Flaw> {
        let at = usize::from(resource);
        let users = self.users.get(at).ok_or(Flaw::Resource(resource.into()))?;
        // A resource without users keeps no task out.
        Ok(users.first().map_or(Meaning::Nothing, |user| Meaning::OfTask {
            task: *user,
            job: 0,
            what: What::Ceiling(at, ceiling),
            delay: 0,
            dispatched: true,
        }))
    }

    /// An event of a server. If the server is not known, neither is its core, so the comparison of all cores ends.
    fn server(&self, server: u16, what: impl Fn(usize) -> What) -> Meaning {
        let server = usize::from(server);
        if server < self.known.servers.len() {
            Meaning::OfServer { server, what: what(server) }
        } else {
            Meaning::OfAllCores(EarlyEnd::Server)
        }
    }
}
