// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The other side of the channels: an aircraft, its sensors, and a pilot on the ground with a radio.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::manifest::payload::{Attitude, Position, Radio, Servos};

/// How far an aircraft moves in one step, in ms.
pub const STEP_MS: u64 = 25;
/// Steps between two positions of the GPS receiver: 250 ms.
pub const GPS_EVERY: u64 = 10;

/// What an aircraft does.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct State {
    /// Since the start, in s.
    pub time: f64,
    /// East of the start, in m.
    pub east: f64,
    /// North of the start, in m.
    pub north: f64,
    /// Above the sea, in m.
    pub height: f64,
    /// The direction over the ground, from north by east, in rad.
    pub course: f64,
    /// In m/s.
    pub climb: f64,
    /// To the right, in rad.
    pub roll: f64,
    /// Up, in rad.
    pub pitch: f64,
    /// In rad/s.
    pub roll_rate: f64,
    /// In rad/s.
    pub pitch_rate: f64,
    /// Calibrated, in m/s.
    pub airspeed: f64,
    /// Not 0 if the wing has stalled.
    pub stall: f64,
}

impl State {
    /// From a line of numbers, in the order of the fields.
    fn parse(line: &str) -> Option<Self> {
        let numbers: Vec<f64> = line.split_whitespace().map_while(|number| number.parse().ok()).collect();
        let [time, east, north, height, course, climb, roll, pitch, roll_rate, pitch_rate, airspeed, stall] =
            numbers[..]
        else {
            return None;
        };
        Some(Self {
            time,
            east,
            north,
            height,
            course,
            climb,
            roll,
            pitch,
            roll_rate,
            pitch_rate,
            airspeed,
            stall,
        })
    }

    /// What the attitude sensors say.
    pub fn attitude(&self, step: u64) -> Attitude {
        let Self { roll, pitch, roll_rate, pitch_rate, .. } = *self;
        Attitude { step, roll, pitch, roll_rate, pitch_rate }
    }

    /// What the GPS receiver says.
    pub fn position(&self, step: u64) -> Position {
        let Self { east, north, height, course, climb, .. } = *self;
        Position { step, east, north, height, course, climb }
    }

    /// What a pilot does who keeps wings and nose level, and wants the autopilot to fly if `auto`.
    pub fn pilot(&self, frame: u64, auto: bool) -> Radio {
        Radio {
            frame,
            auto: u64::from(auto),
            aileron: (-0.5 * self.roll).clamp(-1.0, 1.0),
            elevator: (0.02 - self.pitch).clamp(-1.0, 1.0),
            throttle: 0.65,
        }
    }
}

/// What moves by its servos.
pub trait Aircraft {
    /// Moves for [`STEP_MS`].
    ///
    /// # Errors
    /// The aircraft's process is gone.
    fn step(&mut self, servos: &Servos) -> io::Result<State>;
}

/// JSBSim's `c172p`, in a process of `plant.py`.
#[derive(Debug)]
pub struct Jsbsim {
    process: Child,
    servos: ChildStdin,
    states: BufReader<ChildStdout>,
}

impl Jsbsim {
    /// Starts the process with this Python, which must have the package `jsbsim`, and returns it with the state at the start.
    ///
    /// # Errors
    /// There is no such program, or no such package: the text is what Python says.
    pub fn start(python: &str) -> io::Result<(Self, State)> {
        let mut command = Command::new(python);
        command.args(["-c", include_str!("../plant.py")]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn()?;
        let (Some(servos), Some(states)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let mut aircraft = Self { process, servos, states: BufReader::new(states) };
        let state = aircraft.state()?;
        Ok((aircraft, state))
    }

    fn state(&mut self) -> io::Result<State> {
        let mut line = String::new();
        self.states.read_line(&mut line)?;
        let what = || io::Error::other("the process of JSBSim gave no state: has this Python `jsbsim`?");
        State::parse(&line).ok_or_else(what)
    }
}

impl Aircraft for Jsbsim {
    fn step(&mut self, servos: &Servos) -> io::Result<State> {
        let Servos { aileron, elevator, throttle, .. } = servos;
        writeln!(self.servos, "{aileron} {elevator} {throttle}")?;
        self.state()
    }
}

impl Drop for Jsbsim {
    fn drop(&mut self) {
        // It only computes: nothing is lost.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_state() {
        let state = State::parse("1 2 3 4 5 6 7 8 9 10 11 12\n").expect("twelve numbers");
        assert_eq!((state.time, state.height, state.stall), (1.0, 4.0, 12.0));
        assert_eq!(state.attitude(3).pitch_rate, 10.0);
        assert_eq!((state.position(3).course, state.position(3).climb), (5.0, 6.0));
        for line in ["", "1 2 3", "1 2 3 4 5 6 7 8 9 10 11 x", "1 2 3 4 5 6 7 8 9 10 11 12 13"] {
            assert_eq!(State::parse(line), None, "{line}");
        }
    }

    #[test]
    fn a_pilot_keeps_the_wings_level() {
        let banked = State { roll: 0.4, pitch: -0.1, ..State::default() };
        let radio = banked.pilot(8, false);
        assert!(radio.aileron < 0.0 && radio.elevator > 0.0);
        assert_eq!((radio.frame, radio.auto), (8, 0));
    }

    #[test]
    fn a_python_without_the_package_is_an_error() {
        assert!(Jsbsim::start("/nonexistent/python").is_err());
        let silent = Jsbsim::start("true").expect_err("it says nothing");
        assert!(silent.to_string().contains("jsbsim"), "{silent}");
    }
}
