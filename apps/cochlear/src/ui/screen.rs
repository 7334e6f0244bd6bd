// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The state of the screen: a state machine that takes observations and keys. It has no clock and does no IO.

use std::time::Duration;

use super::{Connection, Heard, Observation};
use crate::{ELECTRODES, Map, Settings};

/// How long a peak mark stands before it falls.
const HOLD: Duration = Duration::from_millis(800);
/// By how many current levels per second a peak falls after that.
const FALL_PER_SECOND: f32 = 60.0;
/// The volume step of one key press.
const VOLUME_STEP: f32 = 0.05;
/// The sensitivity step of one key press (dB).
const SENSITIVITY_STEP: f32 = 1.0;

/// The keys of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// Volume up.
    Up,
    /// Volume down.
    Down,
    /// Sensitivity up.
    Right,
    /// Sensitivity down.
    Left,
    /// Back to the default settings.
    Reset,
    /// End the screen (not the application).
    Quit,
}

/// What the caller must do next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// Nothing.
    None,
    /// Pass these settings to the link.
    Send(Settings),
    /// Leave.
    Quit,
}

/// The screen's state.
#[derive(Clone, Debug)]
pub struct Screen {
    #[cfg_attr(not(feature = "screen"), expect(dead_code, reason = "only the picture shows it"))]
    pub(super) map: Map,
    pub(super) connection: Connection,
    pub(super) frame: Option<u64>,
    pub(super) seen: u64,
    pub(super) skipped: u64,
    pub(super) torn: u64,
    pub(super) heard: Heard,
    pub(super) levels: [u8; ELECTRODES],
    pub(super) peaks: [Peak; ELECTRODES],
    /// Set once the wearer has chosen settings: a screen that only looks leaves the application's settings alone.
    pub(super) chosen: Option<Settings>,
}

/// A held peak of one electrode.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Peak {
    level: u8,
    at: Duration,
}

impl Peak {
    /// Where the mark stands at `now` (current level).
    pub(super) fn height(self, now: Duration) -> f32 {
        let falling = now.saturating_sub(self.at).saturating_sub(HOLD).as_secs_f32();
        (f32::from(self.level) - FALL_PER_SECOND * falling).max(0.0)
    }
}

impl Screen {
    /// An empty screen that scales its bars by `map`. [`observe`](Self::observe) returns `chosen` for sending when
    /// the screen attaches to an application.
    pub fn new(map: Map, chosen: Option<Settings>) -> Self {
        Self {
            map,
            connection: Connection::Waiting,
            frame: None,
            seen: 0,
            skipped: 0,
            torn: 0,
            heard: Heard::default(),
            levels: [0; ELECTRODES],
            peaks: [Peak::default(); ELECTRODES],
            chosen: chosen.map(Settings::sanitised),
        }
    }

    /// Takes one observation at `now`. Returns the settings to send if the screen has just attached to an
    /// application.
    pub fn observe(&mut self, observation: &Observation, now: Duration) -> Action {
        let attached = observation.connection == Connection::Attached;
        let newly = attached && self.connection != Connection::Attached;
        self.connection = observation.connection;
        (self.torn, self.heard) = (observation.torn, observation.heard);
        if newly {
            // Another application counts its frames anew.
            (self.frame, self.seen, self.skipped) = (None, 0, 0);
        }
        if !attached {
            self.levels = [0; ELECTRODES];
        } else if let Some(latest) = &observation.latest
            && self.frame != Some(latest.frame)
        {
            if let Some(last) = self.frame {
                self.skipped += latest.frame.saturating_sub(last).saturating_sub(1);
            }
            self.frame = Some(latest.frame);
            self.seen += 1;
            self.levels = latest.peaks();
            for (peak, &level) in self.peaks.iter_mut().zip(&self.levels) {
                if f32::from(level) >= peak.height(now) {
                    *peak = Peak { level, at: now };
                }
            }
        }
        match self.chosen {
            Some(settings) if newly => Action::Send(settings),
            _ => Action::None,
        }
    }

