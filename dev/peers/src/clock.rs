// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The timer: the processor's own counter, fenced, so that the timed operation is between the two reads.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::figures::percentile;

/// Reads the counter. Everything before is done, loads included (stores may still wait in their buffer), and nothing
/// after it has begun.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn now() -> u64 {
    use core::arch::x86_64::{__rdtscp, _mm_lfence};
    let mut cpu = 0;
    // SAFETY: every x86-64 processor with an invariant counter has both instructions; `cpu` is ours.
    unsafe {
        _mm_lfence();
        let ticks = __rdtscp(&mut cpu);
        _mm_lfence();
        ticks
    }
}

/// On other processors, the monotonic clock, whose ticks are ns.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(crate) fn now() -> u64 {
    taut_sys::clock::monotonic_ns()
}

/// The length of a tick, and the cost of a read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// Ticks per ns.
    ticks: f64,
    /// Two reads with nothing in between: p50, p99.9, and the smallest difference above 0, in ns.
    pub(crate) cost: [f64; 3],
}

impl Clock {
    /// Calibrates the counter against the monotonic clock for 50 ms.
    pub(crate) fn calibrated() -> Self {
        let (begin, ticks) = (Instant::now(), now());
        while begin.elapsed() < Duration::from_millis(50) {
            std::hint::spin_loop();
        }
        let ticks = (now() - ticks) as f64 / begin.elapsed().as_nanos() as f64;
        let mut looks: Vec<u64> = (0..20_000)
            .map(|_| {
                let begin = now();
                black_box(());
                now() - begin
            })
            .collect();
        let cost = [percentile(&mut looks, 0.5), percentile(&mut looks, 0.999), step(&looks)];
        Self { ticks, cost: cost.map(|cost| cost as f64 / ticks) }
    }

    /// The calibration as text, for another process on this machine.
    pub(crate) fn to_text(self) -> String {
        self.ticks.to_string()
    }

    /// The calibration of another process.
    pub(crate) fn from_text(text: &str) -> Result<Self, String> {
        let ticks = text.parse().map_err(|_| "not a number of ticks")?;
        Ok(Self { ticks, cost: [0.0; 3] })
    }

    /// Ticks as ns.
    pub(crate) fn ns(&self, ticks: u64) -> f64 {
        ticks as f64 / self.ticks
    }

    /// The number of ticks per ns.
    pub(crate) fn ns_ticks(&self) -> f64 {
        self.ticks
    }

    /// A duration as ticks.
    pub(crate) fn ticks(&self, duration: Duration) -> u64 {
        (duration.as_nanos() as f64 * self.ticks) as u64
    }
}

/// The smallest distance between two different values of sorted reads. A hypervisor that scales a counter rounds its
/// steps, so that equal steps may differ by a tick. Values one tick apart therefore count as one, unless a third
/// follows them: then the counter advances by single ticks.
fn step(sorted: &[u64]) -> u64 {
    let mut groups: Vec<(u64, u64)> = Vec::new();
    for &look in sorted {
        match groups.last_mut() {
            Some((_, last)) if look - *last <= 1 => *last = look,
            _ => groups.push((look, look)),
        }
    }
    if groups.iter().any(|(first, last)| last - first > 1) {
        return 1;
    }
    groups.windows(2).map(|pair| pair[1].0 - pair[0].0).min().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_has_a_length() {
        let clock = Clock::calibrated();
        let ticks = clock.ticks(Duration::from_micros(5));
        assert!((clock.ns(ticks) - 5000.0).abs() < 5.0, "{clock:?}");
    }

    #[test]
    fn a_counter_has_steps() {
        assert_eq!(step(&[3]), 1);
        assert_eq!(step(&[52, 52, 78, 78, 104]), 26);
        assert_eq!(step(&[51, 52, 52, 78, 78, 103, 104]), 25, "scaled, and rounded");
        assert_eq!(step(&[51, 52, 53, 78, 104]), 1, "single ticks");
        assert_eq!(step(&[20, 22, 24, 90]), 2);
    }
}
