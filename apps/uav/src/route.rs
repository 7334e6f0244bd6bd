// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The round trip, and the course along it.
//!
//! The waypoints are those of PapaBench's round trip, for an aircraft five times as fast: ten times as far, twice as high, above
//! 1000 m.

use crate::manifest::payload::Position;

/// A place to fly over, in m; east and north of the start, height above the sea.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waypoint {
    /// East of the start.
    pub east: f64,
    /// North of the start.
    pub north: f64,
    /// Above the sea.
    pub height: f64,
}

impl Waypoint {
    /// The distance on the map.
    pub fn distance(&self, east: f64, north: f64) -> f64 {
        (self.east - east).hypot(self.north - north)
    }
}

/// Where the aircraft starts; the last waypoint is here again.
pub const HOME: Waypoint = Waypoint { east: 0.0, north: 0.0, height: 1_000.0 };

/// The waypoints, in order and again from the first.
pub const ROUND_TRIP: [Waypoint; 3] = [
    Waypoint { east: -3_370.0, north: 170.0, height: 1_120.0 },
    Waypoint { east: 2_380.0, north: -300.0, height: 1_080.0 },
    HOME,
];

/// The point that the course leads to is so far ahead on the leg.
const AHEAD: f64 = 500.0;
/// A waypoint counts as reached so far before it.
const REACHED: f64 = 50.0;

/// Where on the round trip the aircraft is.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    waypoint: usize,
    from: Waypoint,
}

impl Default for Route {
    fn default() -> Self {
        Self { waypoint: 0, from: HOME }
    }
}

impl Route {
    /// The waypoint that is next, by its place in [`ROUND_TRIP`].
    pub fn next(&self) -> usize {
        self.waypoint
    }

    /// The height of the next waypoint.
    pub fn height(&self) -> f64 {
        ROUND_TRIP[self.waypoint].height
    }

    /// The course to fly; a waypoint that the aircraft has reached is over.
    pub fn course(&mut self, position: &Position) -> f64 {
        if self.along(position) > self.length() - REACHED {
            self.from = ROUND_TRIP[self.waypoint];
            self.waypoint = (self.waypoint + 1) % ROUND_TRIP.len();
        }
        let to = ROUND_TRIP[self.waypoint];
        let part = ((self.along(position).max(0.0) + AHEAD) / self.length()).min(1.0);
        let east = self.from.east + part * (to.east - self.from.east);
        let north = self.from.north + part * (to.north - self.from.north);
        (east - position.east).atan2(north - position.north)
    }

    fn length(&self) -> f64 {
        ROUND_TRIP[self.waypoint].distance(self.from.east, self.from.north)
    }

    /// How far along the leg the aircraft is.
    fn along(&self, position: &Position) -> f64 {
        let to = ROUND_TRIP[self.waypoint];
        let (east, north) = (to.east - self.from.east, to.north - self.from.north);
        let flown = (position.east - self.from.east) * east + (position.north - self.from.north) * north;
        flown / self.length()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(east: f64, north: f64) -> Position {
        Position { step: 0, east, north, height: 0.0, course: 0.0, climb: 0.0 }
    }

    #[test]
    fn the_course_leads_back_to_the_leg() {
        let mut route = Route::default();
        let on_the_leg = route.course(&at(-1_000.0, 1_000.0 * 170.0 / 3_370.0));
        assert!((on_the_leg - (-3_370.0_f64).atan2(170.0)).abs() < 1e-9);
        // North of the leg, the way back is by south: less than west, which is -90 degrees.
        let north_of_it = route.course(&at(-1_000.0, 550.0));
        assert!((-2.5..-2.2).contains(&north_of_it), "{north_of_it}");
        assert_eq!(route.next(), 0);
    }

    #[test]
    fn waypoints_come_in_turn() {
        let mut route = Route::default();
        let mut seen = Vec::new();
        for waypoint in [0, 1, 2, 0] {
            let before = ROUND_TRIP[waypoint];
            // 51 m before the waypoint it is not reached; 49 m before it, it is.
            let (east, north) = (before.east - route.from.east, before.north - route.from.north);
            let place = |left: f64| {
                let part = left / east.hypot(north);
                at(before.east - part * east, before.north - part * north)
            };
            route.course(&place(51.0));
            assert_eq!(route.next(), waypoint);
            route.course(&place(49.0));
            seen.push((route.next(), route.height()));
        }
        assert_eq!(seen, [(1, 1_080.0), (2, 1_000.0), (0, 1_120.0), (1, 1_080.0)]);
    }
}
