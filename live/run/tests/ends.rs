// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Applications whose code does not come back, or crashes, end all the same, in stated time: each as a process of this test
//! binary, whose fault `TAUT_FAULT` chooses and whose executor `TAUT_EXECUTOR`. What loops has a limit of its own.
#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::print_stdout, reason = "test code")]

mod app;

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration as Span, Instant};

use app::each;
use taut_event::Ending;
use taut_run::{Component, Failure, Job, Reason, Task};
use taut_sys::signals;
use taut_time::Duration;

const TICK: &str = "[tasks.tick]\narrival = { periodic = \"20ms\" }\ndeadline = \"20ms\"\n\
     wcet = { value = \"50us\", source = \"guess\" }\ncore = 0\npriority = 50\n";

/// When a job that is late returns: beyond its period, and before it would be interrupted.
const LATE: Duration = Duration::from_us(20_300);

/// Computes; ends by itself, so that a test that fails leaves no hog behind.
fn hog() {
    let begun = Instant::now();
    while begun.elapsed() < Span::from_secs(15) {
        std::hint::spin_loop();
    }
}

/// Waits in the kernel for what does not come, again after each signal.
fn block() {
    let (mut reader, _writer) = std::io::pipe().unwrap();
    let _ = reader.read_exact(&mut [0]);
}

/// Uses up the stack.
fn recurse(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 64]);
    if depth == u64::MAX { 0 } else { recurse(depth + 1) + frame[7] }
}

/// What the tenth job does.
fn fault(kind: &str) {
    match kind {
        "loop" => hog(),
        "block" => block(),
        "abort" => std::process::abort(),
        "overflow" => drop(std::hint::black_box(recurse(0))),
        _ => {}
    }
}

struct Starts;

impl Component for Starts {
    fn start(&mut self) {
        eprintln!("running");
        hog();
    }
}

impl Task for Starts {
    fn release(&mut self, _: &mut Job<'_>) -> Result<(), Failure> {
        Ok(())
    }
}

/// Signals of the application are blocked before it has threads, so this is no test of a harness that has some.
fn main() {
    if let Ok(kind) = std::env::var("TAUT_FAULT") {
        return application(kind);
    }
    let tests: [(&str, fn()); 7] = [
        ("without_a_fault_it_ends_in_order", without_a_fault_it_ends_in_order),
        ("a_job_ends_with_the_time_that_was_asked_for", a_job_ends_with_the_time_that_was_asked_for),
        (
            "a_job_ends_at_a_signal_and_at_once_at_the_second",
            a_job_ends_at_a_signal_and_at_once_at_the_second,
        ),
        ("stop_app_ends_in_order_after_a_job_that_returns", stop_app_ends_in_order_after_a_job_that_returns),
        ("stop_app_ends_a_job_that_does_not_return", stop_app_ends_a_job_that_does_not_return),
        ("a_start_that_does_not_return_ends_at_a_signal", a_start_that_does_not_return_ends_at_a_signal),
        ("a_crash_says_who_and_keeps_its_signal", a_crash_says_who_and_keeps_its_signal),
    ];
    // As a harness says it: others count these lines.
    println!("\nrunning {} tests", tests.len());
    for (name, test) in tests {
        test();
        println!("test {name} ... ok");
    }
    println!("\ntest result: ok. {} passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n", tests.len());
}

/// The application, in its own process.
fn application(kind: String) {
    let executor = std::env::var("TAUT_EXECUTOR").unwrap();
    let tables = format!(
        "executor = \"{executor}\"\n{TICK}on-overrun = \"{}\"\n",
        std::env::var("TAUT_OVERRUN").unwrap()
    );
    let duration = std::env::var("TAUT_FOR").ok().map(|text| text.parse::<Duration>().unwrap());
    let outcome = app::run(&tables, duration, |app| {
        if kind == "start" {
            return app.task("tick", |_| Ok(Starts));
        }
        app.task("tick", |_| {
            Ok(each(move |job| {
                if job.number() == 10 {
                    eprintln!("running");
                    while kind == "late" && job.now().since(job.release()) < LATE {}
                    fault(&kind);
                }
                Ok(())
            }))
        })
    });
    let ending = outcome.ending.unwrap();
    assert!(ending.orderly);
    if std::env::var("TAUT_OVERRUN").is_ok_and(|overrun| overrun == "stop-app") {
        assert_eq!((ending.reason, Ending::of(&outcome.records)), (Reason::Overrun(0), Ending::Overrun(0)));
    }
}

struct Ended {
    status: ExitStatus,
    said: String,
    took: Span,
}

