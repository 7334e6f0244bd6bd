// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The compared rules, each with one task with a short deadline and others with longer deadlines.

use taut_policy::queue::{Fronted, Heap, HeapSlot, LinkedList, Node};
use taut_policy::{Dfp, LocalResource, Locking, Misuse, Scheduler, Slot, Srp, SrpTask};
use taut_time::{Duration, Instant};

use super::unsound::{DfpQueue, DfpQueueResource, DfpQueueTask, SrpList, SrpListResource, SrpListTask};
use crate::draw::Draw;

/// A rule, and the queue of its ready tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Variant {
    /// SRP with the running job in the list, as published.
    SrpList,
    /// DFP with the running job in the list, as published.
    DfpList,
    /// DFP with the running job in a heap, as published.
    DfpHeap,
    /// Our SRP: a heap of jobs that have not started, and a stack of those that have.
    Srp,
    /// Our DFP: the running job is outside of the heap.
    Dfp,
}

impl Variant {
    pub(super) const ALL: [Self; 5] = [Self::SrpList, Self::DfpList, Self::DfpHeap, Self::Srp, Self::Dfp];

    /// The name in tables and legends.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::SrpList => "SRP & list",
            Self::DfpList => "DFP & list",
            Self::DfpHeap => "DFP & heap",
            Self::Srp => "SRP, ours",
            Self::Dfp => "DFP, ours",
        }
    }

    /// The name in rows.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::SrpList => "srp_list",
            Self::DfpList => "dfp_list",
            Self::DfpHeap => "dfp_heap",
            Self::Srp => "srp",
            Self::Dfp => "dfp",
        }
    }

    /// Whether a lock reads the clock.
    pub(super) fn reads_the_clock(self) -> bool {
        matches!(self, Self::DfpList | Self::DfpHeap | Self::Dfp)
    }
}

/// Work to be done with a rule of any type.
pub(super) trait With {
    type Made;

    /// Does the work.
    fn with<R: Locking + Clone>(self, rule: R) -> Self::Made;
}

/// Makes a rule for tasks with these relative deadlines, with one resource for each floor (or ceiling: both are the
/// least deadline of the users). Passes it to `work`.
///
/// # Errors
/// The rule does not accept the tasks or the resources.
pub(super) fn made<W: With>(
    variant: Variant,
    deadlines: &[Duration],
    floors: &[Duration],
    work: W,
) -> Result<W::Made, Misuse> {
    let (tasks, resources) = (deadlines.len(), floors.len());
    Ok(match variant {
        Variant::SrpList => work.with(srp_list(deadlines, floors)?),
        Variant::DfpList => work.with(dfp_queue(LinkedList::new(of(Node::EMPTY, tasks)), deadlines, floors)?),
        Variant::DfpHeap => work.with(dfp_queue(heap(tasks), deadlines, floors)?),
        Variant::Srp => work.with(srp(deadlines, floors)?),
        Variant::Dfp => {
            let (slots, places) = (of(Slot::EMPTY, tasks), of(LocalResource::EMPTY, resources));
            work.with(Dfp::new(ours(tasks), slots, deadlines, places, floors, Duration::ZERO)?)
        }
    })
}

type Places<T> = Box<[T]>;

fn of<T: Clone>(empty: T, count: usize) -> Places<T> {
    vec![empty; count].into()
}

pub(super) fn heap(tasks: usize) -> Heap<Places<HeapSlot>> {
    Heap::new(of(HeapSlot::EMPTY, tasks))
}

pub(super) fn list(tasks: usize) -> LinkedList<Places<Node>> {
    LinkedList::new(of(Node::EMPTY, tasks))
}

type ListedSrp = SrpList<Places<Node>, Places<SrpListTask>, Places<SrpListResource>>;

pub(super) fn srp_list(deadlines: &[Duration], ceilings: &[Duration]) -> Result<ListedSrp, Misuse> {
    let (nodes, tasks) = (of(Node::EMPTY, deadlines.len()), of(SrpListTask::EMPTY, deadlines.len()));
    SrpList::new(nodes, tasks, deadlines, of(SrpListResource::EMPTY, ceilings.len()), ceilings)
}

pub(super) fn dfp_queue<Q: taut_policy::queue::ReadyQueue>(
    queue: Q,
    deadlines: &[Duration],
    floors: &[Duration],
) -> Result<DfpQueue<Q, Places<DfpQueueTask>, Places<DfpQueueResource>>, Misuse> {
    let tasks = of(DfpQueueTask::EMPTY, deadlines.len());
    DfpQueue::new(queue, tasks, deadlines, of(DfpQueueResource::EMPTY, floors.len()), floors)
}

/// The ready queue of our rules.
type Ours = Fronted<Heap<Places<HeapSlot>>>;

fn ours(tasks: usize) -> Ours {
    Fronted::new(heap(tasks))
}

pub(super) type OurSrp = Srp<Ours, Places<SrpTask>, Places<LocalResource>>;

pub(super) fn srp(deadlines: &[Duration], ceilings: &[Duration]) -> Result<OurSrp, Misuse> {
    let (tasks, resources) = (of(SrpTask::EMPTY, deadlines.len()), of(LocalResource::EMPTY, ceilings.len()));
    Srp::new(ours(deadlines.len()), tasks, deadlines, resources, ceilings)
}

/// The task with the short deadline, the only user of the resource.
pub(super) const SHORT: usize = 0;
/// The resource.
pub(super) const RESOURCE: usize = 0;

/// Deadlines are further away than a run lasts, so that none is reached.
const SHORT_DEADLINE: Duration = Duration::from_ms(3_600_000);

/// A task with a short deadline, and a number of others.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    /// Relative deadlines, the short task's first.
    deadlines: Vec<Duration>,
    /// The arrival of all tasks.
    pub(super) start: Instant,
}

impl Scene {
    /// `others` tasks with longer deadlines, distinct and in random order.
    pub(super) fn new(others: u32, start: Instant) -> Self {
        let count = u64::from(others);
        let mut longer: Vec<u64> = (1..=count).collect();
        let mut draw = Draw::new(count);
        for at in (1..longer.len()).rev() {
            longer.swap(at, draw.pick(0, at as u64) as usize);
        }
        let longer = longer.into_iter().map(|at| SHORT_DEADLINE.as_ns() + at * 1_000);
        let deadlines = std::iter::once(SHORT_DEADLINE.as_ns()).chain(longer);
        Self { deadlines: deadlines.map(Duration::from_ns).collect(), start }
    }

    /// Makes a rule for these tasks and passes it to `work`. No task is released yet.
    ///
    /// # Errors
    /// The rule does not accept the tasks.
    pub(super) fn made<W: With>(&self, variant: Variant, work: W) -> Result<W::Made, Misuse> {
        made(variant, &self.deadlines, &[SHORT_DEADLINE], work)
    }

    /// Releases the others; one of them runs, if there are any.
    ///
    /// # Errors
    /// The others are released already.
    pub(super) fn others(&self, rule: &mut impl Scheduler) -> Result<(), Misuse> {
        for task in 1..self.deadlines.len() {
            rule.release(task, self.start)?;
        }
        rule.decide();
        Ok(())
    }

    /// Releases the short task, which then runs.
    ///
    /// # Errors
    /// The short task is released already, or another task runs.
    pub(super) fn short(&self, rule: &mut impl Scheduler) -> Result<(), Misuse> {
        rule.release(SHORT, self.start)?;
        if rule.decide() == Some(SHORT) { Ok(()) } else { Err(Misuse::State) }
    }
}
