// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a selection comes to, and what it misses.

use taut_analysis::multi::mpcp_lnr09_paper::Claims;
use taut_analysis::multi::{Bounds, Guard, Status, mixed, mixed_han14};
use taut_analysis::wait_free::writes_during_read::Writer;
use taut_analysis::wait_free::{lifetime, reader_instances, smallest};
use taut_analysis::{Overflow, Verdict, Why};
use taut_time::Duration;

use super::aim::ppm;
use super::offer::{Count, Memory, Object, Offer};
use super::problem::{Equations, Judged, Problem};

/// What a selection does not keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Miss {
    /// A deadline is not shown to be kept. Of several, that of the task whose bound passes it by the largest part.
    Deadline {
        /// Whose: a position in the set.
        task: usize,
        /// The first bound found past the deadline, from arrival.
        response: Duration,
        /// D.
        deadline: Duration,
    },
    /// All deadlines are kept, but not this.
    Constraint {
        /// A position in [`Problem::constraints`].
        at: usize,
        /// Its time; `None` if none is shown.
        time: Option<Duration>,
        /// What it may be at most.
        limit: Duration,
    },
    /// The analysis gave up before it showed anything.
    Steps,
}

/// What a selection comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All deadlines and constraints are kept.
    Kept(Judged),
    /// Something is not, first of all this.
    Missed(Miss),
}

impl Problem {
    /// Judges an offer per object; `None` leaves an object open: then nothing waits for it, and what comes to jobs is
    /// the least of what its offers add. `None` is answered if some deadline or constraint is not shown to be kept:
    /// with open parts, none is whatever is taken for them.
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
        self.lay(selection)?;
        let Some(responses) = self.responses(above)? else { return Ok(None) };
        for constraint in &self.constraints {
            if !constraint.is_kept(&responses, self.guarded.guards())? {
                return Ok(None);
            }
        }
        self.weigh(selection, responses).map(Some)
    }

    /// Judges a selection, and says what it does not keep.
    ///
    /// # Errors
    /// [`Overflow`] if times do not fit in 64 bits.
    pub fn outcome(&mut self, selection: &[usize]) -> Result<Outcome, Overflow> {
        let whole: Vec<_> = selection.iter().copied().map(Some).collect();
        self.lay(&whole)?;
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
        let responses: Vec<Duration> = match self.equations {
            Equations::Sound => match mixed::response_times(&self.guarded)? {
                Verdict::Schedulable(bounds) => bounds.tasks.iter().map(|task| task.from_arrival).collect(),
                Verdict::NotShown(Why::Passes(bounds)) => {
                    let tasks = bounds.tasks.iter().enumerate();
                    let passing = tasks.filter(|(_, task)| task.status == Status::Passes);
                    return late(&mut passing.map(|(at, task)| (at, task.from_arrival))).map(Outcome::Missed);
                }
                _ => return Ok(Outcome::Missed(Miss::Steps)),
            },
            Equations::Printed => match mixed_han14::claims(&self.guarded)? {
                Claims::Unsound(claims) if claims.iter().all(|claim| claim.claimed_to_fit) => {
                    claims.iter().map(|claim| claim.claimed).collect()
                }
                Claims::Unsound(claims) => {
                    let passing = claims.iter().enumerate().filter(|(_, claim)| !claim.claimed_to_fit);
                    return late(&mut passing.map(|(at, claim)| (at, claim.claimed))).map(Outcome::Missed);
                }
                _ => return Ok(Outcome::Missed(Miss::Steps)),
            },
        };
        for (at, constraint) in self.constraints.iter().enumerate() {
            let time = constraint.time(&responses, self.guarded.guards())?;
            if time.is_none_or(|time| time > constraint.limit) {
                return Ok(Outcome::Missed(Miss::Constraint { at, time, limit: constraint.limit }));
            }
        }
        self.weigh(&whole, responses).map(Outcome::Kept)
    }

    /// Sets guards and costs as a selection says.
    fn lay(&mut self, selection: &[Option<usize>]) -> Result<(), Overflow> {
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
        Ok(())
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

    /// The measures of a selection with these responses.
    fn weigh(&self, selection: &[Option<usize>], responses: Vec<Duration>) -> Result<Judged, Overflow> {
        let (mut bytes, mut response_ppm, mut tightest_ppm) = (0u64, 0u64, 0u64);
        for (object, offer) in self.objects.iter().zip(selection) {
            let of_object = match offer {
                Some(offer) => self.bytes(&object.offers[*offer], &responses)?,
                None => self.least_bytes(object, &responses)?,
            };
            bytes = bytes.checked_add(of_object).ok_or(Overflow)?;
        }
        for (response, deadline) in responses.iter().zip(&self.deadlines) {
            let part = ppm(response.as_ns(), *deadline)?;
            response_ppm = response_ppm.checked_add(part).ok_or(Overflow)?;
            tightest_ppm = tightest_ppm.max(part);
        }
        Ok(Judged { responses, bytes, response_ppm, tightest_ppm })
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
                let reader = |&reader: &usize| smallest::Reader {
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
}
