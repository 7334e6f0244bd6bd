// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The deadline of a reading end that is not real-time: by when the next value must come.

use std::fmt;

use taut_time::Duration;

/// Why no value came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoValue {
    /// The deadline of the reading end is over, and the sender's service runs.
    Overdue,
    /// The deadline of the reading end is over, and the sender's service is paused or stopped.
    Paused,
    /// The application has ended in order; to a task: it is to stop, with its service or with the application.
    Ended,
    /// The application died.
    Died,
}

impl fmt::Display for NoValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Overdue => "no value came before the deadline",
            Self::Paused => "no value came before the deadline: the sender's service does not run",
            Self::Ended => "the application has ended",
            Self::Died => "the application died",
        })
    }
}

impl std::error::Error for NoValue {}

/// A deadline that counts from each value anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReaderDeadline {
    every_ns: u64,
    at_ns: u64,
}

impl ReaderDeadline {
    /// The first value must come within `every` of `now_ns`.
    pub(crate) fn new(every: Duration, now_ns: u64) -> Self {
        Self { every_ns: every.as_ns(), at_ns: now_ns.saturating_add(every.as_ns()) }
    }

    /// By when the next value must come.
    pub(crate) fn at_ns(&self) -> u64 {
        self.at_ns
    }

    /// A value was taken.
    pub(crate) fn came(&mut self, now_ns: u64) {
        self.at_ns = now_ns.saturating_add(self.every_ns);
    }

    /// The caller learns now that no value came in time. The next one must come a deadline later, in phase, but never in the past.
    pub(crate) fn missed(&mut self, now_ns: u64) {
        let next_ns = self.at_ns.saturating_add(self.every_ns);
        self.at_ns = if next_ns > now_ns { next_ns } else { now_ns.saturating_add(self.every_ns) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_counts_from_each_value() {
        let mut deadline = ReaderDeadline::new(Duration::from_ns(10), 100);
        assert_eq!(deadline.at_ns(), 110);
        deadline.came(105);
        assert_eq!(deadline.at_ns(), 115);
        // In phase if the caller looks soon, and not in the past if it looks late.
        deadline.missed(117);
        assert_eq!(deadline.at_ns(), 125);
        deadline.missed(150);
        assert_eq!(deadline.at_ns(), 160);
        let mut far = ReaderDeadline::new(Duration::from_ns(u64::MAX), 100);
        far.missed(200);
        assert_eq!(far.at_ns(), u64::MAX);
    }
}
