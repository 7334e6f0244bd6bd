// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which job runs, given the background and the servers, and for how long it may run.

use taut_event::{Event, Kind};
use taut_policy::{Misuse, Remedy, Trouble};
use taut_sys::clock;
use taut_time::{Duration, Instant};

use crate::ready::state::{NEVER, State};

/// A budget below this counts as used up: to check it again takes as long.
const LEAST_LEFT: Duration = Duration::from_us(50);
/// How often the dispatcher measures whether a job that has had its budget by the clock really used up its own
/// budget, or its server's. The limit makes the checks end, even if they take all the time that is left.
pub(crate) const LOOKS: u8 = 32;

impl State {
    /// The job that ran no longer has the core.
    pub(crate) fn account(&mut self, now_ns: u64) {
        if let Some(task) = self.tasks.get_mut(self.running.task as usize) {
            task.budget.stop(Instant::from_ns(now_ns));
        }
    }

    /// Which job runs from now on, by the rule, the servers and the background. Jobs that are to go into the
    /// background go first. Reads the time only if there are servers.
    #[inline]
    pub(crate) fn decide(&mut self, now: impl FnOnce() -> u64) -> Result<Option<usize>, Misuse> {
        if !self.serving.is_empty() {
            return self.decide_served(now());
        }
        let Self { rule, background, tasks, .. } = self;
        Ok(background.decide_leaving(rule, |task| tasks[task].sinks))
    }

    /// Called before servers are advanced in time. The server that has the core is not charged for time that others
    /// used without this core's knowledge. The processor time of the server's own threads shows that, if enough time
    /// has passed to be worth a check.
    pub(crate) fn look_at_server(&mut self, now_ns: u64) -> Result<(), Misuse> {
        let Some((server, task, passed_ns)) = self.serving.running(&self.rule, now_ns) else { return Ok(()) };
        let Some(slot) = self.tasks.get_mut(task) else { return Ok(()) };
        let Some(worker) = self.priorities.workers.get(slot.worker as usize) else { return Ok(()) };
        let own_ns = if slot.began_ns == NEVER {
            // Its thread has not yet begun the job.
            0
        } else if passed_ns < LEAST_LEFT.as_ns() || slot.looks_left == 0 {
            slot.seen_ns = Some(slot.seen_ns().saturating_add_unsigned(passed_ns));
            return Ok(());
        } else {
            let donee_ns = if worker.donee == 0 { 0 } else { clock::cpu_ns_of(worker.donee) };
            let used_ns = clock::cpu_ns_of(worker.tid).saturating_add(donee_ns) as i64;
            let before_ns = slot.seen_ns.replace(used_ns).unwrap_or(slot.began_ns as i64);
            used_ns.saturating_sub(before_ns).max(0) as u64
        };
        let others_ns = passed_ns.saturating_sub(own_ns);
        if others_ns < LEAST_LEFT.as_ns() || slot.looks_left == 0 {
            return Ok(());
        }
        slot.looks_left -= 1;
        let (passed, others) = (Duration::from_ns(passed_ns), Duration::from_ns(others_ns));
        self.log.event(now_ns, Event::Beside { server: self.serving.subjects[server], passed, others });
        self.serving.pass_beside(&mut self.rule, others_ns, now_ns)
    }

    #[cold]
    fn decide_served(&mut self, now_ns: u64) -> Result<Option<usize>, Misuse> {
        let Self { rule, background, tasks, serving, running, .. } = self;
        running.in_background = false;
        serving.note_turns(rule, now_ns);
        loop {
            serving.decide(rule, now_ns)?;
            let Some(chosen) = background.decide(rule) else {
                running.in_background = true;
                return Ok(serving.spare());
            };
            // Servers are numbered after the tasks.
            let sinks = background.running().is_none() && tasks.get(chosen).is_some_and(|task| task.sinks);
            if !sinks || background.demote(rule).is_err() {
                return Ok(serving.task(chosen));
            }
        }
    }

    /// The dispatcher records the servers whose turns began or ended with its decision, because time did that.
    pub(crate) fn log_turns(&mut self, now_ns: u64) {
        for (subject, left_ns) in self.serving.changed() {
            // What it may use at once.
            let budget = Duration::from_ns(left_ns);
            self.log.event(now_ns, Event::Budget { server: subject, budget });
        }
    }

    /// Called before the running job asks for a resource. If the job is in the background, it goes back to its place
    /// in the rule, which runs it, because no other job there wants to run. The next decision that finds it without a
    /// resource demotes it again.
    pub(crate) fn lift(&mut self) -> Result<(), Misuse> {
        if self.background.running().is_some() {
            self.background.lift(&mut self.rule)?;
            self.background.decide(&mut self.rule);
        }
        Ok(())
    }

