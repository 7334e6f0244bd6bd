// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut run`: checks, plans, builds, boots and reports.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use taut_boot::{AdmissionError, Applications, EXIT_NOT_ADMITTED, Guarantees};
use taut_event::values::{REPLAYED_FILE, VALUES_FILE};
use taut_plan::{ClassPlan, Plan, Size};
use taut_sys::{clock, process, signals};
use taut_time::Duration;

use crate::arguments::{Execution, Format, Run, Screen};
use crate::build;
use crate::check::size;
use crate::doctor::of_started;
use crate::generate;
use crate::input::Files;
use crate::outcome::{Failure, Outcome};
use crate::plan::write;
use crate::report::{self, RECORDING, output_folder};
use crate::say::{errln, out};
use crate::synthetic;

/// The most that the recording of a run without an end may take: at 100 kB/s it holds 45 minutes.
const LIMIT_FOREVER: Size = Size::from_bytes(256 << 20);

pub(crate) fn run(arguments: &Run, screen: &Screen) -> Result<Outcome, Failure> {
    if arguments.seed.is_some() && arguments.execution == Execution::Full {
        return Err(Failure::Usage("--seed: only `--execution drawn` draws anything".into()));
    }
    let files = Files::find(&arguments.manifest)?;
    let text = files.load()?;
    let mut planned = text.planned()?;
    let denied = arguments.denied.judge(&text, &mut planned);
    text.show(planned.as_ref(), screen);
    let Some((model, planned)) = text.model().zip(planned) else {
        return Ok(Outcome::Usage);
    };
    let plan = planned.plan;
    if !plan.proven {
        errln!("not proven: {} is not run", plan.app);
        return Ok(Outcome::No);
    }
    if denied {
        errln!("denied: {}, so {} is not run", arguments.denied, plan.app);
        return Ok(Outcome::No);
    }
    if let Some(not) = plan.not_executed() {
        errln!("{} is proven, but not run: this version does not execute {}", plan.app, not.what);
        errln!("help: {}", not.help);
        return Ok(Outcome::No);
    }
    // A recording of a synthetic program must not be taken for one of the application.
    let usual =
        || if arguments.synthetic { synthetic::folder(&files.folder) } else { output_folder(&files.folder) };
    let out = arguments.out.clone().unwrap_or_else(usual);
    if arguments.dry_run {
        out!("{}", dry_run(&plan, &out));
        return Ok(Outcome::Yes);
    }
    // Boot asks again. Who asks now waits for no build, and keeps the recording of the application that runs, if that is
    // the same one.
    if let Err(refused @ AdmissionError::Refused { .. }) = admission(&plan) {
        errln!("error: {refused}");
        return Ok(Outcome::Program(EXIT_NOT_ADMITTED));
    }
    // This comes before anything is written, so that a folder without a program stays as it was; what is generated is a part of
    // the program.
    let program = if arguments.synthetic {
        synthetic::program(model, &synthetic::folder(&files.folder))?
    } else {
        if let Some((path, text)) = generate::outdated(&files.folder)? {
            write(&path, &text)?;
            errln!("generated: wrote {}", path.display());
        }
        build::program(&files.folder, model.app().exec.as_deref())?
    };
    let lock = plan.to_lock().map_err(|error| Failure::Internal(error.to_string()))?;
    if files.lock_text().as_ref() != Some(&lock) {
        write(&files.lock, &lock)?;
        errln!("planned: wrote {}", files.lock.display());
    }
    let recording = make_room(&out)?;
    let duration = (!arguments.forever).then_some(arguments.duration);
    let patience = Patience::new(&plan, arguments.patience);
    let child = start(arguments, &program, &files, &out, duration)?;
    let clients = arguments.synthetic.then(|| synthetic::Clients::start(&program, model));
    let Attended { status, interrupted } = attend(child, duration, &patience)?;
    drop(clients);
    if let Some(signal) = status.signal() {
        errln!("signal {signal} ended {}; the recording contains the run up to that point", plan.app);
    }
    if !recording.is_file() {
        return Ok(outcome(status, interrupted, || {
            // The program may not be an application of taut, or may have exited during its set-up: deadlines that
            // never ran were not kept.
            errln!(
                "{} exited (exit code 0) before the end of the run and recorded nothing, so the run shows \
                 nothing",
                plan.app
            );
            Outcome::No
        }));
    }
    if let Err(error) = report::ended(&recording, status) {
        errln!("warning: {}: cannot add how the application ended: {error}", recording.display());
    }
    let verdict = report::make(&recording, Format::Human, screen)?;
    Ok(outcome(status, interrupted, || verdict))
}

