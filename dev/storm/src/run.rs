// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! One trial: the application is started, the fault befalls it, and what its report says is read.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use taut_sys::signals;

use crate::draw::Trial;
use crate::fault::{Fault, LASTS_MS};
use crate::finding::Finding;

/// For how long an application runs that nothing befalls.
const RUNS: Duration = Duration::from_millis(1_500);
/// How long after its own end a run may take to be reported, and after the fault to end: boot, escalation and the freeing
/// of its memory included.
pub(crate) const PATIENCE: Duration = Duration::from_secs(6);
/// How large a file of the application may be where that is limited: less than any run records (bytes).
const FILE_MAX: u64 = 16 * 1024;
/// The priority of the thread of somebody else: above every task, below the probes.
const FOREIGN_PRIORITY: u8 = 95;

/// Programs of the trial.
pub(crate) struct Programs {
    /// Where `taut` and the applications have been built.
    pub(crate) built: PathBuf,
    /// Where the applications' manifests are.
    pub(crate) applications: PathBuf,
}

/// What became of a trial.
pub(crate) struct Outcome {
    pub(crate) finding: Finding,
    /// From the start to the end of `taut run`.
    pub(crate) took: Duration,
    /// How it ended.
    pub(crate) status: Option<ExitStatus>,
    /// Everything that it said.
    pub(crate) said: String,
    /// The fault could not be made to happen, for this reason.
    pub(crate) skipped: Option<String>,
}

/// Makes a trial in a folder of its own.
pub(crate) fn run(trial: Trial, programs: &Programs, folder: &Path) -> Result<Outcome, String> {
    let name = trial.application.name();
    let program = programs.built.join(format!("taut-{name}"));
    let text = fs::read_to_string(programs.applications.join(name).join("taut.toml"));
    let text = text.map_err(|error| format!("{name}: {error}"))?;
    let executor = format!("[platform]\nexecutor = \"{}\"\n", trial.executor.name());
    let exec = format!("[app]\nexec = {:?}\n", program.display().to_string());
    let text = text.replacen("[platform]\n", &executor, 1).replacen("[app]\n", &exec, 1);
    fs::write(folder.join("taut.toml"), text).map_err(|error| error.to_string())?;

    let out = folder.join("out");
    let mut command = Command::new(programs.built.join("taut"));
    command.arg("run").arg(folder).arg("--out").arg(&out).arg("--for");
    command.arg(format!("{}ms", RUNS.as_millis())).env("TAUT_RUNTIME_DIR", folder).stdin(Stdio::null());
    let begun = Instant::now();
    let started = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut taut = Ended(started.map_err(|error| format!("cannot start {command:?}: {error}"))?);
    let readers = listen(&mut taut.0, trial.fault == Fault::PipeClosed);

    let application = find(&program, begun + PATIENCE);
    let mut skipped = None;
    if let Some(application) = application {
        thread::sleep(Duration::from_millis(trial.after_ms));
        skipped = befall(trial.fault, taut.0.id(), application).err();
    }
    let status = end(&mut taut.0, begun + RUNS + PATIENCE);
    let took = begun.elapsed();
    // Without its command, the application ends by itself; nobody else reports it.
    let ended = application.is_none_or(|application| gone(application, begun + RUNS + PATIENCE));
    if let Some(application) = application.filter(|_| !ended) {
        let _ = signals::kill(application, signals::SIGKILL);
    }
    if trial.fault == Fault::CommandKilled {
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

/// A child that is killed if nobody has waited for it.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Takes what a child says, or only its first line, and then closes the pipe.
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

/// The process that executes a program, once there is one with more threads than its first.
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

/// How a child ended, if it did.
fn end(child: &mut Child, until: Instant) -> Option<ExitStatus> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(5)),
            _ => return None,
        }
    }
}

/// Whether a process that is no child of ours ends in time.
fn gone(pid: u32, until: Instant) -> bool {
    let state = || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit(')').next()?.split_whitespace().next().map(str::to_owned)
    };
    loop {
        // A dead child of whoever does not wait for it is gone as well.
        match state().as_deref() {
            None | Some("Z" | "X") => return true,
            _ if Instant::now() >= until => return false,
            _ => thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// Does what the fault is to the application; the error says why it cannot be done on this machine.
fn befall(fault: Fault, command: u32, application: u32) -> Result<(), String> {
    let lasts = Duration::from_millis(LASTS_MS);
    let send = |pid, signal| signals::kill(pid, signal).map_err(|error| error.to_string());
    let pid = application.to_string();
    match fault {
        Fault::Nothing | Fault::PipeClosed => Ok(()),
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

fn each_thread(pid: u32, act: impl Fn(&str) -> Result<(), String>) -> Result<(), String> {
    threads(pid).into_iter().try_for_each(|tid| act(&tid.to_string()))
}

/// Runs a tool of the system. A tool that is not there, or may not do it, is the reason that is given.
fn tool(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    // `timeout` ends what would go on for ever: that is its purpose here.
    let ended =
        output.status.success() || output.status.code() == Some(124) || output.status.signal().is_some();
    if ended {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{program}: {}", said.lines().next().unwrap_or("it said nothing")))
}

/// The thread of somebody else: computes on a CPU above the application, for a limited time.
pub(crate) fn hog(cpu: u16) -> Result<(), String> {
    let begun = Instant::now();
    taut_sys::thread::set_affinity(&[cpu]).map_err(|error| error.to_string())?;
    taut_sys::thread::set_fifo(FOREIGN_PRIORITY).map_err(|error| error.to_string())?;
    while begun.elapsed() < Duration::from_millis(LASTS_MS) {
        std::hint::spin_loop();
    }
    Ok(())
}
