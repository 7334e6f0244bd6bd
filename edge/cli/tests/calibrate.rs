// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut calibrate`: from recorded runs to an overlay, and from that to another proof.
#![allow(clippy::unwrap_used, reason = "test code")]

mod made;

use made::{Answer, CONTROL, MANIFEST, Script, US, folder, taut};
use taut_event::Ending;

/// The tables of an overlay, without its comments.
fn tables(overlay: &str) -> String {
    overlay
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .fold(String::new(), |text, line| text + line + "\n")
}

fn says(answer: &Answer, text: &str) {
    let all = format!("{}{}", answer.out, answer.err);
    assert!(all.contains(text), "{text}\n{all}");
}

fn json(answer: &Answer) -> serde_json::Value {
    serde_json::from_str(&answer.out).unwrap()
}

#[test]
fn an_overlay_replaces_the_guesses_of_a_proof() {
    let folder = folder();
    Script { longest: Some((700, 1_234_567)), ..Script::usual() }.record(folder.path(), "night/run.taut");
    let denied = taut(folder.path(), "check --deny guesses");
    says(&denied, "the execution time of task `control` is a guess");
    let answer = taut(folder.path(), "calibrate night -o board.toml");
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    let overlay = std::fs::read_to_string(folder.path().join("board.toml")).unwrap();
    assert_eq!(answer.out, overlay);
    let hash = taut_plan::digest(&std::fs::read(folder.path().join("night/run.taut")).unwrap());
    let of = |task: &str, value: &str, jobs: u64| {
        format!(
            "[tasks.{task}.wcet]\nvalue = \"{value}\"\nsource = \"measured\"\nmargin = \"20%\"\nevidence = [\n    \
             {{ file = \"night/run.taut\", hash = \"{hash}\", jobs = {jobs} }},\n]\n"
        )
    };
    assert_eq!(tables(&overlay), of("control", "1234.567us", 4_000) + &of("log", "400us", 1_000));
    says(&answer, "# 4000 jobs, the largest took 1.24 ms; the plan's 2.00 ms holds.\n");
    says(&answer, "# night/run.taut: 5000 jobs on Cortex-A72, kernel 6.6.31-rt.\n");
    // The proof rests on the recording, and says so.
    let check = taut(folder.path(), "check --overlay board.toml");
    assert_eq!(check.code, Some(0), "{}", check.err);
    says(&check, "rests on  execution times: 2 measured (in 1000 jobs or more, `log` in fewest)\n");
    says(&check, "recordings: night/run.taut\n");
    let basis = json(&taut(folder.path(), "check --overlay board.toml --format json"));
    let control = &basis["rests_on"]["execution_times"][0];
    assert_eq!((&control["task"], &control["time_ns"]), (&"control".into(), &1_481_481.into()), "rounded up");
    assert_eq!((&control["evidence"][0]["hash"], &control["jobs"]), (&hash.clone().into(), &4_000.into()));
    // The plan keeps it.
    assert_eq!(taut(folder.path(), "plan --overlay board.toml").code, Some(0));
    let lock = std::fs::read_to_string(folder.path().join("taut+board.lock")).unwrap();
    assert!(
        lock.contains(&format!(
            "wcet-evidence = [{{ file = \"night/run.taut\", hash = \"{hash}\", jobs = 4000 }}]"
        )),
        "{lock}"
    );
    assert_eq!(taut(folder.path(), "plan --check --overlay board.toml").code, Some(0));
}

#[test]
fn a_largest_time_beyond_the_deadline_is_refused() {
    let folder = folder();
    for (longest, code, said) in [
        (4_850 * US, 1, "error[TAUT020"),
        (5_001 * US, 2, "error[TAUT0213]"),
        (1_500 * US, 0, "every deadline is proven"),
    ] {
        Script { longest: Some((3, longest)), ..Script::usual() }.record(folder.path(), "run.taut");
        let answer = taut(folder.path(), "calibrate run.taut --margin 0 -o board.toml");
        assert_eq!(answer.code, Some(0), "{}", answer.err);
        let holds =
            if longest <= 2_000 * US { "the plan's 2.00 ms holds" } else { "exceeds the plan's 2.00 ms" };
        says(&answer, holds);
        let check = taut(folder.path(), "check --overlay board.toml");
        assert_eq!(check.code, Some(code), "{longest} {}", check.err);
        says(&check, said);
    }
}

