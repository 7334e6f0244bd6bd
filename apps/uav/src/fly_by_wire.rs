// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Who flies: the autopilot, the pilot with the radio, or nobody. Fly-by-wire decides it by who is silent.

use crate::manifest::payload::{Link, Pilot, Servos};

/// A pilot of whom so many jobs of `test-ppm` heard nothing is silent: 750 ms, PapaBench's figure.
pub const PILOT_SILENT: u64 = 30;
/// An autopilot of which so many jobs of `check-mega128` heard nothing is silent: 250 ms.
pub const LINK_SILENT: u64 = 5;

/// Who flies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Nobody: ailerons and elevator as the aircraft is trimmed, and no power. It glides.
    Failsafe = 0,
    /// The pilot's sticks move the servos.
    Manual = 1,
    /// The autopilot.
    Auto = 2,
}

impl Mode {
    /// The number of a mode; [`Mode::Failsafe`] if it is none.
    pub fn of(number: u64) -> Self {
        match number {
            1 => Self::Manual,
            2 => Self::Auto,
            _ => Self::Failsafe,
        }
    }

    /// Who flies, in a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Auto => "autopilot",
            Self::Manual => "pilot",
            Self::Failsafe => "failsafe",
        }
    }
}

/// Counts the jobs since a sender last sent something new.
#[derive(Clone, Copy, Debug)]
pub struct Silence {
    last: Option<u64>,
    jobs: u64,
}

impl Default for Silence {
    /// Nothing has ever been heard.
    fn default() -> Self {
        Self { last: None, jobs: u64::MAX }
    }
}

impl Silence {
    /// A job heard the value of this number, or none: how many jobs have now heard nothing new.
    pub fn after(&mut self, number: Option<u64>) -> u64 {
        if number.is_some() && number != self.last {
            (self.last, self.jobs) = (number, 0);
        } else {
            self.jobs = self.jobs.saturating_add(1);
        }
        self.jobs
    }
}

/// Who flies now. A pilot who wants to fly does; otherwise the autopilot flies, also without a pilot.
pub fn mode(pilot: Option<&Pilot>, link: Option<&Link>) -> Mode {
    let pilot = pilot.filter(|pilot| pilot.silent < PILOT_SILENT);
    let linked = link.is_some_and(|link| link.silent < LINK_SILENT);
    match pilot {
        Some(pilot) if pilot.auto == 0 || !linked => Mode::Manual,
        _ if linked => Mode::Auto,
        _ => Mode::Failsafe,
    }
}

/// What the servos get.
pub fn servos(mode: Mode, pilot: Option<&Pilot>, link: Option<&Link>) -> Servos {
    let number = mode as u64;
    match (mode, pilot, link) {
        (Mode::Auto, _, Some(&Link { aileron, elevator, throttle, .. }))
        | (Mode::Manual, Some(&Pilot { aileron, elevator, throttle, .. }), _) => {
            Servos { mode: number, aileron, elevator, throttle }
        }
        _ => AT_REST,
    }
}

/// The servos of an aircraft that glides.
pub const AT_REST: Servos =
    Servos { mode: Mode::Failsafe as u64, aileron: 0.0, elevator: 0.0, throttle: 0.0 };

#[cfg(test)]
mod tests {
    use super::*;

    fn pilot(silent: u64, auto: u64) -> Pilot {
        Pilot { silent, auto, aileron: 0.1, elevator: 0.2, throttle: 0.3 }
    }

    fn link(silent: u64) -> Link {
        Link { silent, aileron: -0.1, elevator: -0.2, throttle: 0.9 }
    }

    #[test]
    fn who_is_silent_does_not_fly() {
        use Mode::{Auto, Failsafe, Manual};
        let rows = [
            (Some(pilot(0, 1)), Some(link(0)), Auto),
            (Some(pilot(0, 0)), Some(link(0)), Manual),
            (Some(pilot(29, 1)), Some(link(4)), Auto),
            (Some(pilot(29, 1)), Some(link(5)), Manual),
            (Some(pilot(30, 1)), Some(link(4)), Auto),
            (Some(pilot(30, 0)), Some(link(4)), Auto),
            (Some(pilot(30, 1)), Some(link(5)), Failsafe),
            (None, Some(link(0)), Auto),
            (Some(pilot(0, 1)), None, Manual),
            (None, None, Failsafe),
        ];
        for (at, (pilot, link, expected)) in rows.into_iter().enumerate() {
            assert_eq!(mode(pilot.as_ref(), link.as_ref()), expected, "row {at}");
        }
    }

    #[test]
    fn servos_are_of_who_flies() {
        let (pilot, link) = (pilot(0, 1), link(0));
        let throttle = |mode| servos(mode, Some(&pilot), Some(&link)).throttle;
        assert_eq!([Mode::Failsafe, Mode::Manual, Mode::Auto].map(throttle), [0.0, 0.3, 0.9]);
        assert_eq!(servos(Mode::Auto, None, None), AT_REST);
        for number in 0..3 {
            assert_eq!(Mode::of(number) as u64, number);
        }
        assert_eq!(Mode::of(77), Mode::Failsafe);
    }

    #[test]
    fn silence_counts_what_is_not_new() {
        let mut silence = Silence::default();
        assert_eq!(silence.after(None), u64::MAX);
        let heard = [Some(4), Some(4), None, Some(4), Some(5), Some(1)];
        assert_eq!(heard.map(|number| silence.after(number)), [0, 1, 2, 3, 0, 0]);
    }
}