/// Runs the application with a fault; `signals` come after it began, each so long after what was before. What is not over
/// after 8 s is killed, which fails the test.
fn end(kind: &str, executor: &str, overrun: &str, length: Option<&str>, after: &[(i32, u64)]) -> Ended {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env("TAUT_FAULT", kind);
    command.env("TAUT_EXECUTOR", executor).env("TAUT_OVERRUN", overrun).env_remove("TAUT_FOR");
    command.envs(length.map(|length| ("TAUT_FOR", length)));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("running") {
        let mut line = String::new();
        assert!(
            std::io::BufRead::read_line(&mut stderr, &mut line).unwrap() > 0,
            "{kind} {executor}: {said}"
        );
        said += &line;
    }
    let begun = Instant::now();
    for (number, ms) in after {
        std::thread::sleep(Span::from_millis(*ms));
        signals::kill(child.id(), *number).unwrap();
    }
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            let took = begun.elapsed();
            stderr.read_to_string(&mut said).unwrap();
            return Ended { status, said, took };
        }
        if begun.elapsed() > Span::from_secs(8) {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{kind} {executor} {overrun}: does not end");
        }
        std::thread::sleep(Span::from_millis(2));
    }
}

const EXECUTORS: [&str; 2] = ["native", "dispatched"];

fn stood(ended: &Ended, how: &str) {
    let Ended { status, said, .. } = ended;
    assert_eq!(status.code(), Some(4), "{said}");
    assert!(said.contains("task `tick`, job 10: ") && said.contains(how), "{said}");
}

fn a_job_ends_with_the_time_that_was_asked_for() {
    for executor in EXECUTORS {
        stood(&end("loop", executor, "run-on", Some("400ms"), &[]), "computing");
        stood(&end("block", executor, "run-on", Some("400ms"), &[]), "in a call of the kernel");
    }
}

fn a_job_ends_at_a_signal_and_at_once_at_the_second() {
    for executor in EXECUTORS {
        let first = end("loop", executor, "run-on", None, &[(signals::SIGTERM, 10)]);
        assert!(first.took >= Span::from_secs(1), "{:?}", first.took);
        stood(&first, "computing");
        let second =
            end("block", executor, "run-on", None, &[(signals::SIGHUP, 10), (signals::SIGTERM, 200)]);
        assert!(second.took < Span::from_millis(1_000), "{:?}", second.took);
        stood(&second, "in a call of the kernel");
    }
}

/// A machine that stands still for the two milliseconds of the graces makes of it a job that does not return.
fn stop_app_ends_in_order_after_a_job_that_returns() {
    for executor in EXECUTORS {
        let tries: Vec<Ended> = (0..5).map(|_| end("late", executor, "stop-app", None, &[])).collect();
        let in_order = tries.iter().filter(|ended| ended.status.code() == Some(0)).count();
        tries
            .iter()
            .filter(|ended| ended.status.code() != Some(0))
            .for_each(|ended| stood(ended, "task `tick`"));
        assert!(in_order > 0, "{executor}: {}", tries[0].said);
    }
}

fn stop_app_ends_a_job_that_does_not_return() {
    for executor in EXECUTORS {
        for (kind, how) in [("loop", "computing"), ("block", "in a call of the kernel")] {
            let ended = end(kind, executor, "stop-app", None, &[]);
            assert!(ended.took < Span::from_millis(1_000), "{:?}", ended.took);
            stood(&ended, how);
            assert!(ended.said.contains("task `tick` does not end after its limit"), "{}", ended.said);
        }
    }
}

fn a_start_that_does_not_return_ends_at_a_signal() {
    for executor in EXECUTORS {
        let ended = end("start", executor, "run-on", None, &[(signals::SIGTERM, 10)]);
        assert_eq!(ended.status.code(), Some(4), "{}", ended.said);
    }
}

fn a_crash_says_who_and_keeps_its_signal() {
    for executor in EXECUTORS {
        for (kind, number) in [("abort", 6), ("overflow", 11)] {
            let ended = end(kind, executor, "run-on", Some("10s"), &[]);
            assert_eq!(
                ended.status.signal(),
                Some(number),
                "{kind} {executor}: {:?} {}",
                ended.status,
                ended.said
            );
            assert!(ended.said.contains(&format!("signal {number} in thread")), "{}", ended.said);
            assert!(ended.said.contains("task `tick`, job 10: "), "{}", ended.said);
        }
    }
}

fn without_a_fault_it_ends_in_order() {
    for executor in EXECUTORS {
        let ended = end("none", executor, "run-on", Some("400ms"), &[]);
        assert_eq!(ended.status.code(), Some(0), "{}", ended.said);
        let ended = end("none", executor, "run-on", None, &[(signals::SIGTERM, 10)]);
        assert_eq!(ended.status.code(), Some(0), "{}", ended.said);
    }
}
