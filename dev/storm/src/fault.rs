// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What can befall a running application, and what its verdict may then say.

use crate::draw::Application;
use crate::finding::Finding;

/// What is done to a running application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing.
    Nothing,
    /// This signal is sent to the application.
    Signal(Signal),
    /// `taut run` is killed, and the application keeps on without it.
    CommandKilled,
    /// Whoever reads what `taut run` says goes away.
    PipeClosed,
    /// No file that the application writes may become larger.
    FileLimit,
    /// All threads of the application are stopped for a while, and go on.
    Stopped,
    /// strace attaches to all threads for a while.
    Traced,
    /// All threads of the application lose their priority.
    Demoted,
    /// All threads of the application are sent to one CPU.
    Moved,
    /// A real-time thread of somebody else computes on this CPU for a while, above the application's tasks.
    ForeignThread(u16),
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

/// All of them. Signals that ask for an end come first, then those that are a process's death.
pub(crate) const ALL: &[Fault] = &[
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
];

/// For how long a fault lasts that passes (ms): some periods of every task of both applications.
pub(crate) const LASTS_MS: u64 = 120;

impl Fault {
    /// As the command line and the matrix have it.
    pub(crate) fn name(self) -> &'static str {
        match self {
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
        }
    }

    /// What the verdict should say: the cause, by its name.
    pub(crate) fn expected(self, application: Application) -> Finding {
        match self {
            Self::Nothing | Self::CommandKilled | Self::PipeClosed => Finding::Kept,
            Self::Signal(Signal { number: number @ (2 | 15), .. }) => Finding::Asked(number),
            Self::Signal(signal) => Finding::Killed(signal.number),
            Self::FileLimit => Finding::CutShort,
            Self::Stopped => Finding::Stopped,
            Self::Traced => Finding::Traced,
            Self::Demoted | Self::Moved => Finding::Moved,
            Self::ForeignThread(cpu) if application.cores().contains(&cpu) => Finding::ForeignThread,
            Self::ForeignThread(_) => Finding::Kept,
        }
    }

    /// Why a verdict that does not name the cause is right all the same, if it is.
    pub(crate) fn excused(self, application: Application, found: Finding) -> Option<&'static str> {
        let expected = self.expected(application);
        match (self, found) {
            // A job that the machine itself delays is a job that the machine itself delays, whatever else happens.
            (_, Finding::Machine) if matches!(expected, Finding::Kept | Finding::Asked(_)) => {
                Some("the machine stalled besides, and the probe saw it")
            }
            (Self::Stopped, Finding::Machine) => {
                Some("nothing but the probes saw the stop: the process cannot tell it from a stall")
            }
            (Self::Traced, Finding::Kept | Finding::Machine) => {
                Some("strace delayed no job beyond its bound, or as long as the probes saw")
            }
            (Self::Moved, Finding::Kept) if application == Application::Cochlear => {
                Some("all tasks of this application stand on that CPU already")
            }
            _ => None,
        }
    }
}
