// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Filter bank: Hann window, 128-point FFT, 22 bands by power sum.
//!
//! ```text
//! w[n] = ½ − ½ cos(2π n / 128)                  DFT-even Hann
//! X[k] = Σ w[n] x[n] e^(−2πi k n / 128)         bin k at 125 k Hz
//! u_b  = g_b √(Σ_{k in band b} |X[k]|²)          envelope of band b
//! ```
//! Bands 0..22 have 1×9, 2, 2, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 8 bins from bin 2 (250 Hz) to bin 63; bins 0, 1
//! and 64 are dropped. Edges 187.5..7937.5 Hz.
//!
//! g_b is chosen so that a full-scale sine in the centre c of its band has envelope exactly 1. Such a sine
//! has |X[k]| = 64 h(k − c) / 2, with h(δ) = sinc(δ) / (1 − δ²) (1 at 0, ½ at ±1), so
//! `1 / g_b² = 32² Σ h(k − c)²`: 1024 for one bin, 1475.6 for two, 1536 for three and
//! 1535 for more: the power gains in use for this window in research processors.
//!
//! Cost per analysis: one real FFT, 62 squared magnitudes, 22 square roots. No allocation.

use std::sync::Arc;

use realfft::num_complex::Complex;
use realfft::{RealFftPlanner, RealToComplex};

use crate::{ELECTRODES, SAMPLE_RATE};

/// Samples in one analysis.
pub const WINDOW: usize = 128;
/// Bins in each band, lowest band first.
pub const BAND_BINS: [usize; ELECTRODES] = [1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 8];
/// First bin of the lowest band.
const FIRST_BIN: usize = 2;
/// Bins of the half spectrum.
const BINS: usize = WINDOW / 2 + 1;

/// Centre frequency of a band, 0 = lowest (Hz).
///
/// # Panics
/// If `band` is not below 22.
pub fn band_centre_hz(band: usize) -> f32 {
    (centre_bin(band) * f64::from(SAMPLE_RATE) / WINDOW as f64) as f32
}

/// The centre in bins: half-integer for a band with an even number of bins.
fn centre_bin(band: usize) -> f64 {
    let first = FIRST_BIN + BAND_BINS[..band].iter().sum::<usize>();
    first as f64 + (BAND_BINS[band] - 1) as f64 / 2.0
}

/// The window's response at `delta` bins from its peak, 1 at 0.
fn hann_response(delta: f64) -> f64 {
    if delta == 0.0 {
        1.0
    } else if delta.abs() == 1.0 {
        0.5
    } else {
        let x = std::f64::consts::PI * delta;
        x.sin() / x / (1.0 - delta * delta)
    }
}

/// The filter bank with its buffers.
pub(crate) struct FilterBank {
    fft: Arc<dyn RealToComplex<f32>>,
    window: [f32; WINDOW],
    gains: [f32; ELECTRODES],
    block: [f32; WINDOW],
    spectrum: [Complex<f32>; BINS],
    scratch: Box<[Complex<f32>]>,
}

impl FilterBank {
    /// Plans the FFT and allocates its scratch: the only allocation of the filter bank's life.
    pub(crate) fn new() -> Self {
        let fft = RealFftPlanner::<f32>::new().plan_fft_forward(WINDOW);
        let window = std::array::from_fn(|n| {
            (0.5 - 0.5 * (std::f64::consts::TAU * n as f64 / WINDOW as f64).cos()) as f32
        });
        let gains = std::array::from_fn(|band| {
            let first = (centre_bin(band) - (BAND_BINS[band] - 1) as f64 / 2.0).round();
            let power: f64 = (0..BAND_BINS[band])
                .map(|i| hann_response(first + i as f64 - centre_bin(band)).powi(2))
                .sum();
            (1.0 / (WINDOW as f64 / 4.0 * power.sqrt())) as f32
        });
        let scratch = fft.make_scratch_vec().into_boxed_slice();
        let zero = Complex::new(0.0, 0.0);
        Self { fft, window, gains, block: [0.0; WINDOW], spectrum: [zero; BINS], scratch }
    }

