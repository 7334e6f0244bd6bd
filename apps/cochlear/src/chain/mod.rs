// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The signal chain: one frame of sound to one frame of current levels.
//!
//! ```text
//! i16 ─ sensitivity ─ [pre-emphasis] ─ gain control ─┬─ 8 × ( Hann · FFT · 22 bands · gain ) per frame
//!                                       112 samples ─┘        │
//!               current levels ─ map ─ loudness growth ─ 8 largest of 22
//! ```
//! In order, with x in full scale = ±1:
//! 1. `x · 10^(sensitivity / 20)`, the factor moving linearly over one frame when the setting changed;
//! 2. [pre-emphasis](Params::with_pre_emphasis), if any;
//! 3. gain control: limits at the peak of comfortable speech (file `gain_control.rs`);
//! 4. analysis c of a frame sees the 128 samples up to its sample 16 (c + 1), across the frame's border;
//! 5. envelopes times [`Params::gain`], so that comfortable speech reaches the growth's saturation;
//! 6. the n largest of 22; 7. loudness v by [`Growth`], no pulse below its base;
//! 8. `level = round(T + (C − T) · volume · v)`. Band b (0 = lowest) is electrode 22 − b.
//!
//! Delay: the window's centre lies 64 samples (4 ms) before the cycle. Single precision; the same input
//! gives the same output on one machine. Machines may differ in the last bit of the FFT (SIMD width).

mod filter_bank;
mod gain_control;
mod growth;
mod maxima;
mod params;
mod pre_emphasis;

pub use filter_bank::{BAND_BINS, WINDOW, band_centre_hz};
pub use growth::Growth;
pub use params::{Calibration, Fault, Map, Params, pulse_current_ua};

use filter_bank::FilterBank;
use gain_control::GainControl;
use growth::Curve;
use pre_emphasis::PreEmphasis;

use crate::{CYCLES, ELECTRODES, FRAME_SAMPLES, HOP, Levels, Settings};

/// Samples of the previous frame that a frame's first analysis still sees.
const HISTORY: usize = WINDOW - HOP;

/// Full scale of the input.
const FULL_SCALE: f32 = 32_768.0;

/// The whole chain with its state and buffers (about 5 KiB and the FFT's tables).
///
/// Holding a processor proves that its parameters are valid and that everything it needs is allocated.
pub struct Processor {
    pre_emphasis: Option<PreEmphasis>,
    gain_control: GainControl,
    filter_bank: FilterBank,
    curve: Curve,
    gain: f32,
    maxima: usize,
    /// Threshold, and comfort minus threshold, by band.
    ranges: [(f32, f32); ELECTRODES],
    /// The sensitivity at the end of the last frame, in dB and as a factor.
    sensitivity: (f32, f32),
    frame: [f32; FRAME_SAMPLES],
    samples: [f32; HISTORY + FRAME_SAMPLES],
    envelopes: [[f32; ELECTRODES]; CYCLES],
}

impl Processor {
    /// Makes a processor in the state after endless silence. Allocates; no later operation allocates.
    pub fn new(params: &Params) -> Self {
        let map = params.map();
        Self {
            pre_emphasis: params.pre_emphasis_hz.map(PreEmphasis::new),
            gain_control: GainControl::new(params.calibration.speech_peak()),
            filter_bank: FilterBank::new(),
            curve: params.growth.curve(),
            gain: params.gain() as f32,
            maxima: params.maxima,
            ranges: std::array::from_fn(|band| {
                let index = ELECTRODES - 1 - band;
                let threshold = f32::from(map.threshold()[index]);
                (threshold, f32::from(map.comfort()[index]) - threshold)
            }),
            sensitivity: (0.0, 1.0),
            frame: [0.0; FRAME_SAMPLES],
            samples: [0.0; HISTORY + FRAME_SAMPLES],
            envelopes: [[0.0; ELECTRODES]; CYCLES],
        }
    }

