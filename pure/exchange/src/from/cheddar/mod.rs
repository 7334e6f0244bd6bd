// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Cheddar, XML version 3: cores, periodic and sporadic tasks, and resources with critical sections.
//!
//! Times are whole numbers without a unit. A larger priority is more urgent. A critical section is given by its first
//! and its last unit of execution, both inside: its length is one more than their difference.

mod dependencies;
mod sections;

use std::collections::BTreeMap;

use taut_time::Duration;

use crate::Unreadable;
use crate::sketch::{Arrival, Sketch, Task};
use crate::unread::Known;
use crate::xml::{Node, Places, child, elements, list, number, parse, shown, text};

/// The parts of a file that the import does not read: identifiers to which nothing refers, values that request
/// nothing, and parts on which no bound depends.
const KNOWN: Known = Known {
    dull: &[
        ("id", &[]),
        ("schemaLocation", &[]),
        (
            "object_type",
            &[
                "CORE_OBJECT_TYPE",
                "PROCESSOR_OBJECT_TYPE",
                "ADDRESS_SPACE_OBJECT_TYPE",
                "TASK_OBJECT_TYPE",
                "RESOURCE_OBJECT_TYPE",
                "BUFFER_OBJECT_TYPE",
                "MESSAGE_OBJECT_TYPE",
            ],
        ),
        ("processor_type", &["MONOCORE_TYPE", "IDENTICAL_MULTICORES_TYPE"]),
        ("migration_type", &["NO_MIGRATION_TYPE"]),
        ("scheduler_type", &["NO_SCHEDULING_PROTOCOL"]),
        ("preemptive_type", &["PREEMPTIVE"]),
        ("priority_assignment", &["AUTOMATIC_ASSIGNMENT"]),
        ("cfg_relocatable", &["FALSE"]),
        ("mils_confidentiality_level", &["TOP_SECRET"]),
        ("mils_integrity_level", &["HIGH"]),
        ("mils_component", &["SLS"]),
        ("mils_partition", &["DEVICE"]),
        ("mils_task", &["APPLICATION"]),
        ("mils_compliant", &["TRUE"]),
        ("speed", &["1", "1.0"]),
        ("quantum", ZERO),
        ("capacity", ZERO),
        ("capacity_low", ZERO),
        ("period", ZERO),
        ("deadline", ZERO),
        ("jitter", ZERO),
        ("priority", ZERO),
        ("start_time", ZERO),
        ("every", ZERO),
        ("criticality", ZERO),
        ("completion_time", ZERO),
        ("energy_consumption", ZERO),
        ("access_memory_number", ZERO),
        ("maximum_number_of_memory_request_per_job", ZERO),
        ("worstcase_perequest_intrabank_memory_interference", ZERO),
        ("worstcase_perequest_interbank_memory_interference", ZERO),
        ("text_memory_size", ZERO),
        ("text_memory_start_address", ZERO),
        ("stack_memory_size", ZERO),
        ("data_memory_size", ZERO),
        ("heap_memory_size", ZERO),
        ("size", ZERO),
        ("address", ZERO),
        ("core_units", &[""]),
        ("processors", &[""]),
        ("address_spaces", &[""]),
        ("tasks", &[""]),
        ("resources", &[""]),
        ("dependencies", &[""]),
        ("buffers", &[""]),
        ("messages", &[""]),
        ("scheduling", &[""]),
        ("scheduling_parameters", &[""]),
    ],
    why: &[
        (
            &[
                "mils_confidentiality_level",
                "mils_integrity_level",
                "mils_component",
                "mils_partition",
                "mils_task",
                "mils_compliant",
            ],
            "no bound depends on levels of security",
        ),
        (
            &[
                "text_memory_size",
                "text_memory_start_address",
                "stack_memory_size",
                "data_memory_size",
                "heap_memory_size",
                "cfg_relocatable",
            ],
            "the plan adds up the memory",
        ),
        (&["energy_consumption"], "no bound depends on energy"),
        (&["isa"], "no bound depends on the kind of instructions: times are what the file says"),
        (&["migration_type"], "a task does not leave its core"),
        (&["quantum"], "no time slices are shared at a priority"),
        (&["speed"], "execution times are taken as those of the core"),
        (&["queueing_system_type"], "the plan finds how long a queue is"),
        (&["priority_assignment", "priority"], "the plan computes ceilings"),
        (
            &[
                "access_memory_number",
                "maximum_number_of_memory_request_per_job",
                "worstcase_perequest_intrabank_memory_interference",
                "worstcase_perequest_interbank_memory_interference",
            ],
            "execution times are taken to include what memory takes",
        ),
    ],
};
const ZERO: &[&str] = &["0"];

