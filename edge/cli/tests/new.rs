// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut new`: what it makes is proven, builds, runs and is tested; what it refuses leaves nothing.
#![allow(clippy::unwrap_used, reason = "test code")]

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const TEMPLATES: [&str; 3] = ["control", "pipeline", "sporadic"];

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

/// `taut`, as a person calls it who has it in `PATH`.
fn taut(folder: &Path, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Answer {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    Answer::of(command.arg0("taut").args(words).current_dir(folder).env("NO_COLOR", "1"))
}

/// The files below a folder, and its empty folders, as sorted paths.
fn tree(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_string_lossy().into_owned();
        let below = if entry.file_type().unwrap().is_dir() { tree(&entry.path()) } else { Vec::new() };
        if below.is_empty() {
            found.push(name);
        } else {
            found.extend(below.iter().map(|path| format!("{name}/{path}")));
        }
    }
    found.sort();
    found
}

fn read(path: PathBuf) -> String {
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn a_template_is_proven() {
    let folder = tempfile::tempdir().unwrap();
    for template in TEMPLATES {
        let answer = taut(folder.path(), ["new", template, "--template", template]).yes();
        let application = folder.path().join(template);
        let mut files = vec![
            ".gitignore",
            "Cargo.lock",
            "Cargo.toml",
            "README.md",
            "src/main.rs",
            "src/manifest.rs",
            "taut.lock",
            "taut.toml",
        ];
        if template == "sporadic" {
            files.insert(4, "src/bin/buttons.rs");
        }
        assert_eq!(tree(&application), files);
        for file in files {
            let text = read(application.join(file));
            let left = ["SPDX", "{name}", "{cpus}"].into_iter().find(|left| text.contains(left));
            assert!(
                left.is_none() && !text.starts_with('\n') && text.ends_with('\n'),
                "{file}: {left:?}\n{text}"
            );
            assert!(answer.out.contains(file), "{file}: {}", answer.out);
        }
        let manifest = read(application.join("taut.toml"));
        assert!(manifest.contains(&format!("name = \"{template}\"")), "{manifest}");
        let cpus = taut_sys::thread::affinity().unwrap();
        assert!(manifest.contains(&format!("\ncores = [{}] ", cpus.last().unwrap())), "{manifest}");

        let check = taut(&application, ["check"]).yes();
        assert_eq!(check.err, "");
        assert!(check.out.starts_with(&format!("{template}: every deadline is proven\n")), "{}", check.out);
        assert!(taut(&application, ["plan", "--check"]).yes().out.contains("is up to date"));
        let plan = read(application.join("taut.lock"));
        std::fs::remove_file(application.join("taut.lock")).unwrap();
        taut(&application, ["plan"]).yes();
        assert_eq!(read(application.join("taut.lock")), plan);
        assert!(taut(&application, ["plan"]).yes().out.contains("is up to date"));
    }
}

#[test]
fn a_template_says_what_the_manual_says() {
    let folder = tempfile::tempdir().unwrap();
    taut(folder.path(), ["new", "thermostat"]).yes();
    let [manifest, program] =
        ["taut.toml", "src/main.rs"].map(|file| read(folder.path().join("thermostat").join(file)));
    let page = read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/first-application.md"));
    let shown = |kind: &str| {
        let (_, rest) = page.split_once(&format!("```{kind}\n")).unwrap();
        rest.split_once("```").unwrap().0.to_owned()
    };
    // The CPUs are those of the machine.
    let portable = |text: &str| -> Vec<String> {
        let lines =
            text.lines().filter(|line| !line.starts_with("cores") && !line.starts_with("housekeeping"));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(portable(&shown("toml")), portable(&manifest));
    assert_eq!(shown("rust"), program);
}

/// By the defaults of rustfmt, which its user has.
#[test]
fn a_template_is_formatted() {
    if !Command::new("rustfmt").arg("--version").output().is_ok_and(|output| output.status.success()) {
        println!("skipped: no rustfmt");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for template in TEMPLATES {
        taut(folder.path(), ["new", template, "--template", template]).yes();
        for file in tree(&folder.path().join(template)).iter().filter(|file| file.ends_with(".rs")) {
            let file = folder.path().join(template).join(file);
            let mut rustfmt = Command::new("rustfmt");
            let answer = Answer::of(rustfmt.args(["--check", "--edition", "2024"]).arg(&file));
            assert_eq!(answer.code, Some(0), "{}\n{}{}", file.display(), answer.out, answer.err);
        }
    }
}

#[test]
fn it_says_what_to_do_next() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("my work")).unwrap();
    let answer = taut(folder.path(), ["new", "my work/arm"]).yes();
    assert_eq!(
        answer.out,
        "wrote my work/arm: .gitignore, Cargo.toml, Cargo.lock, README.md, taut.toml, taut.lock, src/main.rs, \
         src/manifest.rs\nnext:\n  \
         cd 'my work/arm'\n  \
         taut check      # is every deadline kept?\n  \
         taut run        # builds it, runs it for 10 s, and reports\n"
    );
    assert_eq!(answer.err, "");
    // Called by its path, which may be relative: the path that holds in any folder.
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    let answer = Answer::of(command.arg0("../taut").args(["new", "leg"]).current_dir(folder.path()));
    let program = Path::new(env!("CARGO_BIN_EXE_taut")).canonicalize().unwrap();
    assert!(answer.yes().out.contains(&format!("\n  {} check  ", program.display())));
}

#[test]
fn a_name_that_does_not_fit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let long = "a".repeat(64);
    let refused = |words: &[&OsStr], text: &str| {
        let answer = taut(folder.path(), [&["new".as_ref()], words].concat());
        assert_eq!(answer.code, Some(2), "{words:?}: {}{}", answer.out, answer.err);
        assert!(answer.err.contains(text), "{words:?}: {}", answer.err);
        assert!(tree(folder.path()).is_empty(), "{words:?}");
    };
    let rule = "a lower-case letter, then lower-case letters, digits and single `-`; at most 63";
    for (name, text) in [
        ("Arm", "`Arm` cannot be the application's name: "),
        ("Arm", "; `arm` would be one"),
        ("my_arm", "; `my-arm` would be one"),
        ("7seg", rule),
        ("arm-", rule),
        ("a--b", rule),
        ("é", rule),
        (&long, rule),
        ("fn", "a keyword of Rust"),
        ("gen", "a keyword of Rust"),
        ("test", "Rust or Cargo has something of that name"),
        ("build", "Rust or Cargo has something of that name"),
        ("taut", "the crates of taut"),
        ("taut-run", "the crates of taut"),
        (".", "no last part"),
        ("..", "no last part"),
        ("/", "no last part"),
        ("nowhere/Arm", "`Arm` cannot be"),
    ] {
        refused(&[name.as_ref()], text);
    }
    refused(&[&OsString::from_vec(b"arm\xff".to_vec())], rule);
    refused(&["buttons", "--template", "sporadic"].map(OsStr::new), "another program of that name");
    refused(&["arm", "--template", "contrl"].map(OsStr::new), "a similar value exists: 'control'");
    taut(folder.path(), ["new", "buttons"]).yes();
}

