// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Sound from a WAV file, frame by frame.
//!
//! The whole file is read and checked before the caller asks for the first frame, so a defect is an error at the
//! start and never a glitch in the middle. One minute takes 1.9 MB.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::{AudioFrame, FRAME_SAMPLES, SAMPLE_RATE};

/// The bundled recording; origin and licence in `assets/README.md`.
const BUNDLED: &[u8] = include_bytes!("../assets/speech.wav");

/// Longest file that is accepted (one hour): a wrong path must not fill the memory.
const SAMPLES_MAX: usize = 3600 * SAMPLE_RATE as usize;

/// A recording that yields frames of 128 samples.
#[derive(Clone, Debug)]
pub struct Speech {
    samples: Vec<i16>,
    position: usize,
    repeat: bool,
}

impl Speech {
    /// The bundled recording: 5.65 s of a woman's voice, at 65 dB SPL by the default calibration.
    ///
    /// # Panics
    /// Never: the recording is part of the program, and a test reads it.
    pub fn bundled() -> Self {
        Self::read(BUNDLED, Path::new("bundled speech")).expect("the bundled recording is valid")
    }

    /// A 16 kHz mono 16-bit PCM WAV file.
    ///
    /// # Errors
    /// [`SpeechError`] if the file cannot be read, is of another format, is truncated, is empty, or is longer than an
    /// hour.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SpeechError> {
        let path = path.as_ref();
        let file = std::fs::File::open(path)
            .map_err(|error| SpeechError::Unreadable { path: path.to_owned(), reason: error.to_string() })?;
        Self::read(std::io::BufReader::new(file), path)
    }

    fn read(source: impl Read, path: &Path) -> Result<Self, SpeechError> {
        let unreadable = |reason: String| SpeechError::Unreadable { path: path.to_owned(), reason };
        let mut reader = hound::WavReader::new(source).map_err(|error| match error {
            // An error without a number of the system is hound's own: the bytes ended too early.
            hound::Error::IoError(e) if e.raw_os_error().is_none() => {
                unreadable("the header ends early".into())
            }
            hound::Error::IoError(e) => unreadable(e.to_string()),
            hound::Error::FormatError(reason) => unreadable(reason.into()),
            other => unreadable(other.to_string()),
        })?;
        let spec = reader.spec();
        let wanted = hound::WavSpec {
            channels: 1,
            sample_rate: SAMPLE_RATE,
            bits_per_sample: 16,
            sample_format: hound::SampleFormat::Int,
        };
        if spec != wanted {
            return Err(SpeechError::Format { path: path.to_owned(), found: spec });
        }
        let promised = reader.len() as usize;
        if promised == 0 {
            return Err(SpeechError::Empty { path: path.to_owned() });
        }
        if promised > SAMPLES_MAX {
            return Err(SpeechError::Long {
                path: path.to_owned(),
                seconds: promised / SAMPLE_RATE as usize,
            });
        }
        let samples: Vec<i16> = reader.samples::<i16>().map_while(Result::ok).collect();
        if samples.len() < promised {
            return Err(SpeechError::Truncated { path: path.to_owned(), promised, found: samples.len() });
        }
        Ok(Self { samples, position: 0, repeat: false })
    }

    /// From samples at 16 kHz.
    pub fn from_samples(samples: Vec<i16>) -> Self {
        Self { samples, position: 0, repeat: false }
    }

    /// At its end the recording starts again, without a gap. (No effect on a recording without samples.)
    #[must_use]
    pub fn repeated(mut self) -> Self {
        self.repeat = true;
        self
    }

    /// All samples.
    pub fn samples(&self) -> &[i16] {
        &self.samples
    }

    /// RMS level (dB SPL) if a full-scale sine has the level `full_scale_db` (dB SPL); −∞ for silence.
    pub fn level_db_spl(&self, full_scale_db: f64) -> f64 {
        let power: f64 = self.samples.iter().map(|&s| f64::from(s).powi(2)).sum();
        let mean = power / self.samples.len().max(1) as f64 / 32_768.0_f64.powi(2);
        full_scale_db + 10.0 * (2.0 * mean).log10()
    }
}

/// Yields frames; the last one is filled up with silence unless the recording repeats.
impl Iterator for Speech {
    type Item = AudioFrame;

    fn next(&mut self) -> Option<AudioFrame> {
        if self.position >= self.samples.len() && (!self.repeat || self.samples.is_empty()) {
            return None;
        }
        let mut frame = [0; FRAME_SAMPLES];
        for out in &mut frame {
            if self.position >= self.samples.len() && self.repeat {
                self.position = 0;
            }
            *out = self.samples.get(self.position).copied().unwrap_or(0);
            self.position += 1;
        }
        Some(frame)
    }
}

/// Why a file cannot be used.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SpeechError {
    /// The file is missing, may not be read, or is not a WAV file.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The message of the system or of the WAV reader.
        reason: String,
    },
    /// A WAV file of another rate, channel count or sample format.
    Format {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: hound::WavSpec,
    },
    /// A WAV file without samples.
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// Fewer samples than its header says.
    Truncated {
        /// The file.
        path: PathBuf,
        /// The number of samples according to the header.
        promised: usize,
        /// The number of samples in the file.
        found: usize,
    },
    /// More than an hour.
    Long {
        /// The file.
        path: PathBuf,
        /// Its length (s).
        seconds: usize,
    },
}

