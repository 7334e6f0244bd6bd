// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Judges a selection: gives its measures, or the first requirement that it does not keep.

use taut_analysis::multi::unsound::mixed_han14;
use taut_analysis::multi::unsound::mpcp_lnr09_paper::Claims;
use taut_analysis::multi::{Guard, Solution, Status, mixed};
use taut_analysis::wait_free::writes_during_read::WriterTiming;
use taut_analysis::wait_free::{lifetime, reader_instances, smallest};
use taut_analysis::{Overflow, Verdict, Why};
use taut_time::Duration;

use super::aim::ppm;
use super::offer::{BufferCount, ObjectOffers, Offer, OfferMemory};
use super::problem::{Equations, Judged, Problem};

/// A requirement that a selection does not keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Miss {
    /// A deadline is not shown to be kept. Of several such, this is the task with the largest ratio of bound to
    /// deadline.
    Deadline {
        /// The task, by position in the set.
        task: usize,
        /// The first bound found past the deadline, from arrival.
        response: Duration,
        /// D.
        deadline: Duration,
    },
    /// All deadlines are kept, but not this constraint.
    Constraint {
        /// Its position in [`Problem::constraints`].
        at: usize,
        /// Its time; `None` if none is shown.
        time: Option<Duration>,
        /// The longest time that the constraint allows.
        limit: Duration,
    },
    /// Everything is kept, but an offer is not available under these response times.
    Memory,
    /// The analysis gave up before it showed anything.
    Steps,
}

/// The judgement of a selection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// All deadlines and constraints are kept.
    Feasible(Judged),
    /// The first requirement that is not kept.
    Missed(Miss),
}

/// A bit for each offer of an object.
pub(super) fn all(object: &ObjectOffers) -> u64 {
    u64::MAX >> (64 - object.offers.len())
}

/// The offers whose bits are set.
pub(super) fn offers(mut bits: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let offer = bits.trailing_zeros() as usize;
        bits &= bits.checked_sub(1)?;
        Some(offer)
    })
}

impl Problem {
    /// Judges one offer per object. `None` leaves an object open: an open object has a guard only if all of its offers
    /// have that guard, and adds to jobs the least that its offers add. The result is `None` if some deadline or
    /// constraint is not shown to be kept, or an offer is not available; if objects are open, it is then `None`
    /// whichever offers they take.
    ///
    /// # Errors
    /// [`Overflow`] if times or bytes do not fit in 64 bits.
    pub fn judge(&mut self, selection: &[Option<usize>]) -> Result<Option<Judged>, Overflow> {
        let bits =
            |(object, offer): (&ObjectOffers, &Option<usize>)| offer.map_or(all(object), |offer| 1 << offer);
        let bits: Vec<u64> = self.objects.iter().zip(selection).map(bits).collect();
        if !self.fits(&bits, None)? {
            return Ok(None);
        }
        self.weigh(&bits)
    }

    /// Whether everything may be kept if each object takes one of these offers; if so, `responses` and the trial's
    /// solution are for the set with only what all these choices have in common. `above` is the solution of a set with
    /// more offers.
    pub(super) fn fits(&mut self, bits: &[u64], above: Option<&Solution>) -> Result<bool, Overflow> {
        self.keeps(bits, above, true)
    }

    /// The same, for a caller that does not need the responses.
    pub(super) fn may_fit(&mut self, bits: &[u64], above: Option<&Solution>) -> Result<bool, Overflow> {
        let exact = !self.constraints.is_empty();
        self.keeps(bits, above, exact)
    }

