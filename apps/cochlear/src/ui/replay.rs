// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A link without an application: processes bundled speech in this process, as time passes.
//!
//! For looking at the screen without an application (`cochlear-ui --demo`).

use std::time::Instant;

use super::{Connection, Heard, Link, Observation, Refused};
use crate::speech::Speech;
use crate::{FRAME_SAMPLES, Params, Processor, SAMPLE_RATE, Settings, Stimulation, Telemetry};

/// The most frames that one look catches up (one second): a process that was stopped must not compute for minutes.
const CATCH_UP: u64 = 125;

/// The demonstration.
pub struct Replay {
    start: Instant,
    speech: Speech,
    processor: Processor,
    settings: Settings,
    next: u64,
    latest: Option<Stimulation>,
    heard: Heard,
}

impl Replay {
    /// Starts now.
    pub fn start() -> Self {
        Self {
            start: Instant::now(),
            speech: Speech::bundled().repeated(),
            processor: Processor::new(&Params::default()),
            settings: Settings::default(),
            next: 0,
            latest: None,
            heard: Heard::default(),
        }
    }

    /// Processes all frames up to `samples` samples since the start.
    fn advance(&mut self, samples: u64) {
        let due = samples / FRAME_SAMPLES as u64;
        let skipped = due.saturating_sub(CATCH_UP).saturating_sub(self.next);
        self.next += skipped;
        self.heard.lost += skipped;
        if self.next < due {
            self.heard.loudest = 0;
        }
        while self.next < due {
            let Some(frame) = self.speech.next() else { return };
            let mut stimulation = Stimulation::silent(self.next);
            self.processor.process(&frame, self.settings, &mut stimulation.levels);
            self.latest = Some(stimulation);
            self.next += 1;
            let loudest = Telemetry::of(&frame, &stimulation).loudest;
            self.heard = Heard {
                frames: self.heard.frames + 1,
                newest: self.next,
                loudest: self.heard.loudest.max(loudest),
                ..self.heard
            };
        }
    }
}

impl Link for Replay {
    fn look(&mut self) -> Result<Observation, Refused> {
        self.advance((self.start.elapsed().as_secs_f64() * f64::from(SAMPLE_RATE)) as u64);
        let Self { latest, heard, .. } = *self;
        Ok(Observation { connection: Connection::Attached, latest, torn: 0, heard })
    }

    fn send(&mut self, settings: Settings) {
        self.settings = settings;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_follow_time_and_volume_follows_settings() {
        let mut replay = Replay::start();
        replay.advance(127);
        assert!(replay.latest.is_none());
        replay.advance(128 * 40 + 5);
        assert_eq!(replay.latest.map(|s| s.frame), Some(39));
        let loudest = |r: &Replay| r.latest.iter().flat_map(|s| s.levels).max();
        assert!(loudest(&replay) > Some(150));
        replay.send(Settings { volume: 0.0, sensitivity: 0.0 });
        replay.advance(128 * 41);
        assert_eq!(loudest(&replay), Some(100));
        // After a long stop, one second is caught up, not the rest.
        replay.advance(128 * 1_000_000);
        assert_eq!(replay.latest.map(|s| s.frame), Some(999_999));
        let Heard { frames, lost, newest, .. } = replay.heard;
        assert_eq!((frames, frames + lost, newest), (41 + 125, 1_000_000, 1_000_000));
    }
}
