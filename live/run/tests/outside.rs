// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What outsiders do to a running application appears in its records and in what it prints, and no job is blamed
//! for it. Each application is a process of this test binary, with the folder that `TAUT_FOLDER` names. Outsiders
//! compute for a limited time.
#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::print_stdout, reason = "test code")]

mod app;

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration as Span, Instant};

use app::each;
use taut_event::file::Run;
use taut_event::{Foreign, Kind, Record};
use taut_run::{Config, RECORDING};
use taut_sys::{signals, thread};
use taut_time::Duration;

/// A task that preempts another task, which computes for half of its period.
const TABLES: &str = "[tasks.upper]\narrival = { periodic = \"2ms\" }\ndeadline = \"2ms\"\n\
     wcet = { value = \"50us\", source = \"guess\" }\ncore = 0\npriority = 50\non-overrun = \"skip-next\"\n\
     [tasks.lower]\narrival = { periodic = \"7ms\" }\ndeadline = \"7ms\"\n\
     wcet = { value = \"3500us\", source = \"guess\" }\ncore = 0\npriority = 40\non-overrun = \"skip-next\"\n";
/// How long a passing disturbance lasts.
const LASTS: Span = Span::from_millis(120);

fn main() {
    if let Ok(folder) = std::env::var("TAUT_FOLDER") {
        return application(Path::new(&folder));
    }
    if std::env::var("TAUT_HOG").is_ok() {
        return hog();
    }
    let tests: [(&str, fn()); 7] = [
        ("an_undisturbed_run_names_no_outside_program", an_undisturbed_run_names_no_outside_program),
        ("a_dispatcher_that_is_moved_is_recorded", a_dispatcher_that_is_moved_is_recorded),
        ("threads_that_are_moved_are_named", threads_that_are_moved_are_named),
        ("a_main_thread_that_is_moved_to_a_core_is_named", a_main_thread_that_is_moved_to_a_core_is_named),
        ("a_tracer_is_named", a_tracer_is_named),
        ("a_stop_is_named", a_stop_is_named),
        ("a_foreign_thread_is_named", a_foreign_thread_is_named),
    ];
    println!("\nrunning {} tests", tests.len());
    let may = std::thread::spawn(|| thread::set_fifo(98)).join().unwrap();
    for (name, test) in tests {
        match may {
            Ok(()) => test(),
            Err(why) => println!("skipped: {why}"),
        }
        println!("test {name} ... ok");
    }
    println!("\ntest result: ok. {} passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n", tests.len());
}

fn application(folder: &Path) {
    let executor = std::env::var("TAUT_EXECUTOR").unwrap();
    let house = if thread::online_cpus().len() > 1 { "housekeeping = [1]\n" } else { "" };
    let (plan, manifest) = app::plan(&format!("executor = \"{executor}\"\n{house}{TABLES}"));
    std::fs::write(folder.join("taut.toml"), manifest).unwrap();
    let lock = folder.join("taut.lock");
    std::fs::write(&lock, plan.to_lock().unwrap()).unwrap();
    let (out, duration) = (Some(folder.to_owned()), Some(Duration::from_ms(1_000)));
    let config = Config { lock, out, duration, spawned_ns: None, record_limit: None, applications: None };
    let ending = taut_run::run(&config, &mut app::Observed::default(), |app| {
        app.task("upper", |_| {
            Ok(each(|job| {
                if job.number() == 50 {
                    eprintln!("running");
                }
                Ok(())
            }))
        })?;
        app.task("lower", |_| {
            Ok(each(|_| {
                let begun = Instant::now();
                while begun.elapsed() < Span::from_micros(3_000) {}
                Ok(())
            }))
        })
    });
    assert!(ending.unwrap().orderly);
}

/// A real-time thread of another process.
fn hog() {
    let begun = Instant::now();
    thread::set_affinity(&[0]).unwrap();
    thread::name(c"the-hog").unwrap();
    thread::set_fifo(97).unwrap();
    while begun.elapsed() < LASTS {
        std::hint::spin_loop();
    }
    // So that the application's next look still finds the thread, even on a busy machine.
    std::thread::sleep(3 * LASTS);
}

