// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The instants of a run in a bench.
//!
//! At one instant the order is: jobs that end there, core by core, each of which runs its code now; parties that act;
//! releases, those by values that were just sent included; and then each core decides, also where a server's budget ends or
//! comes back. So a job that ends when another
//! is released does not wait for it, as in the simulator.

use taut_event::{Kind, Record};
use taut_plan::Overrun;
use taut_policy::{Remedy, Trouble};
use taut_time::{Duration, Instant};

use super::core::Core;
use super::task::{BenchTask, Due};
use super::values::BenchValues;
use super::{Bench, ORIGIN_NS, cpu_number};
use crate::Error;
use crate::bench_resource::BenchJob;
use crate::lifecycle::Released;

const NEVER: u64 = u64::MAX;

impl Bench {
    /// Runs all instants before `until_ns`, or until the application stops.
    pub(super) fn advance(&mut self, until_ns: u64) -> Result<(), Error> {
        // Between two calls the test may have done anything.
        self.parties.has_acted = true;
        self.admit();
        while !self.control.stopping() {
            self.poll();
            let next_ns = self.next_ns();
            if next_ns >= until_ns {
                self.clock.set(until_ns.max(self.clock.now_ns()));
                return Ok(());
            }
            self.clock.set(next_ns);
            self.instant(next_ns)?;
        }
        Ok(())
    }

    /// The next instant at which something happens.
    fn next_ns(&self) -> u64 {
        let releases = self.tasks.iter().filter_map(|task| task.due.map(|due| due.at_ns));
        let ends = self.cores.iter().filter_map(|core| {
            let (task, since_ns) = core.running?;
            Some(self.tasks[task].job.as_ref()?.next_ns(since_ns))
        });
        let scripts = self.scripts.iter().map(|script| script.at_ns);
        let servers = self.cores.iter().map(Core::next_ns);
        releases.chain(ends).chain(scripts).chain(servers).min().unwrap_or(NEVER)
    }

    fn instant(&mut self, now_ns: u64) -> Result<(), Error> {
        for core in 0..self.cores.len() {
            self.end_step(core, now_ns)?;
        }
        self.run_scripts(now_ns)?;
        self.poll();
        for task in 0..self.tasks.len() {
            while self.tasks[task].due.is_some_and(|due| due.at_ns <= now_ns) {
                self.release(task, now_ns);
            }
        }
        self.settle(now_ns)
    }

    /// Looks at all channels that release tasks, if somebody may have sent something.
    fn poll(&mut self) {
        if std::mem::take(&mut self.parties.has_acted) {
            let now_ns = self.clock.now_ns();
            self.tasks.iter_mut().for_each(|task| task.poll(now_ns));
            let Self { parties, log, values, .. } = self;
            parties.drain.drain(|record| log.push(record));
            values.iter_mut().for_each(BenchValues::poll);
        }
    }

    /// A core's job is complete, or has used up its budget, if that happens now.
    fn end_step(&mut self, core: usize, now_ns: u64) -> Result<(), Error> {
        let Some((task, since_ns)) = self.cores[core].running else { return Ok(()) };
        let Some(job) = &mut self.tasks[task].job else { return Ok(()) };
        if job.next_ns(since_ns) > now_ns {
            return Ok(());
        }
        job.charge(since_ns, now_ns);
        self.cores[core].running = Some((task, now_ns));
        if job.left_ns == 0 {
            return self.complete(task, now_ns);
        }
        self.exhaust(task, now_ns);
        Ok(())
    }

    /// A running job has used up its budget.
    fn exhaust(&mut self, at: usize, now_ns: u64) {
        let task = &mut self.tasks[at];
        let policy = task.on_overrun;
        let budget_ns = task.budget.map_or(0, Duration::as_ns);
        let Some(job) = &mut task.job else { return };
        job.is_exhausted = true;
        match policy.remedy(Trouble::UsedUp) {
            Remedy::Report | Remedy::Wait | Remedy::Drop => {}
            // The job ends when it runs next. It runs below all others then, because it has had its budget.
            Remedy::End => (job.is_killed, job.sinks) = (true, true),
            Remedy::Demote => job.sinks = true,
            Remedy::Stop => self.control.overran(crate::names::position(task.in_plan)),
        }
        let number = job.released.number;
        self.record(at, now_ns, Kind::Exhausted, number, budget_ns);
    }

