// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How long jobs execute in a bench: drawn or given.

use std::fmt;
use std::ops::RangeInclusive;

use taut_time::Duration;

/// How long the jobs of a task execute, in virtual time. At least a nanosecond each.
pub struct ExecutionTime(Kind);

enum Kind {
    Always(Duration),
    Uniform(Duration, Duration),
    Given(Box<dyn FnMut(u64) -> Duration>),
}

impl fmt::Debug for ExecutionTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Always(time) => write!(f, "ExecutionTime({time})"),
            Kind::Uniform(least, most) => write!(f, "ExecutionTime({least}..={most})"),
            Kind::Given(_) => f.write_str("ExecutionTime(given)"),
        }
    }
}

impl ExecutionTime {
    /// Each job takes this long.
    pub fn always(time: Duration) -> Self {
        Self(Kind::Always(time))
    }

    /// Each job takes a time of the range, all equally likely, drawn from the bench's seed. If the range is
    /// empty, each job takes its end.
    pub fn uniform(range: RangeInclusive<Duration>) -> Self {
        let (least, most) = range.into_inner();
        Self(Kind::Uniform(least.min(most), most))
    }

    /// Each job takes the time that `of` gives for its number. If `of` uses no other source of chance, the
    /// seed determines the run.
    pub fn given(of: impl FnMut(u64) -> Duration + 'static) -> Self {
        Self(Kind::Given(Box::new(of)))
    }

    pub(super) fn of_job(&mut self, job: u64, random: &mut Random) -> Duration {
        let time = match &mut self.0 {
            Kind::Always(time) => *time,
            Kind::Uniform(least, most) => {
                let spread = most.as_ns().saturating_sub(least.as_ns());
                Duration::from_ns(least.as_ns().saturating_add(random.up_to(spread)))
            }
            Kind::Given(of) => of(job),
        };
        time.max(Duration::from_ns(1))
    }
}

/// Numbers from a seed: SplitMix64 [Steele 2014]. Each task has its own, so that a task that is added changes
/// no other's.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    /// The numbers of the task at a position of the plan.
    pub(super) fn of_task(seed: u64, task: usize) -> Self {
        let mut seeds = Self(seed ^ (task as u64).wrapping_mul(0xd134_2543_de82_ef95));
        Self(seeds.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to `last`, each about equally likely.
    fn up_to(&mut self, last: u64) -> u64 {
        ((u128::from(self.next()) * (u128::from(last) + 1)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first values for the seed 1234567, as the authors' program gives them.
    #[test]
    fn steele14_reference() {
        let mut random = Random(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([(); 3].map(|()| random.next()), expected);
    }

    #[test]
    fn a_range_is_covered_and_kept() {
        let us = Duration::from_us;
        let mut random = Random::of_task(7, 0);
        let mut time = ExecutionTime::uniform(us(1)..=us(2));
        let drawn: Vec<_> = (0..1_000).map(|job| time.of_job(job, &mut random)).collect();
        assert!(drawn.iter().all(|time| (us(1)..=us(2)).contains(time)));
        let below = drawn.iter().filter(|time| **time < Duration::from_ns(1_500)).count();
        assert!((400..600).contains(&below), "{below}");
        assert_eq!(ExecutionTime::uniform(us(9)..=us(2)).of_job(0, &mut random), us(2));
        assert_eq!(ExecutionTime::always(Duration::ZERO).of_job(0, &mut random), Duration::from_ns(1));
        assert_eq!(ExecutionTime::given(move |job| us(job + 3)).of_job(4, &mut random), us(7));
    }
}
