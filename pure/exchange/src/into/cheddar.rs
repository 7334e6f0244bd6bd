// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Cheddar, XML version 3. Times are whole numbers of the largest unit of time that divides all of them.
//!
//! A critical section is given by its first and last unit of execution, both inside and counted from 1.

use std::collections::BTreeMap;

use taut_model::SchedulingPolicy;
use taut_time::Duration;

use super::{Export, Step, offset};
use crate::place::note;

/// The greatest time that Cheddar takes: a whole number of 31 bits.
const MOST: u64 = (1 << 31) - 1;

/// Writes the whole file.
pub(crate) fn write(export: &mut Export<'_>) {
    let set = export.set;
    let steps: Vec<Vec<Step>> = (0..set.tasks().len()).map(|at| export.steps(at, true)).collect();
    let unit = unit(export, &steps);
    let units = |time: Duration| time.as_ns() / unit.as_ns();
    let longest = set.tasks().iter().map(|task| units(task.period.max(task.deadline))).max().unwrap_or(0);
    if longest > MOST {
        export.lose("tasks", format!("times in {unit} are longer than its numbers may be: {longest}"));
    }
    let edf = set.cores().first() == Some(&SchedulingPolicy::Edf);
    export.line("<?xml version=\"1.0\" encoding=\"utf-8\"?>");
    export.line(format!("<!-- {} -->", note(unit)));
    export.line("<cheddar>");
    cores(export, edf);
    export.line(" <tasks>");
    for (at, task) in export.tasks() {
        let sporadic = task.arrivals.is_sporadic();
        let (tag, kind) =
            if sporadic { ("sporadic_task", "SPORADIC_TYPE") } else { ("periodic_task", "PERIODIC_TYPE") };
        export.line(format!("  <{tag} id=\"task_{at}\">"));
        let priority = if edf { 1 } else { task.priority };
        for (key, value) in [
            ("object_type", "TASK_OBJECT_TYPE".to_owned()),
            ("name", export.name(at).to_owned()),
            ("task_type", kind.to_owned()),
            ("cpu_name", format!("cpu_{}", task.core)),
            ("address_space_name", format!("space_{}", task.core)),
            ("capacity", units(set.cost(at)).to_string()),
            ("deadline", units(task.deadline).to_string()),
            ("start_time", units(offset(task)).to_string()),
            ("priority", priority.to_string()),
            ("blocking_time", "0".to_owned()),
            ("policy", "SCHED_FIFO".to_owned()),
            ("text_memory_size", "0".to_owned()),
            ("stack_memory_size", "0".to_owned()),
            ("criticality", "0".to_owned()),
            ("context_switch_overhead", "0".to_owned()),
            ("period", units(task.period).to_string()),
            ("jitter", units(task.jitter).to_string()),
            ("every", "0".to_owned()),
        ] {
            export.line(format!("   <{key}>{value}</{key}>"));
        }
        export.line(format!("  </{tag}>"));
    }
    export.line(" </tasks>");
    resources(export, &steps, unit);
    export.line("</cheddar>");
}

fn ident(name: &str) -> String {
    name.replace(['-', ' '], "_")
}

/// The largest of the usual units in which all times are whole.
fn unit(export: &Export<'_>, steps: &[Vec<Step>]) -> Duration {
    let set = export.set;
    let tasks = set
        .tasks()
        .iter()
        .enumerate()
        .flat_map(|(at, task)| [task.period, task.deadline, task.jitter, offset(task), set.cost(at)]);
    let runs = steps.iter().flatten().filter_map(|step| match step {
        Step::Run(time) => Some(*time),
        Step::Lock(_) | Step::Unlock(_) => None,
    });
    let all: Vec<u64> = tasks.chain(runs).map(Duration::as_ns).collect();
    let divides = |unit: &u64| all.iter().all(|time| time.is_multiple_of(*unit));
    Duration::from_ns((0..=6).rev().map(|power| 10u64.pow(power)).find(divides).unwrap_or(1))
}