    /// Lets the parties act whose instant has come.
    fn run_scripts(&mut self, now_ns: u64) -> Result<(), Error> {
        let mut at = 0;
        while at < self.scripts.len() {
            if self.scripts[at].at_ns > now_ns {
                at += 1;
                continue;
            }
            let goes_on = (self.scripts[at].act)(&mut self.parties)?;
            self.parties.has_acted = true;
            match self.scripts[at].period_ns.filter(|_| goes_on) {
                Some(period_ns) => {
                    self.scripts[at].at_ns = now_ns.saturating_add(period_ns);
                    at += 1;
                }
                None => drop(self.scripts.remove(at)),
            }
        }
        Ok(())
    }

    /// A release of a task is due.
    fn release(&mut self, at: usize, now_ns: u64) {
        let task = &mut self.tasks[at];
        let Some(Due { arrival_ns, .. }) = task.due.take() else { return };
        let released = Released { number: task.number, at_ns: arrival_ns };
        task.number += 1;
        task.set_due();
        let skips = match task.unfinished() {
            Some(unfinished) => self.overrun(at, unfinished, now_ns),
            None => false,
        };
        if skips {
            self.tasks[at].has_skipped = true;
            return self.record(at, arrival_ns, Kind::Skip, released.number, 0);
        }
        self.record(at, arrival_ns, Kind::Release, released.number, now_ns.saturating_sub(arrival_ns));
        let task = &mut self.tasks[at];
        if task.job.is_some() {
            task.waiting.push_back(released);
        } else {
            task.begin(released);
        }
    }

    /// A release of a task is due, and its job is not complete. Returns whether the release is skipped.
    fn overrun(&mut self, at: usize, unfinished: u64, now_ns: u64) -> bool {
        let policy: Overrun = self.tasks[at].on_overrun;
        self.record(at, now_ns, Kind::Overrun, unfinished, policy as u64);
        let task = &mut self.tasks[at];
        let Some(job) = &mut task.job else { return false };
        match policy.remedy(Trouble::Due) {
            Remedy::Report | Remedy::Wait => false,
            Remedy::Drop => true,
            Remedy::End => {
                job.is_killed = true;
                false
            }
            Remedy::Demote => {
                job.sinks = true;
                true
            }
            Remedy::Stop => {
                self.control.overran(crate::names::position(task.in_plan));
                false
            }
        }
    }

    /// Each core decides, until nothing more happens at this instant.
    fn settle(&mut self, now_ns: u64) -> Result<(), Error> {
        loop {
            self.admit_ready()?;
            let mut has_completed = false;
            for core in 0..self.cores.len() {
                has_completed |= self.decide(core, now_ns)?;
            }
            if !has_completed {
                return Ok(());
            }
            // A job that ended may have sent a value, or have been in the way of another.
            self.poll();
            for task in 0..self.tasks.len() {
                while self.tasks[task].due.is_some_and(|due| due.at_ns <= now_ns) {
                    self.release(task, now_ns);
                }
            }
        }
    }

    /// Jobs whose place in their flows can be taken now become ready.
    fn admit_ready(&mut self) -> Result<(), Error> {
        self.admit();
        let now_ns = self.clock.now_ns();
        for task in &mut self.tasks {
            let Some(job) = task.job.as_mut().filter(|job| !job.is_admitted) else { continue };
            if task.context.admit(job.released.number, true) {
                job.is_admitted = true;
                self.cores[task.core].release(task.local, job.released.at_ns, now_ns)?;
            }
        }
        Ok(())
    }

    /// Takes the places of skipped releases in their flows, and retires tasks that are over.
    fn admit(&mut self) {
        for task in &mut self.tasks {
            if task.is_over {
                task.context.retire();
            } else if task.has_skipped && task.job.is_none() {
                task.has_skipped = !task.context.admit(task.number, false);
            }
        }
    }