    fn keeps(&mut self, bits: &[u64], above: Option<&Solution>, exact: bool) -> Result<bool, Overflow> {
        self.apply(bits)?;
        match self.equations {
            Equations::Sound => {
                let above = Some(above.unwrap_or(&self.open));
                if !exact {
                    return self.trial.keeps_deadlines(above);
                }
                if !self.trial.fits(above)? {
                    return Ok(false);
                }
                self.responses.clear();
                self.responses.extend(self.trial.responses());
            }
            Equations::Printed => match mixed_han14::claims(self.trial.guarded())? {
                Claims::Unsound(claims) if claims.iter().all(|claim| claim.claimed_to_fit) => {
                    self.responses = claims.iter().map(|claim| claim.claimed).collect();
                }
                _ => return Ok(false),
            },
        }
        for constraint in &self.constraints {
            if !constraint.is_kept(&self.responses, self.trial.guarded().guards())? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Judges a selection, and says which requirement it does not keep.
    ///
    /// # Errors
    /// [`Overflow`] if times do not fit in 64 bits.
    pub fn outcome(&mut self, selection: &[usize]) -> Result<Judgement, Overflow> {
        let bits: Vec<u64> = selection.iter().map(|offer| 1 << offer).collect();
        self.apply(&bits)?;
        let late = |responses: &mut dyn Iterator<Item = (usize, Duration)>| {
            let part = |(task, response): &(usize, Duration)| ppm(response.as_ns(), self.deadlines[*task]);
            let mut most: Option<(u64, usize, Duration)> = None;
            for found in responses {
                let part = part(&found)?;
                if most.is_none_or(|most| part > most.0) {
                    most = Some((part, found.0, found.1));
                }
            }
            Ok::<_, Overflow>(most.map_or(Miss::Steps, |(_, task, response)| Miss::Deadline {
                task,
                response,
                deadline: Duration::from_ns(self.deadlines[task]),
            }))
        };
        self.responses = match self.equations {
            Equations::Sound => match mixed::response_times(self.trial.guarded())? {
                Verdict::Schedulable(bounds) => bounds.tasks.iter().map(|task| task.from_arrival).collect(),
                Verdict::NotShown(Why::Passes(bounds)) => {
                    let tasks = bounds.tasks.iter().enumerate();
                    let passing = tasks.filter(|(_, task)| task.status == Status::Passes);
                    return late(&mut passing.map(|(at, task)| (at, task.from_arrival)))
                        .map(Judgement::Missed);
                }
                _ => return Ok(Judgement::Missed(Miss::Steps)),
            },
            Equations::Printed => match mixed_han14::claims(self.trial.guarded())? {
                Claims::Unsound(claims) if claims.iter().all(|claim| claim.claimed_to_fit) => {
                    claims.iter().map(|claim| claim.claimed).collect()
                }
                Claims::Unsound(claims) => {
                    let passing = claims.iter().enumerate().filter(|(_, claim)| !claim.claimed_to_fit);
                    return late(&mut passing.map(|(at, claim)| (at, claim.claimed))).map(Judgement::Missed);
                }
                _ => return Ok(Judgement::Missed(Miss::Steps)),
            },
        };
        for (at, constraint) in self.constraints.iter().enumerate() {
            let time = constraint.time(&self.responses, self.trial.guarded().guards())?;
            if time.is_none_or(|time| time > constraint.limit) {
                return Ok(Judgement::Missed(Miss::Constraint { at, time, limit: constraint.limit }));
            }
        }
        Ok(match self.weigh(&bits)? {
            Some(judged) => Judgement::Feasible(judged),
            None => Judgement::Missed(Miss::Memory),
        })
    }

    /// Applies to the set what these offers of each object have in common.
    fn apply(&mut self, bits: &[u64]) -> Result<(), Overflow> {
        self.judged += 1;
        for (at, &bits) in bits.iter().enumerate() {
            if self.applied.offers[at] == bits {
                continue;
            }
            let mut all = offers(bits).map(|offer| &self.loads[at][offer]);
            let Some(first) = all.next() else { continue };
            let load = all.fold(first.clone(), |load, offer| load.and(offer));
            let resource = self.objects[at].resource;
            self.trial.guard(resource, load.guard);
            self.trial.lengthen(resource, load.held)?;
            for (task, time) in &self.applied.loads[at].added {
                self.applied.costs[*task] -= u128::from(*time);
            }
            for (task, time) in &load.added {
                self.applied.costs[*task] += u128::from(*time);
            }
            self.applied.offers[at] = bits;
            self.applied.loads[at] = load;
        }
        for (task, cost) in self.applied.costs.iter().enumerate() {
            self.trial.cost(task, Duration::from_ns(u64::try_from(*cost).map_err(|_| Overflow)?));
        }
        Ok(())
    }

    /// The measures of the last judgement, if each object takes one of these offers; `None` if an object has no
    /// available one.
    pub(super) fn weigh(&self, bits: &[u64]) -> Result<Option<Judged>, Overflow> {
        let (mut bytes, mut response_ppm, mut tightest_ppm) = (0u64, 0u64, 0u64);
        for (object, &bits) in self.objects.iter().zip(bits) {
            let mut least = None;
            for offer in offers(bits) {
                let of_offer = self.bytes(&object.offers[offer], &self.responses)?;
                least = least.into_iter().chain(of_offer).min();
            }
            let Some(least) = least else { return Ok(None) };
            bytes = bytes.checked_add(least).ok_or(Overflow)?;
        }
        bytes = bytes.checked_add(self.charged(bits)).ok_or(Overflow)?;
        for (response, deadline) in self.responses.iter().zip(&self.deadlines) {
            let part = ppm(response.as_ns(), *deadline)?;
            response_ppm = response_ppm.checked_add(part).ok_or(Overflow)?;
            tightest_ppm = tightest_ppm.max(part);
        }
        Ok(Some(Judged { responses: self.responses.clone(), bytes, response_ppm, tightest_ppm }))
    }

    /// The offers of an object that have a guard, among these.
    pub(super) fn guarded(&self, object: usize, bits: u64) -> u64 {
        let has = |offer: &usize| self.objects[object].offers[*offer].guard != Guard::Absent;
        offers(bits).filter(has).fold(0, |bits, offer| bits | 1 << offer)
    }

    /// Bytes that are charged once, whichever of these offers the objects take.
    pub(super) fn charged(&self, bits: &[u64]) -> u64 {
        let certain =
            |object: &usize| bits[*object] != 0 && self.guarded(*object, bits[*object]) == bits[*object];
        let charges = self.charges.iter().filter(|charge| charge.objects.iter().any(certain));
        charges.fold(0, |sum, charge| sum.saturating_add(charge.bytes))
    }

    /// Bytes of an offer under these response times; `None` if it is not available.
    ///
    /// # Errors
    /// [`Overflow`] if the bytes do not fit in 64 bits.
    pub fn bytes(&self, offer: &Offer, responses: &[Duration]) -> Result<Option<u64>, Overflow> {
        let buffers = match &offer.memory {
            OfferMemory::Fixed(bytes) => return Ok(Some(*bytes)),
            OfferMemory::Asked(footprint) => return footprint.bytes(responses),
            OfferMemory::Timed(buffers) => buffers,
        };
        let writer = WriterTiming { period: self.periods[buffers.writer], within: responses[buffers.writer] };
        let count = match buffers.count {
            BufferCount::Lifetime => {
                let used: Vec<_> = buffers.readers.iter().map(|reader| responses[*reader]).collect();
                lifetime::buffers(&used, &writer)?.bound().copied()
            }
            BufferCount::Smallest => {
                let reader = |&reader: &usize| smallest::ReaderUse {
                    jobs: reader_instances::ReaderTiming {
                        period: self.periods[reader],
                        response: responses[reader],
                    },
                    used_for: responses[reader],
                };
                let readers: Vec<_> = buffers.readers.iter().map(reader).collect();
                smallest::buffers(&readers, &writer)?.bound().map(smallest::Sizes::least)
            }
        };
        // The set guarantees what the counts assume, so a count is missing only if it does not fit in 64 bits.
        let bytes = count.and_then(|count| count.checked_mul(buffers.each)).ok_or(Overflow)?;
        bytes.checked_add(buffers.fixed).ok_or(Overflow).map(Some)
    }
}
