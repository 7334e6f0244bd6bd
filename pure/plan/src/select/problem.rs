// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use core::fmt;

use taut_analysis::multi::mpcp_lnr09_paper::Claims;
use taut_analysis::multi::{Bounds, Guard, Guarded, mixed, mixed_han14};
use taut_analysis::wait_free::lifetime;
use taut_analysis::wait_free::reader_instances;
use taut_analysis::wait_free::smallest::{self, Reader};
use taut_analysis::wait_free::writes_during_read::Writer;
use taut_analysis::{Assumption, Overflow, Verdict};
use taut_model::TaskSet;
use taut_time::Duration;

/// By which equations deadlines are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Equations {
    /// [`mixed`].
    Sound,
    /// [`mixed_han14`], as published: **no proof**, for experiments.
    Printed,
}

/// A shared object and what can be had for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its name.
    pub name: String,
    /// The resource that it is in the set, whose requests count where an offer has a guard.
    pub resource: usize,
    /// What can be had; 1 to 64.
    pub offers: Vec<Offer>,
}

/// A mechanism with its price.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// For people.
    pub name: String,
    /// Who waits for whom.
    pub guard: Guard,
    /// What comes to a job of these tasks, positions in the set, each once.
    pub added: Vec<(usize, Duration)>,
    /// What it takes.
    pub memory: Memory,
}

/// Bytes of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Memory {
    /// As many, whatever the timing.
    Fixed(u64),
    /// As many as timing asks for.
    Timed(Buffers),
}

/// Buffers whose number depends on response times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffers {
    /// Bytes besides buffers.
    pub fixed: u64,
    /// Bytes of a buffer.
    pub each: u64,
    /// Who writes: a position in the set.
    pub writer: usize,
    /// Who reads.
    pub readers: Vec<usize>,
    /// How they are counted.
    pub count: Count,
}

/// A count of buffers; a value is used from its reader's arrival to its completion at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// By time alone: [`lifetime`].
    Lifetime,
    /// The least of all: [`smallest`].
    Smallest,
}

/// An offer per object, by position.
pub type Selection = Vec<usize>;

/// What to choose for which object.
#[derive(Clone, Debug)]
pub struct Problem {
    guarded: Guarded,
    objects: Vec<Object>,
    equations: Equations,
    /// By task, in ns.
    costs: Vec<u64>,
    periods: Vec<Duration>,
    jitters: Vec<Duration>,
    /// By object: the least of what any of its offers adds to a task.
    least_added: Vec<Vec<(usize, u64)>>,
    /// By object: its longest section, in ns.
    longest: Vec<u64>,
    /// Filled for a judgement.
    added: Vec<u64>,
    least: Vec<Duration>,
    judged: u64,
}

/// What a selection, of which parts may be open, comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// R by task, from arrival. With open parts, no completion of them gives less.
    pub responses: Vec<Duration>,
    /// Bytes of all objects, the cheapest offer for open ones.
    pub bytes: u64,
}

/// Why nothing can be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProblemFault {
    /// The analysis does not apply to the set.
    NotApplicable(Assumption),
    /// This object, by position, has no offer or more than 64, a resource that is not there or another's, or names a task that is not
    /// there.
    Object(usize),
    /// Times do not fit in 64 bits.
    Overflow,
}

impl fmt::Display for ProblemFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotApplicable(assumption) => write!(f, "the analysis does not apply: {assumption}"),
            Self::Object(at) => {
                write!(f, "object {at} has no offer, too many, or refers to what is not there")
            }
            Self::Overflow => f.write_str("times that do not fit in 64 bits"),
        }
    }
}

impl core::error::Error for ProblemFault {}

