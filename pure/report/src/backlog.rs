// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How far back the search for the stalls that delayed a value goes.
//!
//! A stall may delay a value that is sent after it. The sender's late jobs run one after the other, so their values come
//! closer together than their releases were; the receiver takes them no faster than its least gap allows, or so many in each
//! job. The search for a value's stalls begins at the earliest of:
//!
//! ```text
//! sent    the value's send
//! sender  the start of the busy window of the job that sent it, on that job's core
//! job     the start of the busy window of the job that took it; and if the least gap put this job's release off, what holds
//!         for the job before it and for the values that released that one
//! queue   if the value was sent before the previous one of its queue was taken: what holds for the previous value
//! ```
//!
//! Where a receiver takes just as many values as are sent, a queue that has grown in a stall never becomes shorter: the
//! search then goes back to the stall, however long ago it was. This is the limit of the rule: all stalls since then count, so
//! their sum can hide a lateness of ours. Each job on the value's way is judged by the strict rule besides.

use std::collections::BTreeMap;

use taut_plan::{Arrival, ChannelPlan, ClassPlan, Plan};

use crate::blame::CoreJobs;
use crate::jobs::{Job, TaskJobs};
use crate::observations::Observations;

/// By task that receives values through queues, what is known of its values.
#[derive(Debug, Default)]
pub(crate) struct Backlogs(BTreeMap<usize, Receiver>);

/// What a receiver took, and whence.
#[derive(Debug, Default)]
struct Receiver {
    /// The instant at which each value was taken, and where the search for its stalls begins; by instant.
    taken: Vec<(u64, u64)>,
    /// The CPUs of its senders and its own.
    cpus: Vec<u16>,
}

/// A value that a receiver took.
#[derive(Clone, Copy, Debug)]
struct Taken {
    at: u64,
    sent: u64,
    /// The start of the busy window of the job that sent it, or its send.
    since: u64,
}

/// What the search knows of all tasks: their jobs, and by task its CPU and priority.
pub(crate) struct Known<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) seen: &'a Observations,
    pub(crate) jobs: &'a [TaskJobs],
    pub(crate) cores: &'a BTreeMap<u16, CoreJobs>,
    pub(crate) places: &'a [Option<(u16, u8)>],
}

impl Backlogs {
    pub(crate) fn of(known: &Known<'_>) -> Self {
        let tasks = known.places.iter().enumerate().filter(|(_, place)| place.is_some());
        let receivers = tasks.map(|(task, _)| (task, known.receiver(task)));
        Self(receivers.filter(|(_, receiver)| !receiver.taken.is_empty()).collect())
    }

    /// Where the search for the stalls begins that delayed what a task took between two instants; the first of them if it took
    /// nothing then.
    pub(crate) fn since(&self, task: usize, from: u64, to: u64) -> u64 {
        let Some(receiver) = self.0.get(&task) else { return from };
        let first = receiver.taken.partition_point(|(at, _)| *at < from);
        let taken = receiver.taken[first..].iter().take_while(|(at, _)| *at <= to);
        taken.map(|(_, since)| *since).fold(from, u64::min)
    }

    /// The CPUs of a receiver's senders and its own.
    pub(crate) fn cpus(&self, task: usize) -> &[u16] {
        self.0.get(&task).map_or(&[], |receiver| &receiver.cpus)
    }
}

