// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The side of a process outside of the application.

use std::fmt;
use std::marker::PhantomData;

use taut_run::{ClientEnd, Payload};
use taut_segment::{Attached, Role};

/// A process that is attached to a running application under one of the manifest's client names.
///
/// It may be killed at any instruction: the application does not notice but for the values that stay out. If
/// the application dies, values stop coming and [`Client::liveness`] says so; attach anew then.
#[derive(Debug)]
pub struct Client {
    attached: Attached,
}

/// Whether the application lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// It runs, or is about to.
    Running,
    /// It ended in order.
    Ended,
    /// It died.
    Died,
}

/// Why a client cannot attach, or not to a channel.
#[derive(Debug)]
pub enum AttachError {
    /// What the segment says: it does not run, the name is taken, the layouts differ, …
    Segment(taut_segment::Error),
    /// The channel's mechanism or region is not one that this version knows.
    Mechanism(String),
}

impl fmt::Display for AttachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Segment(error) => error.fmt(f),
            Self::Mechanism(channel) => {
                write!(f, "the application's channel `{channel}` needs another version of taut")
            }
        }
    }
}

impl std::error::Error for AttachError {}

impl From<taut_segment::Error> for AttachError {
    fn from(error: taut_segment::Error) -> Self {
        Self::Segment(error)
    }
}

impl Client {
    /// Attaches to the running application `app` as `client`.
    ///
    /// # Errors
    /// [`AttachError::Segment`] says why not: it does not run, the name is taken or unknown, permission.
    pub fn attach(app: &str, client: &str) -> Result<Self, AttachError> {
        Ok(Self { attached: taut_segment::attach(app, client)? })
    }

    /// Whether the application lives; a system call that does not block.
    pub fn liveness(&self) -> Liveness {
        match self.attached.alive() {
            taut_segment::Liveness::Alive => Liveness::Running,
            taut_segment::Liveness::Ended => Liveness::Ended,
            taut_segment::Liveness::Died => Liveness::Died,
        }
    }

    /// The end of a channel that this client writes. At most one per channel.
    ///
    /// # Errors
    /// [`AttachError`] if there is no such channel or it carries other values.
    pub fn writer<P: Payload>(&self, channel: &str) -> Result<ClientWriter<'_, P>, AttachError> {
        let end = self.end::<P>(channel, Role::Writes)?;
        Ok(ClientWriter { end, client: PhantomData })
    }

    /// The end of a state that this client reads.
    ///
    /// # Errors
    /// [`AttachError`] if there is no such channel or it carries other values.
    pub fn reader<P: Payload>(&self, channel: &str) -> Result<ClientReader<'_, P>, AttachError> {
        let end = self.end::<P>(channel, Role::Reads)?;
        Ok(ClientReader { end, client: PhantomData })
    }

    fn end<P: Payload>(&self, channel: &str, role: Role) -> Result<ClientEnd<'_, P>, AttachError> {
        let entry = self.attached.entry_as(channel, role, &P::layout())?;
        ClientEnd::new(&self.attached, entry).ok_or_else(|| AttachError::Mechanism(channel.to_owned()))
    }
}

/// The end of a channel that a client writes.
#[derive(Debug)]
pub struct ClientWriter<'c, P: Payload> {
    end: ClientEnd<'c, P>,
    client: PhantomData<&'c Client>,
}

impl<P: Payload> ClientWriter<'_, P> {
    /// Publishes a value. Waits, for a bounded number of attempts, while the application's reader is inside.
    ///
    /// # Errors
    /// Gives the value back if it did not get in.
    pub fn publish(&mut self, value: P) -> Result<(), P> {
        self.end.publish(value)
    }
}

/// The end of a state that a client reads.
#[derive(Debug)]
pub struct ClientReader<'c, P: Payload> {
    end: ClientEnd<'c, P>,
    client: PhantomData<&'c Client>,
}

impl<P: Payload> ClientReader<'_, P> {
    /// The newest value and its number, counted by the writer from 1; `None` before the first, or if the
    /// application wrote faster than it could be read, a thousand times in a row.
    pub fn latest(&mut self) -> Option<(u64, P)> {
        self.end.latest()
    }
}
