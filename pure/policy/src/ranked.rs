// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_time::Instant;

use crate::queue::{End, ReadyQueue};
use crate::{Answer, Misuse, Scheduler, Store};

/// What a rule knows of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// What the rule starts from: a rank under fixed priority, the relative deadline under EDF.
    pub(crate) base: u64,
    /// Where it stands now.
    pub(crate) rank: u64,
    pub(crate) state: State,
    /// How many resources it holds.
    pub(crate) held: u32,
    /// By the rule.
    pub(crate) aux: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// No job, or its job is complete.
    Idle,
    /// It runs, or is in the ready queue.
    Ready,
    Suspended,
    /// It waits for a local resource.
    Blocked,
}

impl Slot {
    /// No task yet.
    pub const EMPTY: Self = Self { base: 0, rank: 0, state: State::Idle, held: 0, aux: u32::MAX };
}

/// What all rules share in which the ready task of least rank runs, and an equal one does not preempt.
#[derive(Clone, Debug)]
pub(crate) struct Ranked<Q, S> {
    pub(crate) ready: Q,
    pub(crate) slots: S,
    pub(crate) running: Option<usize>,
}

impl<Q: ReadyQueue, S: Store<Slot>> Ranked<Q, S> {
    pub(crate) fn new(ready: Q, mut slots: S, bases: impl Iterator<Item = u64>) -> Result<Self, Misuse> {
        let capacity = ready.capacity();
        let places = slots.as_mut();
        places.fill(Slot::EMPTY);
        for (task, base) in bases.enumerate() {
            let slot = places.get_mut(task).filter(|_| task < capacity).ok_or(Misuse::Task)?;
            *slot = Slot { base, rank: base, ..Slot::EMPTY };
        }
        Ok(Self { ready, slots, running: None })
    }

    #[inline]
    pub(crate) fn slot(&self, task: usize) -> &Slot {
        &self.slots.as_ref()[task]
    }

    #[inline]
    pub(crate) fn slot_mut(&mut self, task: usize) -> &mut Slot {
        &mut self.slots.as_mut()[task]
    }

    /// The task's slot if it exists and is in a state.
    pub(crate) fn in_state(&self, task: usize, state: State) -> Result<&Slot, Misuse> {
        let slot = self.slots.as_ref().get(task).ok_or(Misuse::Task)?;
        if slot.state == state { Ok(slot) } else { Err(Misuse::State) }
    }

    /// A task that was not ready comes behind its equals.
    pub(crate) fn admit(&mut self, task: usize, from: State, rank: u64) -> Result<(), Misuse> {
        self.in_state(task, from)?;
        self.ready.insert(task, rank, End::Back)?;
        let slot = self.slot_mut(task);
        (slot.rank, slot.state) = (rank, State::Ready);
        Ok(())
    }

    /// What runs leaves.
    pub(crate) fn leave(&mut self, to: State) -> Result<usize, Misuse> {
        let task = self.running.ok_or(Misuse::State)?;
        let slot = self.slot_mut(task);
        if slot.held > 0 && to != State::Blocked {
            return Err(Misuse::Holding);
        }
        slot.state = to;
        self.running = None;
        Ok(task)
    }

    pub(crate) fn retire(&mut self, task: usize) -> Result<(), Misuse> {
        self.in_state(task, State::Suspended)?;
        self.slot_mut(task).state = State::Idle;
        Ok(())
    }

    /// A resource that the task takes, which runs: from now on it stands at `rank` at least.
    #[inline]
    pub(crate) fn take(&mut self, task: usize, held: &mut Held, rank: u64) -> Result<Answer, Misuse> {
        match held.holder() {
            Some(holder) if holder == task => return Err(Misuse::Again),
            Some(_) => return Ok(Answer::Broken),
            None => {}
        }
        let slot = self.slot_mut(task);
        slot.held += 1;
        *held = Held { holder: task as u32, depth: slot.held, before: slot.rank };
        slot.rank = slot.rank.min(rank);
        Ok(Answer::Granted)
    }

    /// The task, which runs, gives it back, and stands where it stood before.
    #[inline]
    pub(crate) fn give_back(&mut self, task: usize, held: &mut Held) -> Result<(), Misuse> {
        let slot = self.slot_mut(task);
        if held.holder() != Some(task) || held.depth != slot.held {
            return Err(Misuse::NotHolder);
        }
        slot.rank = held.before;
        slot.held -= 1;
        *held = Held::FREE;
        Ok(())
    }

    /// The task that runs, to lock or unlock.
    #[inline]
    pub(crate) fn runner(&self) -> Result<usize, Misuse> {
        self.running.ok_or(Misuse::State)
    }

    #[inline]
    pub(crate) fn decide(&mut self) -> Option<usize> {
        let Some((first, rank)) = self.ready.first() else { return self.running };
        if self.running.is_some_and(|running| rank >= self.slot(running).rank) {
            return self.running;
        }
        self.take_over(first)
    }

    /// The first that is ready runs in place of who runs.
    #[inline(never)]
    fn take_over(&mut self, first: usize) -> Option<usize> {
        self.ready.take_first();
        if let Some(running) = self.running {
            let own = self.slot(running).rank;
            // It came out of this queue, so there is room, and its rank was accepted or is a ceiling's.
            let _ = self.ready.insert(running, own, End::Front);
        }
        self.running = Some(first);
        self.running
    }

    /// Nothing that is ready goes before what runs.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let ready = |task| self.slot(task).state == State::Ready;
        match (self.running, self.ready.first()) {
            (None, Some(_)) => Err("a task is ready and none runs"),
            (Some(running), _) if !ready(running) => Err("what runs is not ready"),
            (Some(running), Some((_, rank))) if rank < self.slot(running).rank => {
                Err("a task is ready before what runs")
            }
            _ => Ok(()),
        }
    }
}

/// A rule under which the ready task of least rank runs: all that its scheduler is but for where a job starts from.
pub(crate) trait ByRank {
    type Ready: ReadyQueue;
    type Slots: Store<Slot>;

    fn ranked(&self) -> &Ranked<Self::Ready, Self::Slots>;

    fn ranked_mut(&mut self) -> &mut Ranked<Self::Ready, Self::Slots>;

    /// Where a job stands that arrives now, by its task's base.
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
        // It held nothing when it left, so it stood where its job started.
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
        self.ranked().running
    }
}

/// A resource of one core under a rule that moves its holder's rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) holder: u32,
    /// Which one of its holder's it is, counted from 1.
    pub(crate) depth: u32,
    /// The holder's rank before.
    pub(crate) before: u64,
}

impl Held {
    pub(crate) const FREE: Self = Self { holder: u32::MAX, depth: 0, before: 0 };

    pub(crate) fn holder(&self) -> Option<usize> {
        (self.holder != u32::MAX).then_some(self.holder as usize)
    }
}
