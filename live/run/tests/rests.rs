// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Whatever ends an application, its outputs are brought to rest first. Each way to end runs in a process of its
//! own; `TAUT_FAULT` chooses the way and `TAUT_EXECUTOR` the executor. Loops end by themselves after some time.
//!
//! `cargo test -p taut-run --test rests -- --measure 100` prints the time from the limit of a job that does not
//! return to the first instruction of the safe state.
#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::print_stdout, reason = "test code")]

mod app;

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration as Span, Instant};

use app::each;
use taut_event::{Kind, SafeStateOutcome};
use taut_sys::{clock, signals};
use taut_time::Duration;

const TICK: &str = "[tasks.tick]\narrival = { periodic = \"20ms\" }\ndeadline = \"20ms\"\n\
     wcet = { value = \"50us\", source = \"guess\" }\ncore = 0\npriority = 50\n";
const BELOW: &str = "[tasks.below]\narrival = { periodic = \"20ms\" }\ndeadline = \"20ms\"\n\
     wcet = { value = \"50us\", source = \"guess\" }\ncore = 0\npriority = 40\n";
const PERIOD_NS: u64 = 20_000_000;
const EXECUTORS: [&str; 2] = ["native", "dispatched"];

/// The limit of the job that does not return, on the monotonic clock.
static LIMIT_NS: AtomicU64 = AtomicU64::new(0);

fn hog() {
    let begun = Instant::now();
    while begun.elapsed() < Span::from_secs(15) {
        std::hint::spin_loop();
    }
}

fn block() {
    let (mut reader, _writer) = std::io::pipe().unwrap();
    let _ = reader.read_exact(&mut [0]);
}

fn recurse(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 64]);
    if depth == u64::MAX { 0 } else { recurse(depth + 1) + frame[7] }
}

/// What job 10 does, or the safe state.
fn fault(kind: &str) {
    match kind {
        "loop" => hog(),
        "block" => block(),
        "sleep" => std::thread::sleep(Span::from_millis(30)),
        "abort" => std::process::abort(),
        "overflow" => drop(std::hint::black_box(recurse(0))),
        "exit" => std::process::exit(0),
        "panic" => std::panic::panic_any(Again),
        "heap" => drop(std::hint::black_box(Box::new(7))),
        _ => {}
    }
}

/// A value that panics again when it is dropped.
struct Again;