fn cores(export: &mut Export<'_>, edf: bool) {
    let protocol =
        if edf { "EARLIEST_DEADLINE_FIRST_PROTOCOL" } else { "POSIX_1003_HIGHEST_PRIORITY_FIRST_PROTOCOL" };
    let count = export.set.cores().len();
    let scheduling = |protocol: &str| {
        format!(
            "   <scheduling>\n    <scheduling_parameters>\n     <scheduler_type>{protocol}</scheduler_type>\n     \
             <quantum>0</quantum>\n     <preemptive_type>PREEMPTIVE</preemptive_type>\n     <capacity>0</capacity>\n     \
             <period>0</period>\n     <priority>0</priority>\n     <start_time>0</start_time>\n    \
             </scheduling_parameters>\n   </scheduling>"
        )
    };
    export.line(" <core_units>");
    for core in 0..count {
        export.line(format!("  <core_unit id=\"core_{core}\">\n   <object_type>CORE_OBJECT_TYPE</object_type>\n   <name>core_{core}</name>"));
        export.line(scheduling(protocol));
        export.line("   <speed>1</speed>\n  </core_unit>");
    }
    export.line(" </core_units>\n <processors>");
    for core in 0..count {
        export.line(format!(
            "  <mono_core_processor id=\"processor_{core}\">\n   <object_type>PROCESSOR_OBJECT_TYPE</object_type>\n   \
             <name>cpu_{core}</name>\n   <processor_type>MONOCORE_TYPE</processor_type>\n   \
             <migration_type>NO_MIGRATION_TYPE</migration_type>\n   <core ref=\"core_{core}\">\n   </core>\n  \
             </mono_core_processor>"
        ));
    }
    export.line(" </processors>\n <address_spaces>");
    for core in 0..count {
        export.line(format!(
            "  <address_space id=\"address_{core}\">\n   <object_type>ADDRESS_SPACE_OBJECT_TYPE</object_type>\n   \
             <name>space_{core}</name>\n   <cpu_name>cpu_{core}</cpu_name>"
        ));
        for key in ["text_memory_size", "stack_memory_size", "data_memory_size", "heap_memory_size"] {
            export.line(format!("   <{key}>0</{key}>"));
        }
        export.line(scheduling("NO_SCHEDULING_PROTOCOL"));
        export.line("  </address_space>");
    }
    export.line(" </address_spaces>");
}

/// By resource: the task, and the first and last unit of execution inside.
type Spans = BTreeMap<usize, Vec<(usize, u64, u64)>>;

fn spans(steps: &[Vec<Step>], unit: Duration) -> Spans {
    let mut spans = Spans::new();
    for (task, steps) in steps.iter().enumerate() {
        let (mut now, mut open) = (0u64, Vec::new());
        for step in steps {
            match step {
                Step::Run(time) => now = now.saturating_add(time.as_ns() / unit.as_ns()),
                Step::Lock(_) => open.push(now.saturating_add(1)),
                Step::Unlock(resource) => {
                    if let Some(begin) = open.pop() {
                        spans.entry(*resource).or_default().push((task, begin, now));
                    }
                }
            }
        }
    }
    spans
}

fn resources(export: &mut Export<'_>, steps: &[Vec<Step>], unit: Duration) {
    let spans = spans(steps, unit);
    if spans.is_empty() {
        return;
    }
    export.line(" <resources>");
    for (resource, sections) in spans {
        let name = &export.set.resources()[resource].name;
        let users: Vec<_> = export.set.users(resource).map(|task| &export.set.tasks()[task]).collect();
        let core = users.first().map_or(0, |task| task.core);
        if !export.set.is_local(resource) {
            export.lose(format!("resources.{name}"), "of several cores: it stands on the first of them");
        }
        let ceiling = users.iter().map(|task| task.priority).max().unwrap_or(1);
        export.line(format!(
            "  <ipcp_resource id=\"resource_{resource}\">\n   <object_type>RESOURCE_OBJECT_TYPE</object_type>\n   \
             <name>{}</name>\n   <state>1</state>\n   <size>0</size>\n   <address>0</address>\n   \
             <protocol>IMMEDIATE_PRIORITY_CEILING_PROTOCOL</protocol>\n   <critical_sections>",
            ident(name)
        ));
        for (task, begin, end) in sections {
            export.line(format!(
                "    <task_name>{}</task_name>\n    <critical_section>\n     <task_begin>{begin}</task_begin>\n     \
                 <task_end>{end}</task_end>\n    </critical_section>",
                export.name(task)
            ));
        }
        export.line(format!(
            "   </critical_sections>\n   <cpu_name>cpu_{core}</cpu_name>\n   <address_space_name>space_{core}</address_space_name>\n   \
             <priority>{ceiling}</priority>\n   <priority_assignment>AUTOMATIC_ASSIGNMENT</priority_assignment>\n  \
             </ipcp_resource>"
        ));
    }
    export.line(" </resources>");
}
