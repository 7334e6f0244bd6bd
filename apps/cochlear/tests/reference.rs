// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Compares the chain with a second implementation: `reference.py`, numpy and scipy in double precision, with no
//! shared code.
//!
//! Tolerance: envelopes within 1e-5 relative (single precision rounds by 6e-8 per operation, and some tens of
//! roundings meet in a value) plus 1e-6 of saturation (what remains of them in an empty band next to a full one).
//! Levels are equal, except on at most 0.05 % of the cells. In such a cell a value lies within that error of a
//! rounding border (then the levels differ by 1) or of a choice, base or n-of-m: then only one side has a pulse, and
//! a cycle has at most one pulse more or fewer. The impulses of the synthetic signal cause such ties on purpose: they
//! excite bands of one width equally, and rounding breaks the tie (14 of 37,840 cells).

// Clippy exempts functions marked as tests, not their helpers.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::path::{Path, PathBuf};
use std::process::Command;

use taut_cochlear::chain::Growth;
use taut_cochlear::speech::Speech;
use taut_cochlear::{Map, Params, Processor, Settings};

const CASES: [&str; 3] = ["speech", "settings", "variant"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// Levels and last-cycle envelopes of a case by the Rust chain.
fn run(case: &str) -> (Vec<u8>, Vec<f32>) {
    let synthetic = || Speech::open(folder().join("data/synthetic.wav")).unwrap();
    let mut params = Params::default();
    let sound = match case {
        "speech" => Speech::from_samples(Speech::bundled().samples()[..400 * 128].to_vec()),
        "settings" => synthetic(),
        _ => {
            let map = Map::new(std::array::from_fn(|e| 80 + e as u8), std::array::from_fn(|e| 200 - e as u8));
            params = Params::new(map.unwrap())
                .with_growth(Growth::solve(4.0 / 256.0, 150.0 / 256.0, 20.0).unwrap())
                .with_pre_emphasis(1200.0)
                .unwrap()
                .with_maxima(12)
                .unwrap();
            synthetic()
        }
    };
    let whole = sound.samples().len() / 128;
    let mut processor = Processor::new(&params);
    let (mut levels, mut envelopes) = (Vec::new(), Vec::new());
    for (number, frame) in sound.take(whole).enumerate() {
        let (volume, sensitivity) = match (case, number) {
            ("settings", 60..120) => (0.7, 6.0),
            ("settings", 120..) => (0.35, -9.0),
            _ => (1.0, 0.0),
        };
        let mut out = [0; 176];
        processor.process(&frame, Settings { volume, sensitivity }, &mut out);
        levels.extend(out);
        envelopes.extend(processor.envelopes()[7]);
    }
    (levels, envelopes)
}

fn load(folder: &Path, case: &str) -> (Vec<u8>, Vec<f32>) {
    let read = |kind: &str| std::fs::read(folder.join(format!("{case}.{kind}"))).unwrap();
    let envelopes = read("envelopes");
    (read("levels"), envelopes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect())
}

/// Compares a case with the reference in `folder`.
fn compare(folder: &Path, case: &str) {
    let (levels, envelopes) = run(case);
    let (wanted_levels, wanted_envelopes) = load(folder, case);
    assert_eq!((levels.len(), envelopes.len()), (wanted_levels.len(), wanted_envelopes.len()), "{case}");
    let mut worst = 0.0_f32;
    for (at, (&u, &wanted)) in envelopes.iter().zip(&wanted_envelopes).enumerate() {
        let error = (u - wanted).abs();
        worst = worst.max(error / (1e-5 * wanted + 1e-6));
        assert!(worst <= 1.0, "{case}: frame {} band {}: {u}, not {wanted}", at / 22, at % 22);
    }
    let pulses = wanted_levels.iter().filter(|&&l| l > 0).count();
    let rounded = levels.iter().zip(&wanted_levels).filter(|(a, b)| a != b && a.abs_diff(**b) == 1).count();
    let different = levels.iter().zip(&wanted_levels).filter(|(a, b)| a.abs_diff(**b) > 1).count();
    println!(
        "{case}: {} cells, {pulses} pulses, {rounded} differ by 1, {different} by more; worst envelope {worst:.3} of tolerance",
        levels.len()
    );
    assert!(pulses * 20 > levels.len(), "{case}: the reference is nearly silent");
    assert_eq!(agree(&levels, &wanted_levels), Ok(()), "{case}");
}

/// Bands, each a cell of a cycle.
const BANDS: usize = 22;
/// At most one cell in this many may differ.
const DIFFER: usize = 2_000;

/// Whether the levels differ in no more cells, and in no other way, than rounding explains.
fn agree(ours: &[u8], wanted: &[u8]) -> Result<(), String> {
    let mut differ = 0;
    for (cycle, (ours, wanted)) in ours.chunks(BANDS).zip(wanted.chunks(BANDS)).enumerate() {
        for (band, (&ours, &wanted)) in ours.iter().zip(wanted).enumerate() {
            differ += usize::from(ours != wanted);
            // A rounding border, or a pulse that only one side has.
            if ours.abs_diff(wanted) > 1 && ours != 0 && wanted != 0 {
                return Err(format!("cycle {cycle} band {band}: {ours}, not {wanted}"));
            }
        }
        let pulses = |levels: &[u8]| levels.iter().filter(|&&level| level > 0).count();
        if pulses(ours).abs_diff(pulses(wanted)) > 1 {
            return Err(format!("cycle {cycle}: {} pulses, not {}", pulses(ours), pulses(wanted)));
        }
    }
    if differ * DIFFER > ours.len() {
        Err(format!("{differ} of {} cells differ", ours.len()))
    } else {
        Ok(())
    }
}

#[test]
fn differences_from_the_reference_are_bounded() {
    let wanted: Vec<u8> = (0..200 * BANDS).map(|at| if at % BANDS < 8 { 100 } else { 0 }).collect();
    let with = |changes: &[(usize, u8)]| {
        let mut ours = wanted.clone();
        changes.iter().for_each(|(at, level)| ours[*at] = *level);
        agree(&ours, &wanted)
    };
    assert_eq!(with(&[]), Ok(()));
    assert_eq!(with(&[(0, 101), (BANDS, 99)]), Ok(()), "rounded the other way");
    assert_eq!(with(&[(0, 0), (8, 90)]), Ok(()), "another band was chosen");
    assert!(with(&[(0, 102)]).is_err(), "a single wrong level");
    assert!(with(&[(0, 0), (1, 0)]).is_err(), "two pulses are missing");
    assert!(with(&[(0, 101), (22, 101), (44, 101)]).is_err(), "3 of 4,400");
}

#[test]
fn chain_equals_the_committed_reference() {
    for case in CASES {
        compare(&folder().join("data"), case);
    }
}

/// Runs the reference anew if numpy and scipy are installed, and prints a note if not. `COCHLEAR_PYTHON` names the
/// interpreter.
#[test]
fn chain_equals_a_fresh_reference() {
    let python = std::env::var("COCHLEAR_PYTHON").unwrap_or_else(|_| "python3".into());
    let able = Command::new(&python).args(["-c", "import numpy, scipy"]).output();
    if !able.is_ok_and(|o| o.status.success()) {
        assert!(std::env::var_os("COCHLEAR_PYTHON").is_none(), "{python} has no numpy and scipy");
        println!("skipped: {python} has no numpy and scipy");
        return;
    }
    let out = tempfile::tempdir().unwrap();
    let script = folder().join("reference.py");
    let output = Command::new(&python).arg(&script).arg(out.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for case in CASES {
        compare(out.path(), case);
    }
    let signal = out.path().join("synthetic.wav");
    let output = Command::new(&python).arg(&script).arg("--signal").arg(&signal).output().unwrap();
    assert!(output.status.success());
    let fresh = Speech::open(&signal).unwrap();
    let committed = Speech::open(folder().join("data/synthetic.wav")).unwrap();
    // Another numpy may round a sine the other way.
    let close = |(a, b): (&i16, &i16)| a.abs_diff(*b) <= 1;
    assert!(fresh.samples().iter().zip(committed.samples()).all(close));
    assert_eq!(fresh.samples().len(), committed.samples().len());
}