#[test]
fn what_is_there_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::create_dir(path("full")).unwrap();
    std::fs::write(path("full/.hidden"), "precious").unwrap();
    std::fs::write(path("file"), "precious").unwrap();
    std::os::unix::fs::symlink("nowhere", path("link")).unwrap();
    let before = tree(folder.path());
    for (name, code, text) in [
        ("full", 2, "full exists and is not empty"),
        ("file", 2, "file exists and is not a folder"),
        ("file/arm", 2, "a component of the path is a file, not a folder"),
        ("nowhere/arm", 2, "nowhere does not exist"),
        ("link", 3, "cannot write link: File exists"),
    ] {
        let answer = taut(folder.path(), ["new", name]);
        assert_eq!(answer.code, Some(code), "{name}: {}{}", answer.out, answer.err);
        assert!(answer.err.contains(text), "{name}: {}", answer.err);
        assert_eq!(tree(folder.path()), before, "{name}");
    }
    assert_eq!([read(path("full/.hidden")), read(path("file"))], ["precious", "precious"]);
    // An empty folder becomes the application's.
    std::fs::create_dir(path("empty")).unwrap();
    taut(folder.path(), ["new", "empty"]).yes();
    assert!(path("empty/src/main.rs").is_file());
}

/// A limit on the size of files stands in for a full disk: small files are written, a larger one is not.
#[test]
fn a_failure_on_the_way_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$0\" new arm";
    let limited = || {
        let mut shell = Command::new("sh");
        shell.args(["-c", script, env!("CARGO_BIN_EXE_taut")]).current_dir(folder.path());
        let answer = Answer::of(&mut shell);
        assert_eq!(answer.code, Some(3), "{}{}", answer.out, answer.err);
        assert!(answer.err.contains("File too large"), "{}", answer.err);
        assert_eq!(answer.out, "");
    };
    limited();
    assert!(tree(folder.path()).is_empty(), "{:?}", tree(folder.path()));
    // A folder that was there before stays, and is empty again.
    std::fs::create_dir(folder.path().join("arm")).unwrap();
    limited();
    assert_eq!(tree(folder.path()), ["arm"]);
}

