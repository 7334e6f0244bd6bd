// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut sweep`: the same rows from one run, from parts, and from an interrupted run; and faulty input.
#![allow(clippy::unwrap_used, reason = "test code")]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const SMALL: &str = include_str!("small.toml");

fn command(folder: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    command.arg("sweep").args(line.split_whitespace()).current_dir(folder).env("NO_COLOR", "1");
    command
}

/// As [`command`], with a limit of 512 bytes per file.
fn limited(folder: &Path, line: &str) -> Command {
    let mut command = Command::new("prlimit");
    command.args(["--fsize=512", "env", "--ignore-signal=XFSZ", env!("CARGO_BIN_EXE_taut"), "sweep"]);
    command.args(line.split_whitespace()).current_dir(folder).env("NO_COLOR", "1");
    command
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn sweep(folder: &Path, line: &str) -> Output {
    command(folder, line).output().unwrap()
}

/// The output of a command that succeeds.
fn done(folder: &Path, line: &str) -> String {
    let output = sweep(folder, line);
    assert_eq!(output.status.code(), Some(0), "{line}: {}", text(&output.stderr));
    text(&output.stdout).to_owned()
}

/// Checks that a command ends with this exit code, and prints this text on stderr.
fn refused(folder: &Path, line: &str, code: i32, says: &str) {
    let output = sweep(folder, line);
    let reported = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{line}: {reported}");
    assert!(reported.contains(says), "{line}: {reported}");
    assert_eq!(text(&output.stdout), "", "{line}");
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("small.toml"), SMALL).unwrap();
    folder
}

fn bytes(folder: &Path, name: &str) -> Vec<u8> {
    fs::read(folder.join(name)).unwrap()
}

#[test]
fn parts_are_the_whole() {
    let folder = folder();
    let at = folder.path();
    let whole = done(at, "small.toml -o whole.parquet --jobs 1");
    done(at, "small.toml -o whole.csv --jobs 3");
    done(at, "small.toml -o whole.jsonl");
    for part in 1..=3 {
        for end in ["parquet", "csv", "jsonl"] {
            done(at, &format!("small.toml -o {part}.{end} --shard {part}/3 --jobs {part}"));
        }
    }
    let merged = done(at, "small.toml --merge 2.parquet 3.parquet 1.parquet --out merged.parquet");
    assert_eq!(merged.replace("merged", "whole"), whole);
    assert!(bytes(at, "merged.parquet") == bytes(at, "whole.parquet"));
    let lines = |name: &str, skip: usize| -> Vec<String> {
        text(&bytes(at, name)).lines().skip(skip).map(str::to_owned).collect()
    };
    let joined: Vec<String> = (1..=3).flat_map(|part| lines(&format!("{part}.csv"), 1)).collect();
    assert_eq!(joined, lines("whole.csv", 1));
    let joined: Vec<String> = (1..=3).flat_map(|part| lines(&format!("{part}.jsonl"), 0)).collect();
    assert_eq!(joined, lines("whole.jsonl", 0));
    // The rows are the same in every format.
    done(at, "small.toml --merge whole.parquet --out again.csv");
    assert!(bytes(at, "again.csv") == bytes(at, "whole.csv"));
    let head = lines("whole.csv", 0)[0].clone();
    for (csv, json) in lines("whole.csv", 1).iter().zip(lines("whole.jsonl", 0)) {
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let cells: Vec<String> = head
            .split(',')
            .map(|column| match &json[column] {
                serde_json::Value::Null => String::new(),
                serde_json::Value::String(text) if text.contains(',') => format!("\"{text}\""),
                serde_json::Value::String(text) => text.clone(),
                other => other.to_string(),
            })
            .collect();
        assert_eq!(cells.join(","), *csv);
    }
    // A part may be empty.
    done(at, "small.toml -o none.parquet --shard 1/1000");
    done(at, "small.toml --merge 1.parquet none.parquet 2.parquet 3.parquet --out merged.parquet --force");
    assert!(bytes(at, "merged.parquet") == bytes(at, "whole.parquet"));
}

#[test]
fn merge_needs_every_row_exactly_once() {
    let folder = folder();
    let at = folder.path();
    fs::write(at.join("other.toml"), SMALL.replace("per-point = 10", "per-point = 11")).unwrap();
    for part in 1..=3 {
        done(at, &format!("small.toml -o {part}.parquet --shard {part}/3"));
    }
    done(at, "small.toml -o seed.parquet --shard 3/3 --seed 2");
    done(at, "other.toml -o other.parquet --shard 3/3");
    done(at, "small.toml -o 3.csv --shard 3/3");
    fs::write(at.join("text.parquet"), "rows, but not as Parquet has them").unwrap();
    let cases = [
        ("1.parquet 3.parquet", 2, "rows 20 to 39 are in none of the files"),
        ("1.parquet 2.parquet", 2, "rows 40 to 59 are in none of the files"),
        ("1.parquet 2.parquet 2.parquet 3.parquet", 2, "2.parquet: row 20 is a duplicate"),
        ("1.parquet 2.parquet seed.parquet", 2, "seed.parquet is not from this seed"),
        ("1.parquet 2.parquet other.parquet", 2, "other.parquet is not from this generator file"),
        ("1.parquet 2.parquet 3.csv", 2, "3.csv is not Parquet"),
        ("1.parquet 2.parquet text.parquet", 2, "text.parquet cannot be read as Parquet"),
        ("1.parquet 2.parquet 4.parquet", 2, "cannot read 4.parquet"),
    ];
    for (files, code, says) in cases {
        refused(at, &format!("small.toml --out whole.parquet --merge {files}"), code, says);
    }
    assert!(!at.join("whole.parquet").exists());
}

