// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Runs a program, keeps its output, measures its time and limits it.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A program with its arguments, environment, folder and time limit.
#[derive(Clone, Debug)]
pub struct Command {
    program: OsString,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    dir: Option<PathBuf>,
    limit: Duration,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It exited, with this code.
    Code(i32),
    /// A signal that this tool did not send ended it.
    Signal,
    /// This tool killed it at its time limit.
    TimeOut,
    /// It could not be started.
    NotStarted,
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Output {
    /// How it ended.
    pub end: End,
    /// Both streams, line by line in order of arrival.
    pub text: String,
    /// The standard output alone.
    pub stdout: String,
    /// Time from start to end.
    pub elapsed: Duration,
}

impl Output {
    /// Whether the program ended with code 0.
    pub fn success(&self) -> bool {
        self.end == End::Code(0)
    }

    /// How it ended, in words.
    pub fn reason(&self) -> String {
        match self.end {
            End::Code(code) => format!("ended with code {code}"),
            End::Signal => "ended by a signal".into(),
            End::TimeOut => format!("stopped after {} s, its limit", self.elapsed.as_secs()),
            End::NotStarted => "could not be started".into(),
        }
    }
}

impl Command {
    /// A program on the PATH, with a time limit of 20 minutes.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            env: Vec::new(),
            dir: None,
            limit: Duration::from_secs(20 * 60),
        }
    }

    /// A fixed command in one line, split at white space into program and arguments.
    pub fn line(line: &str) -> Self {
        let mut words = line.split_whitespace();
        Self::new(words.next().unwrap_or_default()).args(words)
    }

    /// Adds arguments.
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Makes a command that runs Rust tests show the output of passed tests too.
    pub fn showing_output(self) -> Self {
        let apart = self.args.iter().any(|arg| arg == "--");
        self.args(if apart { &["--show-output"][..] } else { &["--", "--show-output"] })
    }

    /// Sets an environment variable.
    pub fn env(mut self, key: &str, value: impl AsRef<OsStr>) -> Self {
        self.env.push((key.into(), value.as_ref().to_owned()));
        self
    }

    /// Sets the folder to run in.
    pub fn dir(mut self, dir: &Path) -> Self {
        self.dir = Some(dir.to_owned());
        self
    }

    /// Sets the time after which this tool kills the program, with every process that the program started.
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// The command as typed in a shell.
    pub fn shown(&self) -> String {
        let env = self.env.iter().map(|(key, value)| {
            let value = value.to_string_lossy();
            let quote = if value.contains(' ') { "'" } else { "" };
            format!("{}={quote}{value}{quote}", key.to_string_lossy())
        });
        let words = std::iter::once(&self.program).chain(&self.args);
        env.chain(words.map(|word| word.to_string_lossy().into_owned())).collect::<Vec<_>>().join(" ")
    }

    fn build(&self) -> std::process::Command {
        let mut command = std::process::Command::new(&self.program);
        command.args(&self.args).stdin(Stdio::null());
        command.envs(self.env.iter().map(|(key, value)| (key, value)));
        if let Some(dir) = &self.dir {
            command.current_dir(dir);
        }
        command
    }

    /// Runs the program with its output on the terminal.
    pub fn show(&self) -> End {
        match self.build().status() {
            Ok(status) => status.code().map_or(End::Signal, End::Code),
            Err(_) => End::NotStarted,
        }
    }

    /// Runs the program to its end or its time limit, and keeps its output.
    pub fn run(&self) -> Output {
        let begin = Instant::now();
        let spawned = self.build().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = match spawned {
            Ok(child) => child,
            Err(error) => {
                let text = format!("{}: {error}\n", self.program.to_string_lossy());
                return Output {
                    end: End::NotStarted,
                    text,
                    stdout: String::new(),
                    elapsed: begin.elapsed(),
                };
            }
        };
        let text = Arc::new(Mutex::new(Vec::new()));
        let stdout = Arc::new(Mutex::new(Vec::new()));
        let readers = [
            child.stdout.take().map(|pipe| keep(pipe, vec![text.clone(), stdout.clone()])),
            child.stderr.take().map(|pipe| keep(pipe, vec![text.clone()])),
        ];
        let end = wait(&mut child, begin, self.limit);
        let elapsed = begin.elapsed();
        // A process that outlives its parent may keep the pipes open: after 2 s, keep what has arrived.
        let patience = Instant::now() + Duration::from_secs(2);
        for reader in readers.into_iter().flatten() {
            while !reader.is_finished() && Instant::now() < patience {
                thread::sleep(Duration::from_millis(1));
            }
        }
        Output { end, text: taken(&text), stdout: taken(&stdout), elapsed }
    }
}

