// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Cheddar, XML version 3: cores, periodic and sporadic tasks, and resources with critical sections.
//!
//! Times are whole numbers without a unit. A larger priority is more urgent. A critical section is told by its first
//! and its last time of execution, both within: its length is one more than their difference.

mod dependencies;
mod sections;

use std::collections::BTreeMap;

use roxmltree::Node;
use taut_time::Duration;

use crate::Unreadable;
use crate::sketch::{Arrival, Sketch, Task};
use crate::xml::{Places, child, elements, list, parse, shown, text};

/// What is read. Of buffers and messages, what depends on them says what they are for.
const KNOWN: [&str; 8] = [
    "core_units",
    "processors",
    "address_spaces",
    "tasks",
    "resources",
    "dependencies",
    "buffers",
    "messages",
];

/// Reads a whole file.
pub(crate) fn read(source: &str, unit: Duration) -> Result<Sketch, Unreadable> {
    let document = parse(source)?;
    let root = document.root_element();
    let mut reader = Reader::new(source, unit);
    if root.tag_name().name() != "cheddar" {
        return Err(Unreadable {
            at: Some(reader.places.at(root)),
            why: "the first element is not `cheddar`".into(),
        });
    }
    for group in elements(root) {
        let name = group.tag_name().name();
        if !KNOWN.contains(&name) {
            for one in elements(group) {
                let (at, what) = (reader.places.at(one), text(one, "name"));
                reader.sketch.lose(at, format!("`{}` of {name}: a manifest has no such thing", shown(what)));
            }
        }
    }
    list(root, "core_units").for_each(|core| reader.core(core));
    list(root, "processors").for_each(|processor| reader.processor(processor));
    list(root, "tasks").for_each(|task| reader.task(task));
    let names = reader.sketch.tasks.iter().enumerate().rev();
    reader.by_name = names.map(|(at, task)| (task.named.name.clone(), at)).collect();
    let mut locks = BTreeMap::new();
    list(root, "resources").for_each(|resource| reader.resource(resource, &mut locks));
    for (task, spans) in locks {
        reader.hold(task, spans);
    }
    reader.dependencies(root);
    reader.same_scheduler();
    Ok(reader.sketch)
}

/// What a core does with its tasks.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Rule {
    edf: bool,
    preemptive: bool,
}

struct Reader<'t> {
    places: Places<'t>,
    unit: Duration,
    sketch: Sketch,
    /// By the identifier of a core unit.
    rules: BTreeMap<String, Rule>,
    /// The names of core units by their identifiers.
    units: BTreeMap<String, String>,
    /// By the names of a processor and a core of it, or none if it has one: the core, and its rule.
    cores: BTreeMap<(String, String), (usize, Rule)>,
    /// Tasks as positions in the sketch, by what references to them say, and by their names.
    by_id: BTreeMap<String, usize>,
    by_name: BTreeMap<String, usize>,
    /// By a task: the one that releases it, and the channel.
    triggers: BTreeMap<usize, (usize, usize)>,
}

impl<'t> Reader<'t> {
    fn new(source: &'t str, unit: Duration) -> Self {
        let sketch = Sketch { unitless: true, ..Sketch::default() };
        Self {
            places: Places::new(source, unit),
            unit,
            sketch,
            rules: BTreeMap::new(),
            units: BTreeMap::new(),
            cores: BTreeMap::new(),
            by_id: BTreeMap::new(),
            by_name: BTreeMap::new(),
            triggers: BTreeMap::new(),
        }
    }

    fn core(&mut self, core: Node<'_, '_>) {
        let parameters = child(core, "scheduling").and_then(|node| child(node, "scheduling_parameters"));
        let scheduler = parameters.map_or("", |node| text(node, "scheduler_type"));
        let preemptive = parameters.is_none_or(|node| text(node, "preemptive_type") != "NOT_PREEMPTIVE");
        let edf = scheduler == "EARLIEST_DEADLINE_FIRST_PROTOCOL";
        let known = [
            "POSIX_1003_HIGHEST_PRIORITY_FIRST_PROTOCOL",
            "RATE_MONOTONIC_PROTOCOL",
            "DEADLINE_MONOTONIC_PROTOCOL",
            "EARLIEST_DEADLINE_FIRST_PROTOCOL",
        ];
        if !known.contains(&scheduler) {
            let (at, name) = (self.places.at(core), shown(text(core, "name")));
            let what =
                format!("core `{name}` is scheduled by {}: fixed priorities are written", shown(scheduler));
            self.sketch.lose(at, what);
        }
        let id = core.attribute("id").unwrap_or_default().to_owned();
        self.units.insert(id.clone(), text(core, "name").to_owned());
        self.rules.insert(id, Rule { edf, preemptive });
    }

