// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The bars of what the programming model is made of. `taut-peers messages` measures messages from many senders to one
//! receiver, and broadcast from one writer to many readers, beside others in the same run; the order of alarms; and blocks
//! that move. The application `dev/device` shows how soon a device is read, the example `virtual_time` of cochlear how fast
//! virtual time is, and [`recorded`] what recorded values cost.

use serde_json::{Map, Value};
use xtask::{Command, Tree};

use crate::bench::ready::{self, Round};
use crate::observed::build;
use crate::peers;
use crate::row::{Held, Row};
use crate::sets::recorded;

/// Rounds.
const ROUNDS: usize = 11;
/// What a send may cost, in pushes of its queue (and an exchange, where a receiver may sleep); and what a push to 16 readers
/// may, in pushes to one.
const SEND: f64 = 1.3;
/// What a take out of 300 lanes may cost, in ns, where the other processor has just sent.
const TAKE_NS: f64 = 200.0;
/// Messages that are not urgent ask for these percentages of the receiver's time.
const SHARES: [u32; 4] = [10, 50, 90, 120];
/// What an urgent message may wait, as a part of its wait with other people's objects.
const URGENT: f64 = 1.0 / 3.0;
/// The same beside a heap whose receiver is idle for most of the time: with both, an urgent message waits for at most the
/// one that is being handled, and the heap is seldom locked.
const IDLE: f64 = 1.0;

/// What a change of the order of 10,000 pending alarms may cost, in ns: on average, and at p99.9.
const ALARM_MEAN_NS: f64 = 100.0;
const ALARM_HIGH_NS: f64 = 500.0;

/// The time to move a block of 10 MiB may be this multiple of the time for one of 64 B.
const MOVED: f64 = 1.05;

/// The time from a device to its job may be this multiple of that to a thread that blocks in `read`.
const READY: f64 = 1.1;
/// With a device thread, this multiple of a bare poll and a bare wake.
const WATCHED: f64 = 1.0;
/// What a device that can always be read may take of its core, in percent.
const FLOOD: f64 = 3.0;

/// What a thousand seconds of virtual time may take, in ms: cochlear's components without their FFT, in a bench.
const VIRTUAL_MS: f64 = 1_000.0;

/// Measures all bars of this set, in about five minutes after the build.
pub(super) fn measure(tree: &Tree) -> Vec<Row> {
    let folder = tree.target().join("bars/model");
    let run = peers::messages_for_bars(tree, ROUNDS, &folder).and_then(|text| Rounds::of(&text));
    let mut rows = bars(&run);
    rows.extend(ready(tree));
    rows.push(virtual_time(tree));
    rows.extend(recorded::measure(tree));
    rows
}

/// Virtual time beside real time.
fn virtual_time(tree: &Tree) -> Row {
    let run = Command::line("cargo run --quiet --release --locked -p taut-cochlear --example virtual_time")
        .dir(&tree.join("apps/cochlear"))
        .run();
    let took =
        if run.success() { taken_ms(&run.text) } else { Err(format!("{}: {}", run.reason(), run.text)) };
    Row::at_most("1,000 s of cochlear without FFT in a bench", VIRTUAL_MS, "ms", Held::Median, took)
}

/// What a thousand seconds took, in ms, in each round.
///
/// # Errors
/// If a line is of another form, or jobs are missing: three of each of 125,000 frames, with five events and more each.
fn taken_ms(said: &str) -> Result<Vec<f64>, String> {
    let of = |line: &str| {
        let (ms, rest) = line.strip_prefix("1000 s of virtual time: ")?.split_once(" ms, ")?;
        let events: u64 = rest.strip_suffix(" events")?.parse().ok()?;
        ms.parse().ok().filter(|_| events >= 15 * 125_000)
    };
    said.lines().map(|line| of(line).ok_or_else(|| format!("it says `{line}`"))).collect()
}

