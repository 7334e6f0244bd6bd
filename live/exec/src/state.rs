// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a core knows: its rule, its tasks' jobs, when they are released, which thread has which.
//!
//! Nothing here calls Linux but to change the priority of a thread, and nothing is allocated. Whoever calls is inside:
//! see [`crate::shared`]. A rule that refuses what it is told ends the process: the state is then not what we think.

use taut_event::Kind;
use taut_lock::mark::NOBODY;
use taut_policy::queue::{End, List, Node, ReadyQueue};
use taut_policy::{AnyCore, AnyLocal, AnyQueue, Background, Misuse, Remedy, Scheduler, Trouble};
use taut_time::Instant;

use crate::jobs::{Arrived, Task};
use crate::ladder::{Ladder, NONE};
use crate::log::{Level, Log};
use crate::serving::Serving;
use crate::task::Release;

/// Jobs of a task that may wait behind one that is not complete, unless [`crate::TaskSetup::backlog`] says otherwise; those that
/// come then are dropped.
pub const BACKLOG_MAX: usize = 8;
/// The value of a `Skip` of a release that was dropped as no more may wait.
pub(crate) const BEYOND_BACKLOG: u64 = 1;
/// Releases that one visit of the dispatcher tells at most; after a stall it comes at once again.
const TOLD_MAX: u32 = 128;
/// No release.
pub(crate) const NEVER: u64 = u64::MAX;

/// All of it.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) rule: AnyCore,
    /// The servers, which are tasks to the rule.
    pub(crate) serving: Serving,
    /// Jobs that run when nothing in the rule does.
    pub(crate) background: Background<List<Box<[Node]>>>,
    pub(crate) tasks: Box<[Task]>,
    pub(crate) ladder: Ladder,
    pub(crate) log: Log,
    /// The thread that is to run.
    pub(crate) current: u32,
    /// Its task.
    pub(crate) chosen: u32,
    /// The thread that is to run, if a lock of it needs no more than the local rule's word; else [`NOBODY`]: the job is
    /// killed, or holds what other cores use, or `careful`. Whoever leaves says so to the mark.
    pub(crate) pass: u32,
    /// Whether anybody's time on the core is limited: there are budgets, or servers.
    pub(crate) limited: bool,
    /// Whether any lock needs more: they are recorded, jobs may have to wait, or the processor is asked for by a call.
    pub(crate) careful: bool,
    /// The next arrival that has not been told is not before this: see [`crate::rule`].
    pub(crate) floor_ns: u64,
    calendar: AnyQueue,
    /// Whether there are releases that no calendar knows.
    pub(crate) untimed: bool,
    /// Whether each look at the calendar has to be in the records, as floors count from it.
    shows_looks: bool,
    /// Whether there are tasks whose jobs have to be admitted.
    pub(crate) admits: bool,
    told_ns: u64,
    /// The same before the visit of the dispatcher that is in progress, or was the last.
    told_before_ns: u64,
    /// Until when the dispatcher sleeps at most.
    pub(crate) wake_ns: u64,
    /// Jobs that the rule knows of.
    pub(crate) open: u32,
    pub(crate) stopping: bool,
    /// The calendar's releases from this instant on are not told.
    pub(crate) end_ns: u64,
    /// Whether the thread that is about to run its next job calls the dispatcher before.
    pub(crate) call: bool,
    /// A task whose overrun stops everything.
    pub(crate) stopped_by: u32,
    /// Whether who runs does so without its server's budget, as nothing else wants to.
    pub(crate) spare: bool,
}

impl State {
    pub(crate) fn new(
        (rule, serving): (AnyCore, Serving),
        tasks: Box<[Task]>,
        calendar: AnyQueue,
        ladder: Ladder,
        log: Log,
    ) -> Self {
        let careful = log.level == Level::All || !serving.is_empty() || !rule.local().is_short();
        let limited = !serving.is_empty() || tasks.iter().any(Task::has_budget);
        let untimed = tasks.iter().any(|task| !matches!(task.release, Release::Periodic { .. }));
        let floors = matches!(rule.local(), AnyLocal::DfpNext(_));
        let shows_looks = untimed && floors && log.level >= Level::Jobs;
        let admits = tasks.iter().any(|task| task.admission.asked);
        let background = Background::new(List::new(vec![Node::EMPTY; tasks.len()].into()));
        Self {
            rule,
            serving,
            background,
            tasks,
            ladder,
            log,
            current: NONE,
            chosen: NONE,
            pass: NOBODY,
            limited,
            careful,
            floor_ns: NEVER,
            calendar,
            untimed,
            shows_looks,
            admits,
            told_ns: 0,
            told_before_ns: 0,
            wake_ns: NEVER,
            open: 0,
            stopping: false,
            end_ns: NEVER,
            call: false,
            stopped_by: NONE,
            spare: false,
        }
    }