#[test]
fn a_folder_without_the_right_to_write_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let permissions = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let program = folder.path().join("taut");
    std::fs::copy(env!("CARGO_BIN_EXE_taut"), &program).unwrap();
    let closed = folder.path().join("closed");
    std::fs::create_dir(&closed).unwrap();
    permissions(&closed, 0o555);
    permissions(folder.path(), 0o755);
    // Root may write everywhere, and can run as another user.
    let is_root = std::fs::create_dir(closed.join("may")).is_ok();
    let command = |words: &[&str]| {
        let mut command = Command::new(if is_root { Path::new("setpriv") } else { &program });
        if is_root {
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program);
        }
        command.args(words).current_dir(folder.path()).output()
    };
    if !command(&["--version"]).is_ok_and(|output| output.status.success()) {
        println!("skipped: no user without the right to write: root cannot become another user here");
        return;
    }
    let output = command(&["new", "closed/arm"]).unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("cannot write closed/arm: Permission denied"), "{said}");
    assert!(!closed.join("arm").exists());
}

/// The folder of the applications that are built. It lies in the folder of another workspace, ours.
fn built() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("new")
}

/// Cargo, in the folder of an application. All applications share what is built of taut.
fn cargo(application: &str, words: &[&str]) -> Answer {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(words).args(["--offline", "--target-dir"]).arg(built().join("target"));
    cargo
        .current_dir(built().join(application))
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_PROFILE_DEV_DEBUG", "0");
    Answer::of(&mut cargo)
}

/// A program of an application, for a second.
fn program(application: &str, name: &str) -> Command {
    let (folder, sockets) = (built().join(application), built().join("sockets"));
    std::fs::create_dir_all(&sockets).unwrap();
    let mut command = Command::new(built().join("target/debug").join(name));
    command
        .current_dir(&folder)
        .env_remove("TAUT_LOCK")
        .env_remove("TAUT_RECORD_LIMIT")
        .env("TAUT_OUT", "out")
        .env("TAUT_FOR", "1s")
        .env("TAUT_APPLICATIONS_DIR", folder.join("applications"))
        .env("TAUT_RUNTIME_DIR", sockets);
    command
}

/// The report must say that the run was kept. A machine that others share may stall without its probe noticing, so that
/// a few jobs are late: ten of a hundred at most. No other breach is allowed.
fn is_kept(application: &str) {
    let folder = built().join(application);
    taut(&folder, ["report", "out"]);
    let report: serde_json::Value = serde_json::from_str(&read(folder.join("out/report.json"))).unwrap();
    let breaches = report["breaches"].as_array().unwrap();
    assert!(breaches.len() <= 10, "{application}: {breaches:?}");
    for breach in breaches {
        let is_late = ["response", "latency", "age"].iter().any(|late| breach["breach"] == *late);
        assert!(is_late && breach["cause"] != "not-proven", "{application}: {breach}");
    }
    let released = report["tasks"].as_array().unwrap().iter().filter(|task| task["cpu"].is_u64());
    for task in released {
        assert!(task["completions"].as_u64() > Some(0), "{application}: {task}");
    }
}