/// Whether the application would be admitted now, with the rights that it inherits from this command.
fn admission(plan: &Plan) -> Result<(), AdmissionError> {
    let applications = Applications::of_machine();
    // Rights are found by trying, which changes the policy of this thread: only where it matters.
    if applications.running()?.is_empty() {
        return Ok(());
    }
    let mut guarantees = Guarantees::find(plan);
    of_started(&mut guarantees);
    applications.check(plan, &guarantees)
}

/// The outcome of a run by how the application ended; `if_ended` gives the outcome for an application that ended in
/// order.
fn outcome(status: ExitStatus, interrupted: bool, if_ended: impl FnOnce() -> Outcome) -> Outcome {
    match status.code() {
        Some(0) if interrupted => Outcome::Interrupted,
        Some(0) => if_ended(),
        Some(code) => Outcome::Program(u8::try_from(code).unwrap_or(4)),
        None => Outcome::Internal,
    }
}

/// Creates the folder of a run; removes an earlier recording and its values, which a report must not describe. Returns the path of
/// the new recording.
fn make_room(out: &Path) -> Result<PathBuf, Failure> {
    std::fs::create_dir_all(out).map_err(Failure::write(out))?;
    // The values of an earlier run do not belong to this one.
    for file in [RECORDING, VALUES_FILE, REPLAYED_FILE].map(|name| out.join(name)) {
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Failure::Write(file, error));
            }
            _ => {}
        }
    }
    Ok(out.join(RECORDING))
}

fn start(
    arguments: &Run,
    program: &Path,
    files: &Files,
    out: &Path,
    duration: Option<Duration>,
) -> Result<Child, Failure> {
    let mut command = Command::new(program);
    let own = arguments.synthetic.then(|| synthetic::arguments(arguments));
    command
        .args(own.as_ref().unwrap_or(&arguments.arguments))
        .env("TAUT_LOCK", absolute(&files.lock))
        .env("TAUT_OUT", absolute(out))
        .env_remove("TAUT_REPLAY")
        .stdin(Stdio::null());
    match duration {
        Some(duration) => command.env("TAUT_FOR", duration.to_string()),
        None => command.env_remove("TAUT_FOR"),
    };
    // A run without a duration needs a limit on its recording.
    match arguments.record_limit.or(duration.is_none().then_some(LIMIT_FOREVER)) {
        Some(limit) => command.env("TAUT_RECORD_LIMIT", limit.to_string()),
        None => command.env_remove("TAUT_RECORD_LIMIT"),
    };
    // A terminal that stops background processes when they write would stop this command, which supervises the
    // application.
    signals::write_in_background().map_err(|error| Failure::Environment(error.to_string()))?;
    // From here on signals are meant for the application, which then ends in order.
    signals::block(signals::termination()).map_err(|error| Failure::Environment(error.to_string()))?;
    command.env("TAUT_SPAWNED_NS", clock::monotonic_ns().to_string());
    command.spawn().map_err(|error| Failure::Program(format!("cannot start {}: {error}", program.display())))
}

/// How long an application may take to end after a request, in addition to freeing its memory: the stages of its own
/// end (docs/ending.md) take at most as long, unless the machine stalls.
const PATIENCE: Duration = Duration::from_ms(15_000);
/// How long it may take to reach release 0.
const START: Duration = Duration::from_ms(35_000);
/// How long it may take after a second signal, which ends it at once.
const SHORT: Duration = Duration::from_ms(2_000);
/// Signals at most this far apart count as one: a signal to a process group also reaches each member by itself.
const SAME: Duration = Duration::from_ms(100);

/// An interval between two rounds that is this long means that the command itself was stopped.
const AWAY: Duration = Duration::from_ms(1_000);

/// How long an application may take to end.
struct Patience {
    /// After a request to end, or after the end of its time.
    asked: Duration,
    /// In addition, the longest deadline of the plan.
    own: Duration,
}

