// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut run --synthetic`: the program of every manifest compiles; one runs, executes for the manifest's times, and moves
//! values; its clients end with it, and with the command.
#![allow(clippy::unwrap_used, reason = "test code")]

#[path = "../src/synthetic/generate.rs"]
mod generate;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use taut_manifest::SourceText;
use taut_model::Model;

/// What compiles would make jobs late that run beside it: one at a time.
static TURN: Mutex<()> = Mutex::new(());

const EVERY: &str = include_str!("every.toml");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Runs cargo, or lets `taut` run it, for a program: without optimisation, as building takes longest here, and with what
/// was built before.
fn building(program: &str) -> Command {
    let mut command = Command::new(program);
    command
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("synthetic"))
        .env("CARGO_NET_OFFLINE", "true")
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "false")
        .env("NO_COLOR", "1");
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The manifests under a folder.
fn manifests(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            manifests(&path, found);
        } else if path.ends_with("taut.toml") {
            found.push(path);
        }
    }
}

fn model(name: &str, text: String) -> Model {
    let loaded = taut_manifest::load(&SourceText { name: name.to_owned(), text }, &[]);
    loaded.model.unwrap_or_else(|| panic!("{name}: {:?}", loaded.diagnostics))
}

/// Writes the program of a model as a package of this folder.
fn package(folder: &Path, model: &Model) {
    std::fs::create_dir_all(folder.join("src")).unwrap();
    let source = format!("path = {:?}", root().join("edge/taut").display().to_string());
    let write = |path: &str, text: &str| std::fs::write(folder.join(path), text).unwrap();
    write("Cargo.toml", &generate::cargo_toml(&model.app().name, &source));
    write("src/main.rs", &generate::main_rs(model));
    write("src/load.rs", generate::LOAD);
    std::fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
}

/// Whether a package compiles without a warning; if not, what the compiler prints.
fn compiles(folder: &Path) -> Result<(), String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut command = building(&cargo);
    command.args(["check", "--release", "--offline", "--quiet", "--manifest-path"]);
    let Output { status, stderr, .. } = command.arg(folder.join("Cargo.toml")).output().unwrap();
    let stderr = text(&stderr);
    if status.success() && !stderr.contains("warning") { Ok(()) } else { Err(stderr) }
}

#[test]
fn the_program_of_every_manifest_compiles() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut found = Vec::new();
    for folder in ["examples", "apps"] {
        manifests(&root().join(folder), &mut found);
    }
    assert!(found.len() > 10, "{found:?}");
    let read = |path: PathBuf| (path.display().to_string(), std::fs::read_to_string(&path).unwrap());
    let mut all: Vec<(String, String)> = found.into_iter().map(read).collect();
    all.push(("every.toml".to_owned(), EVERY.to_owned()));
    let edf = EVERY.replace("scheduler = \"fp\"", "scheduler = \"edf\"");
    all.push(("every.toml under EDF".to_owned(), edf));
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in all {
        package(folder.path(), &model(&name, text));
        compiles(folder.path()).unwrap_or_else(|error| panic!("{name}\n{error}"));
    }
    // What would be wrong is noticed.
    let main = folder.path().join("src/main.rs");
    let text = std::fs::read_to_string(&main).unwrap();
    std::fs::write(&main, text.replacen("taut::payload!", "taut::payloads!", 1)).unwrap();
    assert!(compiles(folder.path()).is_err());
}

