// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Code that the tests with real processes share. The test binary starts itself again in another role, and the child
//! reports to its parent on lines that start with `@`.
#![allow(dead_code, reason = "each test binary uses a part")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use taut_segment::{ChannelEntry, Owner, Role};

pub(crate) const ROLE: &str = "TAUT_TEST_ROLE";
pub(crate) const APP: &str = "cochlear";
pub(crate) const SIZE: u64 = 64 * 1024;
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The role that this process was started in; `None` for the parent.
pub(crate) fn role() -> Option<String> {
    std::env::var(ROLE).ok()
}

/// Reports to the parent.
pub(crate) fn announce(what: impl std::fmt::Display) {
    eprintln!("@{what}");
}

/// Waits until the parent releases this process: it closed this process's input, or died.
pub(crate) fn until_released() {
    let _ = std::io::read_to_string(std::io::stdin());
}

/// An owner that reports, on each request, its listener's counts and its number of open descriptors.
pub(crate) fn keep_listening() {
    let before = open_descriptors();
    let owner = Owner::create(APP, SIZE, clients(), None).unwrap();
    owner.set_running();
    announce(format_args!("ready {}", owner.epoch()));
    for _ in std::io::stdin().lines() {
        let report = owner.report();
        let attached: Vec<_> = report.attached.iter().map(|client| client.client.as_str()).collect();
        let descriptors = open_descriptors() - before;
        let (granted, refused, dropped) = (report.granted, report.refused, report.dropped);
        announce(format_args!(
            "report attached={} granted={granted} refused={refused} dropped={dropped} open={descriptors}",
            attached.join("+")
        ));
    }
    owner.end().unwrap();
}

/// The report of [`keep_door`], by name.
pub(crate) fn ask(keeper: &mut Process) -> std::collections::HashMap<String, String> {
    keeper.say("report");
    let pairs = keeper.told_after("report");
    let pair = |pair: &str| pair.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    pairs.split(' ').map(|text| pair(text).unwrap()).collect()
}

pub(crate) struct Process {
    pub(crate) child: Child,
    lines: Receiver<String>,
}

impl Process {
    /// Starts this test binary again; it finds `role`, and runs only its test of the name `role`.
    pub(crate) fn start(role: &str, folder: &Path) -> Self {
        Self::start_with(&std::env::current_exe().unwrap(), role, folder, |_| {})
    }

    pub(crate) fn start_with(
        exe: &Path,
        role: &str,
        folder: &Path,
        change: impl FnOnce(&mut Command),
    ) -> Self {
        let mut command = Command::new(exe);
        command.args(["--exact", "role", "--nocapture", "--test-threads=1"]);
        command.env(ROLE, role).env("TAUT_RUNTIME_DIR", folder);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        change(&mut command);
        let mut child = loop {
            match command.spawn() {
                Ok(child) => break child,
                // Another test forked while this one wrote the program, and holds it open for writing until it
                // executes.
                Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(error) => panic!("{error}"),
            }
        };
        let (send, lines) = channel();
        let errors = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                match line.strip_prefix('@') {
                    Some(line) => drop(send.send(line.to_owned())),
                    None => eprintln!("child: {line}"),
                }
            }
        });
        Self { child, lines }
    }

    /// The next report of the process.
    pub(crate) fn reported(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("the process told nothing")
    }

    /// The next report of the process, if there is one.
    pub(crate) fn try_told(&self) -> Option<String> {
        self.lines.try_recv().ok()
    }

    /// The rest of the next report, which starts with `word`.
    pub(crate) fn told_after(&self, word: &str) -> String {
        let reported = self.reported();
        reported
            .strip_prefix(word)
            .unwrap_or_else(|| panic!("expected `{word}`, got `{reported}`"))
            .trim()
            .to_owned()
    }

    pub(crate) fn kill(&mut self) {
        taut_sys::signals::kill(self.child.id(), taut_sys::signals::SIGKILL).unwrap();
        self.child.wait().unwrap();
    }

    /// Sends it a line.
    pub(crate) fn say(&mut self, what: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{what}").unwrap();
    }

    /// Lets it end.
    pub(crate) fn release(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn entry(channel: &str, role: Role, offset: u64) -> ChannelEntry {
    ChannelEntry {
        channel: channel.to_owned(),
        role,
        mechanism: if role == Role::Reads { "sdrtw" } else { "sdrtr" }.to_owned(),
        layout: "volume:f32 sensitivity:f32".to_owned(),
        value_size: 8,
        capacity: 1,
        readers: 0,
        offset,
        size: 1024,
        triggered: false,
        event_count: None,
        history: 0,
        service: None,
        reservation: None,
    }
}

/// A client that reads and writes, and one that only reads.
pub(crate) fn clients() -> Vec<(String, Vec<ChannelEntry>)> {
    vec![
        ("ui".to_owned(), vec![entry("levels", Role::Reads, 128), entry("settings", Role::Writes, 4096)]),
        ("viewer".to_owned(), vec![entry("levels", Role::Reads, 128)]),
    ]
}

pub(crate) fn owner(folder: &Path) -> Owner {
    Owner::create_in(folder, APP, SIZE, clients(), None).unwrap()
}

pub(crate) fn folder() -> tempfile::TempDir {
    let folder = tempfile::Builder::new().prefix("taut").tempdir().unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o711);
    std::fs::set_permissions(folder.path(), mode).unwrap();
    folder
}

pub(crate) fn contents(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

pub(crate) fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Waits for an event that another thread or process is about to cause.
pub(crate) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "{what}: not within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Random numbers that need not be good, only different.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}