/// From a device to its job, compared with bare threads; and what a flood takes.
fn ready(tree: &Tree) -> Vec<Row> {
    let built = build(tree);
    let measured = built.clone().and_then(|()| ready::measure(tree));
    if let Ok(measured) = &measured {
        print!("{}", ready::table(measured));
    }
    let ratios = |ratio: fn(&Round) -> f64| {
        measured.as_ref().map_err(Clone::clone).map(|rounds| rounds.iter().map(ratio).collect())
    };
    let floods = built.and_then(|()| ready::floods(tree));
    let flood = |at: usize| floods.as_ref().map_err(Clone::clone).map(|floods| floods[at].clone());
    vec![
        Row::at_most(
            "device to its job, own thread, p50, taut / bare read",
            READY,
            "x",
            Held::Median,
            ratios(Round::own_thread),
        ),
        Row::at_most(
            "device to its job, device thread, p50, taut / bare poll and wake",
            WATCHED,
            "x",
            Held::Median,
            ratios(Round::device_thread),
        ),
        Row::at_most("flood of a device, own thread, of its core", FLOOD, "%", Held::Median, flood(0)),
        Row::at_most("flood of a device, device thread, of its core", FLOOD, "%", Held::Median, flood(1)),
    ]
}

/// The rounds of a run, each with its named figures.
#[derive(Debug)]
struct Rounds(Vec<Map<String, Value>>);

impl Rounds {
    fn of(text: &str) -> Result<Self, String> {
        let mut all: Value = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
        match all["facts"]["threads"].as_str() {
            Some(threads) if threads.contains("SCHED_FIFO") => {}
            other => return Err(format!("the threads were not real-time: {}", other.unwrap_or("not said"))),
        }
        let Value::Array(rounds) = all["rounds"].take() else { return Err("the run has no rounds".into()) };
        let rounds = rounds.into_iter().map(|round| match round {
            Value::Object(figures) => Ok(figures),
            _ => Err("a round is no map".to_owned()),
        });
        Ok(Self(rounds.collect::<Result<_, _>>()?))
    }

    /// A figure of each round.
    fn each(&self, name: &str) -> Result<Vec<f64>, String> {
        let figure = |round: &Map<String, Value>| {
            round.get(name).and_then(Value::as_f64).ok_or_else(|| format!("a round has no `{name}`"))
        };
        self.0.iter().map(figure).collect()
    }

    /// A figure over another one of the same round.
    fn over(&self, one: &str, other: &str) -> Result<Vec<f64>, String> {
        let pairs = self.each(one)?.into_iter().zip(self.each(other)?);
        let ratio = |(one, other): (f64, f64)| {
            if one > 0.0 && other > 0.0 { Ok(one / other) } else { Err(format!("`{other}` took no time")) }
        };
        pairs.map(ratio).collect()
    }
}