    /// Processes one frame and writes every level of `levels`. `settings` may hold any value ([`Settings::sanitised`]
    /// is applied here).
    ///
    /// Progress: no allocation, no lock, no system call; the work is the same for every input up to branches of a few
    /// instructions: 8 FFTs of 128 points, and 64 logarithms with 8 maxima. `examples/frame_cost.rs` measures it.
    pub fn process(&mut self, sound: &[i16; FRAME_SAMPLES], settings: Settings, levels: &mut Levels) {
        let settings = settings.sanitised();
        self.convert(sound, settings.sensitivity);
        if let Some(filter) = &mut self.pre_emphasis {
            filter.apply(&mut self.frame);
        }
        self.gain_control.apply(&mut self.frame);
        self.samples.copy_within(FRAME_SAMPLES.., 0);
        self.samples[HISTORY..].copy_from_slice(&self.frame);

        // Fixed-size pieces throughout: every index below is in range by its type, so none can panic.
        let (cycles, _) = levels.as_chunks_mut::<ELECTRODES>();
        for (cycle, (levels, envelopes)) in cycles.iter_mut().zip(&mut self.envelopes).enumerate() {
            if let Some(block) = self.samples.get(cycle * HOP..).and_then(|rest| rest.first_chunk()) {
                self.filter_bank.analyse(block, envelopes);
            }
            for envelope in envelopes.iter_mut() {
                *envelope *= self.gain;
            }
            let chosen = maxima::largest(envelopes, self.maxima);
            for band in 0..ELECTRODES {
                let loudness = if chosen[band] { self.curve.loudness(envelopes[band]) } else { None };
                let (threshold, range) = self.ranges[band];
                levels[ELECTRODES - 1 - band] =
                    loudness.map_or(0, |v| (threshold + range * settings.volume * v).round() as u8);
            }
        }
    }

    /// Envelopes of the last frame, as the loudness growth saw them: by cycle, then band (0 = lowest).
    pub fn envelopes(&self) -> &[[f32; ELECTRODES]; CYCLES] {
        &self.envelopes
    }

