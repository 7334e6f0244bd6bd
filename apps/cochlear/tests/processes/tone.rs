// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A sound that reveals every torn frame: a quiet tone whose period is the hop. Once it sounds, all eight cycles of a
//! frame are the same bit for bit, and depend on nothing but the volume.

use std::path::Path;

use taut_cochlear::{
    CYCLES, ELECTRODES, FRAME_SAMPLES, HOP, Levels, Params, Processor, Settings, Stimulation,
};

/// Volumes that the tests set, the default first.
pub(crate) const VOLUMES: [f32; 4] = [1.0, 0.75, 0.5, 0.25];
/// Below the knee of the gain control, so that its gain is 1.
const AMPLITUDE: f64 = 800.0;
/// The length of the file.
const SECONDS: usize = 60;

pub(crate) fn settings(volume: f32) -> Settings {
    Settings { volume, sensitivity: 0.0 }
}

fn sample(at: usize) -> i16 {
    (AMPLITUDE * (at as f64 * std::f64::consts::TAU / HOP as f64).sin()).round() as i16
}

/// Writes the tone.
pub(crate) fn write(path: &Path) {
    let spec = hound::WavSpec {
        channels: 1,
        sample_rate: taut_cochlear::SAMPLE_RATE,
        bits_per_sample: 16,
        sample_format: hound::SampleFormat::Int,
    };
    let mut writer = hound::WavWriter::create(path, spec).unwrap();
    for at in 0..SECONDS * spec.sample_rate as usize {
        writer.write_sample(sample(at)).unwrap();
    }
    writer.finalize().unwrap();
}

/// The levels of every frame of the tone, for each of [`VOLUMES`].
pub(crate) struct Tone([Levels; 4]);

impl Tone {
    pub(crate) fn new() -> Self {
        let frame: [i16; FRAME_SAMPLES] = std::array::from_fn(sample);
        Self(VOLUMES.map(|volume| {
            let mut processor = Processor::new(&Params::default());
            let mut levels = [[0; CYCLES * ELECTRODES]; 2];
            for at in 0..20 {
                processor.process(&frame, settings(volume), &mut levels[at % 2]);
            }
            assert_eq!(levels[0], levels[1], "a steady tone");
            let [first, others @ ..] = levels[0].as_chunks::<ELECTRODES>().0 else { unreachable!() };
            assert!(others.iter().all(|cycle| cycle == first), "with equal cycles");
            levels[0]
        }))
    }

    /// The volume that gives these levels; `None` if they are not one whole frame of the tone.
    pub(crate) fn volume(&self, levels: &Levels) -> Option<f32> {
        let position = self.0.iter().position(|known| known == levels)?;
        Some(VOLUMES[position])
    }

    /// The same, from the largest level of each electrode.
    pub(crate) fn volume_of_peaks(&self, peaks: &[u8]) -> Option<f32> {
        let of = |levels: &Levels| Stimulation { frame: 0, levels: *levels }.peaks();
        let position = self.0.iter().position(|known| of(known) == *peaks)?;
        Some(VOLUMES[position])
    }
}

#[test]
fn volumes_are_distinguished() {
    let tone = Tone::new();
    for (volume, levels) in VOLUMES.into_iter().zip(&tone.0) {
        assert_eq!(tone.volume(levels), Some(volume));
        assert!(levels.iter().any(|&level| level > 0));
        // One cycle of another volume makes it no frame.
        for other in tone.0.iter().filter(|other| *other != levels) {
            let mut torn = *levels;
            torn[3 * ELECTRODES..4 * ELECTRODES].copy_from_slice(&other[..ELECTRODES]);
            assert_eq!(tone.volume(&torn), None);
        }
    }
}
