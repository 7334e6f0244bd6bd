// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Code of the application, or of a library in it, takes from the runtime what the runtime needs to end: signals,
//! priority, the process itself, the reader of its output. The application ends all the same, with outputs at rest,
//! and says why. Each case runs in a process of its own; `TAUT_FAULT` chooses the fault and `TAUT_EXECUTOR` the
//! executor. Loops end by themselves after some time.
#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::print_stdout, reason = "test code")]
#![expect(unsafe_code, reason = "what foreign code may do")]

mod app;

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration as Span, Instant};

use app::each;
use taut_event::{Ending, Record};
use taut_run::RECORDING;
use taut_sys::thread;
use taut_time::Duration;

const TICK: &str = "[tasks.tick]\narrival = { periodic = \"20ms\" }\ndeadline = \"20ms\"\n\
     wcet = { value = \"50us\", source = \"guess\" }\ncore = 0\npriority = 50\n";
const EXECUTORS: [&str; 2] = ["native", "dispatched"];

/// Computes for a limited time, so that a test that fails leaves no hog behind.
fn hog(limit: Span) {
    let begun = Instant::now();
    while begun.elapsed() < limit {
        std::hint::spin_loop();
    }
}

/// Lets the calling thread get every signal.
fn unmask() {
    // SAFETY: an empty set, for which zero is a value; the call does not ask for the old set.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::pthread_sigmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
    }
}

/// Sends a signal to the calling thread.
fn raise(signal: i32) {
    // SAFETY: plain integers.
    unsafe { libc::raise(signal) };
}

/// What job 10 does.
fn fault(kind: &str) {
    match kind {
        "unmask" => {
            unmask();
            raise(libc::SIGTERM);
        }
        "unmask-twice" => {
            unmask();
            raise(libc::SIGTERM);
            hog(Span::from_millis(200));
            raise(libc::SIGTERM);
            hog(Span::from_secs(3));
        }
        "take-signal" => {
            // SAFETY: ignoring a signal runs no code.
            unsafe { libc::signal(libc::SIGURG, libc::SIG_IGN) };
            hog(Span::from_secs(3));
        }
        "fork" => {
            // SAFETY: the child goes on in this function; its alarm ends it in any case.
            unsafe {
                if libc::fork() == 0 {
                    libc::alarm(4);
                }
            }
        }
        "above" => {
            let _ = thread::set_fifo(99);
            hog(Span::from_secs(4));
        }
        "panic" => panic!("nobody reads this"),
        _ => {}
    }
}

/// The application blocks signals before it has threads, so a test harness, which has threads, cannot run it.
fn main() {
    if let Ok(kind) = std::env::var("TAUT_FAULT") {
        return application(kind);
    }
    let tests: [(&str, fn()); 5] = [
        (
            "a_job_that_unblocks_a_signal_does_not_end_the_process",
            a_job_that_unblocks_a_signal_does_not_end_the_process,
        ),
        ("a_job_that_takes_the_runtimes_signal_is_parked", a_job_that_takes_the_runtimes_signal_is_parked),
        ("a_child_of_fork_does_not_go_on_as_its_parent", a_child_of_fork_does_not_go_on_as_its_parent),
        ("a_job_above_the_guardian_ends", a_job_above_the_guardian_ends),
        ("a_panic_with_an_unread_message_is_a_panic", a_panic_with_an_unread_message_is_a_panic),
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
    let (executor, overrun, folder) =
        (variable("TAUT_EXECUTOR"), variable("TAUT_OVERRUN"), variable("TAUT_FOLDER"));
    if kind == "above" {
        thread::set_affinity(&[0]).unwrap();
    }
    taut_run::report_panics();
    let tables = format!("executor = \"{executor}\"\n{TICK}on-overrun = \"{overrun}\"\n");
    let duration = std::env::var("TAUT_FOR").ok().map(|text| text.parse::<Duration>().unwrap());
    let mut rested = File::create(Path::new(&folder).join("rested")).unwrap();
    let outcome = app::run_of("safe-state = \"50ms\"\n", &tables, duration, |app| {
        app.safe_state(move || rested.write_all(b"1").unwrap())?;
        app.task("tick", |_| {
            Ok(each(move |job| {
                if job.number() == 10 {
                    let _ = taut_run::write_error("running\n");
                    fault(&kind);
                }
                Ok(())
            }))
        })
    });
    let orderly = outcome.ending.is_ok_and(|ending| ending.orderly);
    std::process::exit(if orderly { 0 } else { 4 });
}

#[derive(Debug)]
struct Ended {
    status: ExitStatus,
    said: String,
    ending: Ending,
    /// How often the code of the safe state ran.
    rested: usize,
    /// Time until no process held its stderr any more.
    took: Span,
}

/// How the application is run.
#[derive(Clone, Copy)]
struct Run<'r> {
    kind: &'r str,
    executor: &'r str,
    overrun: &'r str,
    length: Option<&'r str>,
    /// Nobody reads its output, and the pipe is full.
    unread: bool,
}

