// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Any rule, chosen when a run is set up.

use taut_model::TaskSet;
use taut_policy::{
    Attributes, BandedCore, FmlpLong, Global, GlobalAnswer, GlobalRule, Grant, LockParty, Locking, Misuse,
    Mpcp, Msrp, Waiter,
};
use taut_time::{Duration, Instant};

use crate::RulesFault;

/// For each resource, the largest priority and the least relative deadline of its users. Only local rules use them,
/// for local resources.
struct Users {
    ceilings: Vec<u32>,
    floors: Vec<Duration>,
}

impl Users {
    fn of(set: &TaskSet) -> Self {
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

/// The rule of each core, for the tasks of the set on that core, in order. `local` makes the local rule of a core.
pub(crate) fn cores<L: Locking>(
    set: &TaskSet,
    local: impl Fn(usize, Attributes<'_>) -> Result<L, Misuse>,
) -> Result<Vec<BandedCore<L>>, RulesFault> {
    let users = Users::of(set);
    (0..set.cores().len()).map(|at| core(set, &users, at, |of| local(at, of))).collect()
}

fn core<L: Locking>(
    set: &TaskSet,
    users: &Users,
    core: usize,
    local: impl FnOnce(Attributes<'_>) -> Result<L, Misuse>,
) -> Result<BandedCore<L>, RulesFault> {
    let tasks: Vec<_> = set.on_core(core).map(|task| &set.tasks()[task]).collect();
    let priorities: Vec<_> = tasks.iter().map(|task| task.priority).collect();
    let deadlines: Vec<_> = tasks.iter().map(|task| task.deadline).collect();
    let Users { ceilings, floors } = users;
    let jitter = tasks.iter().map(|task| task.jitter).max().unwrap_or(Duration::ZERO);
    let of = Attributes { priorities: &priorities, deadlines: &deadlines, ceilings, floors, jitter };
    let core = local(of).and_then(|local| BandedCore::with_bands(local, tasks.len()));
    core.map_err(|_| RulesFault::TooMany)
}

/// The rule of a global resource; unused for a local one.
#[derive(Clone, Debug)]
pub(crate) enum AnyGlobal {
    Msrp(Msrp<Box<[Waiter]>>),
    Mpcp(Mpcp<Box<[Waiter]>, Box<[u32]>>),
    FmlpLong(FmlpLong<Box<[Waiter]>>),
}

impl AnyGlobal {
    pub(crate) fn new(set: &TaskSet, resource: usize, rule: GlobalRule) -> Self {
        let waiters: Box<[_]> = vec![Waiter::EMPTY; set.users(resource).count()].into();
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

    pub(crate) fn request(
        &mut self,
        now: Instant,
        party: LockParty,
        priority: u32,
    ) -> Result<GlobalAnswer, Misuse> {
        match self {
            Self::Msrp(rule) => rule.request(now, party, priority),
            Self::Mpcp(rule) => rule.request(now, party, priority),
            Self::FmlpLong(rule) => rule.request(now, party, priority),
        }
    }

    pub(crate) fn pass(&mut self, party: LockParty, to: LockParty) -> Result<(), Misuse> {
        match self {
            Self::Msrp(rule) => rule.pass(party, to),
            Self::Mpcp(rule) => rule.pass(party, to),
            Self::FmlpLong(rule) => rule.pass(party, to),
        }
    }

    pub(crate) fn release(&mut self, party: LockParty) -> Result<Option<Grant>, Misuse> {
        match self {
            Self::Msrp(rule) => rule.release(party),
            Self::Mpcp(rule) => rule.release(party),
            Self::FmlpLong(rule) => rule.release(party),
        }
    }
}
