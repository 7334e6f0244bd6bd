// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use core::fmt;

/// The result of an analysis. `B` is the type of its bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict<B> {
    /// The limit holds in every run that the model allows, and here are the bounds.
    Schedulable(B),
    /// The analysis could not show that the limit holds. That says nothing about real runs.
    NotShown(Why<B>),
    /// The theorem does not apply: an assumption does not hold.
    NotApplicable(Assumption),
    /// Some run that the model allows breaks the limit; only an exact test says so. The value is past the limit, and
    /// the true value is at least as large.
    Unschedulable(B),
}

/// Why the limit could not be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why<B> {
    /// The bound passes the limit: the bound is at least this value. The test is only sufficient here.
    Passes(B),
    /// Proven: there is no bound. More work arrives than is served, or waits that depend on each other grow without
    /// end.
    Rate,
    /// The iteration gave up after this many steps.
    Steps(u32),
}

/// An assumption of a theorem that an input does not satisfy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assumption {
    /// Every period, and every least time between arrivals, is more than zero.
    PositivePeriod,
    /// 0 < D ≤ T: a job is due before the next one arrives.
    ConstrainedDeadline,
    /// The writer of a state is periodic: it replaces an old value within a period.
    PeriodicWriter,
    /// At least one value is sent and taken per job.
    PositiveCount,
    /// A resource is used on one core only.
    LocalResources,
    /// The cores are scheduled by fixed priority.
    FixedPriority,
    /// The cores are scheduled by earliest deadline first.
    Edf,
    /// 0 < F ≤ C: a job ends with a non-empty region in which nothing preempts it.
    LastRegion,
    /// The tasks come in rate-monotonic order: the shorter the period, the more urgent.
    RateMonotonic,
    /// 0 < C_s ≤ R_s ≤ T_s: a server has a budget, and can use it up within a period.
    ServedInPeriod,
    /// An event is periodic, or all of its activities are released before the next event can release one.
    PeriodicEvent,
    /// The activity that the caller asks about exists.
    KnownActivity,
    /// There are at most as many scenarios as the caller allows.
    FewScenarios,
    /// The reader of a state is periodic: it reads again within a period.
    PeriodicReader,
    /// R ≤ T: a job of a task completes before the next one arrives.
    OneJobAtATime,
    /// A part is not longer than the whole, and a time that divides another is not zero.
    TimeOrder,
    /// The entry that the caller asks about is in the list.
    Listed,
}

impl fmt::Display for Assumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PositivePeriod => "a period is zero",
            Self::ConstrainedDeadline => "a deadline is zero or longer than the period",
            Self::PeriodicWriter => "the writer of a state is not periodic, so a value may stay for ever",
            Self::PositiveCount => "a job sends or takes nothing",
            Self::LocalResources => "a resource is used on several cores",
            Self::FixedPriority => "a core is not scheduled by fixed priority",
            Self::Edf => "a core is not scheduled by earliest deadline first",
            Self::LastRegion => "a job's last region is empty or longer than the job",
            Self::RateMonotonic => "a task is more urgent than one with a shorter period",
            Self::ServedInPeriod => "a server has no budget, or cannot use it up within its period",
            Self::PeriodicEvent => {
                "an event is not periodic, so the jobs that it releases may arrive after those of the next event"
            }
            Self::KnownActivity => "there is no such activity",
            Self::FewScenarios => "there are more scenarios than the limit allows",
            Self::PeriodicReader => "the reader of a state is not periodic, so a value may never be read",
            Self::OneJobAtATime => "a job may still run when the next one of its task arrives",
            Self::Listed => "the requested entry is not in the list",
            Self::TimeOrder => "a part is longer than the whole, or a time that divides is zero",
        })
    }
}

/// A value does not fit in 64 bits: a time over 584 years, or as many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow;

impl fmt::Display for Overflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a bound does not fit in 64 bits")
    }
}

impl core::error::Error for Overflow {}

impl<B> Verdict<B> {
    /// The bound, if the limit holds.
    pub fn bound(&self) -> Option<&B> {
        match self {
            Self::Schedulable(bound) => Some(bound),
            _ => None,
        }
    }

    /// Whether the limit holds.
    pub fn holds(&self) -> bool {
        self.bound().is_some()
    }

    /// The same verdict with a value that is computed from the bound.
    pub fn map<C>(self, f: impl FnOnce(B) -> C) -> Verdict<C> {
        match self {
            Self::Schedulable(bound) => Verdict::Schedulable(f(bound)),
            Self::Unschedulable(past) => Verdict::Unschedulable(f(past)),
            Self::NotShown(Why::Passes(past)) => Verdict::NotShown(Why::Passes(f(past))),
            Self::NotShown(Why::Rate) => Verdict::NotShown(Why::Rate),
            Self::NotShown(Why::Steps(n)) => Verdict::NotShown(Why::Steps(n)),
            Self::NotApplicable(assumption) => Verdict::NotApplicable(assumption),
        }
    }
}
