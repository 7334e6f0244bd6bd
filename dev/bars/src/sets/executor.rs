// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The bars of locks and releases: what a critical section costs, that this cost does not depend on the number of
//! ready tasks, how promptly a lock passes to its next holder, and how promptly jobs begin.
//!
//! Three programs measure. Each measures both sides of a comparison in the same round. `taut-peers locks` compares
//! locks and releases with those of other libraries, `taut-papers gutierrez13` measures the locking rules with 0 to
//! 100 ready tasks, and [`release`] compares a task of `taut` with a bare loop. A fourth program counts system calls:
//! [`calls`].

use serde_json::Value;
use xtask::{Command, Tree};

use super::calls;
use crate::bench::release;
use crate::row::{self, Held, Row};
use crate::{observed, peers};

/// Rounds of `taut-peers locks`.
const ROUNDS: usize = 21;

/// What a futex mutex and a PTHREAD_PRIO_PROTECT mutex cost on the machine where the goal of 5 ns was set, in ns. On
/// this machine, the same ratios to these mutexes are goals.
const MUTEX_NS: f64 = 3.3;
const PROTECT_NS: f64 = 1_700.0;
const SECTION_NS: f64 = 5.0;

/// Measures all bars of this set, in less than ten minutes after the build.
pub(super) fn measure(tree: &Tree) -> Vec<Row> {
    let locks = peers::locks_for_bars(tree, ROUNDS, &tree.target().join("bars/execute"));
    let mut rows = match locks.and_then(|text| Locks::of(&text)) {
        Ok(locks) => of_locks(&locks),
        Err(why) => vec![Row::at_most("locks beside others'", 0.0, "-", Held::Median, Err(why))],
    };
    rows.extend(shapes(&papers(tree)));
    rows.push(native(tree));
    rows.extend(calls::measure(tree));
    rows
}

/// The object and the trial of a row, and the name of a figure in it.
type Key<'a> = (&'a str, &'a str, &'a str);

/// The time of an uncontended lock and unlock.
fn alone(object: &str) -> Key<'_> {
    (object, "alone", "ns")
}

/// The measurements of `taut-peers locks`: every round of every row.
struct Locks(Vec<Value>);

impl Locks {
    fn of(text: &str) -> Result<Self, String> {
        let mut all: Value = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
        match all["rows"].take() {
            Value::Array(rows) => Ok(Self(rows)),
            _ => Err("the run has no rows".into()),
        }
    }

