// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Speech through the whole chain: the electrodogram shows formants, and the vocoder restores the envelopes.

use taut_cochlear::chain::band_centre_hz;
use taut_cochlear::inspection::Inspector;
use taut_cochlear::speech::Speech;
use taut_cochlear::{CYCLES, ELECTRODES, Params, Processor, Settings, Stimulation, vocoder};

fn stimulate(params: &Params, sound: Speech) -> Vec<Stimulation> {
    let mut processor = Processor::new(params);
    (0..)
        .zip(sound)
        .map(|(number, frame)| {
            let mut s = Stimulation::silent(number);
            processor.process(&frame, Settings::default(), &mut s.levels);
            s
        })
        .collect()
}

/// Root of the energy of `sound` in 32 ms blocks, in the band of `width_hz` around `hz`. A plain Fourier sum, without
/// code of the chain.
fn envelope(sound: &[f32], hz: f64, width_hz: f64) -> Vec<f64> {
    let block = 512;
    let lines = (width_hz / 31.25).ceil() as i32;
    sound
        .chunks_exact(block)
        .map(|x| {
            let power: f64 = (-lines / 2..=lines / 2)
                .map(|line| {
                    let step = std::f64::consts::TAU * (hz + f64::from(line) * 31.25) / 16e3;
                    let (mut re, mut im) = (0.0, 0.0);
                    for (n, &v) in x.iter().enumerate() {
                        let hann = 0.5 - 0.5 * (std::f64::consts::TAU * n as f64 / block as f64).cos();
                        re += f64::from(v) * hann * (step * n as f64).cos();
                        im += f64::from(v) * hann * (step * n as f64).sin();
                    }
                    re * re + im * im
                })
                .sum();
            power.sqrt()
        })
        .collect()
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    let (ma, mb) = (mean(a), mean(b));
    let cross: f64 = a.iter().zip(b).map(|(x, y)| (x - ma) * (y - mb)).sum();
    let power = |x: &[f64], m: f64| x.iter().map(|v| (v - m).powi(2)).sum::<f64>();
    cross / (power(a, ma) * power(b, mb)).sqrt()
}

#[test]
fn speech_uses_more_than_15_electrodes_and_passes_inspection() {
    let params = Params::default();
    let frames = stimulate(&params, Speech::bundled());
    let mut inspector = Inspector::new(params.map().clone(), params.maxima());
    let mut pulses = [0_usize; ELECTRODES];
    for frame in &frames {
        inspector.check(frame);
        frame.levels.iter().enumerate().for_each(|(at, &l)| pulses[at % ELECTRODES] += usize::from(l > 0));
    }
    assert!(inspector.defects().none(), "{:?}", inspector.defects());
    // Active: in more than 1 % of all cycles.
    let active = pulses.iter().filter(|&&p| p * 100 > frames.len() * CYCLES).count();
    println!("{active} of 22 electrodes in more than 1 % of the cycles: {pulses:?}");
    assert!(active > 15, "{pulses:?}");
}

#[test]
fn vocoded_speech_carries_the_envelopes_of_the_original() {
    let params = Params::default();
    let original: Vec<f32> = Speech::bundled().samples().iter().map(|&s| f32::from(s) / 32_768.0).collect();
    let vocoded = vocoder::vocode(&stimulate(&params, Speech::bundled()), &params);
    let peak = vocoded.iter().fold(0.0_f32, |p, x| p.max(x.abs()));
    assert!((peak - 0.707).abs() < 1e-3, "{peak}");
    let original = &original[..original.len() / 512 * 512];
    let mut found = Vec::new();
    for band in 0..ELECTRODES {
        let hz = f64::from(band_centre_hz(band));
        let width = 125.0 * taut_cochlear::chain::BAND_BINS[band] as f64;
        found.push(correlation(
            &envelope(original, hz, width),
            &envelope(&vocoded[..original.len()], hz, width),
        ));
    }
    let mut sorted = found.clone();
    sorted.sort_by(f64::total_cmp);
    println!("correlation per band: {found:.2?}; median {:.3}", sorted[11]);
    assert!(sorted[11] > 0.85 && sorted[0] > 0.5, "{found:.2?}");
    // But not with the same sound half a second later, or the measure would mean nothing.
    let late: Vec<f32> = [&vocoded[8000..original.len()], &vocoded[..8000]].concat();
    let wrong = correlation(&envelope(original, 500.0, 125.0), &envelope(&late, 500.0, 125.0));
    assert!(wrong < 0.5, "{wrong}");
}

#[test]
fn vocoded_file_reads_back_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("vocoded.wav");
    let sound = vocoder::vocode(&stimulate(&Params::default(), Speech::bundled()), &Params::default());
    vocoder::write_wav(&path, &sound).unwrap();
    let back = Speech::open(&path).unwrap();
    assert_eq!(back.samples().len(), sound.len());
    for (&s, &x) in back.samples().iter().zip(&sound) {
        assert!((f32::from(s) / 32_767.0 - x).abs() < 2e-5);
    }
    assert!(back.samples().iter().all(|s| s.unsigned_abs() < 23_200), "no clipping");
}
