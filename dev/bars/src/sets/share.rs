// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The bars of the shared objects, compared with other libraries in the same run: medians over interleaved rounds in
//! which both sides of a comparison were measured at the same distance of the processors.
//!
//! Like is compared with like: by value with by value, slices with slices, in place with in place. *No worse* means
//! that the median difference over rounds is at most 0.

use serde_json::{Map, Value};
use xtask::Tree;

use crate::peers;
use crate::row::{self, ENOUGH, Held, Row};
use crate::spread::Spread;

/// Rounds. A change of distance may make some useless.
const ROUNDS: usize = 11;
/// Two trials of a round are comparable if the round trips of a bare cache line right before them differ by less than
/// this factor.
const ALIKE: f64 = 1.5;

/// Queues with a real-time writer.
const QUEUES: [&str; 3] = ["QrtR", "QrtWo", "QrtWc"];
/// QrtR through its in-place operations, which copy no value twice. [`CHUNKS`] is the same form of rtrb.
const IN_PLACE: &str = "QrtR in place";
const CHUNKS: &str = "rtrb chunks";
/// The object that gives many readers the newest value.
const MANY: &str = "Hybrid";
/// The objects that work between processes.
const ACROSS: [&str; 13] = [
    "SDrtW",
    "SDrtR",
    "QrtR",
    IN_PLACE,
    "QrtWo",
    "QrtWc",
    "Bulk",
    MANY,
    "Chen",
    "Presence",
    "Double Buffer",
    "Peterson",
    "NBW temporal",
];
/// Other libraries' queues that may have the largest rate: value by value (`flat`) and several values at a time
/// (`slices`). If one of them is missing, the largest rate is unknown.
const FAST: [(&str, &[&str]); 2] = [
    ("flat", &["rtrb", "rtrb chunks", "ringbuf", "ArrayQueue", "heapless", "bbqueue", "real-time fifo"]),
    ("slices", &[CHUNKS, "ringbuf"]),
];
/// The least number of samples that must lie beyond a percentile: with fewer, its value is chance.
const BEYOND: f64 = 10.0;

/// Measures all bars of this set, in less than 10 minutes after the build.
pub(super) fn measure(tree: &Tree) -> Vec<Row> {
    let folder = tree.target().join("bars/share");
    match peers::measured_for_bars(tree, ROUNDS, &folder).and_then(|text| Figures::of(&text)) {
        Ok(figures) => bars(&figures),
        Err(why) => vec![Row::at_most("ours beside others", 0.0, "-", Held::Median, Err(why))],
    }
}

/// The page with the bars of a recorded run, which is given as JSON.
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

/// The measurements that bars ask for, one per line; one run must have all of them. The tests of `dev/peers` read the
/// same file and check that.
const NEEDED: &str = include_str!("../../../peers/needed.txt");

/// The figures of a trial's rounds that bars read.
fn figures_of(trial: &str) -> &'static [&'static str] {
    match trial {
        "trip" => &["raw", "trip"],
        "flat" | "slices" => &["raw", "out"],
        "unchanged" => &["look"],
        "write" | "read" => &["raw", "p50", "p99", "p999", "n", "capped"],
        _ => &[],
    }
}

/// A run as it is recorded: the rows and figures that bars read, a row per line. Instead of a map per round, a row has a
/// list per figure. All other rows are in the tables, by their medians and spreads.
///
/// # Errors
/// What is wrong with the JSON.
pub(crate) fn recorded(text: &str) -> Result<String, String> {
    let mut run: Value = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
    let rows = run.get_mut("rows").map(Value::take).unwrap_or_default();
    let rows = rows.as_array().ok_or("the run has no rows")?;
    let rows: Vec<String> =
        rows.iter().filter(|row| is_read(row)).map(|row| in_lists(row).to_string()).collect();
    let head = run.as_object().ok_or("the run is no map")?.iter().filter(|(name, _)| *name != "rows");
    let head: Vec<String> = head.map(|(name, value)| format!("\"{name}\": {value}")).collect();
    Ok(format!("{{\n{},\n\"rows\": [\n{}\n]\n}}\n", head.join(",\n"), rows.join(",\n")))
}