    fn processor(&mut self, processor: Node<'_, '_>) {
        let name = text(processor, "name").to_owned();
        let units: Vec<_> = processor.descendants().filter(|node| node.tag_name().name() == "core").collect();
        if units.len() > 1 {
            let what =
                format!("processor `{}` has {} cores: a task of it keeps to one", shown(&name), units.len());
            self.sketch.lose(self.places.at(processor), what);
        }
        let reference = |unit: &Node<'_, '_>| unit.attribute("ref").unwrap_or_default().to_owned();
        let mut all: Vec<String> = units.iter().map(reference).collect();
        if all.is_empty() {
            all.push(String::new());
        }
        for unit in &all {
            let rule = self.rules.get(unit).copied().unwrap_or(Rule { edf: false, preemptive: true });
            let core = self.units.get(unit).cloned().unwrap_or_default();
            let (shown, key) = match all.len() {
                1 => (name.clone(), String::new()),
                _ => (format!("{name}.{core}"), core),
            };
            self.cores.insert((name.clone(), key), (self.sketch.cores.len(), rule));
            self.sketch.cores.push(shown);
        }
    }

    /// All cores of a manifest go by one policy.
    fn same_scheduler(&mut self) {
        let count = self.cores.values().filter(|(_, rule)| rule.edf).count();
        self.sketch.edf = count > 0 && count == self.cores.len();
        if count > 0 && !self.sketch.edf {
            self.sketch.lose(
                None,
                "some cores go by deadlines, others by priorities: fixed priorities are written for all",
            );
        }
    }

    fn task(&mut self, node: Node<'_, '_>) {
        let (at, name) = (self.places.at(node), text(node, "name"));
        let mut task = Task::new(at, name);
        let mut time =
            |key: &str, up| self.places.child_time(node, key, up, &mut self.sketch).unwrap_or_default();
        task.cost = time("capacity", true);
        task.period = time("period", false);
        task.deadline = time("deadline", false);
        task.jitter = time("jitter", true);
        let offset = time("start_time", false);
        let (blocking, switch) = (time("blocking_time", true), time("context_switch_overhead", true));
        if task.deadline.is_zero() && !task.period.is_zero() {
            task.deadline = task.period;
            self.sketch.lose(at, format!("task `{}` has no deadline: its period is written", shown(name)));
        }
        match text(node, "task_type") {
            "SPORADIC_TYPE" => {
                task.arrival = Arrival::Sporadic(None);
                if !offset.is_zero() {
                    self.sketch
                        .lose(at, format!("task `{}` is sporadic: its start time is left out", shown(name)));
                }
            }
            "PERIODIC_TYPE" => task.arrival = Arrival::Periodic(offset),
            other => {
                let what = format!("task `{}` is of type {}: it is left out", shown(name), shown(other));
                self.sketch.lose(at, what);
                return;
            }
        }
        for (value, what) in [(blocking, "blocking time"), (switch, "context switch overhead")] {
            if !value.is_zero() {
                let what = format!(
                    "the {what} {value} of task `{}` is left out: the analysis finds its own",
                    shown(name)
                );
                self.sketch.lose(at, what);
            }
        }
        task.priority = text(node, "priority").parse().ok();
        let (cpu, core) = (text(node, "cpu_name").to_owned(), text(node, "core_name").to_owned());
        let many =
            self.cores.range((cpu.clone(), String::new())..).take_while(|((of, _), _)| *of == cpu).count()
                > 1;
        let found =
            self.cores.get(&(cpu.clone(), core)).or_else(|| self.cores.get(&(cpu.clone(), String::new())));
        match found {
            Some((core, rule)) => {
                task.core = Some(*core);
                task.non_preemptive = !rule.preemptive;
            }
            None if many => {
                self.sketch
                    .lose(at, format!("task `{}` is on no core of its own: the plan chooses", shown(name)));
            }
            None => {
                let cpu = shown(&cpu);
                self.sketch.lose(
                    at,
                    format!("task `{}` is on `{cpu}`, which is no processor: the plan chooses", shown(name)),
                );
            }
        }
        if let policy @ ("SCHED_RR" | "SCHED_OTHERS") = text(node, "policy") {
            self.sketch.lose(
                at,
                format!("task `{}` has policy {policy}: it is written like SCHED_FIFO", shown(name)),
            );
        }
        for key in ["offsets", "parameters"] {
            if list(node, key).next().is_some() {
                self.sketch.lose(at, format!("`{key}` of task `{}` are left out", shown(name)));
            }
        }
        self.by_id.insert(node.attribute("id").unwrap_or_default().to_owned(), self.sketch.tasks.len());
        self.sketch.tasks.push(task);
    }
}
