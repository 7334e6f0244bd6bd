// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! MAST, as text: a transaction whose activities are all of one scheduling server is a task.
//!
//! Times are numbers without a unit. A larger priority is more urgent. What a transaction does on several servers, or
//! with anything but activities one after the other, is left out.

mod operations;
mod text;

use std::collections::BTreeMap;

use taut_time::Duration;

use self::operations::Operations;
use self::text::{Entry, Item, entry, items, list, word};
use crate::Unreadable;
use crate::number::Decimal;
use crate::sketch::{Arrival, Named, Part, Sketch, Task, length};
use crate::xml::shown;

/// Whether a text looks like MAST.
pub(crate) fn looks_like(text: &str) -> bool {
    let kinds = [
        "model",
        "processing_resource",
        "scheduler",
        "transaction",
        "operation",
        "shared_resource",
        "scheduling_server",
    ];
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("--"));
    let first = first.unwrap_or_default().to_ascii_lowercase();
    kinds.iter().any(|kind| {
        first
            .strip_prefix(kind)
            .is_some_and(|rest| rest.trim_start().starts_with('(') || rest.trim().is_empty())
    })
}

/// Reads a whole file.
pub(crate) fn read(source: &str, unit: Duration) -> Result<Sketch, Unreadable> {
    let items = items(source)?;
    let sketch = Sketch { unitless: true, ..Sketch::default() };
    let mut reader = Reader {
        unit,
        sketch,
        cores: BTreeMap::new(),
        schedulers: BTreeMap::new(),
        servers: BTreeMap::new(),
    };
    for item in &items {
        match item.kind.as_str() {
            "model" => reader.sketch.name = word(&item.entries, "model_name").to_owned(),
            "processing_resource" => reader.processor(item),
            "shared_resource" => reader.resource(item),
            "scheduler" | "scheduling_server" | "operation" | "transaction" => {}
            _ => reader.lose(item, "a manifest has no such thing"),
        }
    }
    items.iter().filter(|item| item.kind == "scheduler").for_each(|item| reader.scheduler(item));
    items.iter().filter(|item| item.kind == "scheduling_server").for_each(|item| reader.server(item));
    let operations =
        Operations::read(items.iter().filter(|item| item.kind == "operation"), unit, &mut reader.sketch);
    for item in items.iter().filter(|item| item.kind == "transaction") {
        reader.transaction(item, &operations);
    }
    let edf = reader.schedulers.values().filter(|(_, edf)| *edf).count();
    reader.sketch.edf = edf > 0 && edf == reader.schedulers.len();
    if edf > 0 && !reader.sketch.edf {
        reader.sketch.lose(
            None,
            "some cores go by deadlines, others by priorities: fixed priorities are written for all",
        );
    }
    Ok(reader.sketch)
}

/// What runs activities.
#[derive(Clone, Debug)]
struct Server {
    core: Option<usize>,
    priority: Option<i64>,
    non_preemptive: bool,
}

struct Reader {
    unit: Duration,
    sketch: Sketch,
    cores: BTreeMap<String, usize>,
    /// The core, and whether it goes by deadlines.
    schedulers: BTreeMap<String, (Option<usize>, bool)>,
    servers: BTreeMap<String, Server>,
}

/// Names are the same whatever the case of their letters.
fn key(name: &str) -> String {
    name.to_ascii_lowercase()
}

fn is(found: &str, wanted: &str) -> bool {
    found.eq_ignore_ascii_case(wanted)
}

impl Reader {
    fn lose(&mut self, item: &Item, what: &str) {
        let name = shown(word(&item.entries, "name"));
        self.sketch.lose(item.at, format!("{} `{name}`: {what}", item.kind));
    }

