// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Control laws: from a course, a height and an attitude to the orders for the servos.
//!
//! Gains are for JSBSim's `c172p` at 50 m/s. Angles in rad, lengths in m, rates in m/s; right and up are positive.

use std::f64::consts::{PI, TAU};

use crate::manifest::payload::{Attitude, Level, Order};

/// The largest roll that navigation asks for.
pub const ROLL_MOST: f64 = 0.5;
/// The fastest climb and descent that are asked for.
pub const CLIMB_MOST: f64 = 2.5;

const COURSE_P: f64 = 0.8;
const HEIGHT_P: f64 = 0.1;
const CLIMB_P: f64 = 0.02;
const CLIMB_I: f64 = 0.01;
const CLIMB_STEP_S: f64 = 0.25;
const INTEGRAL_MOST: f64 = 20.0;
const PITCH_MOST: f64 = 0.3;
const THROTTLE_LEVEL: f64 = 0.7;
const THROTTLE_PER_CLIMB: f64 = 0.08;
const ROLL_P: f64 = 0.6;
const ROLL_D: f64 = 0.1;
const PITCH_P: f64 = 1.5;
const PITCH_D: f64 = 0.6;

/// The roll that turns `course` to `wanted` by the shorter way.
pub fn roll_for_course(wanted: f64, course: f64) -> f64 {
    let error = (wanted - course + PI).rem_euclid(TAU) - PI;
    within(COURSE_P * error, ROLL_MOST)
}

/// The climb that leads from `height` to `wanted`.
pub fn climb_for_height(wanted: f64, height: f64) -> f64 {
    within(HEIGHT_P * (wanted - height), CLIMB_MOST)
}

/// From a climb to pitch and throttle. The integral finds the pitch of level flight.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClimbLaw {
    integral: f64,
}

impl ClimbLaw {
    /// One step of 250 ms. While not `engaged`, another flies, and the integral begins anew.
    pub fn level(&mut self, wanted: f64, climb: f64, engaged: bool) -> Level {
        let error = wanted - climb;
        self.integral =
            if engaged { within(self.integral + error * CLIMB_STEP_S, INTEGRAL_MOST) } else { 0.0 };
        Level {
            pitch: within(CLIMB_P * error + CLIMB_I * self.integral, PITCH_MOST),
            throttle: (THROTTLE_LEVEL + THROTTLE_PER_CLIMB * wanted).clamp(0.0, 1.0),
        }
    }
}

/// The servos that bring the aircraft to a roll and a pitch.
pub fn order(attitude: &Attitude, roll: f64, level: &Level) -> Order {
    Order {
        step: attitude.step,
        aileron: within(ROLL_P * (roll - attitude.roll) - ROLL_D * attitude.roll_rate, 1.0),
        elevator: within(PITCH_P * (level.pitch - attitude.pitch) - PITCH_D * attitude.pitch_rate, 1.0),
        throttle: level.throttle,
    }
}

fn within(value: f64, most: f64) -> f64 {
    value.clamp(-most, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_takes_the_shorter_way() {
        assert!((roll_for_course(0.1, 0.0) - 0.08).abs() < 1e-12);
        // From 170 to -170 degrees: to the right, through south.
        assert!((roll_for_course(-2.967, 2.967) - 0.8 * (TAU - 2.0 * 2.967)).abs() < 1e-12);
        assert_eq!(roll_for_course(-2.0, 0.0), -ROLL_MOST);
        assert_eq!(roll_for_course(2.0, -2.0), -ROLL_MOST);
    }

    #[test]
    fn a_climb_has_its_bounds_and_its_throttle() {
        assert_eq!(climb_for_height(1_100.0, 1_000.0), CLIMB_MOST);
        assert!((climb_for_height(1_000.0, 1_010.0) + 1.0).abs() < 1e-12);
        let mut law = ClimbLaw::default();
        let up = law.level(2.0, 0.0, true);
        assert!((up.pitch - (0.04 + 0.005)).abs() < 1e-12 && (up.throttle - 0.86).abs() < 1e-12);
        for _ in 0..1_000 {
            law.level(2.0, 0.0, true);
        }
        assert_eq!(law.integral, INTEGRAL_MOST);
        // Nobody follows the law while it is not engaged, so it must not wind up.
        assert!((law.level(2.0, 0.0, false).pitch - 0.04).abs() < 1e-12);
    }

    #[test]
    fn orders_oppose_error_and_rate() {
        let still = Attitude { step: 7, roll: 0.0, pitch: 0.0, roll_rate: 0.0, pitch_rate: 0.0 };
        let level = Level { pitch: 0.1, throttle: 0.5 };
        let right = order(&still, 0.2, &level);
        assert!((right.aileron - 0.12).abs() < 1e-12 && (right.elevator - 0.15).abs() < 1e-12);
        assert_eq!((right.step, right.throttle), (7, 0.5));
        let moving = Attitude { roll_rate: 1.0, pitch_rate: 1.0, ..still };
        let damped = order(&moving, 0.2, &level);
        assert!(damped.aileron < right.aileron && damped.elevator < right.elevator);
        let upside_down = Attitude { roll: 3.0, ..still };
        assert_eq!(order(&upside_down, -0.5, &level).aileron, -1.0);
    }
}
