// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Automatic gain control: a limiter in front of the filter bank.
//!
//! ```text
//! m[n] = max |x[n − k]|, k = 0..32                     peak of the last 2 ms, free of the waveform's ripple
//! L[n] = L[n−1] + a (m[n] − L[n−1])                    a = attack if m > L, else release
//! y[n] = x[n] · min(1, K / L[n])                       K knee: peak of speech at the comfort level
//! ```
//! Below the knee nothing changes. Above it compression is infinite, because the knee already is the
//! level that reaches comfort. The loudness growth would clip anything louder anyway, band by band: that
//! distorts the spectrum, and the limiter keeps it.
//!
//! Times are those of IEC 60118-2 on a 25 dB step: attack from the step up until the output is within 2 dB
//! of its steady level, release likewise on the step down. The step lies between the knee and 25 dB above
//! it, and the exponential gives τ: with d = 10^(25/20) and e = 10^(2/20),
//! ```text
//! attack   d / (d − (d − 1) q) = e     q = exp(−t/τ)      t = 1.524 τ
//! release  1 + (d − 1) q = e           (t less the 2 ms of peak hold)   t = 4.172 τ
//! ```
//! Step bound per frame: 128 × (5 maxima + one filter step). No allocation, no branch on data but `m > L` and `L >
//! K`.

use super::params::decibels;
use crate::{FRAME_SAMPLES, SAMPLE_RATE};

/// Samples over which the peak is held (2 ms): a power of two, and half a period of 250 Hz.
const HOLD: usize = 32;
/// −120 dB: keeps the detector out of subnormal numbers, which cost a hundred cycles each.
const FLOOR: f32 = 1e-6;
/// From the step up until the output has settled (ms).
const ATTACK_MS: f64 = 5.0;
/// From the step down until the output has settled (ms).
const RELEASE_MS: f64 = 75.0;
/// Size of the step that defines the times (dB).
const STEP_DB: f64 = 25.0;
/// How close to the steady level the output has settled (dB).
const SETTLED_DB: f64 = 2.0;

/// State of the gain control.
pub(crate) struct GainControl {
    knee: f32,
    attack: f32,
    release: f32,
    level: f32,
    /// Magnitudes: `HOLD − 1` of the frame before, then this frame's.
    magnitudes: [f32; HOLD - 1 + FRAME_SAMPLES],
}

impl GainControl {
    /// A gain control at rest. `knee` is an amplitude (full scale = 1).
    pub(crate) fn new(knee: f64) -> Self {
        let (step, settled) = (decibels(STEP_DB), decibels(SETTLED_DB));
        let attack_tau = ATTACK_MS / -((step - step / settled) / (step - 1.0)).ln();
        let hold_ms = HOLD as f64 * 1000.0 / f64::from(SAMPLE_RATE);
        let release_tau = (RELEASE_MS - hold_ms) / -((settled - 1.0) / (step - 1.0)).ln();
        let coefficient = |tau_ms: f64| (-(-1000.0 / (tau_ms * f64::from(SAMPLE_RATE))).exp_m1()) as f32;
        Self {
            knee: knee as f32,
            attack: coefficient(attack_tau),
            release: coefficient(release_tau),
            level: FLOOR,
            magnitudes: [0.0; HOLD - 1 + FRAME_SAMPLES],
        }
    }

