// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The wearer's screen: shows electrode levels live, and adjusts volume and sensitivity.
//!
//! ```text
//! Link ── Observation ──> Screen ── draw ──> terminal
//!   ^                       │  └─── headless ──> JSON lines
//!   └────── Settings ───────┘ <── keys
//! ```
//! The screen is not real-time: it may stall or be killed at any moment. It reaches the application through a
//! [`Link`] alone.

mod arguments;
mod attached;
#[cfg(feature = "screen")]
mod draw;
mod headless;
mod replay;
mod screen;
#[cfg(feature = "screen")]
mod terminal;

use std::fmt;
use std::io;

pub use arguments::{Arguments, HELP};
pub use attached::Attached;
#[cfg(feature = "screen")]
pub use draw::draw;
pub use headless::{Clock, RealClock, headless};
pub use replay::Replay;
pub use screen::{Action, Key, Screen};
#[cfg(feature = "screen")]
pub use terminal::interactive;

use crate::{Settings, Stimulation};

/// Connects the screen to a running application.
pub trait Link {
    /// Looks once: attaches if there is something to attach to, and reads the latest frame.
    ///
    /// # Errors
    /// Looking again is of no use. The error gives the reason, in words for the wearer.
    fn look(&mut self) -> Result<Observation, Refused>;

    /// Passes settings to the application. The screen calls this while attached: when the wearer changed something,
    /// and again after attaching to a new application. The settings are always sanitised.
    fn send(&mut self, settings: Settings);
}

/// The application cannot be used by this screen, now or later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub String);

/// Why a screen ended early.
#[derive(Debug)]
pub enum Failure {
    /// The application cannot be used.
    Refused(Refused),
    /// There is no terminal, or the output cannot be written.
    Output(io::Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(Refused(reason)) => f.write_str(reason),
            Self::Output(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Failure {}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// The result of one look at the application.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// State of the connection.
    pub connection: Connection,
    /// The latest frame; `None` before the first. The same frame may be seen many times.
    pub latest: Option<Stimulation>,
    /// Reads that found no consistent value since the link was made.
    pub torn: u64,
    /// What is known of all frames since the link was attached, those that no look saw included.
    pub heard: Heard,
}

/// What a link knows of all frames since it was attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// Frames whose telemetry was received.
    pub frames: u64,
    /// Frames whose telemetry was dropped before this process took it.
    pub lost: u64,
    /// The number of the newest of them in the queue, counted from 1 when the application began; 0 before the first.
    pub newest: u64,
    /// The largest magnitude of a sample (0..=32768) in the frames that the last look received.
    pub loudest: u32,
}

/// State of the connection to the application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Connection {
    /// No application has been found yet.
    #[default]
    Waiting,
    /// An application runs, and another screen is attached to it; waiting for that one to leave.
    Taken,
    /// Attached to a running application.
    Attached,
    /// The application ended in order; waiting for the next one.
    Ended,
    /// The application died without ending; waiting for the next one.
    Died,
}

impl Connection {
    /// One word for machines.
    pub fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Taken => "taken",
            Self::Attached => "attached",
            Self::Ended => "ended",
            Self::Died => "died",
        }
    }
}

/// A link that plays a script: one observation per look, the last one for ever.
#[cfg(test)]
pub(crate) struct Script {
    observations: Vec<Observation>,
    next: usize,
    pub(crate) sent: Vec<Settings>,
}

#[cfg(test)]
impl Script {
    pub(crate) fn new(observations: Vec<Observation>) -> Self {
        Self { observations, next: 0, sent: Vec::new() }
    }
}

#[cfg(test)]
impl Link for Script {
    fn look(&mut self) -> Result<Observation, Refused> {
        let at = self.next.min(self.observations.len() - 1);
        self.next += 1;
        Ok(self.observations[at])
    }

    fn send(&mut self, settings: Settings) {
        self.sent.push(settings);
    }
}
