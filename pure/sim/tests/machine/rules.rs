// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The rules, set up as an executor does it: separately, from the set.

use taut_model::TaskSet;
use taut_policy::ceiling::{Immediate, Original};
use taut_policy::queue::{Heap, HeapSlot};
use taut_policy::{
    Core, Dfp, FmlpLong, Global, GlobalAnswer, Grant, LocalResource, LockParty, Locking, Misuse, Mpcp, Msrp,
    Slot, Srp, SrpTask, Waiter,
};
use taut_sim::{GlobalRule, LocalRule, Rules};
use taut_time::{Duration, Instant};

type Queue = Heap<Vec<HeapSlot>>;

/// A core with its bands, for any local rule.
pub trait Bands: Locking {
    fn pin(&mut self) -> Result<usize, Misuse>;
    fn unpin(&mut self) -> Result<(), Misuse>;
    fn boost(&mut self, task: usize, rank: u64) -> Result<(), Misuse>;
    fn unboost(&mut self) -> Result<usize, Misuse>;
}

impl<L: Locking> Bands for Core<L, Queue, Vec<Slot>> {
    fn pin(&mut self) -> Result<usize, Misuse> {
        Core::pin(self)
    }

    fn unpin(&mut self) -> Result<(), Misuse> {
        Core::unpin(self)
    }

    fn boost(&mut self, task: usize, rank: u64) -> Result<(), Misuse> {
        Core::boost(self, task, rank)
    }

    fn unboost(&mut self) -> Result<usize, Misuse> {
        Core::unboost(self)
    }
}

pub(super) fn core(set: &TaskSet, rules: &Rules, core: usize) -> Box<dyn Bands> {
    let tasks: Vec<_> = set.on_core(core).map(|task| &set.tasks()[task]).collect();
    let (count, resources) = (tasks.len(), set.resources().len());
    let queue = || Heap::new(vec![HeapSlot::EMPTY; count]);
    let slots = || vec![Slot::EMPTY; count];
    let priorities: Vec<u32> = tasks.iter().map(|task| task.priority).collect();
    let deadlines: Vec<Duration> = tasks.iter().map(|task| task.deadline).collect();
    let users = |resource| set.users(resource).map(|task| &set.tasks()[task]);
    let ceiling = |resource| users(resource).map(|task| task.priority).max().unwrap_or(0);
    let floor = |resource| users(resource).map(|task| task.deadline).min().unwrap_or(Duration::MAX);
    let ceilings: Vec<u32> = (0..resources).map(ceiling).collect();
    let floors: Vec<Duration> = (0..resources).map(floor).collect();
    fn boxed<L: Locking + 'static>(
        local: Result<L, Misuse>,
        queue: Queue,
        slots: Vec<Slot>,
    ) -> Box<dyn Bands> {
        let count = slots.len();
        Box::new(Core::new(local.expect("fits"), queue, slots, count).expect("fits"))
    }
    match rules.cores[core] {
        LocalRule::Immediate => {
            let held = vec![LocalResource::EMPTY; resources];
            boxed(Immediate::new(queue(), slots(), &priorities, held, &ceilings), queue(), slots())
        }
        LocalRule::Original => {
            let held = vec![LocalResource::EMPTY; resources];
            boxed(Original::new(queue(), slots(), &priorities, held, &ceilings), queue(), slots())
        }
        LocalRule::Srp => {
            let held = vec![LocalResource::EMPTY; resources];
            let tasks = vec![SrpTask::EMPTY; count];
            boxed(Srp::new(queue(), tasks, &deadlines, held, &floors), queue(), slots())
        }
        LocalRule::DfpByClock { jitter } => {
            let held = vec![LocalResource::EMPTY; resources];
            let jitter = jitter.expect("given");
            boxed(Dfp::new(queue(), slots(), &deadlines, held, &floors, jitter), queue(), slots())
        }
        LocalRule::Dfp => {
            let held = vec![LocalResource::EMPTY; resources];
            let rule = Dfp::new(queue(), slots(), &deadlines, held, &floors, Duration::ZERO);
            boxed(rule, queue(), slots())
        }
    }
}

/// A global resource.
pub enum Shared {
    Msrp(Msrp<Vec<Waiter>>),
    Mpcp(Mpcp<Vec<Waiter>, Vec<u32>>),
    Fmlp(FmlpLong<Vec<Waiter>>),
}

pub(super) fn shared(set: &TaskSet, rules: &Rules, resource: usize) -> Shared {
    let waiters = vec![Waiter::EMPTY; set.users(resource).count()];
    match rules.resources[resource] {
        GlobalRule::Msrp => Shared::Msrp(Msrp::new(waiters)),
        GlobalRule::FmlpLong => Shared::Fmlp(FmlpLong::new(waiters)),
        GlobalRule::Mpcp => {
            let users: Vec<_> = set.users(resource).map(|task| &set.tasks()[task]).collect();
            let elsewhere = |core| {
                let others = users.iter().filter(move |task| task.core != core);
                others.map(|task| task.priority).max().unwrap_or(0)
            };
            Shared::Mpcp(Mpcp::new(waiters, (0..set.cores().len()).map(elsewhere).collect()))
        }
    }
}

impl Shared {
    pub fn spins(&self) -> bool {
        matches!(self, Self::Msrp(_))
    }

    /// The rank, if the request is granted at once.
    pub fn request(&mut self, now: Instant, party: LockParty, priority: u32) -> Option<u64> {
        let answer = match self {
            Self::Msrp(rule) => rule.request(now, party, priority),
            Self::Mpcp(rule) => rule.request(now, party, priority),
            Self::Fmlp(rule) => rule.request(now, party, priority),
        };
        match answer.expect("a place") {
            GlobalAnswer::Granted(grant) => Some(grant.rank),
            GlobalAnswer::Waits => None,
        }
    }

    /// The next holder, with its rank.
    pub fn release(&mut self, party: LockParty) -> Option<(LockParty, u64)> {
        let next = match self {
            Self::Msrp(rule) => rule.release(party),
            Self::Mpcp(rule) => rule.release(party),
            Self::Fmlp(rule) => rule.release(party),
        };
        next.expect("it holds it").map(|Grant { party, rank }| (party, rank))
    }
}
