// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What is exported, run by the tools that it is for, beside our runs and bounds of the same models.
//!
//! They need those tools, so they are not run by default: `cargo xtask exchange` finds or installs what it can, says
//! where it is, and runs them.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "test code, which says what it compared")]

mod draw;
mod mast;
mod rt_app;
mod simso;

use std::path::{Path, PathBuf};
use std::process::Command;

use taut_exchange::{ExportOptions, export_with};
use taut_model::{Model, TaskSet};
use taut_plan::Plan;
use taut_sim::{End, Event, GlobalRule, Kind, Rules, Scenario, Simulation};
use taut_time::Duration;

/// A model and its tasks.
struct System {
    model: Model,
    set: TaskSet,
}

fn system(manifest: &str) -> System {
    let source = taut_manifest::Source { name: "taut.toml".into(), text: manifest.into() };
    let loaded = taut_manifest::load(&source, &[]);
    let model = loaded.model.unwrap_or_else(|| panic!("{:#?}\n{manifest}", loaded.diagnostics));
    let set = Plan::task_set(&model).unwrap();
    System { model, set }
}

/// A job: when it arrived and how long it took, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Job {
    arrival: u64,
    response: u64,
}

/// What comes of every job of each task if all is at its worst, in order.
fn simulated(set: &TaskSet, horizon: Duration) -> Vec<Vec<Job>> {
    let mut jobs = vec![Vec::new(); set.tasks().len()];
    let rules = Rules::of(set, GlobalRule::Msrp);
    let mut simulation = Simulation::new(set, &rules).unwrap();
    let mut look = |event: Event| {
        if let Kind::Complete { response } = event.kind {
            let response = response.as_ns();
            jobs[event.task].push(Job { arrival: event.at.as_ns() - response, response });
        }
    };
    assert_eq!(simulation.run(&Scenario::worst(horizon), &mut look).unwrap().end, End::Complete);
    jobs
}

/// Writes a system's export into a folder.
fn exported(system: &System, options: &ExportOptions, path: &Path) {
    std::fs::write(path, export_with(&system.model, &system.set, options).text).unwrap();
}

/// A program that a variable of the environment names.
fn program(variable: &str) -> PathBuf {
    let path = std::env::var_os(variable);
    PathBuf::from(path.unwrap_or_else(|| panic!("{variable} is not set: run `cargo xtask exchange`")))
}

/// Runs it in a folder; what it says if it fails.
fn ran(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{text}", output.status);
    text
}