    /// Puts the first releases into the calendar.
    pub(crate) fn begin_at(&mut self, origin_ns: u64) {
        self.told_ns = origin_ns.saturating_sub(1);
        self.log.begin(self.told_ns);
        self.serving.begin_at(origin_ns);
        for at in 0..self.tasks.len() {
            if self.tasks[at].lends {
                self.tasks[at].put_off = true;
                let _ = self.calendar.insert(at, origin_ns, End::Back);
            }
            if let Release::Periodic { offset, .. } = self.tasks[at].release {
                // It is empty, and has a place for every task.
                let _ = self.calendar.insert(at, origin_ns.saturating_add(offset.as_ns()), End::Back);
            }
        }
        self.refloor();
    }

    pub(crate) fn refloor(&mut self) {
        let first = self.calendar.first().map_or(NEVER, |(_, at)| at).min(self.first_waiting());
        self.floor_ns = if self.untimed { first.min(self.told_ns) } else { first };
        self.rule.local_mut().expect(Instant::from_ns(self.floor_ns));
    }

    /// The next release of the calendar, and the one after it.
    pub(crate) fn next_two(&mut self) -> (u64, u64) {
        if self.stopping {
            return (NEVER, NEVER);
        }
        if self.calendar.first().is_some_and(|(_, first)| first >= self.end_ns) {
            return (NEVER, NEVER);
        }
        let Some((task, first)) = self.calendar.take_first() else { return (NEVER, NEVER) };
        let again = match self.tasks[task].release {
            Release::Periodic { period, .. } => first.saturating_add(period.as_ns()),
            _ => NEVER,
        };
        let second = self.calendar.first().map_or(NEVER, |(_, at)| at).min(again);
        // It has just come out.
        let _ = self.calendar.insert(task, first, End::Front);
        (first, second)
    }

    /// Tells the rule of all releases that are due.
    pub(crate) fn tell(&mut self, now_ns: u64) -> Result<(), Misuse> {
        self.told_before_ns = std::mem::replace(&mut self.told_ns, now_ns);
        let mut hidden = self.shows_looks;
        if !self.stopping {
            for _ in 0..TOLD_MAX {
                let due = |at: u64| at <= now_ns && at < self.end_ns;
                let Some((task, at)) = self.calendar.first().filter(|(_, at)| due(*at)) else { break };
                self.calendar.take_first();
                let slot = &mut self.tasks[task];
                slot.put_off = false;
                if let Release::Periodic { period, .. } = slot.release {
                    self.calendar.insert(task, at.saturating_add(period.as_ns()), End::Back)?;
                    // It is recorded now, as a release or as an overrun.
                    hidden &= slot.paused || slot.admission.asked;
                }
                self.release(task as u32, at, now_ns)?;
            }
        }
        if hidden {
            // There is one that no calendar knows.
            self.log.job(now_ns, Kind::Looked, 0, 0, 0);
        }
        self.refloor();
        Ok(())
    }

    /// A job of a task has been released. `arrival_ns` of one that no calendar knew is the clock.
    pub(crate) fn release(&mut self, task: u32, arrival_ns: u64, now_ns: u64) -> Result<(), Misuse> {
        let slot = &mut self.tasks[task as usize];
        let arrived = Arrived { number: slot.next, arrival_ns };
        slot.next += 1;
        let late = now_ns.saturating_sub(arrival_ns);
        slot.outcome.lateness_max_ns = slot.outcome.lateness_max_ns.max(late);
        let mut skip = self.stopping || slot.paused;
        let mut beyond = false;
        let asked = slot.admission.asked;
        // What a pause drops is no overrun.
        if let Some(running) = slot.unfinished().filter(|_| !slot.paused) {
            let policy = slot.overrun;
            self.log.job(now_ns, Kind::Overrun, task, running, policy as u64);
            match policy.remedy(Trouble::Due) {
                Remedy::Tell | Remedy::Wait => {}
                Remedy::Drop => skip = true,
                Remedy::End => slot.killed = true,
                Remedy::Demote => (slot.sinks, skip) = (true, true),
                Remedy::Stop => self.stopped_by = task,
            }
            if task == self.chosen && slot.is_special() {
                self.pass = NOBODY;
            }
        }
        let slot = &mut self.tasks[task as usize];
        if !skip && (slot.active || asked) {
            beyond = !slot.backlog.push(arrived);
            skip = beyond;
            slot.outcome.beyond_backlog += u64::from(beyond);
        }
        if asked {
            self.note_release(task, arrived, (skip, beyond));
        }
        let slot = &mut self.tasks[task as usize];
        if skip {
            slot.outcome.skipped += 1;
            if asked {
                return Ok(());
            }
            let why = if beyond { BEYOND_BACKLOG } else { 0 };
            self.log.job(arrival_ns, Kind::Skip, task, arrived.number, why);
            return Ok(());
        }
        slot.outcome.released += 1;
        if !asked {
            self.log.job(arrival_ns, Kind::Release, task, arrived.number, late);
        }
        if slot.active || asked {
            // It waits.
            return Ok(());
        }
        self.open(task, arrived, now_ns)
    }

    /// Whether its work may be asked if there is something to do: it has no job, and none is put off.
    pub(crate) fn is_to_be_asked(&self, task: u32) -> bool {
        let slot = &self.tasks[task as usize];
        slot.release == Release::Polled && !slot.active && !slot.put_off && !slot.paused && !self.stopping
    }

