// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The records of each core, in the form that a replay takes.

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};

use taut_event::{Kind, Record};
use taut_model::TaskSet;

use super::Why;
use super::notes::components;
use crate::Fault;
use crate::program::Guard;
use crate::run::END_OF_TIME;

/// Records that cannot be true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The record: a position among those given; none if the flaw is not in a record.
    pub record: Option<usize>,
    /// The flaw.
    pub flaw: Flaw,
}

/// A flaw in records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// There is no such task in the set.
    Task(usize),
    /// There is no such resource in the set.
    Resource(u64),
    /// There is no such core in the set.
    Core(usize),
    /// The set does not declare that this task uses this resource.
    Undeclared(usize, usize),
    /// A time later than any clock: 2⁶² ns or more.
    Time,
    /// The set cannot be run under the rules.
    Rules(Fault),
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(record) = self.record {
            write!(f, "record {record}: ")?;
        }
        self.flaw.fmt(f)
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task(task) => write!(f, "there is no task {task}"),
            Self::Resource(resource) => write!(f, "there is no resource {resource}"),
            Self::Core(core) => write!(f, "there is no core {core}"),
            Self::Undeclared(task, resource) => {
                write!(f, "task {task} uses resource {resource}, which nothing says that it does")
            }
            Self::Time => f.write_str("later than any clock"),
            Self::Rules(fault) => fault.fmt(f),
        }
    }
}

impl core::error::Error for Malformed {}

/// A record, assigned to a core.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    /// Its position among the records given.
    pub(super) record: usize,
    /// Never before an earlier item of the core.
    pub(super) at: u64,
    pub(super) task: usize,
    pub(super) job: u64,
    pub(super) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// The job's release is delivered to its core; the value is the job's arrival.
    Delivered(u64),
    /// The job is dropped and never delivered; the value is its arrival.
    Skip(u64),
    /// The grant of a resource is delivered to the job's core.
    Granted(usize),
    /// The job requests a resource and is granted it: at once, or after it waited.
    Locked(usize),
    Spin(usize),
    Suspend(usize),
    Unlock(usize),
    Complete,
    /// The core has found that the job's budget is used up.
    UsedUp,
    /// A turn of a server, by position, begins or ends as time passes; the server may use so many ns at a stretch.
    Turn(usize, u64),
    /// Other threads had the core for `others` of the `passed` ns since its dispatcher last advanced the running
    /// server; `passed` is 0 in recordings that do not state it.
    Beside {
        passed: u64,
        others: u64,
    },
    /// The next job of the task is due, and this one is demoted; whether a calendar released the next one.
    Late(bool),
    Start,
    Preempt,
    Resume,
    /// The task has this level from now on.
    Level(u64),
    /// A resource of the core has this ceiling or floor from now on.
    Ceiling(usize, u64),
    /// The core has looked at its calendar.
    Looked,
    /// Adds nothing to earlier records.
    Nothing,
    End(Why),
}

impl Item {
    /// Whether the core has looked at its calendar for this. It need not for tasks outside the calendar; `timed` says
    /// which tasks are in it.
    pub(super) fn looks(&self, timed: &[bool]) -> bool {
        match self.what {
            What::Looked | What::Late(true) => true,
            What::Delivered(_) => timed[self.task],
            _ => false,
        }
    }
}

impl What {
    /// The job requests a resource and does not get it at once.
    pub(super) fn waits(self) -> bool {
        matches!(self, Self::Spin(_) | Self::Suspend(_))
    }

    /// The core receives this; it is not an action of one of its jobs.
    pub(super) fn is_delivered(self) -> bool {
        matches!(self, Self::Delivered(_) | Self::Granted(_) | Self::UsedUp | Self::Late(_) | Self::Turn(..))
    }
}

/// All records of a run, by core.
#[derive(Clone, Debug)]
pub(super) struct Log {
    /// Per core.
    pub(super) items: Vec<Vec<Item>>,
    /// Per core, whether a dispatcher recorded something.
    pub(super) dispatched: Vec<bool>,
    /// Per core, how many records are left out at its beginning.
    pub(super) before: Vec<u64>,
    /// Per task, whether a calendar determines its arrivals.
    pub(super) timed: Vec<bool>,
    /// Per task, the arrivals of its jobs that are delivered or dropped, in that order.
    pub(super) arrivals: Vec<Vec<u64>>,
    /// Per task, how many of these come before the items that are kept.
    pub(super) arrived: Vec<usize>,
    /// Per core, when it last looked at its calendar before its items.
    pub(super) looked: Vec<u64>,
    /// Per core, whether its jobs may lock although no lock was recorded anywhere.
    pub(super) silent: Vec<bool>,
    /// Per core, the lowest core that shares resources with it, directly or through others.
    pub(super) component: Vec<usize>,
    /// Per global resource, the requests in the order in which they come to hold it, then those that still wait at
    /// the end: the core, and the position among its items.
    pub(super) holds: Vec<Vec<(usize, usize)>>,
    /// How many of these come to hold it.
    pub(super) sure: Vec<usize>,
    /// The position of a request, by core and position there, in its resource's `holds`; none if it still waits at
    /// the end.
    pub(super) ranks: BTreeMap<(usize, usize), usize>,
}

