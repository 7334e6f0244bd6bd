// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The vocoder: turns pulses back into sound, so that a person can hear what was sent.
//!
//! ```text
//! v = (level − T) / (C − T);  u = growth⁻¹(v) / gain;  no pulse: u = 0
//! y(t) = Σ_b a_b(t) · sin(2π f_b t + φ_b)      a_b: u of band b, raised-cosine interpolation over 1 ms
//! ```
//! One sine in the centre of each band (sine vocoders are as intelligible as noise vocoders and keep the envelopes
//! exact). Phases are φ_b = π b² / 22, which keeps the crest low (Schroeder). The vocoder removes the analysis delay
//! of 64 samples, so the result aligns with the original. It does not know the volume: a lower volume sounds softer,
//! as it does for the wearer. It does not undo the gain control.
//!
//! The vocoder scales the whole to a peak of −3 dB of full scale. What an implant's wearer hears is not known; the
//! sound shows what information is left.

use std::path::Path;

use crate::chain::{Params, WINDOW, band_centre_hz};
use crate::{CYCLES, ELECTRODES, FRAME_SAMPLES, HOP, SAMPLE_RATE, Stimulation};

/// Peak of the result.
const PEAK: f32 = 0.707;

/// Sound of the frames, one after the other: 128 samples each at 16 kHz, peak 0.707; all 0 if there is no pulse.
pub fn vocode(frames: &[Stimulation], params: &Params) -> Vec<f32> {
    let length = frames.len() * FRAME_SAMPLES;
    let cycles = frames.len() * CYCLES;
    let mut sound = vec![0.0_f32; length];
    let mut amplitudes = vec![0.0_f64; cycles];
    for band in 0..ELECTRODES {
        let index = ELECTRODES - 1 - band;
        let (threshold, comfort) = (params.map().threshold()[index], params.map().comfort()[index]);
        for (cycle, amplitude) in amplitudes.iter_mut().enumerate() {
            let level = frames[cycle / CYCLES].levels[cycle % CYCLES * ELECTRODES + index];
            *amplitude = if level == 0 {
                0.0
            } else {
                let v = (f64::from(level) - f64::from(threshold)) / f64::from(comfort - threshold);
                params.growth().envelope(v) / params.gain()
            };
        }
        let step = std::f64::consts::TAU * f64::from(band_centre_hz(band)) / f64::from(SAMPLE_RATE);
        let phase = std::f64::consts::PI * (band * band) as f64 / ELECTRODES as f64;
        for (n, out) in sound.iter_mut().enumerate() {
            *out += (amplitude_at(&amplitudes, n) * (step * n as f64 + phase).sin()) as f32;
        }
    }
    let peak = sound.iter().fold(0.0_f32, |p, x| p.max(x.abs()));
    if peak > 0.0 {
        sound.iter_mut().for_each(|x| *x *= PEAK / peak);
    }
    sound
}

/// Amplitude at sample `n`: cycle c lies at sample 16 (c + 1) − 64, the centre of its window.
fn amplitude_at(amplitudes: &[f64], n: usize) -> f64 {
    let shifted = n + WINDOW / 2 - HOP;
    let cycle = shifted / HOP;
    let part = (shifted % HOP) as f64 / HOP as f64;
    let weight = 0.5 - 0.5 * (std::f64::consts::PI * part).cos();
    let at = |c: usize| amplitudes.get(c).copied().unwrap_or(0.0);
    at(cycle) * (1.0 - weight) + at(cycle + 1) * weight
}

/// Writes sound of ±1 as a 16 kHz mono 16-bit WAV file.
///
/// # Errors
/// The system's error, with the path in front.
pub fn write_wav(path: impl AsRef<Path>, sound: &[f32]) -> Result<(), String> {
    let path = path.as_ref();
    let failed = |error: hound::Error| format!("{}: {error}", path.display());
    let spec = hound::WavSpec {
        channels: 1,
        sample_rate: SAMPLE_RATE,
        bits_per_sample: 16,
        sample_format: hound::SampleFormat::Int,
    };
    let mut writer = hound::WavWriter::create(path, spec).map_err(failed)?;
    for x in sound {
        writer.write_sample((x.clamp(-1.0, 1.0) * 32_767.0).round() as i16).map_err(failed)?;
    }
    writer.finalize().map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Amplitude of `sound` at `hz`.
    fn amplitude(sound: &[f32], hz: f64) -> f64 {
        let step = std::f64::consts::TAU * hz / 16e3;
        let (mut re, mut im) = (0.0, 0.0);
        for (n, &x) in sound.iter().enumerate() {
            re += f64::from(x) * (step * n as f64).cos();
            im += f64::from(x) * (step * n as f64).sin();
        }
        2.0 * re.hypot(im) / sound.len() as f64
    }

    #[test]
    fn one_electrode_is_one_tone_at_its_centre() {
        let mut frames: Vec<_> = (0..50).map(Stimulation::silent).collect();
        for frame in &mut frames {
            (0..CYCLES).for_each(|c| frame.levels[c * ELECTRODES + 15] = 150);
        }
        let sound = vocode(&frames, &Params::default());
        assert!((amplitude(&sound[640..5760], 1000.0) - 0.707).abs() < 0.005);
        assert!(amplitude(&sound[640..5760], 1125.0) < 1e-4);
    }

    #[test]
    fn amplitudes_are_those_of_the_inverse_growth() {
        let params = Params::default();
        let mut frames: Vec<_> = (0..50).map(Stimulation::silent).collect();
        for frame in &mut frames {
            for c in 0..CYCLES {
                frame.levels[c * ELECTRODES + 15] = 180; // 1000 Hz, v = 1
                frame.levels[c * ELECTRODES + 7] = 140; // 2312.5 Hz (band 14), v = 0.5
            }
        }
        let sound = &vocode(&frames, &params)[640..5760];
        let ratio = amplitude(sound, f64::from(band_centre_hz(14))) / amplitude(sound, 1000.0);
        assert!((ratio / params.growth().envelope(0.5) - 1.0).abs() < 0.01, "{ratio}");
    }

    #[test]
    fn silence_stays_silent_and_nothing_is_nothing() {
        assert!(vocode(&[Stimulation::silent(0)], &Params::default()).iter().all(|&x| x == 0.0));
        assert!(vocode(&[], &Params::default()).is_empty());
    }

    #[test]
    fn a_path_that_cannot_be_written_is_named() {
        let error = write_wav("/nonexistent/out.wav", &[0.0]).unwrap_err();
        assert!(error.starts_with("/nonexistent/out.wav: "), "{error}");
    }
}
