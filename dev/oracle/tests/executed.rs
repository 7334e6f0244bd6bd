// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! That what is executed wrong is found, and that a run goes on where one ended. Without the privilege for SCHED_FIFO nothing
//! is executed, and said so.
#![allow(missing_docs)]

use std::process::Command;

fn execute(arguments: &[&str]) -> (Option<i32>, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_taut-oracle"));
    let output = program.arg("execute").args(arguments).output().expect("it starts");
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

fn without_privilege(text: &str) -> bool {
    text.starts_with("nothing was executed: ") && text.contains("CAP_SYS_NICE")
}

#[test]
fn sections_without_a_lock_are_found() {
    let (code, text) = execute(&["--sets", "200", "--time", "50", "--canary", "exclusion"]);
    assert_eq!(code, Some(0), "{text}");
    if !without_privilege(&text) {
        assert!(text.ends_with("exclusion, wrong on purpose, was caught\n"), "{text}");
        let told = |line: &str| line.starts_with("seed ") && line.ends_with(" sections were not alone");
        assert!(text.lines().any(told), "{text}");
    }
}

#[test]
fn a_run_goes_on_where_one_ended() {
    let path = std::env::temp_dir().join(format!("taut-executed-{}.json", std::process::id()));
    let state = path.to_string_lossy().into_owned();
    let run = || execute(&["--sets", "2", "--time", "20", "--seed", "5", "--state", &state]).1;
    let (first, second) = (run(), run());
    // It may not have been there.
    let _ = std::fs::remove_file(&path);
    if !without_privilege(&first) {
        assert!(first.contains(": 0 not as simulated, "), "{first}");
        assert!(first.contains("\n2 sets, ") && second.contains("\n4 sets, "), "{first}{second}");
    }
}