    fn time(&mut self, entries: &[Entry], name: &str, up: bool) -> Duration {
        let Some(found) = entry(entries, name) else { return Duration::ZERO };
        let time = Decimal::parse(found.word()).and_then(|number| number.of(self.unit, up));
        if time.is_none() {
            let what = format!("`{name}` is `{}`, which is no time from 0 on", shown(found.word()));
            self.sketch.lose(found.at, what);
        }
        time.unwrap_or_default()
    }

    fn processor(&mut self, item: &Item) {
        let kind = word(&item.entries, "type");
        if !["regular_processor", "fixed_priority_processor"].iter().any(|known| is(kind, known)) {
            self.lose(item, "it is no processor, and is left out");
            return;
        }
        let dull = [
            "type",
            "name",
            "max_priority",
            "min_priority",
            "max_interrupt_priority",
            "min_interrupt_priority",
        ];
        for entry in item.entries.iter().filter(|entry| !dull.contains(&entry.key.as_str())) {
            let number = Decimal::parse(entry.word());
            let neutral = Decimal::parse(if entry.key == "speed_factor" { "1" } else { "0" });
            if number.is_none() || number != neutral {
                let (name, what) = (shown(word(&item.entries, "name")), shown(&entry.key));
                self.sketch.lose(entry.at, format!("`{what}` of processor `{name}` is left out"));
            }
        }
        let name = word(&item.entries, "name");
        self.cores.insert(key(name), self.sketch.cores.len());
        self.sketch.cores.push(name.to_owned());
    }

    fn resource(&mut self, item: &Item) {
        let kind = word(&item.entries, "type");
        if is(kind, "priority_inheritance_resource") {
            self.lose(item, "of priority inheritance: the plan chooses a protocol");
        }
        let name = key(word(&item.entries, "name"));
        self.sketch.resources.push(Named { comment: kind.to_owned(), ..Named::new(&name) });
    }

    fn scheduler(&mut self, item: &Item) {
        let name = key(word(&item.entries, "name"));
        if !is(word(&item.entries, "type"), "primary_scheduler") {
            self.lose(item, "only primary schedulers are carried over");
            return;
        }
        let policy = word(list(&item.entries, "policy"), "type");
        if !is(policy, "fixed_priority") && !is(policy, "edf") {
            self.lose(item, "its policy is neither fixed priority nor EDF: fixed priorities are written");
        }
        let core = self.cores.get(&key(word(&item.entries, "host"))).copied();
        self.schedulers.insert(name, (core, is(policy, "edf")));
    }

    fn server(&mut self, item: &Item) {
        let parameters = list(&item.entries, "server_sched_parameters");
        let policy = key(word(parameters, "type"));
        let core = match self.schedulers.get(&key(word(&item.entries, "scheduler"))) {
            Some((core, _)) => *core,
            None => self.cores.get(&key(word(&item.entries, "server_processing_resource"))).copied(),
        };
        let mut priority = word(parameters, "the_priority").parse().ok();
        match policy.as_str() {
            "fixed_priority_policy" | "non_preemptible_fp_policy" | "edf_policy" => {}
            "sporadic_server_policy" => {
                priority = word(parameters, "normal_priority").parse().ok();
                self.lose(
                    item,
                    "the budget of a sporadic server is left out: its normal priority is written",
                );
            }
            _ => self.lose(
                item,
                &format!("of policy `{}`: its priority is written, nothing more", shown(&policy)),
            ),
        }
        if core.is_none() {
            self.lose(item, "it is on no processor that is known: the plan chooses a core");
        }
        let non_preemptive = policy == "non_preemptible_fp_policy";
        self.servers.insert(key(word(&item.entries, "name")), Server { core, priority, non_preemptive });
    }

