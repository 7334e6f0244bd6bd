// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The wearer's map and the processor's parameters: valid once constructed.

use std::fmt;

use super::growth::Growth;
use crate::ELECTRODES;

/// Threshold and comfort levels of each electrode, as an audiologist fits them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    threshold: [u8; ELECTRODES],
    comfort: [u8; ELECTRODES],
}

impl Map {
    /// A map from levels per electrode, index 0 = electrode 1 (base).
    ///
    /// # Errors
    /// [`Fault::Threshold`] for a threshold of 0 (0 means no pulse), [`Fault::Comfort`] for a comfort level
    /// that is not above its threshold. Both name the electrode, counted from 1.
    pub fn new(threshold: [u8; ELECTRODES], comfort: [u8; ELECTRODES]) -> Result<Self, Fault> {
        for (index, (&t, &c)) in threshold.iter().zip(&comfort).enumerate() {
            if t == 0 {
                return Err(Fault::Threshold { electrode: index + 1 });
            }
            if c <= t {
                return Err(Fault::Comfort { electrode: index + 1, threshold: t, comfort: c });
            }
        }
        Ok(Self { threshold, comfort })
    }

    /// Lowest level of each electrode that is heard (current level).
    pub fn threshold(&self) -> &[u8; ELECTRODES] {
        &self.threshold
    }

    /// Highest level of each electrode that is comfortable (current level).
    pub fn comfort(&self) -> &[u8; ELECTRODES] {
        &self.comfort
    }
}

impl Default for Map {
    /// A demonstration map, fitted to nobody: threshold 100 (106 µA) and comfort 180 (452 µA) everywhere.
    fn default() -> Self {
        Self { threshold: [100; ELECTRODES], comfort: [180; ELECTRODES] }
    }
}

/// Current of a pulse of the given level on a CIC4 implant (µA): `17.5 · 100^(level / 255)`, 17.5..=1750.
/// Level 0 is "no pulse" in this application, thus 0 µA.
pub fn pulse_current_ua(level: u8) -> f32 {
    if level == 0 { 0.0 } else { 17.5 * 100_f32.powf(f32::from(level) / 255.0) }
}

/// Maps sound pressure to sample values. A sine of amplitude ±1.0 (±32768 in the file) has the level `full_scale_db`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// Level of a full-scale sine (dB SPL).
    pub full_scale_db: f64,
    /// Level of speech that reaches comfort (dB SPL).
    pub comfort_db: f64,
    /// Level of speech that reaches threshold (dB SPL).
    pub threshold_db: f64,
    /// Peak of speech above its RMS level (dB).
    pub crest_db: f64,
    /// How far the peak of one band lies below the peak of all (dB).
    pub bandwidth_db: f64,
}

impl Calibration {
    /// Peak amplitude of speech at the comfort level, full scale = 1:
    /// `10^((comfort − full_scale + crest) / 20) / √2`; the root because a full-scale sine's RMS is 1/√2.
    pub fn speech_peak(&self) -> f64 {
        decibels(self.comfort_db - self.full_scale_db + self.crest_db) * std::f64::consts::FRAC_1_SQRT_2
    }

    /// The peak amplitude of this speech within one band: this envelope should reach comfort.
    pub fn band_peak(&self) -> f64 {
        self.speech_peak() * decibels(-self.bandwidth_db)
    }

    /// The envelope at threshold, relative to the envelope at comfort.
    pub fn base(&self) -> f64 {
        decibels(self.threshold_db - self.comfort_db)
    }
}

impl Default for Calibration {
    /// 95 dB SPL full scale, speech 65 dB at comfort and 25 dB at threshold, crest 11 dB, bands 6 dB lower.
    fn default() -> Self {
        Self { full_scale_db: 95.0, comfort_db: 65.0, threshold_db: 25.0, crest_db: 11.0, bandwidth_db: 6.0 }
    }
}

