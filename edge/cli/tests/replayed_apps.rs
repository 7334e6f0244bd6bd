// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut replay --code` of the real applications, each recorded by its overlay `recorded.toml`: unchanged code does
//! the same, and an
//! off-by-one in the drive is found at its first value.
#![allow(clippy::unwrap_used, reason = "test code")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

/// Only one application runs at a time: all want the same CPUs.
static TURN: Mutex<()> = Mutex::new(());

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The exit code, and what a command printed.
fn answer(command: &mut Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (status.code(), text(stdout), text(stderr))
}

fn succeeds(command: &mut Command) -> String {
    let (code, out, err) = answer(command);
    assert_eq!(code, Some(0), "{out}{err}");
    out
}

fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_DEV_DEBUG", "0");
    cargo
}

/// An application in a folder of its own: its manifest, which names its program, and the overlay.
struct Copied {
    name: &'static str,
    folder: tempfile::TempDir,
}

impl Copied {
    fn new(name: &'static str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let app = root().join("apps").join(name);
        let manifest = std::fs::read_to_string(app.join("taut.toml")).unwrap();
        let named = manifest.replacen("[app]\n", "[app]\nexec = \"program\"\n", 1);
        assert_ne!(manifest, named);
        std::fs::write(folder.path().join("taut.toml"), named).unwrap();
        std::fs::copy(app.join("recorded.toml"), folder.path().join("recorded.toml")).unwrap();
        Self { name, folder }
    }

    /// Takes this program as the application's.
    fn program(&self, built: &Path) {
        std::fs::copy(built, self.folder.path().join("program")).unwrap();
    }

    fn taut(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
        command.args(words).current_dir(self.folder.path()).env("NO_COLOR", "1");
        command
    }

    /// A short run with the overlay. Its files stay as they are when the code is replayed.
    fn record(&self) {
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        succeeds(&mut self.taut(&["plan", "--overlay", "recorded.toml"]));
        let mut program = Command::new(self.folder.path().join("program"));
        program
            .current_dir(self.folder.path())
            .env_remove("TAUT_RECORD_LIMIT")
            .env("TAUT_LOCK", "taut+recorded.lock")
            .env("TAUT_OUT", "out")
            .env("TAUT_FOR", "1s")
            .env("TAUT_APPLICATIONS_DIR", self.folder.path().join("applications"))
            .env("TAUT_RUNTIME_DIR", self.folder.path());
        succeeds(&mut program);
    }

    /// The rows of a table: task, jobs, values, equal.
    fn replayed(&self) -> (Option<i32>, String, Vec<[String; 4]>) {
        let (code, out, err) = answer(&mut self.taut(&["replay", "--code", "out"]));
        let rows = out.lines().filter(|line| line.starts_with("  ")).skip(1).map(|line| {
            let cells = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
            cells.map(str::to_owned).collect::<Vec<_>>().try_into().unwrap()
        });
        let rows = rows.collect();
        (code, out + &err, rows)
    }

    /// The replay of the same code: all values of these tasks, at least so many each, are equal.
    fn is_equal(&self, tasks: &[(&str, u64)], not: &[&str]) {
        let (code, text, rows) = self.replayed();
        assert_eq!((code, rows.len()), (Some(0), tasks.len()), "{text}");
        assert!(text.starts_with(&format!("{}: equal: ", self.name)), "{text}");
        for ([task, _, values, equal], (expected, least)) in rows.iter().zip(tasks) {
            assert_eq!((task.as_str(), equal.as_str()), (*expected, "all"), "{text}");
            assert!(values.parse::<u64>().unwrap() >= *least, "{text}");
        }
        let left = text.lines().filter_map(|line| line.strip_prefix("not replayed: "));
        assert_eq!(left.collect::<Vec<_>>(), not);
    }
}

/// The program of an application, as the workspace builds it.
fn built(package: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let line = ["build", "--offline", "--locked", "-p", package, "--bin", package, "--target-dir"];
    succeeds(cargo().args(line).arg(target).current_dir(root()));
    target.join("debug").join(package)
}

const BEST_EFFORT: &str = "it is best-effort, and has no jobs";