#[test]
fn the_program_follows_from_the_manifest() {
    let main = generate::main_rs(&model("every.toml", EVERY.to_owned()));
    for line in [
        // Names that Rust does not have, and two names of the manifest that would become one.
        "    pub type Pose = [f64; 12];",
        "    pub type Number = u32;",
        "        pub struct KeyWords {\n            /// The field `type`.\n            pub r#type: u64,\n",
        "            pub r#match: [f32; 2],\n",
        "    pub struct Key_Words {\n        /// The field `self`.\n        pub self_: u64,\n",
        "            (\"self\", <u64 as ::taut::Layout>::WORDS),\n",
        // Segments in their order, and sections with the rest of the execution between them.
        "            let steps = vec![\n                run(100000),\n                hold(&r0, vec![\n                    \
         run(50000),\n                    hold(&r1, vec![run(50000)]),\n                    run(10000),\n                \
         ]),\n                run(100000),\n            ];",
        "times(3, vec![run(221666), hold(&r0, vec![run(200000)])]),",
        "run(221666), hold(&r1, vec![run(20000)]),",
        // The trigger of a task is read by the runtime.
        "service.receiver::<payload::Number, _>(\"alarm\", |create| {\n            let inputs = vec![];",
        "load::receives::<payload::Pose>(create, \"samples\", 3, false)?",
        "load::receives::<payload::KeyWords>(create, \"telemetry\", 1, true)?",
        "load::sends::<payload::KeyWords>(create, \"telemetry\", 2)?",
        "    pub enum Requests {\n            /// The payload `Pose`.\n            Pose(Pose),\n",
        "            KeyWords(KeyWords) = \"Key-Words\",\n",
        "load::messages::<<payload::Requests as ::taut::OneOf>::Stored>(create, \"requests\")?",
        "load::sends::<<payload::Requests as ::taut::OneOf>::Stored>(create, \"requests/sense\", 1)?",
        "load::best_effort(15000000, inputs, outputs)",
        "load::best_effort(10000000, inputs, outputs)",
        "load::client(\"every\", \"panel\", 50000000, |client| {",
        "load::client(\"every\", \"viewer\", 100000000, |client| {",
    ] {
        assert!(main.contains(line), "{line}\n{main}");
    }
    assert!(!main.contains("\"locked\", ())") && !main.contains("\"alerts\", 1, "), "{main}");
}

/// A folder with the manifest that has everything.
fn every() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("taut.toml"), EVERY).unwrap();
    folder
}

fn taut(folder: &Path, line: &str) -> Command {
    let mut command = building(env!("CARGO_BIN_EXE_taut"));
    command.args(line.split_whitespace()).current_dir(folder);
    // What else runs on this machine is of no concern to a test.
    command.env("TAUT_APPLICATIONS_DIR", folder.join("applications"));
    command
}

/// The processes with this argument that were started in a folder.
fn processes(folder: &Path, argument: &str) -> Vec<u32> {
    let folder = folder.canonicalize().unwrap();
    let is_one = |pid: &u32| {
        let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let has_argument = arguments.split(|byte| *byte == 0).any(|one| one == argument.as_bytes());
        has_argument && std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == folder)
    };
    let names =
        std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter_map(|name| name.parse().ok()).filter(is_one).collect()
}