/// All parameters of the chain, besides the settings that the wearer adjusts.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    pub(crate) map: Map,
    pub(crate) calibration: Calibration,
    pub(crate) growth: Growth,
    pub(crate) maxima: usize,
    pub(crate) pre_emphasis_hz: Option<f64>,
}

impl Params {
    /// The wearer's map with everything else as in a clinic: the default calibration, the loudness growth of that
    /// calibration with Q = 20 %, 8 maxima, no pre-emphasis, gain control with 5 ms attack and 75 ms release.
    pub fn new(map: Map) -> Self {
        let calibration = Calibration::default();
        Self {
            map,
            growth: Growth::solve(calibration.base(), 1.0, 20.0).expect("the default calibration is valid"),
            calibration,
            maxima: 8,
            pre_emphasis_hz: None,
        }
    }

    /// With another calibration, and the loudness growth of its dynamic range, which replaces a growth that was set
    /// before.
    ///
    /// # Errors
    /// [`Fault::Calibration`] unless all levels are finite and threshold < comfort, and the speech peak at
    /// comfort does not pass full scale; [`Fault::Growth`] if the range is too small to solve for.
    pub fn with_calibration(mut self, calibration: Calibration) -> Result<Self, Fault> {
        let c = &calibration;
        let finite = [c.full_scale_db, c.comfort_db, c.threshold_db, c.crest_db, c.bandwidth_db]
            .iter()
            .all(|v| v.is_finite() && v.abs() <= 200.0);
        if !finite || c.threshold_db >= c.comfort_db || c.speech_peak() > 1.0 {
            return Err(Fault::Calibration);
        }
        self.growth = Growth::solve(calibration.base(), 1.0, 20.0)?;
        self.calibration = calibration;
        Ok(self)
    }

    /// With another loudness growth.
    #[must_use]
    pub fn with_growth(mut self, growth: Growth) -> Self {
        self.growth = growth;
        self
    }

    /// With `maxima` bands per cycle, 1..=22; 22 makes the strategy CIS.
    ///
    /// # Errors
    /// [`Fault::Maxima`] outside that range.
    pub fn with_maxima(mut self, maxima: usize) -> Result<Self, Fault> {
        if !(1..=ELECTRODES).contains(&maxima) {
            return Err(Fault::Maxima { maxima });
        }
        self.maxima = maxima;
        Ok(self)
    }

    /// With a first-order high-pass at `corner_hz` (50..=4000) in front.
    ///
    /// # Errors
    /// [`Fault::PreEmphasis`] outside that range.
    pub fn with_pre_emphasis(mut self, corner_hz: f64) -> Result<Self, Fault> {
        if !(50.0..=4000.0).contains(&corner_hz) {
            return Err(Fault::PreEmphasis { corner_hz });
        }
        self.pre_emphasis_hz = Some(corner_hz);
        Ok(self)
    }

    /// The wearer's map.
    pub fn map(&self) -> &Map {
        &self.map
    }

    /// The map from sound pressure to sample values.
    pub fn calibration(&self) -> &Calibration {
        &self.calibration
    }

    /// The loudness growth.
    pub fn growth(&self) -> &Growth {
        &self.growth
    }

    /// Bands that are kept per cycle.
    pub fn maxima(&self) -> usize {
        self.maxima
    }

    /// The factor from envelope to growth input: with it, speech at comfort reaches the saturation level.
    pub fn gain(&self) -> f64 {
        self.growth.saturation() / self.calibration.band_peak()
    }
}

impl Default for Params {
    /// [`Params::new`] with the demonstration map.
    fn default() -> Self {
        Self::new(Map::default())
    }
}

/// Ratio of amplitudes of `db` decibels.
pub(crate) fn decibels(db: f64) -> f64 {
    10_f64.powf(db / 20.0)
}

