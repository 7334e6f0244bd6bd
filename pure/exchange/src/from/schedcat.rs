// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! SchedCAT, XML: sporadic tasks with partitions, and resources by number.
//!
//! Times are whole numbers without a unit. There are no priorities: the plan assigns them by deadline.

use taut_time::Duration;

use crate::Unreadable;
use crate::number::Decimal;
use crate::sketch::{Arrival, Named, Segment, Sketch, Task};
use crate::unread::Known;
use crate::xml::{Node, Places, child, elements, list, named, number, parse, shown};

/// How deep sections may nest.
const DEPTH: usize = 16;

/// The parts of a file that the import does not read: summaries of the tasks, and results of other analyses.
const KNOWN: Known = Known {
    dull: &[("properties", &[""]), ("count", &[]), ("utilization", &[]), ("max_read_length", &["0"])],
    why: &[(&["response_time"], "the analysis finds its own")],
};

/// Reads a whole file.
pub(crate) fn read(source: &str, unit: Duration) -> Result<Sketch, Unreadable> {
    let document = parse(source)?;
    let places = Places::new(source, unit);
    let root = document.root_element();
    let mut sketch = Sketch { unitless: true, ..Sketch::default() };
    let Some(set) = task_set(root, &places, &mut sketch) else {
        let why = "neither the first element nor one in a `testpoint` is `taskset`".into();
        return Err(Unreadable { at: Some(places.at(root)), why });
    };
    let tasks = || named(set, "task");
    let partition =
        |node: Node<'_, '_>| node.attribute("partition").and_then(|text| text.parse::<usize>().ok());
    let cores = tasks().filter_map(partition).max().map_or(1, |most| most.saturating_add(1));
    if cores > 1_000 {
        return Err(Unreadable { at: None, why: format!("{cores} partitions") });
    }
    let partitioned = tasks().any(|node| partition(node).is_some());
    sketch.cores = vec![String::new(); cores];
    for (index, node) in tasks().enumerate() {
        let id = node.attribute("id").map_or_else(|| (index + 1).to_string(), str::to_owned);
        let task = task(node, &id, partitioned, &places, &mut sketch);
        sketch.tasks.push(task);
    }
    if !partitioned {
        sketch.cores = vec![String::new(); bins(&sketch.tasks).clamp(1, 1_000)];
        let count = sketch.cores.len();
        if count > 1 {
            sketch.lose(
                None,
                format!("there are no partitions: {count} cores are written, which the plan fills"),
            );
        }
    }
    document.report_unread(&places, &KNOWN, &mut sketch);
    if !sketch.tasks.is_empty() {
        sketch.lose(None, "tasks are sporadic there: they are written as periodic, which asks for no less");
        sketch.lose(None, "there are no priorities: the plan gives them");
    }
    Ok(sketch)
}

/// The task set of a file: its first element, or the first one in a `testpoint`.
fn task_set<'a, 'i>(root: Node<'a, 'i>, places: &Places<'_>, sketch: &mut Sketch) -> Option<Node<'a, 'i>> {
    match root.tag() {
        "taskset" => Some(root),
        "testpoint" => {
            for other in named(root, "taskset").skip(1) {
                sketch.lose(places.at(other), "a second task set is left out: a manifest has one");
                other.leave_out();
            }
            child(root, "taskset")
        }
        _ => None,
    }
}

fn task(node: Node<'_, '_>, id: &str, partitioned: bool, places: &Places<'_>, sketch: &mut Sketch) -> Task {
    let at = places.at(node);
    let mut task = Task::new(at, id);
    let mut time = |key: &str, up| places.attribute_time(node, key, up, sketch);
    task.cost = time("wcet", true).unwrap_or_default();
    task.period = time("period", false).unwrap_or_default();
    task.deadline = time("deadline", false).unwrap_or(task.period);
    task.core = number(node.attribute("partition"), "partition", at, sketch);
    if partitioned && task.core.is_none() {
        sketch.lose(at, format!("task `{}` has no partition: the plan chooses a core", shown(id)));
    }
    // There are no offsets. Releases every T, or less often, demand no more than a periodic task.
    task.arrival = Arrival::Periodic(Duration::ZERO);
    if let Some(affinity) = child(node, "affinity") {
        sketch.lose(at, format!("the affinity of task `{}` is left out: a task has one core", shown(id)));
        affinity.leave_out();
    }
    for need in list(node, "resources") {
        requirement(need, &mut task, places, sketch);
    }
    task.segments = sections(child(node, "critical_sections"), DEPTH, places, sketch);
    if !task.segments.is_empty() && !task.sections.is_empty() {
        let what = "has `resources` and `critical_sections`: the latter are written";
        sketch.lose(at, format!("task `{}` {what}", shown(id)));
        task.sections.clear();
    }
    task
}

