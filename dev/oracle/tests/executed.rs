// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Wrong executions are found, and a run continues where an earlier one ended. Without the privilege for SCHED_FIFO
//! nothing is executed: that has its own exit code, and a deliberate mistake that was never made is not caught.
#![allow(missing_docs)]

use std::process::Command;

fn execute(arguments: &[&str]) -> (Option<i32>, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_taut-oracle"));
    let output = program.arg("execute").args(arguments).output().expect("it starts");
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The missing privilege, if nothing was executed.
fn skipped(text: &str) -> Option<&str> {
    let why = text.lines().next()?.strip_prefix("skipped: ")?;
    why.starts_with("nothing was executed: ").then_some(why)
}

#[test]
fn sections_without_a_lock_are_found() {
    let (code, text) = execute(&["--sets", "200", "--time", "50", "--canary", "exclusion"]);
    if let Some(why) = skipped(&text) {
        assert_eq!(code, Some(1), "{text}");
        return println!("skipped: {why}");
    }
    assert_eq!(code, Some(0), "{text}");
    assert!(text.ends_with("exclusion, a deliberate error, was caught\n"), "{text}");
    let reported = |line: &str| line.starts_with("seed ") && line.ends_with(" sections overlapped");
    assert!(text.lines().any(reported), "{text}");
}

/// As a user that may not create real-time threads: nothing is executed, and the exit code does not count as a pass.
#[test]
fn without_the_privilege_nothing_passes() {
    let given_up = ["--bounding-set=-sys_nice", "--inh-caps=-sys_nice"];
    let run = |arguments: &[&str]| {
        let mut program = Command::new("setpriv");
        program.args(given_up).arg(env!("CARGO_BIN_EXE_taut-oracle")).arg("execute").args(arguments);
        let output = program.output().expect("it starts");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let may = Command::new("setpriv").args(given_up).arg("true").output();
    if !may.is_ok_and(|output| output.status.success()) {
        return println!("skipped: no `setpriv`, or no privilege to give up");
    }
    let (code, text) = run(&["--sets", "1"]);
    assert_eq!((code, skipped(&text).is_some()), (Some(4), true), "{text}");
    for canary in ["bounds", "ceilings", "exclusion"] {
        let (code, text) = run(&["--sets", "1", "--canary", canary]);
        assert_eq!(code, Some(1), "{text}");
        assert!(text.ends_with("NOT caught\n"), "{text}");
    }
}

#[test]
fn a_run_goes_on_where_one_ended() {
    let path = std::env::temp_dir().join(format!("taut-executed-{}.json", std::process::id()));
    let state = path.to_string_lossy().into_owned();
    let run = || execute(&["--sets", "2", "--time", "20", "--seed", "5", "--state", &state]).1;
    let (first, second) = (run(), run());
    // The file may not exist.
    let _ = std::fs::remove_file(&path);
    if let Some(why) = skipped(&first) {
        return println!("skipped: {why}");
    }
    assert!(first.contains(": 0 not as simulated, "), "{first}");
    let (first_sets, next) = reached(&first);
    let (sets, after) = reached(&second);
    assert!(next > 5 && after > next && sets >= first_sets, "{first}{second}");
    // Beside other load the measured overheads may be so long that no set is schedulable.
    if [&first, &second].into_iter().any(|text| text.contains("\ntoo few sets: ")) {
        return println!("skipped: this machine's overheads left too few schedulable sets");
    }
    assert_eq!((first_sets, sets), (2, 4), "{first}{second}");
}

/// The executed sets of all runs, and the seed that the next run begins with.
fn reached(text: &str) -> (u64, u64) {
    let line = text.lines().find(|line| line.contains(", next seed ")).expect(text);
    let seed = line.split_once(", next seed ").and_then(|(_, rest)| rest.split_once(':')).expect(line).0;
    let sets = line.split_once(" sets, ").expect(line).0;
    (sets.parse().expect(line), seed.parse().expect(line))
}
