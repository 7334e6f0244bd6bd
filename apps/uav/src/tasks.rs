// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The tasks: each reads its channels, calls a law, and sends what follows.

use taut::{Context, Error, Job};

use crate::fly_by_wire::{self, Mode, Silence};
use crate::law::{self, ClimbLaw};
use crate::manifest::payload::{Attitude, Level, Link, Order, Pilot, Position, Radio, Target, Telemetry};
use crate::manifest::{Ready, Setup, Tasks, task};
use crate::route::Route;

taut::errors! {
    /// Why a job fails.
    pub enum Fault {
        /// A value could not be published.
        Unpublished,
    }
}

/// An attitude that did not change for so many jobs of stabilization is none: the sensor is dead. 500 ms.
const ATTITUDE_STALE: u64 = 10;
/// So with a target, which changes with each position: 1 s.
const TARGET_STALE: u64 = 20;

/// A task's code: `struct`, with its state, and what a job does.
macro_rules! task {
    ($(#[$meta:meta])* $code:ident $task:ident { $($field:ident: $type:ty),* } |$this:ident, $io:ident, $job:ident| $body:block) => {
        $(#[$meta])*
        #[derive(Debug, Default)]
        pub struct $code { $($field: $type),* }

        impl task::$code for $code {
            type Error = Fault;

            fn release(&mut self, $io: &mut task::$task::Io<'_>, $job: &mut Job<'_>) -> Result<(), Fault> {
                let $this = self;
                $body
            }
        }
    };
}

fn published<E>(result: Result<(), E>) -> Result<(), Fault> {
    result.map_err(|_| Fault::Unpublished)
}

/// What a client wrote may be any bits: a value that is no number counts as none.
fn sound<P>(value: Option<P>, numbers: impl Fn(&P) -> [f64; 5]) -> Option<P> {
    value.filter(|value| numbers(value).iter().all(|number| number.is_finite()))
}

task! {
    /// Takes the newest of the radio, and counts how long it is silent.
    TestPpm test_ppm { silence: Silence, heard: Option<Radio> } |this, io, job| {
        let radio = sound(io.radio.latest(job), |r| [r.aileron, r.elevator, r.throttle, 0.0, 0.0]);
        this.heard = radio.or(this.heard);
        let silent = this.silence.after(radio.map(|radio| radio.frame));
        let Some(heard) = this.heard else { return Ok(()) };
        published(io.pilot.publish(job, Pilot {
            silent,
            auto: heard.auto,
            aileron: heard.aileron.clamp(-1.0, 1.0),
            elevator: heard.elevator.clamp(-1.0, 1.0),
            throttle: heard.throttle.clamp(0.0, 1.0),
        }))
    }
}

task! {
    /// Passes on to the autopilot what the pilot wants.
    SendData send_data {} |_this, io, job| {
        if let Some(pilot) = io.pilot.latest(job) {
            // An autopilot that has stopped takes nothing, and fly-by-wire does not depend on it.
            let _ = io.uplink.send(job, pilot);
        }
        Ok(())
    }
}

task! {
    /// Takes the orders of the autopilot, and counts how long it is silent.
    CheckMega128 check_mega128 { silence: Silence, heard: Option<Order> } |this, io, job| {
        let mut order = None;
        while let Some(newer) = io.downlink.receive(job) {
            order = Some(newer);
        }
        this.heard = order.or(this.heard);
        let silent = this.silence.after(order.map(|order| order.step));
        let Some(Order { aileron, elevator, throttle, .. }) = this.heard else { return Ok(()) };
        published(io.link.publish(job, Link { silent, aileron, elevator, throttle }))
    }
}

task! {
    /// Decides who flies.
    CheckFailsafe check_failsafe {} |_this, io, job| {
        let (pilot, link) = (io.pilot.latest(job), io.link.latest(job));
        let mode = fly_by_wire::mode(pilot.as_ref(), link.as_ref());
        published(io.mode.publish(job, mode as u64))
    }
}

task! {
    /// Drives the servos for who flies.
    ServoTransmit servo_transmit {} |_this, io, job| {
        let mode = Mode::of(io.mode.latest(job).unwrap_or(0));
        let (pilot, link) = (io.pilot.latest(job), io.link.latest(job));
        published(io.servos.publish(job, fly_by_wire::servos(mode, pilot.as_ref(), link.as_ref())))
    }
}

task! {
    /// Whether the autopilot is engaged: without a pilot it is.
    RadioControl radio_control { wanted: Option<u64> } |this, io, job| {
        while let Some(pilot) = io.uplink.receive(job) {
            this.wanted = Some(pilot.auto);
        }
        published(io.engaged.publish(job, this.wanted.unwrap_or(1)))
    }
}

task! {
    /// Holds roll and pitch. Without a new attitude, or a target from a new position, it gives no orders, and fly-by-wire learns of
    /// it by the silence.
    Stabilization stabilization { attitudes: Silence, targets: Silence } |this, io, job| {
        let attitude = io.attitude.latest(job);
        let attitude = sound(attitude, |a: &Attitude| [a.roll, a.pitch, a.roll_rate, a.pitch_rate, 0.0]);
        let (target, level) = (io.target.latest(job), io.level.latest(job));
        let is_fresh = this.attitudes.after(attitude.map(|attitude| attitude.step)) < ATTITUDE_STALE;
        let is_fresh = this.targets.after(target.map(|target| target.step)) < TARGET_STALE && is_fresh;
        let (Some(attitude), Some(target), Some(level), true) = (attitude, target, level, is_fresh) else {
            return Ok(());
        };
        published(io.order.publish(job, law::order(&attitude, target.roll, &level)))
    }
}

task! {
    /// Sends new orders to fly-by-wire: those of this instant, as the flow is synchronous.
    LinkFbwSend link_fbw_send { sent: Option<u64> } |this, io, job| {
        let order = io.order.latest(job).filter(|order| this.sent != Some(order.step));
        if let Some(order) = order {
            this.sent = Some(order.step);
            let _ = io.downlink.send(job, order);
        }
        Ok(())
    }
}

task! {
    /// Takes a position.
    ReceiveGps receive_gps {} |_this, io, job| {
        let gps = sound(io.gps.latest(job), |p: &Position| [p.east, p.north, p.height, p.course, p.climb]);
        gps.map_or(Ok(()), |position| published(io.position.publish(job, position)))
    }
}

task! {
    /// Where to, and with how much roll.
    Navigation navigation { route: Route } |this, io, job| {
        let Some(position) = io.position.latest(job) else { return Ok(()) };
        let roll = law::roll_for_course(this.route.course(&position), position.course);
        let (waypoint, height) = (this.route.next() as u64, this.route.height());
        published(io.target.publish(job, Target { step: position.step, waypoint, roll, height }))
    }
}

task! {
    /// How fast to climb.
    AltitudeControl altitude_control {} |_this, io, job| {
        let (position, target) = (io.position.latest(job), io.target.latest(job));
        let (Some(position), Some(target)) = (position, target) else { return Ok(()) };
        published(io.climb.publish(job, law::climb_for_height(target.height, position.height)))
    }
}

task! {
    /// Pitch and throttle for that climb.
    ClimbControl climb_control { law: ClimbLaw } |this, io, job| {
        let (position, wanted) = (io.position.latest(job), io.climb.latest(job));
        let engaged = io.engaged.latest(job) != Some(0);
        let (Some(position), Some(wanted)) = (position, wanted) else { return Ok(()) };
        let level: Level = this.law.level(wanted, position.climb, engaged);
        published(io.level.publish(job, level))
    }
}

task! {
    /// Tells the ground.
    Reporting reporting {} |_this, io, job| {
        let mode = io.mode.latest(job).unwrap_or(0);
        let (position, target) = (io.position.latest(job), io.target.latest(job));
        let (Some(position), Some(target)) = (position, target) else { return Ok(()) };
        let Position { east, north, height, .. } = position;
        let _ = io.telemetry.send(job, Telemetry {
            job: job.number(),
            mode,
            waypoint: target.waypoint,
            east,
            north,
            height,
        });
        Ok(())
    }
}

/// Gives the application its code; `logger` takes the telemetry.
///
/// # Errors
/// As `taut::App`.
pub fn set_up<'p, L>(setup: Setup<'_, 'p>, logger: L) -> Result<Ready, Error>
where
    L: FnOnce(&mut task::logger::Io<'_>, &mut Context<'_>) + Send + 'p,
{
    setup.application(Tasks {
        test_ppm: TestPpm::default(),
        send_data: SendData::default(),
        check_mega128: CheckMega128::default(),
        check_failsafe: CheckFailsafe::default(),
        servo_transmit: ServoTransmit::default(),
        radio_control: RadioControl::default(),
        stabilization: Stabilization::default(),
        link_fbw_send: LinkFbwSend::default(),
        reporting: Reporting::default(),
        receive_gps: ReceiveGps::default(),
        navigation: Navigation::default(),
        altitude_control: AltitudeControl::default(),
        climb_control: ClimbControl::default(),
        logger,
    })
}
