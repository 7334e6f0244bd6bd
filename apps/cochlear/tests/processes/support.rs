// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Real processes in a folder of their own: the application, the screen, and this test binary again as a client.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use taut_event::file::Run;
use taut_plan::Plan;
use taut_report::Report;

/// The role of a process that is this test binary, started again.
pub(crate) const ROLE: &str = "COCHLEAR_TEST_ROLE";
/// The time limit for anything that should take well under a second.
const PATIENCE: Duration = Duration::from_secs(20);

/// Only one application runs at a time: all want the same CPU.
static TURN: Mutex<()> = Mutex::new(());

/// A folder with the sockets of applications and their files.
pub(crate) struct Place {
    folder: tempfile::TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl Place {
    pub(crate) fn new() -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("sockets")).unwrap();
        Self { folder, _turn: turn }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Names in the folder of sockets.
    pub(crate) fn sockets(&self) -> Vec<String> {
        names(&self.path("sockets"))
    }

    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env("TAUT_RUNTIME_DIR", self.path("sockets")).stdin(Stdio::null());
        // What else runs on this machine is of no concern to a test.
        command.env("TAUT_APPLICATIONS_DIR", self.path("applications"));
        command
    }

    /// The command of the application, with the plan in the repository, recording to `out`.
    pub(crate) fn application_command(&self, out: &str, arguments: &[&str]) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_taut-cochlear"));
        let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("taut.lock");
        command.env("TAUT_LOCK", lock).env("TAUT_OUT", self.path(out)).env_remove("TAUT_FOR").args(arguments);
        command
    }

    /// The application, running until a signal stops it.
    pub(crate) fn application(&self, out: &str, arguments: &[&str]) -> Process {
        let mut process = Process::start(&mut self.application_command(out, arguments));
        process.until(|line| line.starts_with("cochlear runs"));
        process
    }

    /// `cochlear-ui --headless`.
    pub(crate) fn screen(&self, arguments: &[&str]) -> Process {
        Process::start(self.command(env!("CARGO_BIN_EXE_cochlear-ui")).arg("--headless").args(arguments))
    }

    /// This test binary again: it runs only the test `role`, which takes the role `role`.
    pub(crate) fn client(&self, role: &str) -> Process {
        let mut command = self.command(std::env::current_exe().unwrap());
        command.args(["--exact", "role", "--nocapture", "--test-threads=1"]).env(ROLE, role);
        Process::start(&mut command)
    }

    /// The recording in `out`, and its report.
    pub(crate) fn recorded(&self, out: &str) -> (Run, Report) {
        let run = Run::from_bytes(&std::fs::read(self.path(out).join("run.taut")).unwrap()).unwrap();
        let report = Report::new(&Plan::from_lock(&run.plan).unwrap(), &run);
        (run, report)
    }
}

/// Sorted names in a folder.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A child process, and the lines that it writes to standard output and error. Killed when dropped.
pub(crate) struct Process {
    child: Child,
    lines: Receiver<String>,
    /// All lines taken so far.
    pub(crate) seen: Vec<String>,
}

impl Process {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (send, lines) = channel();
        let outputs: [Box<dyn std::io::Read + Send>; 2] =
            [Box::new(child.stdout.take().unwrap()), Box::new(child.stderr.take().unwrap())];
        for output in outputs {
            let send = send.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    let _ = send.send(line);
                }
            });
        }
        Self { child, lines, seen: Vec::new() }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next line that is as wanted.
    pub(crate) fn until(&mut self, wanted: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    self.seen.push(line.clone());
                    if wanted(&line) {
                        return line;
                    }
                }
                Err(why) => panic!("{why}: the process did not say it; it said\n{}", self.seen.join("\n")),
            }
        }
    }

    pub(crate) fn signal(&self, signal: i32) {
        // SAFETY: the child has not been waited for, so the number is still its own.
        let sent = unsafe { libc::kill(self.child.id().cast_signed(), signal) };
        assert_eq!(sent, 0);
    }

    /// Kills it with a signal that it cannot handle, and takes its last lines.
    pub(crate) fn kill(&mut self) -> ExitStatus {
        self.child.kill().unwrap();
        self.end()
    }

    /// Waits for its end and takes its last lines.
    pub(crate) fn end(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => self.seen.push(line),
                Err(RecvTimeoutError::Disconnected) => return self.child.wait().unwrap(),
                Err(RecvTimeoutError::Timeout) => panic!("it does not end; {}", self.seen.join("\n")),
            }
        }
    }

    /// Asks it to end, and expects it to do so in order.
    pub(crate) fn stop(&mut self) {
        self.signal(libc::SIGTERM);
        let status = self.end();
        assert_eq!(status.code(), Some(0), "{}", self.seen.join("\n"));
    }

    /// Open descriptors and mappings.
    pub(crate) fn holdings(&self) -> (usize, usize) {
        let own = Path::new("/proc").join(self.id().to_string());
        (names(&own.join("fd")).len(), std::fs::read_to_string(own.join("maps")).unwrap().lines().count())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A generator of random times: xorshift64.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    /// A time below `limit`.
    pub(crate) fn below(&mut self, limit: Duration) -> Duration {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        limit.mul_f64((self.0 >> 11) as f64 / (1_u64 << 53) as f64)
    }
}