#[test]
fn the_sound_processor_computes_the_same_currents() {
    let cochlear = Copied::new("cochlear");
    cochlear.program(&built("taut-cochlear"));
    cochlear.record();
    let picture = std::fs::read(cochlear.folder.path().join("out/electrodogram.svg")).unwrap();
    assert!(!picture.is_empty());
    let not = [
        "`output`: it writes no channel that is recorded".to_owned(),
        format!("`source`: {BEST_EFFORT}"),
        format!("`logger`: {BEST_EFFORT}"),
    ];
    let not: Vec<&str> = not.iter().map(String::as_str).collect();
    cochlear.is_equal(&[("recording", 60), ("processing", 60)], &not);
    let after = std::fs::read(cochlear.folder.path().join("out/electrodogram.svg")).unwrap();
    assert_eq!(picture, after, "a replay leaves the files of the run alone");
}

/// The sources of the drive as a package of its own, which a test may change.
fn changed_drive(from: &str, to: &str) -> PathBuf {
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("new");
    let folder = built.join("changed-drive");
    // What an earlier run of this test has left.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(folder.join("src")).unwrap();
    let app = root().join("apps/drive");
    let text = format!(
        "[package]\nname = \"taut-drive\"\nversion = \"0.1.0\"\nedition = \"2024\"\nautobins = false\n\
         [[bin]]\nname = \"changed-drive\"\npath = \"src/main.rs\"\n\
         [dependencies]\ntaut = {{ path = \"{}\" }}\n[workspace]\n",
        root().join("edge/taut").display()
    );
    std::fs::write(folder.join("Cargo.toml"), text).unwrap();
    std::fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    // The generated module is compiled beside the manifest that it is of.
    std::fs::copy(app.join("taut.toml"), folder.join("taut.toml")).unwrap();
    for file in ["main.rs", "lib.rs", "manifest.rs"] {
        let text = std::fs::read_to_string(app.join("src").join(file)).unwrap();
        let text = if file == "main.rs" {
            assert_eq!(text.matches(from).count(), 1, "{from}");
            text.replace(from, to)
        } else {
            text
        };
        std::fs::write(folder.join("src").join(file), text).unwrap();
    }
    succeeds(
        cargo().args(["build", "--offline", "--target-dir"]).arg(built.join("target")).current_dir(&folder),
    );
    built.join("target/debug/changed-drive")
}

#[test]
fn an_off_by_one_in_the_drive_is_found_at_its_first_value() {
    let drive = Copied::new("drive");
    drive.program(&built("taut-drive"));
    drive.record();
    let inputs = |task: &str, channel: &str| format!("`{task}`: it reads `{channel}`, which is not recorded");
    let not = [
        "`position`: it writes no channel that is recorded".to_owned(),
        inputs("speed", "angle"),
        inputs("planner", "rpm"),
        inputs("filter", "rpm"),
        inputs("control", "reference"),
        inputs("monitor", "angle"),
        format!("`logger`: {BEST_EFFORT}"),
    ];
    let not: Vec<&str> = not.iter().map(String::as_str).collect();
    drive.is_equal(&[("current", 60), ("torque", 30), ("limits", 15)], &not);

    // One too many in the torque, from job 20 on: value 21 is the first.
    drive.program(&changed_drive(
        "self.last = compute(self.at, job.number(), self.last, before.into_iter().take(INPUTS));",
        "self.last = compute(self.at, job.number(), self.last, before.into_iter().take(INPUTS));\n        \
         self.last += u64::from(self.at == 4 && job.number() >= 20);",
    ));
    let (code, text, rows) = drive.replayed();
    assert_eq!(code, Some(1), "{text}");
    let mut lines = text.lines();
    let first = lines.next().unwrap();
    assert_eq!(first, "drive: DIFFERS in task `torque`, job 20, released at 400.000 ms");
    let second = lines.next().unwrap();
    // The flows are synchronous, so each run computes the same.
    let page = include_str!("../../../docs/replay.md");
    assert!(
        page.contains(&format!("```text\n{first}\n{second}\n```\n")),
        "docs/replay.md does not show:\n{first}\n{second}"
    );
    let value = second.strip_prefix("value 21 of `moment`, `value`: recorded ").unwrap();
    let (recorded, replayed) = value.split_once(", replayed ").unwrap();
    assert_eq!(recorded.parse::<u64>().unwrap() + 1, replayed.parse::<u64>().unwrap());
    let equal: Vec<(&str, &str)> = rows.iter().map(|row| (row[0].as_str(), row[3].as_str())).collect();
    assert_eq!(equal, [("current", "all"), ("torque", "before job 20"), ("limits", "all")]);
}
