// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The clock of a device, as a manifest states it, and what follows from that for the releases of a task that follows it.

use alloc::string::String;

use taut_time::Duration;

/// The largest drift of a device's clock: 1 %, in millionths.
pub const DRIFT_PPM_MAX: u32 = 10_000;
/// For how many ticks the bound on the phase error holds after the last tick that was observed.
pub const TICKS_UNSEEN_MAX: u64 = 8;
/// A release moves by at most this part of a period, beyond the drift.
const SLEW_PARTS: u64 = 128;
const MILLION: u128 = 1_000_000;

/// The clock of a device that a periodic task follows, as stated: one tick in each period of the device.
///
/// Symbols, here and in [`crate::ReleaseGrid`], all in ns: T the period; D = ⌈T · drift⌉, the most that a period of the
/// device differs from T; J the jitter, the most that a tick is observed late; S = ⌈T / 128⌉, the most that the phase is
/// corrected by in each period.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields, rename_all = "kebab-case")
)]
pub struct DeviceClock {
    /// T: the period that the device states.
    #[cfg_attr(feature = "serde", serde(rename = "periodic"))]
    pub period: Duration,
    /// How long after each tick the task is released; less than T.
    pub offset: Duration,
    /// The name by which the application asks for the end that reports ticks.
    #[cfg_attr(feature = "serde", serde(rename = "clock"))]
    pub name: String,
    /// The most that a period of the device differs from T, in millionths of T.
    pub drift_ppm: u32,
    /// J: a tick is reported with an instant that is at most so much later than the tick, and never earlier.
    pub jitter: Duration,
}

impl DeviceClock {
    /// D, rounded up.
    pub fn drift(&self) -> Duration {
        let product = u128::from(self.period.as_ns()) * u128::from(self.drift_ppm);
        Duration::from_ns(u64::try_from(product.div_ceil(MILLION)).unwrap_or(u64::MAX))
    }

    /// S, rounded up.
    pub fn slew(&self) -> Duration {
        Duration::from_ns(self.period.as_ns().div_ceil(SLEW_PARTS))
    }

    /// D + S: the most that two releases are closer together or further apart than T.
    pub fn step(&self) -> Duration {
        self.drift().checked_add(self.slew()).unwrap_or(Duration::MAX)
    }

    /// T − D − S: the least time between two releases, whatever the device does.
    pub fn min_gap(&self) -> Duration {
        self.period.saturating_sub(self.step())
    }

    /// T + D + S: the most time between two releases, whatever the device does.
    pub fn max_gap(&self) -> Duration {
        self.period.checked_add(self.step()).unwrap_or(Duration::MAX)
    }

    /// ⌈J / 2⌉ + 8 D: the most by which a release and its tick, with the offset, are apart while the grid is locked, if the
    /// device keeps its word.
    pub fn phase_error(&self) -> Duration {
        let drift = u128::from(self.drift().as_ns()) * u128::from(TICKS_UNSEEN_MAX);
        let error = u128::from(self.jitter.as_ns().div_ceil(2)) + drift;
        Duration::from_ns(u64::try_from(error).unwrap_or(u64::MAX))
    }

    /// Whether each observation of a tick tells which tick it was: 2 J + 36 D < T; and T − D − S > 0.
    pub fn is_distinct(&self) -> bool {
        let drift = u128::from(self.drift().as_ns()) * u128::from(4 * TICKS_UNSEEN_MAX + 4);
        let window = 2 * u128::from(self.jitter.as_ns()) + drift;
        window < u128::from(self.period.as_ns()) && !self.min_gap().is_zero()
    }
}
