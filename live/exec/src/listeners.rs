// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a core's dispatcher listens to while it sleeps, besides its calendar.

use taut_lock::{Epoch, Listener};
use taut_sys::futex::{self, WORDS_MAX};

use crate::shared::{Inside, Shared};
use crate::state::NEVER;
use crate::worker::Works;

/// The bells of a core.
#[derive(Debug, Default)]
pub(crate) struct Listeners<'w> {
    tasks: Vec<TaskListener<'w>>,
    /// Behind which tasks may be admitted, and how often they had rung when those were last asked.
    admission: Vec<(Listener<'w>, Option<Epoch>)>,
}

/// One that tells of something to do for tasks.
#[derive(Debug)]
struct TaskListener<'w> {
    tasks: Vec<u32>,
    events: Listener<'w>,
    /// How often it had rung when the tasks were last asked.
    answered: Option<Epoch>,
    /// For how long nobody listens when it has rung.
    apart_ns: u64,
    /// Until when nobody listens.
    deaf_ns: u64,
}

impl<'w> Listeners<'w> {
    /// One for a task; `None` if there are too many.
    pub(crate) fn add(&mut self, task: u32, events: Listener<'w>, apart_ns: u64) -> Option<()> {
        let same = |of: &&mut TaskListener<'_>| of.apart_ns == apart_ns && of.events.is_of_same(&events);
        if let Some(of) = self.tasks.iter_mut().find(same) {
            of.tasks.push(task);
            return Some(());
        }
        self.has_room()?;
        self.tasks.push(TaskListener { tasks: vec![task], events, answered: None, apart_ns, deaf_ns: 0 });
        Some(())
    }

    /// One behind which tasks may be admitted; `None` if there are too many.
    pub(crate) fn add_admission(&mut self, events: Listener<'w>) -> Option<()> {
        self.has_room()?;
        self.admission.push((events, None));
        Some(())
    }

    /// One word is that of calls.
    fn has_room(&self) -> Option<()> {
        (self.tasks.len() + self.admission.len() + 1 < WORDS_MAX).then_some(())
    }

    /// Nobody is asked before an instant.
    pub(crate) fn begin_at(&mut self, origin_ns: u64) {
        self.tasks.iter_mut().for_each(|events| events.deaf_ns = origin_ns);
    }

    /// Before the dispatcher asks who may be admitted.
    pub(crate) fn look(&mut self) {
        self.admission.iter_mut().for_each(|(events, looked)| *looked = Some(events.epoch()));
    }

    /// Asks the tasks whose bells have rung. One that has a job is asked when that is complete.
    pub(crate) fn answer(
        &mut self,
        shared: &Shared,
        works: &Works<'_>,
        inside: &mut Inside<'_>,
        now_ns: u64,
    ) {
        for events in self.tasks.iter_mut().filter(|events| events.deaf_ns <= now_ns) {
            let epoch = events.events.epoch();
            if events.answered.replace(epoch) != Some(epoch) {
                events.deaf_ns = now_ns.saturating_add(events.apart_ns);
                for task in &events.tasks {
                    shared.or_abort(*task, works.poll(inside, *task, true, now_ns));
                }
            }
        }
    }

    /// Sleeps until called, until one rings, or until an instant; `now_ns` is when they were answered. Where something
    /// `waits` to be admitted, it listens for that too.
    pub(crate) fn sleep(&self, shared: &Shared, calls: u32, (until_ns, now_ns): (u64, u64), waits: bool) {
        let mut words = [shared.awaited(calls); WORDS_MAX];
        let (mut count, mut until_ns) = (1, until_ns);
        let admission = self.admission.iter().filter(|_| waits).map(|(events, looked)| (events, *looked));
        let tasks = self.tasks.iter().filter(|events| events.deaf_ns <= now_ns);
        for (events, answered) in tasks.map(|events| (&events.events, events.answered)).chain(admission) {
            // It has rung meanwhile.
            let Some(awaited) = answered.and_then(|epoch| events.awaited(epoch)) else { return };
            words[count] = awaited;
            count += 1;
        }
        for events in self.tasks.iter().filter(|events| events.deaf_ns > now_ns) {
            until_ns = until_ns.min(events.deaf_ns);
        }
        if count == 1 {
            return shared.sleep(calls, until_ns);
        }
        let until = (until_ns != NEVER).then_some(until_ns);
        // Every reason to return is one to look again.
        let _ = futex::wait_any(&words[..count], until);
    }
}