impl Known<'_> {
    /// The start of the busy window of a job of a task.
    fn busy_since(&self, task: usize, job: &Job) -> u64 {
        let of = self.places[task].and_then(|(cpu, priority)| Some((self.cores.get(&cpu)?, priority)));
        of.map_or(job.release, |(core, priority)| core.busy_since(priority, job.release))
    }

    /// The values that a task took out of a channel.
    fn taken(&self, task: usize, channel: usize) -> Vec<Taken> {
        let (of, plan) = (&self.seen.channels[channel], &self.plan.channels[channel]);
        let by = u16::try_from(task).ok().filter(|_| plan.broadcast);
        let received =
            by.map_or(of.received.as_slice(), |by| of.by_reader.get(&by).map_or(&[], |of| &of.received));
        let sender = self.plan.task(&plan.writer.name).filter(|_| !plan.writer.client);
        let taken = |&(at, waited): &(u64, u64)| {
            let sent = at.saturating_sub(waited);
            let job = sender.and_then(|sender| Some((sender, job_at(&self.jobs[sender].jobs, sent)?)));
            let busy = job.filter(|(_, job)| job.start <= sent);
            let since = busy.map_or(sent, |(sender, job)| self.busy_since(sender, job).min(sent));
            Taken { at, sent, since }
        };
        received.iter().map(taken).collect()
    }

    fn receiver(&self, task: usize) -> Receiver {
        let name = &self.plan.tasks[task].name;
        let channels = self.plan.channels.iter().enumerate().filter(|(_, channel)| {
            channel.kind.is_queued() && channel.readers.iter().any(|reader| reader.name == *name)
        });
        // The lanes of a message are one queue, and so are all that release the task.
        let (triggers, gap) = releases(self.plan, task);
        let mut queues: BTreeMap<&str, Vec<Taken>> = BTreeMap::new();
        let mut receiver = Receiver::default();
        for (at, channel) in channels {
            let queue = if triggers.contains(&channel.name) { "" } else { channel.table() };
            queues.entry(queue).or_default().extend(self.taken(task, at));
            receiver.cpus.extend(self.cpu_of_sender(channel));
        }
        for (queue, taken) in &mut queues {
            taken.sort_by_key(|value| value.at);
            let released = gap.filter(|_| queue.is_empty());
            receiver.taken.extend(self.searched(task, released, taken));
        }
        receiver.taken.sort_unstable();
        receiver.cpus.extend(self.places[task].map(|(cpu, _)| cpu));
        receiver.cpus.sort_unstable();
        receiver.cpus.dedup();
        receiver
    }

    fn cpu_of_sender(&self, channel: &ChannelPlan) -> Option<u16> {
        let sender = self.plan.task(&channel.writer.name).filter(|_| !channel.writer.client)?;
        self.places[sender].map(|(cpu, _)| cpu)
    }

    /// Where the search begins for each value of a queue. `gap`: the least gap between jobs, if the queue releases them.
    fn searched(&self, task: usize, gap: Option<u64>, taken: &[Taken]) -> Vec<(u64, u64)> {
        let jobs = &self.jobs[task].jobs;
        let mut of_jobs: Vec<u64> = jobs.iter().map(|job| self.busy_since(task, job)).collect();
        let takes = |value: &Taken| jobs.partition_point(|job| job.complete < value.at);
        if let Some(gap) = gap {
            // By job, the send of the oldest value that it took; 0 if a device released it, or nobody knows.
            let mut sent = vec![u64::MAX; jobs.len()];
            for value in taken {
                let at = takes(value);
                if let Some(since) = of_jobs.get_mut(at) {
                    *since = value.since.min(*since);
                    sent[at] = value.sent.min(sent[at]);
                }
            }
            sent.iter_mut().filter(|sent| **sent == u64::MAX).for_each(|sent| *sent = 0);
            for at in 1..jobs.len() {
                // Without the gap, the job would have been released at the send.
                let is_put_off = sent[at] < jobs[at].release;
                if is_put_off && jobs[at].release <= jobs[at - 1].release.saturating_add(gap) {
                    of_jobs[at] = of_jobs[at - 1].min(of_jobs[at]);
                }
            }
        }
        let (mut before, mut since) = (0, u64::MAX);
        let searched = taken.iter().map(|value| {
            // A job that is not complete is unknown.
            let own = of_jobs.get(takes(value)).map_or(value.since, |of_job| value.since.min(*of_job));
            since = if value.sent < before { since.min(own) } else { own };
            before = value.at;
            (value.at, since)
        });
        searched.collect()
    }
}

/// The channels that release a task, and the least gap between two of its jobs.
fn releases(plan: &Plan, task: usize) -> (&[String], Option<u64>) {
    match &plan.tasks[task].class {
        ClassPlan::RealTime { arrival: Arrival::Sporadic { min_gap, triggers, .. }, .. } => {
            (triggers, Some(min_gap.as_ns()))
        }
        ClassPlan::RealTime { arrival: Arrival::Aperiodic { triggers }, .. } => (triggers, Some(0)),
        _ => (&[], None),
    }
}

/// The job of a task that ran at an instant, or is the next to complete.
fn job_at(jobs: &[Job], at: u64) -> Option<&Job> {
    jobs.get(jobs.partition_point(|job| job.complete < at))
}
