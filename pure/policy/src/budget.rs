// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How long a job may have the core, and what happens to a job that takes longer or is late.

use taut_time::{Duration, Instant};

/// What happens to a job that uses up its budget, or is not complete when the next release of its task is due.
///
/// | | budget used up | release due |
/// |---|---|---|
/// | [`RunOn`](Self::RunOn) | reported | waits for the late job |
/// | [`SkipNext`](Self::SkipNext) | reported | dropped |
/// | [`KillJob`](Self::KillJob) | the job ends | the late job ends; the release waits for that |
/// | [`StopApp`](Self::StopApp) | the application stops | the application stops |
/// | [`Demote`](Self::Demote) | the job continues below all others | so does the late job; the release is dropped |
///
/// A budget with `KillJob`, `Demote` or `StopApp` isolates other tasks from a faulty job: for them, a job never costs
/// more than its budget and its longest section, see [`Background`](crate::Background).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Overrun {
    /// The late job continues; the next starts right after it.
    RunOn,
    /// The late job continues; releases that are due meanwhile are dropped.
    SkipNext,
    /// The late job ends at a safe point.
    KillJob,
    /// The application stops.
    StopApp,
    /// The late job continues when its core has nothing else to run; releases that are due meanwhile are dropped.
    Demote,
}

/// A fault of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The job has used up its budget and is not complete. Reported after completions at the same instant: a job that
    /// completes at that instant has kept its budget.
    UsedUp,
    /// A release of its task is due and the job is not complete.
    Due,
}

/// The reaction to a job's fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// The job continues; the fault is reported.
    Report,
    /// The release waits until the job is complete.
    Wait,
    /// The release is dropped.
    Drop,
    /// The job ends at its next safe point, where it holds nothing: as soon as it runs, or where its code checks for
    /// this. If it has used up its budget, it continues in the [`Background`](crate::Background) until then. A
    /// release waits for the end.
    End,
    /// The job continues in the [`Background`](crate::Background), as soon as it holds nothing. A release that is due
    /// is dropped.
    Demote,
    /// The application stops.
    Stop,
}

impl Overrun {
    /// Whether it needs a dispatcher, which can take a job off its core.
    pub const fn needs_dispatcher(self) -> bool {
        matches!(self, Self::KillJob | Self::Demote)
    }

    /// What to do about a job with a fault. O(1).
    pub const fn remedy(self, trouble: Trouble) -> Remedy {
        match (self, trouble) {
            (Self::RunOn | Self::SkipNext, Trouble::UsedUp) => Remedy::Report,
            (Self::RunOn, Trouble::Due) => Remedy::Wait,
            (Self::SkipNext, Trouble::Due) => Remedy::Drop,
            (Self::KillJob, _) => Remedy::End,
            (Self::StopApp, _) => Remedy::Stop,
            (Self::Demote, _) => Remedy::Demote,
        }
    }
}

/// How long a job may have the core. All the time for which it has the core counts, spinning for a resource included.
/// Each step O(1).
///
/// ```
/// use taut_policy::Budget;
/// use taut_time::{Duration, Instant};
///
/// let at = Instant::from_ns;
/// let mut budget = Budget::new(Duration::from_ns(5));
/// budget.start(at(10));
/// assert_eq!(budget.used_up(), Some(at(15)));
/// budget.stop(at(12));
/// assert_eq!(budget.used_up(), None, "it does not run");
/// budget.start(at(20));
/// assert_eq!(budget.used_up(), Some(at(23)));
/// assert!(!budget.is_used_up(at(22)) && budget.is_used_up(at(23)));
/// budget.renew();
/// assert_eq!(budget.left(at(30)), Duration::from_ns(5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    whole: u64,
    used: u64,
    /// The instant since which the job runs (ns).
    since: Option<u64>,
}

impl Budget {
    /// The budget of a job that has not run.
    pub const fn new(whole: Duration) -> Self {
        Self { whole: whole.as_ns(), used: 0, since: None }
    }

    /// The next job begins; it does not run yet.
    pub const fn renew(&mut self) {
        (self.used, self.since) = (0, None);
    }

    /// The job runs from now on. Changes nothing if it already runs.
    pub const fn start(&mut self, now: Instant) {
        if self.since.is_none() {
            self.since = Some(now.as_ns());
        }
    }