/// A sweep long enough to be interrupted.
fn long() -> String {
    SMALL.replace("per-point = 10", "per-point = 200").replace("best = 1000\n", "")
}

#[test]
fn an_interrupted_run_goes_on_to_the_same_bytes() {
    let folder = folder();
    let at = folder.path();
    fs::write(at.join("long.toml"), long()).unwrap();
    done(at, "long.toml -o whole.parquet");
    let part = at.join("rows.parquet.part");
    let rows = || fs::read_to_string(&part).map_or(0, |text| text.matches("\n[").count());
    // If a fast machine finishes before the signal arrives, the test tries again.
    let interrupted = (0..20).any(|_| {
        let _ = fs::remove_file(at.join("rows.parquet"));
        let child = command(at, "long.toml -o rows.parquet --jobs 1")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        while rows() == 0 && part.exists() | (begun.elapsed() < Duration::from_secs(10)) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        let output = child.wait_with_output().unwrap();
        if output.status.code() == Some(0) {
            return false;
        }
        assert_eq!((output.status.code(), kill.success()), (Some(130), true), "{}", text(&output.stderr));
        let reported = text(&output.stderr);
        assert!(
            reported.contains("of 1200 rows are kept in rows.parquet.part; `--resume` continues"),
            "{reported}"
        );
        true
    });
    assert!(interrupted && rows() > 0 && !at.join("rows.parquet").exists());
    let long = "long.toml -o rows.parquet";
    refused(at, long, 2, "`--resume` continues it, `--force` starts over");
    refused(at, "small.toml -o rows.parquet --resume", 2, "was made from another generator file");
    refused(at, &format!("{long} --resume --seed 2"), 2, "was made with another seed");
    refused(at, &format!("{long} --resume --shard 1/2"), 2, "was made for another part");
    // As if the process was killed in the middle of a line.
    let mut file = fs::OpenOptions::new().append(true).open(&part).unwrap();
    file.write_all(b"[17,\"few\",4").unwrap();
    drop(file);
    done(at, &format!("{long} --resume"));
    assert!(bytes(at, "rows.parquet") == bytes(at, "whole.parquet"));
    assert!(!part.exists(), "nothing is left behind");
}

/// Whatever is in the place of a temporary file is removed; nothing is written through it.
#[test]
fn rows_are_written_through_nothing() {
    let folder = folder();
    let at = folder.path();
    fs::write(at.join("target"), "precious").unwrap();
    for name in ["rows.csv", "rows.jsonl", "rows.parquet"] {
        std::os::unix::fs::symlink(at.join("target"), at.join(format!("{name}.new"))).unwrap();
        done(at, &format!("small.toml -o {name}"));
        assert!(bytes(at, "target") == b"precious", "{name}");
        assert!(fs::symlink_metadata(at.join(name)).unwrap().is_file(), "{name}");
    }
}

#[test]
fn rows_that_were_touched_are_not_gone_on_with() {
    let folder = folder();
    let at = folder.path();
    // All rows are there, and the last step fails: no row is lost.
    fs::create_dir(at.join("rows.csv.new")).unwrap();
    let output = sweep(at, "small.toml -o rows.csv");
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    fs::remove_dir(at.join("rows.csv.new")).unwrap();
    let full = |line: &str, name: &str| {
        let output = limited(at, line).output().unwrap();
        let reported = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{line}: {reported}");
        assert!(reported.contains(&format!("cannot write {name}: File too large")), "{line}: {reported}");
        assert!(!at.join(name).exists(), "a part of a file is of no use");
    };
    full("small.toml -o rows.csv --resume", "rows.csv.new");
    fs::create_dir(at.join("rows.parquet.new")).unwrap();
    refused(at, "small.toml -o rows.parquet", 3, "cannot write rows.parquet.new");
    fs::remove_dir(at.join("rows.parquet.new")).unwrap();
    full("small.toml -o rows.parquet --resume", "rows.parquet.new");
    assert!(at.join("rows.parquet.part").exists() && !at.join("rows.parquet").exists());
    let part = at.join("rows.csv.part");
    let good = fs::read_to_string(&part).unwrap();
    assert_eq!(good.lines().count(), 61);
    for (damage, line) in [(good.replacen("[7,", "[8,", 1), 9), (good.replacen("\"few\"", "\"far\"", 1), 2)] {
        fs::write(&part, damage).unwrap();
        refused(at, "small.toml -o rows.csv --resume", 2, &format!("line {line} is not a row of this sweep"));
    }
    fs::write(&part, good).unwrap();
    let locked = fs::File::open(&part).unwrap();
    locked.lock().unwrap();
    refused(at, "small.toml -o rows.csv --resume", 2, "another run is writing it");
    drop(locked);
    done(at, "small.toml -o rows.csv --resume");
    done(at, "small.toml -o whole.csv");
    assert!(bytes(at, "rows.csv") == bytes(at, "whole.csv"));
    refused(at, "small.toml -o rows.csv --resume", 2, "rows.csv exists; `--force` replaces it");
    done(at, "small.toml -o rows.csv --force");
}

