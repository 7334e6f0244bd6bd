// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The `taut` command as a person types it.
#![allow(clippy::unwrap_used, reason = "test code")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

struct Answer {
    code: Option<i32>,
    out: String,
    err: String,
}

fn taut(folder: &Path, line: &str) -> Answer {
    let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_taut"))
        .args(line.split_whitespace())
        .current_dir(folder)
        .env("TAUT_APPLICATIONS_DIR", concat!(env!("CARGO_TARGET_TMPDIR"), "/applications"))
        .env("NO_COLOR", "1")
        .env_remove("CLICOLOR_FORCE")
        .env("COLUMNS", "100")
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Answer { code: status.code(), out: text(stdout), err: text(stderr) }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A folder with a manifest.
fn folder(manifest: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("taut.toml"), manifest).unwrap();
    folder
}

const HEAD: &str = "manifest = 1\n[app]\nname = \"two\"\n[platform]\ncores = [0]\nmemory = \"16MiB\"\n";

fn two_tasks(wcet: &str) -> String {
    format!(
        "{HEAD}[tasks.fast]\narrival = {{ periodic = \"5ms\" }}\ndeadline = \"5ms\"\n\
         wcet = {{ value = \"2ms\", source = \"measured\", margin = \"10%\" }}\ncore = 0\npriority = 20\n\
         [tasks.slow]\narrival = {{ periodic = \"20ms\" }}\ndeadline = \"15ms\"\n\
         wcet = {{ value = \"{wcet}\", source = \"measured\", margin = \"10%\" }}\ncore = 0\npriority = 10\n"
    )
}

#[test]
fn check_says_what_the_proof_rests_on() {
    let measured = folder(&two_tasks("2ms"));
    let answer = taut(measured.path(), "check");
    let says = |answer: &Answer, text: &str| assert!(answer.out.contains(text), "{text}\n{}", answer.out);
    says(&answer, "rests on  execution times: 2 measured");
    says(&answer, "costs of the machine: release, context-switch, kernel-blocking default");
    says(&answer, "the machine: no other real-time thread, interrupt or hypervisor takes more of core 0");

    let text = two_tasks("2ms").replacen("\"measured\"", "\"guess\"", 1);
    let guessed = folder(&text);
    says(
        &taut(guessed.path(), "check"),
        "execution times: 1 measured (in how many jobs is not stated), 1 guess (fast)",
    );
    let json = taut(guessed.path(), "check --format json");
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    let basis = &json["rests_on"];
    assert_eq!(basis["execution_times"][0]["source"], "guess");
    assert_eq!(basis["overheads"][0]["source"], "default");
    assert_eq!(basis["guesses"], 4);

    // The answer is no, with the guilty lines.
    let denied = taut(guessed.path(), "check --deny guesses");
    assert_eq!(denied.code, Some(1), "{}", denied.err);
    assert!(
        denied.err.contains("error[TAUT0224]: the execution time of task `fast` is a guess"),
        "{}",
        denied.err
    );
    assert!(denied.err.contains("taut.toml:10:34"), "{}", denied.err);
    let defaults =
        "the manifest does not state costs of the machine: `release`, `context-switch`, `kernel-blocking`";
    assert!(denied.err.contains(defaults), "{}", denied.err);
    // Defaults alone, and nothing is written or run.
    for (command, said) in [
        ("check --deny defaults", "denied: the proof rests on defaults, which no machine has"),
        ("plan --deny defaults", "so ./taut.lock is not written"),
        ("run --deny defaults", "so two is not run"),
        ("plan --deny guesses", "denied: the proof rests on guesses, so"),
        ("run --deny defaults --deny guesses", "denied: the proof rests on guesses, so"),
    ] {
        let denied = taut(guessed.path(), command);
        assert_eq!(denied.code, Some(1), "{command} {}", denied.err);
        assert!(denied.err.contains(said) && denied.err.contains(defaults), "{command} {}", denied.err);
        let guess = denied.err.contains("the execution time of task `fast` is a guess");
        assert_eq!(guess, command.contains("guesses"), "{command} {}", denied.err);
        assert!(!guessed.path().join("taut.lock").exists(), "{command}");
    }
    let planned = taut(guessed.path(), "plan");
    says(&planned, "  it rests on 4 guesses, which `taut check` names\n");

    // Everything that matters is stated. Tasks that lock nothing need no cost of a lock.
    let overheads =
        "[platform.overheads]\nrelease = \"50us\"\ncontext-switch = \"5us\"\nkernel-blocking = \"50us\"\n";
    let stated = two_tasks("2ms") + overheads;
    let unsaid = taut(folder(&stated).path(), "check --deny guesses");
    assert_eq!(unsaid.code, Some(1), "{}", unsaid.err);
    assert!(unsaid.err.contains("costs of the machine are guesses"), "{}", unsaid.err);
    let stands = taut(folder(&stated).path(), "check --deny defaults");
    assert_eq!(stands.code, Some(0), "a stated cost is no default: {}", stands.err);
    let measured_all = stated + "source = \"measured\"\n";
    let answer = taut(folder(&measured_all).path(), "check --deny guesses");
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    says(&answer, "costs of the machine: release, context-switch, kernel-blocking measured");
    let planned = taut(folder(&measured_all).path(), "plan --deny guesses --deny defaults");
    assert_eq!(
        (planned.code, planned.out.contains("guess")),
        (Some(0), false),
        "{}{}",
        planned.out,
        planned.err
    );
}

