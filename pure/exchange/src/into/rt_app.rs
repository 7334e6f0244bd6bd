// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! rt-app, JSON: a thread per task that runs, locks and waits for its next period. Times are in microseconds.
//!
//! The order of the keys in a task is its program; a number at the end of each key makes it unique.

use taut_model::SchedulingPolicy;
use taut_time::Duration;

use super::{Export, Step, offset};

/// How long the threads run by default, in seconds.
const SECONDS: u64 = 10;

/// Writes the whole file.
pub(crate) fn write(export: &mut Export<'_>) {
    let set = export.set;
    for (at, name) in export.resources() {
        let local = set.is_local(at);
        let how = if local { "a mutex with priority inheritance" } else { "a mutex, of several cores" };
        export.lose(format!("resources.{name}"), format!("it is {how}"));
    }
    export.plain_periods();
    export.line("{");
    export.line("    \"tasks\": {");
    for (at, task) in export.tasks() {
        let (keys, key) = (keys(export, at), export.name(at).to_owned());
        let comma = if at + 1 < set.tasks().len() { "," } else { "" };
        export.line(format!(
            "        \"{key}\": {{\n            {}\n        }}{comma}",
            keys.join(",\n            ")
        ));
        let edf = set.cores().get(task.core) == Some(&SchedulingPolicy::Edf);
        if task.deadline.as_ns() != us(task.period, false).saturating_mul(1_000) && !edf {
            export.lose_of(at, "deadline", "its slack is to the end of the period");
        }
    }
    let first = if set.tasks().is_empty() { 0 } else { export.cpu(0) };
    let seconds = export.options.duration.map_or(SECONDS, |time| time.as_ns().div_ceil(1_000_000_000).max(1));
    export.line("    },");
    export.line("    \"global\": {");
    export.line(format!("        \"duration\": {seconds},"));
    export.line(format!("        \"calibration\": \"CPU{first}\","));
    export.line("        \"default_policy\": \"SCHED_OTHER\",");
    export.line("        \"pi_enabled\": true,");
    export.line("        \"lock_pages\": true,");
    export.line("        \"logdir\": \"./\",");
    export.line(format!("        \"log_basename\": \"{}\"", export.model.app().name));
    export.line("    }");
    export.line("}");
}

/// The keys of a task, in order.
fn keys(export: &mut Export<'_>, at: usize) -> Vec<String> {
    let (set, task) = (export.set, &export.set.tasks()[at]);
    let mut keys = Vec::new();
    if set.cores().get(task.core) == Some(&SchedulingPolicy::Edf) {
        export.lose_of(at, "core", "a thread of SCHED_DEADLINE keeps to no core");
        if task.deadline > task.period {
            export.lose_of(
                at,
                "deadline",
                "SCHED_DEADLINE has none longer than the period, which is written",
            );
        } else if !task.deadline.as_ns().is_multiple_of(1_000) {
            export.lose_of(at, "deadline", "cut to whole microseconds");
        }
        keys.push("\"policy\": \"SCHED_DEADLINE\"".to_owned());
        for (key, time, up) in [
            ("runtime", set.cost(at), true),
            ("deadline", task.deadline.min(task.period), false),
            ("period", task.period, false),
        ] {
            keys.push(format!("\"dl-{key}\": {}", us(time, up)));
        }
    } else {
        keys.push("\"policy\": \"SCHED_FIFO\"".to_owned());
        keys.push(format!("\"priority\": {}", task.priority));
        keys.push(format!("\"cpus\": [{}]", export.cpu(at)));
    }
    if [offset(task), task.period].iter().any(|time| !time.as_ns().is_multiple_of(1_000)) {
        export.lose_of(at, "arrival", "cut to whole microseconds");
    }
    if !offset(task).is_zero() {
        keys.push(format!("\"delay\": {}", us(offset(task), false)));
    }
    keys.push("\"loop\": -1".to_owned());
    let (mut runs, mut locks, mut unlocks) = (0, 0, 0);
    let mut rounded = false;
    for step in export.steps(at, true) {
        let resource = |at: usize| &set.resources()[at].name;
        keys.push(match step {
            Step::Run(time) => {
                rounded |= !time.as_ns().is_multiple_of(1_000);
                format!("\"run{}\": {}", next(&mut runs), us(time, true))
            }
            Step::Lock(at) => format!("\"lock{}\": \"{}\"", next(&mut locks), resource(at)),
            Step::Unlock(at) => format!("\"unlock{}\": \"{}\"", next(&mut unlocks), resource(at)),
        });
    }
    if rounded {
        export.lose_of(at, "wcet", "each part is rounded up to whole microseconds");
    }
    let (key, period) = (export.name(at), us(task.period, false));
    keys.push(format!(
        "\"timer\": {{ \"ref\": \"{key}-period\", \"period\": {period}, \"mode\": \"absolute\" }}"
    ));
    keys
}

fn next(count: &mut u32) -> u32 {
    *count += 1;
    *count - 1
}

/// Whole microseconds; at least one for a time above 0.
fn us(time: Duration, up: bool) -> u64 {
    let ns = time.as_ns();
    if up { ns.div_ceil(1_000) } else { (ns / 1_000).max(ns.min(1)) }
}
