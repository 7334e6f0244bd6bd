// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! One trial: starts the application, injects the fault, and reads the report.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use taut_sys::signals;

use crate::code;
use crate::draw::Trial;
use crate::fault::{Fault, LASTS_MS, Lock};
use crate::finding::Finding;

/// How long an application runs without a fault.
const RUNS: Duration = Duration::from_millis(1_500);
/// How long a run may take to be reported after its own end, and to end after the fault. This includes boot,
/// escalation and freeing its memory.
pub(crate) const PATIENCE: Duration = Duration::from_secs(6);
/// The size limit of the application's files where there is one (bytes): less than any run records.
const FILE_MAX: u64 = 16 * 1024;
/// The priority of the foreign thread: above every task, below the probes.
const FOREIGN_PRIORITY: u8 = 95;
/// The period of the task of `sections` whose job misbehaves (ms).
const HOLDER_PERIOD_MS: u64 = 20;
/// The size of the disk that becomes full (bytes): an empty one has room for a recording of either application.
const DISK_BYTES: u64 = 64 << 20;

/// The programs of the trial.
pub(crate) struct Programs {
    /// The folder in which `taut` and the applications have been built.
    pub(crate) built: PathBuf,
    /// The repository, with the applications' manifests.
    pub(crate) repository: PathBuf,
}

/// The outcome of a trial.
pub(crate) struct Outcome {
    pub(crate) finding: Finding,
    /// From the start to the end of `taut run`.
    pub(crate) took: Duration,
    /// The exit status of `taut run`; none if it did not end.
    pub(crate) status: Option<ExitStatus>,
    /// Everything that it printed.
    pub(crate) said: String,
    /// Why the fault could not be injected, if so.
    pub(crate) skipped: Option<String>,
}

/// Runs a trial in a folder of its own.
pub(crate) fn run(trial: Trial, programs: &Programs, folder: &Path) -> Result<Outcome, String> {
    let program = programs.built.join(format!("taut-{}", trial.application.name()));
    fs::write(folder.join("taut.toml"), manifest(trial, programs, &program)?)
        .map_err(|error| error.to_string())?;

    let disk = (trial.fault == Fault::DiskFull).then(|| Disk::mounted(folder));
    let disk = match disk.transpose() {
        Ok(disk) => disk,
        Err(why) => return Ok(Outcome::skipped(why)),
    };
    let out = disk.as_ref().map_or(folder, |disk| &disk.0).join("out");
    // Reset signals to their defaults: a shell starts background commands with SIGQUIT ignored.
    let mut command = Command::new("env");
    command.arg("--default-signal").arg(programs.built.join("taut"));
    command.arg("run").arg(folder).arg("--out").arg(&out).arg("--for");
    command.arg(format!("{}ms", RUNS.as_millis())).env("TAUT_RUNTIME_DIR", folder).stdin(Stdio::null());
    if let Fault::Section(_, deed) = trial.fault {
        command.env("TAUT_STORM", format!("{} {}", deed.name(), trial.after_ms / HOLDER_PERIOD_MS));
    }
    let begun = Instant::now();
    let started = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut taut = Ended(started.map_err(|error| format!("cannot start {command:?}: {error}"))?);
    let readers = listen(&mut taut.0, trial.fault == Fault::PipeClosed);

    let application = find(&program, begun + PATIENCE);
    let mut skipped = None;
    if let Some(application) = application {
        thread::sleep(Duration::from_millis(trial.after_ms));
        let target = Target { command: taut.0.id(), application, program: &program, folder, trial };
        skipped = befall(&target, programs, disk.as_ref()).err();
    }
    let status = end(&mut taut.0, begun + RUNS + PATIENCE);
    let took = begun.elapsed();
    // Without its command, the application ends by itself, and no other process reports that.
    let ended = application.is_none_or(|application| gone(application, begun + RUNS + PATIENCE));
    if let Some(application) = application.filter(|_| !ended) {
        let _ = signals::kill(application, signals::SIGKILL);
    }
    if let Some(disk) = &disk {
        disk.empty().map_err(|error| format!("the full disk: {error}"))?;
    }
    // No command has reported the run, or the disk had no room for the report.
    if matches!(trial.fault, Fault::CommandKilled | Fault::DiskFull) {
        let recording = out.join("run.taut");
        let report = Command::new(programs.built.join("taut")).arg("report").arg(&recording).output();
        report.map_err(|error| format!("cannot start taut report: {error}"))?;
    }
    let said = readers.into_iter().filter_map(|reader| reader.join().ok()).collect();
    let finding = if status.is_none() || !ended {
        Finding::DidNotEnd
    } else {
        let report = fs::read(out.join("report.json")).ok();
        let report = report.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        report.map_or(Finding::NoReport, |report| Finding::of(&report))
    };
    Ok(Outcome { finding, took, status, said, skipped })
}

