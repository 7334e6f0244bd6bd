// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A cochlear implant's sound processor: the signal chain, its input, its outputs and its screen.
//!
//! One frame is 128 samples at 16 kHz (8 ms). [`chain::Processor`] turns it into eight stimulation
//! cycles of 22 electrodes by the ACE strategy: microphone calibration, automatic gain control,
//! 128-point FFT every 16 samples, 22 bands, the 8 largest of them, loudness growth, current levels.
//! The mathematics stand at the head of each file of [`chain`]; sources are in the README.
//!
//! ```
//! use taut_cochlear::{Params, Processor, Settings, Stimulation, speech::Speech};
//!
//! let mut processor = Processor::new(&Params::default()); // allocates; nothing below does
//! let mut loudest = 0;
//! for (number, sound) in (0..).zip(Speech::bundled()) {
//!     let mut stimulation = Stimulation::silent(number);
//!     processor.process(&sound, Settings::default(), &mut stimulation.levels);
//!     loudest = loudest.max(stimulation.peaks()[21]); // electrode 22: the lowest tones
//! }
//! assert_eq!(loudest, 180); // the default map's comfort level
//! ```
//!
//! Nothing here prints, and nothing here knows about threads or real time: the binaries do.
//! **This is not a medical device.** Nobody's hearing may depend on it.

pub mod chain;
pub mod electrodogram;
pub mod inspection;
/// What `taut generate` makes from `taut.toml`.
pub mod manifest;
pub mod payload;
pub mod speech;
pub mod ui;
pub mod vocoder;

pub use chain::{Map, Params, Processor};
pub use payload::{AudioFrame, Levels, Settings, Stimulation, Telemetry};

/// Samples per second of the input (Hz).
pub const SAMPLE_RATE: u32 = 16_000;
/// Samples in one frame (8 ms).
pub const FRAME_SAMPLES: usize = 128;
/// Samples between two analyses: 1000 stimulation cycles per second.
pub const HOP: usize = 16;
/// Analyses, and thus stimulation cycles, in one frame.
pub const CYCLES: usize = FRAME_SAMPLES / HOP;
/// Electrodes of the implant, and bands of the filter bank.
pub const ELECTRODES: usize = 22;
/// Current levels in one frame: `CYCLES` rows of `ELECTRODES`.
pub const LEVELS: usize = CYCLES * ELECTRODES;