/// Whether a bar reads a row.
fn is_read(row: &Value) -> bool {
    let number = |name: &str| row[name].as_u64().unwrap_or_default();
    let [object, trial] = ["object", "trial"].map(|name| row[name].as_str().unwrap_or_default());
    let at = At {
        readers: number("readers"),
        across: row["across"] == true,
        ..at(object, trial, number("bytes"))
    };
    let line = at.line();
    let may_be_fastest = FAST.iter().any(|(fast, _)| is_rate_of_another(row, fast));
    may_be_fastest || NEEDED.lines().any(|needed| needed == line)
}

/// Whether a row may have the largest rate of other people's objects in a trial.
fn is_rate_of_another(row: &Value, trial: &str) -> bool {
    row["trial"] == trial && row["ours"] == false && row["kind"] != "state"
}

/// A row with a list for each figure that bars read.
fn in_lists(row: &Value) -> Value {
    let rounds = rounds_of(&row["rounds"]).unwrap_or_default();
    let list = |name: &&str| {
        let figure = |round: &Round| round.as_ref().and_then(|round| round.get(*name)).cloned();
        let figures = rounds.iter().map(|round| figure(round).unwrap_or_default());
        ((*name).to_owned(), Value::Array(figures.collect()))
    };
    let lists: Map<String, Value> =
        figures_of(row["trial"].as_str().unwrap_or_default()).iter().map(list).collect();
    let mut row = row.clone();
    row["rounds"] = Value::Object(lists);
    row
}

/// The rounds of a row: a list of maps as the run writes them, or a list per figure as they are recorded.
fn rounds_of(rounds: &Value) -> Option<Vec<Round>> {
    if let Some(lists) = rounds.as_object() {
        let count = lists.values().filter_map(Value::as_array).map(Vec::len).max().unwrap_or(0);
        let round = |at: usize| lists.iter().map(|(name, list)| (name.clone(), list[at].clone())).collect();
        return Some((0..count).map(|at| Some(round(at))).collect());
    }
    Some(rounds.as_array()?.iter().map(|round| round.as_object().cloned()).collect())
}

/// The measurements: every round of every object and trial.
struct Figures {
    rows: Vec<Value>,
    /// One step of the timer, in ns.
    step: f64,
    /// The timer's own cost, p50, in ns.
    timer: f64,
    /// The measurements that bars asked for, as lines of `dev/peers/needed.txt`.
    #[cfg(test)]
    asked: std::cell::RefCell<std::collections::BTreeSet<String>>,
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

impl At<'_> {
    fn line(&self) -> String {
        let far = if self.across { ", across" } else { "" };
        let Self { object, trial, bytes, readers, .. } = self;
        format!("{object}: {trial}, {bytes} B, {readers} readers{far}")
    }
}

type Round = Option<Map<String, Value>>;

impl Figures {
    fn of(text: &str) -> Result<Self, String> {
        let mut all: Value = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
        let step = all["timer_ns"]["step"].as_f64().ok_or("the run does not know its timer")?;
        let timer = all["timer_ns"]["p50"].as_f64().ok_or("the run does not know what its timer takes")?;
        // No time was measured with a timer whose step or cost is zero.
        if !(step > 0.0 && timer > 0.0) {
            return Err(format!("a timer in steps of {step} ns that takes {timer} ns is none"));
        }
        // The percentiles of ordinary threads depend on all other load of the machine.
        match all["facts"]["threads"].as_str() {
            Some(threads) if threads.contains("SCHED_FIFO") => {}
            other => return Err(format!("the threads were not real-time: {}", other.unwrap_or("not said"))),
        }
        match all["rows"].take() {
            Value::Array(rows) => Ok(Self {
                rows,
                step,
                timer,
                #[cfg(test)]
                asked: Default::default(),
            }),
            _ => Err("the run has no rows".into()),
        }
    }