#[test]
fn the_manifest_in_the_readme_is_proven() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let (_, rest) = readme.split_once("```toml\n").unwrap();
    let (manifest, _) = rest.split_once("```").unwrap();
    let answer = taut(folder(manifest).path(), "check");
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    assert_eq!(answer.err, "");
    assert!(answer.out.contains("every deadline is proven"), "{}", answer.out);
}

#[test]
fn an_unreadable_manifest_differs_from_a_missing_one() {
    let empty = tempfile::tempdir().unwrap();
    let says = |line: &str, code: i32, text: &str| {
        let answer = taut(empty.path(), line);
        assert_eq!(answer.code, Some(code), "{line}: {}", answer.err);
        assert!(answer.err.contains(text), "{line}: {}", answer.err);
    };
    says("check", 2, "error: . has no taut.toml: ");
    says("check", 2, "make one with `taut new`");
    says("check nowhere", 2, "nowhere does not exist");
    says("check /dev/zero", 2, "/dev/zero is a device, a pipe or a socket, not a file");
    std::fs::write(empty.path().join("file"), "").unwrap();
    says("check file/taut.toml", 2, "a component of the path is a file, not a folder");
    std::fs::create_dir(empty.path().join("taut.toml")).unwrap();
    says("check", 2, "taut.toml is a folder, not a file");
    let name = "n".repeat(300);
    says(&format!("check {name}"), 3, "File name too long");
    // A pipe without a writer: opening it would wait forever.
    let made = Command::new("mkfifo").arg("pipe").current_dir(empty.path()).status().unwrap();
    assert!(made.success());
    says("sweep pipe", 2, "pipe is a device, a pipe or a socket, not a file");
    for verb in ["report", "calibrate", "replay"] {
        says(&format!("{verb} pipe"), 2, "pipe: no recorded run");
        says(&format!("{verb} /dev/zero"), 2, "/dev/zero: no recorded run");
        says(&format!("{verb} nowhere"), 2, "nowhere does not exist");
        says(&format!("{verb} ."), 2, "no recorded run");
    }
}

#[test]
fn a_pipe_in_place_of_a_file_blocks_no_command() {
    let manifest = folder(&two_tasks("2ms"));
    let made = Command::new("mkfifo").args(["taut.lock", "over.toml"]).current_dir(manifest.path()).status();
    assert!(made.unwrap().success());
    assert_eq!(taut(manifest.path(), "check").code, Some(0));
    for overlay in ["over.toml", "/dev/zero"] {
        let answer = taut(manifest.path(), &format!("check --overlay {overlay}"));
        assert_eq!(answer.code, Some(2), "{}", answer.err);
        assert!(answer.err.contains("is a device, a pipe or a socket, not a file"), "{}", answer.err);
    }
    // The file replaces what was there; it is not written through it.
    assert_eq!(taut(manifest.path(), "plan").code, Some(0));
    assert!(manifest.path().join("taut.lock").is_file());
}

