// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How old data are at the end of a chain, and how soon it shows what happened, found from who received what.
//!
//! A job of a chain's last task worked on the values that it received; each was sent by some job of the task
//! before it, which had received others, and so on to the first task, whose release is when the data began. The
//! age at the end is the last job's completion less that release. Nothing of it is measured at run time: sends
//! and receptions carry sequence numbers, which is enough.
//!
//! A job that received several values has one age, that of the oldest. Reading a state again is not recorded, so a
//! job that received none worked on the value that its task received last. A value that cannot be traced back, since
//! its records were lost or it was sent before the recording began, has none.
//!
//! An event just behind the release of a job of the first task is seen by the next one; what matters is the first end
//! whose data, of the newest values received, are of that job or a later one. Of a first task that is itself released by
//! events, an event is its release. Where a job on the way was skipped for an overrun, or somebody was paused, nothing is said.
//!
//! Which of several readers of a channel received a value, its record does not say: it is the one whose job was running
//! on that CPU. Jobs of a core lie within each other, so of those that had begun it is the one that began last.

use std::collections::{BTreeMap, HashMap};

use taut_event::{Kind, Record};
use taut_plan::{ArrivalPlan, ChainPlan, ClassPlan, Kind as ChannelKind, Plan};

use crate::pauses::Pauses;

/// A [`Kind::ChainEnd`] record for every end of every chain that has none in the recording: a program that knows
/// the age of its data better may record it itself.
pub(crate) fn chain_ends(plan: &Plan, records: &[Record], history: &History<'_>) -> Vec<Record> {
    let mut ends = Vec::new();
    for (at, chain) in (0u16..).zip(&plan.chains) {
        if records.iter().any(|record| record.kind == Kind::ChainEnd && record.subject == at) {
            continue;
        }
        let Some(links) = links(plan, chain) else { continue };
        ends.extend(history.ends(&links).map(|end| Record { subject: at, ..end }));
    }
    ends
}

/// When a chain's output first showed something new, and how long before that it had happened at the earliest (ns).
pub(crate) fn reactions(
    plan: &Plan,
    chain: &ChainPlan,
    history: &History<'_>,
    pauses: &Pauses,
) -> Vec<(u64, u64)> {
    let Some(links) = links(plan, chain) else { return Vec::new() };
    let Some(first) = chain.path.first().and_then(|step| plan.tasks.get(plan.task(&step.name)?)) else {
        return Vec::new();
    };
    let sampled = matches!(&first.class, ClassPlan::RealTime { arrival: ArrivalPlan::Periodic { .. }, .. });
    history.reactions(&links, sampled, pauses)
}

/// A hop of a chain: from a task through a channel to the next.
struct Link {
    from: u16,
    channel: u16,
    /// Whether the channel keeps its value when it was read.
    state: bool,
    to: u16,
}

/// The hops of a chain; `None` if the plan does not know one of its names.
fn links(plan: &Plan, chain: &ChainPlan) -> Option<Vec<Link>> {
    let number = |at: Option<usize>| at.and_then(|at| u16::try_from(at).ok());
    let task = |name: &str| number(plan.task(name));
    let hops = chain.path.windows(3).step_by(2);
    hops.map(|hop| match hop {
        [from, channel, to] => {
            let at = plan.channel(&channel.name)?;
            let state = plan.channels[at].kind == ChannelKind::State;
            let channel = number(Some(at))?;
            Some(Link { from: task(&from.name)?, channel, state, to: task(&to.name)? })
        }
        _ => None,
    })
    .collect()
}

/// What a run's records say, by task and by channel.
pub(crate) struct History<'r> {
    /// (task, job) → its release.
    releases: HashMap<(u16, u64), u64>,
    /// task → its completions, in order.
    completions: HashMap<u16, Vec<&'r Record>>,
    /// (channel, sequence) → the sender's job.
    senders: HashMap<(u16, u64), u64>,
    /// (channel, reader) → job → the oldest and the newest sequence it received.
    received: HashMap<(u16, u16), BTreeMap<u64, (u64, u64)>>,
    /// task → the releases that were skipped, in order.
    skipped: HashMap<u16, Vec<u64>>,
}