fn bars(run: &Result<Rounds, String>) -> Vec<Row> {
    let over = |one: &str, other: &str| run.as_ref().map_err(Clone::clone)?.over(one, other);
    let each = |name: &str| run.as_ref().map_err(Clone::clone)?.each(name);
    let mut rows = Vec::new();
    for lanes in [8, 300] {
        for (what, one, other) in [
            ("send, nobody sleeps on it / a push", "send", "push"),
            ("send, receiver awake / a push and an exchange", "send + notify", "push + exchange"),
        ] {
            let ratios = over(&format!("{one} of {lanes}"), &format!("{other} of {lanes}"));
            rows.push(Row::at_most(format!("{what}, 64 B, {lanes} lanes"), SEND, "x", Held::Median, ratios));
        }
    }
    rows.push(Row::at_most("take out of 300 lanes, 64 B", TAKE_NS, "ns", Held::Median, each("take of 300")));
    for share in SHARES {
        for other in ["heap", "channel", "crossbeam"] {
            let ratios = over(&format!("lanes p99 at {share} %"), &format!("{other} p99 at {share} %"));
            let bar = format!("urgent message p99 beside 300 senders, {share} % busy / {other}");
            let goal = if (share, other) == (10, "heap") { IDLE } else { URGENT };
            rows.push(Row::at_most(bar, goal, "x", Held::Median, ratios));
        }
        let bar = format!("messages that go before an urgent one, {share} % busy");
        rows.push(Row::at_most(bar, 1.0, "", Held::Max, each(&format!("lanes low at {share} %"))));
    }
    for call in ["insert", "cancel", "expire"] {
        for (what, goal) in [("mean", ALARM_MEAN_NS), ("p99.9", ALARM_HIGH_NS)] {
            let figures = each(&format!("alarm {call} {what}"));
            rows.push(Row::at_most(
                format!("alarm {call} among 10,000, {what}"),
                goal,
                "ns",
                Held::Median,
                figures,
            ));
        }
    }
    let moved = over("block of 10 MiB", "block of 64 B");
    rows.push(Row::at_most("bulk, a block of 10 MiB / of 64 B", MOVED, "x", Held::Median, moved));
    let flat = over("broadcast to 16", "broadcast to 1");
    rows.push(Row::at_most("broadcast to 16 readers / to 1, 64 B", SEND, "x", Held::Median, flat));
    rows
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The figures that the bars read: `dev/peers` knows the same list.
    const NEEDED: &str = include_str!("../../../peers/src/messages/needed.txt");

    fn run(figure: impl Fn(&str) -> Value) -> Result<Rounds, String> {
        let round = || NEEDED.lines().map(|name| (name.to_owned(), figure(name))).collect::<Map<_, _>>();
        let rounds: Vec<_> = (0..5).map(|_| round()).collect();
        Rounds::of(&json!({ "facts": { "threads": "SCHED_FIFO 20" }, "rounds": rounds }).to_string())
    }

    fn met(figure: impl Fn(&str) -> Value) -> usize {
        bars(&run(figure)).iter().filter(|row| row.met()).count()
    }

    fn good(name: &str) -> Value {
        match name {
            _ if name.starts_with("alarm") => json!(100.0),
            _ if name.starts_with("lanes p99") => json!(2_000.0),
            _ if name.contains("p99") => json!(7_000.0),
            _ if name.contains("low") => json!(1.0),
            _ => json!(40.0),
        }
    }

    #[test]
    fn the_figures_fill_every_bar() {
        let rows = bars(&run(good));
        assert_eq!(rows.len(), 4 + 1 + 4 * 4 + 3 * 2 + 1 + 1);
        assert_eq!(met(good), rows.len());
        for name in NEEDED.lines() {
            let without = |other: &str| if other == name { Value::Null } else { good(other) };
            assert!(met(without) < rows.len(), "no bar needs `{name}`");
        }
    }

    #[test]
    fn a_figure_that_is_too_large_is_not_met() {
        let with = |start: &'static str, value: f64| {
            met(move |name| if name.starts_with(start) { json!(value) } else { good(name) })
        };
        let all = bars(&run(good)).len();
        assert_eq!(with("send of 8", 53.0), all - 1);
        assert_eq!(with("send + notify of 300", 53.0), all - 1);
        assert_eq!(with("take of", 201.0), all - 1);
        assert_eq!(with("lanes p99 at 90", 2_400.0), all - 3);
        assert_eq!(with("heap p99 at 50", 5_900.0), all - 1);
        assert_eq!((with("heap p99 at 10", 5_900.0), with("heap p99 at 10", 1_900.0)), (all, all - 1));
        assert_eq!(with("lanes low at 120", 2.0), all - 1);
        assert_eq!(with("broadcast to 16", 53.0), all - 1);
        assert_eq!((with("block of 10", 42.0), with("block of 10", 42.1)), (all, all - 1));
        assert_eq!(with("push of 8", 0.0), all - 1);
        assert_eq!(with("alarm cancel mean", 101.0), all - 1);
        assert_eq!((with("alarm expire p99.9", 500.0), with("alarm expire p99.9", 501.0)), (all, all - 1));
    }

    #[test]
    fn virtual_time_counts_if_all_jobs_were_there() {
        let line = |ms: &str, events: u64| format!("1000 s of virtual time: {ms} ms, {events} events\n");
        let two = line("296.4", 2_125_100) + &line("301.0", 2_125_100);
        assert_eq!(taken_ms(&two), Ok(vec![296.4, 301.0]));
        for wrong in [line("296.4", 1_800_000), line("fast", 2_125_100), "warning: slow\n".to_owned()] {
            assert!(taken_ms(&(two.clone() + &wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_run_that_lacks_something_meets_nothing() {
        assert!(bars(&Err("no".into())).iter().all(|row| !row.met()));
        assert!(Rounds::of("").is_err() && Rounds::of("{}").is_err());
        let ordinary = json!({ "facts": { "threads": "SCHED_OTHER" }, "rounds": [] });
        assert!(Rounds::of(&ordinary.to_string()).unwrap_err().contains("SCHED_OTHER"));
        let none = json!({ "facts": { "threads": "SCHED_FIFO 20" }, "rounds": [] });
        assert!(bars(&Rounds::of(&none.to_string())).iter().all(|row| !row.met()));
    }
}
