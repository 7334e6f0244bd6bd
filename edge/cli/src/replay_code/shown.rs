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

#[cfg(test)]
mod tests {
    use taut_event::values::{RecordedInteraction, RecordedJob, RecordedTask};
    use taut_event::{Interaction, JobOutcome, RanCode, Refusal};
    use taut_manifest::SourceText;

    use super::*;

    const MANIFEST: &str = r#"
manifest = 1
[app]
name = "rings"
[platform]
cores = [0]
memory = "8MiB"
[payloads]
Word = { type = "u32" }
[tasks.sets]
arrival = { periodic = "10ms" }
deadline = "10ms"
wcet = { value = "100us", source = "guess" }
[tasks.takes]
arrival = { sporadic = "5ms", trigger = "due" }
deadline = "5ms"
wcet = { value = "100us", source = "guess" }
[channels.due]
kind = "alarm"
from = "sets"
to = "takes"
payload = "Word"
capacity = 4
record = true
"#;

    const BEGIN: u64 = 5_000_000;

    fn job(interactions: &[(Interaction, Option<&'static [u8]>)]) -> RecordedJob<'static> {
        let interactions = interactions.iter();
        let interactions = interactions.map(|(interaction, value)| RecordedInteraction {
            at_ns: 0,
            interaction: *interaction,
            value: *value,
            sent_ns: 0,
        });
        RecordedJob {
            job: 3,
            release_ns: BEGIN + 30_000_000,
            begin_ns: BEGIN + 30_000_000,
            code: RanCode::Task,
            outcome: JobOutcome::Done,
            interactions: interactions.collect(),
        }
    }

    /// What the second line says of two runs of a job, if they differ.
    fn said(
        was: &[(Interaction, Option<&'static [u8]>)],
        is: &[(Interaction, Option<&'static [u8]>)],
    ) -> Option<String> {
        let source = SourceText { name: "taut.toml".to_owned(), text: MANIFEST.to_owned() };
        let model = taut_manifest::load(&source, &[]).model.expect("a valid manifest");
        let plan = taut_planner::Planned::make(&model, Vec::new()).plan;
        let recorded = RecordedTask { task: 0, jobs: vec![job(was)] };
        let tasks = vec![TaskComparison::of(&plan, &recorded, &[job(is)])];
        let compared = Compared { plan: &plan, begin: BEGIN, tasks };
        let text = compared.text();
        (!compared.is_equal()).then(|| text.lines().nth(1).unwrap_or_default().to_owned())
    }

    #[test]
    fn what_differs_is_said_for_both_sides() {
        let asked =
            |earliest_ns, latest_ns| (Interaction::AlarmAsked { channel: 0, earliest_ns, latest_ns }, None);
        let sent = |number, value| (Interaction::Sent { channel: 0, number }, Some(value));
        let refused = |why| (Interaction::Refused { channel: 0, why }, None);
        let repeated = |period_ns| (Interaction::AlarmPeriod { channel: 0, period_ns }, None);
        let cancelled = |number| {
            let outcome = CancelOutcome::Prevented;
            (Interaction::AlarmCancelled { channel: 0, number, outcome }, None)
        };
        let (one, other): (&'static [u8], &'static [u8]) = (&[1, 0, 0, 0], &[2, 0, 0, 0]);
        let due = BEGIN + 40_000_000;
        let words = |was: &[_], is: &[_]| said(was, is).expect("a difference");
        assert_eq!(said(&[asked(due, due), sent(7, one)], &[asked(due, due), sent(7, one)]), None);
        // The number of a value is where it stands: it is no difference.
        assert_eq!(said(&[sent(7, one)], &[sent(8, one)]), None);
        assert_eq!(
            words(&[sent(7, one)], &[sent(8, other)]),
            "value 7 of `due/sets`: recorded 1, replayed 2"
        );
        assert_eq!(
            words(&[sent(7, one)], &[]),
            "value 7 of `due/sets` was recorded, and is not sent in the replay"
        );
        assert_eq!(
            words(&[], &[sent(7, one)]),
            "value 7 of `due/sets` is sent in the replay, and was not recorded"
        );
        let at = "what it does at `due/sets`: recorded ";
        let cases = [
            (
                vec![asked(due, due)],
                vec![asked(due, due + 1)],
                "an alarm for 40.000000 ms, replayed an alarm between 40.000000 ms and 40.000001 ms",
            ),
            (
                vec![asked(1_000_000, 1_000_000)],
                vec![sent(1, one)],
                "an alarm for 4.000000 ms before release 0, replayed a value sent",
            ),
            (vec![repeated(1_500)], vec![], "the alarm repeated every 0.001500 ms, replayed nothing more"),
            (vec![], vec![cancelled(4)], "nothing more, replayed alarm 4 cancelled (prevented)"),
            (
                vec![refused(Refusal::Full)],
                vec![refused(Refusal::TooMany)],
                "a value refused: no place was free, replayed a value refused: the job had sent as many as it may",
            ),
            (
                vec![sent(1, one)],
                vec![refused(Refusal::Late)],
                "a value sent, replayed a value refused: its instant had passed",
            ),
        ];
        for (was, is, expected) in cases {
            assert_eq!(words(&was, &is), format!("{at}{expected}"));
        }
    }
}
