// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The bars of the shared objects, beside other people's in the same run: medians over interleaved rounds, where both
//! sides of a comparison were measured at one distance of the processors.
//!
//! Like is held against like: values by value against values by value, slices against slices, in place against in place.
//! *No worse* is at most 0 more, as a median over rounds.

use serde_json::{Map, Value};

use super::row::{self, ENOUGH, Held, Row};
use super::spread::Spread;
use crate::peers;
use crate::tree::Tree;

/// Rounds: some may be lost to a change of distance.
const ROUNDS: usize = 11;
/// Two trials of a round are comparable if a bare cache line's round trip right before differs by less than this.
const ALIKE: f64 = 1.5;

/// Queues whose writer is real-time.
const QUEUES: [&str; 3] = ["QrtR", "QrtWo", "QrtWc"];
/// QrtR by the forms that copy nothing twice, and the other's that do the same.
const IN_PLACE: &str = "QrtR in place";
const CHUNKS: &str = "rtrb chunks";
/// The newest value, for many readers.
const MANY: &str = "Hybrid";

/// All of them, in under 10 minutes once built.
pub(super) fn measure(tree: &Tree) -> Vec<Row> {
    let folder = tree.target().join("bars/share");
    match peers::measured_for_bars(tree, ROUNDS, &folder).and_then(|text| Figures::of(&text)) {
        Ok(figures) => bars(&figures),
        Err(why) => vec![Row::at_most("ours beside others", 0.0, "-", Held::Median, Err(why))],
    }
}

/// The bars of a recorded run, given as JSON, as a page beside it.
///
/// # Errors
/// What is wrong with the JSON.
pub(crate) fn page(text: &str) -> Result<String, String> {
    let rows = bars(&Figures::of(text)?);
    let met = rows.iter().filter(|row| row.met()).count();
    Ok(format!(
        "# What was promised, beside what was measured\n\n\
         Made by `cargo xtask peers --record` of the run in [peers.md](peers.md). Ratios and differences of figures of \
         one round, at one distance of the processors; medians over rounds. {met} of {} are met. Why the others are \
         not: [README.md](README.md). Measured anew on your machine by `cargo xtask bars share`.\n\n{}",
        rows.len(),
        row::markdown(&rows),
    ))
}

/// What was measured: every round of every object and trial.
struct Figures {
    rows: Vec<Value>,
    /// One step of the timer, ns.
    step: f64,
    /// What the timer takes itself, p50, ns.
    timer: f64,
}

/// One object in one trial.
#[derive(Clone, Copy)]
struct At<'a> {
    object: &'a str,
    trial: &'a str,
    bytes: u64,
    readers: u64,
    across: bool,
}

fn at<'a>(object: &'a str, trial: &'a str, bytes: u64) -> At<'a> {
    At { object, trial, bytes, readers: 1, across: false }
}

type Round = Option<Map<String, Value>>;

impl Figures {
    fn of(text: &str) -> Result<Self, String> {
        let mut all: Value = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
        let step = all["timer_ns"]["step"].as_f64().ok_or("the run does not know its timer")?;
        let timer = all["timer_ns"]["p50"].as_f64().ok_or("the run does not know what its timer takes")?;
        match all["rows"].take() {
            Value::Array(rows) => Ok(Self { rows, step, timer }),
            _ => Err("the run has no rows".into()),
        }
    }

    fn rounds(&self, at: At<'_>) -> Result<Vec<Round>, String> {
        let row = self.rows.iter().find(|row| {
            row["object"] == at.object
                && row["trial"] == at.trial
                && row["bytes"] == at.bytes
                && row["readers"] == at.readers
                && row["across"] == at.across
        });
        let rounds = row.and_then(|row| row["rounds"].as_array());
        let rounds = rounds.ok_or_else(|| format!("{} was not measured in `{}`", at.object, at.trial))?;
        Ok(rounds.iter().map(|round| round.as_object().cloned()).collect())
    }

