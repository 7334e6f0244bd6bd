// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut import` and `taut export` as a person types them.
#![allow(clippy::unwrap_used, reason = "test code")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../pure/exchange/samples")
}

/// The exit code, stdout and stderr.
fn taut(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let command = Command::new(env!("CARGO_BIN_EXE_taut"))
        .args(arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .output();
    let Output { status, stdout, stderr } = command.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

/// Every sample becomes a manifest that `taut check` understands.
#[test]
fn samples_are_checked() {
    let mut count = 0;
    for entry in std::fs::read_dir(samples()).unwrap() {
        let folder = tempfile::tempdir().unwrap();
        let path = entry.unwrap().path();
        let (code, out, err) = taut(folder.path(), &["import", path.to_str().unwrap(), "-o", "taut.toml"]);
        assert_eq!((code, out.as_str()), (Some(0), ""), "{}: {err}", path.display());
        let (code, _, err) = taut(folder.path(), &["check"]);
        let text = std::fs::read_to_string(folder.path().join("taut.toml")).unwrap();
        assert!(matches!(code, Some(0 | 1)), "{}: {code:?} {err}\n{text}", path.display());
        count += 1;
    }
    assert!(count > 1);
}

#[test]
fn import_writes_once() {
    let folder = tempfile::tempdir().unwrap();
    let sample = samples().join("flight.xmlv3");
    let sample = sample.to_str().unwrap();
    let (code, out, err) = taut(folder.path(), &["import", sample, "--unit", "100us"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.starts_with("manifest = 1\n\n[app]\nname = \"flight\"\n"), "{out}");
    assert!(err.contains("flight.xmlv3:98:3: task `ground_command` is of type APERIODIC_TYPE"), "{err}");

    assert_eq!(taut(folder.path(), &["import", sample, "-o", "taut.toml"]).0, Some(0));
    let (code, _, err) = taut(folder.path(), &["import", sample, "-o", "taut.toml", "--unit", "1us"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("taut.toml exists; `--force` replaces it"), "{err}");
    let (code, ..) = taut(folder.path(), &["import", sample, "-o", "taut.toml", "--unit", "1us", "--force"]);
    assert_eq!(code, Some(0));
    assert!(
        std::fs::read_to_string(folder.path().join("taut.toml")).unwrap().contains("periodic = \"50us\"")
    );
}

#[test]
fn import_refuses_with_a_place() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bad.xml"), "<taskset>\n  <task>\n</taskset>\n").unwrap();
    std::fs::write(folder.path().join("bad.txt"), "hello").unwrap();
    let (code, _, err) = taut(folder.path(), &["import", "bad.xml"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("bad.xml:3:1: not XML"), "{err}");
    for arguments in
        [&["import", "bad.txt"][..], &["import", "none.xml"], &["import", "bad.xml", "--from", "x"]]
    {
        assert_eq!(taut(folder.path(), arguments).0, Some(2), "{arguments:?}");
    }
}

#[test]
fn export_writes_each_language() {
    let folder = tempfile::tempdir().unwrap();
    let sample = samples().join("flight.xmlv3");
    assert_eq!(taut(folder.path(), &["import", sample.to_str().unwrap(), "-o", "taut.toml"]).0, Some(0));
    for (language, start) in LANGUAGES {
        let (code, out, err) = taut(folder.path(), &["export", "--to", language]);
        assert_eq!(code, Some(0), "{language}: {err}");
        assert!(out.starts_with(start), "{language}: {out}");
    }
    let (_, out, err) = taut(folder.path(), &["export", "--to", "simso"]);
    assert!(err.contains("resources.state-vector: critical sections are left out"), "{err}");
    assert!(out.contains("period=\"50.0\""), "{out}");
    let to_file = ["export", ".", "--to", "mast", "-o", "flight.txt"];
    assert_eq!(taut(folder.path(), &to_file).0, Some(0));
    assert_eq!(taut(folder.path(), &to_file).0, Some(2));
    let (code, _, err) = taut(folder.path(), &["export", "--to", "word"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("--to word: written are mast"), "{err}");
    std::fs::write(folder.path().join("taut.toml"), "manifest = 2").unwrap();
    assert_eq!(taut(folder.path(), &["export", "--to", "mast"]).0, Some(2));
}

const LANGUAGES: [(&str, &str); 4] =
    [("mast", "-- taut:"), ("simso", "<?xml"), ("cheddar", "<?xml"), ("rt-app", "{\n    \"tasks\"")];
