// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut generate`: what it writes compiles for every manifest, each misuse of it does not, and the compiler says why.
#![allow(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const MANIFEST: &str = include_str!("misuse.toml");
const CORRECT: &str = include_str!("correct.rs");
const EVERY: &str = include_str!("../every.toml");

/// A change of the correct program, and lines of what the compiler prints about it: white space aside.
struct Misuse {
    name: &'static str,
    change: (&'static str, &'static str),
    says: &'static [&'static str],
}

const MISUSES: &[Misuse] = &[
    Misuse {
        name: "end_not_declared",
        change: ("io.samples.send(job, sample)?;", "io.sampels.send(job, sample)?;"),
        says: &[
            "error[E0609]: no field `sampels` on type `&mut sense::Io<'_>`",
            "help: a field with a similar name exists",
        ],
    },
    Misuse {
        name: "end_of_another_task",
        change: ("let _ = io.level.latest(job);", "let _ = io.samples.receive(job);"),
        says: &["error[E0609]: no field `samples` on type `&mut filter::Io<'_>`"],
    },
    Misuse {
        name: "writer_reads",
        change: ("io.samples.send(job, sample)?;", "let _ = io.samples.receive(job);"),
        says: &[
            "error[E0277]: task `sense` only sends to queue `samples`",
            "= note: taut.toml:46: from = \"sense\"",
            "= note: taut.toml:47: to = \"filter\"",
        ],
    },
    Misuse {
        name: "reader_writes",
        change: (
            "let wish = io.wish.latest(job).unwrap_or(0);",
            "let wish = 3; io.wish.publish(job, wish)?;",
        ),
        says: &[
            "error[E0277]: task `sense` only reads state `wish`",
            "= note: taut.toml:59: from = \"panel\"",
            "= note: taut.toml:60: to = \"sense\"",
        ],
    },
    Misuse {
        name: "state_as_queue",
        change: ("io.level.publish(job, wish)?;", "io.level.send(job, wish)?;"),
        says: &[
            "error[E0277]: task `sense` only publishes to state `level`",
            "= note: taut.toml:63: [channels.level]",
        ],
    },
    Misuse {
        name: "best_effort_writes",
        change: (
            "let _ = io.log.receive(context);",
            "let _ = io.log.send(context, Sample { job: 0, value: 0.0 });",
        ),
        says: &["error[E0277]: task `logger` only receives from queue `log`"],
    },
    Misuse {
        name: "wrong_payload",
        change: ("io.samples.send(job, sample)?;", "let _ = sample; io.samples.send(job, wish)?;"),
        says: &["error[E0308]: mismatched types", "expected `Sample`, found `i32`"],
    },
    Misuse {
        name: "wrong_trigger",
        change: ("value: Sample,\n", "value: Level,\n"),
        says: &["error[E0053]: method `receive` has an incompatible type for trait"],
    },
    Misuse {
        name: "task_without_code",
        change: ("watch: Watch, logger", "logger"),
        says: &["error[E0063]: missing field `watch` in initializer of `Tasks<"],
    },
    Misuse {
        name: "code_of_another_task",
        change: ("filter: Filter, watch: Watch", "filter: Watch, watch: Watch"),
        says: &[
            "error[E0277]: `Watch` is not the code of task `filter`",
            "= note: taut.toml:28: [tasks.filter]",
            "= note: write `impl task::Filter for Watch`",
        ],
    },
    Misuse {
        name: "resource_not_declared",
        change: (
            "let _ = io.level.latest(job);\n        io.log",
            "let _ = job.lock(&io.buss, |_, _| ());\n        let _ = io.level.latest(job);\n        io.log",
        ),
        says: &["error[E0609]: no field `buss` on type `&mut filter::Io<'_>`"],
    },
    Misuse {
        name: "resource_without_value",
        change: ("Resources { bus: 7 }", "Resources {}"),
        says: &["error[E0063]: missing field `bus` in initializer of `Resources`"],
    },
    Misuse {
        name: "resource_without_type",
        change: ("pub(crate) type Bus = u64;", ""),
        says: &["cannot find type `Bus` in module `super::super::super::resource`"],
    },
    Misuse {
        name: "safe_state_missing",
        change: ("        || (),\n", ""),
        says: &["error[E0061]: this method takes 3 arguments but 2 arguments were supplied"],
    },
    Misuse {
        name: "scope_not_declared",
        change: ("setup.task.sense.slice(8, 0)?", "setup.task.watch.slice(8, 0)?"),
        says: &["error[E0609]: no field `watch` on type `TaskScopes<'_>`"],
    },
    Misuse {
        name: "set_up_of_nothing",
        change: (
            "    setup.application(\n        Tasks { sense, filter: Filter, watch: Watch, logger },\n        Resources { bus: 7 },\n        || (),\n    )\n",
            "    let _ = (sense, logger); Ok(Ready(()))\n",
        ),
        says: &["error[E0423]: cannot initialize a tuple struct which contains private fields"],
    },
    Misuse {
        name: "block_after_its_send",
        change: ("image.send(job);", "image.send(job); image.value = 2.0;"),
        says: &["error[E0382]: borrow of moved value: `image`"],
    },
    Misuse {
        name: "receiver_of_blocks_fills",
        change: ("let _ = image.value;", "let _ = io.images.loan(job);"),
        says: &[
            "error[E0277]: task `watch` only receives blocks of `images`",
            "= note: taut.toml:71: from = \"sense\"",
        ],
    },
    Misuse {
        name: "received_block_is_written",
        change: ("let _ = image.value;", "image.value = 2.0;"),
        says: &["error[E0594]: cannot assign to data in dereference of `ReceivedBlock<'_, '_, Sample>`"],
    },
    Misuse {
        name: "end_is_kept",
        change: (
            "let _ = io.level.latest(job);",
            "static KEPT: std::sync::Mutex<Option<&mut task::filter::Io<'static>>> = std::sync::Mutex::new(None); *KEPT.lock().unwrap() = Some(io);",
        ),
        says: &["borrowed data escapes outside of method"],
    },
    Misuse {
        name: "payload_not_declared",
        change: ("Requests::Sample(sample))?;", "Requests::Louder(sample))?;"),
        says: &["error[E0599]: no variant", "named `Louder` found for enum `payload::Requests`"],
    },
    Misuse {
        name: "one_payload_of_several",
        change: ("io.requests.send(job, Requests::Sample(sample))?;", "io.requests.send(job, sample)?;"),
        says: &["error[E0308]: mismatched types", "expected `Requests`, found `Sample`"],
    },
    Misuse {
        name: "payload_not_handled",
        change: ("                Requests::Level(_) => {}\n", ""),
        says: &["error[E0004]: non-exhaustive patterns: `payload::Requests::Level(_)` not covered"],
    },
    Misuse {
        name: "receiver_of_several_sends",
        change: (
            "while let Some(request) = io.requests.next(job) {",
            "let _ = io.requests.send(job, Requests::Level(1)); while let Some(request) = io.requests.next(job) {",
        ),
        says: &["error[E0277]: task `watch` only receives message `requests`"],
    },
    Misuse {
        name: "client_sends_one_of_several",
        change: ("io.requests.publish(Requests::Level(2))", "io.requests.publish(2)"),
        says: &["error[E0308]: mismatched types", "expected `Requests`, found integer"],
    },
    Misuse {
        name: "client_reads",
        change: ("io.wish.publish(3)", "io.wish.latest()"),
        says: &[
            "error[E0277]: client `panel` only publishes to state `wish`",
            "= note: taut.toml:59: from = \"panel\"",
        ],
    },
    Misuse {
        name: "client_writes",
        change: ("io.level.latest()", "io.level.publish(3)"),
        says: &["error[E0277]: client `panel` only reads state `level`"],
    },
    Misuse {
        name: "client_without_end",
        change: ("io.log.receive()", "io.samples.receive()"),
        says: &["error[E0609]: no field `samples` on type `panel::Io`"],
    },
    Misuse {
        name: "error_without_names",
        change: ("type Error = Fault;", "type Error = String;"),
        says: &[
            "error[E0277]: a job cannot fail with `String`",
            "= note: `taut::errors!` makes an enum of an application's own errors",
        ],
    },
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What all packages have built.
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("generated/target")
}

