// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A short hunt passes, and finds a weakened analysis.
#![allow(missing_docs)]

use std::process::Command;

fn hunt(arguments: &[&str]) -> (Option<i32>, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_taut-oracle"));
    let output = program.arg("hunt").args(arguments).output().expect("it starts");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn no_bound_is_exceeded() {
    let (code, text) = hunt(&["--seconds", "1", "--seed", "5000"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("0 bounds exceeded"), "{text}");
}

#[test]
fn a_canary_is_caught_with_its_set_and_its_run() {
    let (code, text) = hunt(&["--seconds", "60", "--canary", "multi::msrp_gai01"]);
    assert_eq!(code, Some(0), "{text}");
    for reported in ["multi::msrp_gai01: job ", "SetTask { name: ", "Scenario { seed: ", "was caught"] {
        assert!(text.contains(reported), "{reported}:\n{text}");
    }
}

#[test]
fn one_analysis_alone() {
    let (code, text) = hunt(&["--seconds", "1", "--analysis", "uni::fp::sweep"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("uni::fp::sweep") && !text.contains("uni::edf"), "{text}");
    let (code, text) = hunt(&["--seconds", "0", "--analysis", "nothing"]);
    assert_eq!((code, text.contains("nothing to hunt")), (Some(2), true), "{text}");
}
