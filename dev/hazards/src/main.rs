// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Scenarios in which an ordinary mutex goes wrong and a ceiling does not. They are those of `examples/hazards`,
//! executed once on plain Linux threads, as people write them, and once on a dispatched core.
//!
//! `cargo run --release -p taut-hazards -- [FOLDER]` executes all scenarios, writes recorded runs to FOLDER
//! (`target/hazards`), which `taut report` shows, and prints what happened to the task that matters. It needs the
//! privilege to use real-time scheduling.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

mod facts;
mod ours;
mod plain;
mod scenario;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use facts::Facts;
use plain::Mutex;
use scenario::Scenario;
use taut_event::{Record, file};

/// A scenario: its folder, the mutex that people choose, and the task that suffers.
struct Story {
    name: &'static str,
    mutex: Mutex,
    hero: &'static str,
    /// Whether the expected harm happened.
    harm: fn(&Facts) -> bool,
}

const STORIES: [Story; 4] = [
    Story {
        name: "inversion",
        mutex: Mutex::Ordinary,
        hero: "high",
        harm: |facts| facts.missed > 0 && !facts.strangers.is_empty(),
    },
    Story { name: "deadlock", mutex: Mutex::Ordinary, hero: "urgent", harm: |facts| facts.stuck > 0 },
    Story {
        name: "chained-blocking",
        mutex: Mutex::Inheritance,
        hero: "high",
        harm: |facts| facts.waits_max == 3,
    },
    Story {
        name: "pathfinder",
        mutex: Mutex::Ordinary,
        hero: "bus-distribution",
        harm: |facts| facts.missed > 0 && !facts.strangers.is_empty(),
    },
];

/// Whether a task suffered no harm: all of its jobs completed in time, and none waited after its start.
fn unharmed(facts: &Facts) -> bool {
    facts.completed > 0 && facts.stuck == 0 && facts.missed == 0 && facts.waits_max == 0
}

fn main() -> ExitCode {
    let folder = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("target/hazards"), PathBuf::from);
    if cfg!(debug_assertions) {
        eprintln!(
            "note: built without optimisation, so the overheads of taut differ from those in \
             docs/hazards.md: use --release"
        );
    }
    let mut shown = true;
    for story in &STORIES {
        match play(story, Some(&folder)) {
            Ok(played) => shown &= played.report(),
            Err(error) => {
                eprintln!("{}: {error}", story.name);
                return ExitCode::from(3);
            }
        }
    }
    ExitCode::from(u8::from(!shown))
}

/// A scenario that was executed in both ways.
struct Played<'s> {
    story: &'s Story,
    scenario: Scenario,
    hero: usize,
    with_mutex: Facts,
    with_ceiling: Facts,
}

fn play<'s>(story: &'s Story, folder: Option<&Path>) -> Result<Played<'s>, String> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/hazards");
    let scenario = Scenario::read(&examples, story.name)?;
    let hero = scenario.players.iter().position(|participant| participant.name == story.hero);
    let hero = hero.ok_or_else(|| format!("there is no task `{}`", story.hero))?;
    let mutex = plain::play(&scenario, story.mutex, 1)?;
    let ceiling = ours::play(&scenario, 1)?;
    if let Some(folder) = folder {
        save(&folder.join(story.name).join("mutex"), &scenario, &mutex)?;
        save(&folder.join(story.name).join("ceiling"), &scenario, &ceiling)?;
    }
    let [with_mutex, with_ceiling] = [mutex, ceiling].map(|records| facts::of(&scenario, &records, hero));
    Ok(Played { story, scenario, hero, with_mutex, with_ceiling })
}

impl Played<'_> {
    /// Prints what happened; returns whether the scenario showed what it should.
    fn report(&self) -> bool {
        let ms = |ns: u64| format!("{}.{} ms", ns / 1_000_000, ns / 100_000 % 10);
        let (name, hero) = (self.story.name, self.story.hero);
        println!(
            "{name}: `{hero}`, proven within {}",
            self.scenario.bound_ns(self.hero).map_or_else(String::new, ms)
        );
        let mutex = match self.story.mutex {
            Mutex::Ordinary => "ordinary mutex",
            Mutex::Inheritance => "priority inheritance",
        };
        for (how, facts) in [(mutex, &self.with_mutex), ("ceiling", &self.with_ceiling)] {
            let Facts { completed, stuck, missed, .. } = facts;
            let longest = ms(facts.response_ns_max);
            let mut line =
                format!("  {how:<21} {completed} done, {missed} late, {stuck} stuck; longest {longest}");
            if facts.waits_max > 0 {
                line.push_str(&format!("; a job waited for {} others", facts.waits_max));
            }
            for stranger in &facts.strangers {
                line.push_str(&format!(", while `{}` ran", self.scenario.players[*stranger].name));
            }
            println!("{line}");
        }
        let shown = (self.story.harm)(&self.with_mutex) && unharmed(&self.with_ceiling);
        if !shown {
            println!("  the scenario did not show what it should");
        }
        shown
    }
}

fn save(folder: &Path, scenario: &Scenario, records: &[Record]) -> Result<(), String> {
    let lock = scenario.plan.to_lock().map_err(|error| error.to_string())?;
    let bytes = file::recording(&lock, "", records).map_err(|error| error.to_string())?;
    let path = folder.join("run.taut");
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&path, bytes))
        .map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without the privilege to use real-time scheduling nothing can be shown.
    #[test]
    fn each_harms_with_a_mutex_and_not_with_a_ceiling() {
        for story in &STORIES {
            match play(story, None) {
                Ok(played) => {
                    assert!((story.harm)(&played.with_mutex), "{}: {:?}", story.name, played.with_mutex);
                    assert!(unharmed(&played.with_ceiling), "{}: {:?}", story.name, played.with_ceiling);
                }
                Err(error) => assert!(error.contains("sched_setscheduler"), "{}: {error}", story.name),
            }
        }
    }
}