struct Outcome {
    said: String,
    success: bool,
    records: Vec<Record>,
}

impl Outcome {
    fn of(&self, kind: Kind) -> Vec<&Record> {
        self.records.iter().filter(|record| record.kind == kind).collect()
    }

    /// Whether none of its output blames a job.
    fn blames_nobody(&self) -> bool {
        !self.said.contains("a job must not") && !self.said.contains("panicked")
    }
}

/// Runs the application, and does something to it once it runs; `None` if this machine does not allow it.
fn run(executor: &str, befall: impl FnOnce(&Child) -> Result<(), String>) -> Option<Outcome> {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env("TAUT_FOLDER", folder.path()).env("TAUT_EXECUTOR", executor);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("running") {
        let mut line = String::new();
        assert!(std::io::BufRead::read_line(&mut stderr, &mut line).unwrap() > 0, "{executor}: {said}");
        said += &line;
    }
    let befallen = befall(&child);
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > Span::from_secs(8) {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{executor}: does not end");
        }
        std::thread::sleep(Span::from_millis(2));
    };
    if let Err(why) = befallen {
        println!("skipped: {why}");
        return None;
    }
    stderr.read_to_string(&mut said).unwrap();
    let records = Run::from_bytes(&std::fs::read(folder.path().join(RECORDING)).unwrap()).unwrap().records;
    Some(Outcome { said, success: status.success(), records })
}

/// The threads of a process whose names begin with `name`.
fn threads(child: &Child, name: &str) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", child.id())).unwrap();
    let named = tasks.filter(|task| {
        let comm = std::fs::read_to_string(task.as_ref().unwrap().path().join("comm"));
        comm.is_ok_and(|comm| comm.starts_with(name))
    });
    named.map(|task| task.unwrap().file_name().into_string().unwrap()).collect()
}

fn tool(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("{program}: {said}")) }
}

fn an_undisturbed_run_names_no_outside_program() {
    for executor in ["native", "dispatched"] {
        let outcome = run(executor, |_| Ok(())).unwrap();
        assert!(outcome.success, "{}", outcome.said);
        for kind in [Kind::Moved, Kind::ProbeMoved, Kind::CoreMoved, Kind::Stopped] {
            assert!(outcome.of(kind).is_empty(), "{executor} {kind:?}");
        }
    }
}

fn a_dispatcher_that_is_moved_is_recorded() {
    let done = run("dispatched", |child| {
        threads(child, "dispatch-0").iter().try_for_each(|tid| tool("chrt", &["-o", "-p", "0", tid]))
    });
    let Some(outcome) = done else { return };
    let moved = outcome.of(Kind::CoreMoved);
    assert!(moved.iter().any(|record| (record.job, record.value) == (0, 0)), "{moved:?} {}", outcome.said);
    assert!(outcome.blames_nobody(), "{}", outcome.said);
}

fn threads_that_are_moved_are_named() {
    let to_another = thread::online_cpus().len() > 1;
    let ways: [(&str, &[&str], _); 3] = [
        ("chrt", &["-o", "-p", "0"], 0),
        ("chrt", &["-f", "-p", "3"], 1 | 3 << 8),
        ("taskset", &["-p", "2"], 1 << 16),
    ];
    for (program, arguments, seen) in ways.into_iter().filter(|way| to_another || way.0 == "chrt") {
        let done = run("dispatched", |child| {
            threads(child, "worker-0").iter().try_for_each(|tid| {
                let arguments: Vec<&str> = arguments.iter().copied().chain([tid.as_str()]).collect();
                tool(program, &arguments)
            })
        });
        let Some(outcome) = done else { return };
        let moved = outcome.of(Kind::CoreMoved);
        let named = moved.iter().any(|record| record.job > 0 && record.value & seen == seen);
        assert!(named, "{program} {arguments:?}: {moved:?} {}", outcome.said);
        assert!(outcome.blames_nobody(), "{program} {arguments:?}: {}", outcome.said);
        assert_eq!(
            outcome.success,
            !outcome.said.contains("another program changed the scheduling of"),
            "{}",
            outcome.said
        );
    }
}

