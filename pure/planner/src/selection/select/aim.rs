// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use core::fmt;
use std::sync::Arc;

use taut_analysis::Overflow;
use taut_analysis::multi::Guard;
use taut_model::Aim;
use taut_time::Duration;

use super::problem::Judged;

impl Judged {
    /// The measure that an aim minimises: bytes of all objects and of what is charged once, Σ R / D over all tasks, or
    /// the largest R / D, for which the least slack (D − R) / D is largest; the latter two in millionths.
    pub fn value(&self, aim: Aim) -> u64 {
        self.values(aim)[0]
    }

    /// All measures, in the order in which they decide. Among selections with the same value, the search also
    /// minimises bytes if it comes to its end; slack and response then decide only as far as exchanges of an object or
    /// two find something better.
    pub fn values(&self, aim: Aim) -> [u64; 3] {
        let &Self { bytes, response_ppm, tightest_ppm, .. } = self;
        match aim {
            Aim::Memory => [bytes, tightest_ppm, response_ppm],
            Aim::Response => [response_ppm, bytes, tightest_ppm],
            Aim::Slack => [tightest_ppm, bytes, response_ppm],
        }
    }
}

/// Something besides deadlines that a selection must keep, such as an end-to-end latency: a time that follows from
/// response times, and its limit.
#[derive(Clone)]
pub struct Constraint {
    /// The name, for people.
    pub name: String,
    /// The most that the time may be.
    pub limit: Duration,
    time: Arc<Time>,
}

/// The time, from R of each task, by position in the set, and the guard of each of its resources; `None` if no time
/// is shown. When a response grows, or when a guard changes from [`Guard::Absent`] to another, the time never
/// falls, and it is never shown where it was not shown before.
type Time = dyn Fn(&[Duration], &[Guard]) -> Result<Option<Duration>, Overflow> + Send + Sync;

impl Constraint {
    /// A time with a limit. The caller guarantees what the search rests on: when a response grows, or when a guard
    /// changes from [`Guard::Absent`] to another, `time` never falls, and it is never shown where it was not shown
    /// before. Responses come by task, guards by resource, both by position in the set. An object that is still open
    /// counts as [`Guard::Absent`].
    pub fn new(
        name: impl Into<String>,
        limit: Duration,
        time: impl Fn(&[Duration], &[Guard]) -> Result<Option<Duration>, Overflow> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), limit, time: Arc::new(time) }
    }

    /// The time under these responses and guards; `None` if no time is shown.
    ///
    /// # Errors
    /// [`Overflow`] if it does not fit in 64 bits.
    pub fn time(&self, responses: &[Duration], guards: &[Guard]) -> Result<Option<Duration>, Overflow> {
        (self.time)(responses, guards)
    }

    /// Whether the time is shown and within its limit.
    pub(super) fn is_kept(&self, responses: &[Duration], guards: &[Guard]) -> Result<bool, Overflow> {
        Ok(self.time(responses, guards)?.is_some_and(|time| time <= self.limit))
    }
}

impl fmt::Debug for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Constraint")
            .field("name", &self.name)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

/// R / D in millionths, rounded up.
pub(super) fn ppm(response: u64, deadline: u64) -> Result<u64, Overflow> {
    let deadline = deadline.max(1);
    match response.checked_mul(1_000_000) {
        Some(scaled) => Ok(scaled.div_ceil(deadline)),
        None => {
            u64::try_from((u128::from(response) * 1_000_000).div_ceil(deadline.into())).map_err(|_| Overflow)
        }
    }
}