    /// The job stops running. Changes nothing if it does not run.
    pub const fn stop(&mut self, now: Instant) {
        (self.used, self.since) = (self.used(now).as_ns(), None);
    }

    /// Corrects the counted time to `used`, the measured time for which the job has had the core: other threads had
    /// the core for the rest. Changes nothing if `used` is not less than the counted time.
    pub const fn found(&mut self, used: Duration, now: Instant) {
        if used.as_ns() < self.used(now).as_ns() {
            self.used = used.as_ns();
            if self.since.is_some() {
                self.since = Some(now.as_ns());
            }
        }
    }

    /// How long the job has had the core.
    pub const fn used(&self, now: Instant) -> Duration {
        let runs = match self.since {
            Some(since) => now.as_ns().saturating_sub(since),
            None => 0,
        };
        Duration::from_ns(self.used.saturating_add(runs))
    }

    /// How much longer the job may have the core.
    pub const fn left(&self, now: Instant) -> Duration {
        Duration::from_ns(self.whole.saturating_sub(self.used(now).as_ns()))
    }

    /// Whether the budget is used up.
    pub const fn is_used_up(&self, now: Instant) -> bool {
        self.left(now).is_zero()
    }

    /// The instant at which the budget is or was used up, if the job keeps running; none if it does not run, or if
    /// that instant cannot be represented.
    pub const fn used_up(&self) -> Option<Instant> {
        let Some(since) = self.since else { return None };
        Instant::from_ns(since).checked_add(Duration::from_ns(self.whole.saturating_sub(self.used)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_takes_nothing_away() {
        let (at, ns) = (Instant::from_ns, Duration::from_ns);
        let mut budget = Budget::new(ns(10));
        budget.start(at(100));
        budget.found(ns(7), at(104));
        assert_eq!(budget.used(at(104)), ns(4), "it was not more");
        budget.found(ns(4), at(104));
        assert_eq!(budget.used_up(), Some(at(110)), "nor as much");
        budget.found(ns(1), at(104));
        assert_eq!((budget.used(at(106)), budget.used_up()), (ns(3), Some(at(113))), "it goes on from there");
        budget.stop(at(106));
        budget.found(ns(2), at(120));
        assert_eq!((budget.used(at(130)), budget.used_up()), (ns(2), None), "it does not run");
    }

    #[test]
    fn every_trouble_has_its_remedy() {
        use Overrun::*;
        let table = [RunOn, SkipNext, KillJob, StopApp, Demote]
            .map(|policy| [Trouble::UsedUp, Trouble::Due].map(|trouble| policy.remedy(trouble)));
        let expected = [
            [Remedy::Report, Remedy::Wait],
            [Remedy::Report, Remedy::Drop],
            [Remedy::End, Remedy::End],
            [Remedy::Stop, Remedy::Stop],
            [Remedy::Demote, Remedy::Demote],
        ];
        assert_eq!(table, expected);
    }

    #[test]
    fn what_others_had_is_not_its_own() {
        let (at, ns) = (Instant::from_ns, Duration::from_ns);
        let mut budget = Budget::new(ns(10));
        budget.start(at(0));
        budget.found(ns(4), at(12));
        assert_eq!((budget.is_used_up(at(17)), budget.used_up()), (false, Some(at(18))));
        budget.found(ns(11), at(18));
        assert!(budget.is_used_up(at(18)), "never more than the clock says");
        budget.stop(at(18));
        budget.found(ns(6), at(30));
        assert_eq!((budget.used_up(), budget.left(at(99))), (None, ns(4)), "it does not run");
    }

    #[test]
    fn told_twice_or_late() {
        let at = Instant::from_ns;
        let mut budget = Budget::new(Duration::from_ns(5));
        budget.stop(at(1));
        budget.start(at(2));
        budget.start(at(4));
        assert_eq!(budget.used(at(9)), Duration::from_ns(7));
        assert_eq!((budget.used_up(), budget.left(at(9))), (Some(at(7)), Duration::ZERO));
        budget.stop(at(9));
        budget.start(at(20));
        assert_eq!(budget.used_up(), Some(at(20)));
        let mut last = Budget::new(Duration::MAX);
        last.start(at(1));
        assert_eq!(last.used_up(), None);
        // Time that goes backwards counts as none.
        assert_eq!(last.used(at(0)), Duration::ZERO);
    }
}
