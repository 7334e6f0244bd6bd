// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What ends the process: the executor can no longer guarantee that locks exclude.

use std::fmt::{self, Write};

use taut_lock::preemption_control::WrongProcessor;
use taut_policy::Misuse;
use taut_sys::thread::ThreadPolicy;

/// A thread of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The thread that decides.
    Dispatcher,
    /// A thread that runs jobs: its number, from 0.
    Worker(u32),
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dispatcher => f.write_str("its dispatcher"),
            Self::Worker(number) => write!(f, "its thread {}", number + 1),
        }
    }
}

/// What someone outside did to a thread of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// The thread no longer has the scheduling that the executor gave it.
    Moved {
        /// Which thread.
        who: Who,
        /// Its policy and priority now.
        policy: ThreadPolicy,
        /// The `SCHED_FIFO` priority that the executor gave it.
        given: u8,
        /// Whether it is still limited to its core's CPU.
        pinned: bool,
    },
    /// A tracer that stops threads one by one is attached: a debugger, `strace`.
    Traced {
        /// The tracer's process.
        by: u32,
    },
    /// All threads were stopped and went on. The executor does not detect that by itself; an application that knows
    /// of it may report it.
    Stopped,
}

impl fmt::Display for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Traced { by } => {
                write!(
                    f,
                    "process {by} traces this process (a debugger, strace) and stops its threads one by one"
                )
            }
            Self::Stopped => f.write_str("the process was stopped (SIGSTOP), and continued shortly before"),
            Self::Moved { who, policy, given, pinned } => {
                write!(f, "another program changed the scheduling of {who}: ")?;
                match policy {
                    ThreadPolicy::Other => f.write_str("SCHED_OTHER")?,
                    ThreadPolicy::Fifo(priority) => write!(f, "SCHED_FIFO {priority}")?,
                    ThreadPolicy::Unknown(number) => write!(f, "policy {number}")?,
                }
                write!(f, " in place of SCHED_FIFO {given}")?;
                if !pinned {
                    f.write_str(", and it may run on other CPUs")?;
                }
                Ok(())
            }
        }
    }
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViolationKind {
    /// Another thread of the core is inside its state: one of them slept, or was moved to another CPU, there.
    Inside(WrongProcessor),
    /// The rule runs another job: that job slept in the kernel, or its thread's priority was changed.
    NotChosen,
    /// The thread is on another CPU.
    OnCpu(u32),
    /// The rule granted a resource that another job holds: a ceiling or a floor is wrong.
    Broken {
        /// The resource: its position on the core.
        resource: u32,
    },
    /// The rule refused a call.
    Refused(Misuse),
    /// The system refused to change the priority of a thread of the core: Linux may run another thread than the rule
    /// chose.
    System(taut_sys::Error),
    /// A panic inside the core's state.
    Panic,
}

/// A violation, and where it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation<'v> {
    /// The core's CPU.
    pub cpu: u32,
    /// The finder: the name of its task, or of its role.
    pub who: &'v str,
    /// The task that the rule runs, as far as is known.
    pub chosen: Option<&'v str>,
    /// The violation.
    pub found: ViolationKind,
    /// What someone outside the executor had done to a thread of the core: then that is the cause, and no job is to
    /// blame.
    pub outside: Option<Outside>,
}

impl Violation<'_> {
    /// Writes the message to the standard error stream, without the heap. What does not fit, or what the stream does
    /// not accept at once, is lost.
    pub fn report(&self) {
        let mut text = Text { bytes: [0; 512], len: 0 };
        let _ = writeln!(text, "taut: {self}");
        // There is nowhere else to report it.
        let _ = taut_sys::terminal::write_error(text.as_str());
    }
}

impl fmt::Display for Violation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cpu, who, chosen, found, outside } = self;
        if let Some(outside) = outside {
            writeln!(f, "core {cpu}: {outside}; locks may no longer exclude, so the process ends")?;
            return f.write_str(
                "  help: no job is at fault: do not stop or change the threads of a running application",
            );
        }
        write!(f, "core {cpu}, `{who}`: ")?;
        match found {
            ViolationKind::Inside(WrongProcessor::SectionOpen) => {
                write!(f, "another thread is inside the core's state")?
            }
            ViolationKind::Inside(WrongProcessor::Dispatcher) => {
                write!(f, "the dispatcher is inside the core's state, so it runs on another CPU")?
            }
            ViolationKind::NotChosen => match chosen {
                Some(chosen) => write!(f, "it runs in place of `{chosen}`, which blocked in the kernel")?,
                None => write!(f, "it runs although no job should")?,
            },
            ViolationKind::OnCpu(at) => write!(f, "it runs on CPU {at}")?,
            ViolationKind::Broken { resource } => {
                write!(f, "another job holds resource {resource}, against the rule")?;
            }
            ViolationKind::Refused(misuse) => write!(f, "the rule refused the call: {misuse}")?,
            ViolationKind::System(error) => write!(f, "cannot change the priority of a thread: {error}")?,
            ViolationKind::Panic => write!(f, "a panic inside the core's state")?,
        }
        f.write_str("; locks may no longer exclude, so the process ends\n")?;
        f.write_str(
            "  help: a job must not sleep, wait or do IO, and no other program may move its thread or change \
             its priority",
        )
    }
}

/// Called before the process aborts.
pub type ViolationHandler = fn(&Violation<'_>);

struct Text {
    bytes: [u8; 512],
    len: usize,
}

impl Text {
    fn as_str(&self) -> &str {
        let bytes = &self.bytes[..self.len];
        match core::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => core::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
        }
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = &mut self.bytes[self.len..];
        let count = text.len().min(room.len());
        room[..count].copy_from_slice(&text.as_bytes()[..count]);
        self.len += count;
        Ok(())
    }
}