impl<'r> History<'r> {
    pub(crate) fn of(plan: &Plan, records: &'r [Record]) -> Self {
        let mut history = Self {
            releases: HashMap::new(),
            completions: HashMap::new(),
            senders: HashMap::new(),
            received: HashMap::new(),
            skipped: HashMap::new(),
        };
        let mut started: HashMap<(u16, u64), u64> = HashMap::new();
        for record in records {
            match record.kind {
                Kind::Release => {
                    history.releases.insert((record.subject, record.job), record.at.as_ns());
                }
                Kind::Start => {
                    started.entry((record.subject, record.job)).or_insert(record.at.as_ns());
                }
                Kind::Complete => history.completions.entry(record.subject).or_default().push(record),
                Kind::Skip => history.skipped.entry(record.subject).or_default().push(record.at.as_ns()),
                Kind::Send => {
                    history.senders.insert((record.subject, record.value), record.job);
                }
                _ => {}
            }
        }
        history.skipped.values_mut().for_each(|times| times.sort_unstable());
        let readers: Vec<Vec<u16>> = plan
            .channels
            .iter()
            .map(|channel| {
                let own = channel.readers.iter().filter(|reader| !reader.client);
                own.filter_map(|reader| u16::try_from(plan.task(&reader.name)?).ok()).collect()
            })
            .collect();
        for record in records.iter().filter(|record| record.kind == Kind::Receive) {
            let Some(own) = readers.get(usize::from(record.subject)) else { continue };
            let several = own.len() > 1;
            let took = own.iter().filter_map(|reader| {
                // A job receives before it completes, and no other of its task completes in between.
                let completions = history.completions.get(reader)?;
                let next = completions.partition_point(|complete| complete.at < record.at);
                let complete = completions.get(next)?;
                let start = *started.get(&(*reader, complete.job))?;
                let running = start <= record.at.as_ns() && complete.cpu == record.cpu;
                (running || !several).then_some((start, *reader, complete.job))
            });
            let Some((_, reader, job)) = took.max() else { continue };
            let jobs = history.received.entry((record.subject, reader)).or_default();
            let (oldest, newest) = jobs.entry(job).or_insert((record.job, record.job));
            (*oldest, *newest) = (record.job.min(*oldest), record.job.max(*newest));
        }
        history
    }

    fn ends(&self, links: &[Link]) -> impl Iterator<Item = Record> {
        let last = links.last().map(|link| link.to);
        let completions = last.and_then(|task| self.completions.get(&task)).into_iter().flatten();
        completions.filter_map(|complete| {
            let job = self.source(links, complete.job, |(oldest, _)| oldest)?;
            let began = self.releases.get(&(links.first()?.from, job))?;
            let value = complete.at.as_ns().saturating_sub(*began);
            Some(Record { kind: Kind::ChainEnd, job: complete.job, value, ..**complete })
        })
    }

    /// The job of the first task whose data a job of the last one worked on; of several, the one picked.
    fn source(&self, links: &[Link], end: u64, pick: impl Fn((u64, u64)) -> u64) -> Option<u64> {
        links.iter().rev().try_fold(end, |job, link| {
            let jobs = self.received.get(&(link.channel, link.to))?;
            let (_, sequences) = jobs.range(if link.state { 0 } else { job }..=job).next_back()?;
            self.senders.get(&(link.channel, pick(*sequences))).copied()
        })
    }

    fn reactions(&self, links: &[Link], sampled: bool, pauses: &Pauses) -> Vec<(u64, u64)> {
        let (Some(first), Some(last)) = (links.first(), links.last()) else { return Vec::new() };
        let tasks: Vec<u16> = links.iter().map(|link| link.from).chain([last.to]).collect();
        let skipped = |from: u64, to: u64| {
            let of = |task| {
                let times = self.skipped.get(task)?;
                times.get(times.partition_point(|at| *at < from)).filter(|at| **at <= to)
            };
            tasks.iter().any(|task| of(task).is_some())
                || pauses.touch(tasks.iter().map(|task| usize::from(*task)), from, to)
        };
        let mut found = Vec::new();
        // The newest job that has been shown.
        let mut shown: Option<u64> = None;
        for complete in self.completions.get(&last.to).into_iter().flatten() {
            let Some(job) = self.source(links, complete.job, |(_, newest)| newest) else { continue };
            if shown.is_some_and(|shown| job <= shown) {
                continue;
            }
            let event = shown.and_then(|shown| {
                let seen = if sampled { shown } else { shown.checked_add(1)? };
                self.releases.get(&(first.from, seen)).copied()
            });
            let end = complete.at.as_ns();
            if let Some(event) = event.filter(|event| !skipped(*event, end)) {
                found.push((end, end.saturating_sub(event)));
            }
            shown = Some(job);
        }
        found
    }
}