#[test]
fn a_manifest_where_a_code_is_wanted_is_seen() {
    let manifest = folder(&two_tasks("2ms"));
    let answer = taut(manifest.path(), "explain --task fast taut.toml");
    assert_eq!(answer.code, Some(2));
    assert!(answer.err.contains("to name a manifest, use --manifest taut.toml"), "{}", answer.err);
    let answer = taut(manifest.path(), "explain nowhere");
    assert!(!answer.err.contains("--manifest"), "{}", answer.err);
}

/// Every command, on a folder that this user may not read.
#[test]
fn an_inaccessible_path_differs_from_a_missing_one() {
    use std::os::unix::fs::PermissionsExt as _;
    let open = tempfile::tempdir().unwrap();
    std::fs::set_permissions(open.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = open.path().join("taut");
    std::fs::copy(env!("CARGO_BIN_EXE_taut"), &program).unwrap();
    let locked = open.path().join("locked");
    std::fs::create_dir(&locked).unwrap();
    std::fs::write(locked.join("taut.toml"), two_tasks("2ms")).unwrap();
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o000)).unwrap();
    // Root may read everything, and can run as another user.
    let is_root = std::fs::read_dir(&locked).is_ok();
    let command = |words: &[&str]| {
        let mut command = Command::new(if is_root { Path::new("setpriv") } else { &program });
        if is_root {
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program);
        }
        command.args(words).current_dir(open.path()).output()
    };
    if !command(&["--version"]).is_ok_and(|output| output.status.success()) {
        println!("skipped: no user without access to the folder: root cannot become another user here");
        return;
    }
    for words in [
        &["check"][..],
        &["plan"],
        &["run"],
        &["doctor"],
        &["sim"],
        &["refute"],
        &["report"],
        &["calibrate"],
        &["replay"],
        &["export", "--to", "mast"],
        &["explain", "--task", "fast", "--manifest"],
        &["import"],
        &["sweep"],
    ] {
        let file = matches!(words[0], "import" | "sweep");
        let path = if file { "locked/taut.toml" } else { "locked" };
        let output = command(&[words, &[path]].concat()).unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{words:?}: {err}");
        assert!(err.to_lowercase().contains("permission denied"), "{words:?}: {err}");
    }
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn check_says_yes_no_and_faulty() {
    let good = folder(&two_tasks("2ms"));
    let answer = taut(good.path(), "check");
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    assert!(answer.out.contains("every deadline is proven"));

    let answer = taut(folder(HEAD).path(), "check");
    assert!(answer.code == Some(0) && answer.out.contains("nothing to prove"), "{}", answer.out);

    let bad = folder(&two_tasks("9ms"));
    let answer = taut(bad.path(), "check");
    assert_eq!(answer.code, Some(1));
    assert!(answer.err.contains("error[TAUT0201]"), "{}", answer.err);
    assert!(answer.err.contains("fast"), "the interfering task is shown: {}", answer.err);

    let overloaded = folder(&two_tasks("12ms"));
    let answer = taut(overloaded.path(), "check");
    assert_eq!(answer.code, Some(1));
    assert!(answer.err.contains("error[TAUT0202]"), "{}", answer.err);

    let faulty = folder(&two_tasks("2 minutes").replace("deadline", "dedline"));
    let answer = taut(faulty.path(), "check");
    assert_eq!(answer.code, Some(2));
    assert!(answer.err.contains("deadline"), "the nearest key is suggested: {}", answer.err);

    let answer = taut(good.path(), "check nowhere");
    assert_eq!(answer.code, Some(2));
    assert!(answer.err.contains("nowhere does not exist"));
}

#[test]
fn check_answers_programs_too() {
    let bad = folder(&two_tasks("9ms"));
    let answer = taut(bad.path(), "check --format json");
    assert_eq!(answer.code, Some(1));
    let json: serde_json::Value = serde_json::from_str(&answer.out).unwrap();
    assert_eq!(json["schema_version"], 1);
    assert_eq!(json["proven"], false);
    assert!(answer.out.contains("TAUT0201"));
}

