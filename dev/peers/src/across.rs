// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The far side of a trial in a process of its own: this program again, on the same memory.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use taut_sys::memory::{Mapping, Seals, map_shared, memfd};

use crate::bench::{Bench, Case};
use crate::clock::Clock;
use crate::surroundings::{Signals, Surroundings};
use crate::trial::Trial;

/// Memory that two processes share, with the signals at its start, and names for objects that do not live on it.
pub(crate) struct Shared {
    /// The memory.
    pub(crate) mapping: Mapping,
    /// The names of objects 0 and 1.
    pub(crate) names: [String; 2],
    file: Option<OwnedFd>,
}

/// A name that no other object on this machine has.
pub(crate) fn fresh_name(index: usize) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("taut-peers-{}-{}-{index}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

impl Shared {
    /// Memory of `bytes` bytes.
    pub(crate) fn new(bytes: usize) -> Result<Self, String> {
        let said = |error: taut_sys::Error| error.to_string();
        let file = memfd(c"taut-peers", bytes as u64, Seals::SHRINK).map_err(said)?;
        let mapping = map_shared(file.as_fd(), bytes, true).map_err(said)?;
        Ok(Self { mapping, names: [0, 1].map(fresh_name), file: Some(file) })
    }

    /// The words by which the two sides begin and end.
    pub(crate) fn signals(&self) -> &Signals {
        // SAFETY: the signals are at the start of the mapping, which is aligned to a page and longer; they are
        // atomics, for which all bits are values, and every process accesses them as such.
        unsafe { &*self.mapping.ptr().cast::<Signals>() }
    }

    /// Runs the near part here and the far part in a process of its own. Returns the near part's result and the far
    /// side's count.
    pub(crate) fn beside<A>(
        &self,
        name: &str,
        case: &Case,
        surroundings: &Surroundings,
        near: impl FnOnce(&Signals) -> A,
    ) -> Result<(A, u64), String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let file = self.file.as_ref().ok_or("only one side starts the other")?;
        // The child opens the file through this process's descriptor, so that it need not inherit one.
        let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        let mut child = Command::new(program)
            .arg("far")
            .args([name, case.trial.word(), &case.words.to_string()])
            .args([&surroundings.haste.to_string(), &surroundings.clock.to_text(), &path])
            .args(&self.names)
            .stdin(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        let signals = self.signals();
        let made = signals.near(surroundings, || matches!(child.try_wait(), Ok(None)), || near(signals));
        signals.stop();
        let status = child.wait().map_err(|error| error.to_string())?;
        let made = made?;
        if status.success() { Ok((made, signals.count())) } else { Err(format!("the other side: {status}")) }
    }
}

/// The work of the far side's process, with the arguments that `beside` gives.
pub(crate) fn far(benches: &[Box<dyn Bench>], arguments: &[String]) -> Result<(), String> {
    let [name, trial, words, haste, clock, path, first, second] = arguments else {
        return Err("this is for the program itself".into());
    };
    let bench = benches.iter().find(|bench| bench.name() == name).ok_or("no such object")?;
    let trial = Trial::named(trial).ok_or("no such trial")?;
    let number = |text: &String| text.parse::<u32>().map_err(|error| error.to_string());
    let case = Case { trial, words: number(words)? as usize, readers: 1, across: true };
    let file =
        std::fs::File::options().read(true).write(true).open(path).map_err(|error| error.to_string())?;
    let bytes = file.metadata().map_err(|error| error.to_string())?.len() as usize;
    let fd: BorrowedFd<'_> = file.as_fd();
    let mapping = map_shared(fd, bytes, true).map_err(|error| error.to_string())?;
    let shared = Shared { mapping, names: [first.clone(), second.clone()], file: None };
    bench.far(&case, &Surroundings::with(Clock::from_text(clock)?, number(haste)?)?, &shared)
}
