// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Loudness growth: envelope to loudness, logarithmic between two levels.
//!
//! ```text
//! r = clamp((u − b) / (s − b), 0, 1)      u envelope, b base, s saturation (same unit)
//! v = ln(1 + α r) / ln(1 + α)             0..=1; u < b gives no pulse
//! Q: v(s · 10^(−10/20)) = 1 − Q/100       α follows from Q by bisection
//! ```
//! Source: the loudness growth function of the Nucleus strategies; its constants 416.21 (b = 4/256,
//! s = 150/256) and 340.83 (40 dB), both for Q = 20 %, are tests here, not inputs.

use super::params::Fault;

/// A solved loudness growth function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    base: f64,
    saturation: f64,
    steepness: f64,
}

impl Growth {
    /// The function from its base and saturation levels and Q (%), the drop of loudness 10 dB below saturation.
    ///
    /// # Errors
    /// [`Fault::Growth`] unless 0 < base < saturation · 10^(−10/20) and some α in 1e−6..=1e12 gives Q.
    pub fn solve(base: f64, saturation: f64, q: f64) -> Result<Self, Fault> {
        let fault = Fault::Growth { base, saturation, q };
        let r = (saturation * 10_f64.powf(-0.5) - base) / (saturation - base);
        if !(base > 0.0 && saturation.is_finite() && r > 0.0 && r < 1.0) {
            return Err(fault);
        }
        let loudness = |alpha: f64| (alpha * r).ln_1p() / alpha.ln_1p();
        let wanted = 1.0 - q / 100.0;
        // Loudness at fixed r grows with α, from r at 0 to 1 at infinity. Bisect in the exponent.
        let (mut low, mut high) = (1e-6_f64.ln(), 1e12_f64.ln());
        if !(loudness(low.exp()) < wanted && wanted < loudness(high.exp())) {
            return Err(fault);
        }
        for _ in 0..100 {
            let middle = 0.5 * (low + high);
            if loudness(middle.exp()) < wanted { low = middle } else { high = middle }
        }
        Ok(Self { base, saturation, steepness: low.exp() })
    }

    /// Envelope below which there is no pulse.
    pub fn base(&self) -> f64 {
        self.base
    }

    /// Envelope from which loudness is 1.
    pub fn saturation(&self) -> f64 {
        self.saturation
    }

    /// α, the steepness that gives Q.
    pub fn steepness(&self) -> f64 {
        self.steepness
    }

    /// The function in single precision, for the real-time side.
    pub(crate) fn curve(&self) -> Curve {
        Curve {
            base: self.base as f32,
            slope: (1.0 / (self.saturation - self.base)) as f32,
            steepness: self.steepness as f32,
            scale: (1.0 / self.steepness.ln_1p()) as f32,
        }
    }

    /// Envelope that has loudness `v`, 0..=1: the inverse between base and saturation.
    pub fn envelope(&self, v: f64) -> f64 {
        let r = (v.clamp(0.0, 1.0) * self.steepness.ln_1p()).exp_m1() / self.steepness;
        self.base + r * (self.saturation - self.base)
    }
}

/// Loudness growth with everything precomputed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Curve {
    base: f32,
    slope: f32,
    steepness: f32,
    scale: f32,
}

impl Curve {
    /// Loudness 0..=1 of envelope `u`; `None` below the base level. One logarithm.
    #[inline]
    pub(crate) fn loudness(&self, u: f32) -> Option<f32> {
        if u < self.base {
            return None;
        }
        let r = ((u - self.base) * self.slope).clamp(0.0, 1.0);
        Some((self.steepness * r).ln_1p() * self.scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_steepness_comes_out() {
        let alpha = |b, s| Growth::solve(b, s, 20.0).unwrap().steepness();
        assert!((alpha(4.0 / 256.0, 150.0 / 256.0) - 416.21).abs() < 0.005);
        assert!((alpha(0.01, 1.0) - 340.83).abs() < 0.005);
    }

    #[test]
    fn loudness_drops_by_q_at_minus_ten_decibels() {
        for q in [10.0, 20.0, 30.0] {
            let g = Growth::solve(0.01, 1.0, q).unwrap();
            let v = g.curve().loudness(10_f32.powf(-0.5)).unwrap();
            assert!((f64::from(v) - (1.0 - q / 100.0)).abs() < 1e-5, "{q}: {v}");
        }
    }

    #[test]
    fn ends_are_exact_and_below_base_is_silence() {
        let c = Growth::solve(0.01, 1.0, 20.0).unwrap().curve();
        assert_eq!(c.loudness(0.009_999), None);
        assert_eq!(c.loudness(0.0), None);
        assert_eq!(c.loudness(0.01), Some(0.0));
        for u in [1.0, 1.5, f32::INFINITY] {
            assert!((c.loudness(u).unwrap() - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn inverse_undoes_the_curve() {
        let g = Growth::solve(4.0 / 256.0, 150.0 / 256.0, 20.0).unwrap();
        for step in 0..=100 {
            let v = f64::from(step) / 100.0;
            let back = g.curve().loudness(g.envelope(v) as f32 * 1.000_001).unwrap();
            assert!((f64::from(back) - v).abs() < 1e-3, "{v} -> {back}");
        }
    }

    #[test]
    fn unsolvable_growth_is_refused() {
        for (b, s, q) in
            [(0.0, 1.0, 20.0), (0.5, 1.0, 20.0), (0.01, 1.0, 0.0), (0.01, 1.0, 95.0), (0.01, f64::NAN, 20.0)]
        {
            assert!(Growth::solve(b, s, q).is_err(), "{b} {s} {q}");
        }
    }
}