/// Copies lines from a pipe to every sink until the pipe closes.
fn keep(pipe: impl Read + Send + 'static, sinks: Vec<Arc<Mutex<Vec<u8>>>>) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        while matches!(pipe.read_until(b'\n', &mut line), Ok(1..)) {
            for sink in &sinks {
                sink.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&line);
            }
            line.clear();
        }
    })
}

fn taken(bytes: &Mutex<Vec<u8>>) -> String {
    let bytes = std::mem::take(&mut *bytes.lock().unwrap_or_else(PoisonError::into_inner));
    String::from_utf8_lossy(&bytes).into_owned()
}

fn wait(child: &mut Child, begin: Instant, limit: Duration) -> End {
    let mut pause = Duration::from_micros(100);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.code().map_or(End::Signal, End::Code),
            Ok(None) if begin.elapsed() < limit => {
                thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(20));
            }
            Ok(None) | Err(_) => {
                kill_with_descendants(child);
                return End::TimeOut;
            }
        }
    }
}

/// Kills a child and its descendants. The child stays in the process group of this tool, so that an interrupt from the
/// terminal reaches all of them. So the child has no group to kill: /proc gives its descendants.
fn kill_with_descendants(child: &mut Child) {
    let mut doomed = vec![child.id()];
    let mut next = 0;
    while next < doomed.len() {
        let parent = doomed[next];
        doomed.extend(children_of(parent));
        next += 1;
    }
    for pid in doomed.iter().skip(1).rev() {
        let _ = std::process::Command::new("sh").args(["-c", &format!("kill -9 {pid}")]).status();
    }
    let _ = child.kill();
    let _ = child.wait();
}

fn children_of(parent: u32) -> Vec<u32> {
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // pid (name) state parent ...: the name may contain any character, also parentheses.
        let parent_of = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1));
        parent_of.and_then(|text| text.parse().ok()) == Some(parent)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_streams_are_kept_and_stdout_apart() {
        let output = Command::new("sh").args(["-c", "echo data; echo note >&2; exit 3"]).run();
        assert_eq!(output.end, End::Code(3));
        assert_eq!(output.stdout, "data\n");
        let mut lines: Vec<_> = output.text.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["data", "note"]);
    }

    #[test]
    fn a_program_that_is_not_there_is_an_outcome() {
        let output = Command::new("/nonexistent/program").run();
        assert_eq!(output.end, End::NotStarted);
        assert!(output.text.contains("/nonexistent/program"));
    }

    #[test]
    fn the_limit_ends_a_program_and_what_it_started() {
        let command = Command::new("sh").args(["-c", "sleep 60 & echo $!; wait"]);
        let output = command.limit(Duration::from_millis(300)).run();
        assert_eq!(output.end, End::TimeOut);
        assert!(output.elapsed < Duration::from_secs(20));
        let pid = output.stdout.trim();
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat"));
        // A dead process that init has not yet reaped counts as dead.
        assert!(state.is_err_or_zombie(), "process {pid} is still there");
    }

    trait Gone {
        fn is_err_or_zombie(&self) -> bool;
    }

    impl Gone for std::io::Result<String> {
        fn is_err_or_zombie(&self) -> bool {
            self.as_ref().map_or(true, |stat| stat.contains(") Z ") || stat.contains(") X "))
        }
    }

    #[test]
    fn tests_show_their_output() {
        let shown = |line| Command::line(line).showing_output().shown();
        assert_eq!(shown("cargo test -p x"), "cargo test -p x -- --show-output");
        assert_eq!(shown("cargo test -- --ignored"), "cargo test -- --ignored --show-output");
    }

    #[test]
    fn shown_as_typed() {
        let command = Command::line("cargo test -p x").env("RUSTFLAGS", "--cfg loom");
        assert_eq!(command.shown(), "RUSTFLAGS='--cfg loom' cargo test -p x");
    }
}
