// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Cheddar, XML version 3: cores, periodic and sporadic tasks, and resources with critical sections.
//!
//! Times are whole numbers without a unit. A larger priority is more urgent. A critical section is told by its first
//! and its last time of execution, both within: its length is one more than their difference.

use std::collections::BTreeMap;

use roxmltree::Node;
use taut_time::Duration;

use crate::sketch::{Arrival, Named, Part, Sketch, Task};
use crate::xml::{Places, child, elements, list, parse, shown, text};
use crate::{Position, Unreadable};

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
        if !["core_units", "processors", "address_spaces", "tasks", "resources"].contains(&name) {
            for one in elements(group) {
                let (at, what) = (reader.places.at(one), text(one, "name"));
                reader.sketch.lose(at, format!("`{}` of {name}: a manifest has no such thing", shown(what)));
            }
        }
    }
    list(root, "core_units").for_each(|core| reader.core(core));
    list(root, "processors").for_each(|processor| reader.processor(processor));
    list(root, "tasks").for_each(|task| reader.task(task));
    let mut locks = BTreeMap::new();
    list(root, "resources").for_each(|resource| reader.resource(resource, &mut locks));
    for (task, spans) in locks {
        reader.hold(task, spans);
    }
    reader.same_scheduler();
    Ok(reader.sketch)
}

/// A critical section: first time within, first time after, the resource, its place.
type Span = (u64, u64, usize, Position);

/// How deep sections may be inside each other, and how many a task may have, to be written in their order.
const DEPTH: usize = 16;
const SPANS: usize = 1_000;

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
    /// By the name of a processor: the core, and its rule.
    cores: BTreeMap<String, (usize, Rule)>,
}

