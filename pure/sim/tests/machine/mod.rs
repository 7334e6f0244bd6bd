// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A machine without threads that runs random jobs under the rules as an executor does, and records them: it receives
//! releases late and several at once, takes time for every switch, and receives grants a while after they were given.

#![allow(unreachable_pub, reason = "a module of tests")]

mod case;
mod change;
mod locks;
mod rules;
mod steps;

use std::collections::VecDeque;

use taut_event::{Kind, Record};
use taut_model::ArrivalPattern;
use taut_sim::BACKLOG_MAX;
use taut_time::Instant;

pub use case::{Case, case};
pub use change::{change, counts, instant, of_core};
pub use rules::{Bands, Shared};

use crate::random::Random;

/// Jobs that may wait behind one: more than a simulation allows that is not driven.
const BEHIND_MAX: usize = BACKLOG_MAX + 12;

/// A job under way.
struct Job {
    number: u64,
    /// The resources that it holds, outermost first.
    held: Vec<usize>,
    wants: Option<usize>,
    started: bool,
    /// Steps until it is complete.
    left: u64,
}

struct Task {
    /// The arrival of the next job that is not delivered.
    arrival: u64,
    number: u64,
    job: Option<Job>,
    /// Jobs released behind that one: number and arrival.
    behind: VecDeque<(u64, u64)>,
    /// A grant that its core has not received: resource, rank, and the earliest instant of its delivery.
    on_the_way: Option<(usize, u64, u64)>,
}

pub struct Machine<'a> {
    case: &'a Case,
    random: Random,
    now: u64,
    cores: Vec<Box<dyn Bands>>,
    globals: Vec<Shared>,
    members: Vec<Vec<usize>>,
    current: Vec<Option<usize>>,
    /// Per core, until when it is busy.
    busy: Vec<u64>,
    /// Per core, when it last looked at its calendar.
    reported: Vec<u64>,
    tasks: Vec<Task>,
    rings: Vec<Vec<Record>>,
    /// Counts of events, to check that the machine does something.
    pub preempted: u64,
    pub waited: u64,
    pub dropped: u64,
    pub looked: u64,
    /// Jobs that waited behind more than [`BACKLOG_MAX`].
    pub deep: u64,
    stops: bool,
    stopping: bool,
    /// Whether locks of global resources take steps, with other cores in between.
    by_steps: bool,
    /// One step in how many a stalled thread takes.
    stalls: u64,
    locks: Vec<steps::Lock>,
    /// Per core, its current step at a lock, with task and resource.
    at: Vec<Option<(usize, usize, steps::Step)>>,
    /// Per task, when it last requested a resource.
    asked: Vec<u64>,
}

impl<'a> Machine<'a> {
    pub fn new(case: &'a Case, seed: u64) -> Self {
        let mut random = Random(seed * 2 + 1);
        let set = &case.set;
        let members: Vec<Vec<usize>> =
            (0..set.cores().len()).map(|core| set.on_core(core).collect()).collect();
        let task = |random: &mut Random| Task {
            arrival: 1_000 + random.below(400),
            number: 0,
            job: None,
            behind: VecDeque::new(),
            on_the_way: None,
        };
        Self {
            case,
            now: 1_000,
            cores: (0..members.len()).map(|core| rules::core(set, &case.rules, core)).collect(),
            globals: (0..set.resources().len()).map(|at| rules::shared(set, &case.rules, at)).collect(),
            current: vec![None; members.len()],
            busy: vec![0; members.len()],
            reported: vec![0; members.len()],
            tasks: (0..set.tasks().len()).map(|_| task(&mut random)).collect(),
            rings: vec![Vec::new(); members.len()],
            by_steps: false,
            stalls: [1, 2, 6, 20][(seed % 4) as usize],
            locks: set.resources().iter().map(|_| steps::Lock::default()).collect(),
            at: vec![None; members.len()],
            asked: vec![0; set.tasks().len()],
            members,
            random,
            preempted: 0,
            waited: 0,
            dropped: 0,
            looked: 0,
            deep: 0,
            stops: seed.is_multiple_of(2),
            stopping: false,
        }
    }

    /// With locks of global resources as threads execute them, step by step.
    pub fn by_steps(self) -> Self {
        Self { by_steps: true, ..self }
    }