    fn rounds(&self, at: At<'_>) -> Result<Vec<Round>, String> {
        #[cfg(test)]
        self.asked.borrow_mut().insert(at.line());
        let row = self.rows.iter().find(|row| {
            row["object"] == at.object
                && row["trial"] == at.trial
                && row["bytes"] == at.bytes
                && row["readers"] == at.readers
                && row["across"] == at.across
        });
        let rounds = row.and_then(|row| rounds_of(&row["rounds"]));
        rounds.ok_or_else(|| format!("not in the run: {}", at.line()))
    }

    /// A figure for each round, computed from the figures of the round.
    fn each(
        &self,
        at: At<'_>,
        figure: impl Fn(&Map<String, Value>) -> Option<f64>,
    ) -> Result<Vec<f64>, String> {
        enough(self.rounds(at)?.iter().flatten().filter_map(figure).collect())
    }

    /// A figure for each round in which both were measured at the same distance.
    fn paired(
        &self,
        one: (At<'_>, &str),
        other: (At<'_>, &str),
        figure: impl Fn(f64, f64) -> f64,
    ) -> Result<Vec<f64>, String> {
        // Look up both before an error returns, so that the tests record both.
        let (ones, others) = (self.rounds(one.0), self.rounds(other.0));
        let (ones, others) = (ones?, others?);
        let pairs = ones.iter().zip(&others).filter_map(|pair| Some((pair.0.as_ref()?, pair.1.as_ref()?)));
        let alike = pairs.filter(|(one, other)| {
            let distances = (number(one, "raw"), number(other, "raw"));
            matches!(distances, (Some(one), Some(other)) if one.max(other) < ALIKE * one.min(other))
        });
        // Our operations that were given up count as the longest time. The other's operations that were given up count
        // as their limit: they took at least that long.
        let own = |round| number(round, one.1).map(|ns| if is_capped(round, one.1) { f64::MAX } else { ns });
        enough(alike.filter_map(|(a, b)| Some(figure(own(a)?, number(b, other.1)?))).collect())
    }

    /// The other library whose median rate in a trial is the largest, and that rate.
    ///
    /// # Errors
    /// Which of the candidates in [`FAST`] has no measurement.
    fn fastest(&self, trial: &str, bytes: u64) -> Result<(&str, f64), String> {
        for (_, names) in FAST.iter().filter(|(fast, _)| *fast == trial) {
            let each = names.iter().map(|name| self.each(at(name, trial, bytes), figure("out")));
            each.collect::<Vec<_>>().into_iter().collect::<Result<Vec<_>, _>>()?;
        }
        let others = self.rows.iter().filter(|row| row["bytes"] == bytes && is_rate_of_another(row, trial));
        let rates = others.filter_map(|row| {
            let name = row["object"].as_str()?;
            let rates = self.each(at(name, trial, bytes), figure("out")).ok()?;
            Some((name, Spread::of(&rates)?.median))
        });
        let fastest = rates.max_by(|one, other| one.1.total_cmp(&other.1));
        fastest.filter(|(_, rate)| *rate > 0.0).ok_or_else(|| "no other gave out anything".to_owned())
    }
}

fn enough(values: Vec<f64>) -> Result<Vec<f64>, String> {
    if values.len() >= ENOUGH {
        Ok(values)
    } else {
        Err(format!("{} comparable rounds, fewer than {ENOUGH}", values.len()))
    }
}

/// A figure of a round; `None` if it is a percentile of too few samples.
fn number(round: &Map<String, Value>, name: &str) -> Option<f64> {
    let value = round.get(name)?.as_f64()?;
    match beyond(name) {
        Some(share) if round.get("n")?.as_f64()? * share < BEYOND => None,
        _ => Some(value),
    }
}

/// Whether a percentile is unknown because it lies among operations that were given up after 2 ms.
fn is_capped(round: &Map<String, Value>, name: &str) -> bool {
    let of = |name: &str| round.get(name).and_then(Value::as_f64).unwrap_or(0.0);
    beyond(name).is_some_and(|share| of("capped") > of("n") * share)
}

/// The share of the samples that lie beyond a percentile.
fn beyond(name: &str) -> Option<f64> {
    match name {
        "p50" => Some(0.5),
        "p99" => Some(0.01),
        "p999" => Some(0.001),
        _ => None,
    }
}

fn figure(name: &'static str) -> impl Fn(&Map<String, Value>) -> Option<f64> {
    move |round| number(round, name)
}

fn median(bar: String, goal: f64, unit: &'static str, samples: Result<Vec<f64>, String>) -> Row {
    Row::at_most(bar, goal, unit, Held::Median, samples)
}

/// The usual notation of a percentile.
fn shown(percentile: &str) -> &str {
    if percentile == "p999" { "p99.9" } else { percentile }
}

fn bars(figures: &Figures) -> Vec<Row> {
    let mut rows = queues(figures);
    rows.extend(one_reader(figures));
    rows.extend(many_readers(figures));
    rows.extend(processes(figures));
    rows.push(lines(figures));
    rows
}

/// The tables state how many cache lines an operation moves; the numbers follow from the layouts of the objects. No
/// measurement here counts lines, except for a look at an unchanged object, which moves none and has its own rows. So
/// the bar that measurements confirm the stated numbers is not met.
fn lines(_: &Figures) -> Row {
    let why = "the processors' counters of lines that move are not read";
    median("lines that move in an operation, beyond those stated".into(), 0.0, "lines", Err(why.into()))
}

/// The bar that ours minus the other's is at most 0.
fn no_worse(figures: &Figures, what: String, one: (At<'_>, &str), other: (At<'_>, &str)) -> Row {
    let bar = format!("{what} - that of {}, {} B", other.0.object, one.0.bytes);
    median(bar, 0.0, "ns", figures.paired(one, other, |one, other| one - other))
}

fn queues(figures: &Figures) -> Vec<Row> {
    let mut rows = Vec::new();
    for bytes in [8, 64, 256, 4096] {
        // 256 bytes lie between the sizes that matter most: only writes and reads.
        let all = bytes != 256;
        for queue in QUEUES {
            pushes(figures, queue, "rtrb", bytes, &mut rows);
            if queue != "QrtR" {
                pops_that_lose(figures, queue, bytes, &mut rows);
            }
            if all && bytes < 4096 {
                let (one, other) = ((at(queue, "trip", bytes), "trip"), (at("rtrb", "trip", bytes), "trip"));
                rows.push(no_worse(figures, format!("{queue} round trip"), one, other));
            }
            if all {
                rows.push(rate(figures, queue, "flat", bytes));
            }
        }
        // In place compared with in place. By value compared with by value is above.
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
        for queue in [IN_PLACE, "QrtWo", "QrtWc"].into_iter().filter(|_| all) {
            rows.push(rate(figures, queue, "slices", bytes));
        }
    }
    rows
}

/// The bars that a push is no worse than the other's.
fn pushes(figures: &Figures, queue: &str, peer: &str, bytes: u64, rows: &mut Vec<Row>) {
    for percentile in ["p50", "p999"] {
        let what = format!("{queue} push {}", shown(percentile));
        let one = (at(queue, "write", bytes), percentile);
        rows.push(no_worse(figures, what, one, (at(peer, "write", bytes), percentile)));
    }
}

/// The bars on pops from queues whose writer is wait-free.
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

/// The rate of values that come out: the ratio of the fastest other in this trial to ours.
fn rate(figures: &Figures, queue: &str, trial: &str, bytes: u64) -> Row {
    let fastest = figures.fastest(trial, bytes);
    let name = fastest.as_ref().map_or("the fastest", |(name, _)| name);
    let how = if trial == "slices" { "rate by slices" } else { "rate" };
    let ratios = fastest.clone().and_then(|(name, _)| {
        let (one, other) = ((at(name, trial, bytes), "out"), (at(queue, trial, bytes), "out"));
        // If our rate is zero, the ratio is as bad as possible.
        figures.paired(one, other, |peer, own| if own > 0.0 { peer / own } else { f64::MAX })
    });
    median(format!("{how} of {name} / {queue}'s, {bytes} B"), 1.0, "x", ratios)
}

/// Rounds a goal down to whole steps of the timer: no time that the timer measures lies between the result and the
/// goal. The step is known to within a hundredth; this error must not decide whether a bar is met.
fn whole_steps(goal: f64, step: f64) -> f64 {
    (goal / step + 0.01).floor() * step
}

fn one_reader(figures: &Figures) -> Vec<Row> {
    // The goals 40, 60 and 250 ns include 20 ns for the timer of the machine where they were set. A slower timer does
    // not change a goal. A faster timer lowers it: the time beyond the timer's cost may be no more than on that
    // machine.
    let write = |bytes, readers, percentile: &'static str, goal: f64| {
        let many = if readers == 1 { String::new() } else { format!(", {readers} readers") };
        let bar = format!("SDrtW write {}, {bytes} B{many}", shown(percentile));
        let goal = whole_steps(goal.min(goal - 20.0 + figures.timer), figures.step);
        let samples = figures.each(At { readers, ..at("SDrtW", "write", bytes) }, figure(percentile));
        let samples = samples.and_then(|all| row::times("a write", all));
        // The timer advances in whole steps. Round to them, so that the error in the length of a step does not decide
        // whether the bar is met.
        let whole = |ns: f64| (ns / figures.step).round() * figures.step;
        median(bar, goal, "ns", samples.map(|all| all.into_iter().map(whole).collect()))
    };
    let mut rows = Vec::new();
    for (bytes, readers) in [(8, 1), (64, 1), (64, 4), (64, 20), (256, 1)] {
        rows.push(write(bytes, readers, "p50", 40.0));
        rows.push(write(bytes, readers, "p999", 60.0));
    }
    for readers in [1, 4, 20] {
        rows.push(write(4096, readers, "p99", 250.0));
    }
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
        // A moved cache line would cost several times this goal.
        let bar = format!("{object} unchanged, a look - one at a bare word");
        let looks = figures.each(at(object, "unchanged", 64), figure("look"));
        let bare = figures.each(at("bare word", "unchanged", 8), figure("look"));
        let both = looks.and_then(|looks| Ok((row::times("a look", looks)?, row::times("a look", bare?)?)));
        let over =
            both.map(|(looks, bare)| looks.iter().zip(&bare).map(|(look, bare)| look - bare).collect());
        rows.push(median(bar, 5.0, "ns", over));
    }
    rows
}

