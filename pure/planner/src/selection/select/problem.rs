// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use core::fmt;

use taut_analysis::multi::{Guard, GuardedSet, Solution, Trial};
use taut_analysis::{Assumption, Overflow};
use taut_model::TaskSet;
use taut_time::Duration;

use super::aim::Constraint;
use super::judge::all;
use super::offer::{LeastLoad, ObjectOffers, Offer, OfferMemory};
use taut_model::Aim;

/// The equations that judge deadlines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Equations {
    /// [`taut_analysis::multi::mixed`].
    Sound,
    /// [`taut_analysis::multi::unsound::mixed_han14`], as published: **no proof**, for experiments.
    Printed,
}

/// An offer per object, by position.
pub type Selection = Vec<usize>;

/// Objects with their offers, what a selection must keep, and what it minimises.
#[derive(Clone, Debug)]
pub struct Problem {
    pub(super) trial: Trial,
    pub(super) objects: Vec<ObjectOffers>,
    pub(super) equations: Equations,
    pub(super) aim: Aim,
    pub(super) constraints: Vec<Constraint>,
    pub(super) charges: Vec<Charge>,
    /// By task, in ns.
    costs: Vec<u64>,
    pub(super) periods: Vec<Duration>,
    pub(super) deadlines: Vec<u64>,
    /// By object: its longest section, in ns.
    longest: Vec<u64>,
    /// By object: the tasks that request it, and how often a job does.
    users: Vec<Vec<(usize, u64)>>,
    /// By object and offer, what the set carries for the offer.
    pub(super) loads: Vec<Vec<LeastLoad>>,
    pub(super) applied: AppliedOffers,
    /// The solution with all objects open, if there is one: no other solution is below it.
    pub(super) open: Solution,
    /// R by task, from the last judgement by which all tasks fit.
    pub(super) responses: Vec<Duration>,
    pub(super) judged: u64,
}

/// Bytes that are charged once if any of some objects has a guard.
#[derive(Clone, Debug)]
pub(super) struct Charge {
    pub(super) bytes: u64,
    /// Positions of the objects.
    pub(super) objects: Vec<usize>,
}

/// What the set carries for the offers that may be taken.
#[derive(Clone, Debug)]
pub(super) struct AppliedOffers {
    /// By object, a bit for each offer that may be taken.
    pub(super) offers: Vec<u64>,
    pub(super) loads: Vec<LeastLoad>,
    /// By task, in ns; a cost that does not fit in 64 bits is an error when the set is judged.
    pub(super) costs: Vec<u128>,
}

/// The measures of a selection, in which objects may be open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// R by task, from arrival. With open objects, no completion gives less.
    pub responses: Vec<Duration>,
    /// Bytes of all objects, each open one with its cheapest offer, and bytes that are charged once whichever offers
    /// open objects take.
    pub bytes: u64,
    /// Σ R / D over all tasks, each in millionths, rounded up.
    pub response_ppm: u64,
    /// The largest R / D of all tasks, in millionths, rounded up; a million minus this is the least slack.
    pub tightest_ppm: u64,
}

/// Why a problem is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProblemFault {
    /// The analysis does not apply to the set.
    NotApplicable(Assumption),
    /// This object, by position, has no offer or more than 64, a resource that does not exist or belongs to another
    /// object, or names a task that does not exist.
    Object(usize),
    /// Times do not fit in 64 bits.
    Overflow,
}

impl fmt::Display for ProblemFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotApplicable(assumption) => write!(f, "the analysis does not apply: {assumption}"),
            Self::Object(at) => {
                write!(
                    f,
                    "object {at} has no offer, too many offers, or refers to a task or resource that does not \
                           exist"
                )
            }
            Self::Overflow => f.write_str("times that do not fit in 64 bits"),
        }
    }
}

impl core::error::Error for ProblemFault {}

/// Which resources the objects are; an object that does not fit the set is refused.
fn taken(objects: &[ObjectOffers], tasks: usize, resources: usize) -> Result<Vec<bool>, ProblemFault> {
    let mut taken = vec![false; resources];
    for (at, object) in objects.iter().enumerate() {
        let twice = taken.get_mut(object.resource).is_none_or(|taken| std::mem::replace(taken, true));
        let known = |offer: &Offer| {
            let timed = match &offer.memory {
                OfferMemory::Fixed(_) | OfferMemory::Asked(_) => true,
                OfferMemory::Timed(buffers) => {
                    buffers.writer < tasks && buffers.readers.iter().all(|reader| *reader < tasks)
                }
            };
            timed && offer.added.iter().all(|(task, _)| *task < tasks)
        };
        let some = (1..=64).contains(&object.offers.len());
        if twice || !some || !object.offers.iter().all(known) {
            return Err(ProblemFault::Object(at));
        }
    }
    Ok(taken)
}