    /// Runs so many steps. Returns the records as a drain writes them: a piece of one ring, then of another.
    pub fn run(&mut self, steps: u64) -> Vec<Record> {
        for step in 0..steps {
            // Every other machine stops in an orderly way: jobs that have begun run to their ends.
            self.stopping = self.stops && step > steps * 3 / 4;
            self.now += 1 + self.random.below(12);
            // Releases that may not wait any longer.
            for core in 0..self.cores.len() {
                let late = |task: &usize| self.tasks[*task].arrival + self.case.late / 2 <= self.now;
                if !self.stopping && self.members[core].iter().any(late) {
                    self.free(core);
                    while self.step(core) {
                        self.free(core);
                    }
                    self.report(core, true);
                }
            }
            let core = self.random.below(self.cores.len() as u64) as usize;
            if self.busy[core] >= self.now {
                continue;
            }
            if self.at[core].is_some() {
                // Its thread may stall here, for long.
                if self.random.below(self.stalls) == 0 {
                    self.step(core);
                }
                continue;
            }
            match self.random.below(4) {
                0 if !self.stopping => self.report(core, false),
                1 => self.deliver(core),
                _ => self.act(core),
            }
        }
        for core in 0..self.cores.len() {
            self.free(core);
            while self.step(core) {
                self.free(core);
            }
        }
        let begin =
            Record { at: Instant::from_ns(0), kind: Kind::Begin, cpu: 0, subject: 0, job: 0, value: 0 };
        let mut all = vec![begin];
        let mut at = vec![0; self.rings.len()];
        while let Some(core) = (0..at.len())
            .filter(|core| at[*core] < self.rings[*core].len())
            .min_by_key(|_| self.random.below(5))
        {
            let until = (at[core] + 1 + self.random.below(20) as usize).min(self.rings[core].len());
            all.extend_from_slice(&self.rings[core][at[core]..until]);
            at[core] = until;
        }
        all
    }

    /// Waits until a core is not busy.
    fn free(&mut self, core: usize) {
        self.now = self.now.max(self.busy[core] + 1);
    }

    fn put(&mut self, core: usize, at: u64, kind: Kind, task: usize, job: u64, value: u64) {
        self.busy[core] = self.busy[core].max(at);
        let (subject, cpu) = (task as u16, core as u8);
        self.rings[core].push(Record { at: Instant::from_ns(at), kind, cpu, subject, job, value });
    }

    fn note(&mut self, core: usize, kind: Kind, task: usize, value: u64) {
        let (at, job) = (self.now, self.tasks[task].job.as_ref().expect("a job").number);
        self.put(core, at, kind, task, job, value);
    }

    fn local(&self, task: usize) -> usize {
        let core = self.case.set.tasks()[task].core;
        self.members[core].iter().position(|member| *member == task).expect("of that core")
    }

    /// The dispatcher receives some of the due jobs, or all, and decides.
    fn report(&mut self, core: usize, all: bool) {
        let (mut reported, mut looked) = (false, false);
        for task in self.members[core].clone() {
            while self.tasks[task].arrival < self.now && (all || self.random.below(2) == 0) {
                let (mut arrival, number) = (self.tasks[task].arrival, self.tasks[task].number);
                if self.case.set.tasks()[task].arrivals == ArrivalPattern::Sporadic {
                    // A job outside the calendar arrives when it is delivered, or a while before: not before the last
                    // look.
                    let asked = self.random.below(2) == 0;
                    arrival = if asked { arrival.max(self.reported[core]) } else { self.now };
                } else {
                    looked = true;
                }
                let busy = self.tasks[task].job.is_some();
                if busy {
                    self.put(core, self.now, Kind::Overrun, task, number, 0);
                }
                if busy && (self.case.skips || self.tasks[task].behind.len() == BEHIND_MAX) {
                    self.put(core, arrival, Kind::Skip, task, number, 0);
                } else {
                    self.put(core, arrival, Kind::Release, task, number, self.now - arrival);
                    self.busy[core] = self.busy[core].max(self.now);
                    if busy {
                        self.tasks[task].behind.push_back((number, arrival));
                        self.deep += u64::from(self.tasks[task].behind.len() > BACKLOG_MAX);
                    } else {
                        self.open(core, task, number, arrival);
                    }
                    reported = true;
                }
                self.next(task);
            }
        }
        if !looked && self.random.below(3) == 0 {
            looked = true;
            self.looked += 1;
            self.put(core, self.now, Kind::Looked, self.members[core][0], 0, 0);
        }
        if looked {
            self.reported[core] = self.now;
        }
        if reported {
            self.decide(core);
        }
    }