/// The bars that an operation across processes takes at most 5 % longer than within one. Writes and reads are compared
/// without the timer's own cost.
fn processes(figures: &Figures) -> Vec<Row> {
    let mut rows = Vec::new();
    for object in ACROSS {
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
        let round = |(raw, ns): &(f64, f64)| json!({ "raw": raw, "trip": ns, "p50": ns, "p99": ns, "p999": ns, "n": 20_000, "capped": 0, "out": ns });
        json!({
            "object": object, "kind": "queue", "ours": ours, "trial": trial, "bytes": 64, "readers": 1, "across": false,
            "rounds": rounds.iter().map(round).collect::<Vec<_>>(),
        })
    }

    fn figures(rows: Vec<Value>) -> Figures {
        Figures::of(&run(rows)).unwrap()
    }

    fn run(rows: Vec<Value>) -> String {
        let facts = json!({ "threads": "CPUs 0 and 1, SCHED_FIFO 20" });
        json!({ "facts": facts, "timer_ns": { "step": 10.0, "p50": 30.0 }, "rows": rows }).to_string()
    }

    /// A run with all measurements that bars need, and no others. `round` makes the figures of an object.
    fn made(round: impl Fn(&str, &str, usize) -> Value) -> Vec<Value> {
        let row = |line: &str| {
            let (object, rest) = line.split_once(": ").unwrap();
            let words: Vec<&str> = rest.split([',', ' ']).filter(|word| !word.is_empty()).collect();
            let others =
                ["rtrb", "ringbuf", "ArrayQueue", "heapless", "bbqueue", "real-time", "triple", "bare"];
            let queue = ["flat", "slices"].contains(&words[0]);
            json!({
                "object": object, "trial": words[0], "kind": if queue { "queue" } else { "state" },
                "ours": !others.iter().any(|other| object.starts_with(other)),
                "bytes": words[1].parse::<u64>().unwrap(), "readers": words[3].parse::<u64>().unwrap(),
                "across": line.ends_with("across"),
                "rounds": (0..6).map(|at| round(object, words[0], at)).collect::<Vec<_>>(),
            })
        };
        NEEDED.lines().map(row).collect()
    }

    /// Figures that meet every bar: ours are as fast as the timer and the machine allow, the others slower.
    fn good(object: &str, trial: &str, _: usize) -> Value {
        let ours =
            ["QrtR", "QrtWo", "QrtWc", "SDrtR", "SDrtW", MANY].iter().any(|name| object.starts_with(name));
        let slow = if ours { 1.0 } else { 1.5 };
        let time = |ns: f64| (ns * slow).floor();
        match trial {
            "trip" => json!({ "raw": 100.0, "trip": time(110.0) }),
            "flat" | "slices" => json!({ "raw": 100.0, "in": 50.0, "out": 60.0 / slow }),
            "unchanged" => json!({ "raw": 100.0, "look": time(1.0) }),
            _ => json!({ "raw": 100.0, "p50": time(36.0), "p99": time(40.0), "p999": time(45.0),
                         "n": 20_000.0, "missed": 0.0, "capped": 0.0 }),
        }
    }

    fn plain(rows: &[Row]) -> String {
        row::table(&rows.iter().map(|row| (row, &Value::Null)).collect::<Vec<_>>())
    }

    /// The number of bars that are met.
    fn met(rows: Vec<Value>) -> usize {
        bars(&figures(rows)).iter().filter(|row| row.met()).count()
    }

    #[test]
    fn one_run_fills_every_row() {
        let all = figures(made(good));
        let rows = bars(&all);
        let asked: Vec<String> = all.asked.take().into_iter().collect();
        let mut needed: Vec<&str> = NEEDED.lines().collect();
        if std::env::var_os("BARS_UPDATE").is_some() {
            let path = Tree::here().unwrap().join("dev/peers/needed.txt");
            std::fs::write(path, asked.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        }
        needed.sort_unstable();
        assert_eq!(asked, needed, "run with BARS_UPDATE=1 and commit dev/peers/needed.txt");
        let (shown, page) = (plain(&rows), page(&run(made(good))).unwrap());
        // Nothing counts the cache lines that move.
        let lacking: Vec<_> = rows.iter().filter(|row| row.value().is_none()).collect();
        assert_eq!(lacking.len(), 1, "{shown}");
        assert_eq!(met(made(good)), rows.len() - 1, "{shown}");
        assert!(page.contains(&format!("{} of {} are met", rows.len() - 1, rows.len())), "{page}");
        assert_eq!(page.matches("| - | - | **no** |").count(), 1, "{page}");
        assert_eq!(page.matches("| yes |").count(), rows.len() - 1);
    }

    /// The record of a run gives the same bars as the run, and to record it again changes nothing.
    #[test]
    fn a_record_has_what_bars_read_and_no_more() {
        let mut rows = made(good);
        rows.push(json!({
            "object": "QrtR", "kind": "queue", "ours": true, "trial": "alone", "bytes": 8, "readers": 1, "across": false,
            "rounds": [{ "raw": 100.0, "in": 3.0 }],
        }));
        rows[0]["rounds"][1] = Value::Null;
        rows[0]["rounds"][2]["missed"] = json!(7.0);
        let run = run(rows);
        let record = recorded(&run).unwrap();
        assert_eq!(page(&record), page(&run));
        assert!(!record.contains("alone") && !record.contains("missed"), "{record}");
        assert_eq!(recorded(&record), Ok(record.clone()));
        let rounds = |text: &str| Figures::of(text).unwrap().rounds(at("rtrb", "trip", 64)).unwrap();
        assert_eq!(rounds(&record), rounds(&run));
        assert!(recorded("{}").is_err() && recorded("").is_err());
    }

    /// A function that makes the figures of a round wrong.
    type Wrong = fn(&mut Map<String, Value>);

    /// A figure that is missing or invalid meets no bar, whatever the cause.
    #[test]
    fn a_missing_figure_is_not_met() {
        let none: &[(&str, Wrong)] = &[
            ("nothing", |round| round.clear()),
            ("no distance", |round| drop(round.remove("raw"))),
            ("a distance of 0", |round| drop(round.insert("raw".into(), json!(0.0)))),
            ("words", |round| round.values_mut().for_each(|value| *value = json!("fast"))),
            ("null", |round| round.values_mut().for_each(|value| *value = Value::Null)),
        ];
        let with = |of: Wrong, rounds: usize| {
            met(made(|object, trial, at| {
                let mut round = good(object, trial, at);
                if at < rounds {
                    of(round.as_object_mut().unwrap());
                }
                round
            }))
        };
        let all = met(made(good));
        for (what, of) in none {
            // Bars that are not on pairs do not need the distance.
            let alone =
                if what.contains("distance") { with(|round| drop(round.remove("raw")), 6) } else { 0 };
            assert_eq!(with(*of, 6), alone, "{what}");
            assert!(with(*of, 2) < all / 4, "{what}: four rounds are too few");
            // A single distance of 0 spoils the bar whose figure is divided by the distance.
            let spoilt = usize::from(what.contains("of 0"));
            assert_eq!(with(*of, 1), all - spoilt, "{what}: five are enough");
        }
        assert_eq!(
            with(|round| round.values_mut().for_each(|value| *value = json!(0.0)), 6),
            4,
            "no time at all"
        );
    }

    /// A rate of zero of ours counts against us. A missing peer must not make a slower peer the fastest.
    #[test]
    fn a_missing_peer_is_no_slower_one() {
        let without =
            |name: &str| made(good).into_iter().filter(|row| row["object"] != name).collect::<Vec<_>>();
        let rate = |rows| rate(&figures(rows), "QrtR", "flat", 64);
        assert!(rate(made(good)).met());
        for (_, names) in FAST {
            for name in names.iter().filter(|name| FAST[0].1.contains(name)) {
                assert!(!rate(without(name)).met(), "{name}");
            }
        }
        let stopped = made(|object, trial, at| {
            let mut round = good(object, trial, at);
            if object == "QrtR" && trial == "flat" {
                round["out"] = json!(0.0);
            }
            round
        });
        assert_eq!((rate(stopped.clone()).value(), rate(stopped).met()), (Some(f64::MAX), false));
    }

    /// An operation that was given up after 2 ms took longer than that, so two such operations are not equally fast.
    /// And too few samples have no percentile.
    #[test]
    fn unknown_percentiles() {
        let with = |n: f64, capped: f64, name: &'static str| {
            figures(made(move |object, trial, at| {
                let mut round = good(object, trial, at);
                if object == name && trial == "read" {
                    for figure in ["p50", "p99", "p999"] {
                        round[figure] = json!(2e6);
                    }
                    (round["n"], round["capped"]) = (json!(n), json!(capped));
                }
                round
            }))
        };
        let named = |figures: &Figures, name: &str| {
            let rows = bars(figures);
            rows.into_iter().filter(|row| plain(std::slice::from_ref(row)).contains(name)).collect::<Vec<_>>()
        };
        let bar = "SDrtW read p50 across processes - 1.05 x in one, 4096 B";
        assert!(named(&with(40.0, 19.0, "SDrtW"), bar)[0].met(), "half of them were done");
        assert!(!named(&with(40.0, 21.0, "SDrtW"), bar)[0].met());
        let own = "Hybrid read p99.9 / its p50, 64 B";
        assert!(named(&with(10_000.0, 10.0, MANY), own).iter().all(Row::met));
        assert!(!named(&with(10_000.0, 11.0, MANY), own).iter().any(Row::met), "at its limit");
        assert!(!named(&with(9_999.0, 0.0, MANY), own).iter().any(Row::met), "too few");
    }

    #[test]
    fn a_run_says_how_it_was_measured() {
        let reported = |facts: Value, timer: Value| {
            Figures::of(&json!({ "facts": facts, "timer_ns": timer, "rows": [] }).to_string()).map(|_| ())
        };
        let (fifo, timer) =
            (json!({ "threads": "CPUs 0 and 1, SCHED_FIFO 20" }), json!({ "step": 10.0, "p50": 30.0 }));
        assert_eq!(reported(fifo.clone(), timer.clone()), Ok(()));
        let other = json!({ "threads": "CPUs 0 and 1, SCHED_OTHER" });
        assert!(reported(other, timer.clone()).unwrap_err().contains("SCHED_OTHER"));
        assert!(reported(json!({}), timer).is_err());
        for wrong in
            [json!({ "step": 0.0, "p50": 30.0 }), json!({ "step": 10.0, "p50": 0 }), json!({ "step": 10.0 })]
        {
            assert!(reported(fifo.clone(), wrong).is_err());
        }
        assert!(Figures::of("[]").is_err() && Figures::of("").is_err());
    }

    /// The goal for SDrtW's writer is as set for a timer that takes 20 ns, and no higher for a slower timer.
    #[test]
    fn a_slow_timer_makes_no_goal_looser() {
        let goal = |p50: f64| {
            let timer = json!({ "step": 10.0, "p50": p50 });
            let facts = json!({ "threads": "SCHED_FIFO" });
            let text = json!({ "facts": facts, "timer_ns": timer, "rows": made(good) }).to_string();
            row::json(&one_reader(&Figures::of(&text).unwrap()))[0]["goal"].clone()
        };
        assert_eq!([10.0, 20.0, 30.0, 60.0].map(goal), [json!(30.0), json!(40.0), json!(40.0), json!(40.0)]);
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

    /// A difference of one step of the timer is not tolerated: relative to a time of 10 ns beyond the timer, it would
    /// double the time.
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
            row("rtrb chunks", false, "flat", &[(100.0, 50.0); 5]),
            row("rtrb chunks", false, "slices", &[(100.0, 50.0); 5]),
            row("ArrayQueue", false, "flat", &[(100.0, 50.0); 5]),
            row("heapless", false, "flat", &[(100.0, 50.0); 5]),
            row("bbqueue", false, "flat", &[(100.0, 50.0); 5]),
            row("real-time fifo", false, "flat", &[(100.0, 50.0); 5]),
            row("ringbuf", false, "flat", &[(100.0, 70.0); 5]),
            // More values come out by slices, but that is another trial.
            row("ringbuf", false, "slices", &[(100.0, 95.0); 5]),
        ]);
        let fastest =
            |trial, bytes| figures.fastest(trial, bytes).map(|(name, rate)| (name.to_owned(), rate));
        assert_eq!(fastest("slices", 64), Ok(("ringbuf".to_owned(), 95.0)));
        assert_eq!(fastest("flat", 64), Ok(("ringbuf".to_owned(), 70.0)));
        assert!(fastest("flat", 8).is_err());
    }

    #[test]
    fn a_missing_measurement_is_not_met() {
        let rows = bars(&figures(Vec::new()));
        assert!(rows.len() > 60);
        assert!(rows.iter().all(|row| !row.met()));
    }
}
