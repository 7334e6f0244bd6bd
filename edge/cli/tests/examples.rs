// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The pages of docs match reality: the manifests in the pages of docs/examples are the examples' manifests to the
//! letter, and commands print what the pages show. A line with only `…` stands for any lines.
//!
//! `EXAMPLES_UPDATE=1` writes the actual output into the pages, where no lines are left out.
#![allow(clippy::unwrap_used, reason = "test code")]

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

mod made;

const CUT: &str = "…";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// What `taut` prints in the folder of the examples.
fn printed(line: &str) -> String {
    printed_in(&root(), line)
}

/// The same in a folder.
fn printed_in(folder: &Path, line: &str) -> String {
    let mut words = line.split_whitespace();
    assert_eq!(words.next(), Some("taut"), "a page shows `taut` only: {line}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    command.args(words).current_dir(folder);
    output(command)
}

/// What a command prints to both of its streams, in order.
fn output(mut command: Command) -> String {
    let (mut reader, writer) = std::io::pipe().unwrap();
    command.env("NO_COLOR", "1").env("COLUMNS", "100").stdout(writer.try_clone().unwrap()).stderr(writer);
    let mut child = command.spawn().unwrap();
    // The write ends in `command` would keep the reader waiting.
    drop(command);
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    child.wait().unwrap();
    text.lines().map(str::trim_end).fold(String::new(), |text, line| text + line + "\n")
}

/// Whether lines match what a page shows.
fn fits(shown: &[&str], lines: &[&str]) -> bool {
    match shown {
        [] => lines.is_empty(),
        [CUT, rest @ ..] => (0..=lines.len()).any(|skipped| fits(rest, &lines[skipped..])),
        [line, rest @ ..] => lines.first() == Some(line) && fits(rest, &lines[1..]),
    }
}

/// Checks a page with what its commands print; returns the page with its outputs renewed.
fn page(
    text: &str,
    mut printed: impl FnMut(&str) -> String,
    manifest: &mut String,
    wrong: &mut String,
) -> String {
    let mut renewed = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        renewed += line;
        renewed.push('\n');
        let Some(kind) = line.strip_prefix("```") else { continue };
        let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        match (kind, body.split_first()) {
            ("toml", _) => body.iter().for_each(|line| {
                manifest.push_str(line);
                manifest.push('\n');
            }),
            ("console", Some((command, shown))) => {
                let output = printed(command.strip_prefix("$ ").unwrap());
                let output: Vec<&str> = output.lines().collect();
                if !fits(shown, &output) {
                    writeln!(wrong, "{command}\n{}", output.join("\n")).unwrap();
                }
                renewed += command;
                renewed.push('\n');
                let kept = if shown.contains(&CUT) { shown } else { &output };
                kept.iter().for_each(|line| renewed = std::mem::take(&mut renewed) + line + "\n");
                renewed += "```\n";
                continue;
            }
            _ => {}
        }
        body.iter().for_each(|line| renewed = std::mem::take(&mut renewed) + line + "\n");
        renewed += "```\n";
    }
    renewed
}

/// Checks the commands of a page about the examples; returns the manifest text that it shows.
fn commands(path: &str) -> String {
    commands_by(path, printed)
}

/// The same for commands that run in a folder.
fn commands_in(folder: &Path, path: &str) -> String {
    commands_by(path, |line| printed_in(folder, line))
}

/// Checks the commands of a page; returns the manifest text that it shows.
fn commands_by(path: &str, printed: impl FnMut(&str) -> String) -> String {
    let file = root().join(path);
    let text = std::fs::read_to_string(&file).unwrap();
    let (mut shown, mut wrong) = (String::new(), String::new());
    let renewed = page(&text, printed, &mut shown, &mut wrong);
    if std::env::var_os("EXAMPLES_UPDATE").is_some() {
        std::fs::write(&file, renewed).unwrap();
    } else {
        assert!(wrong.is_empty(), "{path} shows something else than\n{wrong}");
    }
    shown
}

fn example(name: &str, manifest: &str) {
    let shown = commands(&format!("docs/examples/{name}.md"));
    // Pieces are separated by an empty line in the manifest, and by prose in the page.
    let squeezed = |text: &str| -> String {
        text.lines().filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n")
    };
    let manifest = std::fs::read_to_string(root().join(manifest)).unwrap();
    assert_eq!(squeezed(&shown), squeezed(&manifest), "docs/examples/{name}.md and its manifest");
}

