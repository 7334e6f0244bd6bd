// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Notable events of tasks and resources: attributes changed while the application ran, exhausted budgets, releases
//! that came too soon, failed jobs.

use taut_event::{Kind, Record};
use taut_model::SchedulingPolicy;
use taut_plan::{ClassPlan, Plan};
use taut_time::Duration;

use crate::decisions;

/// A text at an instant, and a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) at: u64,
    pub(crate) text: String,
    pub(crate) category: &'static str,
    /// The meaning of the number.
    pub(crate) what: &'static str,
    pub(crate) value: u64,
}

/// The category of a requested change.
const CHANGE: &str = "change";
/// The category of an unwanted event.
const TROUBLE: &str = "trouble";

/// The notes of a run, by position in the plan; resources in the order of [`decisions::resources`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes {
    pub(crate) tasks: Vec<Vec<Note>>,
    pub(crate) resources: Vec<Vec<Note>>,
}

impl Notes {
    pub(crate) fn of(plan: &Plan, records: &[Record]) -> Self {
        let resources = decisions::resources(plan).len();
        let mut notes =
            Self { tasks: vec![Vec::new(); plan.tasks.len()], resources: vec![Vec::new(); resources] };
        for record in records {
            let subject = usize::from(record.subject);
            let (on_task, text, (category, what, value)) = match record.kind {
                Kind::Level => {
                    let name = plan.tasks.get(subject).map(|task| task.name.as_str());
                    let (text, what) = attribute(plan, name, record);
                    (true, format!("level {text}"), (CHANGE, what, record.value))
                }
                Kind::Ceiling => {
                    let (text, what) = attribute(plan, user(plan, subject), record);
                    (false, format!("ceiling {text}"), (CHANGE, what, record.value))
                }
                Kind::Exhausted => {
                    let text = format!("budget of {} used up", Duration::from_ns(record.value));
                    (true, text, (TROUBLE, "budget_ns", record.value))
                }
                Kind::Overrun => {
                    let text = "released while its job still ran".to_owned();
                    (true, text, (TROUBLE, "job", record.job))
                }
                Kind::Skip => (true, "release dropped".to_owned(), (TROUBLE, "job", record.job)),
                Kind::Failed => (true, "job failed".to_owned(), (TROUBLE, "code", record.value)),
                Kind::ScopeExceeded => {
                    (true, "release scope used up".to_owned(), (TROUBLE, "asked_bytes", record.value))
                }
                _ => continue,
            };
            let of = if on_task { &mut notes.tasks } else { &mut notes.resources };
            if let Some(of) = of.get_mut(subject) {
                of.push(Note { at: record.at.as_ns(), text, category, what, value });
            }
        }
        for of in notes.tasks.iter_mut().chain(&mut notes.resources) {
            of.sort_by_key(|note| note.at);
        }
        notes
    }
}

/// A user of a resource; all its users are on one core.
fn user(plan: &Plan, resource: usize) -> Option<&str> {
    if let Some(resource) = plan.resources.get(resource) {
        return resource.users.first().map(String::as_str);
    }
    let mut states = plan.channels.iter().filter(|channel| channel.mechanism.locking().is_some());
    states.nth(resource - plan.resources.len()).map(|channel| channel.writer.name.as_str())
}

/// The value as text, and its meaning on that task's core: a priority, or under EDF a relative deadline.
fn attribute(plan: &Plan, task: Option<&str>, record: &Record) -> (String, &'static str) {
    let cpu = task.and_then(|name| plan.task(name)).and_then(|at| match &plan.tasks[at].class {
        ClassPlan::RealTime { cpu, .. } => Some(*cpu),
        ClassPlan::BestEffort {} => None,
    });
    let core = plan.cores.iter().find(|core| Some(core.cpu) == cpu);
    match core.map(|core| core.scheduler) {
        Some(SchedulingPolicy::Edf) => (Duration::from_ns(record.value).to_string(), "deadline_ns"),
        _ => (record.value.to_string(), "priority"),
    }
}