/// Why a map or parameters were refused.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Fault {
    /// The threshold is 0, which means "no pulse".
    Threshold {
        /// Electrode, 1..=22.
        electrode: usize,
    },
    /// The comfort level is not above the threshold.
    Comfort {
        /// Electrode, 1..=22.
        electrode: usize,
        /// Its threshold level.
        threshold: u8,
        /// Its comfort level.
        comfort: u8,
    },
    /// Not 1..=22 maxima.
    Maxima {
        /// The number asked for.
        maxima: usize,
    },
    /// Not 50..=4000 Hz.
    PreEmphasis {
        /// The corner asked for (Hz).
        corner_hz: f64,
    },
    /// A level is not finite, threshold is not below comfort, or comfortable speech would pass full scale.
    Calibration,
    /// Not 0 < base < saturation with a 10 dB step inside the range, or Q not reachable by a positive steepness.
    Growth {
        /// Base level.
        base: f64,
        /// Saturation level.
        saturation: f64,
        /// Drop of loudness at −10 dB (%).
        q: f64,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Threshold { electrode } => {
                write!(f, "electrode {electrode}: threshold 0 would mean no pulse; use 1..=254")
            }
            Self::Comfort { electrode, threshold, comfort } => write!(
                f,
                "electrode {electrode}: comfort level {comfort} is not above its threshold level {threshold}"
            ),
            Self::Maxima { maxima } => write!(f, "{maxima} maxima; use 1..={ELECTRODES}"),
            Self::PreEmphasis { corner_hz } => {
                write!(f, "pre-emphasis corner {corner_hz} Hz; use 50..=4000 Hz")
            }
            Self::Calibration => write!(
                f,
                "calibration: levels must be finite, threshold below comfort, and comfortable speech below full scale"
            ),
            Self::Growth { base, saturation, q } => write!(
                f,
                "loudness growth: no steepness gives a {q} % drop at -10 dB between base {base} and saturation {saturation}"
            ),
        }
    }
}

impl std::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_maps_are_refused_by_electrode() {
        let mut t = [100; ELECTRODES];
        let mut c = [180; ELECTRODES];
        assert!(Map::new(t, c).is_ok());
        c[4] = 100;
        let fault = Map::new(t, c).unwrap_err();
        assert_eq!(fault.to_string(), "electrode 5: comfort level 100 is not above its threshold level 100");
        t[0] = 0;
        assert_eq!(Map::new(t, c), Err(Fault::Threshold { electrode: 1 }));
    }

    #[test]
    fn impossible_parameters_are_refused() {
        let p = Params::default();
        assert!(p.clone().with_maxima(0).is_err() && p.clone().with_maxima(23).is_err());
        assert_eq!(p.clone().with_maxima(22).unwrap().maxima(), 22);
        assert!(p.clone().with_pre_emphasis(f64::NAN).is_err());
        let c = Calibration::default();
        for bad in [
            Calibration { threshold_db: 65.0, ..c },
            Calibration { comfort_db: 90.0, ..c },
            Calibration { crest_db: f64::NAN, ..c },
            Calibration { bandwidth_db: f64::INFINITY, ..c },
        ] {
            assert_eq!(p.clone().with_calibration(bad), Err(Fault::Calibration));
        }
        assert!(matches!(
            p.with_calibration(Calibration { threshold_db: 60.0, ..c }),
            Err(Fault::Growth { .. })
        ));
    }

    #[test]
    fn speech_at_comfort_peaks_where_the_arithmetic_says() {
        // 65 dB RMS + 11 dB crest = 76 dB, against the 98 dB peak of a 95 dB sine.
        let c = Calibration::default();
        assert!((20.0 * c.speech_peak().log10() + 22.0103).abs() < 1e-4);
        assert!((20.0 * c.band_peak().log10() + 28.0103).abs() < 1e-4);
        assert!((c.base() - 0.01).abs() < 1e-12);
    }

    #[test]
    fn pulse_current_follows_the_implant() {
        assert_eq!(pulse_current_ua(0), 0.0);
        assert!((pulse_current_ua(255) - 1750.0).abs() < 0.5);
        assert!((pulse_current_ua(1) - 17.5 * 1.018_23).abs() < 0.01);
        assert!((pulse_current_ua(100) - 106.5).abs() < 0.1, "{}", pulse_current_ua(100));
    }
}