    /// Takes a key.
    pub fn press(&mut self, key: Key) -> Action {
        let mut settings = self.settings();
        match key {
            Key::Up => settings.volume += VOLUME_STEP,
            Key::Down => settings.volume -= VOLUME_STEP,
            Key::Right => settings.sensitivity += SENSITIVITY_STEP,
            Key::Left => settings.sensitivity -= SENSITIVITY_STEP,
            Key::Reset => settings = Settings::default(),
            Key::Quit => return Action::Quit,
        }
        // Twenty steps of 0.05 must end at 1, whatever single precision makes of them.
        settings.volume = (settings.volume / VOLUME_STEP).round() * VOLUME_STEP;
        let settings = settings.sanitised();
        self.chosen = Some(settings);
        if self.connection == Connection::Attached { Action::Send(settings) } else { Action::None }
    }

    /// The settings that the screen shows: the wearer's, or the defaults until the wearer chooses some.
    pub fn settings(&self) -> Settings {
        self.chosen.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stimulation;

    pub(super) fn attached(frame: u64, level: u8) -> Observation {
        let mut latest = Stimulation::silent(frame);
        latest.levels[22 * 4 + 9] = level;
        Observation {
            connection: Connection::Attached,
            latest: Some(latest),
            torn: 0,
            heard: Heard::default(),
        }
    }

    const GONE: Observation = Observation {
        connection: Connection::Died,
        latest: None,
        torn: 0,
        heard: Heard { frames: 0, lost: 0, newest: 0, loudest: 0 },
    };

    fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn frames_are_counted_seen_and_skipped() {
        let mut s = Screen::new(Map::default(), None);
        for (frame, ms) in [(10, 0), (10, 2), (11, 8), (15, 40), (15, 41)] {
            s.observe(&attached(frame, 150), at(ms));
        }
        assert_eq!((s.frame, s.seen, s.skipped), (Some(15), 3, 3));
        s.observe(&GONE, at(50));
        assert_eq!((s.connection, s.levels), (Connection::Died, [0; 22]));
        s.observe(&attached(2, 150), at(60));
        assert_eq!((s.frame, s.seen, s.skipped), (Some(2), 1, 0));
    }

    #[test]
    fn peaks_stand_then_fall() {
        let mut s = Screen::new(Map::default(), None);
        s.observe(&attached(0, 180), at(0));
        s.observe(&attached(1, 120), at(8));
        assert_eq!(s.levels[9], 120);
        assert_eq!(s.peaks[9].height(at(800)), 180.0);
        assert!((s.peaks[9].height(at(1300)) - 150.0).abs() < 0.1);
        s.observe(&attached(2, 160), at(1300));
        assert_eq!(s.peaks[9].height(at(1300)), 160.0);
        assert_eq!(s.peaks[9].height(at(60_000)), 0.0);
    }

    #[test]
    fn a_screen_that_only_looks_sends_nothing() {
        let mut s = Screen::new(Map::default(), None);
        assert_eq!(s.observe(&attached(0, 1), at(0)), Action::None);
    }

    #[test]
    fn chosen_settings_are_sent_once_per_application() {
        let quiet = Settings { volume: 0.5, sensitivity: 0.0 };
        let mut s = Screen::new(Map::default(), Some(quiet));
        assert_eq!(s.observe(&GONE, at(0)), Action::None);
        assert_eq!(s.observe(&attached(0, 1), at(1)), Action::Send(quiet));
        assert_eq!(s.observe(&attached(1, 1), at(2)), Action::None);
        s.observe(&GONE, at(3));
        assert_eq!(s.observe(&attached(0, 1), at(4)), Action::Send(quiet));
    }

    #[test]
    fn keys_move_within_the_ranges() {
        let mut s = Screen::new(Map::default(), None);
        assert_eq!(s.press(Key::Down), Action::None, "not attached: remembered, not sent");
        s.observe(&attached(0, 1), at(0));
        let mut repeat = |key, times| (0..times).map(|_| s.press(key)).last();
        repeat(Key::Down, 30);
        repeat(Key::Left, 30);
        assert_eq!(s.settings(), Settings { volume: 0.0, sensitivity: -18.0 });
        (0..20).for_each(|_| _ = s.press(Key::Up));
        assert_eq!(s.press(Key::Right), Action::Send(Settings { volume: 1.0, sensitivity: -17.0 }));
        assert_eq!(s.press(Key::Reset), Action::Send(Settings::default()));
        assert_eq!(s.press(Key::Quit), Action::Quit);
    }
}