    /// Samples to ±1, with the sensitivity moving from the last frame's to `target_db`.
    fn convert(&mut self, sound: &[i16; FRAME_SAMPLES], target_db: f32) {
        let (last_db, start) = self.sensitivity;
        let end = if target_db == last_db { start } else { 10_f32.powf(target_db / 20.0) };
        let slope = (end - start) / FRAME_SAMPLES as f32;
        for (n, (out, &sample)) in self.frame.iter_mut().zip(sound).enumerate() {
            *out = f32::from(sample) / FULL_SCALE * (start + slope * (n + 1) as f32);
        }
        self.sensitivity = (target_db, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the last cycle of a frame begins.
    const LAST: usize = 7 * ELECTRODES;

    /// Levels after `frames` frames of a sine of the given level.
    fn settled(params: &Params, hz: f64, db_spl: f64, settings: Settings) -> (Levels, Processor) {
        let mut processor = Processor::new(params);
        let amplitude = 32_767.0 * 10_f64.powf((db_spl - 95.0) / 20.0);
        let mut levels = [0; 176];
        for frame in 0..40 {
            let sound = std::array::from_fn(|i| {
                let t = (frame * FRAME_SAMPLES + i) as f64 / 16e3;
                (amplitude * (std::f64::consts::TAU * hz * t).sin()).round() as i16
            });
            processor.process(&sound, settings, &mut levels);
        }
        (levels, processor)
    }

    #[test]
    fn each_band_drives_its_electrode() {
        for band in 0..ELECTRODES {
            let hz = f64::from(band_centre_hz(band));
            let (levels, _) = settled(&Params::default(), hz, 60.0, Settings::default());
            let last = &levels[LAST..];
            let loudest = (0..ELECTRODES).max_by_key(|&i| last[i]).unwrap();
            assert_eq!(ELECTRODES - loudest, band + 1, "{hz} Hz: {last:?}");
        }
    }

    #[test]
    fn level_follows_the_formula() {
        // 1 kHz is band 6, electrode 16. Envelope = amplitude · gain; below the knee (73 dB).
        let params = Params::default();
        for (db, volume) in [(30.0, 1.0), (45.0, 1.0), (60.0, 1.0), (60.0, 0.5), (66.0, 0.25)] {
            let (levels, processor) = settled(&params, 1000.0, db, Settings { volume, sensitivity: 0.0 });
            let u = params.gain() * 10_f64.powf((db - 95.0) / 20.0);
            assert!((f64::from(processor.envelopes()[7][6]) / u - 1.0).abs() < 0.02, "{db}");
            let r = ((u - 0.01) / 0.99).clamp(0.0, 1.0);
            let v = (340.83 * r).ln_1p() / 340.83_f64.ln_1p();
            let wanted = 100.0 + 80.0 * f64::from(volume) * v;
            assert!((f64::from(levels[LAST + 15]) - wanted).abs() <= 1.0, "{db} dB: {wanted}");
        }
    }

    #[test]
    fn threshold_and_comfort_are_reached_where_calibrated() {
        // One band of speech at 65 dB peaks at 67 dB as a sine (65 + 11 − 3 − 6), at 25 dB at 27.
        let at = |db| settled(&Params::default(), 1000.0, db, Settings::default()).0[LAST + 15];
        assert_eq!(at(67.1), 180);
        assert!((101..=179).contains(&at(50.0)));
        assert!((100..=104).contains(&at(27.5)), "{}", at(27.5));
        assert_eq!(at(26.0), 0);
    }

    #[test]
    fn sensitivity_is_a_gain_in_front() {
        let plain = settled(&Params::default(), 1000.0, 56.0, Settings::default());
        let moved = settled(&Params::default(), 1000.0, 50.0, Settings { volume: 1.0, sensitivity: 6.0 });
        for band in 5..8 {
            let (a, b) = (plain.1.envelopes()[7][band], moved.1.envelopes()[7][band]);
            assert!((a / b - 1.0).abs() < 0.01);
        }
    }

    #[test]
    fn silence_gives_no_pulse_and_an_impulse_is_seen_by_eight_analyses() {
        let mut processor = Processor::new(&Params::default());
        let mut levels = [9; 176];
        processor.process(&[0; 128], Settings::default(), &mut levels);
        assert_eq!(levels, [0; 176]);
        let mut sound = [0; 128];
        sound[127] = i16::MAX;
        // Only the last analysis sees the last sample, at the window's edge where it weighs almost nothing.
        processor.process(&sound, Settings::default(), &mut levels);
        assert_eq!(levels, [0; 176]);
        // The sample then moves through the window, and leaves it with the eighth analysis.
        processor.process(&[0; 128], Settings::default(), &mut levels);
        let active: Vec<usize> = levels.chunks(22).map(|c| c.iter().filter(|&&l| l > 0).count()).collect();
        assert_eq!(active, [8, 8, 8, 8, 8, 8, 8, 0]);
        processor.process(&[0; 128], Settings::default(), &mut levels);
        assert_eq!(levels, [0; 176]);
    }

    #[test]
    fn any_input_with_hostile_settings_stays_in_the_map() {
        let mut processor = Processor::new(&Params::default().with_pre_emphasis(1200.0).unwrap());
        let mut seed = 7_u64;
        let mut next = move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 32) as u32
        };
        for _ in 0..4000 {
            let loud = next() % 4;
            let sound = std::array::from_fn(|_| match loud {
                0 => 0,
                1 => i16::MIN,
                2 => next() as i16,
                _ => (next() % 64) as i16,
            });
            let settings = Settings { volume: f32::from_bits(next()), sensitivity: f32::from_bits(next()) };
            let mut levels = [255; 176];
            processor.process(&sound, settings, &mut levels);
            for cycle in levels.chunks(22) {
                assert!(cycle.iter().filter(|&&l| l > 0).count() <= 8);
                assert!(cycle.iter().all(|&l| l == 0 || (100..=180).contains(&l)));
            }
            assert!(processor.envelopes().iter().flatten().all(|u| u.is_finite()));
        }
    }

    #[test]
    fn same_input_same_output() {
        let run = || settled(&Params::default(), 777.0, 70.0, Settings::default()).0;
        assert_eq!(run(), run());
    }
}