    /// Its work has something to do, since or from an instant on. Whether that is to come, so that it is in the calendar.
    pub(crate) fn found(
        &mut self,
        task: u32,
        arrival_ns: u64,
        above: bool,
        now_ns: u64,
    ) -> Result<bool, Misuse> {
        if arrival_ns <= now_ns {
            // Not before what locks have counted on: see `crate::rule`.
            let least_ns = if above { self.told_before_ns } else { self.told_ns };
            self.release(task, arrival_ns.max(least_ns), now_ns)?;
            return Ok(false);
        }
        self.tasks[task as usize].put_off = true;
        self.calendar.insert(task as usize, arrival_ns, End::Back)?;
        self.refloor();
        Ok(true)
    }

    /// The rule is told of a job of a task that has no other.
    pub(crate) fn open(&mut self, task: u32, arrived: Arrived, now_ns: u64) -> Result<(), Misuse> {
        self.tasks[task as usize].begin(arrived);
        self.open += 1;
        match self.tasks[task as usize].server {
            NONE => self.rule.release(task as usize, Instant::from_ns(arrived.arrival_ns)),
            server => self.serving.request(&mut self.rule, server, task, now_ns),
        }
    }

    /// The job that runs is done, having used so much processor time; its thread is idle from now on.
    pub(crate) fn complete(&mut self, worker: u32, now_ns: u64, used_ns: u64) -> Result<(), Misuse> {
        let task = match self.tasks.get(self.chosen as usize).map_or(NONE, |task| task.server) {
            NONE => self.background.complete(&mut self.rule)? as u32,
            server => {
                self.look_at_server(now_ns)?;
                self.serving.served(&mut self.rule, server, now_ns)?
            }
        };
        self.account(now_ns);
        self.ladder.workers[worker as usize].task = NONE;
        (self.current, self.chosen) = (NONE, NONE);
        self.open -= 1;
        let slot = &mut self.tasks[task as usize];
        (slot.active, slot.worker) = (false, NONE);
        let response = now_ns.saturating_sub(slot.job.arrival_ns);
        slot.outcome.completed += 1;
        slot.outcome.killed += u64::from(slot.killed);
        slot.outcome.response_max_ns = slot.outcome.response_max_ns.max(response);
        self.log.job(now_ns, Kind::Complete, task, slot.job.number, used_ns);
        if response > slot.deadline_ns {
            slot.outcome.missed += 1;
            self.log.job(now_ns, Kind::Miss, task, slot.job.number, response);
        }
        if slot.admission.asked {
            // Whoever completes it asks for the next.
            return Ok(());
        }
        while let Some(arrived) = slot.backlog.pop() {
            if !self.stopping {
                return self.open(task, arrived, now_ns);
            }
            slot.outcome.released -= 1;
            slot.outcome.skipped += 1;
            self.log.job(now_ns, Kind::Skip, task, arrived.number, 0);
        }
        Ok(())
    }

    /// What runs waits for a local resource that its rule did not give it.
    pub(crate) fn wait(&mut self, worker: u32, resource: u32, now_ns: u64) {
        self.account(now_ns);
        let task = self.chosen;
        let slot = &mut self.tasks[task as usize];
        slot.wants = resource;
        self.log.lock(|| now_ns, Kind::Suspend, task, slot.job.number, resource);
        self.ladder.workers[worker as usize].parked = true;
        (self.current, self.chosen) = (NONE, NONE);
    }

    /// A job spins for or holds what other cores use, or no longer.
    pub(crate) fn hold_across(&mut self, task: u32, holds: bool) {
        self.tasks[task as usize].across = holds;
        self.attend();
    }

    /// Who is to run or what is special about it has changed.
    pub(crate) fn attend(&mut self) {
        let care = self.careful || self.tasks.get(self.chosen as usize).is_some_and(Task::is_special);
        self.pass = if care || self.current == NONE { NOBODY } else { self.current };
    }

    /// Records what a job does with what other cores use.
    pub(crate) fn log_across(&mut self, kind: Kind, task: u32, number: u32, at: impl FnOnce() -> u64) {
        let job = self.tasks[task as usize].job.number;
        self.log.across(at, kind, task, job, number);
    }

    /// What runs, which the rule has suspended, sleeps for what other cores use.
    pub(crate) fn go_away(&mut self, worker: u32, rank: u64, number: u32, now_ns: u64) {
        self.account(now_ns);
        self.tasks[self.chosen as usize].away = (number, rank);
        self.ladder.go_above(worker);
        (self.current, self.chosen) = (NONE, NONE);
    }

    /// A job that is away has been given what it sleeps for.
    pub(crate) fn granted(&mut self, task: u32, now_ns: u64) -> Result<(), Misuse> {
        let slot = &mut self.tasks[task as usize];
        let (number, rank) = slot.away;
        slot.across = true;
        self.log_across(Kind::Granted, task, number, || now_ns);
        self.rule.boost(task as usize, rank)
    }
}
