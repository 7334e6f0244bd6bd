// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! SRP on one list that is searched from its head, against which [Gutierrez13, Appendix A] warns. It is wrong, and is
//! here only to show how.

use taut_policy::{LocalAnswer, Locking, Misuse, Scheduler};
use taut_time::{Duration, Instant};

/// Like `SrpList`, but a job is inserted before the first job that it precedes.
#[derive(Clone, Debug)]
pub struct FromHead {
    /// The running job is first.
    list: Vec<usize>,
    tasks: Vec<Task>,
    /// For each resource its ceiling, its holder, and the holder's level before the lock.
    resources: Vec<(Duration, Option<usize>, Duration)>,
    running: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Task {
    relative: Duration,
    due: Instant,
    /// The preemption level, as a relative deadline.
    level: Duration,
    held: u32,
}

impl FromHead {
    pub fn new(deadlines: &[Duration], ceilings: &[Duration]) -> Self {
        let task = |relative: &Duration| Task {
            relative: *relative,
            due: Instant::from_ns(u64::MAX),
            level: *relative,
            held: 0,
        };
        Self {
            list: Vec::new(),
            tasks: deadlines.iter().map(task).collect(),
            resources: ceilings.iter().map(|ceiling| (*ceiling, None, Duration::MAX)).collect(),
            running: None,
        }
    }

    /// The queue, the running job first.
    pub fn queue(&self) -> &[usize] {
        &self.list
    }

    fn enter(&mut self, task: usize) {
        let new = self.tasks[task];
        let before = |other: &usize| {
            let other = &self.tasks[*other];
            new.due < other.due && (other.held == 0 || new.level < other.level)
        };
        let at = self.list.iter().position(before).unwrap_or(self.list.len());
        self.list.insert(at, task);
    }

    fn leave(&mut self) -> Result<usize, Misuse> {
        let task = self.running.take().ok_or(Misuse::State)?;
        self.list.retain(|other| *other != task);
        Ok(task)
    }
}

impl Scheduler for FromHead {
    fn release(&mut self, task: usize, arrival: Instant) -> Result<(), Misuse> {
        let slot = self.tasks.get_mut(task).ok_or(Misuse::Task)?;
        slot.due = Instant::from_ns(arrival.as_ns().saturating_add(slot.relative.as_ns()));
        self.enter(task);
        Ok(())
    }

    fn suspend(&mut self) -> Result<usize, Misuse> {
        self.leave()
    }

    fn resume(&mut self, task: usize) -> Result<(), Misuse> {
        self.tasks.get(task).ok_or(Misuse::Task)?;
        self.enter(task);
        Ok(())
    }

    fn complete(&mut self) -> Result<usize, Misuse> {
        self.leave()
    }

    fn retire(&mut self, _: usize) -> Result<(), Misuse> {
        Ok(())
    }

    fn decide(&mut self) -> Option<usize> {
        self.running = self.list.first().copied();
        self.running
    }

    fn running(&self) -> Option<usize> {
        self.running
    }
}

impl Locking for FromHead {
    fn lock(&mut self, _: Instant, resource: usize) -> Result<LocalAnswer, Misuse> {
        let task = self.running.ok_or(Misuse::State)?;
        let place = self.resources.get_mut(resource).ok_or(Misuse::Resource)?;
        if place.1.is_some() {
            return Ok(LocalAnswer::Broken);
        }
        let slot = &mut self.tasks[task];
        (place.1, place.2) = (Some(task), slot.level);
        slot.held += 1;
        slot.level = slot.level.min(place.0);
        Ok(LocalAnswer::Granted)
    }

    fn unlock(&mut self, resource: usize) -> Result<(), Misuse> {
        let place = self.resources.get_mut(resource).ok_or(Misuse::Resource)?;
        let task = place.1.take().ok_or(Misuse::NotHolder)?;
        let slot = &mut self.tasks[task];
        slot.level = place.2;
        slot.held -= 1;
        self.list.retain(|other| *other != task);
        self.enter(task);
        Ok(())
    }

    fn holder(&self, resource: usize) -> Option<usize> {
        self.resources.get(resource)?.1
    }

    fn check_state(&self) -> Result<(), &'static str> {
        Ok(())
    }
}
