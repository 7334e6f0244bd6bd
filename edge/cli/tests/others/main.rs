// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Exported models, run by the tools that they are for, and compared with our runs and bounds of the same models.
//!
//! These tests need those tools, so they do not run by default: `cargo xtask exchange` finds or installs the tools it
//! can, says where they are, and runs the tests.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "test code, which says what it compared")]

mod draw;
mod mast;
mod rt_app;
mod simso;

use std::path::{Path, PathBuf};
use std::process::Command;

use taut_exchange::{ExportOptions, export_with};
use taut_model::{Model, TaskSet};
use taut_sim::{GlobalRule, Rules, RunEnd, Scenario, SimEvent, SimEventKind, Simulation};
use taut_time::Duration;

/// A model and its tasks.
struct System {
    model: Model,
    set: TaskSet,
}

fn system(manifest: &str) -> System {
    let source = taut_manifest::SourceText { name: "taut.toml".into(), text: manifest.into() };
    let loaded = taut_manifest::load(&source, &[]);
    let model = loaded.model.unwrap_or_else(|| panic!("{:#?}\n{manifest}", loaded.diagnostics));
    let set = taut_planner::task_set(&model).unwrap();
    System { model, set }
}

/// A job: its arrival and its response time, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Job {
    arrival: u64,
    response: u64,
}

/// The jobs of each task in the worst-case scenario, in order.
fn simulated(set: &TaskSet, horizon: Duration) -> Vec<Vec<Job>> {
    let mut jobs = vec![Vec::new(); set.tasks().len()];
    let rules = Rules::of(set, GlobalRule::Msrp);
    let mut simulation = Simulation::new(set, &rules).unwrap();
    let mut look = |event: SimEvent| {
        if let SimEventKind::Complete { response } = event.kind {
            let response = response.as_ns();
            jobs[event.task].push(Job { arrival: event.at.as_ns() - response, response });
        }
    };
    assert_eq!(simulation.run(&Scenario::worst(horizon), &mut look).unwrap().end, RunEnd::Complete);
    jobs
}

/// Writes a system's export into a folder.
fn exported(system: &System, options: &ExportOptions, path: &Path) {
    std::fs::write(path, export_with(&system.model, &system.set, options).text).unwrap();
}

/// The path of a program, from an environment variable.
fn program(variable: &str) -> PathBuf {
    let path = std::env::var_os(variable);
    PathBuf::from(path.unwrap_or_else(|| panic!("{variable} is not set: run `cargo xtask exchange`")))
}

/// Runs a command, which must succeed; returns what it printed.
fn ran(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{text}", output.status);
    text
}
