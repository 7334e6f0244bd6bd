// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Resources, and critical sections, which are given by their first and last unit of execution.

use std::collections::BTreeMap;

use taut_time::Duration;

use super::Reader;
use crate::TextPosition;
use crate::sketch::{Named, Segment};
use crate::xml::{Node, child, list, shown, text};

/// How deep sections may nest, and how many a task may have, for their order to be written.
const DEPTH: usize = 16;
const SPANS: usize = 1_000;

/// A critical section: its first unit of execution, the first one after it, the resource, and its place in the text.
pub(super) type Span = (u64, u64, usize, TextPosition);

impl Reader<'_> {
    pub(super) fn resource(&mut self, node: Node<'_, '_>, locks: &mut BTreeMap<usize, Vec<Span>>) {
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
        let resource = self.sketch.add_resource(Named { comment: protocol.to_owned(), ..Named::new(name) });
        self.resources.entry(node.attribute("id").unwrap_or_default().to_owned()).or_insert(resource);
        self.in_space(node);
        if let Some(cpu) = child(node, "cpu_name") {
            let name = cpu.text().unwrap_or_default().trim();
            if !self.cores.keys().any(|(processor, _)| processor == name) {
                let what = format!(
                    "a resource is on `{}`, which is not a processor: the cores of its users \
                             decide",
                    shown(name)
                );
                self.sketch.lose(self.places.at(cpu), what);
            }
        }
        self.sections(node, resource, locks);
    }

    /// The sections of a resource: after the name of a task its sections.
    fn sections(&mut self, node: Node<'_, '_>, resource: usize, locks: &mut BTreeMap<usize, Vec<Span>>) {
        let mut user = None;
        for segment in list(node, "critical_sections") {
            let here = self.places.at(segment);
            if segment.tag() == "task_name" {
                let name = segment.text().unwrap_or_default().trim();
                user = self.by_name.get(name).copied();
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
            let (begin, end) = (text(segment, "task_begin"), text(segment, "task_end"));
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

    /// Turns the critical sections of a task into segments in order. Sections that overlap without nesting become
    /// sections that may be anywhere in the job.
    pub(super) fn hold(&mut self, task: usize, mut spans: Vec<Span>) {
        spans.sort_by_key(|(begin, end, ..)| (*begin, std::cmp::Reverse(*end)));
        let at = self.sketch.tasks[task].at;
        let deep = depth(&spans).filter(|deep| *deep <= DEPTH);
        let unit = self.unit;
        let time = |units: u64| unit.checked_mul(units);
        if deep.is_some() && spans.len() <= SPANS && !self.sketch.tasks[task].non_preemptive {
            let mut rest = spans.as_slice();
            let end = spans.iter().map(|(_, end, ..)| *end).max().unwrap_or(0);
            match segments(&mut rest, 0, end, &time) {
                Some(segments) => self.sketch.tasks[task].segments = segments,
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
            format!(
                "the places of the critical sections of task `{name}` are left out: they may be anywhere"
            ),
        );
    }
}

/// The depth of the nesting; `None` if two sections overlap and neither is inside the other. The spans are sorted by
/// their beginning, the longer of two that begin together first.
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

/// The segments from `from` to `to`, out of the spans that begin there; the spans are sorted and properly nested.
fn segments(
    rest: &mut &[Span],
    from: u64,
    to: u64,
    time: &impl Fn(u64) -> Option<Duration>,
) -> Option<Vec<Segment>> {
    let (mut all, mut now) = (Vec::new(), from);
    while let Some(((begin, end, resource, _), more)) =
        rest.split_first().filter(|((begin, ..), _)| *begin < to)
    {
        if *begin > now {
            all.push(Segment::Run(time(begin - now)?));
        }
        *rest = more;
        all.push(Segment::Hold(*resource, segments(rest, *begin, *end, time)?));
        now = *end;
    }
    if to > now {
        all.push(Segment::Run(time(to - now)?));
    }
    Some(all)
}
