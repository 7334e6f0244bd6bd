// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Absurd manifests: each command answers in bounded time, with a documented exit code.
#![allow(clippy::unwrap_used, reason = "test code")]

use std::fmt::Write;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

const NO_OVERHEADS: &str = "[platform.overheads]\nrelease = \"0ns\"\ncontext-switch = \"0ns\"\n\
                            kernel-blocking = \"0ns\"\nlock = \"0ns\"\n";
const LONGEST: &str = "18446744073709551615ns";

fn head(platform: &str) -> String {
    format!("manifest = 1\n[app]\nname = \"odd\"\n[platform]\nmemory = \"4GiB\"\n{platform}\n")
}

fn task(name: &str, period: &str, deadline: &str, wcet: &str, more: &str) -> String {
    format!(
        "[tasks.{name}]\narrival = {{ periodic = \"{period}\" }}\ndeadline = \"{deadline}\"\n\
         wcet = {{ value = \"{wcet}\", source = \"guess\" }}\n{more}\n"
    )
}

/// Exit code and both outputs of a command, which may take a minute in a slow build.
fn taut(line: &str, manifest: &str) -> (i32, String) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("taut.toml"), manifest).unwrap();
    let begun = Instant::now();
    let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_taut"))
        .args(line.split_whitespace())
        .current_dir(folder.path())
        .env("NO_COLOR", "1")
        .env_remove("CLICOLOR_FORCE")
        .output()
        .unwrap();
    assert!(begun.elapsed() < Duration::from_secs(60), "{line}");
    let reported = String::from_utf8(stdout).unwrap() + &String::from_utf8(stderr).unwrap();
    assert!(!reported.contains("panicked"), "{line}: {reported}");
    (status.code().unwrap(), reported)
}

/// The exit code of `check`, after all other commands have answered with a documented code.
fn answered(manifest: &str) -> (i32, String) {
    for line in ["check --format json", "plan", "sim --for 1ms --runs 1", "run --dry-run", "explain --task a"]
    {
        let (code, reported) = taut(line, manifest);
        assert!((0..=2).contains(&code), "{line}: {code}\n{reported}");
    }
    taut("check", manifest)
}

#[test]
fn ten_thousand_tasks() {
    // A build without optimisation gets a tenth.
    let count = if cfg!(debug_assertions) { 1_000 } else { 10_000 };
    let cores = (0..count / 50).map(|core| core.to_string()).collect::<Vec<_>>().join(", ");
    let mut manifest = head(&format!("cores = [{cores}]\nhousekeeping = [1000]\nscheduler = \"edf\""));
    for at in 0..count {
        let period = [10, 20, 25, 40, 50, 100, 200, 400][at % 8];
        let period = format!("{period}ms");
        manifest += &task(&format!("t{at}"), &period, &period, &format!("{}us", 50 + at % 40), "");
    }
    let (code, reported) = taut("check", &manifest);
    assert_eq!(code, 0, "{}", &reported[..reported.len().min(2_000)]);
    assert!(reported.contains(&format!("t{}", count - 1)));
}

#[test]
fn all_of_a_core() {
    // The platform probe takes 10 us of each ms, and 1 ns more is too much for both schedulers.
    for scheduler in ["fp", "edf"] {
        let manifest = |wcet| {
            head(&format!("cores = [0]\nscheduler = \"{scheduler}\"\n{NO_OVERHEADS}"))
                + &task("a", "1ms", "1ms", "495us", "")
                + &task("b", "1ms", "1ms", wcet, "")
        };
        let (code, reported) = answered(&manifest("495001ns"));
        assert_eq!(code, 1);
        assert!(reported.contains("TAUT0202") && reported.contains("100.1 %"), "{reported}");
        let (_, reported) = answered(&manifest("495us"));
        assert!(!reported.contains("TAUT0202"), "exactly 1 is not more than 1: {reported}");
    }
}

#[test]
fn a_nanosecond_beside_an_hour() {
    let manifest = |short: &str| {
        head(&format!("cores = [0]\n{NO_OVERHEADS}"))
            + &task("a", short, short, "1ns", "")
            + &task("b", "1h", "60min", "50min", "")
    };
    assert_eq!(answered(&manifest("20us")).0, 0);
    let (code, reported) = answered(&manifest("1us"));
    assert!(code == 1 && reported.contains("no wcet would do"), "{reported}");
}

#[test]
fn numbers_at_their_ends() {
    let longest = task("a", LONGEST, LONGEST, "18446744073709551614ns", "core = 0");
    let plain = task("b", "20ms", "20ms", "1ms", "core = 0");
    let cores = head("cores = [0, 1]");
    let mut overheads = head("cores = [0, 1]\n[platform.overheads]");
    for key in ["release", "context-switch", "kernel-blocking", "lock"] {
        let _ = writeln!(overheads, "{key} = \"{LONGEST}\"");
    }
    let server = format!(
        "[servers.s]\npolicy = \"deferrable\"\nbudget = \"{LONGEST}\"\nperiod = \"{LONGEST}\"\ncore = 0\n\
         [tasks.c]\nclass = \"best-effort\"\nserver = \"s\"\n"
    );
    let section = |count: u32| {
        let more = format!("sections = [{{ resource = \"r\", longest = \"4294967297s\", count = {count} }}]");
        format!("[resources.r]\n{}", task("a", LONGEST, LONGEST, "18446744073s", &more))
    };
    let on_the_other = task(
        "d",
        "5000000000s",
        "5000000000s",
        "1s",
        "core = 1\nsections = [{ resource = \"r\", longest = \"1s\" }]",
    );
    for scheduler in ["scheduler = \"fp\"", "scheduler = \"edf\""] {
        for (what, manifest, code) in [
            ("cost", cores.clone() + &longest + &plain, 1),
            ("margin", cores.clone() + &longest.replace("\"guess\"", "\"guess\", margin = \"10000%\""), 2),
            ("jitter", cores.clone() + &longest + &format!("jitter = \"{LONGEST}\"\n"), 2),
            ("overheads", overheads.clone() + &plain.replace("tasks.b", "tasks.a"), 1),
            ("budget", cores.clone() + &server + &plain.replace("tasks.b", "tasks.a"), 1),
            ("sections", cores.clone() + &section(65_536), 2),
            ("spinning", cores.clone() + &section(4) + &on_the_other, 1),
            ("more than 32 bits", cores.clone() + &task("a", "20s", "20s", "4294967297ns", "core = 1"), 0),
        ] {
            let manifest = manifest.replace("[platform]", &format!("[platform]\n{scheduler}"));
            let (found, reported) = answered(&manifest);
            assert_eq!(found, code, "{what}, {scheduler}: {reported}");
        }
    }
}