    /// Writes the 22 envelopes of `samples` (lowest band first, full-scale sine = 1).
    pub(crate) fn analyse(&mut self, samples: &[f32; WINDOW], envelopes: &mut [f32; ELECTRODES]) {
        for ((out, sample), weight) in self.block.iter_mut().zip(samples).zip(&self.window) {
            *out = sample * weight;
        }
        // Fails only for buffers of a wrong length, and ours have the planned lengths. After a failure the spectrum
        // of the previous analysis would remain.
        let _ = self.fft.process_with_scratch(&mut self.block, &mut self.spectrum, &mut self.scratch);
        let mut bins = self.spectrum[FIRST_BIN..].iter();
        for ((envelope, &count), gain) in envelopes.iter_mut().zip(&BAND_BINS).zip(&self.gains) {
            let power: f32 = bins.by_ref().take(count).map(Complex::norm_sqr).sum();
            *envelope = gain * power.sqrt();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sine(hz: f64, phase: f64) -> [f32; WINDOW] {
        std::array::from_fn(|n| (std::f64::consts::TAU * hz * n as f64 / 16_000.0 + phase).sin() as f32)
    }

    #[test]
    fn bands_cover_62_bins_to_the_last_but_one() {
        assert_eq!(BAND_BINS.iter().sum::<usize>(), 62);
        assert_eq!(FIRST_BIN + 62, BINS - 1);
        assert_eq!(band_centre_hz(0), 250.0);
        assert_eq!(band_centre_hz(9), 1437.5);
        assert_eq!(band_centre_hz(21), 7437.5);
    }

    #[test]
    fn gains_are_those_of_the_window() {
        let bank = FilterBank::new();
        let squared = |band: usize| f64::from(bank.gains[band]).powi(-2);
        assert!((squared(0) - 1024.0).abs() < 0.01);
        assert!((squared(9) - 1475.6).abs() < 0.1, "{}", squared(9));
        assert!((squared(13) - 1536.0).abs() < 0.01);
        for band in 15..22 {
            assert!((squared(band) - 1536.0).abs() < 2.0, "{band}: {}", squared(band));
        }
    }

    #[test]
    fn full_scale_sine_at_a_centre_has_envelope_one_at_any_phase() {
        let mut bank = FilterBank::new();
        let mut u = [0.0; ELECTRODES];
        for band in 0..ELECTRODES {
            for step in 0..16 {
                bank.analyse(&sine(f64::from(band_centre_hz(band)), f64::from(step) * 0.39), &mut u);
                assert!((u[band] - 1.0).abs() < 1e-3, "band {band}: {}", u[band]);
                // The main lobe is two bins to each side: bands further away see almost nothing.
                let far = |other: &usize| other.abs_diff(band) > 2;
                assert!((0..ELECTRODES).filter(far).all(|other| u[other] < 0.02), "band {band}: {u:?}");
            }
        }
    }

    #[test]
    fn impulse_is_flat_and_silence_is_zero() {
        let mut bank = FilterBank::new();
        let mut u = [1.0; ELECTRODES];
        bank.analyse(&[0.0; WINDOW], &mut u);
        assert_eq!(u, [0.0; ELECTRODES]);
        // |X[k]| = w[n] for all k: the envelope is g √bins · w[64].
        let mut x = [0.0; WINDOW];
        x[64] = 1.0;
        bank.analyse(&x, &mut u);
        for band in 0..ELECTRODES {
            let wanted = bank.gains[band] * (BAND_BINS[band] as f32).sqrt();
            assert!((u[band] / wanted - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn constant_voltage_does_not_reach_any_band() {
        let mut bank = FilterBank::new();
        let mut u = [1.0; ELECTRODES];
        bank.analyse(&[1.0; WINDOW], &mut u);
        assert!(u.iter().all(|&v| v < 1e-6), "{u:?}");
    }
}