#[test]
fn wrong_input_is_reported_and_leaves_nothing() {
    let folder = folder();
    let at = folder.path();
    let cases = [
        ("", 2, "<GENERATOR>"),
        ("nowhere.toml", 2, "nowhere.toml does not exist"),
        (".", 2, ". is a folder, not a file"),
        ("small.toml --shard 3/2", 2, "there are 2 parts"),
        ("small.toml --shard 0/2", 2, "parts are counted from 1"),
        ("small.toml --shard half", 2, "as in 1/2"),
        ("small.toml --jobs 0", 2, "--jobs"),
        ("small.toml --seed many", 2, "--seed"),
        ("small.toml --out rows", 2, "must end in .parquet, .csv or .jsonl"),
        ("small.toml --out nowhere/rows.csv", 3, "cannot write nowhere/rows.csv.part"),
        ("small.toml --merge a.parquet", 2, "--out"),
    ];
    for (line, code, says) in cases {
        refused(at, line, code, says);
    }
    assert_eq!(fs::read_dir(at).unwrap().count(), 1);
    fs::write(at.join("bytes.toml"), [0xff]).unwrap();
    refused(at, "bytes.toml", 2, "bytes.toml is not UTF-8 text: byte 0");
    fs::create_dir(at.join("rows.csv")).unwrap();
    refused(at, "small.toml -o rows.csv --force", 2, "rows.csv is a folder");
    // A full disk.
    std::os::unix::fs::symlink("/dev/full", at.join("full.csv.part")).unwrap();
    refused(at, "small.toml -o full.csv --force", 3, "cannot write full.csv.part: No space left");
    fs::write(at.join("few.toml"), SMALL.to_owned() + "[objects]\ncount = 9\n").unwrap();
    refused(at, "few.toml", 2, "none of 1000 systems has 9 objects; lower objects.count");
    fs::write(at.join("bad.toml"), SMALL.replace("cores = 2", "core = 2").replace("\"5ms\"", "5")).unwrap();
    let output = sweep(at, "bad.toml");
    assert_eq!(output.status.code(), Some(2));
    let expected = "\
error[TAUT0102]: `tasks` has no key `core`
 --> bad.toml:7:1
  |
7 | core = 2
  | ^^^^ unknown
  |
  = help: did you mean `cores`?

error[TAUT0104]: `periods` must be a duration in quotes, as in \"5ms\", not a number
 --> bad.toml:9:12
  |
9 | periods = [5, \"10ms\", \"20ms\"]
  |            ^ not a duration in quotes, as in \"5ms\"

2 errors
";
    assert_eq!(text(&output.stderr), expected);
}

#[test]
fn the_table_says_what_the_rows_say() {
    let folder = folder();
    let at = folder.path();
    let human = done(at, "small.toml -o rows.csv");
    let json: serde_json::Value = serde_json::from_str(&done(at, "small.toml --format json")).unwrap();
    assert_eq!((&json["schema_version"], &json["rows"]["made"]), (&1.into(), &60.into()));
    assert_eq!(json["equations"], "sound");
    let csv = fs::read_to_string(at.join("rows.csv")).unwrap();
    for (load, point) in [400, 600, 800].iter().zip(json["points"].as_array().unwrap()) {
        let rows = csv.lines().filter(|line| line.split(',').skip(1).take(2).eq(["few", &load.to_string()]));
        let msrp: Vec<u64> = rows.filter_map(|line| line.split(',').nth(8)?.parse().ok()).collect();
        assert_eq!(point["methods"]["msrp"]["schedulable"], msrp.len());
        let mean = msrp.iter().sum::<u64>().div_ceil(msrp.len() as u64);
        assert_eq!(point["methods"]["msrp"]["bytes_mean"], mean);
        let share = msrp.len() * 10;
        let line = format!("few            {}.0 %    10  {share:>3}.0 %  {mean:>5}", load / 10);
        assert!(human.contains(&line), "{line}\n{human}");
    }
    assert!(human.starts_with("60 rows, seed 1, in rows.csv\n"), "{human}");
    fs::write(at.join("printed.toml"), format!("equations = \"printed\"\n{SMALL}")).unwrap();
    let human = done(at, "printed.toml --shard 2/3 --seed 5");
    assert!(human.starts_with("20 rows (a part of 60), seed 5\n"), "{human}");
    assert!(human.ends_with("By the published equations, which are unsound and prove nothing.\n"), "{human}");
}
