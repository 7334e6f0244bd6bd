// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Compares what the jobs of a task did in the recorded run and in the replay.

use std::collections::{BTreeMap, VecDeque};

use taut_event::values::{RecordedInteraction, RecordedJob, RecordedTask};
use taut_event::{Interaction, JobOutcome};
use taut_plan::{ChannelKind, Plan};

use super::layout::{DifferingField, first_difference};

/// What a job did at a channel that a replay compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Output<'v> {
    /// It sent the value of this number; `None` in place of the value if the channel is not recorded.
    Sent(u64, Option<&'v [u8]>),
    Refused {
        too_many: bool,
    },
}

/// What differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// One number in the value differs.
    Value { number: u64, field: DifferingField },
    /// The recorded run sent a value that the replay did not send.
    NotSent { number: u64 },
    /// The replay sent a value that the recorded run did not send.
    OnlySent { number: u64 },
    /// A value was refused in one of them alone, or in both for different reasons.
    Refused,
    /// The code looked at the channel more often in one of them.
    Looks { recorded: usize, replayed: usize },
    /// The code ended in another way.
    Outcome { recorded: JobOutcome, replayed: JobOutcome },
    /// The replay has no such job.
    NoJob,
}

/// The first difference of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CodeDifference {
    /// The number of the job; `u64::MAX` for code that ran outside of jobs.
    pub(crate) job: u64,
    /// When the job was released, on the clock of the recorded run (ns).
    pub(crate) release_ns: u64,
    /// The channel, by its position in the plan.
    pub(crate) channel: Option<u16>,
    pub(crate) what: What,
}

/// The result of the comparison for one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TaskComparison {
    pub(crate) task: u16,
    /// Recorded jobs, and the values that they sent to recorded channels.
    pub(crate) jobs: u64,
    pub(crate) values: u64,
    pub(crate) difference: Option<CodeDifference>,
}

impl TaskComparison {
    /// Compares the recorded jobs of a task with those of a replay.
    pub(crate) fn of(plan: &Plan, was: &RecordedTask<'_>, is: &[RecordedJob<'_>]) -> Self {
        let values = |job: &RecordedJob<'_>| {
            let sent = job.interactions.iter();
            sent.filter(|of| matches!(of.interaction, Interaction::Sent { .. }) && of.value.is_some()).count()
        };
        let difference = was.jobs.iter().enumerate().find_map(|(at, job)| {
            let (channel, what) = match is.get(at).filter(|is| is.job == job.job) {
                Some(is) => of_job(plan, job, is)?,
                None => (None, What::NoJob),
            };
            Some(CodeDifference { job: job.job, release_ns: job.release_ns, channel, what })
        });
        let (jobs, values) = (was.jobs.len() as u64, was.jobs.iter().map(values).sum::<usize>() as u64);
        Self { task: was.task, jobs, values, difference }
    }
}

/// The first difference of a job: its outputs in the order of the recorded ones, then how often it looked, then its end.
fn of_job(plan: &Plan, was: &RecordedJob<'_>, is: &RecordedJob<'_>) -> Option<(Option<u16>, What)> {
    let mut again: BTreeMap<u16, VecDeque<Output<'_>>> = BTreeMap::new();
    for (channel, output) in is.interactions.iter().filter_map(output) {
        again.entry(channel).or_default().push_back(output);
    }
    for (channel, output) in was.interactions.iter().filter_map(output) {
        let next = again.get_mut(&channel).and_then(VecDeque::pop_front);
        if let Some(what) = of_output(plan, channel, output, next) {
            return Some((Some(channel), what));
        }
    }
    if let Some((channel, Some(first))) =
        again.iter().map(|(channel, left)| (*channel, left.front())).find(|(_, first)| first.is_some())
    {
        let what = match first {
            Output::Sent(number, _) => What::OnlySent { number: *number },
            Output::Refused { .. } => What::Refused,
        };
        return Some((Some(channel), what));
    }
    let (recorded, replayed) = (looks(plan, was), looks(plan, is));
    let channels = recorded.keys().chain(replayed.keys());
    let of = |looks: &BTreeMap<u16, usize>, channel: &u16| looks.get(channel).copied().unwrap_or(0);
    let differs = channels.copied().filter(|channel| of(&recorded, channel) != of(&replayed, channel)).min();
    if let Some(channel) = differs {
        let what = What::Looks { recorded: of(&recorded, &channel), replayed: of(&replayed, &channel) };
        return Some((Some(channel), what));
    }
    let (recorded, replayed) = (was.outcome, is.outcome);
    (recorded != replayed).then_some((None, What::Outcome { recorded, replayed }))
}

fn output<'v>(of: &RecordedInteraction<'v>) -> Option<(u16, Output<'v>)> {
    match of.interaction {
        Interaction::Sent { channel, number } => Some((channel, Output::Sent(number, of.value))),
        Interaction::Refused { channel, too_many } => Some((channel, Output::Refused { too_many })),
        _ => None,
    }
}

fn of_output(plan: &Plan, channel: u16, was: Output<'_>, is: Option<Output<'_>>) -> Option<What> {
    match (was, is) {
        (was, Some(is)) if was == is => None,
        (Output::Sent(number, Some(was)), Some(Output::Sent(other, Some(is)))) if number == other => {
            let layout =
                plan.channels.get(usize::from(channel)).map_or("", |channel| channel.layout.as_str());
            let bytes = || DifferingField {
                place: String::new(),
                recorded: format!("{} bytes", was.len()),
                replayed: format!("{} other bytes", is.len()),
            };
            Some(What::Value { number, field: first_difference(layout, was, is).unwrap_or_else(bytes) })
        }
        (Output::Sent(number, _), None) => Some(What::NotSent { number }),
        _ => Some(What::Refused),
    }
}

/// How often a job looked at each queue. If it looks more or less often, later jobs get other values. A state
/// is left out: a look at it takes nothing away.
fn looks(plan: &Plan, job: &RecordedJob<'_>) -> BTreeMap<u16, usize> {
    let mut looks = BTreeMap::new();
    for of in &job.interactions {
        let (Interaction::Received { channel, .. } | Interaction::Nothing { channel }) = of.interaction
        else {
            continue;
        };
        if plan.channels.get(usize::from(channel)).is_some_and(|of| of.kind == ChannelKind::Queue) {
            *looks.entry(channel).or_default() += 1;
        }
    }
    looks
}
