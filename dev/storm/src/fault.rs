// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The faults of a running application, and the verdicts that may follow.

use crate::code::Deed;
use crate::draw::Application;
use crate::finding::Finding;

/// A fault of a running application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing.
    Nothing,
    /// The application receives this signal.
    Signal(Signal),
    /// `taut run` is killed, and the application continues without it.
    CommandKilled,
    /// The reader of `taut run`'s output closes the pipe.
    PipeClosed,
    /// No file that the application writes may grow beyond a limit.
    FileLimit,
    /// All threads of the application are stopped for a while, and then continue.
    Stopped,
    /// strace attaches to all threads for a while.
    Traced,
    /// All threads of the application lose their real-time priority.
    Demoted,
    /// All threads of the application are moved to one CPU.
    Moved,
    /// A real-time thread of another process computes on this CPU for a while, above the application's tasks.
    ForeignThread(u16),
    /// The wall clock is an hour ahead for a while.
    ClockAhead,
    /// The disk of the recording is full.
    DiskFull,
    /// The application may map no more memory.
    MemoryLimit,
    /// A client attaches and is killed.
    ClientKilled,
    /// A job does this and never continues.
    Job(Deed),
    /// A job does this while it holds a resource and another job waits for the resource.
    Section(Lock, InSection),
}

/// The protocol of the resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lock {
    Srp,
    Dfp,
    Msrp,
    Mpcp,
    FmlpPlus,
}

impl Lock {
    /// All of them.
    pub(crate) const ALL: [Self; 5] = [Self::Srp, Self::Dfp, Self::Msrp, Self::Mpcp, Self::FmlpPlus];

    /// Its name in the manifest.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Srp => "srp",
            Self::Dfp => "dfp",
            Self::Msrp => "msrp",
            Self::Mpcp => "mpcp",
            Self::FmlpPlus => "fmlp-plus",
        }
    }

    /// Whether it serves tasks of one core only.
    pub(crate) fn of_one_core(self) -> bool {
        matches!(self, Self::Srp | Self::Dfp)
    }
}

/// The job's misbehaviour inside its section, as `sections/main.rs` implements it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InSection {
    /// Computes for ever.
    Loops,
    /// Computes beyond its deadline, and then continues.
    Late,
    /// Waits in the kernel for ever.
    Waits,
    /// Sleeps for a while.
    Sleeps,
    /// Panics.
    Panics,
    /// Calls `abort`.
    Aborts,
    /// Calls `exit(0)`.
    Exits,
    /// Uses up its stack.
    Overflows,
    /// Allocates on the heap.
    Allocates,
}

impl InSection {
    /// All of them.
    pub(crate) const ALL: [Self; 9] = [
        Self::Loops,
        Self::Late,
        Self::Waits,
        Self::Sleeps,
        Self::Panics,
        Self::Aborts,
        Self::Exits,
        Self::Overflows,
        Self::Allocates,
    ];

    /// The name that `sections/main.rs` reads.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Loops => "loops",
            Self::Late => "late",
            Self::Waits => "waits",
            Self::Sleeps => "sleeps",
            Self::Panics => "panics",
            Self::Aborts => "aborts",
            Self::Exits => "exits",
            Self::Overflows => "overflows",
            Self::Allocates => "allocates",
        }
    }
}

/// A signal: its number on Linux, and its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signal {
    pub(crate) number: i32,
    name: &'static str,
}

const fn signal(number: i32, name: &'static str) -> Fault {
    Fault::Signal(Signal { number, name })
}

/// All faults.
pub(crate) fn all() -> impl Iterator<Item = Fault> {
    let sections =
        Lock::ALL.into_iter().flat_map(|lock| InSection::ALL.map(|deed| Fault::Section(lock, deed)));
    OF_APPLICATIONS.iter().copied().chain(sections)
}

/// The faults of the repository's applications. Signals that ask for an end come first, then those that kill a
/// process.
const OF_APPLICATIONS: &[Fault] = &[
    Fault::Nothing,
    signal(2, "SIGINT"),
    signal(15, "SIGTERM"),
    signal(3, "SIGQUIT"),
    signal(4, "SIGILL"),
    signal(6, "SIGABRT"),
    signal(7, "SIGBUS"),
    signal(8, "SIGFPE"),
    signal(9, "SIGKILL"),
    signal(11, "SIGSEGV"),
    signal(24, "SIGXCPU"),
    Fault::CommandKilled,
    Fault::PipeClosed,
    Fault::FileLimit,
    Fault::Stopped,
    Fault::Traced,
    Fault::Demoted,
    Fault::Moved,
    Fault::ForeignThread(0),
    Fault::ForeignThread(1),
    Fault::ClockAhead,
    Fault::DiskFull,
    Fault::MemoryLimit,
    Fault::ClientKilled,
    Fault::Job(Deed::Loops),
    Fault::Job(Deed::Waits),
    Fault::Job(Deed::Panics),
    Fault::Job(Deed::Exits),
    Fault::Job(Deed::Overflows),
    Fault::Job(Deed::Writes),
    Fault::Job(Deed::Illegal),
    Fault::Job(Deed::Divides),
];

