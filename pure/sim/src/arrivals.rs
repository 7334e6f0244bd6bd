// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The arrivals and releases of a task's jobs.

use taut_model::{ArrivalPattern, SetTask};

use crate::calendar::NEVER;
use crate::random::Random;
use crate::{Gaps, Jitter, Scenario, Shares, Start};

/// A task's arrivals under a scenario, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    period: u64,
    /// The most that a gap between two arrivals may exceed the period.
    spread: u64,
    jitter: u64,
    pattern: Jitter,
    horizon: u64,
    /// The scenario's exact list that gives the arrivals instead, if there is one.
    list: Option<usize>,
    /// The scenario's list that gives the times from arrival to release, if there is one.
    delays: Option<usize>,
    /// The position of its task in the scenario's list of lengthened gaps.
    lengthened: Option<usize>,
    /// How many arrivals there were.
    count: usize,
    /// The earliest instant at which the task's next job can arrive, if the arrival itself is not known: T after the
    /// last.
    soonest: Option<u64>,
    pub(crate) arrival: u64,
    /// Never before an earlier release.
    pub(crate) release: u64,
}

impl Source {
    /// A source at its first arrival, if that is before the horizon.
    pub(crate) fn new(
        task: &SetTask,
        at: usize,
        latest: u64,
        scenario: &Scenario,
        random: &mut Random,
    ) -> Self {
        let (period, jitter) = (task.period.as_ns(), task.jitter.as_ns());
        let first = match (&scenario.start, task.arrivals) {
            (Start::At(times), _) => times.get(at).map_or(0, |time| time.as_ns()),
            (_, ArrivalPattern::Phased(offset)) => offset.as_ns(),
            (Start::Synchronous, _) => 0,
            (Start::Critical, _) => latest - jitter,
            (Start::Random, _) => random.up_to(period - 1),
        };
        let spread = match scenario.gaps {
            Gaps::UpTo { percent } if task.arrivals.is_sporadic() => {
                u64::try_from(u128::from(period) * u128::from(percent) / 100).unwrap_or(u64::MAX)
            }
            _ => 0,
        };
        let mut source = Self {
            period,
            spread,
            jitter,
            pattern: scenario.jitter,
            horizon: scenario.horizon.as_ns(),
            list: place(&scenario.exactly, at),
            delays: place(&scenario.delays, at),
            lengthened: place(&scenario.lengthened, at).filter(|_| task.arrivals.is_sporadic()),
            count: 0,
            soonest: (task.arrivals.is_sporadic()).then_some(0),
            arrival: first,
            release: 0,
        };
        if source.list.is_some() {
            source.arrival = source.listed(scenario);
        }
        source.settle(scenario, random);
        source
    }

    fn listed(&self, scenario: &Scenario) -> u64 {
        let list = self.list.and_then(|list| scenario.exactly.get(list));
        list.and_then(|(_, times)| times.get(self.count))
            .map_or(NEVER, |time| time.as_ns().max(self.arrival_before()))
    }

    fn arrival_before(&self) -> u64 {
        if self.count == 0 { 0 } else { self.arrival }
    }

    /// An instant before which no job arrives that has not been released by now: the next arrival of a periodic task;
    /// for a sporadic task, what a driver can know.
    pub(crate) fn next_from(&self, now: u64) -> u64 {
        self.soonest.map_or(self.arrival, |soonest| self.arrival.min(soonest.max(now)))
    }

    /// The caller gives the next arrival; nothing else is known about it.
    pub(crate) fn set_next(&mut self, arrival: u64) {
        (self.soonest, self.arrival) = (None, arrival);
    }

    /// Advances to the next arrival.
    pub(crate) fn advance(&mut self, scenario: &Scenario, random: &mut Random) {
        self.count += 1;
        self.soonest = self.soonest.map(|_| self.arrival.saturating_add(self.period));
        self.arrival = if self.list.is_some() {
            self.listed(scenario)
        } else {
            let more = match self.lengthened.and_then(|list| scenario.lengthened.get(list)) {
                Some((_, shares)) => {
                    let share = u128::from(shares.of(self.count as u64 - 1, random));
                    let more = u128::from(self.period) * share / u128::from(Shares::WHOLE);
                    u64::try_from(more).unwrap_or(u64::MAX)
                }
                None if self.spread > 0 => random.up_to(self.spread),
                None => 0,
            };
            self.arrival.saturating_add(self.period).saturating_add(more)
        };
        self.settle(scenario, random);
    }

    /// Computes the release of an arrival; none at or past the horizon.
    fn settle(&mut self, scenario: &Scenario, random: &mut Random) {
        if self.arrival >= self.horizon {
            self.release = NEVER;
            return;
        }
        let delays = self.delays.and_then(|list| scenario.delays.get(list));
        let late = match (delays, self.pattern) {
            (Some((_, delays)), _) => {
                delays.get(self.count).map_or(0, |delay| delay.as_ns().min(self.jitter))
            }
            (None, Jitter::None) => 0,
            (None, Jitter::First) if self.count > 0 => 0,
            (None, Jitter::First | Jitter::Full) => self.jitter,
            (None, Jitter::Random) => random.up_to(self.jitter),
        };
        // The simulation checks before a run that this fits.
        self.release = self.release.max(self.arrival.saturating_add(late));
    }
}

/// The position of a task's entry in a list; tries the task's own position first.
pub(crate) fn place<T>(list: &[(usize, T)], task: usize) -> Option<usize> {
    let own = list.get(task).is_some_and(|(whose, _)| *whose == task).then_some(task);
    own.or_else(|| list.iter().position(|(whose, _)| *whose == task))
}