impl Outcome {
    fn skipped(why: String) -> Self {
        let (took, said) = (Duration::ZERO, String::new());
        Self { finding: Finding::NoReport, took, status: None, said, skipped: Some(why) }
    }
}

/// The application's manifest, changed for this trial.
fn manifest(trial: Trial, programs: &Programs, program: &Path) -> Result<String, String> {
    let path = programs.repository.join(trial.application.folder()).join("taut.toml");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let executor = format!("[platform]\nexecutor = \"{}\"\n", trial.executor.name());
    let exec = format!("[app]\nexec = {:?}\n", program.display().to_string());
    let mut text = text.replacen("[app]\n", &exec, 1);
    if let Fault::Section(lock, _) = trial.fault {
        text = text.replace("protocol = \"msrp\"", &format!("protocol = \"{}\"", lock.name()));
        if lock.of_one_core() {
            text = text.replace("core = 1", "core = 0").replace("cores = [0, 1]", "cores = [0]");
        }
        if lock == Lock::Dfp {
            text = text.replacen("[platform]\n", "[platform]\nscheduler = \"edf\"\n", 1);
        }
        return Ok(text);
    }
    Ok(text.replacen("[platform]\n", &executor, 1))
}

/// A small disk in memory, mounted for a trial.
struct Disk(PathBuf);

impl Disk {
    fn mounted(folder: &Path) -> Result<Self, String> {
        let at = folder.join("disk");
        fs::create_dir(&at).map_err(|error| error.to_string())?;
        let size = format!("size={DISK_BYTES}");
        tool("mount", &["-t", "tmpfs", "-o", &size, "taut-storm", &at.to_string_lossy()])?;
        Ok(Self(at))
    }

    /// Fills the disk.
    fn fill(&self) -> Result<(), String> {
        let mut rest = fs::File::create(self.0.join("rest")).map_err(|error| error.to_string())?;
        let block = [0_u8; 4096];
        while rest.write_all(&block).is_ok() {}
        Ok(())
    }

    fn empty(&self) -> std::io::Result<()> {
        match fs::remove_file(self.0.join("rest")) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // If unmounting fails, nothing more can be done: the folder stays and shows it.
        let _ = tool("umount", &["--lazy", &self.0.to_string_lossy()]);
    }
}

/// A child process, killed on drop unless it has ended.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Collects what a child prints, or only its first line, and then closes the pipe.
fn listen(child: &mut Child, first_line_alone: bool) -> Vec<thread::JoinHandle<String>> {
    let outputs: [Option<Box<dyn std::io::Read + Send>>; 2] = [
        child.stdout.take().map(|output| Box::new(output) as _),
        child.stderr.take().map(|output| Box::new(output) as _),
    ];
    let lines = if first_line_alone { 1 } else { usize::MAX };
    let listen = |output| {
        thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok).take(lines);
            lines.fold(String::new(), |text, line| text + &line + "\n")
        })
    };
    outputs.into_iter().flatten().map(listen).collect()
}

/// The process that executes a program, once it has more than one thread.
fn find(program: &Path, until: Instant) -> Option<u32> {
    while Instant::now() < until {
        let processes = fs::read_dir("/proc").ok()?;
        let pids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
        let found = pids.into_iter().find(|pid| {
            fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == program)
                && threads(*pid).len() > 1
        });
        if found.is_some() {
            return found;
        }
        thread::sleep(Duration::from_millis(2));
    }
    None
}

/// The threads of a process.
fn threads(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"));
    let ids = tasks.into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    ids.collect()
}

/// The exit status of a child, if it ends in time.
fn end(child: &mut Child, until: Instant) -> Option<ExitStatus> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(5)),
            _ => return None,
        }
    }
}

