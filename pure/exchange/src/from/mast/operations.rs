// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Operations of MAST: simple ones, several in order, and one that encloses others.

use std::collections::{BTreeMap, BTreeSet};

use taut_time::Duration;

use super::text::{Entry, Item, leave_out, list, word, words};
use super::{is, key};
use crate::number::Decimal;
use crate::sketch::{Segment, Sketch, Task, length};
use crate::xml::shown;

/// How deep operations may nest, and how many one operation may consist of in all.
const DEPTH: usize = 16;
const MANY: usize = 10_000;

/// A simple operation: the resources that it locks first, its time, and those that it unlocks at its end.
#[derive(Clone, Debug)]
struct Simple {
    locks: Vec<usize>,
    time: Duration,
    unlocks: Vec<usize>,
}

/// The body of a job: segments in order, or a cost with sections anywhere in it.
#[derive(Clone, Debug, Default)]
pub(super) struct Job {
    /// The cost of the whole job; `None` on overflow.
    pub(super) cost: Option<Duration>,
    /// Resources and lengths, if the sections may be anywhere.
    pub(super) sections: Vec<(usize, Duration)>,
    /// The segments, if the sections have fixed places.
    pub(super) segments: Vec<Segment>,
}

impl Job {
    /// Appends another body.
    pub(super) fn then(&mut self, other: Self) {
        let before = std::mem::take(self);
        let first = before.segments.is_empty() && before.sections.is_empty() && before.cost.is_none();
        if first {
            *self = other;
            return;
        }
        let cost = before.cost.zip(other.cost).and_then(|(a, b)| a.checked_add(b));
        if before.sections.is_empty() && other.sections.is_empty() {
            let segments = before.segments.into_iter().chain(other.segments).collect();
            *self = Self { cost, sections: Vec::new(), segments };
            return;
        }
        let sections = before.anywhere().into_iter().chain(other.anywhere()).collect();
        *self = Self { cost, sections, segments: Vec::new() };
    }

    /// Scales all times to a processor of another speed than 1.
    pub(super) fn at(&mut self, speed: Decimal) {
        let slow = |time: Duration| {
            Decimal::ONE.scaled(time.as_ns(), speed, true).map_or(Duration::MAX, Duration::from_ns)
        };
        fn all(segments: &mut [Segment], slow: &impl Fn(Duration) -> Duration) {
            for segment in segments {
                match segment {
                    Segment::Run(time) => *time = slow(*time),
                    Segment::Hold(_, inside) => all(inside, slow),
                }
            }
        }
        self.cost = self.cost.map(slow);
        self.sections.iter_mut().for_each(|(_, length)| *length = slow(*length));
        all(&mut self.segments, &slow);
        if self.sections.is_empty() {
            // Each segment is rounded up, so their sum may exceed the rounded cost.
            self.cost = length(&self.segments);
        }
    }

    /// Makes this the body of a task, repeated `times` times.
    pub(super) fn put(self, task: &mut Task, times: u32) {
        let Self { cost, sections, segments } = self;
        let once = cost.or_else(|| length(&segments)).unwrap_or_default();
        task.cost = once.checked_mul(times.into()).unwrap_or(Duration::MAX);
        if sections.is_empty() && times == 1 {
            let locks = segments.iter().any(|segment| matches!(segment, Segment::Hold(..)));
            task.segments = if locks { segments } else { Vec::new() };
            return;
        }
        let sections = Self { cost, sections, segments }.anywhere();
        let merged = |task: &mut Task| {
            sections.iter().for_each(|(resource, length)| task.section(*resource, *length, times));
        };
        merged(task);
        let sum = |all: &[crate::sketch::Section]| {
            all.iter().try_fold(Duration::ZERO, |sum, section| {
                sum.checked_add(section.longest.checked_mul(section.count.into())?)
            })
        };
        // Each section of a resource counts as long as the longest one. If their sum exceeds the cost, the sections are
        // written one by one.
        let exact = sections.iter().try_fold(Duration::ZERO, |sum, (_, length)| sum.checked_add(*length));
        let over = sum(&task.sections).is_none_or(|sum| sum > task.cost);
        if over && times == 1 && exact.is_some_and(|exact| exact <= task.cost) {
            task.sections.clear();
            task.segments = sections
                .into_iter()
                .map(|(resource, length)| Segment::Hold(resource, vec![Segment::Run(length)]))
                .collect();
        }
    }

    /// The outermost sections of the body.
    fn anywhere(self) -> Vec<(usize, Duration)> {
        let outer = self.segments.iter().filter_map(|segment| match segment {
            Segment::Run(_) => None,
            Segment::Hold(resource, inside) => Some((*resource, crate::sketch::length(inside)?)),
        });
        self.sections.iter().copied().chain(outer).collect()
    }
}

/// Reports the priority of an operation.
fn without_priority(Item { at, entries, .. }: &Item, sketch: &mut Sketch) {
    let parameters = list(entries, "new_sched_parameters");
    if !parameters.is_empty() {
        sketch.lose(
            *at,
            format!(
                "the priority of operation `{}` is left out: its task's is written, not {}",
                shown(word(entries, "name")),
                shown(&words(parameters).join(" "))
            ),
        );
        leave_out(parameters);
    }
}

/// Reads a simple operation; `None` if its time cannot be read.
fn simple(item: &Item, unit: Duration, sketch: &mut Sketch) -> Option<Simple> {
    let mut resources = |keys: [&str; 2]| {
        let names = keys.iter().flat_map(|key| list(&item.entries, key)).map(|entry| key(entry.word()));
        let found: Vec<_> = names.map(|name| (sketch.resource(&name), name)).collect();
        for (_, name) in found.iter().filter(|(resource, _)| resource.is_none()) {
            sketch.lose(item.at, format!("there is no shared resource `{}`", shown(name)));
        }
        found.into_iter().filter_map(|(resource, _)| resource).collect::<Vec<_>>()
    };
    let locks = resources(["shared_resources_list", "shared_resources_to_lock"]);
    let unlocks = resources(["shared_resources_list", "shared_resources_to_unlock"]);
    Some(Simple { locks, time: worst_time(item, unit, sketch)?, unlocks })
}

