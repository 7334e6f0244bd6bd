// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The state of a core: its rule, its tasks' jobs, their releases, and which thread runs which job.
//!
//! Nothing here calls Linux except to change a thread's priority, and nothing allocates. Every caller is inside the
//! state: see [`crate::shared`]. A rule that refuses a call ends the process, because the state is then inconsistent.

use taut_event::Kind;
use taut_lock::preemption_control::NOBODY;
use taut_policy::queue::{LinkedList, Node};
use taut_policy::{AnyCore, AnyLocal, AnyQueue, Background, Misuse, Remedy, Scheduler, Trouble};
use taut_time::Instant;

use crate::ready::calendar::Calendar;
pub(crate) use crate::ready::calendar::NEVER;
use crate::ready::jobs::{Arrived, Task};
use crate::ready::log::{Log, RecordingLevel};
use crate::ready::serving::Serving;
use crate::ready::worker_priorities::{NONE, WorkerPriorities};
use crate::task::Release;

/// The number of jobs of a task that may wait behind one that is not complete, unless [`crate::TaskSetup::backlog`]
/// sets another limit. The executor drops further releases.
pub const BACKLOG_MAX: usize = 8;
/// The value in the `Skip` record of a release that the executor dropped because no more may wait.
pub(crate) const BEYOND_BACKLOG: u64 = 1;
/// The most releases that one scan of the dispatcher reports. After a stall the dispatcher scans again at once.
const RELEASES_PER_SCAN_MAX: u32 = 128;

/// The whole state.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) rule: AnyCore,
    /// The servers; to the rule they are tasks.
    pub(crate) serving: Serving,
    /// Jobs that run when the rule runs nothing.
    pub(crate) background: Background<LinkedList<Box<[Node]>>>,
    pub(crate) tasks: Box<[Task]>,
    pub(crate) priorities: WorkerPriorities,
    pub(crate) log: Log,
    pub(crate) running: Running,
    pub(crate) needs: Needs,
    pub(crate) calendar: Calendar,
    /// The calendar's bound of the next arrival, for locks: see [`Calendar::next_arrival_bound`].
    pub(crate) next_release_bound_ns: u64,
    pub(crate) dispatcher: Dispatching,
    /// Jobs that the rule knows.
    pub(crate) open: u32,
    pub(crate) stopping: bool,
}

/// The job that runs.
#[derive(Debug)]
pub(crate) struct Running {
    /// The thread that is to run; [`NONE`] if there is none.
    pub(crate) thread: u32,
    /// The task whose job that thread runs.
    pub(crate) task: u32,
    /// The thread that is to run, if its locks need only the local rule; else [`NOBODY`], because the job is killed or
    /// demoted, or spins for or holds a resource of several cores, or because of [`Needs::slow_path`]. A thread that
    /// leaves the state writes this to the preemption control.
    pub(crate) fast_path_owner: u32,
    /// Whether the job runs without its server's budget, because no other job wants to run.
    pub(crate) in_background: bool,
}

impl Running {
    /// No job runs.
    pub(crate) const NONE: Self =
        Self { thread: NONE, task: NONE, fast_path_owner: NOBODY, in_background: false };

    /// The job gives up the core. The owner of the fast path follows with the next decision.
    fn give_up(&mut self) {
        (self.thread, self.task) = (NONE, NONE);
    }
}

/// What the set-up of the core makes necessary.
#[derive(Debug)]
pub(crate) struct Needs {
    /// Time on the core is limited: there are budgets, or servers.
    pub(crate) budgets: bool,
    /// Every lock takes the slow path: locks are recorded, the rule has no fast path, there are servers, or reading
    /// the processor's number takes a call.
    pub(crate) slow_path: bool,
    /// There are tasks whose jobs need admission.
    pub(crate) admission: bool,
}

/// What the dispatcher still has to do.
#[derive(Debug)]
pub(crate) struct Dispatching {
    /// The latest instant until which the dispatcher sleeps, ns.
    pub(crate) wake_ns: u64,
    /// Whether the thread that is about to run its next job must first call the dispatcher.
    pub(crate) call: bool,
    /// A task whose overrun stops the executor; [`NONE`] if there is none.
    pub(crate) stopped_by: u32,
}

impl State {
    pub(crate) fn new(
        (rule, serving): (AnyCore, Serving),
        tasks: Box<[Task]>,
        calendar: AnyQueue,
        priorities: WorkerPriorities,
        log: Log,
    ) -> Self {
        let needs = Needs {
            budgets: !serving.is_empty() || tasks.iter().any(Task::has_budget),
            slow_path: log.level == RecordingLevel::All
                || !serving.is_empty()
                || !rule.local().has_fast_path(),
            admission: tasks.iter().any(|task| task.admission.asked),
        };
        let untimed = tasks.iter().any(|task| !matches!(task.release, Release::Periodic { .. }));
        let floors = matches!(rule.local(), AnyLocal::Dfp(_));
        let background = Background::new(LinkedList::new(vec![Node::EMPTY; tasks.len()].into()));
        Self {
            rule,
            serving,
            background,
            tasks,
            priorities,
            running: Running::NONE,
            needs,
            calendar: Calendar::new(calendar, untimed, floors && log.level >= RecordingLevel::Jobs),
            log,
            next_release_bound_ns: NEVER,
            dispatcher: Dispatching { wake_ns: NEVER, call: false, stopped_by: NONE },
            open: 0,
            stopping: false,
        }
    }

