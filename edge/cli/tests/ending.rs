// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut run` ends, whatever the application does and whatever happens to the readers of its output.
#![allow(clippy::unwrap_used, reason = "test code")]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const MANIFEST: &str = "manifest = 1\n[app]\nname = \"ending\"\nexec = \"program\"\n[platform]\ncores = [0]\n\
     memory = \"16MiB\"\non-missing-privilege = \"degrade\"\n[tasks.tick]\narrival = { periodic = \"10ms\" }\n\
     deadline = \"10ms\"\nwcet = { value = \"1us\", source = \"guess\" }\ncore = 0\npriority = 5\n";

/// A folder with an application whose program is a script. The scripts here end by themselves, after 20 s at most.
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
    // Resets SIGHUP to its default, in case the tests run where it is ignored, as under `nohup`.
    let mut command = Command::new("env");
    command
        .args(["--default-signal=HUP", env!("CARGO_BIN_EXE_taut"), "run", "."])
        .args(arguments)
        .current_dir(folder)
        .env("TAUT_APPLICATIONS_DIR", concat!(env!("CARGO_TARGET_TMPDIR"), "/applications"))
        .env("NO_COLOR", "1");
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

/// Waits for a command; returns how long it took and its exit code. A command that hangs is killed, and fails the
/// test.
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

/// Both are stopped, as by Ctrl-Z: the time that passes meanwhile does not count.
#[test]
fn time_while_both_processes_are_stopped_does_not_count() {
    let script = "trap 'for i in 1 2 3 4; do sleep 0.1; done; exit 7' TERM\necho $$ > ready.new\n\
                  mv ready.new ready\ni=0\nwhile [ $i -lt 200 ]; do sleep 0.1; i=$((i+1)); done";
    let folder = application(script);
    let child = taut(folder.path(), &["--forever", "--patience", "1500ms"]).spawn().unwrap();
    ready(folder.path());
    let program = std::fs::read_to_string(folder.path().join("ready")).unwrap().trim().parse().unwrap();
    let both = |number: i32| {
        for pid in [program, child.id()] {
            taut_sys::signals::kill(pid, number).unwrap();
        }
    };
    signal(&child, taut_sys::signals::SIGTERM);
    std::thread::sleep(Duration::from_millis(150));
    both(taut_sys::signals::SIGSTOP);
    std::thread::sleep(Duration::from_millis(2_000));
    both(taut_sys::signals::SIGCONT);
    assert_eq!(ended(child, Duration::from_secs(5)).1, Some(7));
}

/// The message at the end of its patience blocks on a full pipe: the application is killed all the same.
#[test]
fn a_reader_that_does_not_read_keeps_no_application() {
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;
    const NONBLOCK: i32 = 0o4_000;
    let folder =
        application(&STUBBORN.replace("echo ready > ready", "echo $$ > ready.new; mv ready.new ready"));
    let (reader, writer) = std::io::pipe().unwrap();
    // Opened anew, so that only this descriptor is non-blocking.
    let mut filler = std::fs::OpenOptions::new();
    filler.write(true).custom_flags(NONBLOCK);
    let mut filler = filler.open(format!("/proc/self/fd/{}", writer.as_raw_fd())).unwrap();
    let mut command = taut(folder.path(), &["--forever", "--patience", "300ms"]);
    let child = command.stderr(Stdio::from(std::os::fd::OwnedFd::from(writer))).spawn().unwrap();
    ready(folder.path());
    while filler.write(&[0]).is_ok() {}
    let program: u32 = std::fs::read_to_string(folder.path().join("ready")).unwrap().trim().parse().unwrap();
    signal(&child, taut_sys::signals::SIGTERM);
    let begun = Instant::now();
    while taut_sys::process::start_time_of(program).is_some() {
        assert!(begun.elapsed() < Duration::from_secs(5), "the application is not killed");
        std::thread::sleep(Duration::from_millis(5));
    }
    drop((reader, filler));
    assert_eq!(ended(child, Duration::from_secs(5)).1, Some(4));
}

#[test]
fn a_reader_that_has_gone_stops_nothing() {
    // The program prints all the time, and exits with 7 at the end of its time.
    let script =
        "trap '' PIPE\ni=0\nwhile [ $i -lt 5 ]; do echo words >&2; sleep 0.1; i=$((i+1)); done\nexit 7";
    let folder = application(script);
    let mut child = taut(folder.path(), &["--for", "1s"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    drop(child.stderr.take());
    let (_, code) = ended(child, Duration::from_secs(10));
    assert_eq!(code, Some(7), "a panic of the command is 101, a signal is none");
}