/// The page begins in an empty folder. Its commands are those of a shell.
#[test]
fn first_application() {
    let empty = tempfile::tempdir().unwrap();
    let programs = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_taut"), programs.path().join("taut")).unwrap();
    let path = format!("{}:{}", programs.path().display(), std::env::var("PATH").unwrap());
    let mut folder = empty.path().to_owned();
    let mut commands = 0;
    commands_by("docs/first-application.md", |line| {
        commands += 1;
        if let Some(name) = line.strip_prefix("cd ") {
            folder.push(name);
            return String::new();
        }
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(&folder).env("PATH", &path);
        let output = output(command);
        // The page is about a machine with the CPUs 0 and 1.
        if let Some(name) = line.strip_prefix("taut new ") {
            let made = folder.join(name.split(' ').next().unwrap());
            let manifest = made.join("taut.toml");
            let text = std::fs::read_to_string(&manifest).unwrap();
            let lines = text.lines().filter(|line| !line.starts_with("housekeeping"));
            let cpus = "cores = [1]\nhousekeeping = [0]";
            let lines = lines.map(|line| if line.starts_with("cores") { cpus } else { line });
            std::fs::write(manifest, lines.collect::<Vec<_>>().join("\n") + "\n").unwrap();
            printed_in(&made, "taut generate");
            printed_in(&made, "taut plan");
        }
        output
    });
    assert!(commands > 5, "{commands}");
}

#[test]
fn choosing() {
    let shown = commands("docs/choosing.md");
    // Every line that the page shows of a plan is in the actual plan.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("desktop");
    std::fs::create_dir_all(&folder).unwrap();
    for file in ["taut.toml", "desktop.toml"] {
        std::fs::copy(root().join("examples/mobstr").join(file), folder.join(file)).unwrap();
    }
    let overlay = folder.join("desktop.toml");
    printed(&format!("taut plan {} --overlay {}", folder.display(), overlay.display()));
    let plan = std::fs::read_to_string(folder.join("taut+desktop.lock")).unwrap();
    shown.lines().for_each(|line| assert!(plan.lines().any(|other| other == line), "{line}"));
}

/// The recordings that the page speaks of are made here.
#[test]
fn calibration() {
    use made::Script;
    let folder = made::folder();
    Script { seed: 2, ..Script::usual() }.record(folder.path(), "day/run.taut");
    Script { seed: 3, longest: Some((812, 1_043_216)), ..Script::usual() }
        .record(folder.path(), "night/run.taut");
    let shown = commands_in(folder.path(), "docs/calibration.md");
    // What the page shows of the overlay is what the command wrote.
    let overlay = std::fs::read_to_string(folder.path().join("board.toml")).unwrap();
    assert!(!shown.is_empty() && overlay.contains(shown.trim()), "{overlay}");
}

#[test]
fn flow() {
    let shown = commands("docs/flow.md");
    let manifest = std::fs::read_to_string(root().join("apps/drive/taut.toml")).unwrap();
    // The page shows two of the manifest's tables in full.
    for table in shown.split_inclusive("\n[").filter(|table| !table.trim().is_empty()) {
        let table = table.trim_end_matches('[').trim();
        assert!(manifest.contains(table), "{table}");
    }
}

#[test]
fn locks() {
    let shown = commands("docs/locks.md");
    let manifest = std::fs::read_to_string(root().join("examples/buses/taut.toml")).unwrap();
    for table in shown.split_inclusive("\n[").filter(|table| !table.trim().is_empty()) {
        let table = table.trim_end_matches('[').trim();
        assert!(manifest.contains(table), "{table}");
    }
}

#[test]
fn modes() {
    let shown = commands("docs/modes.md");
    let manifest = std::fs::read_to_string(root().join("examples/modes/taut.toml")).unwrap();
    let lines = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(lines(&shown), lines(&manifest));
}

#[test]
fn rosace() {
    example("rosace", "examples/rosace/taut.toml");
}

#[test]
fn mobstr() {
    example("mobstr", "examples/mobstr/taut.toml");
}

#[test]
fn cochlear() {
    example("cochlear", "apps/cochlear/taut.toml");
}

#[test]
fn lines_may_be_left_out() {
    assert!(fits(&["a", CUT, "d"], &["a", "b", "c", "d"]));
    assert!(fits(&[CUT], &[]));
    assert!(!fits(&["a", CUT, "d"], &["a", "b"]));
    assert!(!fits(&["a"], &["a", "b"]));
}
