// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_time::Instant;

use crate::queue::{QueueEnd, ReadyQueue};
use crate::sections::{Last, Sections};
use crate::{LocalResource, Misuse, Scheduler, Store};

/// What a rule knows about a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The base of its jobs' ranks: a rank under fixed priority, the relative deadline under EDF.
    pub(crate) base: u64,
    /// Its current rank, while it does not run.
    pub(crate) rank: u64,
    pub(crate) state: State,
    /// The resource that it locked last, while it does not run.
    last: Last,
    /// For the rule's own use.
    pub(crate) aux: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The task has no job, or its job is complete.
    Idle,
    /// The task runs, or is in the ready queue.
    Ready,
    Suspended,
    /// The task waits for a local resource.
    Blocked,
}

impl Slot {
    /// No task yet.
    pub const EMPTY: Self = Self { base: 0, rank: 0, state: State::Idle, last: Last::NOTHING, aux: u32::MAX };
}

/// The resources of rules without locks.
pub(crate) type NoResources = [LocalResource; 0];

/// The common part of all rules under which the ready task of least rank runs and a task of equal rank does not
/// preempt it. The rank of the running task is the ceiling of `sections`.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Ranked<Q, S, R> {
    pub(crate) sections: Sections<R>,
    pub(crate) ready: Q,
    pub(crate) slots: S,
}

impl<Q: ReadyQueue, S: Store<Slot>, R: Store<LocalResource>> Ranked<Q, S, R> {
    pub(crate) fn new(
        ready: Q,
        mut slots: S,
        bases: impl Iterator<Item = u64>,
        resources: R,
        limits: impl Iterator<Item = u64>,
    ) -> Result<Self, Misuse> {
        let capacity = ready.capacity();
        let places = slots.as_mut();
        places.fill(Slot::EMPTY);
        for (task, base) in bases.enumerate() {
            let slot = places.get_mut(task).filter(|_| task < capacity).ok_or(Misuse::Task)?;
            *slot = Slot { base, rank: base, ..Slot::EMPTY };
        }
        Ok(Self { ready, slots, sections: Sections::new(resources, limits)? })
    }

    #[inline]
    pub(crate) fn running(&self) -> Option<usize> {
        self.sections.running()
    }

    #[inline]
    pub(crate) fn slot(&self, task: usize) -> &Slot {
        &self.slots.as_ref()[task]
    }

    #[inline]
    pub(crate) fn slot_mut(&mut self, task: usize) -> &mut Slot {
        &mut self.slots.as_mut()[task]
    }

    /// The base of a task's ranks.
    pub(crate) fn base(&self, task: usize) -> Result<u64, Misuse> {
        self.slots.as_ref().get(task).map(|slot| slot.base).ok_or(Misuse::Task)
    }

    /// Changes the base of a task that has no job.
    pub(crate) fn set_base(&mut self, task: usize, base: u64) -> Result<(), Misuse> {
        self.in_state(task, State::Idle)?;
        self.slot_mut(task).base = base;
        Ok(())
    }

    /// A task's current rank.
    pub(crate) fn rank(&self, task: usize) -> u64 {
        if self.running() == Some(task) { self.sections.ceiling() } else { self.slot(task).rank }
    }

    /// The task's slot, if the task exists and is in the given state.
    pub(crate) fn in_state(&self, task: usize, state: State) -> Result<&Slot, Misuse> {
        let slot = self.slots.as_ref().get(task).ok_or(Misuse::Task)?;
        if slot.state == state { Ok(slot) } else { Err(Misuse::State) }
    }

    /// Makes a task ready, behind its equals.
    pub(crate) fn admit(&mut self, task: usize, from: State, rank: u64) -> Result<(), Misuse> {
        self.in_state(task, from)?;
        self.ready.insert(task, rank, QueueEnd::Back)?;
        let slot = self.slot_mut(task);
        (slot.rank, slot.state) = (rank, State::Ready);
        self.sections.ask_anew();
        Ok(())
    }

    /// The running task leaves the ready state.
    pub(crate) fn leave(&mut self, to: State) -> Result<usize, Misuse> {
        let task = self.sections.runner()?;
        if self.sections.holds() {
            return Err(Misuse::Holding);
        }
        self.stop();
        self.slot_mut(task).state = to;
        Ok(task)
    }

