// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The age of data at the end of a chain, and how soon its output reflects an event, derived from the records of
//! sends and receptions.
//!
//! A job of a chain's last task worked on the values that it received. A job of the previous task sent each of them,
//! after receiving values itself, and so on back to the first task, whose release is the origin of the data. The age
//! at the end is the last job's completion less that release. The runtime measures no ages: sends and receptions
//! carry sequence numbers, which is enough.
//!
//! A job that received several values has one age, that of the oldest. A repeated read of a state is not recorded, so
//! a job that received nothing worked on the value that its task received last: of a state with several sources, from
//! whichever source. A value has no age if it cannot be traced back, because its records were lost or it was sent before the
//! recording began.
//!
//! If an event occurs just after a job's release, the next job of the first task is the first to see it. The reaction
//! ends with the first output whose data come from that job or a later one, traced back through the newest values
//! received. If events release the first task, an event is its release. If a job on the way was skipped for an overrun,
//! or a task on the way was paused, there is no reaction time.
//!
//! The record of a reception from a state does not say which of its readers received the value: it is the reader whose job
//! was running on that CPU. The jobs of a core nest in time, so of the jobs under way the one that started last was
//! running.

use std::collections::{BTreeMap, HashMap};

use taut_event::{Event, Kind, Record};
use taut_plan::{Arrival, ChainPlan, ChannelKind, ClassPlan, Plan};
use taut_time::Duration;

use crate::pauses::Pauses;

/// The [`Kind::ChainEnd`] records of each chain for which the recording has no such record. A program that knows the
/// age of its data better may record it itself.
pub(crate) fn chain_ends(plan: &Plan, records: &[Record], history: &History<'_>) -> Vec<Record> {
    let mut ends = Vec::new();
    for (at, chain) in (0u16..).zip(&plan.chains) {
        if records.iter().any(|record| record.kind == Kind::ChainEnd && record.subject == at) {
            continue;
        }
        let Some(links) = links(plan, chain) else { continue };
        ends.extend(history.ends(at, &links));
    }
    ends
}

/// For each output of a chain that shows something new: its instant, and the longest time since an event that it is
/// the first to show (ns).
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
    let sampled = matches!(&first.class, ClassPlan::RealTime { arrival: Arrival::Periodic { .. }, .. });
    history.reactions(&links, sampled, pauses)
}

/// A hop of a chain: from a task through a channel to the next.
struct Link {
    from: u16,
    channel: u16,
    /// Whether the channel keeps its value after a read.
    state: bool,
    /// The other sources of the state, if it has several: their values replace this channel's at the reader.
    others: Vec<u16>,
    to: u16,
}

/// The hops of a chain; `None` if the plan does not have one of its names.
fn links(plan: &Plan, chain: &ChainPlan) -> Option<Vec<Link>> {
    let number = |at: Option<usize>| at.and_then(|at| u16::try_from(at).ok());
    let task = |name: &str| number(plan.task(name));
    let hops = chain.path.windows(3).step_by(2);
    hops.map(|hop| match hop {
        [from, channel, to] => {
            let at = plan.channel(&channel.name)?;
            let state = plan.channels[at].kind == ChannelKind::State;
            let source = plan.channels[at].source.as_ref();
            let others = source.map_or(Vec::new(), |source| plan.sources(&source.state));
            let others = others.into_iter().filter(|(other, _)| *other != at);
            let others = others.filter_map(|(other, _)| number(Some(other))).collect();
            let channel = number(Some(at))?;
            Some(Link { from: task(&from.name)?, channel, state, others, to: task(&to.name)? })
        }
        _ => None,
    })
    .collect()
}