/// The fix suggested for an unschedulable manifest is sufficient.
#[test]
fn the_suggested_wcet_makes_it_pass() {
    let bad = folder(&two_tasks("9ms"));
    let manifest = bad.path().join("taut.toml");
    for command in ["check", "plan", "run"] {
        let answer = taut(bad.path(), command);
        assert_eq!(answer.code, Some(1), "{command}: {}", answer.err);
    }
    assert!(!bad.path().join("taut.lock").exists());
    let err = taut(bad.path(), "check").err;
    let help = err.lines().find(|line| line.contains("help:")).unwrap();
    // The first quantity in the help is the value to write.
    let words = help.split(|c: char| !c.is_ascii_alphanumeric() && c != '.');
    let value = words.into_iter().find(|word| word.parse::<taut_time::Duration>().is_ok()).unwrap();
    std::fs::write(&manifest, two_tasks(value)).unwrap();
    let answer = taut(bad.path(), "check");
    assert_eq!(answer.code, Some(0), "{value}: {}", answer.err);
}

#[test]
fn plan_writes_a_lock_and_knows_when_it_is_old() {
    let folder = folder(&two_tasks("2ms"));
    assert_eq!(taut(folder.path(), "plan --check").code, Some(1));
    assert_eq!(taut(folder.path(), "plan").code, Some(0));
    let lock = std::fs::read_to_string(folder.path().join("taut.lock")).unwrap();
    assert_eq!(taut(folder.path(), "plan --check").code, Some(0));
    assert_eq!(taut(folder.path(), "plan").code, Some(0));
    assert_eq!(std::fs::read_to_string(folder.path().join("taut.lock")).unwrap(), lock);
    std::fs::write(folder.path().join("taut.toml"), two_tasks("3ms")).unwrap();
    let answer = taut(folder.path(), "plan --check");
    assert_eq!(answer.code, Some(1));
    assert!(answer.err.contains("TAUT0601") && answer.err.contains("slow"), "{}", answer.err);
}

#[test]
fn explain_and_schema() {
    let folder = folder(&two_tasks("2ms"));
    let answer = taut(folder.path(), "explain TAUT0201");
    assert_eq!(answer.code, Some(0));
    assert!(answer.out.contains("deadline"));
    assert_eq!(taut(folder.path(), "explain TAUT9999").code, Some(2));
    let answer = taut(folder.path(), "explain --task slow");
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    assert!(answer.out.contains("fast"), "{}", answer.out);
    for what in ["response time, offsets", "room, each alone", "wcet      up to "] {
        assert!(answer.out.contains(what), "{}", answer.out);
    }
    let answer = taut(folder.path(), "explain --task slo");
    assert_eq!(answer.code, Some(2));
    assert!(answer.err.contains("no task `slo`; it has: ") && answer.err.contains("slow"), "{}", answer.err);
    let answer = taut(folder.path(), "schema");
    let schema: serde_json::Value = serde_json::from_str(&answer.out).unwrap();
    assert!(schema.to_string().contains("non-preemptive"));
}

/// Two cores and a resource that both use.
fn with_a_bus(longest: &str) -> String {
    two_tasks("2ms")
        .replace("cores = [0]", "cores = [0, 1]")
        .replace("[tasks.fast]", "[resources.bus]\n[tasks.fast]")
        + &format!(
            "sections = [{{ resource = \"bus\", longest = \"10us\", count = 3 }}]\n\
             [tasks.far]\narrival = {{ periodic = \"10ms\" }}\ndeadline = \"10ms\"\n\
             wcet = {{ value = \"2ms\", source = \"guess\" }}\ncore = 1\npriority = 5\n\
             sections = [{{ resource = \"bus\", longest = \"{longest}\" }}]\n"
        )
}

#[test]
fn resources_are_proven() {
    let folder_with = folder(&with_a_bus("100us"));
    let answer = taut(folder_with.path(), "check");
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    assert!(answer.out.contains("resource bus: MSRP, used by slow, far"), "{}", answer.out);
    assert_eq!(taut(folder_with.path(), "plan").code, Some(0));
    let answer = taut(folder_with.path(), "explain --task slow");
    assert!(answer.out.contains("spin") && answer.out.contains("most by `bus`"), "{}", answer.out);
    let answer = taut(folder_with.path(), "run --dry-run");
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    // Held for longer than the tasks that spin for it, and those that wait for them, have time.
    let long = with_a_bus("1900us").replace("deadline = \"5ms\"", "deadline = \"4ms\"");
    let long = long.replace("[resources.bus]", "[resources.bus]\nprotocol = \"msrp\"");
    let answer = taut(folder(&long).path(), "check");
    assert_eq!(answer.code, Some(1), "{}", answer.out);
    assert!(answer.err.contains("TAUT0201") && answer.err.contains("bus"), "{}", answer.err);
}