impl Drop for Again {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

/// The application blocks signals before it has threads, so a test harness, which has threads, cannot run it.
fn main() {
    if let Ok(kind) = std::env::var("TAUT_FAULT") {
        return application(kind);
    }
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some("--measure") {
        return measure(arguments.next().unwrap().parse().unwrap());
    }
    let tests: [(&str, fn()); 8] = [
        ("at_an_end_in_order", at_an_end_in_order),
        ("of_a_job_that_does_not_return", of_a_job_that_does_not_return),
        ("at_a_crash", at_a_crash),
        ("at_a_signal_that_ends_a_process", at_a_signal_that_ends_a_process),
        ("at_a_violation", at_a_violation),
        ("at_a_call_of_exit", at_a_call_of_exit),
        ("at_a_panic", at_a_panic),
        ("a_safe_state_that_fails_stops_no_end", a_safe_state_that_fails_stops_no_end),
    ];
    println!("\nrunning {} tests", tests.len());
    for (name, test) in tests {
        test();
        println!("test {name} ... ok");
    }
    println!("\ntest result: ok. {} passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n", tests.len());
}

/// The application, in its own process.
fn application(kind: String) {
    let variable = |name| std::env::var(name).unwrap_or_default();
    let (executor, overrun, rest) =
        (variable("TAUT_EXECUTOR"), variable("TAUT_OVERRUN"), variable("TAUT_REST"));
    let below = kind == "sleep";
    // The task `below` is in the middle of its job when the job of `tick` begins.
    let tick =
        if below { TICK.replace("\"20ms\" }", "\"20ms\", offset = \"4ms\" }") } else { TICK.to_owned() };
    let other = if below { BELOW } else { "" };
    let tables = format!("executor = \"{executor}\"\n{tick}on-overrun = \"{overrun}\"\n{other}");
    let duration = std::env::var("TAUT_FOR").ok().map(|text| text.parse::<Duration>().unwrap());
    let mut out = File::from(std::io::stderr().as_fd().try_clone_to_owned().unwrap());
    let hook = rest.clone();
    let outcome = app::run_of("safe-state = \"50ms\"\n", &tables, duration, |app| {
        app.safe_state(move || {
            let late_ns = clock::monotonic_ns().saturating_sub(LIMIT_NS.load(Ordering::Relaxed));
            // One call, without the heap.
            let mut line = [0; 64];
            let mut room = &mut line[..];
            writeln!(room, "at rest {late_ns}").unwrap();
            let left = room.len();
            out.write_all(&line[..64 - left]).unwrap();
            fault(&hook);
        })?;
        if below {
            app.task("below", |_| {
                Ok(each(|job| {
                    while job.now().since(job.release()) < Duration::from_ms(8) {}
                    Ok(())
                }))
            })?;
        }
        let control = app.control();
        app.task("tick", |_| {
            Ok(each(move |job| {
                if job.number() == 10 {
                    LIMIT_NS.store(job.release().as_ns() + PERIOD_NS, Ordering::Relaxed);
                    eprintln!("running");
                    while kind == "late" && job.now().since(job.release()) < Duration::from_us(20_300) {}
                    if kind == "stop" {
                        control.stop();
                    }
                    fault(&kind);
                }
                Ok(())
            }))
        })
    });
    outcome.reported.rested.iter().for_each(|said| eprintln!("{said}"));
    let rests = outcome.of(Kind::SafeState);
    let said = rests.first().and_then(|record| SafeStateOutcome::from_record(record));
    let as_meant = match rest.as_str() {
        "panic" => Some(SafeStateOutcome::Panicked),
        _ => Some(SafeStateOutcome::Reached),
    };
    assert_eq!((rests.len(), said), (1, as_meant));
    // The subject is the number of heap uses plus 1; the message of a panic uses the heap.
    assert_eq!(rests[0].subject > 1, rest == "heap" || rest == "panic", "{:?}", rests[0]);
    assert_eq!(outcome.ending.unwrap().orderly, rest != "panic");
}

#[derive(Debug)]
struct Ended {
    status: ExitStatus,
    said: String,
    /// Signals that the main thread had blocked just before the last signal was sent.
    blocked: u64,
}

impl Ended {
    /// From the limit to the first instruction of the safe state, ns; fails unless it ran once.
    fn rested(&self) -> u64 {
        let lines: Vec<&str> = self.said.lines().filter_map(|line| line.strip_prefix("at rest ")).collect();
        assert_eq!(lines.len(), 1, "{self:?}");
        lines[0].parse().unwrap()
    }
}

/// Runs an application with a fault, and sends it signals. Kills a process that has not ended after 8 s, which
/// fails the test.
fn end(
    kind: &str,
    executor: &str,
    overrun: &str,
    rest: &str,
    length: Option<&str>,
    sent: &[(i32, u64)],
) -> Ended {
    let folder = tempfile::tempdir().unwrap();
    // All signals have their default action: a shell starts background processes with SIGQUIT ignored.
    let mut command = Command::new("env");
    command.arg("--default-signal").arg(std::env::current_exe().unwrap());
    command.env("TAUT_FOLDER", folder.path());
    // A backtrace takes longer than the budget of the safe state.
    command.env("TAUT_FAULT", kind).env("TAUT_REST", rest).env("RUST_BACKTRACE", "0");
    command.env("TAUT_EXECUTOR", executor).env("TAUT_OVERRUN", overrun).env_remove("TAUT_FOR");
    command.envs(length.map(|length| ("TAUT_FOR", length)));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("running") {
        let mut line = String::new();
        let read = std::io::BufRead::read_line(&mut stderr, &mut line).unwrap();
        assert!(read > 0, "{kind} {executor}: {said}");
        said += &line;
    }
    let mut blocked = 0;
    for (number, ms) in sent {
        std::thread::sleep(Span::from_millis(*ms));
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
        blocked = mask.map_or(blocked, |mask| u64::from_str_radix(mask.trim(), 16).unwrap());
        signals::kill(child.id(), *number).unwrap();
    }
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            stderr.read_to_string(&mut said).unwrap();
            return Ended { status, said, blocked };
        }
        if begun.elapsed() > Span::from_secs(8) {
            child.kill().unwrap();
            child.wait().unwrap();
            stderr.read_to_string(&mut said).unwrap();
            panic!("{kind} {executor} {overrun} {rest}: does not end: {said}");
        }
        std::thread::sleep(Span::from_millis(2));
    }
}

fn at_an_end_in_order() {
    for executor in EXECUTORS {
        let ends = [
            end("none", executor, "run-on", "", Some("300ms"), &[]),
            end("stop", executor, "run-on", "", None, &[]),
            end("none", executor, "run-on", "", None, &[(signals::SIGTERM, 10)]),
            end("none", executor, "run-on", "", None, &[(signals::SIGINT, 10)]),
            end("none", executor, "run-on", "", None, &[(signals::SIGHUP, 10)]),
            // SIGTTOU, which a terminal sends to a background process that writes to it, would stop the process.
            end("none", executor, "run-on", "", None, &[(22, 10), (signals::SIGTERM, 30)]),
        ];
        for ended in ends {
            ended.rested();
            assert_eq!(ended.status.code(), Some(0), "{ended:?}");
        }
        // The end is orderly, unless the machine stalls for longer than the guardian's grace.
        end("late", executor, "stop-app", "", None, &[]).rested();
    }
}

