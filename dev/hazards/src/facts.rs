// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Extracts from a recording what happened to a task.

use std::collections::HashMap;

use taut_event::{Kind, Record};

use crate::scenario::Scenario;

/// What happened to the jobs of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Jobs that completed.
    pub(crate) completed: u64,
    /// Jobs that started and did not complete.
    pub(crate) stuck: u64,
    /// The longest response time, ns.
    pub(crate) response_ns_max: u64,
    /// Jobs that missed their deadline.
    pub(crate) missed: u64,
    /// The most resources held by others that one job waited for.
    pub(crate) waits_max: usize,
    /// Less urgent tasks that use no resource, and that completed a job while a job of this task waited for one.
    pub(crate) strangers: Vec<usize>,
}

/// Examines all jobs of a task.
pub(crate) fn of(scenario: &Scenario, records: &[Record], task: usize) -> Facts {
    let mut facts = Facts::default();
    // A release is recorded at its nominal instant, which may lie before the end of the previous job.
    let mut releases_ns = HashMap::new();
    let (mut waits, mut waiting, mut open) = (0, false, false);
    let uses = |task: usize| {
        let name = &scenario.players[task].name;
        scenario.plan.resources.iter().filter(move |resource| resource.users.contains(name)).count()
    };
    for record in records {
        let subject = usize::from(record.subject);
        let at_ns = record.at.as_ns();
        match record.kind {
            Kind::Complete if subject != task => {
                let stranger = waiting && uses(subject) == 0 && is_below(scenario, subject, task);
                if stranger && !facts.strangers.contains(&subject) {
                    facts.strangers.push(subject);
                }
            }
            _ if subject != task => {}
            Kind::Release => {
                releases_ns.insert(record.job, at_ns);
            }
            Kind::Start => (open, waits) = (true, 0),
            Kind::Suspend => (waiting, waits) = (true, waits + 1),
            Kind::Locked => waiting = false,
            Kind::Miss => facts.missed += 1,
            Kind::Complete => {
                open = false;
                facts.completed += 1;
                let release_ns = releases_ns.get(&record.job).copied().unwrap_or(at_ns);
                facts.response_ns_max = facts.response_ns_max.max(at_ns.saturating_sub(release_ns));
            }
            _ => {}
        }
        facts.waits_max = facts.waits_max.max(waits);
    }
    facts.stuck = u64::from(open);
    facts
}

fn is_below(scenario: &Scenario, subject: usize, task: usize) -> bool {
    scenario.players[subject].priority < scenario.players[task].priority
}
