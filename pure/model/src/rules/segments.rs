// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Jobs with ordered segments: plain execution and critical sections, nested or not, within the execution time.

use taut_time::Duration;

use super::faults::Faults;
use super::names::{Names, Want};
use crate::{ClassDraft, Draft, Fault, KeyPath, RealTimeDraft, Section, Segment, SegmentDraft, codes};

pub(super) fn check(draft: &Draft, names: &Names<'_>, faults: &mut Faults<'_>) {
    for task in &draft.tasks {
        if let ClassDraft::RealTime(real_time) = &task.class {
            let path = format!("tasks.{}.segments", task.name);
            whole(&task.name, real_time, &path, faults);
            let mut walk = Walk { task: &task.name, names, faults, held: Vec::new() };
            walk.all(&real_time.segments, &path);
        }
    }
}

/// Faults of a task's segments as a whole.
fn whole(name: &str, task: &RealTimeDraft, path: &str, faults: &mut Faults<'_>) {
    if task.segments.is_empty() {
        return;
    }
    if !task.sections.is_empty() {
        let message = format!("task `{name}` has `sections` and `segments`");
        faults.push(
            Fault::error(codes::BAD_SECTION, message, KeyPath::key(path.to_owned()), "sections in order")
                .also(KeyPath::key(format!("tasks.{name}.sections")), "sections at any place")
                .help("write one of them: segments hold resources, too"),
        );
    }
    if !task.non_preemptive.is_zero() {
        let message = format!("task `{name}` has segments and a non-preemptive stretch");
        let place = KeyPath::value(format!("tasks.{name}.non-preemptive"));
        faults.push(
            Fault::error(codes::BAD_NON_PREEMPTIVE, message, place, "at an unknown place in a job")
                .also(KeyPath::key(path.to_owned()), "segments have known places")
                .help("let a segment hold a resource that all tasks of its core use, or use `sections`"),
        );
    }
    let total = sum(&task.segments);
    if task.wcet.value.is_zero() || total.is_some_and(|total| total <= task.wcet.value) {
        return;
    }
    let message = format!("the segments of task `{name}` are longer than its execution time");
    let text = total.map_or("too long".to_owned(), |total| format!("{total} in all"));
    let fault = Fault::error(codes::BAD_SECTION, message, KeyPath::value(path.to_owned()), text)
        .also(KeyPath::value(format!("tasks.{name}.wcet.value")), format!("runs for {}", task.wcet.value))
        .note("the execution time that the segments leave comes after the last one")
        .help("shorten the segments, or raise the execution time");
    faults.push_resting_on(fault, &[path]);
}

/// How long segments last; `None` on overflow.
fn sum(segments: &[SegmentDraft]) -> Option<Duration> {
    segments.iter().try_fold(Duration::ZERO, |total, segment| {
        let time = match segment.run {
            Some(run) => run,
            None => sum(&segment.segments)?,
        };
        total.checked_add(time)
    })
}

/// The state of a walk through the segments of a task.
struct Walk<'w, 'n, 'f> {
    task: &'w str,
    names: &'w Names<'n>,
    faults: &'w mut Faults<'f>,
    /// The resources held at this point, each with the place that says so.
    held: Vec<(&'w str, KeyPath)>,
}

impl<'w> Walk<'w, '_, '_> {
    fn all(&mut self, segments: &'w [SegmentDraft], path: &str) {
        for (at, segment) in segments.iter().enumerate() {
            self.one(segment, &format!("{path}.{at}"));
        }
    }

    fn one(&mut self, segment: &'w SegmentDraft, path: &str) {
        let task = self.task;
        let at = |key: &str| KeyPath::value(format!("{path}.{key}"));
        let mut refuse = |message: String, place: KeyPath, text: &str, help: &str| {
            let fault = Fault::error(codes::BAD_SECTION, message, place, text).help(help);
            self.faults.push_resting_on(fault, &[path]);
        };
        match (segment.run, segment.segments.as_slice()) {
            (Some(_), [_, ..]) => refuse(
                format!("a segment of task `{task}` has `run` and `segments`"),
                at("run"),
                "a length beside `segments`",
                "write one of them: the inner segments give the length",
            ),
            (None, []) => refuse(
                format!("a segment of task `{task}` has no length"),
                KeyPath::value(path.to_owned()),
                "no `run`",
                "give its length: `run = \"200us\"`",
            ),
            (None, [_, ..]) if segment.hold.is_none() => refuse(
                format!("a segment of task `{task}` has `segments` but no `hold`"),
                at("segments"),
                "no `hold` around these",
                "replace the outer segment by these, or name its resource: `hold = \"…\"`",
            ),
            (Some(run), []) if run.is_zero() => refuse(
                format!("a segment of task `{task}` has an execution time of zero"),
                at("run"),
                "zero",
                "measure it, or write a guess that is too long",
            ),
            _ => {}
        }
        if let Some(resource) = &segment.hold {
            if self.names.resource(resource).is_none() {
                self.names.dangling(Want::Resource, resource, at("hold"), self.faults);
            }
            if let Some((_, first)) = self.held.iter().find(|(held, _)| held == resource) {
                let message = format!("task `{task}` locks `{resource}` while it holds it");
                self.faults.push(
                    Fault::error(codes::BAD_SECTION, message, at("hold"), "again here")
                        .also(first.clone(), "held from here on")
                        .help("remove the inner section"),
                );
            }
            self.held.push((resource, at("hold")));
        }
        self.all(&segment.segments, &format!("{path}.segments"));
        if segment.hold.is_some() {
            self.held.pop();
        }
    }
}

/// Segments with resources by position, and their total length. Adds their critical sections to `sections`, one entry
/// per resource. `None` only if a rule missed a fault.
pub(super) fn ordered(
    segments: &[SegmentDraft],
    names: &Names<'_>,
    sections: &mut Vec<Section>,
) -> Option<(Vec<Segment>, Duration)> {
    let mut ordered_ones = Vec::with_capacity(segments.len());
    let mut total = Duration::ZERO;
    for segment in segments {
        let (inside, time) = match segment.run {
            Some(run) => (vec![Segment::Normal(run)], run),
            None => ordered(&segment.segments, names, sections)?,
        };
        total = total.checked_add(time)?;
        let Some(name) = &segment.hold else {
            ordered_ones.extend(inside);
            continue;
        };
        let resource = names.resource(name)?;
        match sections.iter_mut().find(|section| section.resource == resource) {
            Some(section) => {
                section.count = section.count.checked_add(1)?;
                section.longest = section.longest.max(time);
            }
            None => sections.push(Section { resource, longest: time, count: 1 }),
        }
        ordered_ones.push(Segment::Section { resource: resource.index(), inside });
    }
    Some((ordered_ones, total))
}