/// The groups that the import reads. The dependencies that refer to buffers and messages say what these are for.
const GROUPS: [&str; 8] = [
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
    if root.tag() != "cheddar" {
        return Err(Unreadable {
            at: Some(reader.places.at(root)),
            why: "the first element is not `cheddar`".into(),
        });
    }
    for group in elements(root) {
        let name = group.tag();
        if !GROUPS.contains(&name) {
            for one in elements(group) {
                let (at, what) = (reader.places.at(one), text(one, "name"));
                reader.sketch.lose(at, format!("`{}` of {name}: a manifest has no such thing", shown(what)));
                one.leave_out();
            }
        }
    }
    list(root, "core_units").for_each(|core| reader.core(core));
    list(root, "processors").for_each(|processor| reader.processor(processor));
    list(root, "address_spaces").for_each(|space| reader.space(space));
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
    document.report_unread(&reader.places, &KNOWN, &mut reader.sketch);
    Ok(reader.sketch)
}

/// How a core schedules its tasks.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Rule {
    edf: bool,
    /// Whether jobs run by the priorities that the file gives their tasks.
    given: bool,
    preemptive: bool,
}

struct Reader<'t> {
    places: Places<'t>,
    unit: Duration,
    sketch: Sketch,
    /// The rules of core units, by identifier.
    rules: BTreeMap<String, Rule>,
    /// The names of core units, by identifier.
    units: BTreeMap<String, String>,
    /// The names of address spaces, by processor.
    spaces: BTreeMap<String, Vec<String>>,
    /// The name of the core of a processor that has a single one.
    only: BTreeMap<String, String>,
    /// Positions of resources in the sketch, by the identifier in references.
    resources: BTreeMap<String, usize>,
    /// By the names of a processor and of one of its cores (no name if it has a single core): the core, and its rule.
    cores: BTreeMap<(String, String), (usize, Rule)>,
    /// Positions of tasks in the sketch, by the identifier in references and by name.
    by_id: BTreeMap<String, usize>,
    by_name: BTreeMap<String, usize>,
    /// By task: the task that releases it, and the channel.
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
            spaces: BTreeMap::new(),
            only: BTreeMap::new(),
            resources: BTreeMap::new(),
            cores: BTreeMap::new(),
            by_id: BTreeMap::new(),
            by_name: BTreeMap::new(),
            triggers: BTreeMap::new(),
        }
    }

    fn core(&mut self, core: Node<'_, '_>) {
        let parameters = child(core, "scheduling").and_then(|node| child(node, "scheduling_parameters"));
        let scheduler = parameters.map_or("", |node| text(node, "scheduler_type"));
        let preemption = parameters.map_or("", |node| text(node, "preemptive_type"));
        if !["", "PREEMPTIVE", "NOT_PREEMPTIVE"].contains(&preemption) {
            let (at, name) = (self.places.at(core), shown(text(core, "name")));
            let what = format!("core `{name}` is {}: it is written as preemptive", shown(preemption));
            self.sketch.lose(at, what);
        }
        let preemptive = preemption != "NOT_PREEMPTIVE";
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
        let given = !known[1..].contains(&scheduler);
        self.rules.insert(id, Rule { edf, given, preemptive });
    }

    fn processor(&mut self, processor: Node<'_, '_>) {
        let name = text(processor, "name").to_owned();
        let units: Vec<_> = processor.descendants().filter(|node| node.tag() == "core").collect();
        for unit in &units {
            let reference = unit.attribute("ref").unwrap_or_default();
            if !self.rules.contains_key(reference) {
                let what = format!(
                    "processor `{}` has a core `{}` that is not there: fixed priorities are written",
                    shown(&name),
                    shown(reference)
                );
                self.sketch.lose(self.places.at(*unit), what);
            }
        }
        if units.len() > 1 {
            let what = format!(
                "processor `{}` has {} cores: each of its tasks stays on one",
                shown(&name),
                units.len()
            );
            self.sketch.lose(self.places.at(processor), what);
        }
        let reference = |unit: &Node<'_, '_>| unit.attribute("ref").unwrap_or_default().to_owned();
        let mut all: Vec<String> = units.iter().map(reference).collect();
        if all.is_empty() {
            all.push(String::new());
        }
        for unit in &all {
            let rule =
                self.rules.get(unit).copied().unwrap_or(Rule { edf: false, given: true, preemptive: true });
            let core = self.units.get(unit).cloned().unwrap_or_default();
            let shown = if core.is_empty() { name.clone() } else { format!("{name}.{core}") };
            let key = if all.len() == 1 {
                self.only.insert(name.clone(), core);
                String::new()
            } else {
                core
            };
            self.cores.insert((name.clone(), key), (self.sketch.cores.len(), rule));
            self.sketch.cores.push(shown);
        }
    }

    /// Reads an address space. Each task is in one; the only address space of a processor carries no information.
    fn space(&mut self, node: Node<'_, '_>) {
        let (name, cpu) = (text(node, "name").to_owned(), text(node, "cpu_name").to_owned());
        if !self.cores.keys().any(|(processor, _)| *processor == cpu) {
            let what =
                format!("address space `{}` is on `{}`, which is no processor", shown(&name), shown(&cpu));
            self.sketch.lose(self.places.at(node), what);
        }
        self.spaces.entry(cpu).or_default().push(name);
    }

    /// Reports the address space of an element, unless its processor has no other.
    fn in_space(&mut self, node: Node<'_, '_>) {
        let Some(found) = child(node, "address_space_name") else { return };
        let name = found.text().unwrap_or_default().trim();
        let all = self.spaces.get(text(node, "cpu_name")).map_or(&[][..], Vec::as_slice);
        if !(name.is_empty() || all.len() == 1 && all[0] == name) {
            let what = format!(
                "the address space of `{}`, `{}`, is left out",
                shown(text(node, "name")),
                shown(name)
            );
            self.sketch.lose(self.places.at(found), what);
        }
    }

    /// Chooses one scheduler for all cores, as a manifest has only one.
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
        let Some(arrival) = self.arrival(node, offset) else { return node.leave_out() };
        task.arrival = arrival;
        self.in_space(node);
        for (value, what) in [(blocking, "blocking time"), (switch, "context switch overhead")] {
            if !value.is_zero() {
                let what = format!(
                    "the {what} {value} of task `{}` is left out: the analysis finds its own",
                    shown(name)
                );
                self.sketch.lose(at, what);
            }
        }
        task.priority = number(Some(text(node, "priority")), "priority", at, &mut self.sketch);
        self.place(node, &mut task);
        self.not_written(node);
        self.by_id.insert(node.attribute("id").unwrap_or_default().to_owned(), self.sketch.tasks.len());
        self.sketch.tasks.push(task);
    }

    /// How the jobs of a task arrive; `None` if a manifest has no such task.
    fn arrival(&mut self, node: Node<'_, '_>, offset: Duration) -> Option<Arrival> {
        let (at, name) = (self.places.at(node), text(node, "name"));
        match text(node, "task_type") {
            "SPORADIC_TYPE" => {
                if !offset.is_zero() {
                    self.sketch
                        .lose(at, format!("task `{}` is sporadic: its start time is left out", shown(name)));
                }
                Some(Arrival::Sporadic(Vec::new()))
            }
            "PERIODIC_TYPE" => Some(Arrival::Periodic(offset)),
            other => {
                let what = format!("task `{}` is of type {}: it is left out", shown(name), shown(other));
                self.sketch.lose(at, what);
                None
            }
        }
    }

    /// Sets the core of a task, and what follows from how that core schedules.
    fn place(&mut self, node: Node<'_, '_>, task: &mut Task) {
        let (at, name) = (self.places.at(node), text(node, "name"));
        let (cpu, core) = (text(node, "cpu_name").to_owned(), text(node, "core_name").to_owned());
        let found = self
            .cores
            .get(&(cpu.clone(), core.clone()))
            .or_else(|| self.cores.get(&(cpu.clone(), String::new())));
        match found {
            Some((core, rule)) => {
                task.core = Some(*core);
                task.non_preemptive = !rule.preemptive;
                if !rule.given && task.priority.take().is_some_and(|priority| priority != 1) {
                    let what = format!(
                        "the priority of task `{}` is left out: its core goes by periods or deadlines",
                        shown(name)
                    );
                    self.sketch.lose(at, what);
                }
            }
            None => {
                let what = self.no_core(&cpu, &core);
                self.sketch.lose(at, format!("task `{}` is on {what}: the plan chooses", shown(name)));
            }
        }
        if self.only.get(&cpu).is_some_and(|only| !core.is_empty() && *only != core) {
            let what =
                format!("task `{}` is on `{}`, which is no core of its processor", shown(name), shown(&core));
            self.sketch.lose(at, what);
        }
    }

    /// Why these names are not those of a core.
    fn no_core(&self, cpu: &str, core: &str) -> String {
        let of_cpu = self.cores.range((cpu.to_owned(), String::new())..).take_while(|((of, _), _)| of == cpu);
        match core {
            _ if of_cpu.count() <= 1 => format!("`{}`, which is no processor", shown(cpu)),
            "" => "no core of its own".to_owned(),
            core => format!("`{}`, which is no core of its processor", shown(core)),
        }
    }

    /// Reports the policy and the parameters of a task, for which a manifest has no place.
    fn not_written(&mut self, node: Node<'_, '_>) {
        let (at, name) = (self.places.at(node), text(node, "name"));
        let policy = text(node, "policy");
        if !["", "SCHED_FIFO"].contains(&policy) {
            let what =
                format!("task `{}` has policy {}: it is written like SCHED_FIFO", shown(name), shown(policy));
            self.sketch.lose(at, what);
        }
        for key in ["offsets", "parameters"] {
            if let Some(some) = child(node, key).filter(|some| elements(*some).next().is_some()) {
                self.sketch.lose(at, format!("`{key}` of task `{}` are left out", shown(name)));
                some.leave_out();
            }
        }
    }
}