fn of_a_job_that_does_not_return() {
    for executor in EXECUTORS {
        for kind in ["loop", "block"] {
            let twice = [(signals::SIGTERM, 10), (signals::SIGTERM, 200)];
            let ends = [
                end(kind, executor, "stop-app", "", None, &[]),
                end(kind, executor, "run-on", "", Some("300ms"), &[]),
                end(kind, executor, "run-on", "", None, &twice),
            ];
            for ended in ends {
                ended.rested();
                assert_eq!(ended.status.code(), Some(4), "{ended:?}");
                assert!(ended.said.contains("  outputs were brought to rest in "), "{ended:?}");
            }
        }
    }
}

fn at_a_crash() {
    for executor in EXECUTORS {
        for (kind, number) in [("abort", 6), ("overflow", 11)] {
            let ended = end(kind, executor, "run-on", "", Some("10s"), &[]);
            ended.rested();
            assert_eq!(ended.status.signal(), Some(number), "{ended:?}");
        }
    }
}

/// Faults that another process sends, and signals without a handler: SIGQUIT, SIGILL, SIGTRAP, SIGBUS, SIGFPE,
/// SIGUSR1, SIGSEGV, SIGUSR2, SIGALRM, SIGXCPU, SIGSYS, the first and the last signal without a name.
fn at_a_signal_that_ends_a_process() {
    for executor in EXECUTORS {
        for number in [3, 4, 5, 7, 8, 10, 11, 12, 14, 24, 31, 34, 64] {
            let ended = end("none", executor, "run-on", "", Some("10s"), &[(number, 10)]);
            ended.rested();
            assert_eq!(ended.status.signal(), Some(number), "{ended:?}");
            let says = format!("signal {number} from process {}", std::process::id());
            assert!(ended.said.contains(&says), "{ended:?}");
            // The main thread cannot block faults. It blocks all other signals, so that none waits until its write
            // to disk is done.
            assert_eq!(ended.blocked & 1 << (number - 1) == 0, FAULTS.contains(&number), "{ended:?}");
        }
    }
}

/// SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS.
const FAULTS: [i32; 6] = [4, 5, 7, 8, 11, 31];

/// A job that sleeps lets another job run that the dispatcher did not choose.
fn at_a_violation() {
    if taut_sys::thread::set_fifo(1).is_err() {
        println!("skipped: no privilege for priorities");
        return;
    }
    taut_sys::thread::set_other().unwrap();
    let ended = end("sleep", "dispatched", "run-on", "", Some("10s"), &[]);
    ended.rested();
    assert_eq!(ended.status.signal(), Some(6), "{ended:?}");
    assert!(ended.said.contains("locks may no longer exclude"), "{ended:?}");
}

fn at_a_call_of_exit() {
    for executor in EXECUTORS {
        let ended = end("exit", executor, "run-on", "", Some("10s"), &[]);
        ended.rested();
        assert_eq!(ended.status.code(), Some(4), "{ended:?}");
        assert!(ended.said.contains("called exit"), "{ended:?}");
        assert!(ended.said.contains("task `tick`, job 10: "), "{ended:?}");
    }
}

fn at_a_panic() {
    for executor in EXECUTORS {
        // The application's own check of an orderly end fails, because this end is not orderly.
        end("panic", executor, "run-on", "", Some("10s"), &[]).rested();
    }
}

fn a_safe_state_that_fails_stops_no_end() {
    for executor in EXECUTORS {
        for (rest, says) in [
            ("loop", "the safe state did not return within its budget"),
            ("block", "the safe state did not return within its budget"),
            ("panic", "the safe state panicked"),
            ("abort", "signal 6 in the safe state"),
            ("overflow", "signal 11 in the safe state"),
            ("heap", "it used the heap 2 times"),
        ] {
            let ended = end("loop", executor, "stop-app", rest, None, &[]);
            ended.rested();
            assert!(ended.said.contains(says), "{ended:?}");
            assert_eq!(ended.status.code(), Some(4), "{ended:?}");

            let ended = end("none", executor, "run-on", rest, Some("300ms"), &[]);
            ended.rested();
            assert!(ended.said.contains(says), "{ended:?}");
            // The application's own check of the end passes if the thread of the safe state could be joined.
            let code = if ["panic", "heap"].contains(&rest) { 0 } else { 4 };
            assert_eq!(ended.status.code(), Some(code), "{ended:?}");
        }
    }
}

fn measure(runs: usize) {
    for executor in EXECUTORS {
        for kind in ["loop", "block"] {
            let late = |_| end(kind, executor, "stop-app", "", None, &[]).rested();
            let mut late: Vec<u64> = (0..runs).map(late).collect();
            late.sort_unstable();
            let at = |part: usize| late[(runs * part).div_ceil(100).max(1) - 1] / 1_000;
            println!(
                "{executor} {kind}: from the limit to the first instruction, us: median {}, p99 {}, largest {} of {runs}",
                at(50),
                at(99),
                at(100)
            );
        }
    }
}