impl Run<'_> {
    /// With a policy that ends the application, a stall of the machine may make an earlier job late, which ends the
    /// application before the fault: then this tries again. No other end may come before the fault.
    fn end(self) -> Ended {
        let reached = |ended: &Ended| self.unread || ended.said.contains("running");
        let tries = if self.overrun == "run-on" { 1 } else { 5 };
        for _ in 0..tries {
            let ended = self.once();
            if reached(&ended) {
                return ended;
            }
            let late = matches!(ended.ending, Ending::Overrun(_) | Ending::Limit(_) | Ending::Jobs);
            assert!(late, "it ended before the fault: {ended:?}");
        }
        panic!("{} {} {}: {tries} times an earlier job was late", self.kind, self.executor, self.overrun)
    }

    /// Kills a process that has not ended after 8 s, which fails the test.
    fn once(self) -> Ended {
        let Self { kind, executor, overrun, .. } = self;
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.env("TAUT_FAULT", kind).env("TAUT_FOLDER", folder.path());
        command.env("TAUT_EXECUTOR", executor).env("TAUT_OVERRUN", overrun).env_remove("TAUT_FOR");
        command.envs(self.length.map(|length| ("TAUT_FOR", length)));
        command.env("RUST_BACKTRACE", "0").stdout(Stdio::null());
        let (mut reader, writer) = std::io::pipe().unwrap();
        if self.unread {
            fill(&writer);
        }
        command.stderr(Stdio::from(std::os::fd::OwnedFd::from(writer)));
        let mut child = command.spawn().unwrap();
        // The command holds an end of the pipe.
        drop(command);
        // At a high priority, because the job may be above all others.
        let _ = thread::set_fifo(98);
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break Some(status);
            }
            if begun.elapsed() > Span::from_secs(8) {
                child.kill().unwrap();
                child.wait().unwrap();
                break None;
            }
            std::thread::sleep(Span::from_millis(2));
        };
        let _ = thread::set_other();
        let mut said = String::new();
        if !self.unread {
            reader.read_to_string(&mut said).unwrap();
        }
        let took = begun.elapsed();
        let status = status.unwrap_or_else(|| panic!("{kind} {executor} {overrun}: does not end: {said}"));
        let recorded = std::fs::read(folder.path().join("out").join(RECORDING)).unwrap_or_default();
        let records: Vec<Record> =
            taut_event::file::Run::from_bytes(&recorded).map_or(Vec::new(), |run| run.records);
        let rested = std::fs::read(folder.path().join("rested")).unwrap().len();
        Ended { status, said, ending: Ending::of(&records), rested, took }
    }
}

/// Fills a pipe.
fn fill(mut pipe: impl Write + AsFd) {
    let (fd, whole) = (pipe.as_fd().as_raw_fd(), [0; 4096]);
    // SAFETY: the descriptor is open, the flags are integers.
    let flags = |set: i32| assert_eq!(unsafe { libc::fcntl(fd, libc::F_SETFL, set) }, 0);
    flags(libc::O_NONBLOCK);
    while pipe.write(&whole).is_ok() {}
    while pipe.write(&[0]).is_ok() {}
    flags(0);
}

/// The kernel delivers a signal to any thread that has not blocked it, here to the job's.
fn a_job_that_unblocks_a_signal_does_not_end_the_process() {
    for executor in EXECUTORS {
        let run = Run { kind: "unmask", executor, overrun: "run-on", length: None, unread: false };
        let ended = run.end();
        assert_eq!((ended.status.code(), ended.rested), (Some(0), 1), "{executor}: {ended:?}");
        assert_eq!(ended.ending, Ending::Signal(15), "{executor}: {ended:?}");
        let ended = Run { kind: "unmask-twice", ..run }.end();
        assert_eq!((ended.status.code(), ended.rested), (Some(4), 1), "{executor}: {ended:?}");
        assert_eq!(ended.ending, Ending::Again(15), "{executor}: {ended:?}");
    }
}

/// The signal is SIGURG, by which the runtime interrupts and parks threads. The message still says where the job
/// stood.
fn a_job_that_takes_the_runtimes_signal_is_parked() {
    for executor in EXECUTORS {
        let overrun = "stop-app";
        let ended = Run { kind: "take-signal", executor, overrun, length: None, unread: false }.end();
        assert_eq!((ended.status.code(), ended.rested), (Some(4), 1), "{executor}: {ended:?}");
        assert!(ended.said.contains("task `tick`, job 10: computing"), "{executor}: {ended:?}");
    }
}

/// The child would be a second writer where there must be one, and nobody would end it.
fn a_child_of_fork_does_not_go_on_as_its_parent() {
    for executor in EXECUTORS {
        let length = Some("400ms");
        // Until no process holds the pipe any more, the child included.
        let ended = Run { kind: "fork", executor, overrun: "run-on", length, unread: false }.end();
        assert!(ended.took < Span::from_secs(3), "{executor}: {ended:?}");
        assert_eq!((ended.status.code(), ended.rested), (Some(0), 1), "{executor}: {ended:?}");
        assert!(ended.said.contains("a child of fork returned to the runtime"), "{executor}: {ended:?}");
    }
}

/// The application has one processor, on which the guardian would wait for the job for ever.
fn a_job_above_the_guardian_ends() {
    if thread::set_fifo(1).is_err() || thread::online_cpus().len() < 2 {
        println!("skipped: no privilege for priorities, or no second processor for this test");
        return;
    }
    thread::set_other().unwrap();
    for executor in EXECUTORS {
        for (overrun, length) in [("run-on", Some("400ms")), ("stop-app", None)] {
            let ended = Run { kind: "above", executor, overrun, length, unread: false }.end();
            assert!(ended.took < Span::from_millis(3_500), "{executor} {overrun}: {ended:?}");
            assert_eq!((ended.status.code(), ended.rested), (Some(4), 1), "{executor} {overrun}: {ended:?}");
            assert!(ended.said.contains("task `tick`, job 10: computing"), "{executor}: {ended:?}");
        }
    }
}

fn a_panic_with_an_unread_message_is_a_panic() {
    for executor in EXECUTORS {
        let ended = Run { kind: "panic", executor, overrun: "run-on", length: None, unread: true }.end();
        assert_eq!((ended.status.code(), ended.rested), (Some(4), 1), "{executor}: {ended:?}");
        assert_eq!(ended.ending, Ending::Panic(0), "{executor}: {ended:?}");
    }
}
