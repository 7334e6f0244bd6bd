// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! When jobs of a task arrive.

use taut_time::Duration;

/// When jobs of a task arrive, and what releases it. `C` names the channel: its position in a model, its name in a
/// plan.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(untagged, deny_unknown_fields)
)]
pub enum Arrival<C> {
    /// At `offset + k · period` after release 0.
    Periodic {
        /// T.
        #[cfg_attr(feature = "serde", serde(rename = "periodic"))]
        period: Duration,
        /// The first arrival.
        offset: Duration,
    },
    /// At most one per `min_gap`, which the runtime enforces; the task is a receiver.
    Sporadic {
        /// T: the least time between two releases.
        #[cfg_attr(feature = "serde", serde(rename = "sporadic"))]
        min_gap: Duration,
        /// The channel whose values release the task.
        trigger: C,
    },
}

impl<C> Arrival<C> {
    /// T: the period, or the least time between two releases.
    pub fn period(&self) -> Duration {
        match self {
            Self::Periodic { period, .. } => *period,
            Self::Sporadic { min_gap, .. } => *min_gap,
        }
    }
}

/// When jobs of a task with a period T arrive, relative to those of other tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivalPattern {
    /// Every T from a start that nothing fixes.
    Periodic,
    /// Every T from this offset on, after a start that all phased tasks share.
    Phased(Duration),
    /// T or more apart, by events from outside of the system: at any time.
    Sporadic,
    /// T or more apart, by another task of the system.
    Driven,
}

impl ArrivalPattern {
    /// Whether arrivals are exactly T apart.
    pub const fn is_periodic(self) -> bool {
        matches!(self, Self::Periodic | Self::Phased(_))
    }

    /// Whether arrivals are T or more apart, not always T.
    pub const fn is_sporadic(self) -> bool {
        matches!(self, Self::Sporadic | Self::Driven)
    }

    /// Whether jobs can arrive at any time, whatever other tasks do.
    pub const fn is_free(self) -> bool {
        matches!(self, Self::Periodic | Self::Sporadic)
    }
}
