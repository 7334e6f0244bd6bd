// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Appendix A: three tasks and a resource, unit by unit, under each rule. TB is among the users of R1, as the paper's
//! description needs: with TA alone the ceiling is TA's own level, and TB preempts it.

use taut_policy::queue::ReadyQueue;
use taut_policy::{LocalAnswer, Locking, Misuse};
use taut_time::{Duration, Instant};

use super::rules::{self, OurSrp};
use super::unsound::FromHead;
use crate::figure::{Axis, Body, Figure, Panel, part};
use crate::page::{Values, table};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Run,
    Lock,
    Unlock,
}
use Step::{Lock, Run, Unlock};

struct Job {
    release: u64,
    deadline: u64,
    steps: &'static [Step],
}

const NAMES: [&str; 3] = ["TA", "TB", "TC"];
const JOBS: [Job; 3] = [
    Job { release: 0, deadline: 20, steps: &[Run, Lock, Run, Run, Run, Run, Run, Run, Unlock, Run, Run] },
    Job { release: 2, deadline: 8, steps: &[Run, Lock, Run, Unlock] },
    Job { release: 4, deadline: 7, steps: &[Run, Run] },
];
/// The units that all jobs take together.
const END: usize = 13;
/// The least deadline among the users of R1.
const CEILING: u64 = 8;

/// The schedule under one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Ran {
    /// For each unit the task that ran, and whether it held R1.
    units: Vec<(usize, bool)>,
    /// The rule's queue in each unit, before the task runs.
    queues: Vec<String>,
}

/// Runs the jobs under a rule, and shows the rule's queue in each unit. A star follows the holder of R1.
fn ran<R: Locking>(mut rule: R, queue: impl Fn(&R) -> Vec<Vec<usize>>) -> Result<Ran, Misuse> {
    let mut at = [0; 3];
    let mut ran = Ran { units: Vec::new(), queues: Vec::new() };
    for now in 0..END {
        let instant = Instant::from_ns(now as u64);
        for (task, job) in JOBS.iter().enumerate().filter(|(_, job)| job.release == now as u64) {
            rule.release(task, Instant::from_ns(job.release))?;
        }
        let task = rule.decide().ok_or(Misuse::State)?;
        if JOBS[task].steps[at[task]] == Lock {
            if rule.lock(instant, 0)? != LocalAnswer::Granted {
                return Err(Misuse::Holding);
            }
            at[task] += 1;
        }
        let holder = rule.holder(0);
        let name = |task: usize| format!("{}{}", NAMES[task], if holder == Some(task) { "*" } else { "" });
        let part = |tasks: Vec<usize>| match &tasks.into_iter().map(name).collect::<Vec<_>>()[..] {
            [] => "-".to_owned(),
            names => names.join(" "),
        };
        ran.queues.push(queue(&rule).into_iter().map(part).collect::<Vec<_>>().join(", "));
        ran.units.push((task, holder == Some(task)));
        at[task] += 1;
        while JOBS[task].steps.get(at[task]) == Some(&Unlock) {
            rule.unlock(0)?;
            at[task] += 1;
        }
        if at[task] == JOBS[task].steps.len() {
            rule.complete()?;
        }
    }
    Ok(ran)
}

/// The tasks of a queue, the first one first.
fn in_order(queue: &(impl ReadyQueue + Clone)) -> Vec<usize> {
    let mut queue = queue.clone();
    std::iter::from_fn(|| queue.take_first()).map(|(task, _)| task).collect()
}

/// The schedule under each rule, by the rule's name.
fn by_rule() -> Result<Vec<(&'static str, Ran)>, Misuse> {
    let deadlines = JOBS.map(|job| Duration::from_ns(job.deadline));
    let floors = [Duration::from_ns(CEILING)];
    let dfp = |variant| -> Result<Ran, Misuse> {
        if variant == rules::Variant::DfpHeap {
            let rule = rules::dfp_queue(rules::heap(JOBS.len()), &deadlines, &floors)?;
            return ran(rule, |rule| vec![in_order(rule.queue())]);
        }
        let rule = rules::dfp_queue(rules::list(JOBS.len()), &deadlines, &floors)?;
        ran(rule, |rule| vec![in_order(rule.queue())])
    };
    let started = |rule: &OurSrp| rule.started().collect();
    Ok(vec![
        ("SRP & list", ran(rules::srp_list(&deadlines, &floors)?, |rule| vec![in_order(rule.queue())])?),
        ("DFP & list", dfp(rules::Variant::DfpList)?),
        ("DFP & heap", dfp(rules::Variant::DfpHeap)?),
        (
            "SRP, ours: started, not started",
            ran(rules::srp(&deadlines, &floors)?, |rule| vec![started(rule), in_order(rule.unstarted())])?,
        ),
        (
            "SRP & list, searched from the head",
            ran(FromHead::new(&deadlines, &floors), |rule| vec![rule.queue().to_vec()])?,
        ),
    ])
}