#[test]
fn sim_stays_below_the_bounds() {
    let simulated = |line: &str, manifest: &str| -> (serde_json::Value, Option<i32>) {
        let folder = folder(manifest);
        let answer = taut(folder.path(), line);
        (serde_json::from_str(&answer.out).unwrap_or_default(), answer.code)
    };
    let edf = two_tasks("2ms").replace("[platform]", "[platform]\nscheduler = \"edf\"");
    for manifest in [two_tasks("2ms"), with_a_bus("100us"), edf] {
        let (answer, code) = simulated("sim --for 1s --runs 20 --format json", &manifest);
        assert_eq!((code, answer["runs"].as_u64()), (Some(0), Some(21)));
        for task in answer["tasks"].as_array().unwrap() {
            assert!(task["jobs"].as_u64().unwrap() > 0, "{task}");
            assert!(task["simulated_ns"].as_u64() <= task["bound_ns"].as_u64(), "{task}");
        }
        let again = simulated("sim --for 1s --runs 20 --format json", &manifest);
        assert_eq!(again.0, answer, "a seed gives the same runs");
    }
    // A task that misses its deadline by the analysis also misses it in a run.
    let (answer, code) = simulated("sim --for 1s --runs 1 --format json", &two_tasks("9ms"));
    assert_eq!(code, Some(1));
    assert!(answer["tasks"][1]["missed"].as_u64() > Some(0), "{answer}");
    let answer = taut(folder(&two_tasks("2ms")).path(), "sim --for 1s --runs 1");
    assert!(answer.out.contains("simulated") && answer.out.contains("slow"), "{}", answer.out);
    assert_eq!(taut(folder(HEAD).path(), "sim").code, Some(2), "nothing to simulate");
}

#[test]
fn sim_says_what_it_does_not_do() {
    // A run of 5 * 10^9 jobs would take too long to wait for, and could not be interrupted.
    let often = two_tasks("2ms").replace("\"5ms\"", "\"2ns\"").replace("2ms\", source", "1ns\", source");
    let answer = taut(folder(&often).path(), "sim");
    assert_eq!(answer.code, Some(2));
    assert!(answer.err.contains("5000000000 of them of `fast`, one every 2ns"), "{}", answer.err);
    assert!(answer.err.contains("`--for 70ms`"), "{}", answer.err);
    // Tasks proven within a server are not left out silently.
    let served = two_tasks("2ms").replace("core = 0\npriority = 20\n", "server = \"share\"\n")
        + "[servers.share]\npolicy = \"sporadic\"\nbudget = \"2300us\"\nperiod = \"4ms\"\ncore = 0\npriority = 30\n";
    let answer = taut(folder(&served).path(), "sim --for 100ms --runs 1");
    assert!(
        answer.out.contains("not simulated: `fast`; its server `share` is"),
        "{}{}",
        answer.out,
        answer.err
    );
}

/// An optimised build refutes the published equation of MPCP within a second; ours is not refuted.
#[test]
fn refute_breaks_what_is_unsound() {
    let example = "refute examples/suspension --analysis";
    for seed in [1, 2] {
        let answer =
            taut(&root(), &format!("{example} mpcp-lnr09-paper --for 60s --seed {seed} --format json"));
        assert_eq!(answer.code, Some(1), "{}{}", answer.out, answer.err);
        let found: serde_json::Value = serde_json::from_str(&answer.out).unwrap();
        let witness = &found["witnesses"][0];
        assert_eq!(
            (witness["task"].as_str(), witness["claimed_ns"].as_u64()),
            (Some("victim"), Some(12_000_000))
        );
        assert!(witness["reached_ns"].as_u64() > Some(12_000_000), "{witness}");
    }
    let answer = taut(&root(), &format!("{example} mpcp-lnr09-sound --for 2s"));
    assert_eq!(answer.code, Some(0), "{}", answer.out);
    assert!(answer.out.contains("22000") && answer.out.contains("no run exceeds a claim"), "{}", answer.out);
    let answer = taut(&root(), "refute apps/cochlear --for 1s");
    assert_eq!(answer.code, Some(0), "{}", answer.out);
    assert!(answer.out.contains("processing"), "{}", answer.out);
    assert_eq!(taut(&root(), "refute apps/cochlear --analysis mpcp").code, Some(2));
    let edf = folder(&two_tasks("2ms").replace("[platform]", "[platform]\nscheduler = \"edf\""));
    let answer = taut(edf.path(), "refute --analysis msrp-gai01");
    assert_eq!(answer.code, Some(2), "{}", answer.out);
    assert!(answer.err.contains("does not apply"), "{}", answer.err);
}