    /// A figure of every round, made of the round's figures.
    fn each(
        &self,
        at: At<'_>,
        figure: impl Fn(&Map<String, Value>) -> Option<f64>,
    ) -> Result<Vec<f64>, String> {
        enough(self.rounds(at)?.iter().flatten().filter_map(figure).collect())
    }

    /// A figure of every round in which both were measured at one distance.
    fn paired(
        &self,
        one: (At<'_>, &str),
        other: (At<'_>, &str),
        figure: impl Fn(f64, f64) -> f64,
    ) -> Result<Vec<f64>, String> {
        let (ones, others) = (self.rounds(one.0)?, self.rounds(other.0)?);
        let number = |round: &Map<String, Value>, name: &str| round.get(name).and_then(Value::as_f64);
        let pairs = ones.iter().zip(&others).filter_map(|pair| Some((pair.0.as_ref()?, pair.1.as_ref()?)));
        let alike = pairs.filter(|(one, other)| {
            let distances = (number(one, "raw"), number(other, "raw"));
            matches!(distances, (Some(one), Some(other)) if one.max(other) < ALIKE * one.min(other))
        });
        enough(alike.filter_map(|(a, b)| Some(figure(number(a, one.1)?, number(b, other.1)?))).collect())
    }

    /// The other than ours whose median rate in a trial is the largest.
    fn fastest(&self, trial: &str, bytes: u64) -> Option<(&str, f64)> {
        let others = self.rows.iter().filter(|row| {
            row["trial"] == trial && row["bytes"] == bytes && row["ours"] == false && row["kind"] != "state"
        });
        let rates = others.filter_map(|row| {
            let name = row["object"].as_str()?;
            let rates = self.each(at(name, trial, bytes), |round| round.get("out")?.as_f64()).ok()?;
            Some((name, Spread::of(&rates)?.median))
        });
        rates.max_by(|one, other| one.1.total_cmp(&other.1))
    }
}

fn enough(values: Vec<f64>) -> Result<Vec<f64>, String> {
    if values.len() >= ENOUGH {
        Ok(values)
    } else {
        Err(format!("{} comparable rounds, fewer than {ENOUGH}", values.len()))
    }
}

fn figure(name: &'static str) -> impl Fn(&Map<String, Value>) -> Option<f64> {
    move |round| round.get(name)?.as_f64()
}

fn median(bar: String, goal: f64, unit: &'static str, samples: Result<Vec<f64>, String>) -> Row {
    Row::at_most(bar, goal, unit, Held::Median, samples)
}

/// How people write a percentile.
fn shown(percentile: &str) -> &str {
    if percentile == "p999" { "p99.9" } else { percentile }
}

fn bars(figures: &Figures) -> Vec<Row> {
    let mut rows = queues(figures);
    rows.extend(one_reader(figures));
    rows.extend(many_readers(figures));
    rows.extend(processes(figures));
    rows
}

/// Ours minus the other's must be at most 0.
fn no_worse(figures: &Figures, what: String, one: (At<'_>, &str), other: (At<'_>, &str)) -> Row {
    let bar = format!("{what} - that of {}, {} B", other.0.object, one.0.bytes);
    median(bar, 0.0, "ns", figures.paired(one, other, |one, other| one - other))
}

fn queues(figures: &Figures) -> Vec<Row> {
    let mut rows = Vec::new();
    for bytes in [8, 64, 4096] {
        for queue in QUEUES {
            pushes(figures, queue, "rtrb", bytes, &mut rows);
            if queue != "QrtR" {
                pops_that_lose(figures, queue, bytes, &mut rows);
            }
            if bytes < 4096 {
                let (one, other) = ((at(queue, "trip", bytes), "trip"), (at("rtrb", "trip", bytes), "trip"));
                rows.push(no_worse(figures, format!("{queue} round trip"), one, other));
            }
            rows.push(rate(figures, queue, "flat", bytes));
        }
        // In place against in place; by value against by value is above.
        pushes(figures, IN_PLACE, CHUNKS, bytes, &mut rows);
        for percentile in ["p50", "p999"] {
            let what = format!("{IN_PLACE} pop {}", shown(percentile));
            let one = (at(IN_PLACE, "read", bytes), percentile);
            rows.push(no_worse(figures, what, one, (at(CHUNKS, "read", bytes), percentile)));
        }
        if bytes == 4096 {
            let (one, other) = ((at(IN_PLACE, "trip", bytes), "trip"), (at(CHUNKS, "trip", bytes), "trip"));
            rows.push(no_worse(figures, format!("{IN_PLACE} round trip"), one, other));
        }
        for queue in [IN_PLACE, "QrtWo", "QrtWc"] {
            rows.push(rate(figures, queue, "slices", bytes));
        }
    }
    rows
}

/// A push is no worse than the other's.
fn pushes(figures: &Figures, queue: &str, peer: &str, bytes: u64, rows: &mut Vec<Row>) {
    for percentile in ["p50", "p999"] {
        let what = format!("{queue} push {}", shown(percentile));
        let one = (at(queue, "write", bytes), percentile);
        rows.push(no_worse(figures, what, one, (at(peer, "write", bytes), percentile)));
    }
}

/// What a pop may take whose writer waits for nobody.
fn pops_that_lose(figures: &Figures, queue: &str, bytes: u64, rows: &mut Vec<Row>) {
    let (own, peer) = (at(queue, "read", bytes), at("rtrb", "read", bytes));
    rows.push(median(
        format!("{queue} pop p50 / rtrb's, {bytes} B"),
        3.0,
        "x",
        figures.paired((own, "p50"), (peer, "p50"), |one, other| one / other),
    ));
    rows.push(median(
        format!("{queue} pop p99.9 / its p50, {bytes} B"),
        2.0,
        "x",
        figures.paired((own, "p999"), (own, "p50"), |one, other| one / other),
    ));
}

/// Values that come out, of the fastest other in that trial over ours.
fn rate(figures: &Figures, queue: &str, trial: &str, bytes: u64) -> Row {
    let fastest = figures.fastest(trial, bytes).ok_or_else(|| "no other was measured".to_owned());
    let name = fastest.as_ref().map_or("the fastest", |(name, _)| name);
    let how = if trial == "slices" { "rate by slices" } else { "rate" };
    let ratios = fastest.clone().and_then(|(name, _)| {
        let (one, other) = ((at(name, trial, bytes), "out"), (at(queue, trial, bytes), "out"));
        figures.paired(one, other, |peer, own| peer / own)
    });
    median(format!("{how} of {name} / {queue}'s, {bytes} B"), 1.0, "x", ratios)
}

/// As many whole steps of the timer as fit: no time that it measures lies between them and the goal. What is known of a step
/// is good to a hundredth, and must not decide.
fn whole_steps(goal: f64, step: f64) -> f64 {
    (goal / step + 0.01).floor() * step
}

fn one_reader(figures: &Figures) -> Vec<Row> {
    // The goals are 40, 60 and 250 ns on a machine whose timer took 20 of them; the timers of others take more.
    let write = |bytes, percentile: &'static str, goal: f64| {
        let bar = format!("SDrtW write {} - the timer's, {bytes} B", shown(percentile));
        let goal = whole_steps(goal - 20.0, figures.step);
        let samples = figures.each(at("SDrtW", "write", bytes), figure(percentile));
        let samples = samples.map(|ns| ns.into_iter().map(|ns| ns - figures.timer).collect());
        median(bar, goal, "ns", samples)
    };
    let mut rows = Vec::new();
    for bytes in [8, 64, 256] {
        rows.push(write(bytes, "p50", 40.0));
        rows.push(write(bytes, "p999", 60.0));
    }
    rows.push(write(4096, "p99", 250.0));
    let trips = figures.each(at("SDrtW", "trip", 64), |round| {
        Some(round.get("trip")?.as_f64()? / round.get("raw")?.as_f64()?)
    });
    rows.push(median("SDrtW round trip / a bare line's, 64 B".into(), 1.2, "x", trips));
    for bytes in [8, 64, 256, 4096] {
        let (own, peer) = (at("SDrtR", "read", bytes), at("triple_buffer", "read", bytes));
        rows.push(no_worse(figures, "SDrtR read p50".into(), (own, "p50"), (peer, "p50")));
        let capped = figures.each(at("SDrtR", "write", bytes), figure("capped"));
        let bar = format!("SDrtR writes not done in 2 ms, {bytes} B");
        rows.push(Row::at_most(bar, 0.0, "writes", Held::Max, capped));
    }
    rows
}

fn many_readers(figures: &Figures) -> Vec<Row> {
    let mut rows = Vec::new();
    for (bytes, over_peer) in [(64, 2.0), (4096, 1.1)] {
        for readers in [1, 4, 20] {
            let own = |trial| At { readers, ..at(MANY, trial, bytes) };
            let peer = |trial| at("triple_buffer", trial, bytes);
            let ratio = |one: (At<'_>, &str), other: (At<'_>, &str)| {
                figures.paired(one, other, |one, other| one / other)
            };
            let of = format!("{bytes} B, {readers} readers");
            let mut add = |what: &str, goal, samples| {
                rows.push(median(format!("{MANY} {what}, {of}"), goal, "x", samples))
            };
            add("write p50 / triple_buffer's", 0.8, ratio((own("write"), "p50"), (peer("write"), "p50")));
            add("read p50 / triple_buffer's", over_peer, ratio((own("read"), "p50"), (peer("read"), "p50")));
            add("read p99 / its p50", 2.5, ratio((own("read"), "p99"), (own("read"), "p50")));
            add("read p99.9 / its p50", 3.5, ratio((own("read"), "p999"), (own("read"), "p50")));
        }
    }
    for object in [MANY, "SDrtW"] {
        // A line that moved would be several times this.
        let bar = format!("{object} unchanged, a look - one at a bare word");
        let looks = figures.each(at(object, "unchanged", 64), figure("look"));
        let bare = figures.each(at("bare word", "unchanged", 8), figure("look"));
        let over =
            looks.and_then(|looks| Ok(looks.iter().zip(&bare?).map(|(look, bare)| look - bare).collect()));
        rows.push(median(bar, 5.0, "ns", over));
    }
    rows
}

/// At most 5 % more than in one process, without what the timer takes itself.
fn processes(figures: &Figures) -> Vec<Row> {
    let mut rows = Vec::new();
    for object in ["SDrtW", "QrtR", "QrtWo", MANY] {
        for bytes in [64, 4096] {
            let across = |trial| At { across: true, ..at(object, trial, bytes) };
            let (far, inside) = ((across("trip"), "trip"), (at(object, "trip", bytes), "trip"));
            let bar = format!("{object} round trip across processes / in one, {bytes} B");
            rows.push(median(bar, 1.05, "x", figures.paired(far, inside, |far, inside| far / inside)));
            for trial in ["write", "read"] {
                let (far, inside) = ((across(trial), "p50"), (at(object, trial, bytes), "p50"));
                let bar = format!("{object} {trial} p50 across processes - 1.05 x in one, {bytes} B");
                let over = figures.paired(far, inside, |far, inside| {
                    (far - figures.timer) - 1.05 * (inside - figures.timer)
                });
                rows.push(median(bar, 0.0, "ns", over));
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(object: &str, ours: bool, trial: &str, rounds: &[(f64, f64)]) -> Value {
        let round = |(raw, ns): &(f64, f64)| json!({ "raw": raw, "trip": ns, "p50": ns, "out": ns });
        json!({
            "object": object, "kind": "queue", "ours": ours, "trial": trial, "bytes": 64, "readers": 1, "across": false,
            "rounds": rounds.iter().map(round).collect::<Vec<_>>(),
        })
    }

    fn figures(rows: Vec<Value>) -> Figures {
        Figures::of(&json!({ "timer_ns": { "step": 10.0, "p50": 30.0 }, "rows": rows }).to_string()).unwrap()
    }

    #[test]
    fn pairs_are_of_one_distance() {
        let near = [(100.0, 120.0); 5];
        let mut mixed = [(110.0, 100.0); 6];
        mixed[5] = (500.0, 600.0);
        let figures = figures(vec![
            row("QrtR", true, "trip", &[near.as_slice(), &[(100.0, 150.0)]].concat()),
            row("rtrb", false, "trip", &mixed),
        ]);
        let paired = figures.paired(
            (at("QrtR", "trip", 64), "trip"),
            (at("rtrb", "trip", 64), "trip"),
            |one, other| one - other,
        );
        assert_eq!(paired, Ok(vec![20.0; 5]));
        let (one, other) = ((at("QrtR", "trip", 64), "trip"), (at("rtrb", "trip", 64), "trip"));
        assert!(!no_worse(&figures, "round trip".into(), one, other).met());
        assert!(no_worse(&figures, "round trip".into(), other, one).met());
        assert!(no_worse(&figures, "round trip".into(), one, one).met(), "no worse than itself");
    }

    /// A step of the timer is no slack: of what takes 10 ns beyond it, that would be twice as much.
    #[test]
    fn a_step_of_the_timer_is_worse() {
        let figures = figures(vec![
            row("QrtR", true, "write", &[(100.0, 50.0); 5]),
            row("rtrb", false, "write", &[(100.0, 40.0); 5]),
        ]);
        let mut rows = Vec::new();
        pushes(&figures, "QrtR", "rtrb", 64, &mut rows);
        assert_eq!((rows[0].value(), rows[0].met()), (Some(10.0), false));
    }

    #[test]
    fn goals_in_steps_are_no_looser() {
        assert_eq!(whole_steps(20.0, 10.0), 20.0);
        assert!((whole_steps(20.0, 10.015) - 20.03).abs() < 1e-9, "for its last digit alone");
        assert_eq!(
            (whole_steps(40.0, 16.0), whole_steps(20.0, 16.0), whole_steps(20.0, 32.0)),
            (32.0, 16.0, 0.0)
        );
    }

    #[test]
    fn too_few_rounds_decide_nothing() {
        let figures = figures(vec![row("QrtR", true, "trip", &[(100.0, 1.0); 4])]);
        let samples = figures.each(at("QrtR", "trip", 64), figure("trip"));
        assert_eq!(samples, Err("4 comparable rounds, fewer than 5".into()));
        assert!(figures.each(at("rtrb", "trip", 64), figure("trip")).is_err());
    }

    #[test]
    fn the_fastest_is_an_other() {
        let figures = figures(vec![
            row("QrtR", true, "flat", &[(100.0, 90.0); 5]),
            row("rtrb", false, "flat", &[(100.0, 50.0); 5]),
            row("ringbuf", false, "flat", &[(100.0, 70.0); 5]),
            // By slices more come out: that is another trial.
            row("ringbuf", false, "slices", &[(100.0, 95.0); 5]),
        ]);
        assert_eq!(figures.fastest("slices", 64), Some(("ringbuf", 95.0)));
        assert_eq!(figures.fastest("flat", 64), Some(("ringbuf", 70.0)));
        assert_eq!(figures.fastest("flat", 8), None);
    }

    #[test]
    fn what_was_not_measured_is_not_met() {
        let rows = bars(&figures(Vec::new()));
        assert!(rows.len() > 60);
        assert!(rows.iter().all(|row| !row.met()));
    }
}
