// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut replay`: its answers for recorded runs.
#![allow(clippy::unwrap_used, reason = "test code")]

use std::path::Path;
use std::process::Command;

use taut_event::{Kind, Record};
use taut_time::Instant;

struct Answer {
    code: Option<i32>,
    out: String,
    err: String,
}

fn taut(folder: &Path, line: &str) -> Answer {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    let output =
        command.args(line.split_whitespace()).current_dir(folder).env("NO_COLOR", "1").output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Answer { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

const MANIFEST: &str = r#"
manifest = 1
[app]
name = "buses"
[platform]
cores = [0, 1]
memory = "16MiB"
[resources.bus]
protocol = "mpcp"
[tasks.urgent]
arrival = { periodic = "20ms" }
deadline = "20ms"
wcet = { value = "1ms", source = "static" }
core = 0
priority = 80
[tasks.waits]
arrival = { periodic = "20ms" }
deadline = "20ms"
wcet = { value = "1ms", source = "static" }
core = 0
priority = 70
sections = [{ resource = "bus", longest = "50us" }]
[tasks.log]
class = "best-effort"
[tasks.holds]
arrival = { periodic = "20ms" }
deadline = "20ms"
wcet = { value = "2ms", source = "static" }
core = 1
priority = 50
sections = [{ resource = "bus", longest = "600us" }]
"#;

/// The tasks of the manifest, by position.
const URGENT: u16 = 0;
const WAITS: u16 = 1;
const HOLDS: u16 = 3;
const BEGIN: u64 = 1_000_000_000;

fn record(us: u64, kind: Kind, subject: u16, value: u64) -> Record {
    let at = Instant::from_ns(BEGIN + us * 1_000);
    Record { at, kind, cpu: u8::from(subject == HOLDS), subject, job: 0, value }
}

/// In the order in which a drain writes it: the records of core 0, then those of core 1. `waits` requests the bus
/// while `holds` holds it.
fn dispatched() -> Vec<Record> {
    vec![
        record(0, Kind::Begin, 0, 0),
        record(0, Kind::Release, URGENT, 20_000),
        record(0, Kind::Release, WAITS, 20_000),
        record(25, Kind::Start, URGENT, 0),
        record(900, Kind::Complete, URGENT, 800_000),
        record(901, Kind::Start, WAITS, 0),
        record(910, Kind::Suspend, WAITS, 0),
        record(1_300, Kind::Granted, WAITS, 0),
        record(1_302, Kind::Resume, WAITS, 0),
        record(1_303, Kind::Locked, WAITS, 0),
        record(1_350, Kind::Unlock, WAITS, 0),
        record(1_500, Kind::Complete, WAITS, 600_000),
        record(0, Kind::Release, HOLDS, 15_000),
        record(18, Kind::Start, HOLDS, 0),
        record(700, Kind::Locked, HOLDS, 0),
        record(1_290, Kind::Unlock, HOLDS, 0),
        record(1_400, Kind::Complete, HOLDS, 1_300_000),
        record(1_600, Kind::End, 0, 0),
    ]
}

fn recording(records: &[Record]) -> tempfile::TempDir {
    recorded(MANIFEST, records)
}

fn recorded(manifest: &str, records: &[Record]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("taut.toml"), manifest).unwrap();
    let planned = taut(folder.path(), "plan");
    assert_eq!(planned.code, Some(0), "{}{}", planned.out, planned.err);
    let plan = std::fs::read_to_string(folder.path().join("taut.lock")).unwrap();
    let bytes = taut_event::file::recording(&plan, "cpu = none", records).unwrap();
    std::fs::write(folder.path().join("run.taut"), bytes).unwrap();
    folder
}

fn json(folder: &tempfile::TempDir, code: i32) -> serde_json::Value {
    let answer = taut(folder.path(), "replay run.taut --format json");
    assert_eq!(answer.code, Some(code), "{}{}", answer.out, answer.err);
    let json: serde_json::Value = serde_json::from_str(&answer.out).unwrap();
    assert_eq!(json["schema_version"], 1);
    json
}

#[test]
fn equal() {
    let folder = recording(&dispatched());
    let answer = taut(folder.path(), "replay");
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    let expected = "\
buses: equal: 15 events on 2 cores
  core   events  jobs  decided to done
  cpu 0      10     2              5.0
  cpu 1       5     1              3.0
in µs: the longest delay from a simulated decision to its record
";
    assert_eq!(answer.out, expected);
    let json = json(&folder, 0);
    assert_eq!((&json["verdict"], &json["events"]), (&"equal".into(), &15.into()));
    assert_eq!(json["cores"][0]["decided_to_done_ns_max"], 5_000);
    assert_eq!(json["ended"], true);
    assert!(json["difference"].is_null());
}

#[test]
fn the_first_difference() {
    // `waits` locks what `holds` already holds.
    let mut records = dispatched();
    records[6].kind = Kind::Locked;
    let folder = recording(&records);
    let answer = taut(folder.path(), "replay run.taut");
    assert_eq!(answer.code, Some(1), "{}{}", answer.out, answer.err);
    let expected = "\
buses: DIFFERS on cpu 0, after 8 events on 2 cores
record 6: recorded `waits 0 holds bus`, simulated `waits 0 waits for bus`
          us  recorded                simulated
      20.000  urgent 0 is released    urgent 0 is released
      20.000  waits 0 is released     waits 0 is released
      25.000  urgent 0 starts         urgent 0 starts
     900.000  urgent 0 is complete    urgent 0 is complete
     901.000  waits 0 starts          waits 0 starts
  >  910.000  waits 0 holds bus       waits 0 waits for bus
    1300.000  waits 0 is granted bus
    1302.000  waits 0 resumes
    1303.000  waits 0 holds bus
  core 0: no job runs; ready: -; waiting: waits 0 for bus
  core 1: holds 0 runs; ready: -; waiting: -
  held: bus by holds 0
";
    assert!(answer.out.starts_with(expected), "{}", answer.out);
    let json = json(&folder, 1);
    let found = &json["difference"];
    assert_eq!((&json["verdict"], &found["record"]), (&"differs".into(), &6.into()));
    assert_eq!(found["recorded"]["what"], "waits 0 holds bus");
    assert_eq!(found["simulated"]["what"], "waits 0 waits for bus");
    assert_eq!(found["held"][0]["by"]["task"], "holds");
    // A job that should have been preempted.
    let mut records = dispatched();
    records.insert(8, record(1_301, Kind::Release, URGENT, 500));
    records[8].job = 1;
    records.insert(10, record(1_304, Kind::Preempt, WAITS, 0));
    let folder = recording(&records);
    let answer = taut(folder.path(), "replay run.taut");
    assert_eq!(answer.code, Some(1));
    assert!(
        answer.out.contains("recorded `urgent 1 is released`, simulated `waits 0 resumes`"),
        "{}",
        answer.out
    );
}

#[test]
fn not_all_can_be_compared() {
    let mut records = dispatched();
    records.insert(9, record(1_302, Kind::Lost, WAITS, 7));
    let folder = recording(&records);
    let answer = taut(folder.path(), "replay");
    assert_eq!(answer.code, Some(1), "{}{}", answer.out, answer.err);
    assert!(answer.out.starts_with("buses: equal as far as can be compared: "), "{}", answer.out);
    assert!(
        answer.out.contains("cpu 0: not compared from 1.302 ms on: 7 records were lost"),
        "{}",
        answer.out
    );
    assert!(answer.out.contains("cpu 1: not compared from 1.302 ms on: it shares resources with cpu 0"));
    assert_eq!(json(&folder, 1)["verdict"], "equal-until");
    // A run that was killed: decisions that were not recorded are reported.
    let mut records = dispatched();
    records.retain(|record| record.at.as_ns() < BEGIN + 1_302_000 && record.kind != Kind::End);
    let answer = taut(recording(&records).path(), "replay");
    assert_eq!(answer.code, Some(0));
    assert!(answer.out.contains("not recorded before the end: waits 0 resumes"), "{}", answer.out);
    assert!(answer.out.contains("the recording has no end"), "{}", answer.out);
    assert_eq!(json(&recording(&records), 0)["ended"], false);
}

/// The undamaged part is compared, but does not count as the whole.
#[test]
fn a_damaged_recording_is_not_equal() {
    let folder = recording(&dispatched());
    let path = folder.path().join("run.taut");
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 5]).unwrap();
    let answer = taut(folder.path(), "replay");
    assert_eq!(answer.code, Some(1), "{}{}", answer.out, answer.err);
    assert!(answer.out.contains("equal as far as can be compared: 15 events"), "{}", answer.out);
    assert!(answer.out.contains("the recording is cut at byte"), "{}", answer.out);
    let json = json(&folder, 1);
    assert_eq!((&json["verdict"], &json["whole"]), (&"equal-until".into(), &false.into()));
    // The only block with records.
    let mut damaged = whole.clone();
    let at = damaged.len() - 200;
    damaged[at] ^= 1;
    std::fs::write(&path, &damaged).unwrap();
    let answer = taut(folder.path(), "replay");
    assert_eq!(answer.code, Some(2));
    assert!(answer.err.contains("before its damaged part"), "{}", answer.err);
}

