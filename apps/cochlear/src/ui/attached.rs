// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The link to a running application: finds it by name, reads its levels, writes its settings, finds the next one.
//!
//! ```text
//!   looking ──attach──> attached ──ends, dies──> looking
//!      └─ refused for good: the screen ends
//! ```

use std::time::{Duration, Instant};

use taut::{AttachError, Client, Liveness, Remedy};

use super::{Connection, Heard, Link, Observation, Refused};
use crate::manifest::client::ui::{self, Io};
use crate::{Settings, Stimulation};

/// How often to look for an application: often enough for a person, seldom enough for its listener.
const LOOK_FOR_EVERY: Duration = Duration::from_millis(50);

/// The link.
#[derive(Debug)]
pub struct Attached {
    app: String,
    line: Option<Line>,
    /// Why there is no line, or `Attached`.
    connection: Connection,
    next_attempt: Instant,
    latest: Option<Stimulation>,
    torn: u64,
    heard: Heard,
}

/// The connection while attached.
#[derive(Debug)]
struct Line {
    client: Client,
    io: Io,
    /// Settings that have not been published yet.
    unsent: Option<Settings>,
}

impl Line {
    fn open(app: &str) -> Result<Self, AttachError> {
        let (client, io) = ui::attach(app)?;
        Ok(Self { client, io, unsent: None })
    }

    fn send(&mut self) {
        if let Some(settings) = self.unsent.take() {
            self.unsent = self.io.settings.publish(settings).err();
        }
    }
}

impl Attached {
    /// A link to the application `app`, which need not run yet.
    pub fn new(app: &str) -> Self {
        Self {
            app: app.to_owned(),
            line: None,
            connection: Connection::Waiting,
            next_attempt: Instant::now(),
            latest: None,
            torn: 0,
            heard: Heard::default(),
        }
    }

    /// Attaches if an application is there.
    fn look_for(&mut self) -> Result<(), Refused> {
        let now = Instant::now();
        if now < self.next_attempt {
            return Ok(());
        }
        self.next_attempt = now + LOOK_FOR_EVERY;
        match Line::open(&self.app) {
            Ok(line) => {
                self.line = Some(line);
                self.connection = Connection::Attached;
                (self.latest, self.heard) = (None, Heard::default());
            }
            Err(error) => match error.remedy() {
                Remedy::Release => self.connection = Connection::Taken,
                // The other screen and the application are gone.
                Remedy::Start if self.connection == Connection::Taken => {
                    self.connection = Connection::Waiting
                }
                Remedy::Start | Remedy::Wait => {}
                Remedy::Change => return Err(Refused(error.to_string())),
            },
        }
        Ok(())
    }
}

/// Receives the telemetry that waits; `before` is what was heard so far.
fn hear(telemetry: &mut ui::Telemetry, before: Heard) -> Heard {
    let mut heard = before;
    let mut loudest = None;
    while let Some((number, telemetry)) = telemetry.receive() {
        (heard.frames, heard.newest) = (heard.frames + 1, number);
        loudest = loudest.max(Some(telemetry.loudest));
    }
    Heard { lost: telemetry.lost(), loudest: loudest.unwrap_or(before.loudest), ..heard }
}

impl Link for Attached {
    fn look(&mut self) -> Result<Observation, Refused> {
        match &mut self.line {
            None => self.look_for()?,
            Some(line) => match line.client.liveness() {
                Liveness::Running => {}
                gone => {
                    self.line = None;
                    let died = gone == Liveness::Died;
                    self.connection = if died { Connection::Died } else { Connection::Ended };
                }
            },
        }
        if let Some(line) = &mut self.line {
            line.send();
            match line.io.levels.latest() {
                Ok(latest) => self.latest = latest.map(|(_, stimulation)| stimulation),
                // The previous frame stays.
                Err(_) => self.torn += 1,
            }
            self.heard = hear(&mut line.io.telemetry, self.heard);
        }
        let Self { connection, latest, torn, heard, .. } = *self;
        Ok(Observation { connection, latest, torn, heard })
    }

    fn send(&mut self, settings: Settings) {
        if let Some(line) = &mut self.line {
            line.unsent = Some(settings);
            line.send();
        }
    }
}
