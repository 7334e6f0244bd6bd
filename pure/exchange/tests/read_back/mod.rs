// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The facts of a task in any language, and readers of languages that we only write.

use taut_model::{ArrivalPattern, Body, Segment, TaskSet};

/// A task, in ns; what a language does not say has that language's default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) name: String,
    pub(crate) core: Option<usize>,
    pub(crate) priority: u32,
    /// The offset; `None` if it is sporadic.
    pub(crate) arrival: Option<u64>,
    pub(crate) period: u64,
    pub(crate) deadline: u64,
    pub(crate) jitter: u64,
    pub(crate) cost: u64,
    pub(crate) body: Vec<String>,
}

impl Facts {
    pub(crate) fn all(set: &TaskSet) -> Vec<Self> {
        let one = |(at, task): (usize, &taut_model::SetTask)| Self {
            name: task.name.replace(' ', "-"),
            core: Some(task.core),
            priority: task.priority,
            arrival: match task.arrivals {
                ArrivalPattern::Phased(offset) => Some(offset.as_ns()),
                ArrivalPattern::Periodic => Some(0),
                ArrivalPattern::Sporadic | ArrivalPattern::Driven => None,
            },
            period: task.period.as_ns(),
            deadline: task.deadline.as_ns(),
            jitter: task.jitter.as_ns(),
            cost: set.cost(at).as_ns(),
            body: body(set, &task.body),
        };
        set.tasks().iter().enumerate().map(one).collect()
    }
}

/// Steps in order, with consecutive execution merged; or sections, in no particular order.
fn body(set: &TaskSet, body: &Body) -> Vec<String> {
    let name = |resource: usize| &set.resources()[resource].name;
    match body {
        Body::Anywhere { requests, .. } => {
            let reported =
                requests.iter().map(|one| format!("{} {}x{}", name(one.resource), one.count, one.length));
            let mut all: Vec<String> = reported.collect();
            all.sort();
            all
        }
        Body::Segments(segments) => {
            let mut steps = Vec::new();
            walk(segments, &name, &mut steps);
            tidy(steps)
        }
    }
}

fn walk<'n>(segments: &[Segment], name: &impl Fn(usize) -> &'n String, steps: &mut Vec<(String, u64)>) {
    for segment in segments {
        match segment {
            Segment::Normal(time) => steps.push(("run".into(), time.as_ns())),
            Segment::Section { resource, inside } => {
                steps.push((format!("lock {}", name(*resource)), 0));
                walk(inside, name, steps);
                steps.push((format!("unlock {}", name(*resource)), 0));
            }
        }
    }
}

/// Merges consecutive execution; empty if the job does nothing but execute.
fn tidy(steps: Vec<(String, u64)>) -> Vec<String> {
    let mut all: Vec<(String, u64)> = Vec::new();
    for (what, time) in steps {
        match all.last_mut() {
            Some((last, sum)) if *last == what && what == "run" => *sum += time,
            _ if what == "run" && time == 0 => {}
            _ => all.push((what, time)),
        }
    }
    if all.len() == 1 {
        all.clear();
    }
    all.into_iter().map(|(what, time)| format!("{what} {time}")).collect()
}

/// The tasks as SimSo reads them: milliseconds as floating-point numbers, truncated to cycles.
pub(crate) fn simso(text: &str) -> Vec<Facts> {
    let document = roxmltree::Document::parse(text).unwrap();
    let cycles = document.root_element().attribute("cycles_per_ms").unwrap().parse::<f64>().unwrap();
    let tasks = document.descendants().filter(|node| node.has_tag_name("task"));
    let one = |node: roxmltree::Node<'_, '_>| {
        let word = |key: &str| node.attribute(key).unwrap();
        let time = |key: &str| (word(key).parse::<f64>().unwrap() * cycles) as u64;
        Facts {
            name: word("name").to_owned(),
            core: Some(word("core").parse::<usize>().unwrap() - 1),
            priority: word("priority").parse().unwrap(),
            arrival: Some(time("activationDate")),
            period: time("period"),
            deadline: time("deadline"),
            jitter: 0,
            cost: time("WCET"),
            body: Vec::new(),
        }
    };
    tasks.map(one).collect()
}

/// The tasks as rt-app reads them: JSON in which the order of keys matters; one key per line, as we write it.
pub(crate) fn rt_app(text: &str, cpus: &[u16]) -> Vec<Facts> {
    let tasks = text.split_once("\"tasks\": {").unwrap().1.split_once("\"global\": {").unwrap().0;
    let mut all: Vec<(Facts, Vec<(String, u64)>)> = Vec::new();
    for line in tasks.lines().map(|line| line.trim().trim_end_matches(',')) {
        let Some((key, value)) = line.split_once(": ") else { continue };
        let key = key.trim_matches('"');
        if value == "{" {
            let facts = Facts {
                name: key.into(),
                core: None,
                priority: 0,
                arrival: Some(0),
                period: 0,
                deadline: 0,
                jitter: 0,
                cost: 0,
                body: Vec::new(),
            };
            all.push((facts, Vec::new()));
            continue;
        }
        let (facts, steps) = all.last_mut().unwrap();
        let us = || value.parse::<u64>().unwrap() * 1_000;
        match key.trim_end_matches(|c: char| c.is_ascii_digit()) {
            "policy" | "loop" => {}
            "dl-runtime" | "dl-period" => {}
            "dl-deadline" => facts.deadline = us(),
            "priority" => facts.priority = value.parse().unwrap(),
            "cpus" => {
                let cpu: u16 = value.trim_matches(['[', ']']).parse().unwrap();
                facts.core = cpus.iter().position(|one| *one == cpu);
            }
            "delay" => facts.arrival = Some(us()),
            "run" => {
                facts.cost += us();
                steps.push(("run".into(), us()));
            }
            lock @ ("lock" | "unlock") => steps.push((format!("{lock} {}", value.trim_matches('"')), 0)),
            "timer" => {
                let period = value.split_once("\"period\": ").unwrap().1.split(',').next().unwrap();
                facts.period = period.parse::<u64>().unwrap() * 1_000;
            }
            other => panic!("{other}"),
        }
    }
    let done = |(mut facts, steps): (Facts, Vec<(String, u64)>)| {
        if facts.deadline == 0 {
            facts.deadline = facts.period;
        }
        facts.body = tidy(steps);
        facts
    };
    all.into_iter().map(done).collect()
}
