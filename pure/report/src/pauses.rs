// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! When tasks were paused or had stopped, and how long after a pause the values that had waited still delayed later
//! ones.
//!
//! A paused task takes nothing out of its queues. After it is resumed, it takes the waiting values no faster than
//! usual, so a value that is sent then may wait as well: the pause is over when a value is taken without waiting. A
//! receiver takes a value without waiting if the value's job need not wait for the least gap after the previous job;
//! another task does if the value was sent after it had taken the previous value.

use std::collections::BTreeMap;

use taut_plan::{Arrival, ClassPlan, Plan};

use crate::observations::{Observations, RESTARTED, RUNNING, StateChange};

/// By task: the spans from each pause until its effects are over, in order.
#[derive(Debug, Default)]
pub(crate) struct Pauses(BTreeMap<usize, Vec<(u64, u64)>>);

/// A queue that a task reads.
struct Queue {
    /// When each value was sent and when it was taken, in the order of taking.
    taken: Vec<(u64, u64)>,
    /// If the queue releases jobs: their releases, in order, and the least gap between them.
    releases: Option<(Vec<u64>, u64)>,
}

impl Pauses {
    /// `whole`: the records begin with release 0.
    pub(crate) fn of(plan: &Plan, seen: &Observations, whole: bool) -> Self {
        let mut pauses: BTreeMap<usize, Vec<(u64, u64)>> = BTreeMap::new();
        let mut resets = Vec::new();
        let mut changes = seen.services.clone();
        changes.sort_by_key(|change| change.at);
        for change in changes {
            let task = usize::from(change.task);
            if task >= plan.tasks.len() {
                continue;
            }
            if change.state == RESTARTED {
                resets.push((task, (restarted_since(plan, seen, change), change.at)));
                continue;
            }
            let of = pauses.entry(task).or_default();
            match (change.state, of.last_mut()) {
                (RUNNING, Some((_, until))) if *until == u64::MAX => *until = change.at,
                // It was not running before.
                (RUNNING, None) => of.push((0, change.at)),
                (RUNNING, _) | (_, Some((_, u64::MAX))) => {}
                _ => of.push((change.at, u64::MAX)),
            }
        }
        // A task that was to be started and was not.
        for (at, task) in plan.tasks.iter().enumerate().filter(|_| whole) {
            if !plan.starts_at_boot(task) && !pauses.contains_key(&at) {
                pauses.insert(at, vec![(0, u64::MAX)]);
            }
        }
        for (task, of) in seen.tasks.iter().enumerate() {
            // A task whose component has failed follows no state until its service is started again.
            for failure in of.panics.iter().filter(|panic| panic.ends_task()) {
                let reset = |change: &&StateChange| {
                    usize::from(change.task) == task && change.state == RESTARTED && change.at >= failure.at
                };
                let until = seen.services.iter().filter(reset).map(|change| change.at).min();
                resets.push((task, (failure.at, until.unwrap_or(u64::MAX))));
            }
        }
        for (task, reset) in resets {
            pauses.entry(task).or_default().push(reset);
        }
        for (task, pauses) in &mut pauses {
            let queues = queues(plan, seen, *task);
            for (_, until) in pauses.iter_mut().filter(|(_, until)| *until != u64::MAX) {
                *until = queues.iter().map(|queue| queue.over(*until)).fold(*until, u64::max);
            }
            pauses.sort_unstable();
        }
        Self(pauses)
    }

    /// Whether one of these tasks was paused, or still affected by a pause, at any time between two instants.
    pub(crate) fn touch(&self, tasks: impl IntoIterator<Item = usize>, from: u64, to: u64) -> bool {
        let of = |task| self.0.get(&task).into_iter().flatten();
        tasks.into_iter().flat_map(of).any(|(since, until)| *since <= to && from <= *until)
    }
}

/// The instant from which a task's reset delayed its values: the first failure of a task of the same service that no
/// earlier reset of this task has followed. The reset takes the place of a job.
fn restarted_since(plan: &Plan, seen: &Observations, change: StateChange) -> u64 {
    let service = plan.services.get(usize::from(change.service)).map(|service| &service.name);
    let tasks = plan.tasks.iter().zip(&seen.tasks);
    let of_service = tasks.filter(|(task, _)| task.service.as_ref() == service);
    let failures = of_service.flat_map(|(_, of)| &of.panics).map(|panic| panic.at);
    let own = seen.services.iter().filter(|other| other.task == change.task && other.state == RESTARTED);
    let before = own.map(|other| other.at).filter(|at| *at < change.at).max();
    let to_follow = |at: &u64| *at <= change.at && before.is_none_or(|before| before < *at);
    failures.filter(to_follow).min().unwrap_or(change.at)
}

impl Queue {
    /// The instant from which no value waits any longer because of a pause that lasted until `resumed`.
    fn over(&self, resumed: u64) -> u64 {
        let free = |taken: u64| match &self.releases {
            Some((releases, gap)) => {
                let before = releases.partition_point(|release| *release <= taken).checked_sub(1);
                before.map_or(0, |before| releases[before].saturating_add(*gap))
            }
            None => taken,
        };
        let first = self.taken.partition_point(|(_, taken)| *taken < resumed);
        let mut over = resumed;
        for (sent, taken) in &self.taken[first..] {
            if *sent > free(over) {
                break;
            }
            over = *taken;
        }
        over
    }
}

/// The queues that a task reads.
fn queues(plan: &Plan, seen: &Observations, task: usize) -> Vec<Queue> {
    let of = &plan.tasks[task];
    let released = match &of.class {
        ClassPlan::RealTime { arrival: Arrival::Sporadic { min_gap, triggers, .. }, .. } => {
            Some((triggers, min_gap.as_ns()))
        }
        _ => None,
    };
    let queues = plan.channels.iter().enumerate().filter(|(_, channel)| {
        channel.kind.is_queued() && channel.readers.iter().any(|reader| reader.name == of.name)
    });
    let queue = |(at, channel): (usize, &taut_plan::ChannelPlan)| {
        // Values of all lanes of a message wait for one another.
        let lanes = channel.lane.as_ref().map_or(Vec::new(), |lane| plan.lanes(&lane.message));
        let lanes = if lanes.is_empty() { vec![(at, channel)] } else { lanes };
        let own = |at: &usize| {
            let of = &seen.channels[*at];
            let by = u16::try_from(task).ok().filter(|_| channel.broadcast);
            by.map_or(of.received.as_slice(), |by| of.by_reader.get(&by).map_or(&[], |of| &of.received))
        };
        let received = lanes.iter().flat_map(|(at, _)| own(at));
        let mut taken: Vec<(u64, u64)> =
            received.map(|(taken, waited)| (taken.saturating_sub(*waited), *taken)).collect();
        taken.sort_by_key(|(_, taken)| *taken);
        let gap = released.filter(|(triggers, _)| triggers.contains(&channel.name)).map(|(_, gap)| gap);
        let releases = gap.map(|gap| {
            let mut releases = seen.tasks[task].releases.clone();
            releases.sort_unstable();
            (releases, gap)
        });
        Queue { taken, releases }
    };
    queues.map(queue).collect()
}