/// A package in a folder of this test's own.
struct Package(PathBuf);

impl Package {
    fn new(name: &str, manifest: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("generated").join(name);
        // What an earlier run has left.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(folder.join("src/bin")).unwrap();
        let package = Self(folder);
        let library = root().join("edge/taut");
        package.write(
            "Cargo.toml",
            &format!(
                "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
                 [dependencies]\ntaut = {{ path = {:?} }}\n\n[workspace]\n",
                library.display().to_string()
            ),
        );
        std::fs::copy(root().join("Cargo.lock"), package.0.join("Cargo.lock")).unwrap();
        package.write("taut.toml", manifest);
        package
    }

    fn write(&self, path: &str, text: &str) {
        std::fs::write(self.0.join(path), text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.0.join(path)).unwrap()
    }

    fn taut(&self, line: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
        command.args(line.split_whitespace()).current_dir(&self.0).env("NO_COLOR", "1").output().unwrap()
    }

    fn generate(&self) {
        let output = self.taut("generate");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }

    fn cargo(&self, verb: &str, words: &[&str]) -> Output {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        let mut command = Command::new(cargo);
        command
            .args([verb, "--offline"])
            .args(words)
            .current_dir(&self.0)
            .env("CARGO_TARGET_DIR", target())
            .env("CARGO_INCREMENTAL", "0")
            .env("CARGO_PROFILE_DEV_DEBUG", "0");
        command.output().unwrap()
    }

