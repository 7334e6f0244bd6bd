// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Any rule, chosen when a run is set up.

use taut_model::TaskSet;
use taut_policy::ceiling::{Immediate, ImmediateResource, Original, OriginalResource};
use taut_policy::queue::{Heap, HeapSlot, Node};
use taut_policy::{
    Answer, Core, Dfp, DfpResource, FmlpLong, Global, Grant, Locking, Misuse, Mpcp, Msrp, Party, Request,
    Scheduler, Slot, Srp, SrpList, SrpListResource, SrpListTask, SrpResource, SrpTask, Waiter,
};
use taut_time::{Duration, Instant};

use crate::{CoreRule, Fault, GlobalRule};

type Queue = Heap<Box<[HeapSlot]>>;
type OneList = SrpList<Box<[Node]>, Box<[SrpListTask]>, Box<[SrpListResource]>>;

/// A core's local rule.
#[derive(Clone, Debug)]
pub(crate) enum AnyLocal {
    Immediate(Immediate<Queue, Box<[Slot]>, Box<[ImmediateResource]>>),
    Original(Original<Queue, Box<[Slot]>, Box<[OriginalResource]>>),
    Srp(Srp<Queue, Box<[SrpTask]>, Box<[SrpResource]>>),
    SrpList(OneList),
    Dfp(Dfp<Queue, Box<[Slot]>, Box<[DfpResource]>>),
}

/// A core with its bands.
pub(crate) type AnyCore = Core<AnyLocal, Queue, Box<[Slot]>>;

fn places<T: Clone>(empty: T, count: usize) -> Box<[T]> {
    vec![empty; count].into()
}

fn queue(count: usize) -> Queue {
    Heap::new(places(HeapSlot::EMPTY, count))
}

/// Of each resource the largest priority, and the least relative deadline, of its users. Only local rules look at
/// them, at those of local resources.
pub(crate) struct Users {
    ceilings: Vec<u32>,
    floors: Vec<Duration>,
}

impl Users {
    pub(crate) fn of(set: &TaskSet) -> Self {
        let count = set.resources().len();
        let mut users = Self { ceilings: vec![0; count], floors: vec![Duration::MAX; count] };
        for (at, task) in set.tasks().iter().enumerate() {
            for request in set.requests(at) {
                let (ceiling, floor) =
                    (&mut users.ceilings[request.resource], &mut users.floors[request.resource]);
                *ceiling = task.priority.max(*ceiling);
                *floor = task.deadline.min(*floor);
            }
        }
        users
    }
}

/// A core's rule, for the tasks of the set that are on it, in order.
pub(crate) fn core(set: &TaskSet, users: &Users, core: usize, rule: CoreRule) -> Result<AnyCore, Fault> {
    let tasks: Vec<_> = set.on_core(core).map(|task| &set.tasks()[task]).collect();
    let (count, resources) = (tasks.len(), set.resources().len());
    let priorities: Vec<_> = tasks.iter().map(|task| task.priority).collect();
    let deadlines: Vec<_> = tasks.iter().map(|task| task.deadline).collect();
    let Users { ceilings, floors } = users;
    let (slots, ready) = (places(Slot::EMPTY, count), queue(count));
    let local = match rule {
        CoreRule::Immediate => {
            let resources = places(ImmediateResource::EMPTY, resources);
            Immediate::new(ready, slots, &priorities, resources, ceilings).map(AnyLocal::Immediate)
        }
        CoreRule::Original => {
            let resources = places(OriginalResource::EMPTY, resources);
            Original::new(ready, slots, &priorities, resources, ceilings).map(AnyLocal::Original)
        }
        CoreRule::Srp => {
            let (tasks, resources) = (places(SrpTask::EMPTY, count), places(SrpResource::EMPTY, resources));
            Srp::new(ready, tasks, &deadlines, resources, floors).map(AnyLocal::Srp)
        }
        CoreRule::SrpList => {
            let tasks = places(SrpListTask::EMPTY, count);
            let resources = places(SrpListResource::EMPTY, resources);
            let nodes = places(Node::EMPTY, count);
            SrpList::new(nodes, tasks, &deadlines, resources, floors).map(AnyLocal::SrpList)
        }
        CoreRule::Dfp { .. } | CoreRule::DfpNext => {
            let longest = || tasks.iter().map(|task| task.jitter).max().unwrap_or(Duration::ZERO);
            let jitter = match rule {
                CoreRule::Dfp { jitter } => jitter.unwrap_or_else(longest),
                _ => Duration::ZERO,
            };
            let resources = places(DfpResource::EMPTY, resources);
            Dfp::new(ready, slots, &deadlines, resources, floors, jitter).map(AnyLocal::Dfp)
        }
    };
    let local = local.map_err(|_| Fault::TooMany)?;
    Core::new(local, queue(count), places(Slot::EMPTY, count), count).map_err(|_| Fault::TooMany)
}

