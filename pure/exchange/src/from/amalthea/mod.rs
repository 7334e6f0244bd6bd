// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! AMALTHEA (.amxmi): tasks call runnables, whose ticks take time on the core that the task is mapped to, and which
//! read and write labels.
//!
//! A label that one task writes and others read becomes a state channel. A label that several tasks write becomes a
//! resource, because a channel has one writer. A task that another one triggers becomes a receiver. AMALTHEA does not
//! say how long an access takes: the import writes a nanosecond per byte, and at least a microsecond.

mod hardware;
mod labels;
mod runnables;
mod stimuli;

use std::collections::BTreeMap;

use taut_time::Duration;

use self::hardware::Hardware;
use self::runnables::{Runnables, Ticks, kind};
use self::stimuli::Stimulus;
use crate::Unreadable;
use crate::number::Decimal;
use crate::sketch::{Arrival, Carries, Channel, Named, Sketch, Task};
use crate::unread::Known;
use crate::xml::{self, Node, Places, child, elements, number, parse, shown};

/// The parts of a file that the import does not read: the type of a value where only one type is possible, values
/// that equal the default, and parts on which no bound depends.
const KNOWN: Known = Known {
    dull: &[
        (
            "type",
            &[
                "am:DiscreteValueConstant",
                "am:DiscreteValueStatistics",
                "am:DiscreteValueBoundaries",
                "am:DiscreteValueUniformDistribution",
                "am:DiscreteValueGaussDistribution",
                "am:DiscreteValueBetaDistribution",
                "am:DiscreteValueWeibullEstimatorsDistribution",
                "am:ContinuousValueConstant",
                "am:ContinuousValueBoundaries",
                "am:TimeConstant",
                "am:TimeBoundaries",
                "am:TimeStatistics",
                "am:TimeUniformDistribution",
                "am:TimeGaussDistribution",
                "am:TimeBetaDistribution",
                "am:TimeWeibullEstimatorsDistribution",
                "am:IntegerObject",
                "am:ProcessRequirement",
                "am:TimeRequirementLimit",
            ],
        ),
        ("id", &[]),
        ("version", &["2.0"]),
        ("schemaLocation", &[]),
        ("ordered", &["true"]),
    ],
    why: &[
        (
            &["average", "mean", "sd", "alpha", "beta", "pRemainPromille", "samplingType"],
            "a bound needs the upper limit",
        ),
        (&["lowerBound"], "a bound needs the upper limit"),
        (&["name"], "nothing refers to it by its name"),
        (&["scheduler"], "each task states its core"),
        (&["structureType"], "taut reads only the cores of the hardware"),
    ],
};

/// Reads a whole file.
pub(crate) fn read(source: &str) -> Result<Sketch, Unreadable> {
    let document = parse(source)?;
    let places = Places::new(source, Duration::from_ns(1));
    let root = document.root_element();
    if root.tag() != "Amalthea" {
        return Err(Unreadable {
            at: Some(places.at(root)),
            why: "the first element is not `Amalthea`".into(),
        });
    }
    let mut sketch = Sketch::default();
    let hardware = Hardware::read(root, &places, &mut sketch);
    sketch.cores = hardware.cores.iter().map(|core| core.name.clone()).collect();
    let runnables = Runnables::read(root);
    let mut reader = Reader {
        places,
        sketch,
        hardware,
        runnables,
        root,
        allocations: BTreeMap::new(),
        schedulers: BTreeMap::new(),
        accesses: BTreeMap::new(),
        triggers: BTreeMap::new(),
    };
    reader.allocations = by_name(reader.models("mappingModel", "taskAllocation"), "task");
    reader.schedulers = by_name(reader.models("mappingModel", "schedulerAllocation"), "scheduler");
    let stimuli = reader.stimuli();
    for node in reader.models("swModel", "tasks") {
        reader.task(node, &stimuli);
    }
    reader.triggered();
    reader.deadlines();
    reader.labels();
    for node in reader.models("swModel", "isrs") {
        let at = reader.places.at(node);
        reader.sketch.lose(at, format!("interrupt routine `{}` is left out", shown(named(node))));
        node.leave_out();
    }
    document.report_unread(&reader.places, &KNOWN, &mut reader.sketch);
    Ok(reader.sketch)
}