/// Builds, runs and tests each template: one test, because all want the same CPU.
#[test]
fn an_application_builds_and_runs() {
    std::fs::create_dir_all(built()).unwrap();
    for template in TEMPLATES {
        // What an earlier run of this test has left.
        let _ = std::fs::remove_dir_all(built().join(template));
        taut(&built(), ["new", template, "--template", template]).yes();
        let versions = || packages(&read(built().join(template).join("Cargo.lock")));
        let given = versions();
        let build = cargo(template, &["build"]).yes();
        assert!(!build.err.contains("warning"), "{}", build.err);
        // Cargo has chosen no other versions, and added the application alone.
        let added: Vec<_> = versions().into_iter().filter(|package| !given.contains(package)).collect();
        assert_eq!(added, [(template.to_owned(), "0.1.0".to_owned())]);
        cargo(template, &["build", "--locked"]).yes();
    }

    let run = Answer::of(&mut program("control", "control")).yes();
    assert!(run.out.lines().any(|line| line.contains(" °C, power 100 %, 0 lost")), "{}", run.out);
    is_kept("control");
    let run = Answer::of(&mut program("pipeline", "pipeline")).yes();
    assert!(run.out.lines().any(|line| line.starts_with("average 0.")), "{}", run.out);
    is_kept("pipeline");

    let alone = Answer::of(&mut program("sporadic", "buttons"));
    assert_eq!(alone.code, Some(1), "{}{}", alone.out, alone.err);
    assert!(alone.err.contains("error: ") && alone.err.contains("sporadic"), "{}", alone.err);
    let mut sporadic = program("sporadic", "sporadic");
    let sporadic = sporadic.env("TAUT_FOR", "3s").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut sporadic = sporadic.spawn().unwrap();
    let mut said = BufReader::new(sporadic.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("sporadic runs") {
        line.clear();
        assert_ne!(said.read_line(&mut line).unwrap(), 0, "the application did not start");
    }
    let buttons = Answer::of(&mut program("sporadic", "buttons")).yes();
    let (mut rest, mut printed) = (String::new(), String::new());
    said.read_to_string(&mut rest).unwrap();
    sporadic.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    assert_eq!(sporadic.wait().unwrap().code(), Some(0), "{rest}");
    assert!(buttons.out.starts_with("sent 1\n"), "{}", buttons.out);
    assert!(printed.starts_with("level 1, 0 lost\n"), "{printed}");
    is_kept("sporadic");

    for template in TEMPLATES {
        let tested = cargo(template, &["test"]).yes();
        assert!(tested.out.contains("2 passed; 0 failed"), "{}", tested.out);
        if template == "control" {
            // But for the time that it took, the page shows this.
            let page = read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/first-application.md"));
            let shown = tested.out.lines().map(|line| line.split("; finished in").next().unwrap());
            let shown: Vec<&str> = shown.filter(|line| !line.is_empty()).collect();
            assert!(shown.len() == 4 && shown.iter().all(|line| page.contains(line)), "{shown:?}");
        }
    }
    // What a user changes reaches the test in virtual time, for each template.
    for (template, old, new, failed) in [
        ("control", "8.0 * power", "2.0 * power", "the_control_reaches_60_degrees"),
        ("pipeline", "self.average = smooth", "let _ = smooth", "every_sample_is_filtered_in_time"),
        ("sporadic", "self.level = level", "let _ = level", "every_order_changes_the_level"),
    ] {
        let program = built().join(template).join("src/main.rs");
        let text = read(program.clone());
        assert_eq!(text.matches(old).count(), 1, "{template}");
        std::fs::write(program, text.replace(old, new)).unwrap();
        let tested = cargo(template, &["test"]);
        assert_eq!(tested.code, Some(101), "{}{}", tested.out, tested.err);
        assert!(tested.out.contains(&format!("test tests::{failed} ... FAILED")), "{}", tested.out);
    }
    // After a change of the manifest, the compiler says what is missing, and then the test.
    let manifest = built().join("control/taut.toml");
    let text = read(manifest.clone());
    std::fs::write(&manifest, text.replace("\"10ms\"", "\"20ms\"")).unwrap();
    let tested = cargo("control", &["test"]);
    let said = "taut.toml has changed since this was made from it: run `taut generate`";
    assert!(tested.err.contains(said), "{}", tested.err);
    taut(&built().join("control"), ["generate"]).yes();
    let tested = cargo("control", &["test"]);
    let said = "taut.lock is out of date: taut.toml has changed since it was planned; run `taut plan`";
    assert!(tested.out.contains(said), "{}", tested.out);
    std::fs::remove_file(built().join("control/taut.lock")).unwrap();
    let tested = cargo("control", &["test"]);
    assert!(tested.out.contains("there is no taut.lock: `taut plan` makes it"), "{}", tested.out);
}

/// The packages of a `Cargo.lock`, each with its version.
fn packages(lock: &str) -> Vec<(String, String)> {
    let package = |text: &str| {
        let value = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(&format!("{key} = ")));
            line.unwrap().trim_matches('"').to_owned()
        };
        (value("name"), value("version"))
    };
    lock.split("[[package]]").skip(1).map(package).collect()
}
