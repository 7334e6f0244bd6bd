// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut sim` and `taut refute`, and the traces that they write.
#![allow(clippy::unwrap_used, reason = "test code")]

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

struct Answer {
    code: Option<i32>,
    out: String,
    err: String,
}

fn command(folder: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    command.args(line.split_whitespace()).current_dir(folder).env("NO_COLOR", "1");
    command
}

fn answer(output: Output) -> Answer {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Answer { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

fn taut(folder: &Path, line: &str) -> Answer {
    answer(command(folder, line).output().unwrap())
}

/// A folder with the manifest of an example.
fn copy_of(example: &str) -> tempfile::TempDir {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(example).join("taut.toml");
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(from, folder.path().join("taut.toml")).unwrap();
    folder
}

/// The bytes of a trace, as text; its first field is a packet.
fn names(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap();
    assert_eq!(bytes.first(), Some(&0x0a));
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn sim_shows_the_nearest_run() {
    let folder = copy_of("apps/cochlear");
    let line = "sim --for 100ms --runs 3 --trace near.perfetto-trace";
    let human = taut(folder.path(), line);
    assert_eq!(human.code, Some(0), "{}{}", human.out, human.err);
    assert!(human.out.starts_with("cochlear: no deadline missed; 4 runs of 100ms"), "{}", human.out);
    assert!(human.out.contains("nearest: `output` with") && human.out.contains("trace: the whole run"));
    assert!(human.err.contains("wrote near.perfetto-trace: open it at https://ui.perfetto.dev"));
    let trace = folder.path().join("near.perfetto-trace");
    let seen = names(&trace);
    for name in
        ["processing: jobs", "processing: deadlines", "send audio", "output: longest simulated response"]
    {
        assert!(seen.contains(name), "{name}");
    }
    let before = std::fs::read(&trace).unwrap();
    let json = taut(folder.path(), &format!("{line} --format json --trace-for 20ms"));
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((&json["schema_version"], &json["interrupted"]), (&1.into(), &false.into()));
    assert_eq!(json["trace"]["path"], "near.perfetto-trace");
    let shown = json["trace"]["until_ns"].as_u64().unwrap() - json["trace"]["from_ns"].as_u64().unwrap();
    assert!(shown <= 20_000_000 && json["trace"]["left_out"][0].as_str().unwrap().contains("--trace-for"));
    assert!(std::fs::metadata(&trace).unwrap().len() < before.len() as u64 / 2, "a part of it");
    // Without `--trace` nothing is written, and the output says how to get a trace.
    std::fs::remove_file(&trace).unwrap();
    let human = taut(folder.path(), "sim --for 100ms --runs 3");
    assert!(human.out.contains("`--trace FILE` shows it"), "{}", human.out);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    // A task that is not proven has no bound, and the output says where to read why.
    let human = taut(copy_of("examples/suspension").path(), "sim --for 100ms --runs 1");
    assert!(
        human.out.contains("`taut check` says why") && human.out.contains("of its deadline"),
        "{}",
        human.out
    );
}

#[test]
fn refute_writes_what_refutes() {
    let folder = copy_of("examples/suspension");
    let line = "refute --analysis mpcp-lnr09-paper --for 60s";
    let human = taut(folder.path(), line);
    assert_eq!(human.code, Some(1), "{}{}", human.out, human.err);
    assert!(human.out.starts_with("suspension: REFUTED: job 0 of `victim` takes"), "{}", human.out);
    let path = "target/taut/refuted.perfetto-trace";
    assert!(human.err.contains(&format!("wrote ./{path}: open it at")), "{}", human.err);
    let seen = names(&folder.path().join(path));
    for name in ["victim: refuted claim", "bound 12ms", "exceeded by", "waits for bus", "holds bus"] {
        assert!(seen.contains(name), "{name}");
    }
    let json = taut(folder.path(), &format!("{line} --format json --trace other"));
    let found: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((json.code, &found["trace"]["path"]), (Some(1), &"other".into()));
    assert_eq!(found["trace"]["left_out"], serde_json::json!([]));
    assert_eq!(
        std::fs::read(folder.path().join("other")).unwrap(),
        std::fs::read(folder.path().join(path)).unwrap(),
        "a seed finds the same"
    );
    // If the user did not request a file and none can be written, the answer holds.
    std::fs::remove_dir_all(folder.path().join("target")).unwrap();
    std::fs::write(folder.path().join("target"), "").unwrap();
    let human = taut(folder.path(), line);
    assert_eq!(human.code, Some(1));
    assert!(
        human.err.contains("warning: cannot write") && human.err.contains("--trace FILE"),
        "{}",
        human.err
    );
}

#[test]
fn wrong_usage_is_reported() {
    let folder = copy_of("examples/suspension");
    let wrong = |line: &str, code, says: &str| {
        let answer = taut(folder.path(), line);
        assert_eq!(answer.code, Some(code), "{line}: {}{}", answer.out, answer.err);
        assert!(answer.err.contains(says), "{line}: {}", answer.err);
    };
    // An error comes before the time is spent.
    for command in ["sim", "refute --for 600s --analysis deadlines"] {
        wrong(&format!("{command} --trace nowhere/run"), 3, "cannot write nowhere/run");
        wrong(&format!("{command} --trace ."), 3, "cannot write .");
        wrong(&format!("{command} --trace"), 2, "--trace <FILE>");
        wrong(&format!("{command} --trace-for 5"), 2, "a duration needs a unit");
    }
    wrong("sim --for 0s", 2, "the run needs a duration above 0");
    wrong("refute --for 0s", 2, "the search needs a duration above 0");
    wrong("refute --analysis mpcp", 2, "mpcp-lnr09-paper");
    wrong("refute", 2, "the plan claims no bound here, so there is nothing to refute: `taut check` says why");
    wrong("sim elsewhere", 2, "elsewhere does not exist");
    wrong("sim --runs many", 2, "--runs");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "and nothing is left behind");
}

/// Ctrl-C ends a hunt, and its results so far are reported.
#[test]
fn ctrl_c_keeps_what_was_reached() {
    let folder = copy_of("examples/suspension");
    let lines = ["refute --for 60s --analysis mpcp-lnr09-sound", "sim --runs 1000000 --for 100ms"];
    for line in lines {
        let interrupted = |after| {
            let mut command = command(folder.path(), line);
            let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(after));
            let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
            assert!(kill.success());
            answer(child.wait_with_output().unwrap())
        };
        // On a busy machine the command may not handle signals yet; then the signal itself kills it.
        let answers = [500, 5_000, 20_000].into_iter().map(interrupted);
        let answer = answers.into_iter().find(|answer| answer.code.is_some()).unwrap();
        assert_eq!(answer.code, Some(130), "{line}: {}{}", answer.out, answer.err);
        assert!(answer.out.contains("interrupted") && answer.out.contains("victim"), "{}", answer.out);
    }
}