/// Elements by the name in their reference `key`; of several with one name, the first counts.
fn by_name<'a, 'i>(nodes: Vec<Node<'a, 'i>>, key: &str) -> BTreeMap<&'a str, Node<'a, 'i>> {
    let named = |node: Node<'a, 'i>| (target(node.attribute(key).unwrap_or_default()), node);
    nodes.into_iter().rev().map(named).collect()
}

/// The name in a reference: `A57?type=ProcessingUnitDefinition` refers to `A57`.
pub(super) fn target(reference: &str) -> &str {
    reference.split('?').next().unwrap_or_default()
}

/// The name of an element.
pub(super) fn named<'a>(node: Node<'a, '_>) -> &'a str {
    node.attribute("name").unwrap_or_default()
}

/// The word by which references name an element: its identifier without the type, or else its name.
pub(super) fn identity(node: Node<'_, '_>) -> String {
    let id = node.any_attribute("id").map(target);
    // A name that equals the identifier adds nothing.
    let is_named = node.attribute_is("name", |name| id.is_none_or(|id| id == name));
    id.unwrap_or_else(|| if is_named { named(node) } else { "" }).to_owned()
}

/// Value and unit of a quantity, as in `<recurrence value="5" unit="ms"/>`; empty where they are missing.
fn value_and_unit<'a>(node: Node<'a, '_>) -> (&'a str, &'a str) {
    (node.attribute("value").unwrap_or_default(), node.attribute("unit").unwrap_or_default())
}

/// A time with a unit.
fn quantity(node: Node<'_, '_>, up: bool) -> Option<Duration> {
    let (value, unit) = value_and_unit(node);
    let unit = match unit {
        "ns" => Duration::from_ns(1),
        "us" => Duration::from_us(1),
        "ms" => Duration::from_ms(1),
        "s" => Duration::from_s(1),
        _ => return None,
    };
    Decimal::parse(value)?.of(unit, up)
}

/// How often a task reads a label, and how often it writes it.
type Counts = (u32, u32);

struct Reader<'a, 'i, 't> {
    places: Places<'t>,
    sketch: Sketch,
    hardware: Hardware,
    runnables: Runnables<'a, 'i>,
    root: Node<'a, 'i>,
    /// Task allocations, and schedulers, by name.
    allocations: BTreeMap<&'a str, Node<'a, 'i>>,
    schedulers: BTreeMap<&'a str, Node<'a, 'i>>,
    /// By label, then by the position of a task.
    accesses: BTreeMap<String, BTreeMap<usize, Counts>>,
    /// By stimulus: the tasks that trigger it, and the tasks that it releases, as positions.
    triggers: BTreeMap<String, (Vec<usize>, Vec<usize>)>,
}