/// Fills in the tables, and draws the figure.
///
/// # Errors
/// A rule refuses a call, or makes a wrong decision.
pub(super) fn report(values: &mut Values) -> Result<Figure, String> {
    let all = by_rule().map_err(|misuse| format!("a rule refused: {misuse}"))?;
    let schedule = |ran: &Ran| {
        let unit = |(task, holds): &(usize, bool)| {
            format!("{}{}", &NAMES[*task][1..], if *holds { "*" } else { "" })
        };
        ran.units.iter().map(unit).collect::<Vec<_>>().join(" ")
    };
    let mut rows = vec![vec!["rule".to_owned(), "unit by unit".into()]];
    rows.extend(all.iter().map(|(name, ran)| vec![(*name).to_owned(), format!("`{}`", schedule(ran))]));
    values.set("schedules", table(&rows).replacen("---:", "---", 1));
    let mut head = vec!["t".to_owned()];
    head.extend(all.iter().map(|(name, _)| (*name).to_owned()));
    let mut rows = vec![head];
    for now in 0..END {
        let queues = all.iter().map(|(_, ran)| ran.queues[now].clone());
        // The table has a row only where a queue changes.
        if now == 0 || all.iter().any(|(_, ran)| ran.queues[now] != ran.queues[now - 1]) {
            rows.push(std::iter::once(now.to_string()).chain(queues).collect());
        }
    }
    values.set("queues", table(&rows).replace("---:", "---"));
    let same = all.iter().take(4).all(|(_, ran)| ran.units == all[0].1.units);
    values.set("same", if same { "the same timeline" } else { "**different timelines**" });
    Ok(figure(&all[0].1, &all[4].1))
}

fn figure(expected: &Ran, from_head: &Ran) -> Figure {
    let panel = |title: &str, ran: &Ran| {
        let row = |task: usize| {
            let units = ran.units.iter().enumerate().filter(|(_, unit)| unit.0 == task);
            let span = |(at, (_, holds)): (usize, &(usize, bool))| {
                ([at as f64, (at + 1) as f64], part(if *holds { 1 } else { 2 }))
            };
            (NAMES[task].to_owned(), units.map(span).collect())
        };
        Panel {
            title: title.into(),
            x: Axis::linear("t", 0.0, END as f64, 1.0),
            y: Axis::names("", 0),
            body: Body::Spans((0..NAMES.len()).map(row).collect()),
        }
    };
    Figure {
        title: "Three tasks and one resource (Fig. 9)".into(),
        caption: vec![
            "TA, TB and TC are released at 0, 2 and 4 and due at 20, 10 and 11; TA and TB use R1.".into(),
        ],
        panels: vec![
            panel("searched from the tail", expected),
            panel("searched from the head: TC goes before TB", from_head),
        ],
        columns: 2,
        legend: vec![("runs".into(), part(2)), ("holds R1".into(), part(1))],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gutierrez13_appendix_a() {
        let mut values = Values::default();
        report(&mut values).expect("rules do what they must");
        let page = values.fill("{{schedules}}|{{queues}}|{{same}}").expect("all");
        let expected = "`A A* A* A* A* A* A* B B* C C A A`";
        assert_eq!(page.matches(expected).count(), 4, "{page}");
        assert!(page.ends_with("|the same timeline"));
        assert!(page.contains("head | `A A* A* A* C C A* A* A* B B* A A` |"), "{page}");
        // At 4, after the release of TC.
        let queues = "| 4 | TA* TB TC | TA* TB TC | TA* TB TC | TA*, TB TC | TC TA* TB |";
        assert!(page.contains(queues), "{page}");
    }
}