/// How many cores the tasks fill by first fit in the order of decreasing share: each task goes to the first core with
/// room.
fn bins(tasks: &[Task]) -> usize {
    const WHOLE: u64 = 1_000_000;
    let mut shares: Vec<u64> = tasks
        .iter()
        .map(|task| {
            let share = u128::from(task.cost.as_ns()) * u128::from(WHOLE);
            let share = share.div_ceil(u128::from(task.period.min(task.deadline).as_ns()).max(1));
            u64::try_from(share).unwrap_or(WHOLE).min(WHOLE)
        })
        .collect();
    shares.sort_unstable_by_key(|share| std::cmp::Reverse(*share));
    let mut free: Vec<u64> = Vec::new();
    for share in shares {
        match free.iter_mut().find(|free| **free >= share) {
            Some(free) => *free -= share,
            None => free.push(WHOLE - share),
        }
    }
    free.len()
}

fn resource(node: Node<'_, '_>, sketch: &mut Sketch) -> usize {
    let id = node.attribute("res_id").unwrap_or("0");
    sketch.resource(id).unwrap_or_else(|| sketch.add_resource(Named::new(id)))
}

fn requirement(node: Node<'_, '_>, task: &mut Task, places: &Places<'_>, sketch: &mut Sketch) {
    let mut count = |key: &str, otherwise: u64| {
        let Some(text) = node.attribute(key) else { return otherwise };
        let count = Decimal::parse(text).and_then(|count| count.scaled(1, Decimal::ONE, true));
        if count.is_none() {
            let what = format!("`{key}` is `{}`, which is no number from 0 on: 0 is taken", shown(text));
            sketch.lose(places.at(node), what);
        }
        count.unwrap_or(0)
    };
    // SchedCAT's defaults for missing attributes.
    let (writes, reads) = (count("max_writes", 1), count("max_reads", 0));
    let mut length = |key: &str, otherwise: Duration| match node.attribute(key) {
        Some(_) => places.attribute_time(node, key, true, sketch).unwrap_or_default(),
        None => otherwise,
    };
    let write = if writes > 0 { length("max_write_length", places.unit()) } else { Duration::ZERO };
    let read = if reads > 0 { length("max_read_length", Duration::ZERO) } else { Duration::ZERO };
    let at = places.at(node);
    if reads > 0 {
        sketch.lose(at, "reading is written like writing: one at a time, at the length of the longer");
    }
    let Ok(total) = u32::try_from(writes.saturating_add(reads)) else {
        sketch.lose(at, "a requirement of so many requests is left out");
        return;
    };
    if total > 0 && !write.max(read).is_zero() {
        let at = resource(node, sketch);
        task.section(at, write.max(read), total);
    }
}

fn sections(
    node: Option<Node<'_, '_>>,
    depth: usize,
    places: &Places<'_>,
    sketch: &mut Sketch,
) -> Vec<Segment> {
    let mut segments = Vec::new();
    for section in node.into_iter().flat_map(elements) {
        let Some(length) = places.attribute_time(section, "length", true, sketch) else {
            sketch.lose(places.at(section), "a critical section of no known length is left out");
            section.leave_out();
            continue;
        };
        let Some(depth) = depth.checked_sub(1) else {
            sketch.lose(places.at(section), "critical sections so deep inside each other are left out");
            section.leave_out();
            continue;
        };
        let at = resource(section, sketch);
        let mut inside = sections(Some(section), depth, places, sketch);
        let within = crate::sketch::length(&inside).unwrap_or(Duration::MAX);
        let own = length.saturating_sub(within);
        if within > length {
            sketch.lose(
                places.at(section),
                "a critical section is shorter than what is inside of it, which is left out",
            );
            inside = vec![Segment::Run(length)];
        } else if !own.is_zero() {
            inside.insert(0, Segment::Run(own));
        }
        segments.push(Segment::Hold(at, inside));
    }
    segments
}