impl<'a, 'i> Reader<'a, 'i, '_> {
    /// The elements called `name` in the models called `model`.
    fn models(&self, model: &'a str, name: &'a str) -> Vec<Node<'a, 'i>> {
        xml::named(self.root, model).flat_map(|model| xml::named(model, name)).collect()
    }

    /// As [`quantity`]; reports a time that cannot be read.
    fn time(&mut self, node: Node<'_, '_>, up: bool) -> Option<Duration> {
        let found = quantity(node, up);
        if found.is_none() {
            let (value, unit) = value_and_unit(node);
            let what = format!(
                "`{}` is `{} {}`, which is no time from 0 on that can be read",
                shown(node.tag()),
                shown(value),
                shown(unit)
            );
            self.sketch.lose(self.places.at(node), what);
        }
        found
    }

    fn task(&mut self, node: Node<'a, 'i>, stimuli: &BTreeMap<String, Stimulus>) {
        let name = named(node);
        let mut task = Task::new(self.places.at(node), name);
        let mapping = self.mapping(&identity(node));
        let Some(cores) = self.place(node, mapping, &mut task) else { return node.leave_out() };
        task.priority = mapping.and_then(|mapping| self.priority(mapping));
        let position = self.sketch.tasks.len();
        let Some(times) = self.release(node, stimuli, position, &mut task) else { return node.leave_out() };
        match node.attribute("preemption").unwrap_or_default() {
            "non_preemptive" => task.non_preemptive = true,
            "" | "preemptive" | "_undefined_" => {}
            other => self.lose_of(node, &format!("is {}: it is written as preemptive", shown(other))),
        }
        let body = self.runnables.body(node);
        for (at, what) in &body.lost {
            let (place, name) = (self.places.at(*at), shown(name));
            self.sketch.lose(place, format!("task `{name}`: {what}"));
        }
        let cost = self.cost(node, &cores, &body.ticks);
        task.cost = cost.checked_mul(times.into()).unwrap_or(Duration::MAX);
        for (label, (reads, writes)) in &body.labels {
            let counts = (reads.saturating_mul(times), writes.saturating_mul(times));
            self.accesses.entry(label.clone()).or_default().insert(position, counts);
        }
        for stimulus in &body.triggers {
            self.triggers.entry(stimulus.clone()).or_default().0.push(position);
        }
        self.sketch.tasks.push(task);
    }

    /// Reports what the import does not carry over of a task; `what` ends a sentence about the task.
    fn lose_of(&mut self, task: Node<'_, '_>, what: &str) {
        let (at, name) = (self.places.at(task), shown(named(task)));
        self.sketch.lose(at, format!("task `{name}` {what}"));
    }

    /// Sets the core of a task. Returns the cores on which the task may run: all cores if it is mapped to none, `None`
    /// if it runs on no general-purpose core.
    fn place(
        &mut self,
        node: Node<'_, '_>,
        mapping: Option<Node<'a, 'i>>,
        task: &mut Task,
    ) -> Option<Vec<usize>> {
        let units = self.units(mapping);
        let cores: Vec<usize> = units.iter().filter_map(|unit| self.hardware.core(unit)).collect();
        match (units.as_slice(), cores.as_slice()) {
            ([], _) => self.lose_of(node, "is mapped to no core: the plan chooses"),
            ([unit, ..], []) => {
                let what = format!("runs on `{}`, which is no general core: it is left out", shown(unit));
                self.lose_of(node, &what);
                return None;
            }
            ([_], [core]) => task.core = Some(*core),
            _ => self.lose_of(node, "is mapped to several cores: the plan chooses one"),
        }
        Some(if cores.is_empty() { (0..self.hardware.cores.len()).collect() } else { cores })
    }

    /// Sets how a task, which will be at `position`, is released. Returns how many jobs are released at once; `None`
    /// if no release can be written.
    fn release(
        &mut self,
        node: Node<'a, 'i>,
        stimuli: &BTreeMap<String, Stimulus>,
        position: usize,
        task: &mut Task,
    ) -> Option<u32> {
        let mut names = node.attribute("stimuli").unwrap_or_default().split_whitespace().map(target);
        let first = names.next();
        for other in names {
            self.lose_of(node, &format!("is also released by `{}`, which is left out", shown(other)));
        }
        match first.and_then(|name| Some((name, stimuli.get(name)?))) {
            Some((name, Stimulus::Events(events))) => {
                (task.period, task.deadline) = (events.period, events.period);
                (task.arrival, task.jitter) = (events.arrival.clone(), events.jitter);
                let times = events.count;
                if times > 1 {
                    let what = format!(
                        "is released {times} times at once by `{}`: one job of all that is written",
                        shown(name)
                    );
                    self.lose_of(node, &what);
                }
                Some(times)
            }
            Some((name, Stimulus::Triggered)) => {
                task.arrival = Arrival::Sporadic(Vec::new());
                self.triggers.entry(name.to_owned()).or_default().1.push(position);
                Some(1)
            }
            Some((name, Stimulus::Other(kind))) => {
                let what = format!("is released by `{}`, a {}: it is left out", shown(name), shown(kind));
                self.lose_of(node, &what);
                None
            }
            None => {
                self.lose_of(node, "is released by nothing that is known: it is left out");
                None
            }
        }
    }

    /// How long a job takes on the slowest of some cores; zero if the time on one of them is not known.
    fn cost(&mut self, node: Node<'_, '_>, cores: &[usize], ticks: &[Ticks]) -> Duration {
        let costs = cores.iter().map(|core| self.hardware.time(*core, ticks));
        let costs = costs.collect::<Option<Vec<_>>>();
        if costs.is_none() && !ticks.is_empty() {
            self.lose_of(node, "has ticks whose length is unknown");
        }
        costs.and_then(|all| all.into_iter().max()).unwrap_or_default()
    }

    fn mapping(&self, task: &str) -> Option<Node<'a, 'i>> {
        self.allocations.get(task).copied()
    }

    /// The processing units of a task: those of its own affinity, or else those that its scheduler is responsible
    /// for.
    fn units(&self, mapping: Option<Node<'a, 'i>>) -> Vec<&'a str> {
        let words = |text: Option<&'a str>| {
            text.unwrap_or_default().split_whitespace().map(target).collect::<Vec<_>>()
        };
        let own = words(mapping.and_then(|node| node.attribute("affinity")));
        if !own.is_empty() {
            return own;
        }
        let scheduler = mapping.and_then(|node| node.attribute("scheduler")).map(target);
        match scheduler.and_then(|scheduler| self.schedulers.get(scheduler)) {
            Some(node) => words(node.attribute("responsibility")),
            None => own,
        }
    }

    /// Gives each triggered task the rate of the task that triggers it, which may be triggered itself.
    fn triggered(&mut self) {
        let mut left: Vec<(String, Vec<usize>, usize)> = Vec::new();
        for (stimulus, (from, to)) in std::mem::take(&mut self.triggers) {
            for task in from.iter().filter(|_| to.is_empty()) {
                let task = &self.sketch.tasks[*task];
                let (at, name) = (task.at, shown(&task.named.name));
                let what = format!("task `{name}` triggers `{}`, which releases no task", shown(&stimulus));
                self.sketch.lose(at, what);
            }
            left.extend(to.into_iter().map(|released| (stimulus.clone(), from.clone(), released)));
        }
        loop {
            let before = left.len();
            left.retain(|(stimulus, from, released)| !self.trigger(stimulus, from, *released));
            if left.len() == before {
                break;
            }
        }
        for (_, from, released) in left {
            let (at, name) = (self.sketch.tasks[released].at, shown(&self.sketch.tasks[released].named.name));
            let why = match from.len() {
                1 => "by no task with a known rate".to_owned(),
                count => format!("by {count} tasks"),
            };
            self.sketch.lose(at, format!("task `{name}` is triggered {why}: it is left out"));
        }
    }

    /// Makes `released` receive from the task that triggers it, if that is possible now; returns whether it did.
    fn trigger(&mut self, stimulus: &str, from: &[usize], released: usize) -> bool {
        let [writer] = from else { return false };
        let period = self.sketch.tasks[*writer].period;
        if *writer == released || period.is_zero() || !self.sketch.tasks[released].period.is_zero() {
            return false;
        }
        let channel = self.sketch.channels.len();
        let (at, name) = (self.sketch.tasks[released].at, shown(&self.sketch.tasks[released].named.name));
        let named = Named::new(&format!("{stimulus}-{name}"));
        let ends = (*writer, vec![released]);
        self.sketch.channels.push(Channel::of_tasks(at, named, Carries::Every, ends, 1));
        let task = &mut self.sketch.tasks[released];
        (task.period, task.deadline) = (period, period);
        task.arrival = Arrival::Sporadic(vec![channel]);
        true
    }

    /// Reads the deadlines of tasks, and reports all other requirements.
    fn deadlines(&mut self) {
        let constraints = xml::named(self.root, "constraintsModel");
        for node in constraints.flat_map(elements).filter(|node| node.tag() != "requirements") {
            let (at, what) = (self.places.at(node), node.tag());
            self.sketch.lose(at, format!("`{}` of {what} is left out", shown(named(node))));
            node.leave_out();
        }
        for node in self.models("constraintsModel", "requirements") {
            let process = target(node.attribute("process").unwrap_or_default()).to_owned();
            let limit = child(node, "limit");
            let metric = limit.is_some_and(|limit| {
                limit.attribute("metric") == Some("ResponseTime")
                    && limit.attribute("limitType") == Some("UpperLimit")
            });
            let value = limit.and_then(|limit| child(limit, "limitValue"));
            let value = value.and_then(|value| self.time(value, false));
            let at = self.places.at(node);
            let task = self.sketch.tasks.iter_mut().find(|task| task.named.name == process);
            match (metric, value, task) {
                (true, Some(value), Some(task)) => task.deadline = value,
                _ => {
                    self.sketch.lose(at, format!("requirement `{}` is left out", shown(named(node))));
                    node.leave_out();
                }
            }
        }
    }

    /// The priority in a mapping.
    fn priority(&mut self, mapping: Node<'_, '_>) -> Option<i64> {
        for node in xml::named(mapping, "schedulingParameters") {
            let at = self.places.at(node);
            if let Some(text) = node.attribute("priority") {
                return number(Some(text), "priority", at, &mut self.sketch);
            }
            if node.attribute_is("key", |key| target(key) == "priority") {
                let text = child(node, "value").and_then(|value| value.attribute("value"));
                return number(text, "priority", at, &mut self.sketch);
            }
        }
        None
    }
}