#[test]
fn a_dry_run_says_what_it_would_do() {
    let answer = taut(&root(), "run apps/cochlear --dry-run");
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    for action in ["mlockall", "SCHED_FIFO, 80", "memfd_create", "sched_setaffinity"] {
        assert!(answer.out.contains(action), "{action}: {}", answer.out);
    }
}

/// An overlay changes the machine, not the application; its plan is written beside the other one.
#[test]
fn an_overlay_is_another_plan() {
    let folder = folder(&two_tasks("2ms"));
    std::fs::write(folder.path().join("board.toml"), "[tasks.slow]\nwcet = { value = \"12ms\" }\n").unwrap();
    let answer = taut(folder.path(), "check --overlay board.toml");
    assert_eq!(answer.code, Some(1));
    assert!(answer.err.contains("board.toml:2"), "the guilty line is the overlay's: {}", answer.err);
    std::fs::write(folder.path().join("board.toml"), "[tasks.slow]\nwcet = { value = \"1ms\" }\n").unwrap();
    assert_eq!(taut(folder.path(), "plan --overlay board.toml").code, Some(0));
    assert!(folder.path().join("taut+board.lock").exists() && !folder.path().join("taut.lock").exists());
    let answer = taut(&root(), "check apps/cochlear --overlay apps/cochlear/bare-metal.toml");
    assert_eq!(answer.code, Some(0), "{}", answer.err);
}

#[test]
fn bench_does_not_measure_in_no_time() {
    for zero in ["0s", "0ns"] {
        let answer = taut(&root(), &format!("bench --for {zero}"));
        assert_eq!(answer.code, Some(2), "{}", answer.err);
        assert!(answer.err.contains("--for 0s: the measurement needs a duration above 0"), "{}", answer.err);
        assert!(answer.out.is_empty(), "{}", answer.out);
    }
}

#[test]
fn usage_errors_exit_with_2() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(taut(folder.path(), "check").code, Some(2));
    assert_eq!(taut(folder.path(), "chekc").code, Some(2));
    assert_eq!(taut(folder.path(), "run . --for 10").code, Some(2));
    assert_eq!(taut(folder.path(), "report").code, Some(2));
    for line in ["run . --for -1s", "sim . --for -1s", "run . --patience -1s", "replay . --slack -1us"] {
        let answer = taut(folder.path(), line);
        assert_eq!(answer.code, Some(2), "{line}");
        assert!(answer.err.contains("a duration starts with a number"), "{line}: {}", answer.err);
    }
    let folder = self::folder(&two_tasks("2ms"));
    let answer = taut(folder.path(), "run");
    assert_eq!(answer.code, Some(2));
    assert!(answer.err.contains("no Cargo.toml"), "{}", answer.err);
}

/// As in `taut schema | head -1`.
#[test]
fn a_closed_pipe_is_no_panic() {
    use std::os::unix::process::ExitStatusExt;
    let mut child = Command::new(env!("CARGO_BIN_EXE_taut"))
        .arg("schema")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let Output { status, stderr, .. } = child.wait_with_output().unwrap();
    // The command may have finished before the pipe was closed.
    assert!(status.success() || status.signal() == Some(13), "{status:?}");
    assert_eq!(String::from_utf8(stderr).unwrap(), "");
}