fn a_main_thread_that_is_moved_to_a_core_is_named() {
    if thread::online_cpus().len() < 2 {
        println!("skipped: no second processor");
        return;
    }
    for executor in ["native", "dispatched"] {
        let done = run(executor, |child| tool("taskset", &["-p", "1", &child.id().to_string()]));
        let Some(outcome) = done else { return };
        let moved = outcome.of(Kind::ProbeMoved);
        assert!(matches!(moved[..], [Record { subject: 0, job: 1, value: 0, .. }]), "{executor} {moved:?}");
        assert!(outcome.success && outcome.blames_nobody(), "{executor}: {}", outcome.said);
    }
}

fn a_tracer_is_named() {
    for executor in ["native", "dispatched"] {
        for _ in 0..3 {
            let done = run(executor, |child| {
                let pid = child.id().to_string();
                let mut strace = Command::new("strace");
                let strace = strace.args(["-f", "-qq", "-o", "/dev/null", "-p", &pid]).stderr(Stdio::null());
                let mut strace = strace.spawn().map_err(|error| format!("strace: {error}"))?;
                std::thread::sleep(LASTS);
                let ended = strace.try_wait().unwrap();
                let _ = signals::kill(strace.id(), signals::SIGTERM);
                strace.wait().unwrap();
                // A strace that attached runs until the application ends, which may be before.
                let attached = ended.is_none_or(|status| status.success());
                if attached { Ok(()) } else { Err("strace may not attach".to_owned()) }
            });
            let Some(outcome) = done else { return };
            let traced = outcome.of(Kind::Stopped);
            assert!(
                traced.iter().any(|record| record.job == 1 && record.value > 0),
                "{executor} {}",
                outcome.said
            );
            assert!(outcome.blames_nobody(), "{executor}: {}", outcome.said);
        }
    }
}

fn a_stop_is_named() {
    for executor in ["native", "dispatched"] {
        let done = run(executor, |child| {
            signals::kill(child.id(), signals::SIGSTOP).unwrap();
            std::thread::sleep(LASTS);
            signals::kill(child.id(), signals::SIGCONT).unwrap();
            Ok(())
        });
        let outcome = done.unwrap();
        let went_on: Vec<&Record> = outcome.of(Kind::Stopped);
        assert!(matches!(went_on[..], [Record { job: 0, value: 0, .. }]), "{executor} {went_on:?}");
        // The probe saw the stop end at the same instant.
        let ends = |record: &&Record| {
            let apart = record.at.as_ns().abs_diff(went_on[0].at.as_ns());
            record.value >= LASTS.as_nanos() as u64 / 2 && apart < 20_000_000
        };
        assert!(outcome.of(Kind::Stall).iter().any(ends), "{executor} {:?}", outcome.of(Kind::Stall));
        assert!(outcome.blames_nobody(), "{executor}: {}", outcome.said);
    }
}

fn a_foreign_thread_is_named() {
    for executor in ["native", "dispatched"] {
        let done = run(executor, |_| {
            let mut command = Command::new(std::env::current_exe().unwrap());
            let status = command.env("TAUT_HOG", "1").status().unwrap();
            if status.success() { Ok(()) } else { Err(status.to_string()) }
        });
        let outcome = done.unwrap();
        let foreign = Foreign::of(&outcome.records);
        let hog: Vec<&Foreign> = foreign.iter().filter(|thread| thread.name() == "the-hog").collect();
        let ran_ns: u64 = hog.iter().map(|thread| thread.ran_ns).sum();
        // A hypervisor may take away some of this time.
        let all_ns = LASTS.as_nanos() as u64;
        assert!((all_ns / 2..all_ns * 11 / 10).contains(&ran_ns), "{executor}: {foreign:?}");
        assert!(hog.iter().all(|thread| (thread.core, thread.policy, thread.priority) == (0, 1, 97)));
        assert!(hog.iter().all(|thread| thread.since < thread.until));
        assert!(outcome.blames_nobody(), "{executor}: {}", outcome.said);
    }
}