/// How long a temporary fault lasts (ms): several periods of every task of both applications.
pub(crate) const LASTS_MS: u64 = 120;

impl Fault {
    /// Its name on the command line and in the matrix.
    pub(crate) fn name(self) -> String {
        let word = match self {
            Self::Section(lock, deed) => return format!("{}-holder-{}", lock.name(), deed.name()),
            Self::Nothing => "nothing",
            Self::Signal(signal) => signal.name,
            Self::CommandKilled => "command-killed",
            Self::PipeClosed => "pipe-closed",
            Self::FileLimit => "file-limit",
            Self::Stopped => "stopped",
            Self::Traced => "traced",
            Self::Demoted => "demoted",
            Self::Moved => "moved",
            Self::ForeignThread(0) => "foreign-thread-0",
            Self::ForeignThread(_) => "foreign-thread-1",
            Self::ClockAhead => "clock-ahead",
            Self::DiskFull => "disk-full",
            Self::MemoryLimit => "memory-limit",
            Self::ClientKilled => "client-killed",
            Self::Job(Deed::Loops) => "job-loops",
            Self::Job(Deed::Waits) => "job-waits",
            Self::Job(Deed::Panics) => "job-panics",
            Self::Job(Deed::Exits) => "job-exits",
            Self::Job(Deed::Overflows) => "job-overflows",
            Self::Job(Deed::Writes) => "job-SIGSEGV",
            Self::Job(Deed::Illegal) => "job-SIGILL",
            Self::Job(Deed::Divides) => "job-SIGFPE",
        };
        word.to_owned()
    }

    /// The applications that can suffer it.
    pub(crate) fn applications(self) -> &'static [Application] {
        match self {
            Self::Section(..) => &[Application::Sections],
            Self::ClientKilled => &[Application::Cochlear],
            _ => &[Application::Cochlear, Application::Drive],
        }
    }

    /// The verdict that names the cause.
    pub(crate) fn expected(self, application: Application) -> Finding {
        match self {
            Self::Nothing
            | Self::CommandKilled
            | Self::PipeClosed
            | Self::ClockAhead
            | Self::MemoryLimit
            | Self::ClientKilled => Finding::Kept,
            Self::Signal(Signal { number: number @ (2 | 15), .. }) => Finding::Asked(number),
            Self::Signal(signal) => Finding::Killed(signal.number),
            Self::FileLimit | Self::DiskFull => Finding::CutShort,
            Self::Stopped => Finding::Stopped,
            Self::Traced => Finding::Traced,
            Self::Demoted | Self::Moved => Finding::Moved,
            Self::ForeignThread(cpu) if application.cores().contains(&cpu) => Finding::ForeignThread,
            Self::ForeignThread(_) => Finding::Kept,
            Self::Job(Deed::Loops | Deed::Waits) => Finding::Stuck,
            Self::Job(Deed::Panics) => Finding::Panicked,
            Self::Job(Deed::Exits) => Finding::Exited,
            Self::Job(Deed::Overflows | Deed::Writes) => Finding::Killed(11),
            Self::Job(Deed::Illegal) => Finding::Killed(4),
            Self::Job(Deed::Divides) => Finding::Killed(8),
            Self::Section(_, InSection::Loops | InSection::Waits) => Finding::Stuck,
            Self::Section(_, InSection::Late) => Finding::Ours,
            Self::Section(_, InSection::Sleeps) => Finding::Slept,
            Self::Section(_, InSection::Panics) => Finding::Panicked,
            Self::Section(_, InSection::Aborts) => Finding::Killed(6),
            Self::Section(_, InSection::Exits) => Finding::Exited,
            Self::Section(_, InSection::Overflows) => Finding::Killed(11),
            Self::Section(_, InSection::Allocates) => Finding::Allocated,
        }
    }

    /// Why a verdict that does not name the cause is right all the same, if it is.
    pub(crate) fn excused(self, application: Application, found: Finding) -> Option<&'static str> {
        let expected = self.expected(application);
        match (self, found) {
            // The machine may delay jobs besides, whatever the fault.
            (_, Finding::Machine) if matches!(expected, Finding::Kept | Finding::Asked(_)) => {
                Some("the machine also stalled, and the probe saw it")
            }
            (Self::Traced, Finding::Kept | Finding::Machine) => {
                Some("strace delayed no job beyond its bound, or only while the probes saw a stall")
            }
            (Self::Moved, Finding::Kept) if application == Application::Cochlear => {
                Some("all tasks of this application run on that CPU already")
            }
            (Self::MemoryLimit, Finding::Killed(6)) if application == Application::Cochlear => Some(
                "the application allocates memory for its picture at its end, and a failed allocation aborts \
                 it",
            ),
            _ => None,
        }
    }
}