    /// Puts the first releases into the calendar.
    pub(crate) fn begin_at(&mut self, origin_ns: u64) {
        let scanned_ns = self.calendar.begin_at(origin_ns);
        self.log.begin(scanned_ns);
        self.serving.begin_at(origin_ns);
        for (at, task) in (0..).zip(&mut self.tasks) {
            // The calendar is empty, and has a place for every task.
            if task.donates || task.begins {
                task.put_off = true;
                let _ = self.calendar.insert(at, origin_ns);
            }
            if let Release::Periodic { offset, .. } = task.release {
                let _ = self.calendar.insert(at, origin_ns.saturating_add(offset.as_ns()));
            }
        }
        self.update_next_release_bound();
    }

    pub(crate) fn update_next_release_bound(&mut self) {
        self.next_release_bound_ns = self.calendar.next_arrival_bound(self.first_waiting());
        self.rule.local_mut().expect(Instant::from_ns(self.next_release_bound_ns));
    }

    /// The calendar's next release, and the one after it.
    pub(crate) fn next_two(&mut self) -> (u64, u64) {
        if self.stopping {
            return (NEVER, NEVER);
        }
        let tasks = &self.tasks;
        self.calendar.next_two(|task, first| match tasks[task as usize].release {
            Release::Periodic { period, .. } => first.saturating_add(period.as_ns()),
            _ => NEVER,
        })
    }

    /// Reports all due releases to the rule, at most [`RELEASES_PER_SCAN_MAX`].
    pub(crate) fn release_due(&mut self, now_ns: u64) -> Result<(), Misuse> {
        let mut hidden = self.calendar.scan(now_ns);
        if !self.stopping {
            for _ in 0..RELEASES_PER_SCAN_MAX {
                let Some((task, at)) = self.calendar.take_due(now_ns) else { break };
                let slot = &mut self.tasks[task as usize];
                slot.put_off = false;
                if let Release::Periodic { period, .. } = slot.release {
                    self.calendar.insert(task, at.saturating_add(period.as_ns()))?;
                    // This release is recorded now, as a release or as an overrun.
                    hidden &= slot.paused || slot.admission.asked;
                }
                self.release(task, at, now_ns)?;
            }
        }
        if hidden {
            // Some releases of this core are in no calendar, and no record of a release shows this scan.
            self.log.job(now_ns, Kind::Looked, 0, 0, 0);
        }
        self.update_next_release_bound();
        Ok(())
    }

    /// Releases a job of a task. `arrival_ns` is the instant in the calendar; for a release that was not in it, the
    /// clock, or an earlier instant that the task's work has found.
    pub(crate) fn release(&mut self, task: u32, arrival_ns: u64, now_ns: u64) -> Result<(), Misuse> {
        let slot = &mut self.tasks[task as usize];
        let arrived = Arrived { number: slot.next, arrival_ns };
        slot.next += 1;
        let late = now_ns.saturating_sub(arrival_ns);
        slot.outcome.lateness_max_ns = slot.outcome.lateness_max_ns.max(late);
        let mut skip = self.stopping || slot.paused;
        let mut beyond = false;
        let asked = slot.admission.asked;
        // A release dropped by a pause is no overrun.
        if let Some(running) = slot.unfinished().filter(|_| !slot.paused) {
            let policy = slot.overrun;
            self.log.job(now_ns, Kind::Overrun, task, running, policy as u64);
            match policy.remedy(Trouble::Due) {
                Remedy::Report | Remedy::Wait => {}
                Remedy::Drop => skip = true,
                Remedy::End => slot.killed = true,
                Remedy::Demote => (slot.sinks, skip) = (true, true),
                Remedy::Stop => self.dispatcher.stopped_by = task,
            }
            if task == self.running.task && slot.is_special() {
                self.running.fast_path_owner = NOBODY;
            }
        }
        let slot = &mut self.tasks[task as usize];
        if !skip && (slot.active || asked) {
            beyond = !slot.backlog.push(arrived);
            skip = beyond;
            slot.outcome.beyond_backlog += u64::from(beyond);
        }
        if asked {
            self.record_release(task, arrived, (skip, beyond));
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
            // The release waits.
            return Ok(());
        }
        self.open(task, arrived, now_ns)
    }

