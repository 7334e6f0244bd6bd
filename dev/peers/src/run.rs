// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The rounds: each trial once, with the distance of the two processors measured right before.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::bench::{Bench, Case};
use crate::figures::{Figures, spread};
use crate::object::Kind;
use crate::plan::{Entry, Options, Random, groups};
use crate::raw;
use crate::surroundings::Surroundings;
use crate::trial::Trial;

/// Below this round trip of a line, in ns, two processors share a cache.
const NEAR_NS: f64 = 250.0;
/// Two trials of a round are comparable if their processors' distances differ by less than this factor.
const ALIKE: f64 = 1.5;
/// A trial is left out after this many failures.
const PATIENCE: usize = 2;

/// One object in one trial, round by round.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) ours: bool,
    pub(crate) lines: [&'static str; 2],
    pub(crate) case: Case,
    /// For each round the round trip of a bare line, timed right before, and the figures.
    pub(crate) rounds: Vec<Option<(f64, Figures)>>,
    failures: Vec<String>,
}

/// A whole run.
pub(crate) struct Run {
    pub(crate) rows: Vec<Row>,
    pub(crate) notes: Vec<String>,
    pub(crate) facts: Vec<(String, String)>,
    /// Whether the processors shared a cache in most rounds.
    pub(crate) near: bool,
}

/// Checks every object first, then runs the rounds. Reports progress through `say`.
pub(crate) fn run(
    benches: &[Box<dyn Bench>],
    options: &Options,
    surroundings: &Surroundings,
    rounds: usize,
    seed: u64,
    say: &dyn Fn(&str),
) -> Result<Run, String> {
    let mut notes = Vec::new();
    let mut plan = groups(benches, options);
    say("checking results");
    let wrong = wrong(benches, &plan.iter().flatten().flatten().copied().collect::<Vec<_>>(), surroundings);
    for unit in plan.iter_mut().flatten() {
        unit.retain(|entry| !wrong.contains_key(&checked(entry)));
    }
    for ((at, case), why) in &wrong {
        notes.push(format!("{}{}: not measured: {why}", benches[*at].name(), suffix(case)));
    }
    let mut rows: BTreeMap<Entry, Row> = BTreeMap::new();
    let mut random = Random::new(seed);
    for round in 0..rounds {
        say(&format!("round {} of {rounds}", round + 1));
        for group in &mut plan {
            random.shuffle(group);
            for &(at, case) in group.iter().flatten() {
                let bench = &*benches[at];
                let row = rows.entry((at, case)).or_insert_with(|| Row::new(bench, case));
                row.measure(bench, surroundings);
            }
        }
    }
    let rows: Vec<Row> = rows.into_values().collect();
    for row in rows.iter().filter(|row| !row.failures.is_empty()) {
        let (count, why) = (row.failures.len(), &row.failures[0]);
        let trial = row.case.trial.word();
        notes.push(format!(
            "{}{}, {trial}: {count} rounds without a figure: {why}",
            row.name,
            suffix(&row.case)
        ));
    }
    let raws: Vec<f64> =
        rows.iter().flat_map(|row| row.rounds.iter().flatten().map(|(raw, _)| *raw)).collect();
    let near = raws.iter().filter(|raw| **raw < NEAR_NS).count() * 2 >= raws.len();
    if !surroundings.real_time {
        notes.push("the threads were not real-time (no permission for SCHED_FIFO)".into());
    }
    if !cfg!(feature = "iceoryx2") {
        notes.push("iceoryx2 was left out of this build".into());
    }
    Ok(Run { notes, facts: facts(surroundings, rounds, seed, &raws), rows, near })
}

/// The check that a trial needs.
fn checked(&(at, case): &Entry) -> Entry {
    (at, Case { trial: Trial::Check, ..case })
}