impl Log {
    pub(super) fn read(
        set: &TaskSet,
        guard: impl Fn(usize) -> Option<Guard>,
        (dispatched, demotes): (&[usize], impl Fn(usize) -> bool),
        servers: &[usize],
        records: &[Record],
    ) -> Result<Self, Malformed> {
        let cores = set.cores().len();
        let mut log = Self {
            items: vec![Vec::new(); cores],
            dispatched: (0..cores).map(|core| dispatched.contains(&core)).collect(),
            before: vec![0; cores],
            timed: set.tasks().iter().map(|task| !task.arrivals.is_sporadic()).collect(),
            arrivals: vec![Vec::new(); set.tasks().len()],
            arrived: vec![0; set.tasks().len()],
            looked: vec![0; cores],
            silent: vec![false; cores],
            component: components(set),
            holds: vec![Vec::new(); set.resources().len()],
            sure: vec![0; set.resources().len()],
            ranks: BTreeMap::new(),
        };
        let users: Vec<BTreeSet<usize>> =
            (0..set.resources().len()).map(|resource| set.users(resource).collect()).collect();
        for (at, record) in records.iter().enumerate() {
            let wrong = |flaw| Malformed { record: Some(at), flaw };
            let resource = |task: usize| {
                let position = usize::try_from(record.value).ok().filter(|place| *place < users.len());
                let position = position.ok_or(wrong(Flaw::Resource(record.value)))?;
                let uses = users[position].contains(&task);
                if uses { Ok(position) } else { Err(wrong(Flaw::Undeclared(task, position))) }
            };
            let subject = usize::from(record.subject);
            // A resource without users keeps no task out.
            let first = |resource: usize| users.get(resource).map(|users| users.first().copied());
            let task = match record.kind {
                Kind::Ceiling => match first(subject) {
                    Some(Some(user)) => user,
                    Some(None) => continue,
                    None => return Err(wrong(Flaw::Resource(subject as u64))),
                },
                _ => subject,
            };
            let timed = log.timed.get(task).copied().unwrap_or(false);
            let time = record.at.as_ns();
            let what = match record.kind {
                Kind::Budget | Kind::Beside if servers.get(usize::from(record.subject)).is_some() => {
                    let at_time = (time < END_OF_TIME).then_some(time).ok_or(wrong(Flaw::Time))?;
                    let server = usize::from(record.subject);
                    let of = servers[server];
                    let core = set.tasks().get(of).ok_or(wrong(Flaw::Task(of)))?.core;
                    let what = match record.kind {
                        Kind::Beside => What::Beside { passed: record.job, others: record.value },
                        _ => What::Turn(server, record.value),
                    };
                    log.put(core, Item { record: at, at: at_time, task: of, job: 0, what });
                    continue;
                }
                Kind::CoreLost => {
                    let at_time = (time < END_OF_TIME).then_some(time).ok_or(wrong(Flaw::Time))?;
                    let core = (subject < cores).then_some(subject).ok_or(wrong(Flaw::Core(subject)))?;
                    let what = What::End(Why::Lost(record.value));
                    log.put(core, Item { record: at, at: at_time, task: 0, job: 0, what });
                    continue;
                }
                // A server is not a task, so its core is not known.
                Kind::Budget | Kind::Beside => {
                    for core in (0..cores).filter(|_| time < END_OF_TIME) {
                        log.put(
                            core,
                            Item { record: at, at: time, task: 0, job: 0, what: What::End(Why::Server) },
                        );
                    }
                    continue;
                }
                Kind::Release => What::Delivered(time),
                Kind::Overrun if demotes(task) => What::Late(timed),
                Kind::Overrun if timed => What::Looked,
                Kind::Looked => What::Looked,
                Kind::Skip => What::Skip(time),
                Kind::Start => What::Start,
                Kind::Preempt => What::Preempt,
                Kind::Resume => What::Resume,
                Kind::Locked => What::Locked(resource(task)?),
                Kind::Unlock => What::Unlock(resource(task)?),
                Kind::Spin => What::Spin(resource(task)?),
                Kind::Suspend => What::Suspend(resource(task)?),
                Kind::Granted => What::Granted(resource(task)?),
                Kind::Complete => What::Complete,
                Kind::Level => What::Level(record.value),
                Kind::Ceiling => What::Ceiling(subject, record.value),
                Kind::Lost => What::End(Why::Lost(record.value)),
                Kind::Exhausted => What::UsedUp,
                _ => continue,
            };
            let delivered = if matches!(what, What::Delivered(_)) { record.value } else { 0 };
            let time =
                time.checked_add(delivered).filter(|time| *time < END_OF_TIME).ok_or(wrong(Flaw::Time))?;
            let core = set.tasks().get(task).ok_or(wrong(Flaw::Task(task)))?.core;
            log.dispatched[core] |= delivered > 0 || record.kind as u8 >= Kind::Preempt as u8;
            log.put(core, Item { record: at, at: time, task, job: record.job, what });
        }
        for core in 0..cores {
            if !log.dispatched[core] {
                log.items[core].clear();
            }
        }
        let locks = |item: &Item| matches!(item.what, What::Unlock(_) | What::Locked(_) | What::Granted(_));
        if !log.items.iter().flatten().any(locks) {
            let may = |task: usize| !set.requests(task).is_empty();
            log.silent = (0..cores).map(|core| set.on_core(core).any(may)).collect();
        }
        log.withdraw();
        log.note_arrivals(set);
        match records.iter().find(|record| record.kind == Kind::Begin) {
            Some(begin) => log.looked.fill(begin.at.as_ns().saturating_sub(1)),
            None => {
                let untimed = |task: usize| !log.timed[task];
                let untimed: Vec<bool> = (0..cores).map(|core| set.on_core(core).any(untimed)).collect();
                log.begin_where_nothing_is_under_way(&untimed);
            }
        }
        log.note_holds(guard);
        Ok(log)
    }

    fn put(&mut self, core: usize, item: Item) {
        let items = &mut self.items[core];
        let before = items.last().map_or(0, |last| last.at);
        items.push(Item { at: item.at.max(before), ..item });
    }
}