    /// Stops the running task, which is in no uncontended section, and saves its rank and the resource it locked last
    /// in its slot.
    pub(crate) fn stop(&mut self) -> Option<usize> {
        let task = self.running()?;
        let (rank, last) = (self.sections.ceiling(), self.sections.stop());
        let slot = self.slot_mut(task);
        (slot.rank, slot.last) = (rank, last);
        Some(task)
    }

    pub(crate) fn retire(&mut self, task: usize) -> Result<(), Misuse> {
        self.in_state(task, State::Suspended)?;
        self.slot_mut(task).state = State::Idle;
        Ok(())
    }

    #[inline]
    pub(crate) fn decide(&mut self) -> Option<usize> {
        // The early return also serves a band, which is empty most of the time.
        if self.sections.goes_on() || self.running().is_none() && self.ready.first().is_none() {
            return self.running();
        }
        self.decide_anew()
    }

    #[inline(never)]
    fn decide_anew(&mut self) -> Option<usize> {
        if let Some((first, rank)) = self.ready.first()
            && (self.running().is_none() || rank < self.sections.ceiling())
        {
            self.take_over(first, rank);
        }
        self.sections.decided(self.ready.first().map_or(u64::MAX, |(_, rank)| rank));
        self.running()
    }

    /// The first ready task replaces the running one.
    fn take_over(&mut self, first: usize, rank: u64) {
        self.ready.take_first();
        if let Some(running) = self.stop() {
            let own = self.slot(running).rank;
            // The task came out of this queue, so there is room; its rank was accepted before, or is that of a
            // ceiling.
            let _ = self.ready.insert(running, own, QueueEnd::Front);
        }
        let last = self.slot(first).last;
        self.sections.start(first, last, rank);
    }

    /// Checks that no ready task goes before the running one.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let ready = |task| self.slot(task).state == State::Ready;
        let first = self.ready.first().map(|(_, rank)| rank);
        self.sections.check_next(first)?;
        match (self.running(), first) {
            (None, Some(_)) => Err("a task is ready, but no task runs"),
            (Some(running), _) if !ready(running) => Err("the running task is not ready"),
            (Some(_), Some(rank)) if rank < self.sections.ceiling() => {
                Err("a ready task precedes the running one")
            }
            _ => Ok(()),
        }
    }
}

/// A rule under which the ready task of least rank runs. The rule only determines the rank with which a job starts.
pub(crate) trait ByRank {
    type Ready: ReadyQueue;
    type Slots: Store<Slot>;
    type Resources: Store<LocalResource>;

    fn ranked(&self) -> &Ranked<Self::Ready, Self::Slots, Self::Resources>;

    fn ranked_mut(&mut self) -> &mut Ranked<Self::Ready, Self::Slots, Self::Resources>;

    /// The rank of a job with this arrival, from its task's base.
    fn rank(base: u64, arrival: Instant) -> u64;

    /// [`Scheduler::decide`].
    #[inline]
    fn choose(&mut self) -> Option<usize> {
        self.ranked_mut().decide()
    }
}

impl<B: ByRank> Scheduler for B {
    fn release(&mut self, task: usize, arrival: Instant) -> Result<(), Misuse> {
        let rank = B::rank(self.ranked().in_state(task, State::Idle)?.base, arrival);
        self.ranked_mut().admit(task, State::Idle, rank)
    }

    fn suspend(&mut self) -> Result<usize, Misuse> {
        self.ranked_mut().leave(State::Suspended)
    }

    fn resume(&mut self, task: usize) -> Result<(), Misuse> {
        // It held nothing when it suspended, so its rank was that with which its job started.
        let rank = self.ranked().in_state(task, State::Suspended)?.rank;
        self.ranked_mut().admit(task, State::Suspended, rank)
    }

    fn complete(&mut self) -> Result<usize, Misuse> {
        self.ranked_mut().leave(State::Idle)
    }

    fn retire(&mut self, task: usize) -> Result<(), Misuse> {
        self.ranked_mut().retire(task)
    }

    #[inline]
    fn decide(&mut self) -> Option<usize> {
        self.choose()
    }

    fn running(&self) -> Option<usize> {
        self.ranked().running()
    }
}
