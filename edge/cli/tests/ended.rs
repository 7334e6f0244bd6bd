// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How an application ends, and what its report says about that: at once, and when the recording is read again.
#![allow(clippy::unwrap_used, reason = "test code")]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use taut_event::{Ending, Kind, Record};
use taut_time::Instant;

const MANIFEST: &str = r#"
manifest = 1
[app]
name = "one"
exec = "app.sh"
[platform]
cores = [0]
memory = "16MiB"
[tasks.tick]
arrival = { periodic = "5ms" }
deadline = "5ms"
wcet = { value = "2ms", source = "guess" }
core = 0
priority = 20
"#;
const MS: u64 = 1_000_000;

/// Three jobs in time, and an end record if the ending has one.
fn records(ending: Ending) -> Vec<Record> {
    let record =
        |at, kind, job, value| Record { at: Instant::from_ns(at), kind, cpu: 0, subject: 0, job, value };
    let mut records = vec![record(MS, Kind::Begin, 0, 0)];
    for job in 0..3 {
        let release = MS + job * 5 * MS;
        records.push(record(release, Kind::Release, job, 0));
        records.push(record(release + MS / 10, Kind::Start, job, 0));
        records.push(record(release + MS, Kind::Complete, job, MS / 2));
    }
    records.extend(ending.to_record(Instant::from_ns(16 * MS)));
    records
}

fn taut(folder: &Path, line: &str) -> (Option<i32>, String) {
    // All signals have their default action: Python, for example, runs its children with SIGXFSZ ignored.
    let output = Command::new("env")
        .args(["--default-signal", env!("CARGO_BIN_EXE_taut")])
        .args(line.split_whitespace())
        .current_dir(folder)
        .env("TAUT_APPLICATIONS_DIR", concat!(env!("CARGO_TARGET_TMPDIR"), "/applications"))
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout) + &text(output.stderr))
}

/// Runs an application that leaves a recording, cut by `cut` bytes at its end, and then ends as the script says.
fn ran(ending: Ending, cut: usize, script: &str) -> (tempfile::TempDir, Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("taut.toml"), MANIFEST).unwrap();
    assert_eq!(taut(folder.path(), "plan").0, Some(0));
    let plan = std::fs::read_to_string(path("taut.lock")).unwrap();
    let mut bytes = taut_event::file::recording(&plan, "", &records(ending)).unwrap();
    bytes.truncate(bytes.len() - cut);
    std::fs::write(path("whole.taut"), bytes).unwrap();
    std::fs::write(path("app.sh"), format!("#!/bin/sh\ncp whole.taut \"$TAUT_OUT/run.taut\"\n{script}\n"))
        .unwrap();
    std::fs::set_permissions(path("app.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let (code, said) = taut(folder.path(), "run --for 20ms --out out");
    (folder, code, said)
}

fn json(folder: &tempfile::TempDir) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(folder.path().join("out/report.json")).unwrap()).unwrap()
}