/// Whether a process that is not our child ends in time.
fn gone(pid: u32, until: Instant) -> bool {
    let state = || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit(')').next()?.split_whitespace().next().map(str::to_owned)
    };
    loop {
        // A zombie whose parent does not wait for it has ended as well.
        match state().as_deref() {
            None | Some("Z" | "X") => return true,
            _ if Instant::now() >= until => return false,
            _ => thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// The processes that a fault affects.
struct Target<'t> {
    command: u32,
    application: u32,
    program: &'t Path,
    folder: &'t Path,
    trial: Trial,
}

/// Injects the fault; the error says why that is impossible on this machine.
fn befall(target: &Target<'_>, programs: &Programs, disk: Option<&Disk>) -> Result<(), String> {
    let Target { command, application, trial, .. } = *target;
    let lasts = Duration::from_millis(LASTS_MS);
    let send = |pid, signal| signals::kill(pid, signal).map_err(|error| error.to_string());
    let pid = application.to_string();
    match trial.fault {
        // The application itself causes what happens in a section.
        Fault::Nothing | Fault::PipeClosed | Fault::Section(..) => Ok(()),
        Fault::Job(deed) => {
            let function =
                trial.application.function().ok_or("the application has no function to replace")?;
            code::replace(application, target.program, function, deed)
        }
        Fault::DiskFull => disk.map_or(Ok(()), Disk::fill),
        Fault::MemoryLimit => tool("prlimit", &["--pid", &pid, "--as=1"]),
        Fault::ClockAhead => clock_ahead(lasts),
        Fault::ClientKilled => client_killed(programs, target.folder, lasts),
        Fault::FileLimit => tool("prlimit", &["--pid", &pid, &format!("--fsize={FILE_MAX}")]),
        Fault::Signal(signal) => send(application, signal.number),
        Fault::CommandKilled => send(command, signals::SIGKILL),
        Fault::Stopped => {
            send(application, signals::SIGSTOP)?;
            thread::sleep(lasts);
            send(application, signals::SIGCONT)
        }
        Fault::Traced => {
            let limit = format!("{:.3}", lasts.as_secs_f64());
            tool("timeout", &["-k", "1", &limit, "strace", "-f", "-qq", "-o", "/dev/null", "-p", &pid])
        }
        Fault::Demoted => each_thread(application, |tid| tool("chrt", &["--other", "--pid", "0", tid])),
        Fault::Moved => each_thread(application, |tid| tool("taskset", &["--cpu-list", "--pid", "0", tid])),
        Fault::ForeignThread(cpu) => {
            let own = std::env::current_exe().map_err(|error| error.to_string())?;
            let hog = Command::new(own).arg("hog").arg(cpu.to_string()).status();
            match hog {
                Ok(status) if status.success() => Ok(()),
                Ok(status) => Err(format!("the foreign thread ended with {status}")),
                Err(error) => Err(error.to_string()),
            }
        }
    }
}

/// Sets the wall clock an hour ahead, and back again.
fn clock_ahead(lasts: Duration) -> Result<(), String> {
    let set = |later: &str| tool("date", &["--set", later]);
    set("now + 1 hour")?;
    thread::sleep(lasts);
    set("now - 1 hour")
}

/// Attaches the screen of `apps/cochlear` and kills it.
fn client_killed(programs: &Programs, folder: &Path, lasts: Duration) -> Result<(), String> {
    let mut client = Command::new(programs.built.join("cochlear-ui"));
    client.args(["--headless", "--for", "10s"]).env("TAUT_RUNTIME_DIR", folder);
    let client = client.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut client = Ended(client.map_err(|error| format!("cochlear-ui: {error}"))?);
    thread::sleep(lasts);
    client.0.kill().map_err(|error| error.to_string())?;
    let output = client.0.stdout.take().ok_or("cochlear-ui has no output")?;
    let frames = BufReader::new(output).lines().map_while(Result::ok).count();
    if frames == 0 { Err("cochlear-ui saw no frame".to_owned()) } else { Ok(()) }
}

fn each_thread(pid: u32, act: impl Fn(&str) -> Result<(), String>) -> Result<(), String> {
    threads(pid).into_iter().try_for_each(|tid| act(&tid.to_string()))
}

/// Runs a system tool. A tool that is missing or lacks the privilege is an error.
fn tool(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    // `timeout` ends a tool that would run for ever, as intended here.
    let ended =
        output.status.success() || output.status.code() == Some(124) || output.status.signal().is_some();
    if ended {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{program}: {}", said.lines().next().unwrap_or("it printed nothing")))
}

/// The foreign thread: computes on a CPU, above the application's tasks, for a limited time.
pub(crate) fn hog(cpu: u16) -> Result<(), String> {
    let begun = Instant::now();
    taut_sys::thread::set_affinity(&[cpu]).map_err(|error| error.to_string())?;
    taut_sys::thread::set_fifo(FOREIGN_PRIORITY).map_err(|error| error.to_string())?;
    while begun.elapsed() < Duration::from_millis(LASTS_MS) {
        std::hint::spin_loop();
    }
    Ok(())
}
