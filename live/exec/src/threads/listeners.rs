// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The event counts that a core's dispatcher listens to while it sleeps, besides its calendar.

use taut_lock::{Epoch, Listener};
use taut_sys::futex::{self, WORDS_MAX};

use crate::ready::state::NEVER;
use crate::shared::{Inside, Shared};
use crate::threads::worker::Works;

/// The event counts of a core.
#[derive(Debug, Default)]
pub(crate) struct Listeners<'w> {
    tasks: Vec<TaskListener<'w>>,
    /// Those after which tasks may be admitted, with the epoch at which the dispatcher last asked for admission.
    admission: Vec<(Listener<'w>, Option<Epoch>)>,
}

/// An event count that announces work for tasks.
#[derive(Debug)]
struct TaskListener<'w> {
    tasks: Vec<u32>,
    events: Listener<'w>,
    /// The epoch at which the dispatcher last asked the tasks.
    answered: Option<Epoch>,
    /// For how long the dispatcher does not listen after an event, ns.
    apart_ns: u64,
    /// When the dispatcher listens again, ns.
    listens_from_ns: u64,
}

impl<'w> Listeners<'w> {
    /// Adds an event count for a task; `None` if there are too many.
    pub(crate) fn add(&mut self, task: u32, events: Listener<'w>, apart_ns: u64) -> Option<()> {
        let same = |of: &&mut TaskListener<'_>| of.apart_ns == apart_ns && of.events.is_of_same(&events);
        if let Some(of) = self.tasks.iter_mut().find(same) {
            of.tasks.push(task);
            return Some(());
        }
        self.has_room()?;
        self.tasks.push(TaskListener {
            tasks: vec![task],
            events,
            answered: None,
            apart_ns,
            listens_from_ns: 0,
        });
        Some(())
    }

    /// Adds an event count after which tasks may be admitted; `None` if there are too many.
    pub(crate) fn add_admission(&mut self, events: Listener<'w>) -> Option<()> {
        self.has_room()?;
        self.admission.push((events, None));
        Some(())
    }

    /// One word is taken by the calls of the dispatcher.
    fn has_room(&self) -> Option<()> {
        (self.tasks.len() + self.admission.len() + 1 < WORDS_MAX).then_some(())
    }

    /// The dispatcher asks no task before `origin_ns`.
    pub(crate) fn begin_at(&mut self, origin_ns: u64) {
        self.tasks.iter_mut().for_each(|events| events.listens_from_ns = origin_ns);
    }

    /// Reads the epochs. Called before the dispatcher asks for admission.
    pub(crate) fn look(&mut self) {
        self.admission.iter_mut().for_each(|(events, looked)| *looked = Some(events.epoch()));
    }

    /// Asks the tasks whose event counts were notified. A task that has a job is asked when the job is complete.
    pub(crate) fn answer(
        &mut self,
        shared: &Shared,
        works: &Works<'_>,
        inside: &mut Inside<'_>,
        now_ns: u64,
    ) {
        for events in self.tasks.iter_mut().filter(|events| events.listens_from_ns <= now_ns) {
            let epoch = events.events.epoch();
            let before = events.answered.replace(epoch);
            if before == Some(epoch) {
                continue;
            }
            // What was announced while the dispatcher did not listen counts as found at the end of that time, as if the
            // event before had released a job.
            let found_ns = if events.apart_ns > 0 { events.listens_from_ns } else { 0 };
            // The first look is no event.
            if before.is_some() {
                events.listens_from_ns = now_ns.saturating_add(events.apart_ns);
            }
            for task in &events.tasks {
                shared.or_abort(*task, works.poll(inside, *task, true, (found_ns, now_ns)));
            }
        }
    }

    /// Sleeps until a call, until an event, or until an instant; `now_ns` is when the events were last answered. If a
    /// release `waits` for admission, it listens for that too.
    pub(crate) fn sleep(&self, shared: &Shared, calls: u32, (until_ns, now_ns): (u64, u64), waits: bool) {
        let mut words = [shared.awaited(calls); WORDS_MAX];
        let (mut count, mut until_ns) = (1, until_ns);
        let admission = self.admission.iter().filter(|_| waits).map(|(events, looked)| (events, *looked));
        let tasks = self.tasks.iter().filter(|events| events.listens_from_ns <= now_ns);
        for (events, answered) in tasks.map(|events| (&events.events, events.answered)).chain(admission) {
            // It was notified meanwhile.
            let Some(awaited) = answered.and_then(|epoch| events.awaited(epoch)) else { return };
            words[count] = awaited;
            count += 1;
        }
        for events in self.tasks.iter().filter(|events| events.listens_from_ns > now_ns) {
            until_ns = until_ns.min(events.listens_from_ns);
        }
        if count == 1 {
            return shared.sleep(calls, until_ns);
        }
        let until = (until_ns != NEVER).then_some(until_ns);
        // After any return the dispatcher looks again.
        let _ = futex::wait_any(&words[..count], until);
    }
}
