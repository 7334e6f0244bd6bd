// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The platform probe: a thread on every real-time core that wakes once per period and records how late it was. It
//! runs above all tasks, jobs that hold a lock and jobs that spin included, so no bound on it depends on them.
//!
//! On a core by itself it is a task of cost [`COST`] and period [`PERIOD`]. Where tasks lock, it makes time go slower.
//! In a window w it takes at most C_p · ⌈(w + y) / T_p⌉ ≤ K + u · w, with u = C_p / T_p and K = C_p · (1 + y / T_p).
//! Work that takes x of the core's time is over after (x + K) / (1 − u) at most. So all execution is scaled by
//! 1 / (1 − u), and K / (1 − u) is added once to the demand of a window: once per job, as jitter, and once per section
//! for which jobs on other cores wait. Device threads, which run beside the probe, count in the same way: u and K are sums
//! over the probe and the devices of a core ([`Charges::device`]), and those of the worst core count for all. Jobs
//! that spin for such a section are under the probe of their own core, so its
//! length is scaled once more.

pub use taut_model::PROBE_PERIOD as PERIOD;
use taut_time::Duration;

use super::Charges;
use crate::Overflow;

/// Execution time of the probe each time that it wakes: it reads the clock once and stores into a ring once. Context
/// switches come on top, as for every job.
pub const COST: Duration = Duration::from_us(10);

/// What the probe does to the time of tasks that lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slowdown {
    /// C_p, context switches included, in ns, and the share of the devices in each T_p; less than T_p.
    cost: u64,
    /// T_p, in ns.
    period: u64,
    /// K / (1 − u).
    once: Duration,
}

impl Slowdown {
    /// The slowdown on a machine whose cores have these devices, by their least gaps, each core with those that its device
    /// thread watches: that of the worst core.
    ///
    /// # Errors
    /// [`Overflow`] if a value does not fit in 64 bits, or if the probe and the device thread leave no time to others: then
    /// nothing has a bound.
    pub fn of(charges: &Charges, devices: &[Vec<Duration>]) -> Result<Self, Overflow> {
        let mut worst = Self::of_core(charges, &[])?;
        for gaps in devices {
            let core = Self::of_core(charges, gaps)?;
            worst.cost = worst.cost.max(core.cost);
            worst.once = worst.once.max(core.once);
        }
        Ok(worst)
    }

    /// The slowdown of a core. Nothing is less for more devices, so of several cores each part may be the largest.
    fn of_core(charges: &Charges, gaps: &[Duration]) -> Result<Self, Overflow> {
        let probe = charges.job(COST)?;
        let (mut at_once, mut cost) = (probe, probe.as_ns());
        for gap in gaps {
            let device = charges.device()?;
            at_once = at_once.checked_add(device).ok_or(Overflow)?;
            // Its share of each period of the probe.
            let share = u128::from(device.as_ns()) * u128::from(PERIOD.as_ns());
            let share = share.div_ceil(u128::from(gap.as_ns().max(1)));
            cost = u64::try_from(share).ok().and_then(|share| cost.checked_add(share)).ok_or(Overflow)?;
        }
        if cost >= PERIOD.as_ns() {
            return Err(Overflow);
        }
        let mut slowdown = Self { cost, period: PERIOD.as_ns(), once: Duration::ZERO };
        let late = u128::from(slowdown.cost) * u128::from(charges.release().as_ns());
        let late = u64::try_from(late.div_ceil(slowdown.period.into())).map_err(|_| Overflow)?;
        let late = at_once.checked_add(Duration::from_ns(late)).ok_or(Overflow)?;
        slowdown.once = slowdown.slower(late)?;
        Ok(slowdown)
    }

    /// x / (1 − u), rounded up: how long work takes beside the probe, the part K apart.
    ///
    /// # Errors
    /// [`Overflow`].
    pub fn slower(&self, time: Duration) -> Result<Duration, Overflow> {
        let scaled = u128::from(time.as_ns()) * u128::from(self.period);
        let scaled = scaled.div_ceil(u128::from(self.period - self.cost));
        u64::try_from(scaled).map(Duration::from_ns).map_err(|_| Overflow)
    }

    /// K / (1 − u).
    pub fn once(&self) -> Duration {
        self.once
    }

    /// J' of a job: its jitter, what else comes before its first instruction, and the probe once.
    ///
    /// # Errors
    /// [`Overflow`].
    pub fn jitter(&self, charges: &Charges, jitter: Duration) -> Result<Duration, Overflow> {
        charges.released_and_blocked(jitter)?.checked_add(self.once).ok_or(Overflow)
    }

    /// How long a section of a holder takes at most, as a job on another core that waits for it sees it.
    ///
    /// # Errors
    /// [`Overflow`].
    pub fn section(&self, held: Duration) -> Result<Duration, Overflow> {
        let real = self.slower(held)?.checked_add(self.once).ok_or(Overflow)?;
        self.slower(real)
    }
}

#[cfg(test)]
mod tests {
    use taut_model::{OverheadSources, Overheads};

    use super::*;

    fn charges(release: Duration, context_switch: Duration) -> Charges {
        let zero = Duration::ZERO;
        let sources = OverheadSources::NONE;
        Charges::of(&Overheads {
            release,
            context_switch,
            kernel_blocking: zero,
            lock: zero,
            copy: zero,
            device: Duration::from_us(20),
            sources,
        })
    }

    /// Work of a length, run beside a probe and a device thread that take all that they may in every window, is over in time.
    #[test]
    fn slowed_work_has_room_for_what_runs_above_it() {
        let us = Duration::from_us;
        let devices: [&[Duration]; 4] = [&[], &[us(1_000)], &[us(1_700), us(333)], &[us(90_000), us(2_500)]];
        for (release_us, switch_us) in [(0, 0), (60, 5), (999, 10), (2_500, 20)] {
            for gaps in devices {
                let charges = charges(us(release_us), us(switch_us));
                let Ok(slowdown) = Slowdown::of(&charges, &[Vec::new(), gaps.to_vec()]) else {
                    panic!("room is left: {gaps:?}, {switch_us}")
                };
                let probe = (charges.job(COST).unwrap(), PERIOD);
                let device = |gap: &Duration| (charges.device().unwrap(), *gap);
                let above: Vec<(Duration, Duration)> =
                    [probe].into_iter().chain(gaps.iter().map(device)).collect();
                for work in [1, 999, 10_000, 989_999, 990_001, 1_000_000, 7_777_777, 123_456_789] {
                    let most = |window: u64| {
                        let jobs = |period: &Duration| (window + release_us * 1_000).div_ceil(period.as_ns());
                        work + above.iter().map(|(cost, period)| cost.as_ns() * jobs(period)).sum::<u64>()
                    };
                    let mut window = work;
                    while most(window) > window {
                        window = most(window);
                    }
                    let bound =
                        slowdown.slower(Duration::from_ns(work)).unwrap().as_ns() + slowdown.once().as_ns();
                    assert!(window <= bound, "{work}: {window} needed, {bound} bound, {gaps:?}");
                }
            }
        }
        assert_eq!(Slowdown::of(&charges(Duration::ZERO, us(495)), &[]), Err(Overflow));
        // 2 · 20 + 6 · 5 us of each 70 us.
        let full = Slowdown::of(&charges(Duration::ZERO, us(5)), &[vec![us(70)]]);
        assert_eq!(full, Err(Overflow));
    }
}
