// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut plan` with requests beside the manifest.
#![allow(clippy::unwrap_used, reason = "test code")]

use std::path::Path;
use std::process::{Command, Output};

/// Exit code, and both streams.
fn taut(folder: &Path, line: &str) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_taut"))
        .args(line.split_whitespace())
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    (status.code(), String::from_utf8(stdout).unwrap() + &String::from_utf8(stderr).unwrap())
}

/// A writer and a reader on two cores, with a state that takes less memory with a lock.
fn folder(scheduler: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let task = |name: &str, period: &str, core: u8| {
        format!(
            "[tasks.{name}]\narrival = {{ periodic = \"{period}\" }}\ndeadline = \"{period}\"\n\
             wcet = {{ value = \"500us\", source = \"measured\" }}\ncore = {core}\n"
        )
    };
    let manifest = format!(
        "manifest = 1\n[app]\nname = \"two\"\n[platform]\ncores = [0, 1]\nscheduler = \"{scheduler}\"\nexecutor = \"dispatched\"\n\
         overheads = {{ lock = \"1us\" }}\n[payloads]\nMap = {{ type = \"u8\", len = 4000 }}\n{}{}\
         [channels.map]\nkind = \"state\"\nfrom = \"writer\"\nto = \"reader\"\npayload = \"Map\"\n",
        task("writer", "5ms", 0),
        task("reader", "20ms", 1)
    );
    std::fs::write(folder.path().join("taut.toml"), manifest).unwrap();
    folder
}

fn lock(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("taut.lock")).unwrap()
}

#[test]
fn an_override_holds_until_the_manifest_changes() {
    let folder = folder("fp");
    let folder = folder.path();
    let (code, said) = taut(folder, "plan");
    assert!(code == Some(0) && said.contains("1 state decided, for least memory"), "{said}");
    assert!(lock(folder).contains("mechanism = \"msrp\""));
    let (code, said) = taut(folder, "plan --check --pin map=chen");
    assert!(code == Some(1) && said.contains("channels.map.mechanism: msrp -> chen"), "{said}");
    assert!(!lock(folder).contains("overrides"), "nothing is written by --check");
    assert_eq!(taut(folder, "plan --pin map=chen").0, Some(0));
    assert!(lock(folder).contains("[overrides]"), "{}", lock(folder));
    // Later plans keep the pin.
    assert_eq!(taut(folder, "plan --check").0, Some(0));
    let (_, said) = taut(folder, "explain --channel map");
    assert!(said.contains("Chen: pinned"), "{said}");
    let (_, said) = taut(folder, "plan --why map");
    assert!(said.contains("taken, since it is pinned"), "{said}");
    // For a changed manifest, the request no longer holds.
    let manifest = std::fs::read_to_string(folder.join("taut.toml")).unwrap();
    std::fs::write(folder.join("taut.toml"), manifest.replace("4000", "4001")).unwrap();
    let (_, said) = taut(folder, "explain --channel map");
    assert!(said.contains("MSRP: state"), "{said}");
    assert_eq!(taut(folder, "plan --minimise slack").0, Some(0));
    assert!(
        lock(folder).contains("minimise = \"slack\"")
            && !lock(folder).contains("mechanism = \"msrp\"\nreason")
    );
}

#[test]
fn impossible_pins_are_refused() {
    let folder = folder("edf");
    let folder = folder.path();
    for (line, code, says) in [
        ("plan --pin map", 2, "write CHANNEL=MECHANISM"),
        ("plan --pin map=lock", 2, "unknown mechanism `lock`: use one of sdrtr"),
        ("plan --pin mapp=chen", 2, "did you mean `map`?"),
        ("plan --pin map=sdrtw", 2, "SDrtW does not fit the parties of channel `map`; these do: presence"),
        ("plan --pin map=chen --pin map=nbw", 2, "channel `map` is pinned twice"),
        ("plan --why maps", 2, "did you mean `map`?"),
        ("plan --why map --check", 2, "cannot be used with"),
        ("plan --minimise cost", 2, "possible values: memory, response, slack"),
        // A lock that fits the tasks, but not their cores or how they are executed.
        ("plan --pin map=srp", 1, "SRP does not fit state `map`"),
        ("plan --pin map=mpcp", 1, "MPCP does not fit state `map`"),
        ("check", 0, "every deadline is proven"),
    ] {
        let (found, said) = taut(folder, line);
        assert!(found == Some(code) && said.contains(says), "{line}: {found:?}\n{said}");
    }
    assert!(!folder.join("taut.lock").exists());
    assert_eq!(taut(folder, "plan").0, Some(0));
    assert_eq!(taut(folder, "run --dry-run").0, Some(0), "under EDF, and with a lock between cores");
}