impl fmt::Display for SpeechError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { path, reason } => write!(f, "{}: {reason}", path.display()),
            Self::Format { path, found } => {
                let kind = match found.sample_format {
                    hound::SampleFormat::Int => "integer",
                    hound::SampleFormat::Float => "floating-point",
                };
                let plural = if found.channels == 1 { "" } else { "s" };
                write!(
                    f,
                    "{file}: {} Hz, {} channel{plural}, {} bit {kind}; use 16000 Hz, 1 channel, 16 bit integer\n\
                     help: sox '{file}' -r 16000 -c 1 -b 16 -e signed-integer converted.wav",
                    found.sample_rate,
                    found.channels,
                    found.bits_per_sample,
                    file = path.display(),
                )
            }
            Self::Empty { path } => write!(f, "{}: no samples in it", path.display()),
            Self::Truncated { path, promised, found } => write!(
                f,
                "{}: truncated: its header says {promised} samples, the file has {found}",
                path.display()
            ),
            Self::Long { path, seconds } => {
                write!(
                    f,
                    "{}: {seconds} s long; the limit is one hour\nhelp: sox '{0}' cut.wav trim 0 60",
                    path.display()
                )
            }
        }
    }
}

impl std::error::Error for SpeechError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn wav(spec: hound::WavSpec, samples: usize) -> Vec<u8> {
        let mut out = std::io::Cursor::new(Vec::new());
        let mut writer = hound::WavWriter::new(&mut out, spec).unwrap();
        for n in 0..samples * usize::from(spec.channels) {
            match spec.sample_format {
                hound::SampleFormat::Int => writer.write_sample(n as i16).unwrap(),
                hound::SampleFormat::Float => writer.write_sample(0.5_f32).unwrap(),
            }
        }
        writer.finalize().unwrap();
        out.into_inner()
    }

    const GOOD: hound::WavSpec = hound::WavSpec {
        channels: 1,
        sample_rate: 16_000,
        bits_per_sample: 16,
        sample_format: hound::SampleFormat::Int,
    };

    fn refusal(bytes: &[u8]) -> String {
        Speech::read(bytes, Path::new("in.wav")).unwrap_err().to_string()
    }

    #[test]
    fn bundled_speech_is_at_65_db() {
        let speech = Speech::bundled();
        assert_eq!(speech.samples().len(), 90_470);
        assert!((speech.level_db_spl(95.0) - 65.0).abs() < 0.1, "{}", speech.level_db_spl(95.0));
        assert_eq!(speech.count(), 90_470_usize.div_ceil(128));
    }

    #[test]
    fn frames_are_consecutive_and_the_last_is_filled_up() {
        let bytes = wav(GOOD, 300);
        let frames: Vec<_> = Speech::read(&bytes[..], Path::new("x")).unwrap().collect();
        assert_eq!(frames.len(), 3);
        assert_eq!((frames[0][127], frames[1][0], frames[2][43], frames[2][44]), (127, 128, 299, 0));
    }

    #[test]
    fn repeating_leaves_no_gap() {
        let speech = Speech::from_samples((0..300).collect()).repeated();
        let all: Vec<i16> = speech.take(75).flatten().collect();
        assert!(all.iter().enumerate().all(|(n, &s)| s == (n % 300) as i16));
        assert_eq!(Speech::from_samples(Vec::new()).repeated().next(), None);
    }

    #[test]
    fn wrong_formats_say_what_they_are_and_how_to_convert() {
        assert_eq!(
            refusal(&wav(hound::WavSpec { channels: 2, sample_rate: 44_100, ..GOOD }, 10)),
            "in.wav: 44100 Hz, 2 channels, 16 bit integer; use 16000 Hz, 1 channel, 16 bit integer\n\
             help: sox 'in.wav' -r 16000 -c 1 -b 16 -e signed-integer converted.wav"
        );
        let float = hound::WavSpec { bits_per_sample: 32, sample_format: hound::SampleFormat::Float, ..GOOD };
        assert!(refusal(&wav(float, 10)).starts_with("in.wav: 16000 Hz, 1 channel, 32 bit floating-point;"));
    }

    #[test]
    fn damaged_files_are_refused_with_the_reason() {
        assert_eq!(refusal(&wav(GOOD, 0)), "in.wav: no samples in it");
        assert_eq!(refusal(b""), "in.wav: the header ends early");
        assert_eq!(refusal(b"not a wave file at all, but long enough to look"), "in.wav: no RIFF tag found");
        let bytes = wav(GOOD, 300);
        assert_eq!(
            refusal(&bytes[..bytes.len() - 100]),
            "in.wav: truncated: its header says 300 samples, the file has 250"
        );
        for length in 0..bytes.len() {
            assert!(Speech::read(&bytes[..length], Path::new("x")).is_err(), "{length}");
        }
        let missing = Speech::open("/nonexistent/a.wav").unwrap_err().to_string();
        assert!(missing.starts_with("/nonexistent/a.wav: No such file"), "{missing}");
    }

    #[test]
    fn a_header_that_promises_hours_is_refused_before_anything_is_allocated() {
        let mut bytes = wav(GOOD, 10);
        let at = bytes.windows(4).position(|w| w == b"data").unwrap() + 4;
        bytes[at..at + 4].copy_from_slice(&0x7fff_fffe_u32.to_le_bytes());
        assert!(refusal(&bytes).contains("67108 s long"), "{}", refusal(&bytes));
    }
}
