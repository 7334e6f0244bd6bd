// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Further processes of a test: each runs the test `role` of the same program, which does what its role says.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use taut_segment::Attached;

const ROLE: &str = "TAUT_TEST_ROLE";
const KIND: &str = "TAUT_TEST_KIND";
const FOLDER: &str = "TAUT_RUNTIME_DIR";

/// What this process is to do; none if it is that of the tests.
pub fn role() -> Option<String> {
    std::env::var(ROLE).ok()
}

/// The kind of application that the role is about; empty if it was started without one.
pub fn kind() -> String {
    std::env::var(KIND).unwrap_or_default()
}

/// The folder of the registry, of a process with a role.
pub fn folder() -> PathBuf {
    PathBuf::from(std::env::var(FOLDER).unwrap())
}

/// A process of a test; it ends with the test.
pub struct Process(pub Child);

impl Process {
    pub fn assert_alive(&mut self, what: &str) {
        assert_eq!(self.0.try_wait().unwrap(), None, "{what} ended by itself");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn start(role: &str, folder: &Path) -> Process {
    start_of_kind(role, folder, "")
}

pub fn start_of_kind(role: &str, folder: &Path, kind: &str) -> Process {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "role", "--nocapture", "--test-threads=1"]);
    command.env(ROLE, role).env(KIND, kind).env(FOLDER, folder).stdin(Stdio::null()).stdout(Stdio::null());
    Process(command.spawn().unwrap())
}

/// Attaches to the application, as soon as it is there.
pub fn attach(folder: &Path, client: &str) -> Attached {
    loop {
        match taut_segment::attach_in(folder, "test", client) {
            Ok(attached) => return attached,
            Err(_) => std::thread::sleep(std::time::Duration::from_millis(1)),
        }
    }
}

/// Waits until `look` finds what the test waits for; the test fails if that takes too long.
pub fn until(what: &str, mut look: impl FnMut() -> bool) {
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !look() {
        assert!(std::time::Instant::now() < end, "{what}");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

/// A folder for sockets, as an application makes it.
pub fn made_folder() -> tempfile::TempDir {
    let folder = tempfile::Builder::new().prefix("taut").tempdir().unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o711);
    std::fs::set_permissions(folder.path(), mode).unwrap();
    folder
}