    /// The dispatcher checks whether the job that has run until now has used up its budget.
    pub(crate) fn look_at_budget(&mut self, now_ns: u64) {
        let Some(slot) = self.tasks.get_mut(self.running.task as usize) else { return };
        let now = Instant::from_ns(now_ns);
        if slot.exhausted || !slot.budget.is_used_up(now) {
            return;
        }
        // The budget is used up by the clock. But others may have had the processor without this core's knowledge, or
        // the job was stopped.
        if let Some(left) = slot.looks_left.checked_sub(1) {
            slot.looks_left = left;
            let worker = self.priorities.workers.get(slot.worker as usize);
            let used_ns =
                worker.map_or(0, |worker| clock::cpu_ns_of(worker.tid).saturating_sub(slot.began_ns));
            slot.budget.found(Duration::from_ns(used_ns), now);
            if slot.budget.left(now) > LEAST_LEFT {
                return;
            }
        }
        slot.exhausted = true;
        slot.outcome.exhausted += 1;
        match slot.overrun.remedy(Trouble::UsedUp) {
            Remedy::Report | Remedy::Wait | Remedy::Drop => {}
            Remedy::End => (slot.killed, slot.sinks) = (true, true),
            Remedy::Demote => slot.sinks = true,
            Remedy::Stop => self.dispatcher.stopped_by = self.running.task,
        }
        let (number, budget_ns) = (slot.job.number, slot.budget_ns);
        self.log.job(now_ns, Kind::Exhausted, self.running.task, number, budget_ns);
        self.update_fast_path_owner();
    }

    /// When the running job has used up its budget, or a server has one again, whichever comes first, ns.
    pub(crate) fn budget_end(&self) -> u64 {
        let slot = self.tasks.get(self.running.task as usize).filter(|slot| !slot.exhausted);
        let end_ns = slot.and_then(|slot| slot.budget.used_up()).map_or(NEVER, |end| end.as_ns());
        end_ns.min(self.serving.next_ns(&self.rule).unwrap_or(NEVER))
    }
}

#[cfg(test)]
mod tests {
    use taut_policy::any_queue;
    use taut_policy::server::ServerPolicy;
    use taut_trace::{RingOwner, ring};

    use super::*;
    use crate::ready::jobs::Task;
    use crate::ready::log::{Log, RecordingLevel};
    use crate::ready::rule::Attributes;
    use crate::ready::serving::Serving;
    use crate::ready::worker_priorities::WorkerPriorities;
    use crate::server::{ServerId, ServerSetup};
    use crate::task::{Release, TaskSetup};
    use taut_policy::LocalRule;

    const MS: u64 = 1_000_000;
    /// No process has so many threads: this one's processor time is 0.
    const NO_THREAD: i32 = 100_000_000;

    /// Others have the core for as long as a server's job could run. The server is not charged, until there were as
    /// many checks as a job has. Then it is charged, and its budget ends.
    #[test]
    fn looks_at_a_server_end() {
        let (budget, period) = (Duration::from_ms(20), Duration::from_ms(1_000));
        let server = ServerSetup::new("s", ServerPolicy::Deferrable, budget, period);
        let serving = Serving::new(1, &[server], Box::new([0])).unwrap();
        let attributes =
            Attributes { priorities: vec![1; 2], deadlines: vec![period; 2], ..Attributes::default() };
        let mut task = TaskSetup::new("t", Release::ByHand);
        task.server = Some(ServerId { brand: 0, server: 0 });
        let (recorder, mut drain) = ring(RingOwner::Task(0), 256);
        let log = Log {
            recorder: Some(recorder),
            level: RecordingLevel::Jobs,
            cpu: 0,
            core: 0,
            tasks: Box::new([0]),
            resources: Box::default(),
            stated: Box::default(),
        };
        let rule = (attributes.rule(LocalRule::Immediate).unwrap(), serving);
        let tasks = Box::new([Task::new(&task, LocalRule::Immediate)]);
        let mut state = State::new(rule, tasks, any_queue(1), WorkerPriorities::new(1, false), log);
        let mut now_ns = MS;
        state.begin_at(now_ns);
        state.release(0, now_ns, now_ns).unwrap();
        assert_eq!(state.decide(|| now_ns), Ok(Some(0)));
        // The thread has begun the job, and had no processor time since.
        (state.tasks[0].worker, state.tasks[0].began_ns) = (0, 0);
        state.priorities.workers[0].tid = NO_THREAD;
        let mut in_background = Vec::new();
        for _ in 0..2 * LOOKS {
            now_ns += MS;
            state.look_at_server(now_ns).unwrap();
            assert_eq!(state.decide(|| now_ns), Ok(Some(0)), "nothing else wants to run");
            in_background.push(state.running.in_background);
        }
        let charged = usize::from(LOOKS) + 20;
        assert!(
            !in_background[..charged - 1].contains(&true) && in_background[charged - 1],
            "{in_background:?}"
        );
        let mut beside = Vec::new();
        drain.drain(|record| beside.extend((record.kind == Kind::Beside).then_some(record.value)));
        assert_eq!(beside, [MS; LOOKS as usize]);
    }
}
