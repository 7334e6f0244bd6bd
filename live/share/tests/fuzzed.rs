// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Every object with random and structured garbage in each of its words, at each of its steps: see `fuzzed/mod.rs`.
//! `RUSTFLAGS="--cfg steps" cargo test -p taut-share --test fuzzed` interrupts shared steps, and counts them.
//! `live/share/fuzz` is the same driver, guided by coverage.
#![cfg(not(any(loom, shuttle, miri)))]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test: helpers too, and its figures")]

mod account;
#[path = "fuzzed/mod.rs"]
mod fuzzed;
mod objects;
mod payload;

use fuzzed::{all, play_on};

/// Actions on each object.
const ACTIONS: u64 = 200_000;

/// splitmix64
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

/// Random bytes on every object.
#[test]
fn random_bytes() {
    let all = all();
    let (mut seed, mut failed) = (7, Vec::new());
    for (name, build) in &all {
        let mut actions = 0;
        while actions < ACTIONS {
            let run = seed;
            let length = next(&mut seed) % 512;
            let bytes: Vec<u8> = (0..length).map(|_| next(&mut seed) as u8).collect();
            let Ok(played) = std::panic::catch_unwind(|| play_on(*build, &bytes)) else {
                failed.push(format!("{name}, after {actions} actions, seed {run:#x}"));
                break;
            };
            actions += played;
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    println!("{} objects, {ACTIONS} actions each", all.len());
}

/// Replays the stored corpus. The name of a file begins with that of its object: the first byte of the content selects
/// an object by its position in the list, which changes when an object is added.
#[test]
fn corpus() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fuzzed/corpus");
    let objects: Vec<_> = all().into_iter().map(|(name, build)| (file_name(name), build)).collect();
    let (mut files, mut failed) = (0, Vec::new());
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let of_file = objects.iter().filter(|(object, _)| name.starts_with(object.as_str()));
        let (_, build) = of_file
            .max_by_key(|(object, _)| object.len())
            .unwrap_or_else(|| panic!("{name}: no such object"));
        let played = std::panic::catch_unwind(|| play_on(*build, &bytes[1..]));
        if !played.is_ok_and(|actions| actions > 0) {
            failed.push(path.display().to_string());
        }
        files += 1;
    }
    assert!(files > 0, "no files in {folder}");
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// How the names of files begin that are played on an object: `qrtwc-slices-` for `qrtwc in slices`.
fn file_name(object: &str) -> String {
    object.replace(" in ", "-").replace(['_', ' '], "-") + "-"
}
