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

/// Every sample becomes a manifest that `taut check` accepts.
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
    assert!(err.contains("warning[TAUT0701]: critical sections are left out, their time is not"), "{err}");
    assert!(err.contains("[resources.state-vector]"), "{err}");
    assert!(out.contains("period=\"50.0\""), "{out}");
    let to_file = ["export", ".", "--to", "mast", "-o", "flight.txt"];
    assert_eq!(taut(folder.path(), &to_file).0, Some(0));
    assert_eq!(taut(folder.path(), &to_file).0, Some(2));
    let (code, _, err) = taut(folder.path(), &["export", "--to", "word"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("--to word: unknown language; use mast"), "{err}");
    std::fs::write(folder.path().join("taut.toml"), "manifest = 2").unwrap();
    assert_eq!(taut(folder.path(), &["export", "--to", "mast"]).0, Some(2));
}

const LANGUAGES: [(&str, &str); 4] =
    [("mast", "-- taut:"), ("simso", "<?xml"), ("cheddar", "<?xml"), ("rt-app", "{\n    \"tasks\"")];

/// Standard input, bytes that are not text, and files in another format than stated.
#[test]
fn import_of_anything() {
    use std::io::Write;
    let folder = tempfile::tempdir().unwrap();
    let import = |bytes: &[u8], more: &[&str]| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_taut"))
            .args(["import", "-"])
            .args(more)
            .current_dir(folder.path())
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // The command may have refused the input before it read all.
        let _ = child.stdin.take().unwrap().write_all(bytes);
        let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (status.code(), text(stdout), text(stderr))
    };
    let sample = std::fs::read_to_string(samples().join("flight.xmlv3")).unwrap();
    let (code, plain, err) = import(sample.as_bytes(), &[]);
    assert_eq!(code, Some(0), "{err}");
    assert!(plain.contains("name = \"imported\""), "{plain}");
    assert!(err.starts_with("read as Cheddar\n") && err.contains("standard input:98:3: task"), "{err}");
    // The same with a byte order mark and other line endings, with the language given.
    let dressed = format!("\u{feff}{}", sample.replace('\n', "\r\n"));
    for more in [&["--from", "auto"][..], &["--from", "cheddar"]] {
        assert_eq!(import(dressed.as_bytes(), more).1, plain, "{more:?}");
    }
    for (bytes, more, message) in [
        (&b""[..], &[][..], "standard input: it is empty"),
        (b"\xff\xfe<\0", &[], "standard input is UTF-16, not UTF-8 text: convert it"),
        (b"<a>\n\xe9</a>", &[], "standard input is not UTF-8 text: byte 4, in line 2"),
        (b"<simulation/>", &[], "it looks like SimSo's, which taut writes but does not read"),
        (b"<cheddar/>", &["--from", "mast"], "it looks like Cheddar, not MAST: `--from cheddar`"),
        (b"<cheddar/>", &["--unit", "0s"], "--unit 0s"),
        (b"<cheddar>", &[], "standard input:1:1: not XML"),
    ] {
        let (code, out, err) = import(bytes, more);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{message}: {err}");
        assert!(err.contains(message), "{message}: {err}");
    }
}

