// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What goes wrong with an ordinary mutex, and does not with a ceiling: the scenarios of `examples/hazards`, played on
//! threads of Linux as people write them.
//!
//! `cargo run --release -p taut-hazards -- [FOLDER]` plays all of them, writes what happened to FOLDER (`target/hazards`)
//! as recorded runs, which `taut report` shows, and prints what became of the task that matters.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

mod facts;
mod plain;
mod scenario;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use plain::Mutex;
use scenario::Scenario;
use taut_event::{Record, file};

/// A scenario, how it is played, and of whom the story is.
const STORIES: &[(&str, Mutex, &str)] = &[
    ("inversion", Mutex::Ordinary, "high"),
    ("deadlock", Mutex::Ordinary, "urgent"),
    ("chained-blocking", Mutex::Inheritance, "high"),
    ("pathfinder", Mutex::Ordinary, "bus-distribution"),
];

fn main() -> ExitCode {
    let folder = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("target/hazards"), PathBuf::from);
    match all(&folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(3)
        }
    }
}

fn all(folder: &Path) -> Result<(), String> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/hazards");
    for (name, mutex, hero) in STORIES {
        let scenario = Scenario::read(&examples, name)?;
        let records = plain::play(&scenario, *mutex, 1)?;
        save(&folder.join(name).join(format!("{mutex:?}").to_lowercase()), &scenario, &records)?;
        tell(&scenario, *mutex, hero, &records);
    }
    Ok(())
}

fn tell(scenario: &Scenario, mutex: Mutex, hero: &str, records: &[Record]) {
    let Some(task) = scenario.players.iter().position(|player| player.name == *hero) else { return };
    let facts = facts::of(scenario, records, task);
    let ms = |ns: u64| format!("{}.{} ms", ns / 1_000_000, ns / 100_000 % 10);
    let bound = scenario.bound_ns(task).map_or_else(|| "none".to_owned(), ms);
    println!(
        "{:<17} {:<12} {hero}: {} done, {} stuck, {} late, longest {}, proven {bound}; waited for {} in a job, strangers {:?}",
        scenario.name,
        format!("{mutex:?}"),
        facts.completed,
        facts.stuck,
        facts.missed,
        ms(facts.response_ns_max),
        facts.waits_max,
        facts.strangers.iter().map(|task| &scenario.players[*task].name).collect::<Vec<_>>()
    );
}

fn save(folder: &Path, scenario: &Scenario, records: &[Record]) -> Result<(), String> {
    let lock = scenario.plan.to_lock().map_err(|error| error.to_string())?;
    let mut bytes = file::head(&lock, "").map_err(|error| error.to_string())?;
    bytes.extend(records.iter().flat_map(|record| record.to_bytes()));
    let path = folder.join("run.taut");
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&path, bytes))
        .map_err(|error| format!("{}: {error}", path.display()))
}
