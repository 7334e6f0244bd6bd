// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A small campaign passes, and finds a weakened analysis.
#![allow(missing_docs)]

use std::process::Command;

fn campaign(arguments: &[&str]) -> (Option<i32>, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_taut-oracle"));
    let output = program.arg("campaign").args(arguments).output().expect("it starts");
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn no_run_does_what_was_ruled_out() {
    let (code, text) = campaign(&["--sets", "40", "--seed", "5000"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("40 sets from seed 5000, "), "{text}");
}

#[test]
fn a_canary_is_caught_and_its_seed_printed() {
    let weak = |sets, seed| campaign(&["--sets", sets, "--seed", seed, "--canary", "multi::msrp_gai01"]);
    let (code, text) = weak("40", "5000");
    assert_eq!(code, Some(0), "{text}");
    let line = text.lines().find(|line| line.starts_with("seed ")).expect("a failure is printed");
    assert!(line.contains(": multi::msrp_gai01: run "), "{line}");
    // The seed alone reproduces the failure.
    let seed = line["seed ".len()..].split(':').next().expect("a number");
    assert!(weak("1", seed).1.contains(line));
}

#[test]
fn a_canary_that_is_not_caught_fails() {
    let (code, text) = campaign(&["--sets", "0", "--canary", "multi::msrp_gai01"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.ends_with("multi::msrp_gai01, weakened on purpose, was NOT caught\n"), "{text}");
}
