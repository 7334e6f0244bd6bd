// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::fmt;

use taut_boot::{AdmissionError, LoadError, MapError, MissingGuarantee};

use crate::set_up::SetUpExceeded;

/// Why an application does not start, or did not end in order. `Debug` is `Display`: a test that returns the error prints what it
/// says.
#[non_exhaustive]
pub enum Error {
    /// There is no plan that may run.
    Load(LoadError),
    /// The application does not fit beside those that run on this machine.
    NotAdmitted(AdmissionError),
    /// The planned memory is not available.
    Maps(MapError),
    /// A guarantee is missing and the manifest says `on-missing-privilege = "fail"`.
    Privilege(Vec<MissingGuarantee>),
    /// The system refused something.
    System(taut_sys::Error),
    /// The output folder or the recording cannot be written.
    Output(std::path::PathBuf, std::io::Error),
    /// The run is over, and the rest of its recording, with its end, could not be written.
    Unwritten(std::path::PathBuf, std::io::Error),
    /// The manifest has no such name, or the name stands for something else.
    NoSuch {
        /// What the code asked for: task, channel, …
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// The code's type and the manifest's payload differ.
    Layout {
        /// The channel.
        channel: String,
        /// The manifest's layout.
        manifest: String,
        /// The code's layout.
        code: String,
    },
    /// The end of a channel belongs to another party.
    NotYours {
        /// The channel.
        channel: String,
        /// The party that owns the end.
        of: String,
        /// The party that asked for it.
        by: String,
    },
    /// A task asked for a resource for which the manifest does not list it.
    NotUser {
        /// The resource.
        resource: String,
        /// The tasks that use it.
        of: String,
        /// The task that asked for it.
        by: String,
    },
    /// A task asked for a resource that the application has not made.
    NotMade(String),
    /// A device releases a task, and the application has not given it.
    NoDevice(String),
    /// A resource holds another type than the requested one.
    OtherType(String),
    /// A lock for tasks of several cores cannot be made: that of a resource or a state, by its name.
    Lock(String, taut_lock::LockLayoutError),
    /// Set-ups left more of the heap in use than the manifest states.
    SetUp(SetUpExceeded),
    /// The executor does not start.
    Executor(taut_exec::SetupError),
    /// The code asked twice for something of which there is only one.
    Twice(String),
    /// The code does not use a task of the manifest, or an end of a channel that one of the tasks has.
    Unused(String),
    /// The region of a channel does not fit its protocol; the plan was not made by this version.
    Region(String),
    /// A thread could not be started, or did not become ready.
    Thread(String),
    /// A [bench](crate::bench) cannot do this.
    Bench(String),
    /// The code cannot be replayed with these recorded values.
    Replay(String),
    /// An error of the application.
    Application(Box<dyn std::error::Error>),
}

impl Error {
    /// Why a task that panicked did not finish.
    pub(crate) fn panicked() -> Box<dyn std::error::Error> {
        Box::new(Self::Thread("it panicked".to_owned()))
    }
}

/// The exit code of an application whose run ended with [`Error::Unwritten`]: it tells `taut run` why the recording
/// has no end.
pub const EXIT_UNWRITTEN: u8 = taut_event::Ending::EXIT_UNWRITTEN;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Load(error) => error.fmt(f),
            Self::NotAdmitted(error) => error.fmt(f),
            Self::Maps(error) => error.fmt(f),
            Self::Privilege(lost) => {
                f.write_str("the manifest says on-missing-privilege = \"fail\", and this is missing:")?;
                lost.iter().try_for_each(|lost| write!(f, "\n{lost}"))
            }
            Self::System(error) => error.fmt(f),
            Self::Output(path, error) => write!(f, "cannot write {}: {error}", path.display()),
            Self::Unwritten(path, error) => {
                write!(f, "the rest of the recording {} could not be written: {error}", path.display())
            }
            Self::NoSuch { what, name } => write!(f, "the manifest has no {what} `{name}`"),
            Self::Layout { channel, manifest, code } => write!(
                f,
                "channel `{channel}` carries other values in the code than in the manifest\n  \
                 manifest: {manifest}\n  code:     {code}"
            ),
            Self::NotYours { channel, of, by } => {
                write!(f, "that end of channel `{channel}` belongs to {of} in the manifest, not to `{by}`")
            }
            Self::NotUser { resource, of, by } => {
                write!(f, "resource `{resource}` is used by {of} in the manifest, not by `{by}`")
            }
            Self::NoDevice(device) => {
                write!(f, "device `{device}` is used before it is given; call `app.device` first")
            }
            Self::NotMade(resource) => {
                write!(f, "resource `{resource}` is used before it is made; call `app.resource` first")
            }
            Self::OtherType(resource) => {
                write!(f, "resource `{resource}` was made with another type than the requested one")
            }
            Self::Lock(name, error) => write!(f, "cannot create the lock of `{name}`: {error}"),
            Self::SetUp(error) => error.fmt(f),
            Self::Executor(error) => error.fmt(f),
            Self::Twice(what) => write!(f, "{what} is requested twice; there is only one"),
            Self::Unused(what) => write!(f, "{what} is in the manifest, but the code does not use it"),
            Self::Region(channel) => {
                write!(f, "the planned region of channel `{channel}` does not fit; run `taut plan`")
            }
            Self::Thread(what) | Self::Bench(what) | Self::Replay(what) => f.write_str(what),
            Self::Application(error) => error.fmt(f),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

impl From<LoadError> for Error {
    fn from(error: LoadError) -> Self {
        Self::Load(error)
    }
}

impl From<AdmissionError> for Error {
    fn from(error: AdmissionError) -> Self {
        Self::NotAdmitted(error)
    }
}

impl From<MapError> for Error {
    fn from(error: MapError) -> Self {
        Self::Maps(error)
    }
}

impl From<taut_sys::Error> for Error {
    fn from(error: taut_sys::Error) -> Self {
        Self::System(error)
    }
}

impl From<Box<dyn std::error::Error>> for Error {
    fn from(error: Box<dyn std::error::Error>) -> Self {
        Self::Application(error)
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::Application(Box::new(error))
    }
}

impl From<taut_scope::Exceeded> for Error {
    fn from(error: taut_scope::Exceeded) -> Self {
        Self::Application(Box::new(error))
    }
}