/// The smallest application, from building to its report.
#[test]
fn run_builds_boots_and_reports() {
    let out = tempfile::tempdir().unwrap();
    let line = format!("run dev/jitter --for 300ms --out {}", out.path().display());
    let answer = taut(&root(), &line);
    if answer.code == Some(3) && answer.err.contains("on-missing-privilege = \"fail\", and this is missing:")
    {
        println!("skipped: {}", answer.err);
        return;
    }
    let report = std::fs::read(out.path().join("report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
    // A machine that others share may stall without its probe noticing, so that a response is late. No other breach
    // is allowed, and the exit code must match the report.
    let breaches = report["breaches"].as_array().unwrap();
    for breach in breaches {
        assert!(breach["breach"] == "response" && breach["cause"] != "not-proven", "{breach}");
    }
    assert_eq!(answer.code, Some(i32::from(!breaches.is_empty())), "{}{}", answer.out, answer.err);
    assert_eq!(report["tasks"][0]["name"], "tick");
    assert!(answer.out.contains("tick"), "{}", answer.out);
    for name in ["run.taut", "report.json", "report.html", "run.perfetto-trace"] {
        assert!(out.path().join(name).metadata().unwrap().len() > 100, "{name}");
    }
    let again = taut(&root(), &format!("report {}", out.path().display()));
    assert_eq!((again.code, again.out), (answer.code, answer.out));
    std::fs::write(out.path().join("run.taut"), "rubbish").unwrap();
    assert_eq!(taut(&root(), &format!("report {}", out.path().display())).code, Some(2));
}

#[test]
fn sim_takes_execution_times_of_a_recorded_run() {
    let folder = folder(&two_tasks("2ms"));
    assert_eq!(taut(folder.path(), "plan").code, Some(0));
    let plan = std::fs::read_to_string(folder.path().join("taut.lock")).unwrap();
    let record = |(job, used): (u64, u64)| taut_event::Record {
        at: taut_time::Instant::from_ns(job),
        kind: taut_event::Kind::Complete,
        cpu: 0,
        subject: 0,
        job,
        value: used,
    };
    let records = [(0, 1_000_000), (1, 500_000)].map(record);
    let bytes = taut_event::file::recording(&plan, "cpu = none", &records).unwrap();
    std::fs::write(folder.path().join("run.taut"), bytes).unwrap();
    let answer = taut(folder.path(), "sim --runs 3 --for 1s --like run.taut --format json");
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    let json: serde_json::Value = serde_json::from_str(&answer.out).unwrap();
    assert_eq!(json["like"], "run.taut");
    // The task executes 1 ms in every second job; its release can be late in addition.
    let text = taut(folder.path(), "sim --runs 3 --for 1s --like run.taut").out;
    let row = text.lines().find(|line| line.trim_start().starts_with("fast")).unwrap();
    let simulated: u64 = row.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!((1_000..1_200).contains(&simulated), "{row}");

    let answer = taut(folder.path(), "sim --like nowhere");
    assert_eq!(answer.code, Some(2));
    assert!(answer.err.contains("nowhere does not exist"), "{}", answer.err);
}

#[test]
fn doctor_names_cpus_that_are_not_there() {
    let text = two_tasks("2ms").replacen("cores = [0]", "cores = [0]\nhousekeeping = [1000, 1001]", 1);
    let missing = folder(&text);
    let answer = taut(missing.path(), "doctor .");
    assert_eq!(answer.code, Some(3), "{}{}", answer.out, answer.err);
    let says = |text: &str| assert!(answer.out.contains(text), "{text}\n{}", answer.out);
    says("yes  Cores: real-time threads run on the cores of the plan");
    says("no   Housekeeping: all other threads run on the housekeeping cores of the plan");
    for cpu in [1000, 1001] {
        says(&format!("this machine has no CPU {cpu}, which platform.housekeeping names; it has 0"));
    }
    // Whether a plan holds does not depend on this machine.
    assert_eq!(taut(missing.path(), "check").code, Some(0));
    let text = two_tasks("2ms").replace("[0]", "[1000]").replace("core = 0", "core = 1000");
    let answer = taut(folder(&text).path(), "doctor .");
    assert_eq!(answer.code, Some(3), "{}{}", answer.out, answer.err);
    assert!(answer.out.contains("no CPU 1000, which platform.cores names; it has 0"), "{}", answer.out);
}

#[test]
fn doctor_says_of_the_throttle_what_it_means_for_a_plan() {
    let throttle = |name| {
        let text = std::fs::read_to_string(format!("/proc/sys/kernel/sched_rt_{name}_us")).unwrap();
        text.trim().parse::<i64>().unwrap()
    };
    let (runtime, period) = (throttle("runtime"), throttle("period"));
    let free = taut(root().as_path(), "doctor");
    if runtime < 0 || runtime >= period {
        assert!(free.out.contains("yes  Throttle"), "{}", free.out);
        println!("skipped: this machine does not throttle real-time threads");
        return;
    }
    let leaves = format!("real-time threads may use {runtime}us of every {period}us");
    assert!(free.out.contains(&format!("why: {leaves}")), "{}", free.out);
    // About a third of every second in short jobs; then jobs that run for seconds, though half of the core is idle.
    let short = taut(folder(&two_tasks("2ms")).path(), "doctor .");
    let kept = short.out.contains("yes  Throttle");
    assert!(!kept || short.out.contains(&format!("here: {leaves}")), "{}", short.out);
    let long = format!(
        "{HEAD}[tasks.long]\narrival = {{ periodic = \"10s\" }}\ndeadline = \"10s\"\n\
         wcet = {{ value = \"5s\", source = \"guess\" }}\n"
    );
    let answer = taut(folder(&long).path(), "doctor .");
    assert!(answer.out.contains("no   Throttle"), "{}", answer.out);
    assert!(answer.out.contains("and core 0 can need"), "{}", answer.out);
}

/// Capabilities of the file `taut` do not pass to programs that it starts.
#[test]
fn doctor_separates_its_own_capabilities_from_inherited_ones() {
    use std::os::unix::fs::PermissionsExt as _;
    let open = tempfile::tempdir().unwrap();
    std::fs::set_permissions(open.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let own = open.path().join("taut");
    std::fs::copy(env!("CARGO_BIN_EXE_taut"), &own).unwrap();
    let given = Command::new("setcap").arg("cap_sys_nice,cap_ipc_lock+ep").arg(&own).status();
    if !given.is_ok_and(|status| status.success()) {
        println!("skipped: this user or this file system cannot give capabilities to a file");
        return;
    }
    let nobody = |more: &[&str], program: &Path| {
        let user = ["--reuid=65534", "--regid=65534", "--clear-groups"];
        let mut command = Command::new("setpriv");
        command.args(user).args(more).arg(program).arg("doctor").current_dir(open.path());
        let output = command.output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let file = nobody(&[], &own);
    for name in ["CAP_SYS_NICE", "CAP_IPC_LOCK"] {
        let said =
            format!("this command has {name} from its own file, and a program that it starts does not");
        assert!(file.contains(&said), "{file}");
    }
    let plain = open.path().join("plain");
    std::fs::copy(env!("CARGO_BIN_EXE_taut"), &plain).unwrap();
    let ambient = ["--inh-caps=+sys_nice,+ipc_lock", "--ambient-caps=+sys_nice,+ipc_lock"];
    let inherited = nobody(&ambient, &plain);
    assert!(inherited.contains("yes  Priorities") && inherited.contains("yes  Memory"), "{inherited}");
    let none = nobody(&[], &plain);
    assert!(none.contains("no   Priorities") && none.contains("rtprio 99"), "{none}");
}

/// A terminal that cannot erase a line gets no progress line, and no colours. The search takes its two seconds on any
/// machine, and its progress is shown after one.
#[test]
fn a_dumb_terminal_gets_no_escapes() {
    let manifest = folder(&two_tasks("2ms"));
    let shown = |term: &str| {
        let line = format!("{} refute --for 2s", env!("CARGO_BIN_EXE_taut"));
        let mut command = Command::new("script");
        command.args(["-qec", &line, "/dev/null"]).current_dir(manifest.path()).env("TERM", term);
        let output = command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").output();
        output.ok().map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (Some(able), Some(dumb)) = (shown("xterm"), shown("dumb")) else {
        println!("skipped: no `script`, which emulates a terminal");
        return;
    };
    assert!(able.contains("\u{1b}[K"), "{able}");
    assert!(!dumb.contains('\u{1b}') && dumb.contains("no run exceeds a claim"), "{dumb}");
}