impl<'t> Reader<'t> {
    fn new(source: &'t str, unit: Duration) -> Self {
        let sketch = Sketch { unitless: true, ..Sketch::default() };
        Self {
            places: Places::new(source, unit),
            unit,
            sketch,
            rules: BTreeMap::new(),
            cores: BTreeMap::new(),
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
        self.rules.insert(id, Rule { edf, preemptive });
    }

    fn processor(&mut self, processor: Node<'_, '_>) {
        let name = text(processor, "name").to_owned();
        let units: Vec<_> = processor.descendants().filter(|node| node.tag_name().name() == "core").collect();
        let rule = units.first().and_then(|core| self.rules.get(core.attribute("ref").unwrap_or_default()));
        let rule = rule.copied().unwrap_or(Rule { edf: false, preemptive: true });
        if units.len() > 1 {
            let what = format!(
                "processor `{}` has {} cores that share its tasks: one is written",
                shown(&name),
                units.len()
            );
            self.sketch.lose(self.places.at(processor), what);
        }
        let at = self.sketch.cores.len();
        self.sketch.cores.push(name.clone());
        self.cores.insert(name, (at, rule));
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
        match self.cores.get(text(node, "cpu_name")) {
            Some((core, rule)) => {
                task.core = Some(*core);
                task.non_preemptive = !rule.preemptive;
            }
            None => {
                let cpu = shown(text(node, "cpu_name"));
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
        self.sketch.tasks.push(task);
    }

    fn resource(&mut self, node: Node<'_, '_>, locks: &mut BTreeMap<usize, Vec<Span>>) {
        let (at, name) = (self.places.at(node), text(node, "name"));
        let protocol = text(node, "protocol");
        if !["IMMEDIATE_PRIORITY_CEILING_PROTOCOL", "PRIORITY_CEILING_PROTOCOL"].contains(&protocol) {
            let what =
                format!("resource `{}` has protocol {}: the plan chooses one", shown(name), shown(protocol));
            self.sketch.lose(at, what);
        }
        if !["", "1"].contains(&text(node, "state")) {
            let what = format!(
                "resource `{}` has state {}: one at a time is written",
                shown(name),
                shown(text(node, "state"))
            );
            self.sketch.lose(at, what);
        }
        let resource = self.sketch.resources.len();
        self.sketch.resources.push(Named { comment: protocol.to_owned(), ..Named::new(name) });
        let mut user = None;
        for part in list(node, "critical_sections") {
            let here = self.places.at(part);
            if part.tag_name().name() == "task_name" {
                let name = part.text().unwrap_or_default().trim();
                user = self.sketch.tasks.iter().position(|task| task.named.name == name);
                if user.is_none() {
                    self.sketch.lose(
                        here,
                        format!(
                            "a critical section of `{}`, which is no task that is carried over",
                            shown(name)
                        ),
                    );
                }
                continue;
            }
            let (begin, end) = (text(part, "task_begin"), text(part, "task_end"));
            match (begin.parse::<u64>(), end.parse::<u64>()) {
                (Ok(begin), Ok(end)) if (1..=end).contains(&begin) && end < u64::MAX => {
                    if let Some(task) = user {
                        locks.entry(task).or_default().push((begin - 1, end, resource, here));
                    }
                }
                _ => {
                    let what =
                        format!("a critical section from {} to {} is left out", shown(begin), shown(end));
                    self.sketch.lose(here, what);
                }
            }
        }
    }

    /// Turns the sections of a task into parts in order; what overlaps without nesting is written as sections at any
    /// place.
    fn hold(&mut self, task: usize, mut spans: Vec<Span>) {
        spans.sort_by_key(|(begin, end, ..)| (*begin, std::cmp::Reverse(*end)));
        let at = self.sketch.tasks[task].at;
        let deep = depth(&spans).filter(|deep| *deep <= DEPTH);
        let unit = self.unit;
        let time = |units: u64| unit.checked_mul(units);
        if deep.is_some() && spans.len() <= SPANS && !self.sketch.tasks[task].non_preemptive {
            let mut rest = spans.as_slice();
            let end = spans.iter().map(|(_, end, ..)| *end).max().unwrap_or(0);
            match parts(&mut rest, 0, end, &time) {
                Some(parts) => self.sketch.tasks[task].parts = parts,
                None => self.sketch.lose(at, "critical sections that are too long are left out"),
            }
            return;
        }
        for (begin, end, resource, here) in spans {
            match time(end - begin) {
                Some(length) => self.sketch.tasks[task].section(resource, length, 1),
                None => self.sketch.lose(here, "a critical section that is too long is left out"),
            }
        }
        let name = shown(&self.sketch.tasks[task].named.name);
        self.sketch.lose(
            at,
            format!("where the critical sections of task `{name}` stand is left out: they may be anywhere"),
        );
    }
}

/// The most sections that are inside each other; `None` if two overlap and neither is inside of the other. They are
/// sorted, the longer of two that begin together first.
fn depth(spans: &[Span]) -> Option<usize> {
    let mut open: Vec<u64> = Vec::new();
    let mut most = 0;
    for (begin, end, ..) in spans {
        while open.last().is_some_and(|end| end <= begin) {
            open.pop();
        }
        if open.last().is_some_and(|around| around < end) {
            return None;
        }
        open.push(*end);
        most = most.max(open.len());
    }
    Some(most)
}

/// The parts from `from` to `to`, of spans that begin there; sorted, and properly nested.
fn parts(
    rest: &mut &[Span],
    from: u64,
    to: u64,
    time: &impl Fn(u64) -> Option<Duration>,
) -> Option<Vec<Part>> {
    let (mut all, mut now) = (Vec::new(), from);
    while let Some(((begin, end, resource, _), more)) =
        rest.split_first().filter(|((begin, ..), _)| *begin < to)
    {
        if *begin > now {
            all.push(Part::Run(time(begin - now)?));
        }
        *rest = more;
        all.push(Part::Hold(*resource, parts(rest, *begin, *end, time)?));
        now = *end;
    }
    if to > now {
        all.push(Part::Run(time(to - now)?));
    }
    Some(all)
}