/// The entries that fail their check, and why.
fn wrong(
    benches: &[Box<dyn Bench>],
    entries: &[Entry],
    surroundings: &Surroundings,
) -> BTreeMap<Entry, String> {
    let mut all: Vec<Entry> = entries.iter().map(checked).collect();
    all.sort_unstable();
    all.dedup();
    let unlike = |name| ![raw::COPY, raw::WORD].contains(&name);
    all.retain(|(at, _)| unlike(benches[*at].name()));
    let checks = all
        .into_iter()
        .filter_map(|(at, case)| Some(((at, case), benches[at].run(&case, surroundings).err()?)));
    checks.collect()
}

/// What the heading of a table does not say about a case.
pub(crate) fn suffix(case: &Case) -> String {
    let mut text = format!(" {} B", 8 * case.words);
    if case.readers > 1 {
        text += &format!(", {} readers", case.readers);
    }
    if case.across {
        text += ", across processes";
    }
    text
}

/// Facts about the machine, the program and the run.
pub(crate) fn facts(
    surroundings: &Surroundings,
    rounds: usize,
    seed: u64,
    raws: &[f64],
) -> Vec<(String, String)> {
    let mut facts = taut_sys::machine::machine_facts();
    let mut add = |name: &str, value: String| facts.push((name.into(), value));
    let [p50, p999, step] = surroundings.clock.cost;
    add("date", date());
    add("program", format!("taut-peers {}, {}", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH));
    add(
        "threads",
        format!(
            "CPUs {} and {}, {}",
            surroundings.cpus[0],
            surroundings.cpus[1],
            if surroundings.real_time { "SCHED_FIFO 20" } else { "SCHED_OTHER" }
        ),
    );
    add("timer", format!("{p50:.1} ns p50, {p999:.1} ns p99.9, steps of {step:.1} ns; not subtracted"));
    add("rounds", rounds.to_string());
    add("seed", seed.to_string());
    if let Some([median, least, largest]) = spread(raws) {
        let near = raws.iter().filter(|raw| **raw < NEAR_NS).count();
        add(
            "bare line there and back",
            format!(
                "{median:.0} ns [{least:.0}, {largest:.0}]; below {NEAR_NS:.0} ns in {near} of {} trials",
                raws.len()
            ),
        );
    }
    add("load", std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim().to_owned());
    facts
}

/// Today, as year-month-day.
fn date() -> String {
    let days = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 86_400);
    civil(days as i64)
}

/// The date that many days after 1970-01-01 (Howard Hinnant's algorithm).
fn civil(days: i64) -> String {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year}-{month:02}-{day:02}")
}

impl Row {
    fn new(bench: &dyn Bench, case: Case) -> Self {
        Self {
            name: bench.name(),
            kind: bench.kind(),
            ours: bench.ours(),
            lines: bench.lines(),
            case,
            rounds: Vec::new(),
            failures: Vec::new(),
        }
    }

    /// Measures a round, unless too many of them failed.
    fn measure(&mut self, bench: &dyn Bench, surroundings: &Surroundings) {
        let measured = if self.failures.len() < PATIENCE {
            raw::round_trip(surroundings).and_then(|raw| Ok((raw, bench.run(&self.case, surroundings)?)))
        } else {
            Err("left out after that".into())
        };
        self.rounds.push(measured.map_err(|why| self.failures.push(why)).ok());
    }

    /// A figure of every round at the usual distance of the run.
    pub(crate) fn usual(&self, near: bool, figure: &str) -> Vec<f64> {
        let rounds = self.rounds.iter().flatten().filter(|(raw, _)| (*raw < NEAR_NS) == near);
        rounds
            .filter_map(
                |(raw, figures)| if figure == "raw" { Some(*raw) } else { figures.get(figure).copied() },
            )
            .collect()
    }

    /// This row's figure over another's, round by round, where both were measured at about the same distance.
    pub(crate) fn over(&self, other: &Self, figure: &str) -> Vec<f64> {
        let pairs = self.rounds.iter().zip(&other.rounds);
        let both = pairs.filter_map(|(one, other)| Some((one.as_ref()?, other.as_ref()?)));
        let alike = both.filter(|((one, _), (other, _))| one.max(*other) < ALIKE * one.min(*other));
        alike.filter_map(|((_, one), (_, other))| Some(one.get(figure)? / other.get(figure)?)).collect()
    }