/// Calls the rule that there is.
macro_rules! each {
    ($self:ident, $rule:ident => $call:expr) => {
        match $self {
            Self::Immediate($rule) => $call,
            Self::Original($rule) => $call,
            Self::Srp($rule) => $call,
            Self::SrpList($rule) => $call,
            Self::Dfp($rule) => $call,
        }
    };
}

impl Scheduler for AnyLocal {
    fn release(&mut self, task: usize, arrival: Instant) -> Result<(), Misuse> {
        each!(self, rule => rule.release(task, arrival))
    }

    fn suspend(&mut self) -> Result<usize, Misuse> {
        each!(self, rule => rule.suspend())
    }

    fn resume(&mut self, task: usize) -> Result<(), Misuse> {
        each!(self, rule => rule.resume(task))
    }

    fn complete(&mut self) -> Result<usize, Misuse> {
        each!(self, rule => rule.complete())
    }

    fn retire(&mut self, task: usize) -> Result<(), Misuse> {
        each!(self, rule => rule.retire(task))
    }

    fn decide(&mut self) -> Option<usize> {
        each!(self, rule => rule.decide())
    }

    fn running(&self) -> Option<usize> {
        each!(self, rule => rule.running())
    }
}

impl Locking for AnyLocal {
    fn lock(&mut self, now: Instant, resource: usize) -> Result<Answer, Misuse> {
        each!(self, rule => rule.lock(now, resource))
    }

    fn unlock(&mut self, resource: usize) -> Result<(), Misuse> {
        each!(self, rule => rule.unlock(resource))
    }

    fn holder(&self, resource: usize) -> Option<usize> {
        each!(self, rule => rule.holder(resource))
    }

    fn check_state(&self) -> Result<(), &'static str> {
        match self {
            // Known to be wrong: a run ends where it breaks mutual exclusion.
            Self::SrpList(_) => Ok(()),
            _ => each!(self, rule => rule.check_state()),
        }
    }
}

/// The rule of a global resource; of a local one it stands there unused.
#[derive(Clone, Debug)]
pub(crate) enum AnyGlobal {
    Msrp(Msrp<Box<[Waiter]>>),
    Mpcp(Mpcp<Box<[Waiter]>, Box<[u32]>>),
    FmlpLong(FmlpLong<Box<[Waiter]>>),
}

impl AnyGlobal {
    pub(crate) fn new(set: &TaskSet, resource: usize, rule: GlobalRule) -> Self {
        let waiters = places(Waiter::EMPTY, set.users(resource).count());
        match rule {
            GlobalRule::Msrp => Self::Msrp(Msrp::new(waiters)),
            GlobalRule::FmlpLong => Self::FmlpLong(FmlpLong::new(waiters)),
            GlobalRule::Mpcp => {
                let mut of_core = vec![0; set.cores().len()];
                for task in set.users(resource).map(|task| &set.tasks()[task]) {
                    of_core[task.core] = task.priority.max(of_core[task.core]);
                }
                let elsewhere = |core| {
                    let others = of_core.iter().enumerate().filter(|(other, _)| *other != core);
                    others.map(|(_, priority)| *priority).max().unwrap_or(0)
                };
                Self::Mpcp(Mpcp::new(waiters, (0..of_core.len()).map(elsewhere).collect()))
            }
        }
    }

    pub(crate) fn request(&mut self, now: Instant, party: Party, priority: u32) -> Result<Request, Misuse> {
        match self {
            Self::Msrp(rule) => rule.request(now, party, priority),
            Self::Mpcp(rule) => rule.request(now, party, priority),
            Self::FmlpLong(rule) => rule.request(now, party, priority),
        }
    }

    pub(crate) fn release(&mut self, party: Party) -> Result<Option<Grant>, Misuse> {
        match self {
            Self::Msrp(rule) => rule.release(party),
            Self::Mpcp(rule) => rule.release(party),
            Self::FmlpLong(rule) => rule.release(party),
        }
    }
}
