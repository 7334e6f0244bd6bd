// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A flight in virtual time: the application in a bench, with an aircraft and a pilot as its client.

use std::cell::RefCell;
use std::rc::Rc;

use taut::bench::{Bench, ExecutionTime, RunVerdict, report};
use taut::{Context, Duration, Error};
use taut_uav::aircraft::{Aircraft, GPS_EVERY, STEP_MS, State};
use taut_uav::fly_by_wire::{AT_REST, Mode};
use taut_uav::manifest::payload::Servos;
use taut_uav::manifest::{app, task};
use taut_uav::tasks::set_up;
use taut_uav::track::{Point, Track};

/// What happens in a flight, in s since its start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Script {
    /// It ends.
    pub(crate) end: u64,
    /// The autopilot's service stops.
    pub(crate) autopilot_ends: Option<u64>,
    /// It starts again.
    pub(crate) autopilot_begins: Option<u64>,
    /// The radio sends no more.
    pub(crate) radio_ends: Option<u64>,
    /// From then on, and before `pilot_returns`, the pilot wants to fly.
    pub(crate) pilot_takes: Option<u64>,
    /// The pilot wants the autopilot to fly again.
    pub(crate) pilot_returns: Option<u64>,
    /// The GPS receiver gives no positions from then on.
    pub(crate) gps_ends: Option<u64>,
}

/// Flies by the plan, and returns the flight. Each job executes for a time that `seed` draws.
pub(crate) fn fly(
    aircraft: impl Aircraft + 'static,
    start: State,
    script: Script,
    seed: u64,
) -> Result<Track, Error> {
    let lock = concat!(env!("CARGO_MANIFEST_DIR"), "/taut.lock");
    let logger = |_: &mut task::logger::Io<'_>, _: &mut Context<'_>| ();
    let mut bench = Bench::new(lock, app(move |setup| set_up(setup, logger)))?.seed(seed);
    for task in bench
        .plan()
        .tasks
        .iter()
        .map(|task| task.name.clone())
        .filter(|name| name != "logger")
        .collect::<Vec<_>>()
    {
        bench.execution(&task, ExecutionTime::uniform(Duration::from_us(5)..=Duration::from_us(200)))?;
    }
    let track = Rc::new(RefCell::new(Track::default()));
    let flown = Rc::clone(&track);
    let (mut aircraft, mut state, mut step) = (aircraft, start, 0_u64);
    let steps = |time: Option<u64>| time.map_or(u64::MAX, |time| time * 1_000 / STEP_MS);
    bench.every(Duration::from_ms(STEP_MS), move |parties| {
        if step > 0 {
            let servos = parties.client("plant").latest::<Servos>("servos")?.unwrap_or(AT_REST);
            state = aircraft.step(&servos).map_err(|error| Error::Bench(error.to_string()))?;
            flown.borrow_mut().points.push(Point { state, mode: Mode::of(servos.mode) });
        }
        parties.client("plant").publish("attitude", state.attitude(step))?;
        if step % GPS_EVERY == 0 && step < steps(script.gps_ends) {
            parties.client("plant").publish("gps", state.position(step))?;
        }
        if step < steps(script.radio_ends) {
            let flies = (steps(script.pilot_takes)..steps(script.pilot_returns)).contains(&step);
            parties.client("plant").publish("radio", state.pilot(step, !flies))?;
        }
        step += 1;
        Ok(true)
    })?;
    if let Some(at) = script.autopilot_ends {
        bench.at(Duration::from_s(at), |parties| {
            parties.control().stop_service("autopilot").map_err(|error| Error::Bench(error.to_string()))
        });
    }
    if let Some(at) = script.autopilot_begins {
        bench.at(Duration::from_s(at), |parties| {
            parties.control().start_service("autopilot").map_err(|error| Error::Bench(error.to_string()))
        });
    }
    bench.run_for(Duration::from_s(script.end))?;
    assert!(matches!(report(&bench)?.verdict(), RunVerdict::Kept), "the run broke a promise");
    bench.end()?;
    drop(bench);
    Ok(Rc::try_unwrap(track).map(RefCell::into_inner).unwrap_or_default())
}
