// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Critical sections: on defined resources, once each, and within the execution time.

use taut_time::Duration;

use super::faults::Faults;
use super::names::{Names, Want};
use crate::{ClassDraft, Draft, Fault, KeyPath, RealTimeDraft, codes};

pub(super) fn check(draft: &Draft, names: &Names<'_>, faults: &mut Faults<'_>) {
    for task in &draft.tasks {
        if let ClassDraft::RealTime(real_time) = &task.class {
            sections(&task.name, real_time, names, faults);
        }
    }
}

fn sections(name: &str, task: &RealTimeDraft, names: &Names<'_>, faults: &mut Faults<'_>) {
    let at = |index: usize, key: &str| KeyPath::value(format!("tasks.{name}.sections.{index}.{key}"));
    let mut total = Some(Duration::ZERO);
    for (index, section) in task.sections.iter().enumerate() {
        let resource = &section.resource;
        if names.resource(resource).is_none() {
            names.dangling(Want::Resource, resource, at(index, "resource"), faults);
        }
        if let Some(first) = task.sections[..index].iter().position(|other| other.resource == *resource) {
            let message = format!("task `{name}` has two entries for `{resource}`");
            faults.push(
                Fault::error(codes::BAD_SECTION, message, at(index, "resource"), "again here")
                    .also(at(first, "resource"), "first here")
                    .help("write one entry, with the longest `longest` and the sum of `count`"),
            );
        }
        if section.longest.is_zero() {
            let message = format!("task `{name}` holds `{resource}` for a time of zero");
            faults.push(
                Fault::error(codes::BAD_SECTION, message, at(index, "longest"), "zero")
                    .help("measure it, or write a guess that is too long"),
            );
        }
        let time = section.longest.checked_mul(section.count.into());
        total = total.and_then(|total| total.checked_add(time?));
    }
    let Some(longest) = (0..task.sections.len()).max_by_key(|&i| task.sections[i].longest) else { return };
    if total.is_some_and(|total| total <= task.wcet.value) || task.wcet.value.is_zero() {
        return;
    }
    let message = format!("the critical sections of task `{name}` are longer than its execution time");
    let text =
        total.map_or("too long".to_owned(), |total| format!("{total} in all, with the other sections"));
    let fault = Fault::error(codes::BAD_SECTION, message, at(longest, "longest"), text)
        .also(KeyPath::value(format!("tasks.{name}.wcet.value")), format!("runs for {}", task.wcet.value))
        .note("an execution time includes its critical sections: `count` of each, `longest` each")
        .help("shorten the sections, or raise the execution time");
    faults.push_resting_on(fault, &[&format!("tasks.{name}.sections")]);
}