    /// A figure over the round trip of a bare line, round by round.
    pub(crate) fn over_raw(&self, figure: &str) -> Vec<f64> {
        self.rounds.iter().flatten().filter_map(|(raw, figures)| Some(figures.get(figure)? / raw)).collect()
    }

    fn json(&self) -> Value {
        let round = |round: &Option<(f64, Figures)>| {
            round.as_ref().map_or(Value::Null, |(raw, figures)| {
                let mut figures = figures.clone();
                figures.insert("raw", *raw);
                // Further digits mean nothing.
                figures.values_mut().for_each(|figure| *figure = (*figure * 1e3).round() / 1e3);
                json!(figures)
            })
        };
        json!({
            "object": self.name,
            "kind": self.kind.word(),
            "ours": self.ours,
            "trial": self.case.trial.word(),
            "bytes": 8 * self.case.words,
            "readers": self.case.readers,
            "across": self.case.across,
            "rounds": self.rounds.iter().map(round).collect::<Vec<_>>(),
        })
    }
}

impl Run {
    /// For programs: the facts, the notes, and every round of every row, one row per line.
    pub(crate) fn json(&self, timer: [f64; 3]) -> String {
        let facts: BTreeMap<_, _> = self.facts.iter().cloned().collect();
        let head = [
            ("facts", json!(facts)),
            ("timer_ns", json!({ "p50": timer[0], "p999": timer[1], "step": timer[2] })),
            ("near", json!(self.near)),
            ("notes", json!(self.notes)),
        ];
        let head: Vec<String> = head.iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
        let rows: Vec<String> = self.rows.iter().map(|row| row.json().to_string()).collect();
        format!("{{\n{},\n\"rows\": [\n{}\n]\n}}\n", head.join(",\n"), rows.join(",\n"))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A row of two rounds, the second at another distance.
    pub(crate) fn row(name: &'static str, ours: bool, trial: Trial, figures: &[(&'static str, f64)]) -> Row {
        let case = Case { trial, words: 8, readers: 1, across: false };
        let round = |raw: f64| Some((raw, figures.iter().copied().collect::<Figures>()));
        let lines = ["L posted", "L"];
        Row {
            name,
            kind: Kind::State,
            ours,
            lines,
            case,
            rounds: vec![round(100.0), round(500.0)],
            failures: Vec::new(),
        }
    }

    #[test]
    fn rounds_are_compared_at_one_distance() {
        let (one, mut other) = (
            row("a", true, Trial::Trip, &[("trip", 120.0)]),
            row("b", false, Trial::Trip, &[("trip", 60.0)]),
        );
        assert_eq!(one.over(&other, "trip"), [2.0, 2.0]);
        other.rounds[1] = other.rounds[0].clone();
        assert_eq!(one.over(&other, "trip"), [2.0]);
        assert_eq!(one.usual(true, "trip"), [120.0]);
        assert_eq!(one.usual(false, "raw"), [500.0]);
        assert_eq!(one.over_raw("trip"), [1.2, 0.24]);
    }

    #[test]
    fn what_programs_read_is_json() {
        let run = Run {
            facts: vec![("cpu".into(), "a \"b\"".into())],
            rows: vec![row("a", true, Trial::Trip, &[("trip", 120.1254)]), row("b", false, Trial::Trip, &[])],
            notes: Vec::new(),
            near: true,
        };
        let value: Value = serde_json::from_str(&run.json([30.0, 40.0, 10.0])).unwrap();
        assert_eq!(value["facts"]["cpu"], "a \"b\"");
        assert_eq!(value["timer_ns"]["step"], 10.0);
        assert_eq!(value["rows"][0]["rounds"][0]["trip"], 120.125);
        assert_eq!(value["rows"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn days_are_dates() {
        assert_eq!(civil(0), "1970-01-01");
        assert_eq!(civil(11_016), "2000-02-29");
        assert_eq!(civil(20_778), "2026-11-21");
    }
}
