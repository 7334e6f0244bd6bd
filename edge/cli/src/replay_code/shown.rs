// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The result of a replay of code, as text and as JSON.

use std::fmt::Write;

use taut_event::CancelOutcome;
use taut_plan::Plan;

use super::compare::{Act, CodeDifference, TaskComparison, What};
use crate::columns::columns;

/// The tasks whose code is not replayed, and why; a line for each.
pub(crate) fn left_out(plan: &Plan) -> String {
    let mut text = String::new();
    for (at, task) in plan.tasks.iter().enumerate() {
        if let Err(why) = plan.replays(at) {
            let _ = writeln!(text, "not replayed: `{}`: {why}", task.name);
        }
    }
    text
}

fn plural(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// The result of a replay of code.
pub(crate) struct Compared<'a> {
    pub(crate) plan: &'a Plan,
    /// Release 0 of the recorded run (ns).
    pub(crate) begin: u64,
    pub(crate) tasks: Vec<TaskComparison>,
}

impl Compared<'_> {
    pub(crate) fn is_equal(&self) -> bool {
        self.tasks.iter().all(|task| task.difference.is_none())
    }

    /// The first difference in the order of releases, with its task.
    fn first(&self) -> Option<(&TaskComparison, &CodeDifference)> {
        let all = self.tasks.iter().filter_map(|task| Some((task, task.difference.as_ref()?)));
        all.min_by_key(|(_, difference)| difference.release_ns)
    }

    fn task(&self, at: u16) -> &str {
        self.plan.tasks.get(usize::from(at)).map_or("?", |task| task.name.as_str())
    }

    fn channel(&self, at: u16) -> &str {
        self.plan.channels.get(usize::from(at)).map_or("?", |channel| channel.name.as_str())
    }

    /// The job of a difference, and its release.
    fn job(&self, difference: &CodeDifference) -> String {
        let us = difference.release_ns.saturating_sub(self.begin) / 1_000;
        let when = format!("{}.{:03} ms", us / 1_000, us % 1_000);
        match difference.job {
            u64::MAX => format!("outside of its jobs, at {when}"),
            job => format!("job {job}, released at {when}"),
        }
    }

    /// What differs, in words.
    fn words(&self, difference: &CodeDifference) -> String {
        let channel = difference.channel.map_or("?", |channel| self.channel(channel));
        match &difference.what {
            What::Value { number, field } => {
                let of = if field.place.is_empty() { String::new() } else { format!(", `{}`", field.place) };
                format!(
                    "value {number} of `{channel}`{of}: recorded {}, replayed {}",
                    field.recorded, field.replayed
                )
            }
            What::NotSent { number } => {
                format!("value {number} of `{channel}` was recorded, and is not sent in the replay")
            }
            What::OnlySent { number } => {
                format!("value {number} of `{channel}` is sent in the replay, and was not recorded")
            }
            What::Act { recorded, replayed } => {
                let words =
                    |act: &Option<Act>| act.map_or_else(|| "nothing more".to_owned(), |act| self.act(act));
                format!(
                    "what it does at `{channel}`: recorded {}, replayed {}",
                    words(recorded),
                    words(replayed)
                )
            }
            What::Looks { recorded, replayed } => {
                format!("looks into `{channel}`: recorded {recorded}, replayed {replayed}")
            }
            What::Outcome { recorded, replayed } => {
                format!("how its code ended: recorded `{recorded}`, replayed `{replayed}`")
            }
            What::NoJob => "it has no such job in the replay".to_owned(),
        }
    }

    /// What a job did at a channel, in words.
    fn act(&self, act: Act) -> String {
        let at = |ns: u64| format!("{}.{:06} ms", ns / 1_000_000, ns % 1_000_000);
        let instant = |ns: u64| match ns.checked_sub(self.begin) {
            Some(since_ns) => at(since_ns),
            None => format!("{} before release 0", at(self.begin - ns)),
        };
        match act {
            Act::Sent => "a value sent".to_owned(),
            Act::Refused(why) => format!("a value refused: {why}"),
            Act::Asked(earliest_ns, latest_ns) if earliest_ns == latest_ns => {
                format!("an alarm for {}", instant(latest_ns))
            }
            Act::Asked(earliest_ns, latest_ns) => {
                format!("an alarm between {} and {}", instant(earliest_ns), instant(latest_ns))
            }
            Act::Repeated(period_ns) => format!("the alarm repeated every {}", at(period_ns)),
            Act::Cancelled(number, outcome) => {
                let outcome = match outcome {
                    CancelOutcome::Prevented => "prevented",
                    CancelOutcome::Underway => "underway",
                    CancelOutcome::Over => "over",
                };
                format!("alarm {number} cancelled ({outcome})")
            }
        }
    }

    pub(crate) fn text(&self) -> String {
        let values: u64 = self.tasks.iter().map(|task| task.values).sum();
        let compared = format!("{} of {}", plural(values, "value"), plural(self.tasks.len() as u64, "task"));
        let mut text = match self.first() {
            None => format!("{}: equal: {compared}\n", self.plan.app),
            Some((task, first)) => format!(
                "{}: DIFFERS in task `{}`, {}\n{}\n",
                self.plan.app,
                self.task(task.task),
                self.job(first),
                self.words(first)
            ),
        };
        let rows: Vec<[String; 4]> = self.tasks.iter().map(|task| self.row(task)).collect();
        text += &columns(["task", "jobs", "values", "equal"], &rows);
        text + &left_out(self.plan)
    }

    fn row(&self, task: &TaskComparison) -> [String; 4] {
        let equal = match &task.difference {
            None => "all".to_owned(),
            Some(difference) if difference.job == u64::MAX => "not all".to_owned(),
            Some(difference) => format!("before job {}", difference.job),
        };
        [self.task(task.task).to_owned(), task.jobs.to_string(), task.values.to_string(), equal]
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        let difference = |of: &CodeDifference| {
            let (number, field) = match &of.what {
                What::Value { number, field } => (Some(*number), Some(field)),
                What::NotSent { number } | What::OnlySent { number } => (Some(*number), None),
                _ => (None, None),
            };
            serde_json::json!({
                "job": Some(of.job).filter(|job| *job != u64::MAX),
                "released_ns": of.release_ns.saturating_sub(self.begin),
                "channel": of.channel.map(|channel| self.channel(channel)),
                "value": number,
                "field": field.map(|field| field.place.as_str()),
                "recorded": field.map(|field| field.recorded.as_str()),
                "replayed": field.map(|field| field.replayed.as_str()),
                "what": self.words(of),
            })
        };
        let task = |task: &TaskComparison| {
            serde_json::json!({
                "task": self.task(task.task),
                "jobs": task.jobs,
                "values": task.values,
                "difference": task.difference.as_ref().map(difference),
            })
        };
        let tasks = self.plan.tasks.iter().enumerate();
        let left_out = tasks.filter_map(|(at, task)| {
            let why = self.plan.replays(at).err()?;
            Some(serde_json::json!({ "task": task.name, "why": why.to_string() }))
        });
        serde_json::json!({
            "schema_version": 1,
            "app": self.plan.app,
            "verdict": if self.is_equal() { "equal" } else { "differs" },
            "first": self.first().map(|(task, _)| self.task(task.task)),
            "tasks": self.tasks.iter().map(task).collect::<Vec<_>>(),
            "not_replayed": left_out.collect::<Vec<_>>(),
        })
    }
}
