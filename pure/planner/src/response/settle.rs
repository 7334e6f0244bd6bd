// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How long tasks wait for one another: a fixed point over proofs.

use std::borrow::Cow;

use taut_analysis::overheads::Charges;
use taut_model::{Channel, FlowLink, Model, OverflowPolicy, PartyId, Reception, TaskId, Waits};
use taut_time::Duration;

use super::proof::{Effort, Proof};
use super::waits::needed;

/// The number of rounds after which a wait that still grows counts as longer than every deadline.
const ROUNDS_MAX: u32 = 1_000;

/// The application with the waits of its tasks for one another, and with their wakes of others; the application itself
/// if there is neither.
pub(crate) fn settle(model: &Model) -> Cow<'_, Model> {
    let links: Vec<FlowLink> = model.links().collect();
    let mut waits = switching(model, &links);
    if links.is_empty() && waits.iter().all(|waits| *waits == Waits::default()) {
        return Cow::Borrowed(model);
    }
    for round in 0..=ROUNDS_MAX {
        let now = model.waiting(&waits);
        let bounds = Proof::find(&now, Effort::Quick, &mut Vec::new()).bounds;
        let mut changed = false;
        for link in &links {
            let by = if round < ROUNDS_MAX { needed(&now, &bounds, link) } else { Duration::MAX };
            let wait = &mut waits[link.reader.index()];
            if by > wait.by {
                (wait.by, wait.of) = (by, Some(link.channel));
                changed = true;
            }
        }
        if !changed {
            return Cow::Owned(now);
        }
    }
    Cow::Owned(model.waiting(&waits))
}

/// How long it takes each task to go to sleep, to wake up and to wake others.
fn switching(model: &Model, links: &[FlowLink]) -> Vec<Waits> {
    let charges = Charges::of(&model.platform().overheads);
    // The proof refuses the longest duration as an overflow.
    let times = |count: u64| charges.switches(count).unwrap_or(Duration::MAX);
    let count = |id: TaskId| {
        // A job that looks too early sleeps once and wakes once, however many writers it waits for.
        let waits = links.iter().any(|link| link.reader == id);
        let wakes = links.iter().filter(|link| link.writer == id).count() as u64;
        // A dispatcher looks in vain at a channel whose sender is not real-time, at a lane of alarms, and at a bulk channel
        // whose sender takes blocks back, at most once each in a gap of the task. The task's own release covers one of these
        // looks.
        let in_vain = model.triggers(id).iter().map(|id| model.channel(*id));
        let in_vain = in_vain.filter(|of| {
            !model.is_real_time(of.writer) || of.is_timed() || of.overflow == OverflowPolicy::Recall
        });
        let looks = in_vain.count().saturating_sub(1) as u64;
        let queues = model
            .channels()
            .iter()
            .filter(|channel| channel.writer == PartyId::Task(id) && channel.reception == Reception::Wait);
        let waiting = |queue: &Channel| {
            queue.readers.iter().filter(|reader| !model.is_real_time(**reader)).count() as u64
        };
        let sends = queues.map(|queue| u64::from(queue.sends_per_release) * waiting(queue));
        sends.fold(wakes + looks + if waits { 2 } else { 0 }, u64::saturating_add)
    };
    model.task_ids().map(|id| Waits { switching: times(count(id)), ..Waits::default() }).collect()
}
