// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut replay --code`, from a recorded run of a built application to the value at which a changed code differs.
#![allow(clippy::unwrap_used, reason = "test code")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

struct Answer {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Answer {
    fn of(command: &mut Command) -> Self {
        let Output { status, stdout, stderr } = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self { code: status.code(), out: text(stdout), err: text(stderr) }
    }

    fn yes(self) -> Self {
        assert_eq!(self.code, Some(0), "{}{}", self.out, self.err);
        self
    }
}

/// The applications that tests build share what is built of taut. The folder lies in that of another workspace, ours.
fn built() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("new")
}

fn folder() -> PathBuf {
    built().join("recorded")
}

fn taut(words: &[&str]) -> Answer {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    Answer::of(command.args(words).current_dir(folder()).env("NO_COLOR", "1"))
}

/// Replaces a text of a file of the application, which has it once.
fn edit(file: &str, old: &str, new: &str) {
    let path = folder().join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches(old).count(), 1, "{old}");
    std::fs::write(path, text.replace(old, new)).unwrap();
}

/// Builds the application, as the manifest's `exec` names it.
fn build() {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--offline", "--target-dir"]).arg(built().join("target")).current_dir(folder());
    Answer::of(cargo.env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_DEV_DEBUG", "0")).yes();
    std::fs::copy(built().join("target/debug/recorded"), folder().join("program")).unwrap();
}

fn run() {
    let mut program = Command::new(folder().join("program"));
    program
        .current_dir(folder())
        .env_remove("TAUT_LOCK")
        .env_remove("TAUT_RECORD_LIMIT")
        .env("TAUT_OUT", "out")
        .env("TAUT_FOR", "600ms")
        .env("TAUT_APPLICATIONS_DIR", folder().join("applications"))
        .env("TAUT_RUNTIME_DIR", built());
    Answer::of(&mut program).yes();
}

/// The application of a template whose channels are recorded.
fn make() {
    std::fs::create_dir_all(built()).unwrap();
    // What an earlier run of this test has left.
    let _ = std::fs::remove_dir_all(folder());
    let mut new = Command::new(env!("CARGO_BIN_EXE_taut"));
    Answer::of(new.args(["new", "recorded", "--template", "pipeline"]).current_dir(built())).yes();
    // The versions that are here: without a network Cargo might choose others.
    let versions = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    std::fs::copy(versions, folder().join("Cargo.lock")).unwrap();
    edit("taut.toml", "name = \"recorded\"\n", "name = \"recorded\"\nexec = \"program\"\n");
    edit("taut.toml", "to = \"filter\"\n", "to = \"filter\"\nrecord = true\n");
    edit("taut.toml", "to = \"logger\"\n", "to = \"logger\"\nrecord = true\n");
    taut(&["generate"]).yes();
    taut(&["plan"]).yes();
    build();
}

/// The rows of the table: task, jobs, values, equal.
fn rows(text: &str) -> Vec<Vec<&str>> {
    let rows = text.lines().filter(|line| line.starts_with("  ")).skip(1);
    rows.map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()).collect()
}

