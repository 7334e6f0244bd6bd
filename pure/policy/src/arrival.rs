// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! When jobs of a task arrive.

use alloc::string::String;
use alloc::vec::Vec;

use taut_time::Duration;

use crate::DeviceClock;

/// When jobs of a task arrive, and what releases it. `C` names the channel: its position in a model, its name in a
/// plan.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(
        untagged,
        deny_unknown_fields,
        bound(serialize = "C: serde::Serialize", deserialize = "C: serde::Deserialize<'de>")
    )
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
    /// In each period of a device, at an offset to its ticks: see [`crate::ReleaseGrid`].
    Clocked(DeviceClock),
    /// At most one per `min_gap`, which the runtime enforces; the task is a receiver.
    Sporadic {
        /// T: the least time between two releases.
        #[cfg_attr(feature = "serde", serde(rename = "sporadic"))]
        min_gap: Duration,
        /// The channels whose values release the task, each once; at least one unless a device does. One is written
        /// without a list.
        #[cfg_attr(
            feature = "serde",
            serde(
                rename = "trigger",
                default = "Vec::new",
                skip_serializing_if = "Vec::is_empty",
                with = "one_or_many"
            )
        )]
        triggers: Vec<C>,
        /// The device that releases the task, alone or beside channels, by name: a file descriptor of the application,
        /// while it can be read.
        #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
        device: Option<String>,
    },
    /// While values wait, with no least time between two jobs: the next job arrives when one waits and the last job is
    /// complete. A server bounds what the task takes from others.
    Aperiodic {
        /// The channels whose values release the task, each once; at least one. One is written without a list.
        #[cfg_attr(feature = "serde", serde(rename = "aperiodic", with = "one_or_many"))]
        triggers: Vec<C>,
    },
}

impl<C> Arrival<C> {
    /// The channels whose values release the task; none of a periodic task.
    pub fn triggers(&self) -> &[C] {
        match self {
            Self::Periodic { .. } | Self::Clocked(_) => &[],
            Self::Sporadic { triggers, .. } | Self::Aperiodic { triggers } => triggers,
        }
    }

    /// The channel that alone releases the task: no other channel does, and no device.
    pub fn sole_trigger(&self) -> Option<&C> {
        match self {
            Self::Sporadic { triggers, device: None, .. } => match triggers.as_slice() {
                [only] => Some(only),
                _ => None,
            },
            _ => None,
        }
    }

    /// The device that releases the task.
    pub fn device(&self) -> Option<&str> {
        match self {
            Self::Periodic { .. } | Self::Clocked(_) | Self::Aperiodic { .. } => None,
            Self::Sporadic { device, .. } => device.as_deref(),
        }
    }

    /// The device's clock that the task follows.
    pub fn clock(&self) -> Option<&DeviceClock> {
        match self {
            Self::Clocked(clock) => Some(clock),
            Self::Periodic { .. } | Self::Sporadic { .. } | Self::Aperiodic { .. } => None,
        }
    }

    /// Whether nothing bounds how often the task is released.
    pub fn is_aperiodic(&self) -> bool {
        matches!(self, Self::Aperiodic { .. })
    }

    /// T: the period, or the least time between two releases; zero if there is none.
    pub fn period(&self) -> Duration {
        match self {
            Self::Periodic { period, .. } => *period,
            Self::Clocked(clock) => clock.min_gap(),
            Self::Sporadic { min_gap, .. } => *min_gap,
            Self::Aperiodic { .. } => Duration::ZERO,
        }
    }

    /// The most time between two releases; `None` if nothing bounds it.
    pub fn max_gap(&self) -> Option<Duration> {
        match self {
            Self::Periodic { period, .. } => Some(*period),
            Self::Clocked(clock) => Some(clock.max_gap()),
            Self::Sporadic { .. } | Self::Aperiodic { .. } => None,
        }
    }
}

/// A list that is written as its item if it has one.
#[cfg(feature = "serde")]
mod one_or_many {
    use alloc::vec::Vec;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<C: Serialize, S: Serializer>(all: &[C], to: S) -> Result<S::Ok, S::Error> {
        match all {
            [one] => one.serialize(to),
            all => all.serialize(to),
        }
    }

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany<C> {
        One(C),
        Many(Vec<C>),
    }

    pub(super) fn deserialize<'de, C: Deserialize<'de>, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<C>, D::Error> {
        Ok(match OneOrMany::deserialize(from)? {
            OneOrMany::One(one) => Vec::from([one]),
            OneOrMany::Many(all) => all,
        })
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