    /// Builds the package; returns its program.
    fn build(&self) -> PathBuf {
        let output = self.cargo("build", &[]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        target().join("debug").join(self.0.file_name().unwrap())
    }

    /// What the compiler prints about each target; those of which it prints nothing are not there.
    fn check(&self, words: &[&str]) -> BTreeMap<String, String> {
        let output = self.cargo("check", &[&["--message-format=json", "--keep-going"], words].concat());
        let mut printed: BTreeMap<String, String> = BTreeMap::new();
        for line in text(&output.stdout).lines() {
            let message: serde_json::Value = serde_json::from_str(line).unwrap();
            if let (Some(target), Some(rendered)) =
                (message["target"]["name"].as_str(), message["message"]["rendered"].as_str())
            {
                printed.entry(target.to_owned()).or_default().push_str(rendered);
            }
        }
        // Cargo itself may have refused to begin.
        assert!(output.status.success() || !printed.is_empty(), "{}", text(&output.stderr));
        printed
    }
}

#[test]
fn each_misuse_has_its_message() {
    let package = Package::new("misuse", MANIFEST);
    package.generate();
    package.write("src/main.rs", CORRECT);
    for Misuse { name, change, .. } in MISUSES {
        assert_eq!(CORRECT.matches(change.0).count(), 1, "{name}");
        let program = CORRECT
            .replace(change.0, change.1)
            .replace("mod manifest;", "#[path = \"../manifest.rs\"]\nmod manifest;");
        package.write(&format!("src/bin/{name}.rs"), &program);
    }
    let printed = package.check(&["--bins"]);
    assert_eq!(printed.get("misuse"), None, "the correct program compiles without a warning");
    let mut wrong = String::new();
    for Misuse { name, says, .. } in MISUSES {
        let Some(printed) = printed.get(*name) else { panic!("{name} compiles") };
        for line in *says {
            if !printed.contains(line) {
                wrong.push_str(&format!("{name}: no line `{line}` in\n{printed}\n"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Names that Rust has for itself, that the generated text has, and pairs that would become one.
const NAMES: &str = include_str!("names.toml");

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

/// The resources for which a generated text wants a type.
fn resources(generated: &str) -> std::collections::BTreeSet<&str> {
    let names = generated.split("super::resource::").skip(1);
    names.map(|rest| rest.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().unwrap()).collect()
}

#[test]
fn the_text_of_every_manifest_compiles() {
    let package = Package::new("all", MANIFEST);
    let mut found = Vec::new();
    for folder in ["examples", "apps"] {
        manifests(&root().join(folder), &mut found);
    }
    assert!(found.len() > 10, "{found:?}");
    for (name, text) in [("every.toml", EVERY), ("names.toml", NAMES)] {
        package.write(name, text);
        found.push(package.0.join(name));
    }
    let mut main =
        String::from("//! All.\n#![deny(warnings, missing_docs, unreachable_pub, rust_2018_idioms)]\n");
    for (number, path) in found.iter().enumerate() {
        let out = package.0.join(format!("src/application_{number}/manifest.rs"));
        std::fs::create_dir_all(out.parent().unwrap()).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
        let output = command.arg("generate").arg(path).arg("--out").arg(&out).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}{}", path.display(), text(&output.stderr));
        let generated = std::fs::read_to_string(out).unwrap();
        let types: String = resources(&generated)
            .iter()
            .map(|name| format!("        pub(crate) type {name} = ();\n"))
            .collect();
        main.push_str(&format!(
            "mod application_{number} {{\n    mod manifest;\n    \
             #[allow(unused)]\n    pub(crate) mod resource {{\n{types}    }}\n}}\n"
        ));
    }
    package.write("src/main.rs", &(main.clone() + "fn main() {}\n"));
    assert_eq!(package.check(&[]).remove("all"), None);
    // What would be wrong is noticed.
    package.write("src/main.rs", &(main + "fn main() { application_0::manifest::app(()); }\n"));
    assert!(package.check(&[]).remove("all").unwrap().contains("module `manifest` is private"));
}

#[test]
fn the_text_is_that_of_the_manifest() {
    let package = Package::new("stale", MANIFEST);
    assert_eq!(package.taut("generate --check").status.code(), Some(1));
    assert!(!package.0.join("src/manifest.rs").exists());
    // A file of somebody else.
    package.write("src/manifest.rs", "//! Precious.\n");
    for line in ["generate", "generate --check"] {
        let output = package.taut(line);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("./src/manifest.rs was not made by `taut generate`"));
        assert_eq!(package.read("src/manifest.rs"), "//! Precious.\n");
    }
    std::fs::remove_file(package.0.join("src/manifest.rs")).unwrap();
    package.generate();
    package.write("src/main.rs", CORRECT);
    assert_eq!(package.check(&["--bin", "stale"]), BTreeMap::new());
    assert_eq!(package.taut("generate --check").status.code(), Some(0));
    assert!(!text(&package.taut("check").stderr).contains("src/manifest.rs"));

    // The user's own lines stay, in front.
    let generated = package.read("src/manifest.rs");
    package.write("src/manifest.rs", &format!("// A licence.\n{generated}"));
    assert_eq!(package.taut("generate --check").status.code(), Some(0));

    // A comment is a change, too: nobody has to judge which changes matter.
    package.write("taut.toml", &format!("{MANIFEST}# Another line.\n"));
    let says = "taut.toml has changed since this was made from it: run `taut generate`";
    assert!(package.check(&["--bin", "stale"])["stale"].contains(says));
    let output = package.taut("generate --check");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("./src/manifest.rs is out of date: run `taut generate`"));
    let output = package.taut("check");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("./src/manifest.rs is of another text of the manifest"));
    // `taut run` renews it before it builds, which is made to fail here.
    package.taut("run --dry-run");
    assert_eq!(package.taut("generate --check").status.code(), Some(1));
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    let output = command.arg("run").current_dir(&package.0).env("CARGO", "false").output().unwrap();
    assert!(text(&output.stderr).contains("generated: wrote ./src/manifest.rs"), "{}", text(&output.stderr));
    assert_eq!(package.taut("generate --check").status.code(), Some(0));
    assert_eq!(package.check(&["--bin", "stale"]), BTreeMap::new());
    assert!(package.read("src/manifest.rs").starts_with("// A licence.\n"));

    // An overlay counts as well, and the file says which it was.
    package.write("board.toml", "[tasks.watch]\nwcet = { value = \"2ms\", source = \"guess\" }\n");
    let output = package.taut("generate --overlay board.toml");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(package.read("src/manifest.rs").contains("from taut.toml, board.toml;"));
    assert!(!text(&package.taut("check").stderr).contains("src/manifest.rs"));
    package.write("board.toml", "[tasks.watch]\nwcet = { value = \"3ms\", source = \"guess\" }\n");
    assert!(package.check(&["--bin", "stale"])["stale"].contains("board.toml has changed since"));
    assert!(text(&package.taut("check").stderr).contains("./src/manifest.rs is of another text"));
    std::fs::remove_file(package.0.join("board.toml")).unwrap();
    let output = package.taut("check");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(
        text(&output.stderr).contains("./src/manifest.rs cannot be renewed: "),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn the_text_does_not_depend_on_the_folder() {
    let of = |name: &str, line: &str, inside: &str| {
        let package = Package::new(name, MANIFEST);
        let output = Command::new(env!("CARGO_BIN_EXE_taut"))
            .args(line.replace("PACKAGE", &package.0.display().to_string()).split(' '))
            .current_dir(package.0.join(inside))
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        package.read("src/manifest.rs")
    };
    let here = of("here", "generate", ".");
    assert_eq!(of("there", "generate PACKAGE", ".."), here);
    assert_eq!(of("within", "generate .. --out manifest.rs", "src"), here);
}

#[test]
fn what_cannot_be_generated_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let says = |manifest: &str, code: i32, what: &str| {
        std::fs::write(folder.path().join("taut.toml"), manifest).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
        let output = command.arg("generate").current_dir(folder.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains(what), "{}", text(&output.stderr));
        assert!(!folder.path().join("src/manifest.rs").exists());
    };
    says(MANIFEST, 2, "no folder above has a Cargo.toml");
    std::fs::write(folder.path().join("Cargo.toml"), "").unwrap();
    says(&MANIFEST.replace("from = \"sense\"", "from = \"sens\""), 2, "did you mean `sense`?");
    says(MANIFEST, 3, "cannot write ./src/manifest.rs");
}

/// The first block of a kind in a page.
fn block(page: &str, kind: &str) -> String {
    let (_, rest) = page.split_once(&format!("```{kind}\n")).unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

#[test]
fn the_example_of_the_readme_compiles() {
    let page = std::fs::read_to_string(root().join("README.md")).unwrap();
    let package = Package::new("readme", &block(&page, "toml"));
    package.generate();
    let example = block(&page, "rust,ignore");
    let main = |example: &str| {
        format!(
            "mod manifest;\nuse manifest::{{Tasks, payload, task}};\nuse taut::{{Failure, Job}};\n\
             struct Control {{ setpoint: payload::Setpoint }}\n{example}\n\
             taut::main!(manifest::app(|setup| {{\n    \
                 setup.application(Tasks {{ control: Control {{ setpoint: [0.0; 6] }} }})\n}}));\n"
        )
    };
    package.write("src/main.rs", &main(&example));
    assert_eq!(
        package.check(&["--bin", "readme"]).remove("readme").filter(|text| text.contains("error")),
        None
    );
    // What the comment says.
    let wrong = example.replace(
        "io.setpoint.latest(job)",
        "io.setpoint.publish(job, self.setpoint).ok().map(|()| [0.0; 6])",
    );
    package.write("src/main.rs", &main(&wrong));
    let says = "task `control` only reads state `setpoint`";
    assert!(package.check(&["--bin", "readme"])["readme"].contains(says));
}

/// The same application as `taut new` makes, with the macro in place of the file.
#[test]
fn an_application_in_the_form_of_a_macro_runs() {
    let made = |folder: &Path, line: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
        let output = command.args(line.split(' ')).current_dir(folder).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    };
    let folder = tempfile::tempdir().unwrap();
    made(folder.path(), "new form");
    let read = |path: &str| std::fs::read_to_string(folder.path().join("form").join(path)).unwrap();
    let package = Package::new("form", &read("taut.toml"));
    let with_feature =
        package.read("Cargo.toml").replace("taut = { ", "taut = { features = [\"manifest\"], ");
    package.write("Cargo.toml", &with_feature);
    let main = read("src/main.rs");
    let in_form = main.replace("mod manifest;", "mod manifest {\n    taut::manifest!(\"taut.toml\");\n}");
    assert_ne!(in_form, main);
    package.write("src/main.rs", &in_form);
    package.build();

    // The macro expands to what the file has: a change of the manifest changes both alike, and Cargo sees it.
    let wrong =
        read("taut.toml").replace("[tasks.logger]", "[tasks.writer]").replace("\"logger\"", "\"writer\"");
    package.write("taut.toml", &wrong);
    let printed = package.check(&[]).remove("form").unwrap();
    assert!(
        printed.contains("no field named `logger`") || printed.contains("cannot find `logger`"),
        "{printed}"
    );

    // A manifest with faults: the text of `taut check`, once.
    package.write("taut.toml", &read("taut.toml").replace("deadline = \"10ms\"", "deadline = \"10\""));
    let printed = package.check(&[]).remove("form").unwrap();
    assert_eq!(printed.matches("\nerror").count(), 0, "{printed}");
    for line in
        ["error: the manifest has faults", "error[TAUT0105]: `10` is not a duration", "--> taut.toml:15:12"]
    {
        assert_eq!(printed.matches(line).count(), 1, "{printed}");
    }
    for (argument, says) in [
        ("\"nowhere.toml\"", "error: cannot read nowhere.toml: No such file"),
        ("taut.toml", "error: write the manifest's path as a string"),
        ("", "error: write the manifest's path as a string"),
        ("\"taut.toml\" \"board.toml\"", "error: write the manifest's path as a string"),
    ] {
        package.write("src/main.rs", &in_form.replace("\"taut.toml\"", argument));
        let printed = package.check(&[]).remove("form").unwrap();
        assert!(printed.contains(says), "{argument}: {printed}");
    }

    // It runs.
    package.write("src/main.rs", &in_form);
    package.write("taut.toml", &read("taut.toml"));
    made(&package.0, "plan");
    let program = package.build();
    let mut command = Command::new(program);
    command
        .current_dir(&package.0)
        .env_remove("TAUT_LOCK")
        .env_remove("TAUT_RECORD_LIMIT")
        .env("TAUT_OUT", "out")
        .env("TAUT_FOR", "1s")
        .env("TAUT_RUNTIME_DIR", folder.path());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains(" °C, power 100 %, 0 lost"), "{}", text(&output.stdout));
}

/// An operation of a generated end beside the same operation of the layer below: the instructions of one call, optimised.
const BOTH: &str = "\
#[path = \"manifest.rs\"]
mod manifest;
use manifest::{payload::Sample, task};
use taut::{Context, Job, QueueReader, QueueWriter};
#[unsafe(no_mangle)]
pub fn by_hand_send(end: &mut QueueWriter<'_, Sample>, job: &mut Job<'_>, value: &Sample) -> bool {
    end.send_from(job, value).is_ok()
}
#[unsafe(no_mangle)]
pub fn generated_send(io: &mut task::filter::Io<'_>, job: &mut Job<'_>, value: &Sample) -> bool {
    io.log.send_from(job, value).is_ok()
}
#[unsafe(no_mangle)]
pub fn by_hand_receive(end: &mut QueueReader<'_, Sample>, context: &mut Context<'_>) -> Option<Sample> {
    end.receive(context)
}
#[unsafe(no_mangle)]
pub fn generated_receive(io: &mut task::logger::Io<'_>, context: &mut Context<'_>) -> Option<Sample> {
    io.log.receive(context)
}
";

/// The instructions of a function in assembly. LLVM makes one function of two that are equal, and the other its alias.
fn instructions(assembly: &str, function: &str) -> usize {
    let assignments = [format!("{function} = "), format!(".set {function}, ")];
    let alias =
        assembly.lines().find_map(|line| assignments.iter().find_map(|of| line.trim().strip_prefix(of)));
    let function = alias.unwrap_or(function);
    let body = assembly.lines().skip_while(|line| *line != format!("{function}:"));
    let body = body.take_while(|line| !line.contains(".cfi_endproc"));
    body.filter(|line| line.starts_with('\t') && !line.trim_start().starts_with('.')).count()
}

#[test]
fn an_end_costs_what_the_layer_below_costs() {
    let package = Package::new("cost", MANIFEST);
    package.generate();
    let profile =
        "\n[profile.dev]\nopt-level = 3\ncodegen-units = 1\n[profile.dev.package.\"*\"]\nopt-level = 0\n";
    package.write("Cargo.toml", &(package.read("Cargo.toml") + profile));
    // The file is in a module of its own, as the resource's type is beside it.
    package.write("src/lib.rs", &format!("mod resource {{ pub type Bus = u64; }}\n{BOTH}"));
    let assembly = package.0.join("cost.s");
    let output = package.cargo("rustc", &["--lib", "--", &format!("--emit=asm={}", assembly.display())]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let assembly = std::fs::read_to_string(assembly).unwrap();
    for operation in ["send", "receive"] {
        let [by_hand, generated] =
            ["by_hand", "generated"].map(|form| instructions(&assembly, &format!("{form}_{operation}")));
        println!("{operation}: {by_hand} instructions by hand, {generated} generated");
        assert!(by_hand > 2, "{assembly}");
        assert!(generated.abs_diff(by_hand) * 100 <= by_hand, "{operation}: {by_hand}, {generated}");
    }
}