/// One test, because each part goes on with what the part before has built and recorded.
#[test]
fn an_off_by_one_is_found_at_its_first_value() {
    make();
    let refused = taut(&["replay", "--code", "out"]);
    assert_eq!(refused.code, Some(2), "nothing is recorded yet: {}", refused.err);
    let dry = taut(&["run", "--dry-run", "--out", "out"]).yes();
    assert!(dry.out.ends_with("  write out/run.taut\n  write out/values.mcap\n"), "{}", dry.out);
    run();

    let report = taut(&["report", "out"]);
    assert!(
        report.out.contains("values.mcap has ") && report.out.contains(" KiB, none lost"),
        "{}",
        report.out
    );
    let equal = taut(&["replay", "--code", "out"]).yes();
    let table = rows(&equal.out);
    let (sample, filter) = (&table[0], &table[1]);
    assert_eq!(
        (sample[0], sample[3], filter[0], filter[3]),
        ("sample", "all", "filter", "all"),
        "{}",
        equal.out
    );
    let jobs: u64 = sample[1].parse().unwrap();
    assert!(jobs >= 30 && sample[1] == sample[2] && filter[1] == filter[2], "{}", equal.out);
    let values = sample[2].parse::<u64>().unwrap() + filter[2].parse::<u64>().unwrap();
    assert!(
        equal.out.starts_with(&format!("recorded: equal: {values} values of 2 tasks\n")),
        "{}",
        equal.out
    );
    assert!(
        equal.out.ends_with("not replayed: `logger`: it is best-effort, and has no jobs\n"),
        "{}",
        equal.out
    );

    // One too many from job 20 on, so from value 21.
    edit(
        "src/main.rs",
        "let value = sensor(job.number());",
        "let number = job.number();\n        let value = sensor(number + u64::from(number >= 20));",
    );
    build();
    let differs = taut(&["replay", "--code", "out"]);
    assert_eq!(differs.code, Some(1), "{}{}", differs.out, differs.err);
    let mut lines = differs.out.lines();
    let first = lines.next().unwrap();
    assert!(
        first.starts_with("recorded: DIFFERS in task `sample`, job 20, released at 200.000 ms"),
        "{first}"
    );
    assert_eq!(lines.next(), Some("value 21 of `samples`: recorded 0, replayed 1"));
    let table = rows(&differs.out);
    // The filter got what it got in the recorded run.
    assert_eq!((table[0][3], table[1][3]), ("before job 20", "all"), "{}", differs.out);
    let json = taut(&["replay", "--code", "out", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((&json["verdict"], &json["first"]), (&"differs".into(), &"sample".into()));
    let difference = &json["tasks"][0]["difference"];
    let expected = serde_json::json!({
        "job": 20, "released_ns": 200_000_000, "channel": "samples", "value": 21, "field": "", "recorded": "0",
        "replayed": "1", "what": "value 21 of `samples`: recorded 0, replayed 1",
    });
    assert_eq!((difference, &json["tasks"][1]["difference"]), (&expected, &serde_json::Value::Null));
    assert_eq!(json["not_replayed"][0]["why"], "it is best-effort, and has no jobs");

    refusals();
}

/// Files that cannot be replayed are refused before anything is built or started.
fn refusals() {
    let path = folder().join("out/values.mcap");
    let whole = std::fs::read(&path).unwrap();
    std::fs::remove_file(folder().join("program")).unwrap();
    let why = || {
        let refused = taut(&["replay", "--code", "out"]);
        assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""), "{}", refused.err);
        refused.err
    };
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    assert!(why().contains("out/values.mcap: it is cut at byte "));
    std::fs::write(&path, b"hostile").unwrap();
    assert!(why().contains("out/values.mcap: it is not an MCAP file"));
    // Of another run: the number of the run stands in the metadata, behind its key.
    let at = whole.windows(7).position(|at| at == b"\x03\0\0\0run").unwrap() + 7 + 4;
    let mut other = whole.clone();
    other[at] = if other[at] == b'9' { b'8' } else { b'9' };
    std::fs::write(&path, &other).unwrap();
    assert!(why().contains("its values are of another run than the recording beside it"));
    std::fs::write(&path, &whole).unwrap();
    assert!(why().contains("exec: "), "with a whole file, the program is what is missing");
    edit(
        "taut.toml",
        "deadline = \"5ms\"\nwcet = { value = \"1ms\", source = \"guess\" }      #",
        "deadline = \"6ms\"\nwcet = { value = \"1ms\", source = \"guess\" }      #",
    );
    taut(&["plan"]).yes();
    assert!(why().contains("out/values.mcap: recorded under another plan than "));
    std::fs::remove_file(&path).unwrap();
    assert!(why().contains("out/values.mcap"), "no values at all");
}
