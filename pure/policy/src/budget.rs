// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How long a job may have the core, and what becomes of one that takes longer or is late.

use taut_time::{Duration, Instant};

/// What is done about a job that uses up its budget, or is not complete when the next release of its task falls due.
///
/// | | budget used up | release due |
/// |---|---|---|
/// | [`RunOn`](Self::RunOn) | told | waits for the late job |
/// | [`SkipNext`](Self::SkipNext) | told | dropped |
/// | [`KillJob`](Self::KillJob) | the job ends | the late job ends; the release waits for that |
/// | [`StopApp`](Self::StopApp) | the application stops | the application stops |
/// | [`Demote`](Self::Demote) | the job goes on below all others | so does the late job; the release is dropped |
///
/// What isolates others from a job that goes wrong is a budget with `KillJob`, `Demote` or `StopApp`: to them a job never
/// costs more than the budget and its longest section, see [`Background`](crate::Background).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overrun {
    /// The late job goes on; the next starts right after it.
    RunOn,
    /// The late job goes on; releases that fall due meanwhile are dropped.
    SkipNext,
    /// The late job is ended at a safe point.
    KillJob,
    /// The application stops.
    StopApp,
    /// The late job goes on when nothing else of its core does; releases that fall due meanwhile are dropped.
    Demote,
}

/// What happened to a job that should not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Its budget is used up, and it is not complete. Told after what ends at the same instant: a job that is complete
    /// just then has kept its budget.
    UsedUp,
    /// A release of its task falls due, and it is not complete.
    Due,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// It goes on as it was; whoever watches is told.
    Tell,
    /// The release waits until it is complete.
    Wait,
    /// The release is dropped.
    Drop,
    /// It ends at its next safe point: as soon as it runs, or as what checks for it says, and holds nothing. Until then it
    /// goes on in the [`Background`](crate::Background), if it is its budget that is used up. A release waits for that.
    End,
    /// It goes on in the [`Background`](crate::Background), as soon as it holds nothing. A release that falls due is dropped.
    Demote,
    /// The application stops.
    Stop,
}

impl Overrun {
    /// What to do about a job. O(1).
    pub const fn remedy(self, trouble: Trouble) -> Remedy {
        match (self, trouble) {
            (Self::RunOn | Self::SkipNext, Trouble::UsedUp) => Remedy::Tell,
            (Self::RunOn, Trouble::Due) => Remedy::Wait,
            (Self::SkipNext, Trouble::Due) => Remedy::Drop,
            (Self::KillJob, _) => Remedy::End,
            (Self::StopApp, _) => Remedy::Stop,
            (Self::Demote, _) => Remedy::Demote,
        }
    }
}

/// What a job may have of the core: all the time that it has it, spinning for a resource included. Each step O(1).
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
    /// Since when it runs.
    since: Option<u64>,
}

impl Budget {
    /// Of a job that has not run.
    pub const fn new(whole: Duration) -> Self {
        Self { whole: whole.as_ns(), used: 0, since: None }
    }

    /// The next job begins; it does not run yet.
    pub const fn renew(&mut self) {
        (self.used, self.since) = (0, None);
    }

    /// The job runs from now on. If it does already, nothing changes.
    pub const fn start(&mut self, now: Instant) {
        if self.since.is_none() {
            self.since = Some(now.as_ns());
        }
    }

    /// The job runs no longer. If it does not, nothing changes.
    pub const fn stop(&mut self, now: Instant) {
        (self.used, self.since) = (self.used(now).as_ns(), None);
    }

    /// It has had the core for so long only, as somebody found who could tell: others had it meanwhile. Nothing changes if it
    /// was not more.
    pub const fn found(&mut self, used: Duration, now: Instant) {
        if used.as_ns() < self.used(now).as_ns() {
            self.used = used.as_ns();
            if self.since.is_some() {
                self.since = Some(now.as_ns());
            }
        }
    }

    /// How long it has had the core.
    pub const fn used(&self, now: Instant) -> Duration {
        let runs = match self.since {
            Some(since) => now.as_ns().saturating_sub(since),
            None => 0,
        };
        Duration::from_ns(self.used.saturating_add(runs))
    }

    /// How much longer it may have the core.
    pub const fn left(&self, now: Instant) -> Duration {
        Duration::from_ns(self.whole.saturating_sub(self.used(now).as_ns()))
    }

    /// Whether it may have no more.
    pub const fn is_used_up(&self, now: Instant) -> bool {
        self.left(now).is_zero()
    }

    /// When that is, or was, if it goes on running; none if it does not run, or that is past all instants.
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
            [Remedy::Tell, Remedy::Wait],
            [Remedy::Tell, Remedy::Drop],
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
        // Time that goes back counts as none.
        assert_eq!(last.used(at(0)), Duration::ZERO);
    }
}
