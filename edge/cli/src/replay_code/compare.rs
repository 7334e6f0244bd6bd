// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Compares what the jobs of a task did in the recorded run and in the replay.

use std::collections::{BTreeMap, VecDeque};

use taut_event::values::{RecordedInteraction, RecordedJob, RecordedTask};
use taut_event::{CancelOutcome, Interaction, JobOutcome, Refusal};
use taut_plan::{ChannelKind, Plan};

use super::layout::{DifferingField, first_difference};

/// What a job did at a channel that a replay compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Output<'v> {
    /// It sent this value; none of a channel that is not recorded. Its number follows from those before.
    Sent(Option<&'v [u8]>),
    Other(Act),
}

/// What a job did at a channel other than sending a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// It sent a value.
    Sent,
    Refused(Refusal),
    /// It asked for an alarm of this window (ns).
    Asked(u64, u64),
    /// The alarm is to be repeated in this time (ns).
    Repeated(u64),
    /// It cancelled the alarm of this number.
    Cancelled(u64, CancelOutcome),
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
    /// It did one thing in the recorded run, and another one in the replay; `None` if it did nothing more at the channel.
    Act { recorded: Option<Act>, replayed: Option<Act> },
    /// The code looked at the channel another number of times.
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
    let mut again: BTreeMap<u16, VecDeque<Done<'_>>> = BTreeMap::new();
    for (channel, done) in is.interactions.iter().filter_map(Done::of) {
        again.entry(channel).or_default().push_back(done);
    }
    for (channel, done) in was.interactions.iter().filter_map(Done::of) {
        let next = again.get_mut(&channel).and_then(VecDeque::pop_front);
        if let Some(what) = done.difference(plan, channel, next) {
            return Some((Some(channel), what));
        }
    }
    if let Some((channel, first)) = again.iter().find_map(|(channel, left)| Some((*channel, left.front()?))) {
        let what = match first.output {
            Output::Sent(_) => What::OnlySent { number: first.number },
            Output::Other(act) => What::Act { recorded: None, replayed: Some(act) },
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

/// An output, with the number under which a value is shown.
#[derive(Clone, Copy, Debug)]
struct Done<'v> {
    output: Output<'v>,
    number: u64,
}

impl<'v> Done<'v> {
    /// An interaction that is an output, with its channel.
    fn of(of: &RecordedInteraction<'v>) -> Option<(u16, Self)> {
        let (channel, act) = match of.interaction {
            Interaction::Sent { channel, number } => {
                return Some((channel, Self { output: Output::Sent(of.value), number }));
            }
            Interaction::Refused { channel, why } => (channel, Act::Refused(why)),
            Interaction::AlarmAsked { channel, earliest_ns, latest_ns } => {
                (channel, Act::Asked(earliest_ns, latest_ns))
            }
            Interaction::AlarmPeriod { channel, period_ns } => (channel, Act::Repeated(period_ns)),
            Interaction::AlarmCancelled { channel, number, outcome } => {
                (channel, Act::Cancelled(number, outcome))
            }
            Interaction::Begin { .. }
            | Interaction::End { .. }
            | Interaction::Received { .. }
            | Interaction::Nothing { .. }
            | Interaction::Lent { .. }
            | Interaction::Clock { .. }
            | Interaction::Used { .. }
            | Interaction::Checkpoint { .. }
            | Interaction::AlarmDue { .. } => return None,
        };
        Some((channel, Self { output: Output::Other(act), number: 0 }))
    }

    /// How a recorded output differs from that of the replay.
    fn difference(self, plan: &Plan, channel: u16, is: Option<Self>) -> Option<What> {
        let act = |output| match output {
            Output::Sent(_) => Act::Sent,
            Output::Other(act) => act,
        };
        match (self.output, is.map(|is| is.output)) {
            (was, Some(is)) if was == is => None,
            (Output::Sent(was), Some(Output::Sent(is))) => {
                let (was, is) = (was.unwrap_or_default(), is.unwrap_or_default());
                let layout =
                    plan.channels.get(usize::from(channel)).map_or("", |channel| channel.layout.as_str());
                let bytes = || DifferingField {
                    place: String::new(),
                    recorded: format!("{} bytes", was.len()),
                    replayed: format!("{} other bytes", is.len()),
                };
                let field = first_difference(layout, was, is).unwrap_or_else(bytes);
                Some(What::Value { number: self.number, field })
            }
            (Output::Sent(_), None) => Some(What::NotSent { number: self.number }),
            (was, is) => Some(What::Act { recorded: Some(act(was)), replayed: is.map(act) }),
        }
    }
}

/// How often a job looked at each queue, and asked for a block. Another number of looks changes what later jobs get. A state
/// gives the same to everybody who looks.
fn looks(plan: &Plan, job: &RecordedJob<'_>) -> BTreeMap<u16, usize> {
    let mut looks = BTreeMap::new();
    for of in &job.interactions {
        let (Interaction::Received { channel, .. }
        | Interaction::Nothing { channel }
        | Interaction::Lent { channel, .. }) = of.interaction
        else {
            continue;
        };
        if plan.channels.get(usize::from(channel)).is_some_and(|of| of.kind != ChannelKind::State) {
            *looks.entry(channel).or_default() += 1;
        }
    }
    looks
}

#[cfg(test)]
mod tests {
    use taut_event::RanCode;
    use taut_manifest::SourceText;

    use super::*;

    fn plan() -> Plan {
        let text = "manifest = 1\n[app]\nname = \"blocks\"\n[platform]\ncores = [0]\nmemory = \"8MiB\"\n\
                    [payloads]\nImage = { fields = { number = \"u32\", pixels = \"u8*4\" } }\n\
                    [tasks.camera]\narrival = { periodic = \"10ms\" }\ndeadline = \"10ms\"\n\
                    wcet = { value = \"100us\", source = \"guess\" }\n[tasks.logs]\nclass = \"best-effort\"\n\
                    [channels.images]\nkind = \"bulk\"\nfrom = \"camera\"\nto = \"logs\"\npayload = \"Image\"\n\
                    record = true\n";
        let source = SourceText { name: "taut.toml".to_owned(), text: text.to_owned() };
        let model = taut_manifest::load(&source, &[]).model.expect("a valid manifest");
        taut_planner::Planned::make(&model, Vec::new()).plan
    }

    fn job(interactions: &[(Interaction, Option<&'static [u8]>)]) -> RecordedJob<'static> {
        let of = interactions.iter().map(|(interaction, value)| RecordedInteraction {
            at_ns: 0,
            interaction: *interaction,
            value: *value,
            sent_ns: 0,
        });
        let (code, outcome, interactions) = (RanCode::Task, JobOutcome::Done, of.collect());
        RecordedJob { job: 0, release_ns: 0, begin_ns: 0, code, outcome, interactions }
    }

    /// A sender of blocks is compared as one of a queue is, and by how often it asked for a block.
    #[test]
    fn blocks_are_compared_and_loans_are_counted() {
        const LENT: (Interaction, Option<&[u8]>) =
            (Interaction::Lent { channel: 0, block: 1, recalled: 0 }, None);
        let sent = |value: &'static [u8]| (Interaction::Sent { channel: 0, number: 1 }, Some(value));
        let plan = plan();
        let was = job(&[LENT, sent(&[1, 0, 0, 0, 5, 6, 7, 8])]);
        let compared = |is: &[(Interaction, Option<&'static [u8]>)]| {
            let task = RecordedTask { task: 0, jobs: vec![was.clone()] };
            let compared = TaskComparison::of(&plan, &task, &[job(is)]);
            assert_eq!((compared.jobs, compared.values), (1, 1));
            compared.difference.map(|difference| (difference.channel, difference.what))
        };
        assert_eq!(compared(&[LENT, sent(&[1, 0, 0, 0, 5, 6, 7, 8])]), None);
        let looks = What::Looks { recorded: 1, replayed: 2 };
        assert_eq!(compared(&[LENT, LENT, sent(&[1, 0, 0, 0, 5, 6, 7, 8])]), Some((Some(0), looks)));
        let field = DifferingField {
            place: "pixels[2]".to_owned(),
            recorded: "7".to_owned(),
            replayed: "9".to_owned(),
        };
        let value = What::Value { number: 1, field };
        assert_eq!(compared(&[LENT, sent(&[1, 0, 0, 0, 5, 6, 9, 8])]), Some((Some(0), value)));
        assert_eq!(compared(&[LENT]), Some((Some(0), What::NotSent { number: 1 })));
    }
}
