// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A core with one server, driven unit by unit.
#![allow(unreachable_pub, dead_code, reason = "a module of tests, of which each uses some")]

use taut_policy::queue::{LinkedList, Node};
use taut_policy::server::{Any, Replenishment, Served, ServerEntry, Turn};
use taut_policy::{Edf, FixedPriority, Scheduler, Slot};
use taut_time::{Duration, Instant};

pub type Parts = Vec<Replenishment>;
pub type AnyServer = Any<Parts>;

pub fn ns(ns: u64) -> Duration {
    Duration::from_ns(ns)
}

pub fn at(ns: u64) -> Instant {
    Instant::from_ns(ns)
}

/// A periodic task. A late task skips releases.
#[derive(Clone, Copy)]
pub struct Task {
    pub priority: u32,
    pub cost: u64,
    pub period: u64,
    pub first: u64,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// A letter per unit: `s` for the server, `a` for the first task, and `.` for an idle core.
    pub schedule: String,
    /// The instant at which each request was served.
    pub ends: Vec<Option<u64>>,
    /// The replenishments of a sporadic server at the end.
    pub replenishments: Vec<(u64, u64)>,
    /// Whether a task was not complete when its next job was due.
    pub late: bool,
}

impl Ran {
    /// How long the server ran in the given units.
    pub fn used(&self, units: core::ops::Range<usize>) -> u64 {
        self.schedule.as_bytes()[units].iter().filter(|unit| **unit == b's').count() as u64
    }

    /// How long the server ran in the first n units, for each n from 0 on.
    pub fn sums(&self) -> Vec<u64> {
        let sum = |sum: &mut u64, unit| {
            *sum += u64::from(unit == b's');
            Some(*sum)
        };
        core::iter::once(0).chain(self.schedule.bytes().scan(0, sum)).collect()
    }
}

/// When the driver decides.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Driver {
    /// Every unit.
    Always,
    /// At each event, and when [`Served::next`] says so.
    Due,
    /// At each event, and at the first multiple of this after [`Served::next`].
    Late(u64),
}

/// Runs tasks and a server with requests (arrival, cost), in order, for a number of units, under fixed priority.
pub fn run(
    driver: Driver,
    tasks: &[Task],
    server: (u32, AnyServer),
    requests: &[(u64, u64)],
    units: u64,
) -> Ran {
    let mut priorities: Vec<_> = tasks.iter().map(|task| task.priority).collect();
    priorities.push(server.0);
    let count = priorities.len();
    let ready = LinkedList::new(vec![Node::EMPTY; count]);
    let rule = FixedPriority::new(ready, vec![Slot::EMPTY; count], &priorities).expect("fits");
    run_by(rule, driver, tasks, server.1, requests, units)
}

/// As [`run`], under EDF: a task's relative deadline is its period, and so is the server's.
pub fn run_edf(
    driver: Driver,
    tasks: &[Task],
    server: (u64, AnyServer),
    requests: &[(u64, u64)],
    units: u64,
) -> Ran {
    let deadlines: Vec<_> = tasks.iter().map(|task| ns(task.period)).chain([ns(server.0)]).collect();
    let count = deadlines.len();
    let ready = LinkedList::new(vec![Node::EMPTY; count]);
    let rule = Edf::new(ready, vec![Slot::EMPTY; count], &deadlines).expect("fits");
    run_by(rule, driver, tasks, server.1, requests, units)
}

fn run_by(
    rule: impl Scheduler,
    driver: Driver,
    tasks: &[Task],
    server: AnyServer,
    requests: &[(u64, u64)],
    units: u64,
) -> Ran {
    let mut core = Served::new(rule, tasks.len(), [ServerEntry::new(server)]);
    let mut left = vec![0; tasks.len()];
    let mut waiting: Vec<_> = requests.iter().map(|request| request.1).collect();
    let mut ran = Ran {
        schedule: String::new(),
        ends: vec![None; requests.len()],
        replenishments: Vec::new(),
        late: false,
    };
    let (mut come, mut served, mut turn, mut due) = (0, 0, None, Some(at(0)));
    let mut done = None;
    for now in 0..units {
        let mut happens = false;
        match done.take() {
            Some(Turn::Server(_)) => {
                assert_eq!(core.served(at(now)), Ok(0));
                ran.ends[served] = Some(now);
                served += 1;
                happens = true;
            }
            Some(Turn::Task(task)) => {
                assert_eq!(core.rule_mut().complete(), Ok(task));
                happens = true;
            }
            None => {}
        }
        for (task, of) in tasks.iter().enumerate() {
            let is_due = now >= of.first && (now - of.first).is_multiple_of(of.period);
            ran.late |= is_due && left[task] > 0;
            if is_due && left[task] == 0 {
                left[task] = of.cost;
                core.rule_mut().release(task, at(now)).expect("idle");
                happens = true;
            }
        }
        while requests.get(come).is_some_and(|request| request.0 == now) {
            core.request(0, at(now)).expect("there is one");
            come += 1;
            happens = true;
        }
        let is_due = due.is_some_and(|due| due <= at(now));
        let decides = match driver {
            Driver::Always => true,
            Driver::Due => is_due,
            Driver::Late(late) => is_due && now.is_multiple_of(late),
        };
        if happens || decides {
            turn = core.decide(at(now)).expect("the rule knows all");
            due = core.next();
            assert!(due.is_none_or(|due| due > at(now)), "{now}: {due:?}");
        }
        ran.schedule.push(match turn {
            None => '.',
            Some(Turn::Server(_)) => 's',
            Some(Turn::Task(task)) => char::from(b'a' + u8::try_from(task).expect("few")),
        });
        let rest = match turn {
            None => continue,
            Some(Turn::Server(_)) => &mut waiting[served],
            Some(Turn::Task(task)) => &mut left[task],
        };
        *rest -= 1;
        done = turn.filter(|_| *rest == 0);
    }
    if let Any::Sporadic(server) = core.entry(0).expect("there is one").server() {
        ran.replenishments =
            server.replenishments().map(|part| (part.at.as_ns(), part.amount.as_ns())).collect();
    }
    ran
}
