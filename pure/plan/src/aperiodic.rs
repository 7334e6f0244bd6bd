// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a plan says of its aperiodic tasks, for people.

use serde::Serialize;
use taut_time::Duration;

use crate::{BacklogPlan, ClassPlan, Plan};

/// An aperiodic task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AperiodicTask<'p> {
    /// Its name.
    pub name: &'p str,
    /// The server that bounds what it takes from others.
    pub server: &'p str,
    /// How long a value waits, by how many are in front of it.
    pub backlog: &'p [BacklogPlan],
    /// The channels that release it, a message by its lanes.
    pub channels: Vec<AperiodicChannel<'p>>,
}

/// A channel that releases an aperiodic task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AperiodicChannel<'p> {
    /// Its name.
    pub name: &'p str,
    /// The task or client that sends.
    pub sender: &'p str,
    /// How many values it holds; it refuses further ones.
    pub capacity: u32,
    /// From the send of a value that it takes to the end of the job that handles it; none if nothing bounds it.
    pub delivery: Option<Duration>,
    /// Whether it is a lane of a message.
    pub lane: bool,
}

impl Plan {
    /// Whether a task is aperiodic; false if there is no such task.
    pub fn is_aperiodic(&self, task: &str) -> bool {
        let class = self.task(task).map(|at| &self.tasks[at].class);
        matches!(class, Some(ClassPlan::RealTime { arrival, .. }) if arrival.is_aperiodic())
    }

    /// The aperiodic tasks, as the manifest has them.
    pub fn aperiodic(&self) -> Vec<AperiodicTask<'_>> {
        let of = |task: &'_ crate::TaskPlan| match &task.class {
            ClassPlan::RealTime { arrival, .. } if arrival.is_aperiodic() => {
                Some(arrival.triggers().iter().filter_map(|name| self.channel(name)).collect::<Vec<_>>())
            }
            _ => None,
        };
        let channel = |at: usize| {
            let channel = &self.channels[at];
            AperiodicChannel {
                name: &channel.name,
                sender: &channel.writer.name,
                capacity: channel.capacity,
                delivery: channel.latency,
                lane: channel.lane.is_some(),
            }
        };
        let found = self.tasks.iter().filter_map(|task| {
            let (triggers, server) = (of(task)?, self.server_of(&task.name)?);
            Some(AperiodicTask {
                name: &task.name,
                server: &server.name,
                backlog: &server.backlog,
                channels: triggers.into_iter().map(channel).collect(),
            })
        });
        found.collect()
    }
}

impl AperiodicTask<'_> {
    /// A line about the task, and one about each of its queues; a message has lines of its own.
    pub fn lines(&self) -> Vec<String> {
        let first = match self.backlog.first() {
            Some(alone) => {
                format!("a value that finds none waiting is handled within {}", alone.within.rounded())
            }
            None => "NOT PROVEN".to_owned(),
        };
        let mut lines = vec![format!("aperiodic {} in server {}: {first}", self.name, self.server)];
        let queues = || self.channels.iter().filter(|channel| !channel.lane);
        let width = queues().map(|queue| queue.name.len() + queue.sender.len()).max().unwrap_or(0) + 6;
        lines.extend(queues().map(|queue| {
            let within = queue.delivery.map_or_else(
                || "NOT PROVEN".to_owned(),
                |bound| format!("a value that it takes is handled within {}", bound.rounded()),
            );
            let who = format!("{} from {}", queue.name, queue.sender);
            format!("  {who:<width$}  holds {}, {within}", queue.capacity)
        }));
        lines
    }

    /// What is bounded of a value, by how many are in front of it.
    pub(crate) fn explained(&self) -> String {
        let mut text = String::new();
        for of in self.backlog {
            let (behind, within) = (of.behind, of.within.rounded());
            text.push_str(&match behind {
                0 => format!("a value that finds none waiting is handled within {within} of its send\n"),
                1 => format!("behind 1 value: within {within}\n"),
                _ => format!("behind {behind} values: within {within}\n"),
            });
        }
        text
    }
}
