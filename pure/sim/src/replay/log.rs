// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The records of each core, in the form that a replay takes.

use core::fmt;
use std::collections::BTreeMap;

use taut_model::TaskSet;

use super::EarlyEnd;
use crate::RulesFault;

/// Records that cannot be true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedLog {
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
    Rules(RulesFault),
}

impl fmt::Display for MalformedLog {
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
                write!(f, "task {task} uses resource {resource}, but the plan does not declare that")
            }
            Self::Time => f.write_str("later than any clock"),
            Self::Rules(fault) => fault.fmt(f),
        }
    }
}

impl core::error::Error for MalformedLog {}

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
    /// The task has this level from its next job on.
    Level(u64),
    /// A resource of the core has this ceiling or floor from the next lock on.
    Ceiling(usize, u64),
    /// The core has looked at its calendar.
    Looked,
    /// Adds nothing to earlier records.
    Nothing,
    End(EarlyEnd),
}

impl Item {
    /// Whether the core has looked at its calendar for this. It need not for tasks outside the calendar; `timed` says
    /// which tasks are in it.
    pub(super) fn checks_calendar(&self, timed: &[bool]) -> bool {
        match self.what {
            What::Looked | What::Late(true) => true,
            What::Delivered(_) => timed[self.task],
            _ => false,
        }
    }
}

impl What {
    /// Whether the job requests a resource and does not get it at once.
    pub(super) fn waits(self) -> bool {
        matches!(self, Self::Spin(_) | Self::Suspend(_))
    }

    /// Whether the core receives this: it is not an action of one of its jobs.
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
    /// Drops the records of cores without a dispatcher, which are not compared.
    pub(super) fn leave_out_other_cores(&mut self) {
        for (items, dispatched) in self.items.iter_mut().zip(&self.dispatched) {
            if !dispatched {
                items.clear();
            }
        }
    }

    /// If no lock was recorded anywhere, sets `silent` for each core whose jobs may lock.
    pub(super) fn note_silence(&mut self, set: &TaskSet) {
        let locks = |item: &Item| matches!(item.what, What::Unlock(_) | What::Locked(_) | What::Granted(_));
        if !self.items.iter().flatten().any(locks) {
            let may = |task: usize| !set.requests(task).is_empty();
            self.silent = (0..self.items.len()).map(|core| set.on_core(core).any(may)).collect();
        }
    }

    /// Adds an item behind those of a core; one that would be before them gets the instant of the last.
    pub(super) fn put(&mut self, core: usize, item: Item) {
        let items = &mut self.items[core];
        let before = items.last().map_or(0, |last| last.at);
        items.push(Item { at: item.at.max(before), ..item });
    }
}