impl Problem {
    /// Lays out a problem. Costs in the set are without what offers add, and include all sections; a resource of the
    /// set that is no object's stays as `others` says, by position.
    ///
    /// # Errors
    /// A set that the analysis does not apply to, or objects that do not fit it.
    pub fn new(
        set: &TaskSet,
        objects: Vec<Object>,
        others: impl Fn(usize) -> Guard,
        equations: Equations,
    ) -> Result<Self, ProblemFault> {
        let mut guarded = Guarded::new(set)
            .map_err(|Overflow| ProblemFault::Overflow)?
            .map_err(ProblemFault::NotApplicable)?;
        let (tasks, resources) = (set.tasks().len(), set.resources().len());
        let mut taken = vec![false; resources];
        for (at, object) in objects.iter().enumerate() {
            let twice = taken.get_mut(object.resource).is_none_or(|taken| std::mem::replace(taken, true));
            let known = |offer: &Offer| {
                let timed = match &offer.memory {
                    Memory::Fixed(_) => true,
                    Memory::Timed(buffers) => {
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
        for resource in (0..resources).filter(|&resource| !taken[resource]) {
            guarded.guard(resource, others(resource));
        }
        let least_added = objects.iter().map(least).collect();
        let mut of_resource = vec![0; resources];
        for request in (0..tasks).flat_map(|task| set.requests(task)) {
            of_resource[request.resource] = request.length.as_ns().max(of_resource[request.resource]);
        }
        Ok(Self {
            guarded,
            longest: objects.iter().map(|object| of_resource[object.resource]).collect(),
            objects,
            equations,
            costs: (0..tasks).map(|task| set.cost(task).as_ns()).collect(),
            periods: set.tasks().iter().map(|task| task.period).collect(),
            jitters: set.tasks().iter().map(|task| task.jitter).collect(),
            least_added,
            added: vec![0; tasks],
            least: Vec::new(),
            judged: 0,
        })
    }

    /// The objects.
    pub fn objects(&self) -> &[Object] {
        &self.objects
    }

    /// How many judgements were made.
    pub fn judged(&self) -> u64 {
        self.judged
    }

    /// The longest section on an object, by position.
    pub(super) fn longest(&self, object: usize) -> u64 {
        self.longest[object]
    }

    /// Judges an offer per object; `None` leaves an object open: then nothing waits for it, and what comes to jobs is
    /// the least of what its offers add. `None` is answered if some deadline is not shown to be kept: with open parts,
    /// none is whatever is taken for them.
    ///
    /// # Errors
    /// [`Overflow`] if times do not fit in 64 bits.
    pub fn judge(&mut self, selection: &[Option<usize>]) -> Result<Option<Judged>, Overflow> {
        self.judge_below(selection, &[])
    }

    /// The same for a selection that has `above`'s, whose response times are given, decided as there: saves steps.
    pub(super) fn judge_below(
        &mut self,
        selection: &[Option<usize>],
        above: &[Duration],
    ) -> Result<Option<Judged>, Overflow> {
        self.judged += 1;
        self.added.fill(0);
        for (at, object) in self.objects.iter().enumerate() {
            let offer = selection[at].map(|offer| &object.offers[offer]);
            self.guarded.guard(object.resource, offer.map_or(Guard::Absent, |offer| offer.guard));
            let mut add = |task: usize, time: u64| {
                self.added[task] = self.added[task].checked_add(time).ok_or(Overflow)?;
                Ok::<_, Overflow>(())
            };
            match offer {
                Some(offer) => {
                    for (task, time) in &offer.added {
                        add(*task, time.as_ns())?;
                    }
                }
                None => {
                    for (task, time) in &self.least_added[at] {
                        add(*task, *time)?;
                    }
                }
            }
        }
        for (task, (cost, added)) in self.costs.iter().zip(&self.added).enumerate() {
            let cost = cost.checked_add(*added).ok_or(Overflow)?;
            self.guarded.cost(task, Duration::from_ns(cost));
        }
        let Some(responses) = self.responses(above)? else { return Ok(None) };
        let mut bytes = 0u64;
        for (object, offer) in self.objects.iter().zip(selection) {
            let of_object = match offer {
                Some(offer) => self.bytes(&object.offers[*offer], &responses)?,
                None => self.least_bytes(object, &responses)?,
            };
            bytes = bytes.checked_add(of_object).ok_or(Overflow)?;
        }
        Ok(Some(Judged { responses, bytes }))
    }

    /// R by task, if all deadlines are kept.
    fn responses(&mut self, above: &[Duration]) -> Result<Option<Vec<Duration>>, Overflow> {
        match self.equations {
            Equations::Sound => {
                let kept = |bounds: Bounds| bounds.tasks.iter().map(|task| task.from_arrival).collect();
                self.least.clear();
                let windows = above.iter().zip(&self.jitters).map(|(r, jitter)| r.saturating_sub(*jitter));
                self.least.extend(windows);
                Ok(match mixed::response_times_above(&self.guarded, &self.least)? {
                    Verdict::Schedulable(bounds) => Some(kept(bounds)),
                    _ => None,
                })
            }
            Equations::Printed => Ok(match mixed_han14::claims(&self.guarded)? {
                Claims::Unsound(claims) if claims.iter().all(|claim| claim.claimed_to_fit) => {
                    Some(claims.iter().map(|claim| claim.claimed).collect())
                }
                _ => None,
            }),
        }
    }

    /// Bytes of an offer under such response times.
    ///
    /// # Errors
    /// [`Overflow`] if they do not fit in 64 bits.
    pub fn bytes(&self, offer: &Offer, responses: &[Duration]) -> Result<u64, Overflow> {
        let buffers = match &offer.memory {
            Memory::Fixed(bytes) => return Ok(*bytes),
            Memory::Timed(buffers) => buffers,
        };
        let writer = Writer { period: self.periods[buffers.writer], within: responses[buffers.writer] };
        let count = match buffers.count {
            Count::Lifetime => {
                let used: Vec<_> = buffers.readers.iter().map(|reader| responses[*reader]).collect();
                lifetime::buffers(&used, &writer)?.bound().copied()
            }
            Count::Smallest => {
                let reader = |&reader: &usize| Reader {
                    jobs: reader_instances::Reader {
                        period: self.periods[reader],
                        response: responses[reader],
                    },
                    used_for: responses[reader],
                };
                let readers: Vec<_> = buffers.readers.iter().map(reader).collect();
                smallest::buffers(&readers, &writer)?.bound().map(smallest::Sizes::least)
            }
        };
        // No count: the set guarantees what they assume, so this is one that does not fit.
        let bytes = count.and_then(|count| count.checked_mul(buffers.each)).ok_or(Overflow)?;
        bytes.checked_add(buffers.fixed).ok_or(Overflow)
    }

    /// Bytes of the cheapest offer.
    pub(super) fn least_bytes(&self, object: &Object, responses: &[Duration]) -> Result<u64, Overflow> {
        let mut least = u64::MAX;
        for offer in &object.offers {
            least = self.bytes(offer, responses)?.min(least);
        }
        Ok(least)
    }

    /// C by task, as a least response time.
    pub(super) fn costs(&self) -> Vec<Duration> {
        self.costs.iter().map(|cost| Duration::from_ns(*cost)).collect()
    }
}

/// The least that any offer adds, by task.
fn least(object: &Object) -> Vec<(usize, u64)> {
    let [first, rest @ ..] = &object.offers[..] else { return Vec::new() };
    let of = |offer: &Offer, task: usize| {
        offer.added.iter().find(|(whose, _)| *whose == task).map_or(0, |(_, time)| time.as_ns())
    };
    let least = |(task, time): &(usize, Duration)| {
        let least = rest.iter().map(|offer| of(offer, *task)).fold(time.as_ns(), u64::min);
        (*task, least)
    };
    first.added.iter().map(least).filter(|(_, time)| *time > 0).collect()
}