#[test]
fn several_runs_are_one_measurement() {
    let folder = folder();
    Script { seed: 2, ..Script::usual() }.record(folder.path(), "one/run.taut");
    Script { seed: 3, longest: Some((9, 1_030_000)), ..Script::usual() }
        .record(folder.path(), "two/run.taut");
    let answer = taut(folder.path(), "calibrate one two --format json --margin 12.5%");
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    let found = json(&answer);
    assert_eq!((&found["schema_version"], &found["app"]), (&1.into(), &"arm".into()));
    assert_eq!((&found["margin_permille"], &found["runs"][1]["jobs"]), (&125.into(), &5_000.into()));
    let control = &found["tasks"][usize::from(CONTROL)];
    assert_eq!((&control["jobs"], &control["max_ns"]), (&8_000.into(), &1_030_000.into()));
    assert_eq!((&control["value_ns"], &control["holds"]), (&1_030_000.into(), &true.into()));
    assert_eq!(
        control["evidence"],
        serde_json::json!(["one/run.taut", "two/run.taut"]),
        "no job of either took longer"
    );
    assert_eq!(control["jobs_by_run"], serde_json::json!([4_000, 4_000]));
    for quantile in ["p50_ns", "p99_ns", "p999_ns"] {
        assert!((800_000..1_030_000).contains(&control[quantile].as_u64().unwrap()), "{control}");
    }
    let fit = &control["fit"];
    assert_eq!((&fit["blocks"], &fit["block_jobs"]), (&200.into(), &40.into()), "{control}");
    // Its distribution is known: 800 µs + 20 µs · ln(10^9).
    let known = 1_214_465;
    assert!(fit["low_ns"].as_u64().unwrap() < known && known < fit["high_ns"].as_u64().unwrap(), "{fit}");
    let log = &found["tasks"][1];
    assert_eq!((&log["fit"], &log["no_fit"][0]["why"]), (&serde_json::Value::Null, &"too-few-values".into()));
}

#[test]
fn a_fitted_bound_is_written_where_one_fits() {
    let folder = folder();
    Script { seed: 2, ..Script::usual() }.record(folder.path(), "one.taut");
    Script { seed: 3, ..Script::usual() }.record(folder.path(), "two.taut");
    let found = json(&taut(folder.path(), "calibrate one.taut two.taut --fit --format json"));
    let control = &found["tasks"][usize::from(CONTROL)];
    assert_eq!(control["value_ns"], control["fit"]["high_ns"]);
    assert!(control["value_ns"].as_u64() > control["max_ns"].as_u64(), "{control}");
    assert_eq!(control["evidence"], serde_json::json!(["one.taut", "two.taut"]));
    assert_eq!(found["tasks"][1]["value_ns"], 400_000, "the largest, where none fits");
    let often =
        json(&taut(folder.path(), "calibrate one.taut two.taut --fit --exceedance 1e-6 --format json"));
    let often = &often["tasks"][usize::from(CONTROL)];
    assert!(often["value_ns"].as_u64() < control["value_ns"].as_u64(), "{often}");
    let answer = taut(folder.path(), "calibrate one.taut two.taut --fit -o board.toml");
    says(&answer, "# The value is the upper end of the fit: a job takes more than ");
    says(&answer, "# No fit, too-few-values: the maxima of all blocks are the same.\n");
    says(&answer, "`log` has no fit, too-few-values");
    let check = taut(folder.path(), "check --overlay board.toml");
    assert_eq!(check.code, Some(0), "{}", check.err);
    says(&check, "recordings: one.taut, two.taut\n");
}