/// Waits until so many processes with this argument run.
fn wait_for(count: usize, folder: &Path, argument: &str, limit: Duration) {
    let begun = Instant::now();
    while processes(folder, argument).len() != count {
        assert!(begun.elapsed() < limit, "`{argument}`: not {count} processes");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_synthetic_program_runs_as_planned() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    if processors < 2 {
        println!("skipped: no second CPU");
        return;
    }
    let folder = every();
    let main = folder.path().join("target/taut/synthetic/src/main.rs");
    let Output { status, stderr, stdout } =
        taut(folder.path(), "run . --synthetic --for 1s").output().unwrap();
    let (out, err) = (text(&stdout), text(&stderr));
    assert!(err.contains(
        "synthetic: ./target/taut/synthetic runs in place of the code of `every` and of its clients"
    ));
    assert_eq!(processes(folder.path(), "--client"), [0_u32; 0]);
    let written = std::fs::metadata(&main).unwrap().modified().unwrap();
    // A recording of a synthetic program is no recording of the application.
    assert!(!folder.path().join("target/taut/run.taut").exists());
    let report = std::fs::read(folder.path().join("target/taut/synthetic/report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&report).unwrap();

    // All values moved: what clients receive is not recorded, nor what they send.
    let channels = report["channels"].as_array().unwrap();
    assert_eq!(channels.len(), 22);
    for channel in channels {
        let (name, count) = (channel["name"].as_str().unwrap(), |key: &str| channel[key].as_u64().unwrap());
        let (from_client, to_client) = (
            matches!(name, "presses" | "wish/panel" | "health/viewer" | "requests/panel"),
            matches!(name, "journal" | "health_reply/viewer"),
        );
        assert!(count("sent") > 0 || from_client, "{name}\n{out}{err}");
        assert!(count("received") > 0 || to_client, "{name}\n{out}{err}");
    }
    // A job executes for what the manifest states, and not for longer, but where it spins for a resource.
    let model = model("every.toml", EVERY.to_owned());
    let tasks = report["tasks"].as_array().unwrap();
    for (_, task, real_time) in model.real_time() {
        let figures = tasks.iter().find(|figures| figures["name"] == task.name).unwrap();
        let (used_ns, stated_ns) =
            (figures["execution"]["p50_ns"].as_u64().unwrap(), real_time.wcet.value.as_ns());
        assert!(
            used_ns >= stated_ns * 9 / 10 && used_ns <= stated_ns * 11 / 10,
            "{}: {used_ns} of {stated_ns}\n{out}{err}",
            task.name
        );
    }
    the_clients_of_a_killed_command_end(folder.path());
    if err.contains("running degraded") {
        println!("skipped: this user may not create real-time threads, so no deadline need be kept");
        return;
    }
    assert_ne!(report["verdict"], "broken", "{out}{err}");
    assert_eq!(status.code(), Some(0), "{out}{err}");

    // Drawn times are shorter, and need no other program.
    let drawn =
        taut(folder.path(), "run . --synthetic --for 1s --execution drawn --seed 7").output().unwrap();
    assert_eq!(drawn.status.code(), Some(0), "{}", text(&drawn.stderr));
    assert_eq!(std::fs::metadata(&main).unwrap().modified().unwrap(), written);
    let report = std::fs::read(folder.path().join("target/taut/synthetic/report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
    let control = report["tasks"].as_array().unwrap().iter().find(|task| task["name"] == "control").unwrap();
    let used_ns = control["execution"]["p50_ns"].as_u64().unwrap();
    assert!((1_100_000..1_900_000).contains(&used_ns), "{used_ns}");
}

fn the_clients_of_a_killed_command_end(folder: &Path) {
    let mut command = taut(folder, "run . --synthetic --for 5s");
    let mut command = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // Other tests build in the same folder, and cargo waits for them.
    wait_for(2, folder, "--client", Duration::from_secs(300));
    command.kill().unwrap();
    command.wait().unwrap();
    wait_for(0, folder, "--client", Duration::from_secs(3));
    // The application itself goes on to the end of its time.
    wait_for(1, folder, "--execution", Duration::ZERO);
    wait_for(0, folder, "--execution", Duration::from_secs(60));
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let folder = every();
    let says = |line: &str, what: &str| {
        let Output { status, stderr, .. } = taut(folder.path(), line).output().unwrap();
        assert_eq!(status.code(), Some(2), "{line}: {}", text(&stderr));
        assert!(text(&stderr).contains(what), "{line}: {}", text(&stderr));
        assert!(!folder.path().join("target").exists(), "{line}");
    };
    says("run . --synthetic -- --wav speech.wav", "'--synthetic' cannot be used with '[ARGUMENTS]...'");
    says("run . --execution drawn", "--synthetic");
    says("run . --seed 3", "--synthetic");
    says("run . --synthetic --seed 3", "--seed: only `--execution drawn` draws anything");
    says("run . --synthetic --execution half", "possible values: full, drawn");
}

/// A folder with an application of this name, one task of which needs most of CPU 0.
fn hungry(name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let manifest = format!(
        "manifest = 1\n[app]\nname = \"{name}\"\n[platform]\ncores = [0]\nmemory = \"16MiB\"\n[tasks.t]\n\
         arrival = {{ periodic = \"10ms\" }}\ndeadline = \"10ms\"\n\
         wcet = {{ value = \"6ms\", source = \"guess\" }}\n"
    );
    std::fs::write(folder.path().join("taut.toml"), manifest).unwrap();
    folder
}

/// Two applications that need most of a CPU each: while one runs the other one is refused, before its program is built
/// and if it is started by itself, and it starts once the first one was killed.
#[test]
fn two_applications_do_not_share_a_cpu() {
    let (one, two, machine) = (hungry("one"), hungry("two"), tempfile::tempdir().unwrap());
    let on_machine = |folder: &Path, line: &str| {
        let mut command = taut(folder, line);
        command.env("TAUT_APPLICATIONS_DIR", machine.path());
        command
    };
    let built = on_machine(two.path(), "run . --synthetic --for 10ms").output().unwrap();
    assert!(two.path().join("target/taut/synthetic/run.taut").exists(), "{}", text(&built.stderr));
    let mut first = on_machine(one.path(), "run . --synthetic --for 120s");
    let mut first = first.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let listed = || {
        let output = on_machine(one.path(), "ps --format json").output().unwrap();
        let list: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        list["applications"].as_array().unwrap().clone()
    };
    let begun = Instant::now();
    // The program is built first.
    while listed().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(300), "it does not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    let [running] = &listed()[..] else { panic!("{:?}", listed()) };
    let pid = running["pid"].as_u64().unwrap() as u32;
    assert_eq!((&running["app"], &running["cores"][0]["cpu"]), (&"one".into(), &0.into()));
    /// Ends the application also if the test fails.
    struct Running(u32);
    impl Drop for Running {
        fn drop(&mut self) {
            let _ = taut_sys::signals::kill(self.0, taut_sys::signals::SIGKILL);
        }
    }
    let application = Running(pid);
    if running["real_time"] == false {
        drop(application);
        first.wait().unwrap();
        println!("skipped: this user may not create real-time threads");
        return;
    }
    let table = text(&on_machine(two.path(), "ps").output().unwrap().stdout);
    let line =
        table.lines().find(|line| line.trim_start().starts_with("one ")).unwrap_or_else(|| panic!("{table}"));
    assert!(line.contains(&pid.to_string()) && line.contains("yes"), "{table}");
    let taken = format!("CPU 0: `one` (process {pid} of user ");
    let recording = two.path().join("target/taut/synthetic/run.taut");
    let kept = std::fs::read(&recording).unwrap();
    // By the command, which leaves everything as it was.
    let refused = on_machine(two.path(), "run . --synthetic --for 10ms").output().unwrap();
    let said = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(6), "{said}");
    assert!(said.contains("TAUT0603: `two` does not fit") && said.contains(&taken), "{said}");
    assert_eq!(std::fs::read(&recording).unwrap(), kept);
    // By the program itself.
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("synthetic/release/two-synthetic");
    let mut alone = Command::new(program);
    alone.current_dir(two.path()).env("TAUT_APPLICATIONS_DIR", machine.path()).env("TAUT_FOR", "10ms");
    let alone = alone.output().unwrap();
    assert_eq!(alone.status.code(), Some(6), "{}", text(&alone.stderr));
    assert!(text(&alone.stderr).contains(&taken), "{}", text(&alone.stderr));
    let doctor = on_machine(two.path(), "doctor .").output().unwrap();
    assert_eq!(doctor.status.code(), Some(3));
    assert!(text(&doctor.stdout).contains("no   Exclusive: ") && text(&doctor.stdout).contains(&taken));
    drop(application);
    assert!(!first.wait().unwrap().success());
    assert!(listed().is_empty());
    let runs = on_machine(two.path(), "run . --synthetic --for 100ms").output().unwrap();
    assert_ne!(runs.status.code(), Some(6), "{}", text(&runs.stderr));
    assert_ne!(std::fs::read(&recording).unwrap(), kept, "{}", text(&runs.stderr));
}