#[test]
fn reports_for_programs() {
    let folder = tempfile::tempdir().unwrap();
    let json = |arguments: &[&str]| -> serde_json::Value {
        let (code, out, err) = taut(folder.path(), arguments);
        assert_eq!((code, err.as_str()), (Some(0), ""), "{arguments:?}");
        serde_json::from_str(&out).unwrap()
    };
    let sample = samples().join("flight.xmlv3");
    let import = ["import", sample.to_str().unwrap(), "--format", "json"];
    let shown = json(&import);
    assert_eq!((&shown["schema_version"], &shown["language"]), (&1.into(), &"cheddar".into()));
    assert!(shown["manifest"].as_str().unwrap().starts_with("manifest = 1"), "{shown}");
    let task = shown["lost"].as_array().unwrap().iter().find(|lost| lost["line"] == 98).unwrap();
    assert_eq!(task["column"], 3);
    let written = json(&[&import[..], &["-o", "taut.toml"]].concat());
    assert_eq!((&written["output"], &written["manifest"]), (&"taut.toml".into(), &serde_json::Value::Null));
    assert_eq!(shown["manifest"], std::fs::read_to_string(folder.path().join("taut.toml")).unwrap());

    let export = json(&["export", "--to", "rt-app", "--format", "json", "--for", "1500ms"]);
    assert!(export["text"].as_str().unwrap().contains("\"duration\": 2,"), "{export}");
    let lost = export["lost"].as_array().unwrap();
    assert!(lost.iter().any(|lost| lost["place"] == "tasks.telemetry.jitter"), "{export}");
    let spans = export["diagnostics"].as_array().unwrap();
    let jitter = spans.iter().find(|one| one["message"] == "jitter is left out").unwrap();
    let text = std::fs::read_to_string(folder.path().join("taut.toml")).unwrap();
    let line = text.lines().position(|line| line == "jitter = \"3ms\"").unwrap() + 1;
    assert_eq!((&jitter["code"], &jitter["primary"]["line"]), (&"TAUT0701".into(), &line.into()), "{jitter}");
}

#[test]
fn export_of_one_core() {
    let folder = tempfile::tempdir().unwrap();
    let sample = samples().join("two-partitions.xml");
    assert_eq!(taut(folder.path(), &["import", sample.to_str().unwrap(), "-o", "taut.toml"]).0, Some(0));
    let (code, out, err) = taut(folder.path(), &["export", "--to", "simso", "--core", "1"]);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(out.matches("<task ").count(), 2, "{out}");
    assert_eq!(out.matches("<processor ").count(), 1, "{out}");
    for (arguments, message) in
        [(["--core", "7"], "--core 7: no such core; the cores are 0, 1"), (["--for", "0s"], "--for 0s")]
    {
        let (code, _, err) = taut(folder.path(), &[&["export", "--to", "simso"][..], &arguments].concat());
        assert_eq!(code, Some(2));
        assert!(err.contains(message), "{err}");
    }
}

/// Runs every command of the page, in order, in a folder with the sample.
#[test]
fn the_commands_of_the_page_work() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(samples().join("flight.xmlv3"), folder.path().join("flight.xmlv3")).unwrap();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/exchange.md");
    let page = std::fs::read_to_string(page).unwrap();
    let commands: Vec<_> = page.lines().filter_map(|line| line.strip_prefix("$ taut ")).collect();
    assert!(commands.len() > 5, "{commands:?}");
    for command in commands {
        // Those about the examples run beside them.
        if command.contains("examples/") {
            continue;
        }
        let arguments: Vec<_> = command.split(' ').collect();
        let (code, _, err) = taut(folder.path(), &arguments);
        assert_eq!(code, Some(0), "{command}: {err}");
        if let Some(output) = arguments.iter().position(|word| *word == "-o") {
            assert!(folder.path().join(arguments[output + 1]).is_file(), "{command}");
        }
    }
}

/// The manifests of RTDroid's applications become the manifests beside them, to the letter, and every deadline is proven.
///
/// `EXAMPLES_UPDATE=1` writes the latter.
#[test]
fn the_applications_of_rtdroid() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut count = 0;
    for entry in std::fs::read_dir(root.join("examples/rtdroid")).unwrap() {
        let folder = entry.unwrap().path();
        let (code, out, err) = taut(&folder, &["import", "manifest.xml"]);
        assert_eq!(code, Some(0), "{err}");
        if std::env::var_os("EXAMPLES_UPDATE").is_some() {
            std::fs::write(folder.join("taut.toml"), &out).unwrap();
        }
        let written = std::fs::read_to_string(folder.join("taut.toml")).unwrap_or_default();
        assert_eq!(out, written, "{}", folder.display());
        let (code, out, err) = taut(&folder, &["check"]);
        assert_eq!(code, Some(0), "{}\n{out}{err}", folder.display());
        count += 1;
    }
    assert_eq!(count, 4);
}