#[test]
fn nothing_to_compare() {
    let native = [
        record(0, Kind::Begin, 0, 0),
        record(0, Kind::Release, URGENT, 0),
        record(12, Kind::Start, URGENT, 0),
        record(900, Kind::Complete, URGENT, 800_000),
    ];
    // Without the locks, Linux can schedule this manifest itself.
    let free =
        MANIFEST.lines().filter(|line| !["[res", "prot", "sect"].contains(&&line[..line.len().min(4)]));
    let free = free.collect::<Vec<_>>().join("\n");
    let answer = taut(recorded(&free, &native).path(), "replay");
    assert_eq!((answer.code, answer.out.as_str()), (Some(2), ""));
    assert!(answer.err.contains("not recorded by a dispatcher: Linux scheduled"), "{}", answer.err);
    // It says why.
    assert!(answer.err.contains("no thread learns when Linux preempts or resumes it"), "{}", answer.err);
    // A use of a resource that the plan does not contain.
    let mut records = dispatched();
    records[6].subject = URGENT;
    let answer = taut(recording(&records).path(), "replay");
    assert_eq!(answer.code, Some(2));
    assert!(answer.err.contains("record 6: `urgent` uses resource `bus`, which the plan"), "{}", answer.err);
    let answer = taut(recording(&[]).path(), "replay elsewhere");
    assert_eq!(answer.code, Some(2));
    assert!(answer.err.contains("elsewhere does not exist"), "{}", answer.err);
    // A recording without decisions is not equal to anything.
    for records in [&[][..], &dispatched()[..1], &dispatched()[17..]] {
        let answer = taut(recording(records).path(), "replay");
        assert_eq!((answer.code, answer.out.as_str()), (Some(2), ""), "{}", answer.err);
        assert!(answer.err.contains("nothing to compare: "), "{}", answer.err);
    }
    // Files that are not recordings, or are incomplete.
    let folder = recording(&dispatched());
    let whole = std::fs::read(folder.path().join("run.taut")).unwrap();
    for (bytes, what) in
        [(&whole[..40], "inside its head; record it again"), (b"hello", "not a recorded run of taut")]
    {
        std::fs::write(folder.path().join("run.taut"), bytes).unwrap();
        let answer = taut(folder.path(), "replay run.taut");
        assert_eq!((answer.code, answer.out.as_str()), (Some(2), ""));
        assert!(answer.err.contains(what) && answer.err.contains("`taut run`"), "{}", answer.err);
    }
}
