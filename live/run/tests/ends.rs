// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Applications whose code does not return, or crashes, end all the same, in stated time. Each is a process of this
//! test binary; `TAUT_FAULT` chooses its fault and `TAUT_EXECUTOR` its executor. Loops end by themselves after some
//! time.
#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::print_stdout, reason = "test code")]

mod app;

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration as Span, Instant};

use app::each;
use taut_event::{Ending, Kind, Record, Stood};
use taut_run::{Component, Error, Failure, Job, RECORDING, Reason, Receiver, Task};
use taut_sys::{signals, thread};
use taut_time::Duration;

const TICK: &str = "[tasks.tick]\narrival = { periodic = \"20ms\" }\ndeadline = \"20ms\"\n\
     wcet = { value = \"50us\", source = \"guess\" }\ncore = 0\npriority = 50\n";

/// When a late job returns: after its period, and before the guardian would interrupt it.
const LATE: Duration = Duration::from_us(20_300);

/// Computes for a limited time, so that a test that fails leaves no hog behind.
fn hog() {
    let begun = Instant::now();
    while begun.elapsed() < Span::from_secs(15) {
        std::hint::spin_loop();
    }
}

/// Waits in the kernel for input that never comes, again after each signal.
fn block() {
    let (mut reader, _writer) = std::io::pipe().unwrap();
    let _ = reader.read_exact(&mut [0]);
}

/// Uses up the stack.
fn recurse(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 64]);
    if depth == u64::MAX { 0 } else { recurse(depth + 1) + frame[7] }
}

/// What the code at fault does.
fn fault(kind: &str) {
    match kind {
        "loop" => hog(),
        "block" => block(),
        "abort" => std::process::abort(),
        "late-panic" => {
            // The end of the run comes meanwhile.
            std::thread::sleep(Span::from_millis(60));
            panic!("behind the end");
        }
        "overflow" => drop(std::hint::black_box(recurse(0))),
        "file-limit" => {
            let pid = std::process::id().to_string();
            let limited = Command::new("prlimit").args(["--pid", &pid, "--fsize=100"]).status().unwrap();
            assert!(limited.success());
        }
        _ => {}
    }
}

/// A task whose `finish` does not return, or ends the process.
struct Lingers(String);

impl Component for Lingers {
    fn finish(&mut self) -> Result<(), Box<dyn std::error::Error>> {
        if self.0 == "exit" {
            std::process::exit(0);
        }
        block();
        Ok(())
    }
}

impl Task for Lingers {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        if job.number() == 10 {
            eprintln!("running");
        }
        Ok(())
    }
}

/// Has its fault at the third value.
struct Takes(String, u64);

impl Component for Takes {}

impl Receiver<u64> for Takes {
    fn receive(&mut self, _: &mut Job<'_>, _: u64) -> Result<(), Failure> {
        self.1 += 1;
        if self.1 == 3 {
            eprintln!("running");
            fault(&self.0);
        }
        Ok(())
    }
}

/// Has its fault in `start`.
struct Starts(String);

impl Component for Starts {
    fn start(&mut self) {
        eprintln!("running");
        if self.0 == "start-exit" {
            std::process::exit(0);
        }
        hog();
    }
}

impl Task for Starts {
    fn release(&mut self, _: &mut Job<'_>) -> Result<(), Failure> {
        Ok(())
    }
}