#[test]
fn what_qualifies_a_measurement_is_said() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let machine = "cpu = Cortex-A72\nkernel = 6.6.31-rt\npreemption = PREEMPT_RT\nlost-priorities = EPERM\n";
    Script { machine, ..Script::usual() }.record(folder.path(), "degraded.taut");
    let ending = Ending::Killed(11);
    Script { ending, machine: "cpu = EPYC\n", seed: 2, ..Script::usual() }
        .record(folder.path(), "killed.taut");
    Script { seed: 3, ..Script::usual() }.record(folder.path(), "cut.taut");
    let bytes = std::fs::read(path("cut.taut")).unwrap();
    std::fs::write(path("cut.taut"), &bytes[..bytes.len() / 2]).unwrap();
    let answer = taut(folder.path(), "calibrate degraded.taut killed.taut cut.taut -o board.toml");
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    for said in [
        "degraded.taut: ran without the guarantee of priorities, so the proof did not hold: EPERM",
        "killed.taut: the application was ended by SIGSEGV (signal 11)",
        "killed.taut: the machine differs: cpu is `EPYC` here, and `Cortex-A72` in degraded.taut",
        "cut.taut: the recording is cut at byte",
    ] {
        assert!(answer.out.contains(&format!("# {said}")), "{said}\n{}", answer.out);
        assert!(answer.err.contains(&format!("warning: {said}")), "{said}\n{}", answer.err);
    }
    // What was measured before the end counts.
    let found = json(&taut(folder.path(), "calibrate degraded.taut killed.taut cut.taut --format json"));
    let jobs = |run: usize| found["runs"][run]["jobs"].as_u64().unwrap();
    assert_eq!((jobs(0), jobs(1)), (5_000, 5_000));
    assert!((1_000..4_000).contains(&jobs(2)), "{}", jobs(2));
    assert_eq!(taut(folder.path(), "check --overlay board.toml").code, Some(0));
}

#[test]
fn what_cannot_be_calibrated_is_refused() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    Script::usual().record(folder.path(), "run.taut");
    Script { jobs: 0, ..Script::usual() }.record(folder.path(), "empty.taut");
    std::fs::write(path("text.taut"), "not a recording").unwrap();
    std::fs::copy(path("run.taut"), path("copy.taut")).unwrap();
    std::fs::create_dir(path("other")).unwrap();
    std::fs::write(path("other/taut.toml"), MANIFEST.replace("\"arm\"", "\"leg\"")).unwrap();
    assert_eq!(taut(&path("other"), "plan").code, Some(0));
    let plan = std::fs::read_to_string(path("other/taut.lock")).unwrap();
    Script::usual().record_of(&plan, folder.path(), "other/run.taut");
    for (line, code, said) in [
        ("calibrate", 2, "<RUN>..."),
        ("calibrate nowhere", 2, "error: nowhere does not exist"),
        ("calibrate taut.toml", 2, "taut.toml: not a recorded run of taut"),
        ("calibrate text.taut", 2, "text.taut: not a recorded run of taut"),
        ("calibrate /dev/null", 2, "/dev/null: no recorded run"),
        ("calibrate empty.taut", 2, "empty.taut: no job of a real-time task completed"),
        ("calibrate run.taut copy.taut", 2, "copy.taut: the same recording as run.taut"),
        ("calibrate run.taut other", 2, "other/run.taut: a run of `leg`, and the first one is of `arm`"),
        ("calibrate run.taut --margin -1", 2, "write 0 to 10000"),
        ("calibrate run.taut --margin 1.25", 2, "write 0 to 10000, as in 20 or 12.5"),
        ("calibrate run.taut --margin 10001", 2, "write 0 to 10000"),
        ("calibrate run.taut --exceedance 0", 2, "write 1e-15 to 0.01, as in 1e-9"),
        ("calibrate run.taut --exceedance -1", 2, "write 1e-15 to 0.01"),
        ("calibrate run.taut --exceedance 0.02", 2, "write 1e-15 to 0.01"),
        ("calibrate run.taut -o nowhere/board.toml", 3, "cannot write nowhere/board.toml"),
    ] {
        let answer = taut(folder.path(), line);
        assert_eq!(answer.code, Some(code), "{line}\n{}", answer.err);
        assert!(answer.err.contains(said), "{line}\n{}", answer.err);
        assert!(code == 3 || answer.out.is_empty(), "{line}\n{}", answer.out);
    }
    assert!(!path("board.toml").exists());
}