    fn transaction(&mut self, item: &Item, operations: &Operations) {
        let entries = &item.entries;
        let mut task = Task::new(item.at, word(entries, "name"));
        let [event] = list(entries, "external_events") else {
            return self.lose(item, "it has not one external event: it is left out");
        };
        let event = event.list();
        match key(word(event, "type")).as_str() {
            "periodic" => {
                task.period = self.time(event, "period", false);
                task.jitter = self.time(event, "max_jitter", true);
                task.arrival = Arrival::Periodic(self.time(event, "phase", false));
            }
            "sporadic" => {
                task.period = self.time(event, "min_interarrival", false);
                task.arrival = Arrival::Sporadic(None);
            }
            other => return self.lose(item, &format!("its event is `{}`: it is left out", shown(other))),
        }
        let Some((server, done, parts)) = self.activities(item, word(event, "name"), operations) else {
            return;
        };
        let mut deadline = None;
        for result in list(entries, "internal_events").iter().map(Entry::list) {
            for requirement in requirements(result) {
                let (kind, of) = (word(requirement, "type"), word(requirement, "referenced_event"));
                let whole = is(of, word(event, "name")) && is(word(result, "name"), &done);
                match key(kind).as_str() {
                    "hard_global_deadline" if whole => {
                        deadline = Some(self.time(requirement, "deadline", false))
                    }
                    "" => {}
                    _ => self.lose(item, &format!("a timing requirement `{}` is left out", shown(kind))),
                }
            }
        }
        task.deadline = deadline.unwrap_or(task.period);
        if deadline.is_none() {
            self.lose(item, "it has no deadline for all of it: its period is written");
        }
        (task.core, task.priority, task.non_preemptive) =
            (server.core, server.priority, server.non_preemptive);
        parts.put(&mut task);
        self.sketch.tasks.push(task);
    }

    /// The server of all activities, the last event, and what they do; `None` if that is no task, which is told.
    fn activities(
        &mut self,
        item: &Item,
        first: &str,
        operations: &Operations,
    ) -> Option<(Server, String, operations::Job)> {
        let handlers = list(&item.entries, "event_handlers");
        let (mut event, mut server, mut job) = (first.to_owned(), None, operations::Job::default());
        for count in 0..=handlers.len() {
            let next =
                handlers.iter().map(Entry::list).find(|handler| is(word(handler, "input_event"), &event));
            let Some(handler) = next else {
                if count == handlers.len() && count > 0 {
                    break;
                }
                self.lose(item, "its activities do not follow each other one by one: it is left out");
                return None;
            };
            if count == handlers.len() || !is(word(handler, "type"), "activity") {
                self.lose(item, "it does not consist of activities alone: it is left out");
                return None;
            }
            let of = key(word(handler, "activity_server"));
            if server.as_ref().is_some_and(|server| *server != of) {
                self.lose(item, "its activities are of several servers: it is left out");
                return None;
            }
            server = Some(of);
            let name = word(handler, "activity_operation");
            match operations.job(name) {
                Some(one) => job.then(one),
                None => {
                    self.lose(
                        item,
                        &format!(
                            "there is no operation `{}` of which all is known: it is left out",
                            shown(name)
                        ),
                    );
                    return None;
                }
            }
            event = word(handler, "output_event").to_owned();
        }
        let server = server.and_then(|server| self.servers.get(&server).cloned());
        if server.is_none() {
            self.lose(item, "its server is not known: it is left out");
        }
        Some((server?, event, job))
    }
}

/// The requirements of an event: one, or several in a composite one.
fn requirements(event: &[Entry]) -> Vec<&[Entry]> {
    let one = list(event, "timing_requirements");
    match list(one, "requirements_list") {
        [] => vec![one],
        many => many.iter().map(Entry::list).collect(),
    }
}

impl operations::Job {
    /// Into a task.
    fn put(self, task: &mut Task) {
        let Self { cost, sections, parts } = self;
        if sections.is_empty() {
            task.cost = cost.or_else(|| length(&parts)).unwrap_or_default();
            task.parts =
                if parts.iter().all(|part| matches!(part, Part::Run(_))) { Vec::new() } else { parts };
            return;
        }
        task.cost = cost.unwrap_or_default();
        sections.into_iter().for_each(|(resource, length)| task.section(resource, length, 1));
    }
}