impl Patience {
    fn new(plan: &Plan, asked: Option<Duration>) -> Self {
        let deadline = plan.tasks.iter().map(|task| match &task.class {
            ClassPlan::RealTime { deadline, .. } => *deadline,
            ClassPlan::BestEffort {} => Duration::ZERO,
        });
        Self { asked: asked.unwrap_or(PATIENCE), own: deadline.max().unwrap_or_default() }
    }

    /// The instant of the monotonic clock, in ns, until which to wait from now on. It includes the time to free the
    /// memory of the process: a millisecond per MiB, three times the measured time.
    fn until(&self, child: &Child, patience: Duration) -> u64 {
        let mib = process::resident_bytes(child.id()) >> 20;
        let all = patience.as_ns().saturating_add(self.own.as_ns()).saturating_add(mib * 1_000_000);
        clock::monotonic_ns().saturating_add(all)
    }
}

/// How the application ended.
struct Attended {
    status: ExitStatus,
    /// Whether Ctrl-C was among the signals.
    interrupted: bool,
}

/// Waits for the application and forwards signals to it. Kills it if it outlives its patience.
fn attend(mut child: Child, duration: Option<Duration>, patience: &Patience) -> Result<Attended, Failure> {
    let lost = |error: std::io::Error| Failure::Internal(format!("cannot wait for the application: {error}"));
    let mut interrupted = false;
    let whole = |duration: Duration| {
        Duration::from_ns(
            duration.as_ns().saturating_add(START.as_ns()).saturating_add(patience.asked.as_ns()),
        )
    };
    let whole = duration.map(whole);
    let mut until_ns = whole.map_or(u64::MAX, |whole| patience.until(&child, whole));
    let mut first_ns = None;
    let mut killed = false;
    let mut looked_ns = clock::monotonic_ns();
    loop {
        // If the command was stopped together with the application, as by Ctrl-Z, that time does not count as
        // waiting.
        let now_ns = clock::monotonic_ns();
        let away_ns = now_ns.saturating_sub(std::mem::replace(&mut looked_ns, now_ns));
        if away_ns >= AWAY.as_ns() {
            until_ns = until_ns.saturating_add(away_ns);
        }
        if let Some(status) = child.try_wait().map_err(lost)? {
            // From here on Ctrl-C ends the command itself.
            let _ = signals::unblock(signals::termination());
            return Ok(Attended { status, interrupted });
        }
        if now_ns >= until_ns {
            if killed {
                return Err(Failure::Environment(format!(
                    "cannot kill process {}: one of its threads is in an uninterruptible sleep in the kernel",
                    child.id()
                )));
            }
            killed = true;
            // The kill comes before the message, because printing may block on its reader.
            let _ = signals::kill(child.id(), signals::SIGKILL);
            errln!("the application did not end in time; taut killed it, so its safe state did not run");
            until_ns = patience.until(&child, patience.asked);
        }
        let round = std::time::Duration::from_millis(20);
        let signal = signals::wait_for(signals::termination(), Some(round));
        if let Some(number) = signal.map_err(|error| Failure::Internal(error.to_string()))? {
            interrupted |= number == signals::SIGINT;
            // Ctrl-C reaches the whole process group; a second copy does no harm.
            let _ = signals::kill(child.id(), number);
            let now_ns = clock::monotonic_ns();
            let first = *first_ns.get_or_insert(now_ns);
            let again = now_ns.saturating_sub(first) >= SAME.as_ns();
            if !killed {
                let more = if again { SHORT.min(patience.asked) } else { patience.asked };
                until_ns = until_ns.min(patience.until(&child, more));
            }
        }
    }
}

pub(crate) fn absolute(path: &Path) -> PathBuf {
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
    line(format_args!(
        "  register in {}, unless another application has CPUs that it needs",
        Applications::of_machine().folder().display()
    ));
    line(format_args!("  mlockall(MCL_CURRENT | MCL_FUTURE), about {}", size(plan.memory.total)));
    line(format_args!("  open /dev/cpu_dma_latency and write 0, for as long as it runs"));
    if plan.memory.segment.as_bytes() > 0 {
        let mode =
            plan.group.as_ref().map_or_else(|| "0600".to_owned(), |group| format!("0660, group {group}"));
        line(format_args!(
            "  memfd_create and seal {}; listen on {}.sock (mode {mode})",
            size(plan.memory.segment),
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
    if plan.channels.iter().any(|channel| channel.record) {
        line(format_args!("  write {}", out.join(VALUES_FILE).display()));
    }
    text
}