#[test]
fn only_an_end_of_its_own_is_kept() {
    let none = Ending::Unrecorded;
    for (ending, cut, script, code, again, word, said) in [
        (Ending::Done, 0, "exit 0", 0, 0, "done", "✔ kept"),
        (Ending::Done, 0, "kill -SEGV $$", 4, 1, "killed", "ended by SIGSEGV (signal 11)"),
        (Ending::Done, 0, "exit 4", 4, 1, "exited", "did not end in order: exit code 4"),
        (Ending::Panic(0), 0, "exit 4", 4, 1, "panic", "a job of `tick` panicked"),
        (none, 0, "kill -ABRT $$", 4, 1, "killed", "ended by SIGABRT (signal 6)"),
        (none, 0, "kill -KILL $$", 4, 1, "killed", "ended by SIGKILL (signal 9)"),
        (none, 0, "kill -XFSZ $$", 4, 1, "killed", "ended by SIGXFSZ (signal 25)"),
        (none, 0, "exit 0", 1, 1, "exited", "exited (exit code 0) before the end of its run"),
        // As the runtime exits when a limit on file size stops the recording.
        (none, 0, "exit 5", 5, 1, "unwritten", "the rest of the recording could not be written"),
        (Ending::Done, 0, "exit 5", 5, 1, "exited", "did not end in order: exit code 5"),
        // The writer was killed while it wrote its last blocks.
        (Ending::Done, 10, "kill -KILL $$", 4, 1, "killed", "ended by SIGKILL (signal 9)"),
        (none, 70, "kill -SEGV $$", 4, 1, "killed", "ended by SIGSEGV (signal 11)"),
    ] {
        let what = format!("{ending:?}, {cut}, {script}");
        let (folder, found, text) = ran(ending, cut, script);
        assert_eq!(found, Some(code), "{what}\n{text}");
        assert!(text.contains(said), "{what}\n{text}");
        assert_eq!(text.contains("✔ kept"), word == "done", "{what}\n{text}");
        let report = json(&folder);
        assert_eq!(
            (report["verdict"] == "broken", &report["ending"]),
            (word != "done", &word.into()),
            "{what}"
        );
        // The recording alone gives the same answer.
        let (found, text) = taut(folder.path(), "report out/run.taut");
        assert_eq!(found, Some(again), "{what}\n{text}");
        assert!(text.contains(said), "{what}\n{text}");
        assert_eq!(json(&folder), report, "{what}");
    }
}

/// A program that exits without a recording, during set-up or because it is not an application of taut, proved
/// nothing: its exit code 0 is not the run's. An earlier recording in the same folder does not stand in for it.
#[test]
fn a_run_without_a_recording_shows_nothing() {
    let (folder, ..) = ran(Ending::Done, 0, "exit 0");
    for (script, code, said) in [
        ("exit 0", 1, "one exited (exit code 0) before the end of the run and recorded nothing"),
        ("exec true", 1, "one exited (exit code 0) before the end of the run and recorded nothing"),
        ("exit 7", 7, ""),
        ("kill -SEGV $$", 4, "signal 11 ended one"),
    ] {
        std::fs::write(folder.path().join("app.sh"), format!("#!/bin/sh\n{script}\n")).unwrap();
        let (found, text) = taut(folder.path(), "run --for 20ms --out out");
        assert_eq!(found, Some(code), "{script}\n{text}");
        assert!(text.contains(said) && !text.contains("kept\n"), "{script}\n{text}");
        assert!(!folder.path().join("out/run.taut").exists(), "{script}");
    }
}

/// Nothing is appended to a damaged recording.
#[test]
fn nothing_is_added_to_what_is_damaged() {
    let (folder, ..) = ran(Ending::Done, 0, "exit 0");
    let damaged = "printf x | dd of=$TAUT_OUT/run.taut bs=1 seek=$(($(stat -c %s whole.taut) - 120)) conv=notrunc 2>/dev/null";
    let script = format!("{damaged}\ncp $TAUT_OUT/run.taut kept.taut\nkill -SEGV $$");
    std::fs::write(
        folder.path().join("app.sh"),
        format!("#!/bin/sh\ncp whole.taut $TAUT_OUT/run.taut\n{script}\n"),
    )
    .unwrap();
    let (code, said) = taut(folder.path(), "run --for 20ms --out out");
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("the recording is damaged at byte") && !said.contains("✔ kept"), "{said}");
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert_eq!(read("out/run.taut"), read("kept.taut"));
}

/// The application gets the limit on its recording; a run that ends by itself has none.
#[test]
fn a_limit_is_handed_on() {
    let limit = |line: &str| {
        let (folder, ..) = ran(Ending::Done, 0, "echo \"limit=$TAUT_RECORD_LIMIT\" > limit");
        taut(folder.path(), line);
        std::fs::read_to_string(folder.path().join("limit")).unwrap()
    };
    assert_eq!(limit("run --for 20ms --out out"), "limit=\n");
    assert_eq!(limit("run --forever --out out"), "limit=256MiB\n");
    assert_eq!(limit("run --for 20ms --record-limit 64MiB --out out"), "limit=64MiB\n");
}
