// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_time::Duration;

use crate::random::Random;

/// One run: fixes everything that a task set leaves open. The same set, rules and scenario give the same run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// The seed of all random choices.
    pub seed: u64,
    /// Nothing arrives at this time or later. Jobs that have arrived run to their ends.
    pub horizon: Duration,
    /// When the first jobs arrive.
    pub start: Start,
    /// The gaps between arrivals of sporadic tasks.
    pub gaps: Gaps,
    /// How long after its arrival a job is released.
    pub jitter: Jitter,
    /// How long jobs execute.
    pub execution: Execution,
    /// Where the sections of [`Body::Anywhere`](taut_model::Body::Anywhere) are.
    pub placement: Placement,
    /// For some tasks, all arrivals, in order: a position in the set and the times.
    pub exactly: Vec<(usize, Vec<Duration>)>,
    /// For some tasks, the time from each job's arrival to its release, up to their jitter; 0 past the end of the
    /// list.
    pub delays: Vec<(usize, Vec<Duration>)>,
    /// For some tasks, the places of the sections of all their jobs.
    pub placed: Vec<(usize, Vec<SectionPosition>)>,
    /// For some tasks, the share of C that each job executes, instead of `execution`: the same share of every part.
    pub executions: Vec<(usize, Shares)>,
    /// For some sporadic tasks, the excess of each gap over T, as a share of T, instead of `gaps`.
    pub lengthened: Vec<(usize, Shares)>,
    /// For some tasks, jobs that exceed C: the job's number, from 0 in order of arrival, and how much longer it
    /// executes, at its end, when it holds nothing.
    pub excess: Vec<(usize, Vec<(u64, Duration)>)>,
    /// The number of events after which the run is given up.
    pub steps_max: u64,
}

impl Scenario {
    /// The worst run for preemptive fixed priority without locks: all tasks at once, as often, as long and as soon as
    /// possible, sections first.
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

    /// A run in which everything that can be random is.
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

/// The place of a section in a body that does not fix it. What does not fit is ignored: a resource that the task does
/// not request so often, or execution that it does not have; sections that are not listed follow the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectionPosition {
    /// The resource: a position in the set.
    pub resource: usize,
    /// Execution since the previous section.
    pub before: Duration,
}

/// Shares of a whole, job by job, in millionths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shares {
    /// A recorded trace: the first job's share, the second's, and so on; the list repeats. An empty list is 0.
    Trace(Vec<u32>),
    /// Random, by the quantiles of a distribution in ascending order: each interval between two neighbours is equally
    /// likely, and so is each value in it. A list of one always gives that share; an empty one gives 0.
    Quantiles(Vec<u32>),
}

impl Shares {
    /// All of the whole.
    pub const WHOLE: u32 = 1_000_000;

    /// Recorded times as shares of a whole, rounded up. If the whole is 0, they are 0.
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

/// When the first jobs arrive. A task with a fixed offset keeps it, except with `At`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// At 0.
    Synchronous,
    /// So that the first jobs are released at once with [`Jitter::First`]: each at the longest jitter of all tasks,
    /// less its own.
    Critical,
    /// Anywhere in the first period.
    Random,
    /// At the given times; a task past the end of the list arrives at 0.
    At(Vec<Duration>),
}

/// The gaps between arrivals. Periodic tasks always have gaps of one period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gaps {
    /// As short as possible.
    Least,
    /// Longer by a random time of up to this share of the period.
    UpTo {
        /// Percent of the period, for each gap anew.
        percent: u32,
    },
}

/// How long after its arrival a job is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jitter {
    /// At once.
    None,
    /// J for first jobs, then 0: the worst for other tasks.
    First,
    /// J always.
    Full,
    /// 0 to J.
    Random,
}

/// How long jobs execute, relative to the body; every part that is not empty takes at least 1 ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Execution {
    /// All of it.
    Full,
    /// This share of each part.
    Scaled {
        /// 100 is all; more counts as 100.
        percent: u32,
    },
    /// A random share, for each part anew.
    Random {
        /// The least share; more than 100 counts as 100.
        least_percent: u32,
    },
}

/// The places of sections in a body that does not fix them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// One after the other at the start, in the order of the set's requests.
    Front,
    /// One after the other at the end.
    Back,
    /// With equal execution before, between and after.
    Even,
    /// In a random order with random execution between them, for each job anew.
    Random,
}
