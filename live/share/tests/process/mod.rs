// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Memory that this test and the processes that it starts map: a file without a name, so that nothing is left of it
//! however they end. A process is the same test binary; an environment variable makes it run as a process. For the
//! tests of all crates whose objects processes share.
#![allow(dead_code, reason = "each test binary uses its part of this module")]

use std::fs::{File, OpenOptions};
use std::os::fd::{AsRawFd, FromRawFd};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use taut_atomic::{LINE_BYTES, Memory};

/// The environment variable with a process's orders: role, path and a number, separated by spaces.
const ORDERS: &str = "TAUT_TEST_PROCESS";

/// The emulator that runs a binary of this target if the kernel cannot. Cargo's own runner applies only to the tests,
/// not to processes that they start.
const RUNNER: &str = "TAUT_TEST_RUNNER";

/// A shared mapping, which lives as long as the process: lines for objects, and after them one line of words in which
/// processes report to each other.
pub(crate) struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
    /// The path at which the processes find it, as long as this mapping lives.
    path: String,
    _file: File,
}

// SAFETY: it lives as long as the process, and gives access only to atomics and to a `Memory`.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// A new file of zeros with room for `bytes` of objects.
    pub(crate) fn create(bytes: usize) -> Self {
        // SAFETY: the name ends with a zero.
        let fd = unsafe { libc::memfd_create(c"taut-test".as_ptr(), libc::MFD_CLOEXEC) };
        assert!(fd >= 0, "{}", std::io::Error::last_os_error());
        // SAFETY: it is open, and nothing else owns it.
        let file = unsafe { File::from_raw_fd(fd) };
        file.set_len((bytes.next_multiple_of(LINE_BYTES) + LINE_BYTES) as u64).unwrap();
        Self::map(file, format!("/proc/{}/fd/{fd}", std::process::id()))
    }

    fn open(path: &str) -> Self {
        let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
        Self::map(file, path.to_owned())
    }

    fn map(file: File, path: String) -> Self {
        let bytes = usize::try_from(file.metadata().unwrap().len()).unwrap();
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice, of the whole file.
        let start = unsafe {
            libc::mmap(std::ptr::null_mut(), bytes, protection, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        assert_ne!(start, libc::MAP_FAILED);
        Self { start: NonNull::new(start.cast()).unwrap(), bytes, path, _file: file }
    }

    /// The objects' part.
    pub(crate) fn memory(&self) -> Memory<'static> {
        self.part(0, self.bytes - LINE_BYTES)
    }

    /// `bytes` of the objects' part from an offset on.
    pub(crate) fn part(&self, offset: usize, bytes: usize) -> Memory<'static> {
        assert!(offset.is_multiple_of(LINE_BYTES) && offset + bytes <= self.bytes - LINE_BYTES);
        // SAFETY: mapped at a page, forever, and inside; the tests attach only ends that may exist together.
        unsafe { Memory::from_raw(self.start.add(offset), bytes) }
    }

    /// The objects' part as words, for tests that inspect or corrupt it.
    pub(crate) fn words(&self) -> &[AtomicU64] {
        // SAFETY: mapped, aligned, and zeros are atomics.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().cast(), (self.bytes - LINE_BYTES) / 8) }
    }

    /// Word `i` of the report line.
    pub(crate) fn reported(&self, i: usize) -> &AtomicU64 {
        assert!(i < LINE_BYTES / 8);
        // SAFETY: mapped, aligned, inside, and zeros are atomics.
        unsafe { &*self.start.as_ptr().add(self.bytes - LINE_BYTES).cast::<AtomicU64>().add(i) }
    }

    /// Starts this binary's test `process` on this mapping.
    pub(crate) fn start(&self, role: &str, number: u64) -> Process {
        let own = std::env::current_exe().unwrap();
        let mut command = Command::new(&own);
        if let Some(runner) = std::env::var_os(RUNNER) {
            command = Command::new(runner);
            command.arg(own);
        }
        let child = command
            .args(["process", "--exact", "--test-threads=1"])
            .env(ORDERS, format!("{role} {} {number}", self.path))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Process(child)
    }
}

/// A started process; killed when dropped.
pub(crate) struct Process(Child);

impl Process {
    /// Kills it with SIGKILL and waits for its end. It must have been running until then.
    pub(crate) fn kill(mut self) {
        assert_eq!(self.0.try_wait().unwrap(), None, "it ended by itself");
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// Waits for its end.
    pub(crate) fn wait(mut self) -> ExitStatus {
        self.0.wait().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// In a started process: its role, mapping and number. `None` in the test itself.
pub(crate) fn orders() -> Option<(String, Mapping, u64)> {
    let orders = std::env::var(ORDERS).ok()?;
    let mut words = orders.split(' ').map(str::to_owned);
    let mut next = || words.next().unwrap();
    Some((next(), Mapping::open(&next()), next().parse().unwrap()))
}
