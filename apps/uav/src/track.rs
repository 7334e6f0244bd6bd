// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A flight as it was flown, and what a judge measures in it.

use crate::aircraft::{STEP_MS, State};
use crate::fly_by_wire::Mode;
use crate::route::{ROUND_TRIP, Waypoint};

/// An instant of a flight.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// What the aircraft does.
    pub state: State,
    /// Who flies.
    pub mode: Mode,
}

/// All instants of a flight, one each step.
#[derive(Clone, Debug, Default)]
pub struct Track {
    /// In order.
    pub points: Vec<Point>,
}

/// A leg as it was flown, from one waypoint to the next.
#[derive(Clone, Copy, Debug)]
pub struct Leg {
    /// The waypoint at its end.
    pub to: Waypoint,
    /// The step of its end: that at which the aircraft was nearest to the waypoint.
    pub end: usize,
    /// How near, on the map, in m.
    pub passed: f64,
    /// The largest deviation from the waypoint's height since the aircraft first was within [`SETTLED`] of it, in m; `None` if it
    /// never was.
    pub deviation: Option<f64>,
}

/// So near to its height the aircraft has settled, in m.
pub const SETTLED: f64 = 5.0;
/// A waypoint that the aircraft passes farther away is not passed, in m.
const PASSES: f64 = 300.0;

impl Track {
    /// The legs that were flown to their end: the waypoints in order, each passed as near as it was.
    pub fn legs(&self) -> Vec<Leg> {
        let mut legs = Vec::new();
        let mut begin = 0;
        for to in ROUND_TRIP.into_iter().cycle() {
            let Some((end, passed)) = self.pass(begin, to) else { break };
            let deviation = |point: &Point| (point.state.height - to.height).abs();
            let flown = self.points[begin..=end].iter().map(deviation);
            let settled = flown.skip_while(|deviation| *deviation > SETTLED);
            legs.push(Leg { to, end, passed, deviation: settled.reduce(f64::max) });
            begin = end;
        }
        legs
    }

    /// The nearest step of the first pass of a waypoint from a step on, once the aircraft has passed and left it.
    fn pass(&self, begin: usize, to: Waypoint) -> Option<(usize, f64)> {
        let mut nearest: Option<(usize, f64)> = None;
        for (step, point) in self.points.iter().enumerate().skip(begin) {
            let distance = to.distance(point.state.east, point.state.north);
            match nearest {
                Some((_, least)) if distance > PASSES && least <= PASSES => return nearest,
                Some((_, least)) if distance >= least => {}
                _ if distance <= PASSES => nearest = Some((step, distance)),
                _ => {}
            }
        }
        None
    }

    /// The slowest airspeed, in m/s.
    pub fn slowest(&self) -> f64 {
        self.points.iter().map(|point| point.state.airspeed).fold(f64::INFINITY, f64::min)
    }

    /// Whether the wing ever stalled.
    pub fn stalled(&self) -> bool {
        self.points.iter().any(|point| point.state.stall != 0.0)
    }

    /// The time of the first step from `from_s` on at which this mode flies, in s.
    pub fn first(&self, mode: Mode, from_s: f64) -> Option<f64> {
        let mut later = self.points.iter().filter(|point| point.state.time >= from_s);
        later.find(|point| point.mode == mode).map(|point| point.state.time)
    }

    /// What was measured: who flew from when on, and a line for each leg.
    pub fn summary(&self) -> String {
        let flown_by = self.points.chunk_by(|one, next| one.mode == next.mode);
        let flown_by = flown_by
            .map(|piece| format!("{} from {:.1} s", piece[0].mode.word(), piece[0].state.time))
            .collect::<Vec<_>>();
        let seconds = self.points.len() as f64 * STEP_MS as f64 / 1_000.0;
        let mut text = format!("{seconds:.1} s flown: {}\n", flown_by.join(", "));
        for (number, leg) in self.legs().iter().enumerate() {
            let Point { state, .. } = self.points[leg.end];
            let settled = leg.deviation.map_or("never settled".to_owned(), |most| {
                format!("at most {most:.1} m off its height once settled")
            });
            text += &format!(
                "leg {}: passes {:.0} m from its waypoint after {:.1} s, {settled}\n",
                number + 1,
                leg.passed,
                state.time,
            );
        }
        let stall = if self.stalled() { "the wing stalled" } else { "the wing never stalled" };
        text + &format!("slowest {:.1} m/s; {stall}", self.slowest())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::HOME;

    /// Straight from waypoint to waypoint, 1 m north of each, at a height that the waypoint has from half of the leg on.
    fn straight(round: &[Waypoint]) -> Track {
        let mut track = Track::default();
        let mut from = HOME;
        for to in round {
            for step in 1..=1_000 {
                let part = f64::from(step) / 1_000.0;
                let state = State {
                    time: track.points.len() as f64 * 0.025,
                    east: from.east + part * (to.east - from.east),
                    north: 1.0 + from.north + part * (to.north - from.north),
                    height: if step < 500 { 900.0 } else { to.height + if step == 700 { 7.0 } else { 1.0 } },
                    airspeed: 50.0 - part,
                    ..State::default()
                };
                track.points.push(Point { state, mode: Mode::Auto });
            }
            from = *to;
        }
        track
    }

    #[test]
    fn legs_are_measured() {
        let mut track = straight(&ROUND_TRIP);
        // The last waypoint is passed once the aircraft has left it.
        assert_eq!(track.legs().len(), 2);
        track.points.extend(straight(&ROUND_TRIP[..1]).points);
        let legs = track.legs();
        assert_eq!(legs.len(), 3);
        for (at, leg) in legs.iter().enumerate() {
            assert_eq!(leg.to, ROUND_TRIP[at]);
            assert!((0.9..=1.0).contains(&leg.passed), "{leg:?}");
            assert!((leg.deviation.expect("settled") - 7.0).abs() < 1e-9, "{leg:?}");
            assert!(leg.end.abs_diff(1_000 * (at + 1)) < 3, "{leg:?}");
        }
        assert!((track.slowest() - 49.0).abs() < 1e-9 && !track.stalled());
        track.points[5].state.stall = 1.0;
        assert!(track.stalled());
        track.points[8].mode = Mode::Manual;
        assert_eq!((track.first(Mode::Manual, 0.1), track.first(Mode::Manual, 0.3)), (Some(0.2), None));
        let summary = track.summary();
        let begin = "100.0 s flown: autopilot from 0.0 s, pilot from 0.2 s, autopilot from 0.2 s\nleg 1: passes 1 m from";
        assert!(summary.starts_with(begin), "{summary}");
    }
}
