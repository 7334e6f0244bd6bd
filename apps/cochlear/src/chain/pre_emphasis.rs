// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Pre-emphasis: a first-order Butterworth high-pass (bilinear transform, prewarped).
//!
//! ```text
//! K = tan(π f / fs);  y[n] = (x[n] − x[n−1]) / (1 + K) + (1 − K) / (1 + K) · y[n−1]
//! ```
//! Gain 1 at high frequencies, −3 dB at the corner f, 6 dB per octave below. Optional and off by
//! default: a calibrated microphone's own response takes its place in a real processor.

use crate::{FRAME_SAMPLES, SAMPLE_RATE};

/// State of the filter.
pub(crate) struct PreEmphasis {
    scale: f32,
    pole: f32,
    input: f32,
    output: f32,
}

impl PreEmphasis {
    /// A filter at rest with the given corner.
    pub(crate) fn new(corner_hz: f64) -> Self {
        let k = (std::f64::consts::PI * corner_hz / f64::from(SAMPLE_RATE)).tan();
        Self {
            scale: (1.0 / (1.0 + k)) as f32,
            pole: ((1.0 - k) / (1.0 + k)) as f32,
            input: 0.0,
            output: 0.0,
        }
    }

    /// Filters one frame in place.
    pub(crate) fn apply(&mut self, samples: &mut [f32; FRAME_SAMPLES]) {
        let (mut input, mut output) = (self.input, self.output);
        for sample in samples.iter_mut() {
            output = (*sample - input) * self.scale + self.pole * output;
            // Silence would otherwise decay into subnormal numbers, which are slow.
            if output.abs() < 1e-20 {
                output = 0.0;
            }
            input = *sample;
            *sample = output;
        }
        (self.input, self.output) = (input, output);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gain at `hz` after the transient.
    fn gain(corner: f64, hz: f64) -> f64 {
        let mut filter = PreEmphasis::new(corner);
        let mut power = 0.0;
        for frame in 0..50 {
            let mut x: [f32; FRAME_SAMPLES] = std::array::from_fn(|i| {
                let n = (frame * FRAME_SAMPLES + i) as f64;
                (std::f64::consts::TAU * hz * n / 16_000.0).sin() as f32
            });
            filter.apply(&mut x);
            if frame >= 25 {
                power += x.iter().map(|&v| f64::from(v * v)).sum::<f64>();
            }
        }
        (power / (25.0 * 64.0)).sqrt()
    }

    #[test]
    fn response_is_that_of_a_first_order_high_pass() {
        assert!((gain(1200.0, 1200.0) - std::f64::consts::FRAC_1_SQRT_2).abs() < 1e-3);
        for hz in [250.0, 500.0, 3000.0, 7000.0] {
            // Bilinear: the analogue response at the warped frequency.
            let ratio =
                (std::f64::consts::PI * hz / 16e3).tan() / (std::f64::consts::PI * 1200.0 / 16e3).tan();
            let wanted = ratio / ratio.hypot(1.0);
            assert!((gain(1200.0, hz) - wanted).abs() < 2e-3, "{hz}");
        }
    }

    #[test]
    fn silence_becomes_exact_zero() {
        let mut filter = PreEmphasis::new(1200.0);
        filter.apply(&mut [1.0; FRAME_SAMPLES]);
        for _ in 0..4 {
            filter.apply(&mut [0.0; FRAME_SAMPLES]);
        }
        assert_eq!(filter.output, 0.0);
    }
}