    /// A core decides which job runs from now on. Returns whether that job ended instead: then the next job of its task may
    /// be ready for the core's next decision.
    fn decide(&mut self, core: usize, now_ns: u64) -> Result<bool, Error> {
        let Self { cores, tasks, turns, .. } = self;
        let sinks = |task: usize| tasks[task].job.as_ref().is_some_and(|job| job.sinks);
        let chosen = cores[core].decide(now_ns, sinks, turns)?;
        let before = cores[core].running;
        self.record_turns(core, now_ns);
        let cores = &mut self.cores;
        if chosen != before.map(|(task, _)| task) {
            cores[core].running = chosen.map(|task| (task, now_ns));
            if let Some((task, since_ns)) = before {
                self.stop(task, since_ns, now_ns);
            }
            if let Some(task) = chosen {
                self.start(task, now_ns);
            }
        }
        let ends = |task: &usize| self.tasks[*task].job.as_ref().is_some_and(|job| job.is_killed);
        match chosen.filter(ends) {
            Some(task) => self.complete(task, now_ns).map(|()| true),
            None => Ok(false),
        }
    }

    fn start(&mut self, at: usize, now_ns: u64) {
        self.tasks[at].run_budget(now_ns, true);
        let BenchTask { job, context, .. } = &mut self.tasks[at];
        let Some(job) = job else { return };
        let kind = if std::mem::replace(&mut job.has_started, true) { Kind::Resume } else { Kind::Start };
        if kind == Kind::Start && !context.begin_in_bench(job.released.at_ns) {
            // The job of a service that is paused or stopped does nothing.
            (job.execution_ns, job.left_ns) = (1, 1);
        }
        let number = job.released.number;
        self.record(at, now_ns, kind, number, 0);
    }

    fn stop(&mut self, at: usize, since_ns: u64, now_ns: u64) {
        self.tasks[at].run_budget(now_ns, false);
        let Some(job) = &mut self.tasks[at].job else { return };
        job.charge(since_ns, now_ns);
        let number = job.released.number;
        self.record(at, now_ns, Kind::Preempt, number, 0);
    }

    /// The running job of a task ends: its code runs now.
    fn complete(&mut self, at: usize, now_ns: u64) -> Result<(), Error> {
        let task = &mut self.tasks[at];
        let since_ns = self.cores[task.core].running.map_or(now_ns, |(_, since_ns)| since_ns);
        let Some(mut job) = task.job.take() else { return Ok(()) };
        job.charge(since_ns, now_ns);
        let bench = BenchJob {
            task: u32::try_from(task.local).unwrap_or(u32::MAX),
            execution: Duration::from_ns(job.execution_ns.saturating_sub(job.left_ns)),
            is_killed: job.is_killed,
            inside: None,
        };
        self.clock.begin_job();
        let goes_on = task.body.run_in_bench(&mut task.context, job.released, bench, now_ns);
        task.context.end_in_bench();
        task.context.note_completion(now_ns);
        task.is_over |= !goes_on;
        if task.is_over {
            (task.due, task.waiting) = (None, std::collections::VecDeque::new());
        }
        self.cores[task.core].complete(task.local, now_ns)?;
        if let Some(next) = task.waiting.pop_front() {
            task.begin(next);
        }
        let log = &mut self.log;
        task.drain.drain(|record| log.push(record));
        self.values.iter_mut().for_each(BenchValues::poll);
        self.parties.end_job();
        self.parties.has_acted = true;
        Ok(())
    }

    /// Records the servers of a core whose turns began or ended with its decision, as a dispatcher does.
    fn record_turns(&mut self, core: usize, now_ns: u64) {
        if self.turns.is_empty() {
            return;
        }
        let cpu = self.parties.app.plan.cores.get(core).map_or(u8::MAX, |core| cpu_number(core.cpu));
        let at = Instant::from_ns(now_ns);
        self.log.extend(self.turns.drain(..).map(|turn| turn.record(at, cpu)));
    }

    /// Records an event of a task.
    fn record(&mut self, at: usize, at_ns: u64, kind: Kind, job: u64, value: u64) {
        let Self { tasks, log, .. } = self;
        tasks[at].context.record(at_ns, kind, job, value);
        tasks[at].drain.drain(|record: Record| log.push(record));
    }

    /// The time since release 0.
    pub(super) fn since_release_0(at_ns: u64) -> Duration {
        Duration::from_ns(at_ns.saturating_sub(ORIGIN_NS))
    }
}