/// The application blocks signals before it has threads, so a test harness, which has threads, cannot run it.
fn main() {
    if let Ok(kind) = std::env::var("TAUT_FAULT") {
        return application(kind);
    }
    let tests: [(&str, fn()); 19] = [
        ("without_a_fault_it_ends_in_order", without_a_fault_it_ends_in_order),
        ("a_job_ends_with_the_time_that_was_asked_for", a_job_ends_with_the_time_that_was_asked_for),
        (
            "a_job_ends_at_a_signal_and_at_once_at_the_second",
            a_job_ends_at_a_signal_and_at_once_at_the_second,
        ),
        ("stop_app_ends_in_order_after_a_job_that_returns", stop_app_ends_in_order_after_a_job_that_returns),
        ("stop_app_ends_a_job_that_does_not_return", stop_app_ends_a_job_that_does_not_return),
        ("a_start_that_does_not_return_ends_at_a_signal", a_start_that_does_not_return_ends_at_a_signal),
        ("a_start_that_calls_exit_has_a_recording", a_start_that_calls_exit_has_a_recording),
        ("a_crash_names_its_thread_and_keeps_its_signal", a_crash_names_its_thread_and_keeps_its_signal),
        ("a_killed_job_has_a_limit", a_killed_job_has_a_limit),
        (
            "a_job_that_holds_a_lock_ends_and_so_does_its_waiter",
            a_job_that_holds_a_lock_ends_and_so_does_its_waiter,
        ),
        ("on_one_processor_it_ends_as_well", on_one_processor_it_ends_as_well),
        ("without_the_privilege_it_ends_as_well", without_the_privilege_it_ends_as_well),
        ("a_best_effort_task_that_does_not_return_is_left", a_best_effort_task_that_does_not_return_is_left),
        ("a_receiver_that_does_not_return_ends", a_receiver_that_does_not_return_ends),
        ("a_receiver_that_uses_up_its_stack_is_named", a_receiver_that_uses_up_its_stack_is_named),
        (
            "a_job_to_be_killed_and_one_that_stops_the_application",
            a_job_to_be_killed_and_one_that_stops_the_application,
        ),
        ("a_finish_that_does_not_return_ends", a_finish_that_does_not_return_ends),
        (
            "a_recording_that_cannot_be_written_to_its_end_is_an_error",
            a_recording_that_cannot_be_written_to_its_end_is_an_error,
        ),
        (
            "a_panic_behind_the_end_that_was_meant_is_no_end_in_order",
            a_panic_behind_the_end_that_was_meant_is_no_end_in_order,
        ),
    ];
    // In the format of a harness: others count these lines.
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
    let (executor, overrun, with) =
        (variable("TAUT_EXECUTOR"), variable("TAUT_OVERRUN"), variable("TAUT_WITH"));
    if variable("TAUT_ONE") == "1" {
        thread::set_affinity(&[0]).unwrap();
    }
    let budget = if overrun == "kill-job" { "budget = \"1ms\"\n" } else { "" };
    let tick = format!("executor = \"{executor}\"\n{TICK}on-overrun = \"{overrun}\"\n{budget}");
    let other = |core: u32| {
        TICK.replace("tasks.tick", "tasks.other")
            .replace("core = 0", &format!("core = {core}"))
            .replace("priority = 50", "priority = 40\non-overrun = \"run-on\"")
    };
    let sections = "sections = [{ resource = \"bus\", longest = \"5us\" }]\n";
    let tables = match with.as_str() {
        "" | "finish" => tick,
        "best-effort" => format!("{tick}[tasks.view]\nclass = \"best-effort\"\n"),
        "receiver" => format!(
            "{tick}[tasks.takes]\narrival = {{ sporadic = \"20ms\", trigger = \"words\" }}\ndeadline = \"20ms\"\n\
             wcet = {{ value = \"50us\", source = \"guess\" }}\ncore = 0\npriority = 40\non-overrun = \"stop-app\"\n\
             [payloads]\nWord = {{ type = \"u64\" }}\n[channels.words]\nkind = \"queue\"\nfrom = \"tick\"\n\
             to = \"takes\"\npayload = \"Word\"\n"
        ),
        // A second task, which stops the application if it is late: below the task at fault, or on another core and
        // at fault as well.
        "below" => format!("{tick}{}", other(0).replace("run-on", "stop-app")),
        "beside" => format!("{tick}{}", other(1).replace("run-on", "stop-app")),
        protocol => {
            let other = other(u32::from(protocol != "srp"));
            format!("{tick}{sections}{other}{sections}[resources.bus]\nprotocol = \"{protocol}\"\n")
        }
    };
    let duration = std::env::var("TAUT_FOR").ok().map(|text| text.parse::<Duration>().unwrap());
    let (unwritten, panics) = (kind == "file-limit", kind == "late-panic");
    let outcome = app::run_of(app::STOP_APP, &tables, duration, |app| {
        if kind.starts_with("start") {
            return app.task("tick", |_| Ok(Starts(kind)));
        }
        let mut sends = None;
        match with.as_str() {
            "" => {}
            "finish" => return app.task("tick", |_| Ok(Lingers(kind))),
            "best-effort" => {
                let kind = kind.clone();
                app.best_effort("view", |_| Ok(move |_: &mut taut_run::Context<'_>| fault(&kind)))?;
                return app.task("tick", |_| {
                    Ok(each(|job| {
                        if job.number() == 10 {
                            eprintln!("running");
                        }
                        Ok(())
                    }))
                });
            }
            "receiver" => {
                sends = Some(());
                let kind = kind.clone();
                app.receiver::<u64, _>("takes", |_| Ok(Takes(kind, 0)))?;
            }
            "below" | "beside" => {
                let faults = with == "beside";
                let kind = kind.clone();
                app.task("other", move |_| {
                    Ok(each(move |job| {
                        if faults && job.number() == 10 {
                            fault(&kind);
                        }
                        Ok(())
                    }))
                })?;
            }
            _ => {
                app.resource("bus", 0u64)?;
                app.task("other", |create| {
                    let bus = create.resource::<u64>("bus")?;
                    Ok(each(move |job| {
                        job.lock(&bus, |value, _| *value += 1)?;
                        Ok(())
                    }))
                })?;
                let kind = kind.clone();
                return app.task("tick", |create| {
                    let bus = create.resource::<u64>("bus")?;
                    Ok(each(move |job| {
                        let number = job.number();
                        job.lock(&bus, |value, _| {
                            *value += 1;
                            if number == 10 {
                                eprintln!("running");
                                fault(&kind);
                            }
                        })?;
                        Ok(())
                    }))
                });
            }
        }
        if sends.is_some() {
            return app.task("tick", |create| {
                let mut words = create.queue_writer::<u64>("words")?;
                Ok(each(move |job| {
                    let _ = words.send(job, 7);
                    Ok(())
                }))
            });
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
    if unwritten {
        let error = outcome.ending.unwrap_err();
        assert!(matches!(error, Error::Unwritten(..)), "{error}");
        eprintln!("error: {error}");
        return;
    }
    let ending = outcome.ending.unwrap();
    assert_eq!(ending.orderly, !panics);
    if overrun == "stop-app" {
        assert_eq!((ending.reason, Ending::of(&outcome.records)), (Reason::Overrun(0), Ending::Overrun(0)));
    }
}

#[derive(Debug)]
struct Ended {
    status: ExitStatus,
    said: String,
    took: Span,
    records: Vec<Record>,
}

impl Ended {
    fn ending(&self) -> Ending {
        Ending::of(&self.records)
    }

    /// The record of where a task's job stood.
    fn stood(&self, task: u16) -> Stood {
        let mut all = self.records.iter().filter_map(Stood::from_record);
        all.find(|stood| stood.task == task).unwrap_or_else(|| panic!("{}", self.said))
    }
}

/// Runs the application with a fault. `after`: signals that the test sends once the application runs, each so many
/// ms after the one before. Kills a process that has not ended after 8 s, which fails the test.
fn end(kind: &str, executor: &str, overrun: &str, length: Option<&str>, after: &[(i32, u64)]) -> Ended {
    let run = Run { kind, executor, overrun, length, after, ..Run::default() };
    run.end()
}

/// How the application is run.
#[derive(Clone, Copy, Default)]
struct Run<'r> {
    kind: &'r str,
    executor: &'r str,
    overrun: &'r str,
    length: Option<&'r str>,
    after: &'r [(i32, u64)],
    /// What the application has in addition.
    with: &'r str,
    one_processor: bool,
    unprivileged: bool,
    /// How much longer the application may take, s.
    more_s: u64,
}

/// Keeps the test's signals on time while jobs loop on every processor.
struct Above;

impl Above {
    fn tasks() -> Self {
        // Without the privilege, the jobs are no real-time threads either.
        let _ = thread::set_fifo(98);
        Self
    }
}

impl Drop for Above {
    fn drop(&mut self) {
        let _ = thread::set_other();
    }
}

impl Run<'_> {
    /// With a policy that ends the application, a stall of the machine may make an earlier job late, which ends the
    /// application before the fault: then this tries again. No other end may come before the fault.
    fn end(self) -> Ended {
        let tries = if self.overrun == "run-on" { 1 } else { 5 };
        let mut said = String::new();
        for _ in 0..tries {
            match self.reached() {
                Ok(ended) => return ended,
                Err(before) => said = before,
            }
        }
        panic!("{} {} {}: {said}", self.kind, self.executor, self.with)
    }

    /// Runs the application once; `Err` is its output if it ended before the fault.
    fn reached(self) -> Result<Ended, String> {
        let Self { kind, executor, overrun, with, .. } = self;
        let folder = tempfile::tempdir().unwrap();
        let anyone = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(folder.path(), anyone).unwrap();
        // All signals have their default action: `nohup`, for example, runs the tests with SIGHUP ignored.
        let mut command = Command::new("env");
        command.arg("--default-signal").arg(std::env::current_exe().unwrap());
        command.env("TAUT_FAULT", kind).env("TAUT_FOLDER", folder.path()).env("TAUT_WITH", with);
        command.env("TAUT_EXECUTOR", executor).env("TAUT_OVERRUN", overrun).env_remove("TAUT_FOR");
        command.envs(self.length.map(|length| ("TAUT_FOR", length)));
        command.env("RUST_BACKTRACE", "0");
        command.env("TAUT_ONE", if self.one_processor { "1" } else { "" });
        if self.unprivileged {
            command.uid(65_534).gid(65_534);
        }
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = std::io::BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        while !said.contains("running") {
            let mut line = String::new();
            if std::io::BufRead::read_line(&mut stderr, &mut line).unwrap() == 0 {
                let status = child.wait().unwrap();
                let recorded = std::fs::read(folder.path().join("out").join(RECORDING)).unwrap_or_default();
                let run = taut_event::file::Run::from_bytes(&recorded);
                let ending = run.map_or(Ending::Unrecorded, |run| Ending::of(&run.records));
                let late = matches!(ending, Ending::Overrun(_) | Ending::Limit(_) | Ending::Jobs);
                assert!(
                    late,
                    "{kind} {executor} {with}: it ended before the fault: {ending:?} {status}: {said}"
                );
                return Err(format!("{status}: {said}"));
            }
            said += &line;
        }
        let begun = Instant::now();
        let _above = Above::tasks();
        for (number, ms) in self.after {
            std::thread::sleep(Span::from_millis(*ms));
            signals::kill(child.id(), *number).unwrap();
        }
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                let took = begun.elapsed();
                stderr.read_to_string(&mut said).unwrap();
                let recorded = std::fs::read(folder.path().join("out").join(RECORDING)).unwrap_or_default();
                let run = taut_event::file::Run::from_bytes(&recorded);
                let records = run.map_or(Vec::new(), |run| run.records);
                return Ok(Ended { status, said, took, records });
            }
            if begun.elapsed() > Span::from_secs(8 + self.more_s) {
                child.kill().unwrap();
                child.wait().unwrap();
                stderr.read_to_string(&mut said).unwrap();
                panic!("{kind} {executor} {overrun} {with}: does not end: {said}");
            }
            std::thread::sleep(Span::from_millis(2));
        }
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
        stood(&end("block", executor, "run-on", Some("400ms"), &[]), "in a system call");
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
        stood(&second, "in a system call");
    }
}

/// The job returns 1.7 ms before the guardian would end the application. If the guardian ends it all the same, a
/// stall of the machine kept the job from returning, and the probe has recorded that stall.
fn stop_app_ends_in_order_after_a_job_that_returns() {
    const LEAST_NS: u64 = 500_000;
    for executor in EXECUTORS {
        let tries: Vec<Ended> = (0..5).map(|_| end("late", executor, "stop-app", None, &[])).collect();
        let (in_order, ended): (Vec<&Ended>, Vec<_>) =
            tries.iter().partition(|ended| ended.status.code() == Some(0));
        assert!(!in_order.is_empty(), "{executor}: {}", tries[0].said);
        for ended in ended {
            stood(ended, "task `tick`");
            let stalls = ended.records.iter().filter(|record| record.kind == Kind::Stall);
            let longest = stalls.map(|record| record.value).max().unwrap_or(0);
            assert!(longest >= LEAST_NS, "{executor}: a stall of {longest} ns: {}", ended.said);
        }
    }
}

fn stop_app_ends_a_job_that_does_not_return() {
    for executor in EXECUTORS {
        for (kind, how) in [("loop", "computing"), ("block", "in a system call")] {
            let ended = end(kind, executor, "stop-app", None, &[]);
            assert!(ended.took < Span::from_millis(1_000), "{:?}", ended.took);
            stood(&ended, how);
            assert!(ended.said.contains("task `tick` did not end within its limit"), "{}", ended.said);
            assert_eq!(ended.ending(), Ending::Limit(0));
            let stood = ended.stood(0);
            assert_eq!((stood.job, stood.resource), (10, None));
            assert_eq!(stood.at.unwrap().in_call, kind == "block");
        }
    }
}

fn a_start_that_does_not_return_ends_at_a_signal() {
    for executor in EXECUTORS {
        let ended = end("start", executor, "run-on", None, &[(signals::SIGTERM, 10)]);
        assert_eq!(ended.status.code(), Some(4), "{}", ended.said);
    }
}

/// For a dispatched task, the main thread, which records, calls `start`, and so `exit`.
fn a_start_that_calls_exit_has_a_recording() {
    for executor in EXECUTORS {
        let ended = end("start-exit", executor, "run-on", Some("10s"), &[]);
        assert_eq!(ended.status.code(), Some(4), "{}", ended.said);
        assert_eq!(ended.ending(), Ending::Left, "{}", ended.said);
    }
}

fn a_crash_names_its_thread_and_keeps_its_signal() {
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

/// The job has used up its budget, the dispatcher kills it, and it never reaches a safe point.
fn a_killed_job_has_a_limit() {
    for (kind, how) in [("loop", "computing"), ("block", "in a system call")] {
        let ended = end(kind, "dispatched", "kill-job", None, &[]);
        assert!(ended.took < Span::from_millis(1_000), "{:?}", ended.took);
        stood(&ended, how);
        assert!(ended.said.contains("task `tick` did not end within its limit"), "{}", ended.said);
        assert_eq!(ended.ending(), Ending::Limit(0));
    }
}

fn two_processors() -> bool {
    [0, 1].iter().all(|cpu| thread::online_cpus().contains(cpu))
}

fn a_job_that_holds_a_lock_ends_and_so_does_its_waiter() {
    if !two_processors() {
        println!("skipped: no second processor");
        return;
    }
    let twice = [(signals::SIGTERM, 50), (signals::SIGTERM, 200)];
    for with in ["srp", "msrp", "mpcp", "fmlp-plus"] {
        for kind in ["loop", "block"] {
            let run = Run { kind, executor: "dispatched", with, ..Run::default() };
            let ends = [
                Run { overrun: "stop-app", ..run }.end(),
                Run { overrun: "run-on", length: Some("500ms"), ..run }.end(),
                Run { overrun: "run-on", after: &twice, ..run }.end(),
            ];
            for (at, ended) in ends.iter().enumerate() {
                assert_eq!(ended.status.code(), Some(4), "{with} {kind} {at}: {}", ended.said);
                assert!(ended.said.contains("task `tick`, job 10: holds `bus`, "), "{with}: {}", ended.said);
                assert_eq!(ended.stood(0).resource, Some((0, true)), "{with}: {}", ended.said);
                // The task on the other core waits for the resource, spinning or suspended.
                if with != "srp" && at > 0 {
                    assert!(ended.said.contains("requests `bus`, "), "{with} {kind} {at}: {}", ended.said);
                    assert_eq!(ended.stood(1).resource, Some((0, false)), "{with}: {}", ended.said);
                }
            }
            assert_eq!(ends[0].ending(), Ending::Limit(0), "{with} {kind}");
            assert_eq!(ends[1].ending(), Ending::Jobs, "{with} {kind}");
            assert_eq!(ends[2].ending(), Ending::Again(15), "{with} {kind}");
        }
    }
}

fn on_one_processor_it_ends_as_well() {
    for executor in EXECUTORS {
        for kind in ["loop", "block"] {
            let run = Run { kind, executor, one_processor: true, ..Run::default() };
            let twice = [(signals::SIGTERM, 10), (signals::SIGTERM, 200)];
            for ended in [
                Run { overrun: "stop-app", ..run }.end(),
                Run { overrun: "run-on", length: Some("400ms"), ..run }.end(),
                Run { overrun: "run-on", after: &twice, ..run }.end(),
            ] {
                assert_eq!(ended.status.code(), Some(4), "{executor} {kind}: {}", ended.said);
                assert!(ended.said.contains("task `tick`, job 10: "), "{}", ended.said);
            }
        }
    }
}

fn without_the_privilege_it_ends_as_well() {
    let program = std::env::current_exe().unwrap();
    let open = |path: &std::path::Path| {
        std::fs::metadata(path).is_ok_and(|about| about.permissions().mode() & 0o005 == 0o005)
    };
    if thread::set_fifo(1).is_err() || !program.ancestors().all(open) {
        println!("skipped: this user cannot become another user that may run this program");
        return;
    }
    thread::set_other().unwrap();
    for executor in EXECUTORS {
        for kind in ["loop", "block"] {
            let run = Run { kind, executor, unprivileged: true, ..Run::default() };
            let twice = [(signals::SIGTERM, 10), (signals::SIGTERM, 200)];
            for ended in [
                Run { overrun: "stop-app", ..run }.end(),
                Run { overrun: "run-on", length: Some("2s"), ..run }.end(),
                Run { overrun: "run-on", after: &twice, ..run }.end(),
            ] {
                assert_eq!(ended.status.code(), Some(4), "{executor} {kind}: {}", ended.said);
                assert!(ended.said.contains("task `tick`, job "), "{}", ended.said);
            }
        }
        let none = Run { kind: "none", executor, overrun: "run-on", length: Some("400ms"), ..Run::default() };
        let ended = Run { unprivileged: true, ..none }.end();
        assert_eq!(ended.status.code(), Some(0), "{}", ended.said);
    }
}

/// It is left after two more seconds.
fn a_best_effort_task_that_does_not_return_is_left() {
    for executor in EXECUTORS {
        for kind in ["loop", "block"] {
            let run = Run { kind, executor, overrun: "run-on", with: "best-effort", ..Run::default() };
            let ended = Run { length: Some("400ms"), ..run }.end();
            assert!(ended.took < Span::from_secs(5), "{:?}", ended.took);
            assert_ne!(ended.status.code(), Some(0), "{}", ended.said);
            assert_eq!(ended.ending(), Ending::BestEffort(1), "{}", ended.said);
            let twice = [(signals::SIGTERM, 10), (signals::SIGTERM, 200)];
            let ended = Run { after: &twice, ..run }.end();
            assert!(ended.took < Span::from_secs(2), "{:?}", ended.took);
            assert_eq!((ended.status.code(), ended.ending()), (Some(4), Ending::Again(15)), "{}", ended.said);
        }
    }
}

fn a_receiver_that_does_not_return_ends() {
    for executor in EXECUTORS {
        for kind in ["loop", "block"] {
            let ended = Run { kind, executor, overrun: "run-on", with: "receiver", ..Run::default() }.end();
            assert!(ended.took < Span::from_millis(1_000), "{:?}", ended.took);
            assert_eq!(ended.status.code(), Some(4), "{}", ended.said);
            assert!(ended.said.contains("task `takes` did not end within its limit"), "{}", ended.said);
            assert_eq!((ended.ending(), ended.stood(1).job), (Ending::Limit(1), 2), "{}", ended.said);
        }
    }
}

/// A receiver has a thread of the runtime, whose signal handlers run on a stack of their own.
fn a_receiver_that_uses_up_its_stack_is_named() {
    for executor in EXECUTORS {
        let run = Run { kind: "overflow", executor, overrun: "run-on", with: "receiver", ..Run::default() };
        let ended = Run { length: Some("10s"), ..run }.end();
        assert!(ended.took < Span::from_secs(2), "{:?}", ended.took);
        assert_eq!(ended.status.signal(), Some(11), "{executor}: {:?} {}", ended.status, ended.said);
        assert!(ended.said.contains("signal 11 in thread"), "{}", ended.said);
        assert!(ended.said.contains("task `takes`, job 2: "), "{}", ended.said);
    }
}

/// A killed job that does not return keeps a job below it from its deadline, and that job is to stop the
/// application; or a job beside it is at fault as well. The application ends by the limit of one of the two or,
/// once the other has requested the end, within the time limit of jobs. The message names the job that stands
/// there.
fn a_job_to_be_killed_and_one_that_stops_the_application() {
    for with in ["below", "beside"] {
        if with == "beside" && !two_processors() {
            println!("skipped: no second processor");
            continue;
        }
        for kind in ["loop", "block"] {
            // Without a dispatcher, nothing takes a job off its core.
            let executor = "dispatched";
            let ended = Run { kind, executor, overrun: "kill-job", with, ..Run::default() }.end();
            let reported = format!("{kind} {with}: {:?} {}", ended.ending(), ended.said);
            // 1 s and the longest deadline, plus the time to end the application.
            assert!(ended.took < Span::from_millis(1_500), "{:?} {reported}", ended.took);
            assert_eq!(ended.status.code(), Some(4), "{reported}");
            let of_whom: &[u32] = if with == "beside" { &[0, 1] } else { &[0] };
            let is_true = match ended.ending() {
                Ending::Limit(task) => of_whom.contains(&task),
                ending => ending == Ending::Jobs,
            };
            assert!(is_true, "{reported}");
            assert!(ended.said.contains("task `tick`, job 10: "), "{reported}");
        }
    }
}

/// `finish` has 12 s. A second signal does not wait for that.
fn a_finish_that_does_not_return_ends() {
    std::thread::scope(|threads| {
        for executor in EXECUTORS {
            let run =
                Run { kind: "", executor, overrun: "run-on", with: "finish", more_s: 12, ..Run::default() };
            threads.spawn(move || {
                let ended = Run { length: Some("400ms"), ..run }.end();
                assert!(ended.took > Span::from_secs(9), "{:?}", ended.took);
                assert_eq!(ended.status.code(), Some(4), "{}", ended.said);
                assert!(ended.said.contains("the steps after the last job took too long"), "{}", ended.said);
                assert_eq!(ended.ending(), Ending::Finish, "{}", ended.said);
            });
            threads.spawn(move || {
                let after = [(signals::SIGTERM, 10), (signals::SIGTERM, 300)];
                let ended = Run { after: &after, ..run }.end();
                assert!(ended.took < Span::from_secs(3), "{:?}", ended.took);
                assert_eq!(ended.status.code(), Some(4), "{}", ended.said);
                assert_eq!(ended.ending(), Ending::Again(15), "{}", ended.said);
            });
            threads.spawn(move || {
                let ended = Run { kind: "exit", length: Some("400ms"), ..run }.end();
                assert_eq!(ended.status.code(), Some(4), "{}", ended.said);
                assert_eq!(ended.ending(), Ending::Left, "{}", ended.said);
            });
        }
    });
}

fn without_a_fault_it_ends_in_order() {
    for executor in EXECUTORS {
        let ended = end("none", executor, "run-on", Some("400ms"), &[]);
        assert_eq!(ended.status.code(), Some(0), "{}", ended.said);
        let ended = end("none", executor, "run-on", None, &[(signals::SIGTERM, 10)]);
        assert_eq!(ended.status.code(), Some(0), "{}", ended.said);
    }
}

/// A limit on the size of files takes effect after what is already written: the run goes on, but its end cannot be
/// written.
fn a_recording_that_cannot_be_written_to_its_end_is_an_error() {
    for executor in EXECUTORS {
        let ended = end("file-limit", executor, "run-on", Some("400ms"), &[]);
        assert_eq!((ended.status.code(), ended.ending()), (Some(0), Ending::Unrecorded), "{}", ended.said);
        assert!(ended.said.contains("could not be written: File too large"), "{}", ended.said);
    }
}

/// The job that runs when the time is over panics: the recording names it, and the run has not ended as intended.
fn a_panic_behind_the_end_that_was_meant_is_no_end_in_order() {
    for executor in EXECUTORS {
        let ended = end("late-panic", executor, "run-on", Some("220ms"), &[]);
        assert_eq!(ended.ending(), Ending::Panic(0), "{executor}: {}", ended.said);
    }
}