    /// A figure for each round, computed from the times of the rows in that round. Leaves out rounds that lack a time.
    fn each<const N: usize>(
        &self,
        keys: [Key<'_>; N],
        of: impl Fn([f64; N]) -> f64,
    ) -> Result<Vec<f64>, String> {
        let mut columns = Vec::with_capacity(N);
        for (object, trial, figure) in keys {
            let row = self.0.iter().find(|row| row["object"] == object && row["trial"] == trial);
            let row = row.ok_or_else(|| format!("no `{object}` in `{trial}`"))?;
            let rounds = row["rounds"].as_array().ok_or("a row has no rounds")?;
            if rounds.iter().all(Value::is_null) {
                return Err(format!("`{object}`: {}", row["why"].as_str().unwrap_or("no round")));
            }
            columns.push(rounds.iter().map(|round| round[figure].as_f64()).collect::<Vec<_>>());
        }
        let rounds = columns.iter().map(Vec::len).min().unwrap_or(0);
        let whole = (0..rounds).filter_map(|round| {
            let mut figures = [0.0; N];
            for (figure, column) in figures.iter_mut().zip(&columns) {
                *figure = column[round]?;
            }
            Some(figures)
        });
        let whole: Vec<[f64; N]> = whole.collect();
        // A time of zero was not measured, and a difference of two such times would meet its bar.
        row::times("a round", whole.concat())?;
        Ok(whole.into_iter().map(of).collect())
    }

    fn over(&self, one: Key<'_>, other: Key<'_>) -> Result<Vec<f64>, String> {
        self.each([one, other], |[one, other]| one / other)
    }

    fn less(&self, one: Key<'_>, other: Key<'_>) -> Result<Vec<f64>, String> {
        self.each([one, other], |[one, other]| one - other)
    }
}

/// The bars that `taut-peers locks` measures.
fn of_locks(locks: &Locks) -> Vec<Row> {
    let mut rows = sections(locks);
    rows.extend(hand_overs(locks));
    rows
}

fn median(bar: String, goal: f64, unit: &'static str, samples: Result<Vec<f64>, String>) -> Row {
    Row::at_most(bar, goal, unit, Held::Median, samples)
}

/// What critical sections cost: sections of a dispatched job, and the locking rule alone, which is a part of them.
fn sections(locks: &Locks) -> Vec<Row> {
    let mut rows = Vec::new();
    for (how, many) in [("dispatched", 89), ("rule alone", 100)] {
        let named = |rule: &str| format!("{rule}, {how}");
        let ready = |rule: &str| format!("{rule}, {how}, {many} ready");
        let [srp, dfp] = ["SRP", "DFP"].map(named);
        let pair = |rule: &str| format!("lock + unlock of {rule}");
        rows.extend([
            median(pair(&srp), SECTION_NS, "ns", locks.each([alone(&srp)], |[ns]| ns)),
            median(
                format!("{} / a futex mutex", pair(&srp)),
                SECTION_NS / MUTEX_NS,
                "x",
                locks.over(alone(&srp), alone("std mutex")),
            ),
            median(
                format!("{} / PTHREAD_PRIO_PROTECT", pair(&srp)),
                SECTION_NS / PROTECT_NS,
                "x",
                locks.over(alone(&srp), alone("PTHREAD_PRIO_PROTECT")),
            ),
            median(
                format!("{} - a look at the clock", pair(&dfp)),
                SECTION_NS,
                "ns",
                locks.less(alone(&dfp), alone("a look at the clock")),
            ),
        ]);
        for rule in ["SRP", "DFP"] {
            rows.push(median(
                format!("{} with {many} ready - with none", pair(&named(rule))),
                1.0,
                "ns",
                locks.less(alone(&ready(rule)), alone(&named(rule))),
            ));
        }
    }
    rows
}

/// How promptly jobs begin and resume, and how promptly locks pass to the next holder.
fn hand_overs(locks: &Locks) -> Vec<Row> {
    let bare = ("bare SCHED_FIFO loop", "release", "ns");
    let wake = ("futex wake on one processor", "preempt", "ns");
    let dispatched = |of: &str| locks.each([(of, "release", "ns"), bare], |[one, other]| one / other);
    let after = |of: &str| {
        let key = (of, "completion", "ns");
        locks.each([key], |[ns]| ns / 1e3)
    };
    vec![
        median(
            "release to first instruction p50, dispatched / bare SCHED_FIFO loop".into(),
            1.3,
            "x",
            dispatched("dispatched"),
        ),
        median(
            "preemption at a release p50, beyond a bare SCHED_FIFO loop".into(),
            3.0,
            "wakes",
            locks.each([("dispatched, preempting", "release", "ns"), bare, wake], |[ours, bare, wake]| {
                (ours - bare) / wake
            }),
        ),
        median(
            "preemption at an unlock, in futex wakes".into(),
            2.0,
            "x",
            locks.over(("at an unlock, dispatched", "preempt", "ns"), wake),
        ),
        median("completion to the next job".into(), 0.1, "us", after("to the next job, dispatched")),
        median("completion to a preempted job".into(), 2.0, "us", after("to a preempted job, dispatched")),
        median(
            "MSRP handed across cores, in round trips of a line".into(),
            2.0,
            "x",
            locks.each([("MSRP", "handed", "ns"), ("MSRP", "handed", "raw")], |[ns, raw]| ns / raw),
        ),
        median(
            "MPCP handed across cores / a bare futex".into(),
            1.3,
            "x",
            locks.over(("MPCP", "handed", "ns"), ("bare futex", "handed", "ns")),
        ),
    ]
}

/// The least number of points, each with 10 or more ready tasks, that can show whether times lie on a line.
const POINTS: usize = 4;

/// The rows of the run: test, rule, number of other tasks, and the time of each round in ns.
type Times = Vec<Value>;
/// The points of one round: number of other tasks, and time in ns.
type Chart = [(f64, f64)];

fn papers(tree: &Tree) -> Result<Times, String> {
    let run = Command::line("cargo run --quiet --locked --release -p taut-papers -- gutierrez13 --json")
        .dir(tree.root())
        .run();
    if !run.success() {
        return Err(format!("the program that measures {}: {}", run.reason(), run.text));
    }
    let mut reported: Value =
        serde_json::from_str(run.stdout.trim()).map_err(|error| format!("not JSON: {error}"))?;
    match reported["rows"].take() {
        Value::Array(rows) => Ok(rows),
        _ => Err("the run has no rows".into()),
    }
}

/// The unlocks of a rule: for each round, its points of number of other tasks and time in ns.
fn unlocks(times: &Times, rule: &str) -> Result<Vec<Vec<(f64, f64)>>, String> {
    let mut rounds: Vec<Vec<(f64, f64)>> = Vec::new();
    for row in times.iter().filter(|row| row["test"] == "b" && row["rule"] == rule) {
        let others = row["others"].as_f64().ok_or("a row without a number of tasks")?;
        let all = row["ns"].as_array().ok_or("a row without rounds")?;
        rounds.resize(all.len().max(rounds.len()), Vec::new());
        for (round, ns) in rounds.iter_mut().zip(all) {
            let ns = ns.as_f64().filter(|ns| *ns > 0.0).ok_or("a time that is none")?;
            round.push((others, ns));
        }
    }
    if rounds.is_empty() { Err(format!("`{rule}` was not measured")) } else { Ok(rounds) }
}

/// The bars that our unlock does not depend on the number of ready tasks, and that the unlock of lists and heaps
/// grows as published.
fn shapes(times: &Result<Times, String>) -> Vec<Row> {
    let each = |rule: &str, of: &dyn Fn(&Chart) -> Option<f64>| {
        let rounds = unlocks(times.as_ref().map_err(Clone::clone)?, rule)?;
        Ok(rounds.iter().filter_map(|round| of(round)).collect::<Vec<_>>())
    };
    let at = |round: &Chart, others: f64| round.iter().find(|point| point.0 == others).map(|point| point.1);
    let more = |round: &Chart| Some(at(round, 100.0)? - at(round, 0.0)?);
    let fold = |round: &Chart| Some(at(round, 100.0)? / at(round, 10.0)?);
    let bent = |round: &Chart| {
        let mut far: Vec<_> = round.iter().copied().filter(|point| point.0 >= 10.0).collect();
        far.sort_by(|one, other| one.0.total_cmp(&other.0));
        // A line through two points always fits, and a falling line is not the published shape.
        let rises = far.last().map(|last| last.1) > far.first().map(|first| first.1);
        if far.len() < POINTS { None } else { Some(if rises { 100.0 * unexplained(&far) } else { 100.0 }) }
    };
    let row = |bar: &str, goal, unit, samples| Row::at_most(bar, goal, unit, Held::Median, samples);
    vec![
        row("SRP unlock with 100 ready - with none, the rule alone", 1.0, "ns", each("srp", &more)),
        row("DFP unlock with 100 ready - with none, the rule alone", 1.0, "ns", each("dfp", &more)),
        row(
            "published SRP & list: what a line does not explain, 10 to 100 ready",
            2.0,
            "%",
            each("srp_list", &bent),
        ),
        row(
            "published DFP & list: what a line does not explain, 10 to 100 ready",
            2.0,
            "%",
            each("dfp_list", &bent),
        ),
        // On a line, this ratio would be 5 or more. The levels of the heap make it 6 / 3.
        row("published DFP & heap: unlock with 100 ready / with 10", 2.0, "x", each("dfp_heap", &fold)),
    ]
}

/// The share of the variance that the least-squares line does not explain.
fn unexplained(points: &Chart) -> f64 {
    let count = points.len().max(1) as f64;
    let (x, y) = (
        points.iter().map(|point| point.0).sum::<f64>() / count,
        points.iter().map(|point| point.1).sum::<f64>() / count,
    );
    let sum =
        |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|point| of(point.0 - x, point.1 - y)).sum::<f64>();
    let (xx, xy, yy) = (sum(&|dx, _| dx * dx), sum(&|dx, dy| dx * dy), sum(&|_, dy| dy * dy));
    if xx == 0.0 || yy == 0.0 { 1.0 } else { 1.0 - xy * xy / (xx * yy) }
}