    /// Whether the dispatcher may ask the task's work if there is something to do: the task has no job, and no
    /// release of it is put off, unless the work may change that.
    pub(crate) fn is_to_be_asked(&self, task: u32) -> bool {
        let slot = &self.tasks[task as usize];
        let open = !slot.put_off || slot.reconsidered;
        slot.release == Release::Polled && !slot.active && open && !slot.paused && !self.stopping
    }

    /// Takes a release that was put off out of the calendar: the task's work was asked again, and has found nothing, or
    /// another instant.
    pub(crate) fn withdraw(&mut self, task: u32) {
        if std::mem::take(&mut self.tasks[task as usize].put_off) {
            self.calendar.remove(task);
            self.update_next_release_bound();
        }
    }

    /// Releases a job of a task whose work has something to do from `arrival_ns` on. If that instant is still to come,
    /// puts the release into the calendar and returns true. `above`: whether the caller is the dispatcher.
    pub(crate) fn found(
        &mut self,
        task: u32,
        arrival_ns: u64,
        above: bool,
        now_ns: u64,
    ) -> Result<bool, Misuse> {
        self.withdraw(task);
        if arrival_ns <= now_ns {
            // A release must not arrive before the bound that locks rely on: see `crate::ready::rule`.
            let arrival_ns = arrival_ns.max(self.calendar.earliest_arrival(above));
            self.release(task, arrival_ns, now_ns)?;
            return Ok(false);
        }
        self.tasks[task as usize].put_off = true;
        self.calendar.insert(task, arrival_ns)?;
        self.update_next_release_bound();
        Ok(true)
    }

    /// Reports a job to the rule. Its task has no other job.
    pub(crate) fn open(&mut self, task: u32, arrived: Arrived, now_ns: u64) -> Result<(), Misuse> {
        self.tasks[task as usize].begin(arrived);
        self.open += 1;
        match self.tasks[task as usize].server {
            NONE => self.rule.release(task as usize, Instant::from_ns(arrived.arrival_ns)),
            server => self.serving.request(&mut self.rule, server, task, now_ns),
        }
    }

    /// Completes the running job, which has used `used_ns` of processor time. Its thread is idle from now on.
    pub(crate) fn complete(&mut self, worker: u32, now_ns: u64, used_ns: u64) -> Result<(), Misuse> {
        let task = match self.tasks.get(self.running.task as usize).map_or(NONE, |task| task.server) {
            NONE => self.background.complete(&mut self.rule)? as u32,
            server => {
                self.look_at_server(now_ns)?;
                self.serving.served(&mut self.rule, server, now_ns)?
            }
        };
        self.account(now_ns);
        self.priorities.workers[worker as usize].task = NONE;
        self.running.give_up();
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
            // The thread that completes the job asks for the next admission.
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

    /// The running job waits for a local resource that the rule did not grant.
    pub(crate) fn wait(&mut self, worker: u32, resource: u32, now_ns: u64) {
        self.account(now_ns);
        let task = self.running.task;
        let slot = &mut self.tasks[task as usize];
        slot.wants = resource;
        self.log.lock(|| now_ns, Kind::Suspend, task, slot.job.number, resource);
        self.priorities.workers[worker as usize].parked = true;
        self.running.give_up();
    }

    /// A job now spins for or holds a resource of several cores, or no longer does.
    pub(crate) fn hold_across(&mut self, task: u32, holds: bool) {
        self.tasks[task as usize].across = holds;
        self.update_fast_path_owner();
    }

    /// Updates the owner of the fast path after the chosen job, or what is special about it, has changed.
    pub(crate) fn update_fast_path_owner(&mut self) {
        let care =
            self.needs.slow_path || self.tasks.get(self.running.task as usize).is_some_and(Task::is_special);
        self.running.fast_path_owner =
            if care || self.running.thread == NONE { NOBODY } else { self.running.thread };
    }

    /// Records what a job does with a resource of several cores.
    pub(crate) fn log_across(&mut self, kind: Kind, task: u32, number: u32, at: impl FnOnce() -> u64) {
        let job = self.tasks[task as usize].job.number;
        self.log.across(at, kind, task, job, number);
    }

    /// The running job, which the rule has suspended, goes to sleep until it gets a resource of several cores.
    pub(crate) fn go_away(&mut self, worker: u32, rank: u64, number: u32, now_ns: u64) {
        self.account(now_ns);
        self.tasks[self.running.task as usize].away = (number, rank);
        self.priorities.go_above(worker);
        self.running.give_up();
    }

    /// A sleeping job has been granted the resource of several cores that it waits for.
    pub(crate) fn granted(&mut self, task: u32, now_ns: u64) -> Result<(), Misuse> {
        let slot = &mut self.tasks[task as usize];
        let (number, rank) = slot.away;
        slot.across = true;
        self.log_across(Kind::Granted, task, number, || now_ns);
        self.rule.boost(task as usize, rank)
    }
}
