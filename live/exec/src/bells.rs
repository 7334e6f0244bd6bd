// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a core's dispatcher listens to while it sleeps, besides its calendar.

use taut_lock::{Listener, Rings};
use taut_sys::futex::{self, WORDS_MAX};

use crate::shared::{Inside, Shared};
use crate::state::NEVER;
use crate::worker::Works;

/// The bells of a core.
#[derive(Debug, Default)]
pub(crate) struct Bells<'w> {
    tasks: Vec<TaskBell<'w>>,
    /// Behind which tasks may be admitted, and how often they had rung when those were last asked.
    admission: Vec<(Listener<'w>, Option<Rings>)>,
}

/// One that tells of something to do for tasks.
#[derive(Debug)]
struct TaskBell<'w> {
    tasks: Vec<u32>,
    bell: Listener<'w>,
    /// How often it had rung when the tasks were last asked.
    answered: Option<Rings>,
    /// For how long nobody listens when it has rung.
    apart_ns: u64,
    /// Until when nobody listens.
    deaf_ns: u64,
}

impl<'w> Bells<'w> {
    /// One for a task; `None` if there are too many.
    pub(crate) fn add(&mut self, task: u32, bell: Listener<'w>, apart_ns: u64) -> Option<()> {
        let same = |of: &&mut TaskBell<'_>| of.apart_ns == apart_ns && of.bell.is_of_same(&bell);
        if let Some(of) = self.tasks.iter_mut().find(same) {
            of.tasks.push(task);
            return Some(());
        }
        self.has_room()?;
        self.tasks.push(TaskBell { tasks: vec![task], bell, answered: None, apart_ns, deaf_ns: 0 });
        Some(())
    }

    /// One behind which tasks may be admitted; `None` if there are too many.
    pub(crate) fn add_admission(&mut self, bell: Listener<'w>) -> Option<()> {
        self.has_room()?;
        self.admission.push((bell, None));
        Some(())
    }

    /// One word is that of calls.
    fn has_room(&self) -> Option<()> {
        (self.tasks.len() + self.admission.len() + 1 < WORDS_MAX).then_some(())
    }

    /// Nobody is asked before an instant.
    pub(crate) fn begin_at(&mut self, origin_ns: u64) {
        self.tasks.iter_mut().for_each(|bell| bell.deaf_ns = origin_ns);
    }

    /// Before the dispatcher asks who may be admitted.
    pub(crate) fn look(&mut self) {
        self.admission.iter_mut().for_each(|(bell, looked)| *looked = Some(bell.rings()));
    }

    /// Asks the tasks whose bells have rung. One that has a job is asked when that is complete.
    pub(crate) fn answer(
        &mut self,
        shared: &Shared,
        works: &Works<'_>,
        inside: &mut Inside<'_>,
        now_ns: u64,
    ) {
        for bell in self.tasks.iter_mut().filter(|bell| bell.deaf_ns <= now_ns) {
            let rings = bell.bell.rings();
            if bell.answered.replace(rings) != Some(rings) {
                bell.deaf_ns = now_ns.saturating_add(bell.apart_ns);
                for task in &bell.tasks {
                    shared.held(*task, works.poll(inside, *task, true, now_ns));
                }
            }
        }
    }

    /// Sleeps until called, until one rings, or until an instant; `now_ns` is when they were answered. Where something
    /// `waits` to be admitted, it listens for that too.
    pub(crate) fn sleep(&self, shared: &Shared, calls: u32, (until_ns, now_ns): (u64, u64), waits: bool) {
        let mut words = [shared.awaited(calls); WORDS_MAX];
        let (mut count, mut until_ns) = (1, until_ns);
        let admission = self.admission.iter().filter(|_| waits).map(|(bell, looked)| (bell, *looked));
        let tasks = self.tasks.iter().filter(|bell| bell.deaf_ns <= now_ns);
        for (bell, answered) in tasks.map(|bell| (&bell.bell, bell.answered)).chain(admission) {
            // It has rung meanwhile.
            let Some(awaited) = answered.and_then(|rings| bell.awaited(rings)) else { return };
            words[count] = awaited;
            count += 1;
        }
        for bell in self.tasks.iter().filter(|bell| bell.deaf_ns > now_ns) {
            until_ns = until_ns.min(bell.deaf_ns);
        }
        if count == 1 {
            return shared.sleep(calls, until_ns);
        }
        let until = (until_ns != NEVER).then_some(until_ns);
        // Every reason to return is one to look again.
        let _ = futex::wait_any(&words[..count], until);
    }
}