/// By resource, the longest request, and for each task that requests it how often a job does.
fn requests(set: &TaskSet) -> (Vec<u64>, Vec<Vec<(usize, u64)>>) {
    let (tasks, resources) = (set.tasks().len(), set.resources().len());
    let (mut longest, mut requests) = (vec![0; resources], vec![Vec::new(); resources]);
    for (task, request) in (0..tasks).flat_map(|task| set.requests(task).iter().map(move |it| (task, it))) {
        longest[request.resource] = request.length.as_ns().max(longest[request.resource]);
        requests[request.resource].push((task, u64::from(request.count)));
    }
    for of_resource in &mut requests {
        of_resource.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0 };
            same
        });
    }
    (longest, requests)
}

impl Problem {
    /// Lays out a problem: minimise memory, keep deadlines only. Costs in the set include all sections, but not what
    /// offers add. A resource of the set that belongs to no object has the guard that `others` gives it, by position.
    ///
    /// # Errors
    /// A set that the analysis does not apply to, or objects that do not fit it.
    pub fn new(
        set: &TaskSet,
        objects: Vec<ObjectOffers>,
        others: impl Fn(usize) -> Guard,
        equations: Equations,
    ) -> Result<Self, ProblemFault> {
        let mut guarded = GuardedSet::new(set)
            .map_err(|Overflow| ProblemFault::Overflow)?
            .map_err(ProblemFault::NotApplicable)?;
        let (tasks, resources) = (set.tasks().len(), set.resources().len());
        let taken = taken(&objects, tasks, resources)?;
        for (resource, taken) in taken.into_iter().enumerate() {
            guarded.guard(resource, if taken { Guard::Absent } else { others(resource) });
        }
        let (longest, requests) = requests(set);
        let loads = |object: &ObjectOffers| {
            object.offers.iter().map(|offer| LeastLoad::of(offer, &requests[object.resource])).collect()
        };
        let costs: Vec<u64> = (0..tasks).map(|task| set.cost(task).as_ns()).collect();
        let nothing = LeastLoad { guard: Guard::Absent, held: Duration::ZERO, added: Vec::new() };
        let mut problem = Self {
            trial: Trial::new(&guarded),
            users: objects.iter().map(|object| requests[object.resource].clone()).collect(),
            longest: objects.iter().map(|object| longest[object.resource]).collect(),
            loads: objects.iter().map(loads).collect(),
            applied: AppliedOffers {
                offers: vec![0; objects.len()],
                loads: vec![nothing; objects.len()],
                costs: costs.iter().copied().map(u128::from).collect(),
            },
            objects,
            equations,
            aim: Aim::Memory,
            constraints: Vec::new(),
            charges: Vec::new(),
            costs,
            periods: set.tasks().iter().map(|task| task.period).collect(),
            deadlines: set.tasks().iter().map(|task| task.deadline.as_ns()).collect(),
            open: Solution::default(),
            responses: Vec::new(),
            judged: 0,
        };
        let open: Vec<u64> = problem.objects.iter().map(all).collect();
        if problem.equations == Equations::Sound && problem.fits(&open, None) == Ok(true) {
            problem.open = problem.trial.solution().clone();
        }
        problem.judged = 0;
        Ok(problem)
    }

    /// Sets what to minimise; [`Aim::Memory`] until this is called.
    pub fn aim(&mut self, aim: Aim) -> &mut Self {
        self.aim = aim;
        self
    }

    /// Adds a constraint that a selection must keep besides deadlines.
    pub fn constrain(&mut self, constraint: Constraint) -> &mut Self {
        self.constraints.push(constraint);
        self
    }

    /// Charges bytes once if any of these objects, by position, has another guard than [`Guard::Absent`]: for example
    /// the bytes that a core needs before it can have locks. Positions without an object do not count.
    pub fn charge(&mut self, bytes: u64, mut objects: Vec<usize>) -> &mut Self {
        objects.retain(|at| *at < self.objects.len());
        objects.sort_unstable();
        objects.dedup();
        self.charges.push(Charge { bytes, objects });
        self
    }

    /// What to minimise.
    pub fn aimed_at(&self) -> Aim {
        self.aim
    }

    /// The constraints that a selection must keep besides deadlines, in the order in which they were added.
    pub fn constraints(&self) -> &[Constraint] {
        &self.constraints
    }

    /// The objects.
    pub fn objects(&self) -> &[ObjectOffers] {
        &self.objects
    }

    /// How many judgements were made.
    pub fn judged(&self) -> u64 {
        self.judged
    }

    /// The longest section on an object, in ns.
    pub(super) fn longest(&self, object: usize) -> u64 {
        self.longest[object]
    }

    /// The positions of the tasks that use an object.
    pub(super) fn users(&self, object: usize) -> impl Iterator<Item = usize> + '_ {
        self.users[object].iter().map(|(task, _)| *task)
    }

    /// C by task: no response time is shorter.
    pub(super) fn costs(&self) -> Vec<Duration> {
        self.costs.iter().map(|cost| Duration::from_ns(*cost)).collect()
    }
}
