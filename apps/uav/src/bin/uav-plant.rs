// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `uav-plant`: JSBSim's aircraft and a pilot on the ground, a client of the application. It flies until the application ends.

use std::io;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use taut::{AttachError, Client, Liveness, Remedy};
use taut_uav::aircraft::{Aircraft, GPS_EVERY, Jsbsim, STEP_MS, State};
use taut_uav::arguments::{options, time};
use taut_uav::fly_by_wire::{AT_REST, Mode};
use taut_uav::manifest::NAME;
use taut_uav::manifest::client::plant::{self, Io};
use taut_uav::picture;
use taut_uav::track::{Point, Track};

const USAGE: &str = "\
usage: uav-plant [--python PROGRAM] [--radio-ends TIME] [--picture FILE]
  --python PROGRAM   a Python with the package `jsbsim`; by default python3
  --radio-ends TIME  the pilot's radio dies in flight
  --picture FILE     writes a picture of the flight, an SVG
It waits for the application for 30 s.";

const PATIENCE: Duration = Duration::from_secs(30);

fn main() -> ExitCode {
    let parsed = options(std::env::args_os().skip(1), ["--python", "--radio-ends", "--picture"]);
    let (python, radio, file) = match parsed.and_then(|values| {
        let Some([python, radio, file]) = values else { return Ok(None) };
        Ok(Some((python, time(radio.as_ref())?, file)))
    }) {
        Ok(Some(values)) => values,
        Ok(None) => {
            taut::outln!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(message) => {
            taut::errln!("error: {message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let python = python.unwrap_or_else(|| "python3".to_owned());
    let radio_ends = radio.map_or(Duration::MAX, |time| Duration::from_nanos(time.as_ns()));
    let flown = Jsbsim::start(&python).map_err(|error| error.to_string()).and_then(|(aircraft, state)| {
        let (client, io) = attach().map_err(|error| error.to_string())?;
        fly(&client, io, aircraft, state, radio_ends).map_err(|error| error.to_string())
    });
    let written = flown.and_then(|track| {
        taut::outln!("{}", track.summary());
        let Some(file) = file else { return Ok(()) };
        let picture = picture::render(&track, "A flight in real time");
        std::fs::write(&file, picture).map_err(|error| format!("{file}: {error}"))
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            taut::errln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Attaches to the application as soon as it runs.
fn attach() -> Result<(Client, Io), AttachError> {
    let begun = Instant::now();
    loop {
        match plant::attach(NAME) {
            Err(error) if error.remedy() == Remedy::Change || begun.elapsed() > PATIENCE => {
                return Err(error);
            }
            Err(_) => sleep(Duration::from_millis(20)),
            attached => return attached,
        }
    }
}

/// Flies in steps of real time. While this process does not run, the aircraft's time stands still.
fn fly(
    client: &Client,
    mut io: Io,
    mut aircraft: impl Aircraft,
    mut state: State,
    radio_ends: Duration,
) -> io::Result<Track> {
    let step_time = Duration::from_millis(STEP_MS);
    let begun = Instant::now();
    let (mut track, mut late, mut due) = (Track::default(), 0, begun);
    for step in 0.. {
        if client.liveness() != Liveness::Running {
            break;
        }
        // A value that cannot be published, or is overtaken, is as lost as a sensor's: the next one comes.
        let _ = io.attitude.publish(state.attitude(step));
        if step % GPS_EVERY == 0 {
            let _ = io.gps.publish(state.position(step));
        }
        if begun.elapsed() < radio_ends {
            let _ = io.radio.publish(state.pilot(step, true));
        }
        due += step_time;
        match due.checked_duration_since(Instant::now()) {
            Some(left) => sleep(left),
            None => (late, due) = (late + 1, Instant::now()),
        }
        let servos = io.servos.latest().ok().flatten().map_or(AT_REST, |(_, servos)| servos);
        state = aircraft.step(&servos)?;
        track.points.push(Point { state, mode: Mode::of(servos.mode) });
    }
    taut::outln!("{late} steps began late");
    Ok(track)
}