    /// Releases a job of a task that has no other to the rule.
    fn open(&mut self, core: usize, task: usize, number: u64, arrival: u64) {
        let local = self.local(task);
        self.cores[core].release(local, Instant::from_ns(arrival)).expect("idle");
        let left = 1 + self.random.below(12);
        self.tasks[task].job = Some(Job { number, held: Vec::new(), wants: None, started: false, left });
    }

    fn next(&mut self, task: usize) {
        let of = &self.case.set.tasks()[task];
        let more = if of.arrivals == ArrivalPattern::Sporadic { self.random.below(200) } else { 0 };
        self.tasks[task].arrival += of.period.as_ns() + more;
        self.tasks[task].number += 1;
    }

    fn decide(&mut self, core: usize) {
        let chosen = self.cores[core].decide().map(|local| self.members[core][local]);
        let current = self.current[core];
        if chosen == current {
            return;
        }
        let begin = self.busy[core].max(self.now);
        let mut at = begin + self.random.below(4);
        if let Some(task) = current {
            let job = self.tasks[task].job.as_ref().expect("it runs").number;
            self.put(core, at, Kind::Preempt, task, job, 0);
            self.preempted += 1;
        }
        self.current[core] = chosen;
        let Some(task) = chosen else { return };
        at += self.random.below(9);
        let job = self.tasks[task].job.as_mut().expect("it was told");
        let kind = if job.started { Kind::Resume } else { Kind::Start };
        job.started = true;
        // It waited for a local resource.
        let wanted = job.wants.filter(|resource| self.case.set.is_local(*resource));
        let number = job.number;
        if let Some(resource) = wanted {
            job.wants = None;
            job.held.push(resource);
        }
        self.put(core, at, kind, task, number, 0);
        if let Some(resource) = wanted {
            self.put(core, at, Kind::Locked, task, number, resource as u64);
        }
    }

    /// A grant reaches a core.
    fn deliver(&mut self, core: usize) {
        for task in self.members[core].clone() {
            let Some((resource, rank, from)) = self.tasks[task].on_the_way else { continue };
            if from > self.now {
                continue;
            }
            self.tasks[task].on_the_way = None;
            let local = self.local(task);
            let job = self.tasks[task].job.as_mut().expect("it waits");
            assert_eq!(job.wants.take(), Some(resource));
            job.held.push(resource);
            if self.globals[resource].spins() {
                self.note(core, Kind::Locked, task, resource as u64);
                return;
            }
            self.note(core, Kind::Granted, task, resource as u64);
            self.cores[core].boost(local, rank).expect("it waited");
            self.decide(core);
            return;
        }
    }

    /// The running job acts: a random action among those that it may take.
    fn act(&mut self, core: usize) {
        let Some(task) = self.current[core] else { return };
        let job = self.tasks[task].job.as_ref().expect("it runs");
        if job.wants.is_some() {
            return;
        }
        let inside_global = job.held.iter().any(|resource| !self.case.set.is_local(*resource));
        let mine: Vec<usize> = self.case.set.requests(task).iter().map(|request| request.resource).collect();
        let may: Vec<usize> = mine
            .into_iter()
            .filter(|resource| !job.held.contains(resource))
            .filter(|resource| !inside_global && (self.case.set.is_local(*resource) || job.held.is_empty()))
            .collect();
        let (left, held) = (job.left, job.held.last().copied());
        if left > 0 {
            self.tasks[task].job.as_mut().expect("it runs").left -= 1;
        }
        if left > 0 && !may.is_empty() && self.random.below(3) > 0 {
            let resource = may[self.random.below(may.len() as u64) as usize];
            self.lock(core, task, resource);
        } else if let Some(resource) = held {
            self.unlock(core, task, resource);
        } else if left == 0 || self.random.below(2) == 0 {
            self.note(core, Kind::Complete, task, 0);
            self.cores[core].complete().expect("it runs");
            self.tasks[task].job = None;
            self.current[core] = None;
            while let Some((number, arrival)) = self.tasks[task].behind.pop_front() {
                if !self.stopping {
                    self.open(core, task, number, arrival);
                    break;
                }
                self.put(core, self.now, Kind::Skip, task, number, 0);
                self.dropped += 1;
            }
            self.decide(core);
        }
    }
}
