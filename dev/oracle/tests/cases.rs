// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The comparison on cases worked out by hand: its output and its exit code.
#![allow(missing_docs)]

use std::process::Command;

/// The exit code, and the text on both streams.
fn ask(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_taut-oracle")).args(arguments).output().expect("it starts");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

fn cases(folder: &str) -> (Option<i32>, String) {
    ask(&["cases", &format!("{}/tests/data/{folder}", env!("CARGO_MANIFEST_DIR"))])
}

#[test]
fn agreeing_cases_pass() {
    let (code, text) = cases("agree");
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains(" values compared, 0 differ"), "{text}");
    // One implementation that nobody has checked does not decide.
    assert!(text.contains("A rts_sysu msrp_new: A1: R of task 2: 44 us, ours 45 us"), "{text}");
    for left in [
        "not compared: A schedcat msrp_holistic, 1 cases: it did not settle",
        "not compared: D schedcat of_another_tool, 1 cases: the name is not known here",
        "not compared: E own_simulator edf_srp, 1 cases: a deadline was missed",
        "group X is not in the format",
    ] {
        assert!(text.contains(left), "{left}:\n{text}");
    }
}

#[test]
fn differing_cases_fail() {
    let (code, text) = cases("differs");
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("D rta_crate_0 fp_preemptive: D2: R of task 1: 29 us, ours 30 us"), "{text}");
    assert!(text.ends_with("2 values compared, 1 differ\n"), "{text}");
}

#[test]
fn a_response_above_its_bound_fails() {
    let (code, text) = cases("exceeded");
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("A own_simulator msrp: A2: task 0 reached 16 us, ours 15 us"), "{text}");
}

/// A tool's "no bound", in each spelling, equals our having no bound.
#[test]
fn a_set_without_bound_is_compared() {
    let (code, text) = cases("unbounded");
    assert_eq!(code, Some(0), "{text}");
    assert!(text.ends_with("5 values compared, 0 differ\n"), "{text}");
    let (code, text) = cases("unbounded_differs");
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("G6: all activities have bounds, ours none"), "{text}");
    assert!(text.contains("G7: R of transaction 1 of task 0: none, ours 10 us"), "{text}");
    assert!(text.ends_with("3 values compared, 2 differ\n"), "{text}");
}

#[test]
fn bad_input_is_reported() {
    let (code, text) = cases("broken");
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("broken/D.jsonl: line 2: "), "{text}");
    let (code, text) = cases("odd");
    assert_eq!(code, Some(2), "{text}");
    for reported in [
        "cannot be compared: D5: pycpa_1 spp: 2 times for 1 tasks",
        "cannot be compared: D5: rta_crate_0 fp_preemptive: 1.5 is not a time in whole microseconds",
        "cannot be compared: D6: pycpa_1 spp: task 0: a period of zero",
        "not compared: D schedcat msrp_classic, 1 cases: it ran out of time",
    ] {
        assert!(text.contains(reported), "{reported}:\n{text}");
    }
    let (code, text) = cases("nowhere");
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("nowhere: "), "{text}");
    let (code, text) = cases(".");
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("no *.jsonl file of cases"), "{text}");
}
