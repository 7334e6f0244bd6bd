// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The values that tasks exchange with each other and with the screen; their types are those of `taut.toml`.
//!
//! - [`AudioFrame`]: one 8 ms frame of sound, 128 samples at 16 kHz, the oldest first; full scale ±32768.
//! - [`Stimulation`]: one frame of pulses, its number counted from 0, and its [`Levels`].
//! - [`Telemetry`]: what is reported of each frame: its number, the largest magnitude of its samples (0..=32768), and how
//!   many pulses it has.
//! - [`Settings`]: what the wearer adjusts while the processor runs: `volume`, the part of the range from threshold to
//!   comfort that is used, 0..=1; `sensitivity`, the gain before the automatic gain control (dB), -18..=18.
//!
//! Every type is plain bytes: any bit pattern is a value, so reading one that a hostile process wrote is defined. But
//! the value may be out of range: call [`Settings::sanitised`] before any use.

pub use crate::manifest::payload::{AudioFrame, Settings, Stimulation, Telemetry};
use crate::{ELECTRODES, LEVELS};

/// Current levels of one frame, cycle after cycle. Level of electrode `e` (1 = base .. 22 = apex) in
/// cycle `c` (0..8, 1 ms each) is at `22 * c + e - 1`: array order is the order of the pulses.
/// 0 = no pulse, 1..=255 = clinical current level.
pub type Levels = [u8; LEVELS];

impl Stimulation {
    /// A frame without pulses.
    pub const fn silent(frame: u64) -> Self {
        Self { frame, levels: [0; LEVELS] }
    }

    /// The largest level of each electrode in this frame; index 0 is electrode 1.
    pub fn peaks(&self) -> [u8; ELECTRODES] {
        let mut peaks = [0; ELECTRODES];
        for cycle in self.levels.chunks_exact(ELECTRODES) {
            for (peak, &level) in peaks.iter_mut().zip(cycle) {
                *peak = (*peak).max(level);
            }
        }
        peaks
    }
}

impl Telemetry {
    /// What is reported of a frame of sound, and of the pulses that it became.
    pub fn of(sound: &AudioFrame, stimulation: &Stimulation) -> Self {
        let loudest = sound.iter().map(|sample| u32::from(sample.unsigned_abs())).max().unwrap_or(0);
        let pulses = stimulation.levels.iter().map(|&level| u32::from(level > 0)).sum();
        Self { frame: stimulation.frame, loudest, pulses }
    }
}

impl Settings {
    /// Smallest and largest sensitivity (dB).
    pub const SENSITIVITY: (f32, f32) = (-18.0, 18.0);

    /// The same settings with every field in its range. NaN becomes the default, anything else the nearest
    /// value in range, so whatever another process wrote is safe to use. Constant time.
    #[must_use]
    pub fn sanitised(self) -> Self {
        let standard = Self::default();
        let within = |value: f32, low: f32, high: f32, otherwise: f32| {
            if value.is_nan() { otherwise } else { value.clamp(low, high) }
        };
        let (low, high) = Self::SENSITIVITY;
        Self {
            volume: within(self.volume, 0.0, 1.0, standard.volume),
            sensitivity: within(self.sensitivity, low, high, standard.sensitivity),
        }
    }
}

impl Default for Settings {
    /// Full volume, calibrated sensitivity.
    fn default() -> Self {
        Self { volume: 1.0, sensitivity: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_have_no_padding() {
        assert_eq!(size_of::<AudioFrame>(), 256);
        assert_eq!(size_of::<Stimulation>(), 8 + 176);
        assert_eq!(size_of::<Settings>(), 8);
        assert_eq!(size_of::<Telemetry>(), 16);
    }

    #[test]
    fn hostile_settings_come_out_in_range() {
        let at = |volume, sensitivity| {
            let s = Settings { volume, sensitivity }.sanitised();
            (s.volume, s.sensitivity)
        };
        assert_eq!(at(f32::NAN, f32::NAN), (1.0, 0.0));
        assert_eq!(at(f32::INFINITY, f32::NEG_INFINITY), (1.0, -18.0));
        assert_eq!(at(-1e30, 1e30), (0.0, 18.0));
        assert_eq!(at(f32::from_bits(0xffff_ffff), f32::from_bits(1)), (1.0, f32::from_bits(1)));
        assert_eq!(at(0.25, -6.0), (0.25, -6.0));
        // Every exponent and both signs.
        for high in 0..=u16::MAX {
            let value = f32::from_bits(u32::from(high) << 16 | 0x1234);
            let s = Settings { volume: value, sensitivity: value }.sanitised();
            assert!((0.0..=1.0).contains(&s.volume) && (-18.0..=18.0).contains(&s.sensitivity));
        }
    }

    #[test]
    fn telemetry_has_the_loudest_sample_and_the_pulses() {
        let mut sound = [0; 128];
        (sound[3], sound[90]) = (i16::MIN, i16::MAX);
        let mut stimulation = Stimulation::silent(9);
        stimulation.levels[..5].copy_from_slice(&[1, 0, 255, 0, 7]);
        let telemetry = Telemetry::of(&sound, &stimulation);
        assert_eq!(telemetry, Telemetry { frame: 9, loudest: 32_768, pulses: 3 });
        assert_eq!(Telemetry::of(&[0; 128], &Stimulation::silent(0)).loudest, 0);
    }

    #[test]
    fn peaks_are_taken_over_the_cycles() {
        let mut s = Stimulation::silent(7);
        s.levels[22 * 3 + 4] = 90;
        s.levels[22 * 7 + 4] = 120;
        s.levels[21] = 1;
        let peaks = s.peaks();
        assert_eq!((peaks[4], peaks[21]), (120, 1));
        assert_eq!(peaks.iter().filter(|&&p| p > 0).count(), 2);
    }
}
