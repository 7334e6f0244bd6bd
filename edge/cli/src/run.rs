// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut run`: checks, plans, builds, boots and reports.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use taut_plan::{ClassPlan, Plan};
use taut_sys::{clock, signals};
use taut_time::Duration;

use crate::arguments::{Format, Run, Screen};
use crate::build;
use crate::check::about;
use crate::input::Files;
use crate::outcome::{Failure, Outcome};
use crate::plan::write;
use crate::report::{self, RECORDING, output_folder};

pub(crate) fn run(arguments: &Run, screen: &Screen) -> Result<Outcome, Failure> {
    let files = Files::find(&arguments.manifest)?;
    let text = files.load()?;
    let planned = text.planned()?;
    text.show(planned.as_ref(), screen);
    let Some((model, planned)) = text.model().zip(planned) else {
        return Ok(Outcome::Usage);
    };
    let plan = planned.plan;
    if !plan.proven {
        eprintln!("not proven: {} is not run", plan.app);
        return Ok(Outcome::No);
    }
    if let Some(not) = plan.not_executed() {
        eprintln!("{} is proven, and not run: this version does not execute {}", plan.app, not.what);
        eprintln!("help: {}", not.help);
        return Ok(Outcome::No);
    }
    let out = arguments.out.clone().unwrap_or_else(|| output_folder(&files.folder));
    if arguments.dry_run {
        print!("{}", dry_run(&plan, &out));
        return Ok(Outcome::Yes);
    }
    let lock = plan.to_lock().map_err(|error| Failure::Internal(error.to_string()))?;
    if std::fs::read_to_string(&files.lock).ok().as_ref() != Some(&lock) {
        write(&files.lock, &lock)?;
        eprintln!("planned: wrote {}", files.lock.display());
    }
    let program = build::program(&files.folder, model.app().exec.as_deref())?;
    std::fs::create_dir_all(&out).map_err(Failure::write(&out))?;
    let recording = out.join(RECORDING);
    // A report must not speak of an earlier run.
    match std::fs::remove_file(&recording) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(Failure::Write(recording, error));
        }
        _ => {}
    }
    let duration = (!arguments.forever).then_some(arguments.duration);
    let (status, interrupted) = attend(start(arguments, &program, &files, &out, duration)?)?;
    if let Some(signal) = status.signal() {
        eprintln!("{} was ended by signal {signal}; its recording goes as far as it came", plan.app);
    }
    if !recording.is_file() {
        return Ok(status.code().map_or(Outcome::Internal, program_code));
    }
    let verdict = report::make(&recording, Format::Human, screen)?;
    Ok(match status.code() {
        Some(0) if interrupted => Outcome::Interrupted,
        Some(0) => verdict,
        Some(code) => program_code(code),
        None => Outcome::Internal,
    })
}

fn program_code(code: i32) -> Outcome {
    Outcome::Program(u8::try_from(code).unwrap_or(4))
}

fn start(
    arguments: &Run,
    program: &Path,
    files: &Files,
    out: &Path,
    duration: Option<Duration>,
) -> Result<Child, Failure> {
    let mut command = Command::new(program);
    command
        .args(&arguments.arguments)
        .env("TAUT_LOCK", absolute(&files.lock))
        .env("TAUT_OUT", absolute(out))
        .stdin(Stdio::null());
    if let Some(duration) = duration {
        command.env("TAUT_FOR", duration.to_string());
    }
    // A signal that comes from here on is for the application, which ends in order.
    signals::block(&signals::TERMINATION).map_err(|error| Failure::Environment(error.to_string()))?;
    command.env("TAUT_SPAWNED_NS", clock::monotonic_ns().to_string());
    command.spawn().map_err(|error| Failure::Program(format!("cannot start {}: {error}", program.display())))
}

/// Waits for the application; hands signals on. Whether Ctrl-C was among them.
fn attend(mut child: Child) -> Result<(ExitStatus, bool), Failure> {
    let lost = |error: std::io::Error| Failure::Internal(format!("lost the application: {error}"));
    let mut interrupted = false;
    loop {
        if let Some(status) = child.try_wait().map_err(lost)? {
            return Ok((status, interrupted));
        }
        let round = std::time::Duration::from_millis(20);
        let signal = signals::wait_for(&signals::TERMINATION, Some(round));
        if let Some(number) = signal.map_err(|error| Failure::Internal(error.to_string()))? {
            interrupted |= number == signals::SIGINT;
            // Ctrl-C reaches the whole group; a second copy does no harm.
            let _ = signals::kill(child.id(), number);
        }
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Every action that needs a privilege or leaves a trace on the machine.
fn dry_run(plan: &Plan, out: &Path) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    let mut line = |arguments: std::fmt::Arguments<'_>| {
        let _ = writeln!(text, "{arguments}");
    };
    line(format_args!("{} would, in this order:", plan.app));
    line(format_args!("  mlockall(MCL_CURRENT | MCL_FUTURE), about {}", about(plan.memory.total)));
    line(format_args!("  open /dev/cpu_dma_latency and write 0, for as long as it runs"));
    if plan.memory.segment.as_bytes() > 0 {
        let mode =
            plan.group.as_ref().map_or_else(|| "0600".to_owned(), |group| format!("0660, group {group}"));
        line(format_args!(
            "  memfd_create and seal {}; listen on {}.sock (mode {mode})",
            about(plan.memory.segment),
            plan.app
        ));
    }
    if !plan.housekeeping.is_empty() {
        line(format_args!("  sched_setaffinity(main and best-effort threads, {:?})", plan.housekeeping));
    }
    for task in &plan.tasks {
        if let ClassPlan::RealTime { cpu, priority, .. } = &task.class {
            line(format_args!(
                "  thread {}: sched_setaffinity({cpu}), sched_setscheduler(SCHED_FIFO, {priority})",
                task.name
            ));
        } else if let Some(server) = plan.server_of(&task.name) {
            line(format_args!(
                "  thread {}: sched_setaffinity({}), and SCHED_FIFO for each turn in server `{}`",
                task.name, server.cpu, server.name
            ));
        }
    }
    for core in &plan.cores {
        line(format_args!(
            "  thread probe-{0}: sched_setaffinity({0}), sched_setscheduler(SCHED_FIFO, 99)",
            core.cpu
        ));
    }
    line(format_args!("  write {}", out.join(RECORDING).display()));
    text
}
