// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut run` ends, whatever becomes of the application and of those who read what it prints.
#![allow(clippy::unwrap_used, reason = "test code")]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const MANIFEST: &str = "manifest = 1\n[app]\nname = \"ending\"\nexec = \"program\"\n[platform]\ncores = [0]\n\
     memory = \"16MiB\"\non-missing-privilege = \"degrade\"\n[tasks.tick]\narrival = { periodic = \"10ms\" }\n\
     deadline = \"10ms\"\nwcet = { value = \"1us\", source = \"guess\" }\ncore = 0\npriority = 5\n";

/// A folder with an application whose program is a script. It ends by itself after 20 s.
fn application(script: &str) -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("taut.toml"), MANIFEST).unwrap();
    let program = folder.path().join("program");
    std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

const STUBBORN: &str =
    "trap '' TERM INT HUP\necho ready > ready\ni=0\nwhile [ $i -lt 200 ]; do sleep 0.1; i=$((i+1)); done";

fn taut(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    command.arg("run").arg(".").args(arguments).current_dir(folder).env("NO_COLOR", "1");
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Waits until the application runs.
fn ready(folder: &Path) {
    let begun = Instant::now();
    while !folder.join("ready").exists() {
        assert!(begun.elapsed() < Duration::from_secs(10), "it does not start");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn signal(child: &Child, number: i32) {
    taut_sys::signals::kill(child.id(), number).unwrap();
}

/// Waits for a command, and says how long it took. One that hangs is killed, and fails the test.
fn ended(mut child: Child, limit: Duration) -> (Duration, Option<i32>) {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return (begun.elapsed(), status.code());
        }
        if begun.elapsed() > limit {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("still there after {limit:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_application_that_ignores_signals_is_killed_after_the_patience() {
    for number in [taut_sys::signals::SIGTERM, taut_sys::signals::SIGINT, taut_sys::signals::SIGHUP] {
        let folder = application(STUBBORN);
        let child = taut(folder.path(), &["--forever", "--patience", "300ms"]).spawn().unwrap();
        ready(folder.path());
        signal(&child, number);
        let (took, code) = ended(child, Duration::from_secs(5));
        assert!(took >= Duration::from_millis(300), "{took:?}");
        assert_eq!(code, Some(4));
    }
}

#[test]
fn a_second_signal_shortens_the_patience() {
    let folder = application(STUBBORN);
    let child = taut(folder.path(), &["--forever"]).spawn().unwrap();
    ready(folder.path());
    signal(&child, taut_sys::signals::SIGTERM);
    std::thread::sleep(Duration::from_millis(300));
    signal(&child, taut_sys::signals::SIGTERM);
    let (took, code) = ended(child, Duration::from_secs(8));
    assert!(took >= Duration::from_millis(1_500), "{took:?}");
    assert_eq!(code, Some(4));
}

#[test]
fn an_application_that_is_stopped_is_killed_too() {
    let folder = application("echo $$ > ready\nkill -STOP $$");
    let child = taut(folder.path(), &["--forever", "--patience", "300ms"]).spawn().unwrap();
    ready(folder.path());
    signal(&child, taut_sys::signals::SIGTERM);
    ended(child, Duration::from_secs(5));
}

#[test]
fn a_reader_that_has_gone_stops_nothing() {
    // It prints all the time, and exits with 7 when its time is over.
    let script =
        "trap '' PIPE\ni=0\nwhile [ $i -lt 5 ]; do echo words >&2; sleep 0.1; i=$((i+1)); done\nexit 7";
    let folder = application(script);
    let mut child = taut(folder.path(), &["--for", "1s"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    drop(child.stderr.take());
    let (_, code) = ended(child, Duration::from_secs(10));
    assert_eq!(code, Some(7), "a panic of the command is 101, a signal is none");
}
