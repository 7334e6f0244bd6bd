// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Boots a small application and returns what it recorded.
#![allow(dead_code, unreachable_pub, clippy::print_stderr, reason = "each test file uses its part")]

pub mod plain;

use std::sync::Mutex;

use plain::planned;
use taut_boot::Guarantees;
use taut_event::file::Run;
use taut_event::{Kind, Record};
use taut_plan::Plan;
use taut_run::{
    App, AppEnd, Component, Config, CountingAllocator, Error, Failure, Job, RECORDING, Reason, RunObserver,
    Task,
};
use taut_time::Duration;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// One application at a time: they share the process's signals.
pub static TURN: Mutex<()> = Mutex::new(());

#[derive(Default)]
pub struct Observed {
    pub started: bool,
    pub stopping: Option<Reason>,
    pub unfinished: Vec<String>,
    pub lost: Vec<String>,
    pub rested: Vec<String>,
}

impl RunObserver for Observed {
    fn guarantees(&mut self, guarantees: &Guarantees) {
        self.lost = guarantees.lost.iter().map(ToString::to_string).collect();
    }
    fn removed_stale(&mut self, what: &str) {
        panic!("nothing was left behind, yet {what}");
    }
    fn started(&mut self, _: &Plan, _: Option<Duration>) {
        self.started = true;
    }
    fn stopping(&mut self, reason: Reason) {
        self.stopping = Some(reason);
    }
    fn rested(&mut self, what: &dyn std::fmt::Display) {
        self.rested.push(what.to_string());
    }
    fn stuck(&mut self, task: &str) {
        eprintln!("{task} is stuck");
    }
    fn unfinished(&mut self, task: &str, error: &dyn std::error::Error) {
        self.unfinished.push(format!("{task}: {error}"));
    }
}

pub struct Outcome {
    pub ending: Result<AppEnd, Error>,
    pub reported: Observed,
    pub records: Vec<Record>,
}

impl Outcome {
    pub fn of(&self, kind: Kind) -> Vec<&Record> {
        self.records.iter().filter(|record| record.kind == kind).collect()
    }

    pub fn of_task(&self, kind: Kind, task: u16) -> Vec<&Record> {
        self.of(kind).into_iter().filter(|record| record.subject == task).collect()
    }
}

pub fn plan(tables: &str) -> (Plan, String) {
    plan_of("", tables)
}

/// The plan of an application with these keys in addition.
pub fn plan_of(app: &str, tables: &str) -> (Plan, String) {
    let cores = [("core = 1000", "[0, 1000]"), ("core = 1", "[0, 1]")];
    let cores = cores.iter().find(|(core, _)| tables.contains(core)).map_or("[0]", |(_, cores)| cores);
    let text = format!(
        "manifest = 1\n[app]\nname = \"test\"\n{app}[platform]\ncores = {cores}\nmemory = \"32MiB\"\n\
         on-missing-privilege = \"degrade\"\n{tables}"
    );
    (planned(&text), text)
}

pub fn run(
    tables: &str,
    duration: Option<Duration>,
    setup: impl for<'p> FnOnce(&mut App<'p>) -> Result<(), Error>,
) -> Outcome {
    run_of("", tables, duration, setup)
}

/// The key of an application that a panic ends.
pub const STOP_APP: &str = "on-failure = \"stop-app\"\n";

/// Runs an application with these keys in addition.
pub fn run_of(
    app: &str,
    tables: &str,
    duration: Option<Duration>,
    setup: impl for<'p> FnOnce(&mut App<'p>) -> Result<(), Error>,
) -> Outcome {
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    // If the guardian ends the application where it stands, the parent process reads the recording and removes the
    // folder.
    let given = std::env::var("TAUT_FOLDER").map(std::path::PathBuf::from);
    let made = given.is_err().then(|| tempfile::tempdir().unwrap());
    let folder = given.unwrap_or_else(|_| made.as_ref().unwrap().path().to_owned());
    let (plan, manifest) = plan_of(app, tables);
    std::fs::write(folder.join("taut.toml"), manifest).unwrap();
    let lock = folder.join("taut.lock");
    std::fs::write(&lock, plan.to_lock().unwrap()).unwrap();
    let out = folder.join("out");
    let config = Config {
        lock,
        out: Some(out.clone()),
        duration,
        spawned_ns: None,
        record_limit: None,
        applications: None,
    };
    let mut reported = Observed::default();
    let ending = taut_run::run(&config, &mut reported, setup);
    let records =
        std::fs::read(out.join(RECORDING)).ok().map(|bytes| Run::from_bytes(&bytes).unwrap().records);
    Outcome { ending, reported, records: records.unwrap_or_default() }
}

/// A task whose job is a closure.
pub struct Each<F>(F);

impl<F: Send> Component for Each<F> {}

impl<F: FnMut(&mut Job<'_>) -> Result<(), Failure> + Send> Task for Each<F> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        (self.0)(job)
    }
}

pub fn each<F: FnMut(&mut Job<'_>) -> Result<(), Failure> + Send>(job: F) -> Each<F> {
    Each(job)
}
