// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Flies two round trips with JSBSim in virtual time, prints what was measured, and writes `flight.svg`; then a flight in which the
//! autopilot ends and the radio, too, as `failsafe.svg`.
//!
//! `cargo run --release -p taut-uav --example flight -- [PYTHON] [FOLDER]`
#![allow(clippy::print_stdout)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::error::Error;
use std::path::Path;

use support::{Script, fly};
use taut_uav::aircraft::Jsbsim;
use taut_uav::picture;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let python = arguments.first().map_or("python3", String::as_str);
    let folder = Path::new(arguments.get(1).map_or(".", String::as_str));
    let round_trips = Script { end: 640, ..Script::default() };
    let failing = Script { end: 120, autopilot_ends: Some(70), radio_ends: Some(90), ..Script::default() };
    for (file, title, script) in [
        ("flight.svg", "Two round trips", round_trips),
        ("failsafe.svg", "The autopilot ends after 70 s, the radio after 90 s", failing),
    ] {
        let (aircraft, state) = Jsbsim::start(python)?;
        let track = fly(aircraft, state, script, 1)?;
        println!("{title}: {}", track.summary());
        let path = folder.join(file);
        std::fs::write(&path, picture::render(&track, title))?;
        println!("wrote {}", path.display());
    }
    Ok(())
}
