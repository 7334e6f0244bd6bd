// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! When a service starts, and what happens when a component fails: when one of its jobs panics.

use taut_time::Duration;

/// What happens when a component of a service fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub struct OnFailure {
    /// How often the service restarts within [`OnFailure::within`]; at most [`RESTARTS_MAX`]. 0: never.
    pub restart: u8,
    /// The length of the sliding window in which restarts are counted; more than 0 if `restart` is.
    pub within: Duration,
    /// What happens at a failure after which the service does not restart.
    pub then: AfterFailure,
}

/// What happens at a failure after which nothing restarts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum AfterFailure {
    /// The component's service stops, or the component alone if it belongs to no service. The others continue.
    StopService,
    /// The application stops in order.
    StopApp,
}

/// When a service starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum ServiceStart {
    /// At release 0.
    #[default]
    Boot,
    /// When the application asks for it. Until then its releases are skipped.
    Demand,
}

/// The largest number of restarts within a window.
pub const RESTARTS_MAX: u8 = 16;

/// What the runtime does about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureRemedy {
    /// The service restarts.
    Restart,
    /// The service stops, or the component alone if it belongs to no service.
    StopService,
    /// The application stops in order.
    StopApp,
}

impl FailureRemedy {
    /// All, in the order of their numbers. Recorded runs contain the numbers.
    pub const ALL: [Self; 3] = [Self::Restart, Self::StopService, Self::StopApp];
}

impl AfterFailure {
    /// What happens unless the manifest states it. An application with a safe state stops: otherwise its outputs would
    /// stay as the failed component left them.
    pub const fn by_default(has_safe_state: bool) -> Self {
        if has_safe_state { Self::StopApp } else { Self::StopService }
    }

    /// As a remedy.
    pub const fn remedy(self) -> FailureRemedy {
        match self {
            Self::StopService => FailureRemedy::StopService,
            Self::StopApp => FailureRemedy::StopApp,
        }
    }
}

impl OnFailure {
    /// Never restarts.
    pub const fn never(then: AfterFailure) -> Self {
        Self { restart: 0, within: Duration::ZERO, then }
    }

    /// The remedy of a failure. `since` is the time since the failure that came `restart` failures before this one; `None`
    /// if there were fewer. O(1).
    ///
    /// ```
    /// use taut_policy::{AfterFailure, FailureRemedy, OnFailure};
    /// use taut_time::Duration;
    ///
    /// let within = Duration::from_ms(100);
    /// let twice = OnFailure { restart: 2, within, then: AfterFailure::StopApp };
    /// assert_eq!(twice.remedy(None), FailureRemedy::Restart);
    /// // The failure two failures ago is long past.
    /// assert_eq!(twice.remedy(Some(within)), FailureRemedy::Restart);
    /// assert_eq!(twice.remedy(Some(Duration::from_ms(99))), FailureRemedy::StopApp);
    /// assert_eq!(OnFailure::never(AfterFailure::StopService).remedy(None), FailureRemedy::StopService);
    /// ```
    pub fn remedy(self, since: Option<Duration>) -> FailureRemedy {
        if self.restart > 0 && since.is_none_or(|since| since >= self.within) {
            FailureRemedy::Restart
        } else {
            self.then.remedy()
        }
    }
}
