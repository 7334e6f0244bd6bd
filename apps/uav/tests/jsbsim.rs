// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The application flies an aircraft that others wrote: JSBSim's `c172p`. The environment variable `UAV_PYTHON` names a Python that
//! has the package; `cargo xtask uav` makes one.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "test code")]

mod support;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use support::{Script, fly};
use taut_event::file::Run;
use taut_plan::Plan;
use taut_report::Report;
use taut_uav::aircraft::{Aircraft, Jsbsim};
use taut_uav::fly_by_wire::{AT_REST, Mode};
use taut_uav::manifest::payload::Servos;
use taut_uav::track::Track;

fn python() -> String {
    std::env::var("UAV_PYTHON").expect("UAV_PYTHON names a Python with `jsbsim`")
}

fn flown(script: Script) -> Track {
    let (aircraft, state) = Jsbsim::start(&python()).unwrap();
    let begun = Instant::now();
    let track = fly(aircraft, state, script, 1).unwrap();
    println!("{}", track.summary());
    println!("{} s in {:.1} s", script.end, begun.elapsed().as_secs_f64());
    track
}

#[test]
#[ignore = "needs JSBSim: `cargo xtask uav`"]
fn a_round_trip() {
    let track = flown(Script { end: 330, ..Script::default() });
    let legs = track.legs();
    assert_eq!(legs.len(), 3);
    for leg in legs {
        assert!(leg.passed < 100.0);
        assert!(leg.deviation.unwrap() < 10.0);
    }
    assert!(track.slowest() > 40.0 && !track.stalled());
    let steepest = track.points.iter().map(|point| point.state.roll.abs()).fold(0.0, f64::max);
    assert!(steepest < 0.6, "{steepest}");
}

/// The judge can find fault: with the elevator up and no power JSBSim says that the wing stalls.
#[test]
#[ignore = "needs JSBSim: `cargo xtask uav`"]
fn a_stall_is_seen() {
    let (mut aircraft, _) = Jsbsim::start(&python()).unwrap();
    let servos = Servos { elevator: 1.0, ..AT_REST };
    assert!((0..40 * 40).any(|_| aircraft.step(&servos).unwrap().stall != 0.0));
}

/// The autopilot ends in a turn, the radio 20 s later: the modes follow, and the aircraft glides on for 30 s more.
#[test]
#[ignore = "needs JSBSim: `cargo xtask uav`"]
fn without_autopilot_and_radio_it_glides() {
    let track =
        flown(Script { end: 120, autopilot_ends: Some(70), radio_ends: Some(90), ..Script::default() });
    let manual = track.first(Mode::Manual, 70.0).unwrap() - 70.0;
    assert!((0.2..=0.4).contains(&manual), "{manual}");
    let failsafe = track.first(Mode::Failsafe, 90.0).unwrap() - 90.0;
    assert!((0.7..=0.9).contains(&failsafe), "{failsafe}");
    let roll = |second: usize| track.points[second * 40 - 1].state.roll.abs();
    assert!(roll(70) > 0.3 && roll(90) < 0.15, "{} {}", roll(70), roll(90));
    let end = track.points.last().unwrap().state;
    assert!(end.height > 700.0 && end.roll.abs() < 0.6, "{end:?}");
    assert!(!track.stalled());
}

/// In real time, as processes: the application, `uav-plant`, and JSBSim. Of each 10 s the autopilot flies 5, the pilot 3.
/// `UAV_SECONDS` flies longer.
#[test]
#[ignore = "needs JSBSim: `cargo xtask uav`"]
fn in_real_time() {
    let seconds: u64 = std::env::var("UAV_SECONDS").map_or(10, |seconds| seconds.parse().unwrap());
    let (autopilot_ms, radio_ms) = (seconds * 500, seconds * 800);
    let folder = tempfile::tempdir().unwrap();
    let command = |program: &str| {
        let mut command = Command::new(program);
        command.env("TAUT_RUNTIME_DIR", folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env("TAUT_APPLICATIONS_DIR", folder.path().join("applications"));
        command
    };
    let picture = folder.path().join("flight.svg");
    let plant = command(env!("CARGO_BIN_EXE_uav-plant"))
        .args(["--python", &python(), "--radio-ends", &format!("{radio_ms}ms"), "--picture"])
        .arg(&picture)
        .spawn()
        .unwrap();
    let out = folder.path().join("out");
    let application = command(env!("CARGO_BIN_EXE_taut-uav"))
        .env("TAUT_LOCK", Path::new(env!("CARGO_MANIFEST_DIR")).join("taut.lock"))
        .env("TAUT_OUT", &out)
        .env("TAUT_FOR", format!("{seconds}s"))
        .args(["--autopilot-ends", &format!("{autopilot_ms}ms")])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&application.stderr);
    assert_eq!(application.status.code(), Some(0), "{said}");
    let plant = plant.wait_with_output().unwrap();
    let (summary, errors) = (String::from_utf8_lossy(&plant.stdout), String::from_utf8_lossy(&plant.stderr));
    println!("{summary}");
    assert_eq!(plant.status.code(), Some(0), "{errors}");
    assert!(summary.contains("the wing never stalled"), "{summary}");

    // Each mode had its time: of the rows of the table, one every 100 ms, the autopilot sent all before it ended.
    let table = std::fs::read_to_string(out.join("telemetry.csv")).unwrap();
    let rows: Vec<&str> =
        table.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).collect();
    let auto = rows.iter().filter(|row| row.split(',').nth(1) == Some("2")).count() as u64;
    assert!(auto > seconds * 3, "{table}");
    assert!(std::fs::read_to_string(picture).unwrap().ends_with("</svg>\n"));
    // Who flew, in turn: at last the pilot, and then nobody.
    let flown_by = summary.lines().find_map(|line| line.split_once(" s flown: ")).unwrap().1;
    let words: Vec<&str> = flown_by.split(", ").map(|part| part.split(' ').next().unwrap()).collect();
    assert!(words.contains(&"autopilot") && words.ends_with(&["pilot", "failsafe"]), "{flown_by}");
    let run = Run::from_bytes(&std::fs::read(out.join("run.taut")).unwrap()).unwrap();
    println!("{:?}", Report::new(&Plan::from_lock(&run.plan).unwrap(), &run).verdict());
}
