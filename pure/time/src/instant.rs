// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use serde::{Deserialize, Serialize};

use crate::Duration;

/// A point on one clock, in nanoseconds since that clock's origin.
///
/// At run time the clock is `CLOCK_MONOTONIC`; in a simulation it starts at 0. Instants of different clocks
/// must not be compared, which the type cannot check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Instant {
    ns: u64,
}

impl Instant {
    /// From nanoseconds since the origin.
    pub const fn from_ns(ns: u64) -> Self {
        Self { ns }
    }

    /// In nanoseconds since the origin.
    pub const fn as_ns(self) -> u64 {
        self.ns
    }

    /// The instant `by` later, or `None` on overflow.
    pub const fn checked_add(self, by: Duration) -> Option<Self> {
        match self.ns.checked_add(by.as_ns()) {
            Some(ns) => Some(Self { ns }),
            None => None,
        }
    }

    /// The time since `earlier`; zero if this instant is not after `earlier`.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_ns(self.ns.saturating_sub(earlier.ns))
    }
}
