// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a command returns to the shell.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The answer of a command, as its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Yes.
    Yes,
    /// The answer is no: unschedulable, a bound broken, a plan out of date.
    No,
    /// Bad usage or a faulty manifest.
    Usage,
    /// A privilege or a property of the machine is missing.
    Environment,
    /// An error of taut itself.
    Internal,
    /// Ctrl-C.
    Interrupted,
    /// The exit code of a program that the command started.
    Program(u8),
}

impl Outcome {
    /// The exit code after Ctrl-C, as shells define it.
    pub(crate) const INTERRUPTED: u8 = 130;

    pub(crate) fn code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Yes => 0,
            Self::No => 1,
            Self::Usage => 2,
            Self::Environment => 3,
            Self::Internal => 4,
            Self::Interrupted => Self::INTERRUPTED,
            Self::Program(code) => code,
        })
    }
}

/// Why a command could not do its work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A file cannot be read.
    Read(PathBuf, std::io::Error),
    /// A file cannot be written.
    Write(PathBuf, std::io::Error),
    /// Something in the request does not exist or makes no sense.
    Usage(String),
    /// The machine lacks something.
    Environment(String),
    /// The application cannot be built or started.
    Program(String),
    /// An error of taut itself.
    Internal(String),
}

impl Failure {
    pub(crate) fn read(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        |error| Self::Read(path.to_owned(), error)
    }

    pub(crate) fn write(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        |error| Self::Write(path.to_owned(), error)
    }

    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            // A file that exists but may not be read is no error of the request.
            Self::Read(_, error) if error.kind() == ErrorKind::PermissionDenied => Outcome::Environment,
            Self::Read(..) | Self::Usage(_) | Self::Program(_) => Outcome::Usage,
            Self::Write(..) | Self::Environment(_) => Outcome::Environment,
            Self::Internal(_) => Outcome::Internal,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(path, error) => write!(f, "cannot read {}: {error}", path.display()),
            Self::Write(path, error) => write!(f, "cannot write {}: {error}", path.display()),
            Self::Usage(text) | Self::Environment(text) | Self::Program(text) => f.write_str(text),
            Self::Internal(text) => write!(f, "{text} (this is a fault of taut; please report it)"),
        }
    }
}
