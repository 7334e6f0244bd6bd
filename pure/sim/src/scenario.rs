// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_time::Duration;

use crate::random::Random;

/// What is left open by a task set, decided: one run. The same set, rules and scenario give the same run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// Of all that is random.
    pub seed: u64,
    /// Nothing arrives at this time or later. What has arrived runs to its end.
    pub horizon: Duration,
    /// When first jobs arrive.
    pub start: Start,
    /// How far apart the arrivals of sporadic tasks are.
    pub gaps: Gaps,
    /// How long after its arrival a job is released.
    pub jitter: Jitter,
    /// How long jobs execute.
    pub execution: Execution,
    /// Where the sections of [`Body::Anywhere`](taut_model::Body::Anywhere) are.
    pub placement: Placement,
    /// All arrivals of some tasks, in order: a position in the set and the times.
    pub exactly: Vec<(usize, Vec<Duration>)>,
    /// Of some tasks, how long after its arrival each job is released, up to their jitter; 0 past the end of the list.
    pub delays: Vec<(usize, Vec<Duration>)>,
    /// Of some tasks, where the sections of all their jobs are.
    pub placed: Vec<(usize, Vec<Place>)>,
    /// Of some tasks, how much of C each job executes, instead of what `execution` says: the same share of every part.
    pub executions: Vec<(usize, Shares)>,
    /// Of some sporadic tasks, what comes to T in each gap, as a share of it, instead of what `gaps` says.
    pub lengthened: Vec<(usize, Shares)>,
    /// Of some tasks, jobs that do not keep to C: which, from 0 as they arrive, and how much more they execute after all
    /// else, when they hold nothing.
    pub excess: Vec<(usize, Vec<(u64, Duration)>)>,
    /// Instants of something happening after which the run is given up.
    pub steps_max: u64,
}

impl Scenario {
    /// The run that is worst for preemptive fixed priority without locks: all at once, as often, as long and as soon as
    /// may be, sections first.
    pub fn worst(horizon: Duration) -> Self {
        Self {
            seed: 0,
            horizon,
            start: Start::Critical,
            gaps: Gaps::Least,
            jitter: Jitter::First,
            execution: Execution::Full,
            placement: Placement::Front,
            exactly: Vec::new(),
            delays: Vec::new(),
            placed: Vec::new(),
            executions: Vec::new(),
            lengthened: Vec::new(),
            excess: Vec::new(),
            steps_max: u64::MAX,
        }
    }

    /// One in which everything that may be is random.
    pub fn random(horizon: Duration, seed: u64) -> Self {
        Self {
            seed,
            start: Start::Random,
            gaps: Gaps::UpTo { percent: 50 },
            jitter: Jitter::Random,
            execution: Execution::Random { least_percent: 50 },
            placement: Placement::Random,
            ..Self::worst(horizon)
        }
    }
}

/// A section's place in a body that leaves it open. What does not fit is left out: a resource that the task does not
/// ask for so often, or execution that it does not have; sections that are not given follow the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The resource: a position in the set.
    pub resource: usize,
    /// Execution since the section before.
    pub before: Duration,
}

/// Shares of a whole, job by job, in millionths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shares {
    /// As recorded: of the first job, the second, and so on; past the end of the list again from its beginning. An empty
    /// list is 0.
    Trace(Vec<u32>),
    /// At random, by a distribution's quantiles in rising order: it is as likely to fall between any two that follow each
    /// other, anywhere between them. One is always that, none is 0.
    Quantiles(Vec<u32>),
}

impl Shares {
    /// All of the whole.
    pub const WHOLE: u32 = 1_000_000;

    /// What was recorded, as shares of a whole; rounded up. A whole of 0 makes them 0.
    pub fn recorded(times: &[Duration], whole: Duration) -> Self {
        let share = |time: &Duration| {
            let share = u128::from(time.as_ns()) * u128::from(Self::WHOLE);
            let share = share.div_ceil(u128::from(whole.as_ns()).max(1));
            if whole.is_zero() { 0 } else { u32::try_from(share).unwrap_or(u32::MAX) }
        };
        Self::Trace(times.iter().map(share).collect())
    }

    pub(crate) fn of(&self, job: u64, random: &mut Random) -> u64 {
        match self {
            Self::Trace(list) => {
                let at = job.checked_rem(list.len() as u64).unwrap_or(0);
                list.get(at as usize).copied().map_or(0, u64::from)
            }
            Self::Quantiles(list) => match list.len() {
                0 => 0,
                1 => u64::from(list[0]),
                count => {
                    let at = random.up_to(count as u64 - 2) as usize;
                    let (low, high) = (u64::from(list[at]), u64::from(list[at + 1]));
                    low + random.up_to(high.saturating_sub(low))
                }
            },
        }
    }
}

/// When first jobs arrive. A task with a given offset keeps it, but for `At`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// At 0.
    Synchronous,
    /// Such that first jobs are released at once with [`Jitter::First`]: at the longest jitter of all less their own.
    Critical,
    /// Anywhere in the first period.
    Random,
    /// Then; a task past the end of the list at 0.
    At(Vec<Duration>),
}

/// How far apart arrivals are. Periodic ones are always a period apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gaps {
    /// As little as may be.
    Least,
    /// A random time of up to so much of the period more.
    UpTo {
        /// Of the period, for each gap anew.
        percent: u32,
    },
}

/// How long after its arrival a job is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jitter {
    /// At once.
    None,
    /// J for first jobs, then 0: what is worst for others.
    First,
    /// J always.
    Full,
    /// 0 to J.
    Random,
}

/// How long jobs execute, of what the body says; every part that is not empty takes 1 ns at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Execution {
    /// All of it.
    Full,
    /// So much of each part.
    Scaled {
        /// 100 is all; more counts as 100.
        percent: u32,
    },
    /// For each part anew.
    Random {
        /// At least so much; more than 100 counts as 100.
        least_percent: u32,
    },
}

/// Where the sections are of a body that leaves it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// One after the other at the start, in the order of the set's requests.
    Front,
    /// One after the other at the end.
    Back,
    /// With equal execution before, between and after.
    Even,
    /// In any order with any execution between, for each job anew.
    Random,
}