/// The worst-case execution time of an operation; reports one that cannot be read.
fn worst_time(Item { at, entries, .. }: &Item, unit: Duration, sketch: &mut Sketch) -> Option<Duration> {
    let text = word(entries, "worst_case_execution_time");
    let time = Decimal::parse(text).and_then(|number| number.of(unit, true));
    if time.is_none() {
        let (name, text) = (shown(&key(word(entries, "name"))), shown(text));
        sketch.lose(*at, format!("operation `{name}` has no worst time that can be read: `{text}`"));
    }
    time
}

/// All operations by their names.
pub(super) struct Operations {
    simple: BTreeMap<String, Simple>,
    /// The names of its parts, and its cost if it encloses them.
    composite: BTreeMap<String, (Vec<String>, Option<Duration>)>,
}

impl Operations {
    pub(super) fn read<'i>(
        items: impl Iterator<Item = &'i Item>,
        unit: Duration,
        sketch: &mut Sketch,
    ) -> Self {
        let mut all = Self { simple: BTreeMap::new(), composite: BTreeMap::new() };
        for item @ Item { at, entries, .. } in items {
            let name = key(word(entries, "name"));
            let kind = word(entries, "type");
            without_priority(item, sketch);
            if is(kind, "simple") {
                if let Some(simple) = simple(item, unit, sketch) {
                    all.simple.insert(name, simple);
                }
            } else if is(kind, "composite") || is(kind, "enclosing") {
                let inside =
                    list(entries, "composite_operation_list").iter().map(|entry| key(Entry::word(entry)));
                let around =
                    is(kind, "enclosing").then(|| worst_time(item, unit, sketch).unwrap_or_default());
                all.composite.insert(name, (inside.collect(), around));
            } else {
                sketch.lose(
                    *at,
                    format!("operation `{}` is of type `{}`: it is left out", shown(&name), shown(kind)),
                );
                leave_out(entries);
            }
        }
        all
    }

    /// Whether an operation is defined, but neither used by an activity nor part of another operation.
    pub(super) fn is_idle(&self, name: &str, used: &BTreeSet<String>) -> bool {
        let known = self.simple.contains_key(name) || self.composite.contains_key(name);
        let inside = self.composite.values().any(|(inside, _)| inside.iter().any(|other| other == name));
        known && !inside && !used.contains(name)
    }

    /// The body that an operation gives a job.
    ///
    /// # Errors
    /// A part of the operation is not defined, there are too many parts, or it does not unlock each resource that it
    /// locks. The reason ends a sentence about the operation.
    pub(super) fn job(&self, name: &str) -> Result<Job, String> {
        let mut flat = Vec::new();
        let mut around = None;
        self.flatten(&key(name), DEPTH, &mut { MANY }, &mut flat, &mut around)?;
        Self::segments(&flat, around).ok_or_else(|| "does not unlock what it locks, in turn".into())
    }

    fn segments(flat: &[&Simple], around: Option<Duration>) -> Option<Job> {
        let mut open: Vec<(usize, Vec<Segment>)> = Vec::new();
        let (mut segments, mut sections) = (Vec::new(), Vec::new());
        let mut cost = Some(Duration::ZERO);
        for Simple { locks, time, unlocks } in flat {
            locks.iter().for_each(|resource| open.push((*resource, Vec::new())));
            cost = cost.and_then(|cost| cost.checked_add(*time));
            open.last_mut().map_or(&mut segments, |(_, inside)| inside).push(Segment::Run(*time));
            for _ in unlocks {
                // The last resource locked is unlocked first, whatever the order in the list.
                let (resource, inside) = open.pop()?;
                if open.is_empty() {
                    sections.push((resource, crate::sketch::length(&inside)?));
                }
                open.last_mut()
                    .map_or(&mut segments, |(_, inside)| inside)
                    .push(Segment::Hold(resource, inside));
            }
        }
        match around {
            _ if !open.is_empty() => None,
            Some(around) => Some(Job { cost: Some(around), sections, segments: vec![Segment::Run(around)] }),
            None => Some(Job { cost, sections: Vec::new(), segments }),
        }
    }

    /// Collects the simple operations of an operation, in order; `left` is how many more operations it may visit.
    fn flatten<'o>(
        &'o self,
        name: &str,
        depth: usize,
        left: &mut usize,
        flat: &mut Vec<&'o Simple>,
        around: &mut Option<Duration>,
    ) -> Result<(), String> {
        *left = left.checked_sub(1).ok_or_else(|| format!("is of more than {MANY} others"))?;
        let inner = depth.checked_sub(1).ok_or_else(|| format!("is of others more than {DEPTH} deep"))?;
        if let Some(simple) = self.simple.get(name) {
            flat.push(simple);
            return Ok(());
        }
        let Some((inside, cost)) = self.composite.get(name) else {
            return Err(match depth {
                DEPTH => "is not known".into(),
                _ => format!("is of `{}`, which is not known", shown(name)),
            });
        };
        if depth == DEPTH {
            *around = *cost;
        } else if cost.is_some() {
            // An enclosing operation may stand only at the top: elsewhere its time would be lost.
            return Err(format!("is of `{}`, which encloses others by itself", shown(name)));
        }
        inside.iter().try_for_each(|name| self.flatten(name, inner, left, flat, around))
    }
}