/// The manifest is proven, but cannot be executed.
#[test]
fn more_users_than_a_lock_can_have() {
    let folder = tempfile::tempdir().unwrap();
    let task = |at: u32| {
        format!(
            "[tasks.t{at}]\narrival = {{ periodic = \"1s\" }}\ndeadline = \"1s\"\nwcet = {{ value = \"50us\", source = \"static\" }}\n\
             core = {}\nsections = [{{ resource = \"bus\", longest = \"1us\" }}]\n",
            at % 2
        )
    };
    let manifest = format!(
        "manifest = 1\n[app]\nname = \"many\"\n[platform]\ncores = [0, 1]\nmemory = \"256MiB\"\n[resources.bus]\n{}",
        (0..65).map(task).collect::<String>()
    );
    std::fs::write(folder.path().join("taut.toml"), manifest).unwrap();
    let (code, said) = taut(folder.path(), "run --dry-run");
    let reported = "many is proven, but not run: this version does not execute MSRP for resource `bus` with 65 users, more than 64";
    assert!(code == Some(1) && said.contains(reported), "{said}");
    assert!(
        said.contains("help: let at most 64 tasks use `bus`, or let all of its users run on one core"),
        "{said}"
    );
}

/// Simulated runs of a plan with a locked state use that lock.
#[test]
fn runs_with_a_locked_state() {
    let folder = folder("fp");
    let (code, said) = taut(folder.path(), "sim --runs 5");
    assert!(code == Some(0) && said.contains("writer") && said.contains("nearest"), "{said}");
    let (code, said) = taut(folder.path(), "refute --for 1s");
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = taut(folder.path(), "run --dry-run");
    assert_eq!(code, Some(0), "{said}");
}

/// A plan changed by an editor, or by resolving a merge.
#[test]
fn a_plan_that_was_changed() {
    let folder = folder("fp");
    let folder = folder.path();
    assert_eq!(taut(folder, "plan --pin map=chen").0, Some(0));
    let whole = lock(folder);
    let edited = whole.replacen("deadline = \"5ms\"", "deadline = \"6ms\"", 1);
    assert_ne!(edited, whole);
    std::fs::write(folder.join("taut.lock"), &edited).unwrap();
    let (code, said) = taut(folder, "plan --check");
    assert_eq!(code, Some(1));
    assert_eq!(
        said,
        "error[TAUT0602]: ./taut.lock is not what `taut plan` wrote; run `taut plan`\n  \
         tasks.writer.deadline: 6ms -> 5ms\n"
    );
    assert_eq!(lock(folder), edited, "nothing is written by --check");
    let (code, said) = taut(folder, "plan");
    assert!(code == Some(0) && said.contains("wrote ./taut.lock"), "{said}");
    assert_eq!(taut(folder, "plan --check").0, Some(0), "as if nobody had changed it");
    let (_, page) = taut(folder, "explain TAUT0602");
    assert!(page.contains("not a signature"), "{page}");
    // An unresolved merge conflict.
    let conflict = format!("<<<<<<< ours\n{whole}=======\n{edited}>>>>>>> theirs\n");
    std::fs::write(folder.join("taut.lock"), conflict).unwrap();
    let (code, said) = taut(folder, "plan --check");
    assert!(code == Some(1) && said.contains("error[TAUT0601]") && said.contains("is damaged"), "{said}");
}

/// A manifest without a program cannot run, and nothing is written.
#[test]
fn a_run_without_a_program_writes_nothing() {
    let folder = folder("fp");
    let (code, said) = taut(folder.path(), "run --for 1ms");
    assert!(code == Some(2) && said.contains("has no Cargo.toml to build"), "{said}");
    let left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["taut.toml"]);
}
