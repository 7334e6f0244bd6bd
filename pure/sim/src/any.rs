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

/// A core's rule, for the tasks of the set that are on it, in order.
pub(crate) fn core(set: &TaskSet, core: usize, rule: CoreRule) -> Result<AnyCore, Fault> {
    let tasks: Vec<_> = set.on_core(core).map(|task| &set.tasks()[task]).collect();
    let (count, resources) = (tasks.len(), set.resources().len());
    let priorities: Vec<_> = tasks.iter().map(|task| task.priority).collect();
    let deadlines: Vec<_> = tasks.iter().map(|task| task.deadline).collect();
    // What is not local has users here as well, but is never asked of the local rule.
    let users = |resource| set.users(resource).map(|task| &set.tasks()[task]);
    let ceilings: Vec<_> =
        (0..resources).map(|at| users(at).map(|task| task.priority).max().unwrap_or(0)).collect();
    let floors: Vec<_> =
        (0..resources).map(|at| users(at).map(|task| task.deadline).min().unwrap_or(Duration::MAX)).collect();
    let (slots, ready) = (places(Slot::EMPTY, count), queue(count));
    let local = match rule {
        CoreRule::Immediate => {
            let resources = places(ImmediateResource::EMPTY, resources);
            Immediate::new(ready, slots, &priorities, resources, &ceilings).map(AnyLocal::Immediate)
        }
        CoreRule::Original => {
            let resources = places(OriginalResource::EMPTY, resources);
            Original::new(ready, slots, &priorities, resources, &ceilings).map(AnyLocal::Original)
        }
        CoreRule::Srp => {
            let (tasks, resources) = (places(SrpTask::EMPTY, count), places(SrpResource::EMPTY, resources));
            Srp::new(ready, tasks, &deadlines, resources, &floors).map(AnyLocal::Srp)
        }
        CoreRule::SrpList => {
            let tasks = places(SrpListTask::EMPTY, count);
            let resources = places(SrpListResource::EMPTY, resources);
            let nodes = places(Node::EMPTY, count);
            SrpList::new(nodes, tasks, &deadlines, resources, &floors).map(AnyLocal::SrpList)
        }
        CoreRule::Dfp { jitter } => {
            let longest = tasks.iter().map(|task| task.jitter).max().unwrap_or(Duration::ZERO);
            let resources = places(DfpResource::EMPTY, resources);
            Dfp::new(ready, slots, &deadlines, resources, &floors, jitter.unwrap_or(longest))
                .map(AnyLocal::Dfp)
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
        each!(self, rule => rule.check_state())
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
        let elsewhere = |core| {
            let users = set.users(resource).map(|task| &set.tasks()[task]);
            users.filter(move |task| task.core != core).map(|task| task.priority).max().unwrap_or(0)
        };
        match rule {
            GlobalRule::Msrp => Self::Msrp(Msrp::new(waiters)),
            GlobalRule::FmlpLong => Self::FmlpLong(FmlpLong::new(waiters)),
            GlobalRule::Mpcp => {
                Self::Mpcp(Mpcp::new(waiters, (0..set.cores().len()).map(elsewhere).collect()))
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