/// Release jitter where Linux schedules a thread per task, compared with a bare loop: nothing may delay the thread.
fn native(tree: &Tree) -> Row {
    let measured = observed::build(tree).and_then(|()| release::measure(tree));
    if let Ok(measured) = &measured {
        print!("{}", release::table(measured));
    }
    let ratios = measured.map(|measured| release::ratios(&measured, |jitter| jitter.p50));
    Row::at_most(
        "release to first instruction p50, native / bare SCHED_FIFO loop",
        1.1,
        "x",
        Held::Median,
        ratios,
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_of_one_round_are_compared() {
        let text = json!({ "rows": [
            { "object": "a", "trial": "alone", "rounds": [{ "ns": 4.0 }, null, { "ns": 6.0 }] },
            { "object": "b", "trial": "alone", "rounds": [{ "ns": 2.0 }, { "ns": 1.0 }, { "ns": 4.0, "raw": 3.0 }] },
            { "object": "c", "trial": "alone", "rounds": [null], "why": "no privilege" },
        ] });
        let locks = Locks::of(&text.to_string()).unwrap();
        let (a, b) = (alone("a"), alone("b"));
        assert_eq!(locks.each([a, b], |[a, b]| a / b), Ok(vec![2.0, 1.5]));
        assert_eq!(locks.each([("b", "alone", "raw")], |[raw]| raw), Ok(vec![3.0]));
        assert_eq!(locks.each([alone("c")], |[ns]| ns), Err("`c`: no privilege".into()));
        assert!(locks.each([("a", "handed", "ns")], |[ns]| ns).is_err());
        // A bar without a measurement is not met.
        assert!(of_locks(&locks).iter().all(|row| !row.met()));
        assert!(Locks::of("{}").is_err());
    }

    /// The recorded run has rows with all names for which the bars ask.
    #[test]
    fn the_recorded_run_has_what_the_bars_need() {
        let tree = Tree::here().unwrap();
        let locks = Locks::of(&tree.read("docs/measured/locks.json")).unwrap();
        let rows = of_locks(&locks);
        assert_eq!(rows.len(), 19);
        assert!(rows.iter().all(|row| row.value().is_some()), "{:#}", row::json(&rows));
    }

    #[test]
    fn lines_and_levels_are_distinguished() {
        let row = |rule: &str, others: f64, ns: f64| json!({ "test": "b", "rule": rule, "others": others, "ns": vec![ns; 5] });
        let mut rows = Vec::new();
        for others in [0.0, 10.0, 20.0, 50.0, 100.0_f64] {
            let levels = 1.0 + 9.0 * (others + 1.0).log2();
            for (rule, ns) in [
                ("srp", 5.0),
                ("dfp", 5.0),
                ("srp_list", 9.0 + 2.0 * others),
                ("dfp_list", 1.0 + 2.0 * others),
                ("dfp_heap", levels),
            ] {
                rows.push(row(rule, others, ns));
            }
        }
        assert!(shapes(&Ok(rows.clone())).iter().all(Row::met));
        for row in &mut rows {
            // Exchange the shapes of list and heap.
            let rule = row["rule"].clone();
            row["rule"] = match rule.as_str() {
                Some("srp_list") => json!("dfp_heap"),
                Some("dfp_heap") => json!("srp_list"),
                _ => rule,
            };
        }
        let met: Vec<_> = shapes(&Ok(rows)).iter().map(Row::met).collect();
        assert_eq!(met, [true, true, false, true, false]);
        assert!(shapes(&Err("no".into())).iter().all(|row| !row.met()));
        assert!(shapes(&Ok(Vec::new())).iter().all(|row| !row.met()));
    }

    /// Which bars are met if each rule takes `ns(others)` ns with so many other tasks, in each of `rounds` rounds.
    fn shaped(rounds: usize, others: &[f64], ns: impl Fn(f64) -> f64) -> Vec<bool> {
        let mut all = Vec::new();
        for rule in ["srp", "dfp", "srp_list", "dfp_list", "dfp_heap"] {
            for &others in others {
                all.push(
                    json!({ "test": "b", "rule": rule, "others": others, "ns": vec![ns(others); rounds] }),
                );
            }
        }
        shapes(&Ok(all)).iter().map(Row::met).collect()
    }

    #[test]
    fn shapes_of_too_little_are_none() {
        let all = [0.0, 10.0, 20.0, 50.0, 100.0];
        assert_eq!(shaped(5, &all, |others| 9.0 + others), [false, false, true, true, false]);
        assert_eq!(shaped(4, &all, |others| 9.0 + others), [false; 5], "too few rounds");
        assert_eq!(
            shaped(5, &[0.0, 10.0, 100.0], |others| 9.0 + others),
            [false; 5],
            "a line through two points"
        );
        assert_eq!(
            shaped(5, &all, |others| 900.0 - others),
            [true, true, false, false, true],
            "a line that falls"
        );
        assert_eq!(shaped(5, &all, |_| 0.0), [false; 5], "no time");
        assert_eq!(shaped(5, &all, |_| -1.0), [false; 5]);
        assert_eq!(shaped(5, &all[1..4], |others| 9.0 + others), [false; 5], "neither 0 nor 100");
    }

    /// No bar is met if the rows are missing, if a figure is no positive number, or if there are too few rounds.
    #[test]
    fn locks_that_lack_something_meet_less() {
        let tree = Tree::here().unwrap();
        let whole: Value = serde_json::from_str(&tree.read("docs/measured/locks.json")).unwrap();
        let met = |of: &dyn Fn(&mut Value)| {
            let mut run = whole.clone();
            of(&mut run);
            Locks::of(&run.to_string())
                .map_or(0, |locks| of_locks(&locks).iter().filter(|row| row.met()).count())
        };
        let figures = |run: &mut Value, of: &dyn Fn(&mut Value)| {
            for row in run["rows"].as_array_mut().unwrap() {
                for round in
                    row["rounds"].as_array_mut().unwrap().iter_mut().filter(|round| round.is_object())
                {
                    round.as_object_mut().unwrap().values_mut().for_each(of);
                }
            }
        };
        assert!(met(&|_| {}) > 9);
        assert_eq!(met(&|run| run["rows"] = json!([])), 0);
        assert_eq!(met(&|run| run["rows"] = Value::Null), 0);
        assert_eq!(met(&|run| figures(run, &|figure| *figure = json!(0.0))), 0);
        assert_eq!(met(&|run| figures(run, &|figure| *figure = json!(-1.0))), 0);
        assert_eq!(met(&|run| figures(run, &|figure| *figure = json!("fast"))), 0);
        let cut = |rounds: usize| {
            met(&|run| {
                for row in run["rows"].as_array_mut().unwrap() {
                    row["rounds"].as_array_mut().unwrap().truncate(rounds);
                }
            })
        };
        assert_eq!((cut(0), cut(4)), (0, 0));
    }
}