    /// Limits one frame in place.
    pub(crate) fn apply(&mut self, samples: &mut [f32; FRAME_SAMPLES]) {
        let m = &mut self.magnitudes;
        m.copy_within(FRAME_SAMPLES.., 0);
        for (magnitude, sample) in m[HOLD - 1..].iter_mut().zip(samples.iter()) {
            *magnitude = sample.abs();
        }
        // The maximum over 32 by five doublings; each pass reads the values that the previous pass wrote.
        let mut peaks = *m;
        let mut reach = 1;
        while reach < HOLD {
            for n in (reach..peaks.len()).rev() {
                peaks[n] = peaks[n].max(peaks[n - reach]);
            }
            reach *= 2;
        }
        let mut level = self.level;
        for (sample, &peak) in samples.iter_mut().zip(&peaks[HOLD - 1..]) {
            let rate = if peak > level { self.attack } else { self.release };
            level = (level + rate * (peak - level)).max(FLOOR);
            if level > self.knee {
                *sample *= self.knee / level;
            }
        }
        self.level = level;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNEE: f64 = 0.08;

    /// Peak output of each millisecond for a 1 kHz sine whose amplitude `amplitude(ms)` gives.
    fn output(amplitude: impl Fn(usize) -> f64, ms: usize) -> Vec<f64> {
        let mut control = GainControl::new(KNEE);
        let mut out = Vec::new();
        for frame in 0..ms.div_ceil(8) {
            let mut samples: [f32; FRAME_SAMPLES] = std::array::from_fn(|i| {
                let n = frame * FRAME_SAMPLES + i;
                (amplitude(n / 16) * (std::f64::consts::TAU * n as f64 / 16.0).sin()) as f32
            });
            control.apply(&mut samples);
            out.extend(
                samples.chunks(16).map(|c| c.iter().fold(0.0, |p: f64, &x| p.max(f64::from(x.abs())))),
            );
        }
        out
    }

    /// Milliseconds after `step_ms` from which the output stays within 2 dB of its steady value.
    fn settling(out: &[f64], step_ms: usize, steady: f64) -> usize {
        let outside = |&v: &f64| (20.0 * (v / steady).log10()).abs() > SETTLED_DB;
        out[step_ms..].iter().rposition(outside).map_or(0, |last| last + 1)
    }

    #[test]
    fn times_on_a_25_db_step_are_5_and_75_ms() {
        let loud = KNEE * decibels(25.0);
        assert!(loud > 1.0 && loud < 1.5);
        let out = output(|ms| if (400..1200).contains(&ms) { loud } else { KNEE }, 2000);
        let attack = settling(&out[..1200], 400, KNEE);
        let release = settling(&out, 1200, KNEE);
        // One period of the tone is the resolution.
        assert!((4..=6).contains(&attack), "attack {attack} ms");
        assert!((73..=77).contains(&release), "release {release} ms");
    }

    #[test]
    fn below_the_knee_nothing_changes() {
        let out = output(|_| KNEE * 0.999, 400);
        assert!(out.iter().all(|&v| (v - KNEE * 0.999).abs() < 1e-6));
    }

    #[test]
    fn above_the_knee_the_level_is_constant() {
        for db in [1.0, 6.0, 20.0] {
            let out = output(|_| KNEE * decibels(db), 400);
            assert!((out[399] / KNEE - 1.0).abs() < 1e-3, "{db} dB: {}", out[399]);
        }
    }

    #[test]
    fn a_minute_of_silence_leaves_no_subnormal_number() {
        let mut control = GainControl::new(KNEE);
        control.apply(&mut [1.0; FRAME_SAMPLES]);
        for _ in 0..7_500 {
            control.apply(&mut [0.0; FRAME_SAMPLES]);
        }
        assert_eq!(control.level, FLOOR);
    }

    #[test]
    fn held_peak_is_the_maximum_over_32_samples() {
        let mut control = GainControl::new(1.0);
        control.attack = 1.0;
        control.release = 1.0;
        control.knee = 0.25;
        // One click of 0.5, then quiet: the gain is 1/2 for exactly 32 samples.
        let mut samples = [0.125; FRAME_SAMPLES];
        samples[10] = 0.5;
        control.apply(&mut samples);
        let reduced: Vec<usize> = (0..FRAME_SAMPLES).filter(|&n| n != 10 && samples[n] < 0.125).collect();
        assert_eq!(reduced, (11..42).collect::<Vec<_>>());
        assert_eq!(samples[10], 0.25);
    }
}