/// The records of a run, by task and by channel.
pub(crate) struct History<'r> {
    /// (task, job) → its release.
    releases: HashMap<(u16, u64), u64>,
    /// task → its completions, in order.
    completions: HashMap<u16, Vec<&'r Record>>,
    /// (channel, sequence) → the sender's job.
    senders: HashMap<(u16, u64), u64>,
    /// (channel, reader) → job → the oldest and the newest sequence that it received.
    received: HashMap<(u16, u16), BTreeMap<u64, (u64, u64)>>,
    /// The same → job → when it received last (ns).
    received_at: HashMap<(u16, u16), BTreeMap<u64, u64>>,
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
            received_at: HashMap::new(),
            skipped: HashMap::new(),
        };
        let mut started: HashMap<(u16, u64), u64> = HashMap::new();
        for record in records {
            let at = record.at.as_ns();
            match Event::of(record) {
                Ok(Event::Release { task, job, .. }) => drop(history.releases.insert((task, job), at)),
                Ok(Event::Start { task, job }) => drop(started.entry((task, job)).or_insert(at)),
                Ok(Event::Complete { task, .. }) => history.completions.entry(task).or_default().push(record),
                Ok(Event::Skip { task, .. }) => history.skipped.entry(task).or_default().push(at),
                Ok(Event::Send { channel, sequence, job }) => {
                    history.senders.insert((channel, sequence), job);
                }
                // Receptions are joined to jobs once these are known. Nothing else carries data on.
                Ok(_) | Err(_) => {}
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
        for record in records {
            let (channel, sequence, by) = match Event::of(record) {
                Ok(Event::Receive { channel, sequence, .. }) => (channel, sequence, None),
                Ok(Event::ReceivedBy { channel, sequence, reader, .. }) => (channel, sequence, Some(reader)),
                _ => continue,
            };
            let Some(own) = readers.get(usize::from(channel)) else { continue };
            let several = own.len() > 1 && by.is_none();
            let own = own.iter().filter(|reader| by.is_none_or(|by| by == **reader));
            let took = own.filter_map(|reader| {
                // A job receives before it completes, and no other job of its task completes in between.
                let completions = history.completions.get(reader)?;
                let next = completions.partition_point(|complete| complete.at < record.at);
                let complete = completions.get(next)?;
                let start = *started.get(&(*reader, complete.job))?;
                let running = start <= record.at.as_ns() && complete.cpu == record.cpu;
                (running || !several).then_some((start, *reader, complete.job))
            });
            let Some((_, reader, job)) = took.max() else { continue };
            let jobs = history.received.entry((channel, reader)).or_default();
            let (oldest, newest) = jobs.entry(job).or_insert((sequence, sequence));
            (*oldest, *newest) = (sequence.min(*oldest), sequence.max(*newest));
            history.received_at.entry((channel, reader)).or_default().insert(job, record.at.as_ns());
        }
        history
    }

    fn ends(&self, chain: u16, links: &[Link]) -> impl Iterator<Item = Record> {
        let last = links.last().map(|link| link.to);
        let completions = last.and_then(|task| self.completions.get(&task)).into_iter().flatten();
        completions.filter_map(move |complete| {
            let job = self.source(links, complete.job, |(oldest, _)| oldest)?;
            let began = self.releases.get(&(links.first()?.from, job))?;
            let age = Duration::from_ns(complete.at.as_ns().saturating_sub(*began));
            Some(Event::ChainEnd { chain, job: complete.job, age }.record(complete.at, complete.cpu))
        })
    }

    /// The job of the first task that produced the data of the last task's job `end`; `pick` chooses among several
    /// values.
    fn source(&self, links: &[Link], end: u64, pick: impl Fn((u64, u64)) -> u64) -> Option<u64> {
        links.iter().rev().try_fold(end, |job, link| {
            let jobs = self.received.get(&(link.channel, link.to))?;
            if !jobs.contains_key(&job) && self.is_replaced(link, job) {
                return None;
            }
            let (_, sequences) = jobs.range(if link.state { 0 } else { job }..=job).next_back()?;
            self.senders.get(&(link.channel, pick(*sequences))).copied()
        })
    }

    /// Whether a job that received nothing from the link's channel worked on a value of another source of the state.
    fn is_replaced(&self, link: &Link, job: u64) -> bool {
        let last = |channel: u16| {
            let times = self.received_at.get(&(channel, link.to))?;
            times.range(..=job).next_back().map(|(_, at)| *at)
        };
        link.others.iter().any(|other| last(*other) > last(link.channel))
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
        // The newest job whose data an output has shown.
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
