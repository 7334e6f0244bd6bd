// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The application flies in virtual time, with a toy aircraft: a point whose roll and pitch follow the servos.
#![allow(clippy::unwrap_used, reason = "test code")]

mod support;

use std::io;

use support::{Script, fly};
use taut_uav::aircraft::{Aircraft, STEP_MS, State};
use taut_uav::fly_by_wire::Mode;
use taut_uav::manifest::payload::Servos;
use taut_uav::route::{HOME, ROUND_TRIP};
use taut_uav::track::Track;

/// In m/s, whatever it does.
const SPEED: f64 = 50.0;

/// Its rates follow the servos within a third of a second, its climb follows pitch and throttle within one.
struct Toy(State);

fn start() -> State {
    State { height: HOME.height, course: -1.571, airspeed: SPEED, ..State::default() }
}

impl Aircraft for Toy {
    fn step(&mut self, servos: &Servos) -> io::Result<State> {
        let step = STEP_MS as f64 / 1_000.0;
        let state = &mut self.0;
        state.time += step;
        state.roll_rate += 3.0 * step * (1.5 * servos.aileron - state.roll_rate);
        state.pitch_rate += 3.0 * step * (0.8 * servos.elevator - 0.3 * state.pitch - state.pitch_rate);
        state.roll += state.roll_rate * step;
        state.pitch += state.pitch_rate * step;
        let climb = SPEED * state.pitch.sin() + 10.0 * (servos.throttle - 0.7);
        state.climb += step * (climb - state.climb);
        state.height += state.climb * step;
        state.course += 9.81 / SPEED * state.roll.tan() * step;
        state.east += SPEED * state.course.sin() * step;
        state.north += SPEED * state.course.cos() * step;
        Ok(*state)
    }
}

fn flown(script: Script) -> Track {
    fly(Toy(start()), start(), script, 1).unwrap()
}

/// Whether this mode flies at every step between two instants, in s.
fn only(track: &Track, mode: Mode, from: f64, until: f64) -> bool {
    let mut between = track.points.iter().filter(|point| (from..until).contains(&point.state.time));
    between.all(|point| point.mode == mode)
}

#[test]
fn a_round_trip() {
    let track = flown(Script { end: 360, ..Script::default() });
    let legs = track.legs();
    assert!(legs.len() >= ROUND_TRIP.len(), "{}", track.summary());
    for leg in legs {
        assert!(leg.passed < 60.0, "{}", track.summary());
        assert!(leg.deviation.unwrap() < 10.0, "{}", track.summary());
    }
    assert!(only(&track, Mode::Auto, 1.0, 360.0));
}

#[test]
fn the_same_seed_gives_the_same_flight() {
    let script = Script { end: 20, ..Script::default() };
    let last = |seed| fly(Toy(start()), start(), script, seed).unwrap().points.pop().unwrap().state;
    assert_eq!(last(4), last(4));
}

/// The autopilot's link goes silent: the pilot flies. It comes back: the autopilot flies. It goes and the radio, too: nobody.
#[test]
fn who_is_silent_does_not_fly() {
    let script =
        Script { end: 60, autopilot_ends: Some(20), autopilot_begins: Some(30), ..Script::default() };
    let track = flown(script);
    let manual = track.first(Mode::Manual, 20.0).unwrap() - 20.0;
    assert!((0.2..=0.4).contains(&manual), "{manual}");
    let auto = track.first(Mode::Auto, 30.0).unwrap() - 30.0;
    assert!(auto <= 0.4, "{auto}");
    assert!(only(&track, Mode::Auto, 1.0, 20.0));
    assert!(only(&track, Mode::Manual, 20.4, 30.0));
    assert!(only(&track, Mode::Auto, 30.4, 60.0));

    let track =
        flown(Script { end: 60, autopilot_ends: Some(20), radio_ends: Some(40), ..Script::default() });
    assert!(only(&track, Mode::Manual, 20.4, 40.0));
    let failsafe = track.first(Mode::Failsafe, 40.0).unwrap() - 40.0;
    assert!((0.7..=0.9).contains(&failsafe), "{failsafe}");
    assert!(only(&track, Mode::Failsafe, 40.9, 60.0));
}

#[test]
fn without_a_radio_the_autopilot_flies_on() {
    let track = flown(Script { end: 60, radio_ends: Some(10), ..Script::default() });
    assert!(only(&track, Mode::Auto, 1.0, 60.0));
    assert_eq!(track.legs().len(), 0);
    assert!(track.points.last().unwrap().state.east < -2_500.0);
}

/// The autopilot cannot fly without positions, so it gives no orders.
#[test]
fn without_positions_the_pilot_flies() {
    let track = flown(Script { end: 40, gps_ends: Some(20), ..Script::default() });
    let manual = track.first(Mode::Manual, 1.0).unwrap() - 20.0;
    assert!((0.9..=1.6).contains(&manual), "{manual}");
    assert!(only(&track, Mode::Manual, 22.0, 40.0));
}

/// A pilot who wants to fly does, and gives the aircraft back as they have it.
#[test]
fn a_pilot_takes_over_and_returns() {
    let track =
        flown(Script { end: 90, pilot_takes: Some(30), pilot_returns: Some(50), ..Script::default() });
    assert!(only(&track, Mode::Auto, 1.0, 30.0) && only(&track, Mode::Manual, 30.2, 50.0));
    assert!(only(&track, Mode::Auto, 50.2, 90.0));
    let (before, after) = (track.points[50 * 40 - 1].state, track.points[52 * 40].state);
    assert!((before.pitch - after.pitch).abs() < 0.1, "{before:?} {after:?}");
}
