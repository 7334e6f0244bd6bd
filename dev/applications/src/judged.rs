// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Judges the channels of a run: each value that was sent was received, still waits, or was counted as lost.

use taut_event::file::Run;
use taut_event::{Event, Kind};
use taut_plan::{ClassPlan, OverflowPolicy, Plan};
use taut_report::Report;

use crate::blocks;
use crate::requests;
use crate::seen::Seen;

/// How many values all readers of a broadcast received; an error if one of them did not get what it had to.
fn of_readers(plan: &Plan, at: usize, run: &Run, sent: u64) -> Result<u64, String> {
    let channel = &plan.channels[at];
    let mut all = 0;
    for reader in &channel.readers {
        let Some(task) = plan.task(&reader.name) else { continue };
        let (mut received, mut lost) = (0, 0);
        for event in run.records.iter().filter_map(|record| Event::of(record).ok()) {
            match event {
                Event::ReceivedBy { channel, reader, .. } => {
                    received += u64::from((usize::from(channel), usize::from(reader)) == (at, task));
                }
                Event::LostBy { channel, reader, values } => {
                    lost +=
                        if (usize::from(channel), usize::from(reader)) == (at, task) { values } else { 0 };
                }
                _ => {}
            }
        }
        // A task of a service takes no part while its service does not run.
        let gets_all = matches!(plan.tasks[task].class, ClassPlan::RealTime { .. })
            && plan.tasks[task].service.is_none();
        let is_short = gets_all && (lost > 0 || sent - sent.min(received) > channel.capacity.into());
        if received + lost > sent || is_short {
            let (name, reader) = (&channel.name, &reader.name);
            return Err(format!("`{name}`: {sent} sent, {received} received and {lost} lost by `{reader}`"));
        }
        all += received;
    }
    Ok(all)
}

/// Checks that each value that was sent was received, still waits, or was counted as lost. While the machine stalls, a
/// receiver may come too late for a full queue: that is excused for the channels of which `report` shows it.
pub(crate) fn counted(plan: &Plan, run: &Run, seen: &Seen, report: Option<&Report>) -> Result<(), String> {
    if let Some(wrong) = seen.wrong.first() {
        return Err(wrong.clone());
    }
    for (at, channel) in plan.channels.iter().enumerate() {
        if let Some(ledger) = seen.ledger(at) {
            blocks::counted(plan, at, run, ledger, report)?;
        }
        if channel.answers.is_some() {
            requests::counted(plan, at, run, seen)?;
            continue;
        }
        if channel.kind != taut_plan::ChannelKind::Queue {
            continue;
        }
        let of = |kind: Kind| {
            run.records.iter().filter(move |record| record.kind == kind && usize::from(record.subject) == at)
        };
        // Anyone may fill the queue of an aperiodic task, whose next job has a value besides.
        let any_rate = channel.readers.iter().any(|reader| plan.is_aperiodic(&reader.name));
        let held = u64::from(any_rate);
        // Nobody bounds how much its reader has not looked at when the run ends, so what was lost of that is not counted yet.
        // The same holds of a lane whose sender drops its oldest values, and its receiver comes once in a gap.
        let drops = channel.lane.is_some() && channel.overflow == OverflowPolicy::DropOldest;
        let unseen = if drops || plan.is_aperiodic(&channel.writer.name) { u64::MAX } else { 0 };
        let (sent, mut received) = (of(Kind::Send).count() as u64, of(Kind::Receive).count() as u64);
        // A cancelled alarm was sent; one that was refused (`Drop`) was not.
        let gone = if channel.is_timed() { seen.prevented(at) } else { dropped(&of(Kind::Drop)) };
        if channel.broadcast {
            received = of_readers(plan, at, run, sent)?;
        } else if received > sent
            || sent - received > (u64::from(channel.capacity) + held + gone).saturating_add(unseen)
        {
            return Err(format!("`{}`: {sent} sent, {received} received", channel.name));
        }
        // `Seen` counts all lanes of a message under the first lane.
        let place = channel.lane.as_ref().map_or(at, |lane| plan.lanes(&lane.message)[0].0);
        let sender = plan.task(&channel.writer.name).and_then(|task| u32::try_from(task).ok());
        let (count, largest) = sender.map_or((0, 0), |sender| seen.of(place, sender));
        if count != received || largest > sent {
            return Err(format!("`{}`: {count} seen of {received} received", channel.name));
        }
        let (reported, recorded) = (seen.lost[place], dropped(&of(Kind::Drop)));
        if drops && (reported != recorded || count + recorded != largest) {
            let counts = format!(
                "{count} seen up to number {largest}, {reported} reported as lost, {recorded} recorded"
            );
            return Err(format!("`{}`: {counts}", channel.name));
        }
        let by_real_time = sender
            .is_some_and(|sender| matches!(plan.tasks[sender as usize].class, ClassPlan::RealTime { .. }));
        let to_real_time = channel.readers.iter().all(|reader| {
            plan.task(&reader.name)
                .is_some_and(|task| matches!(plan.tasks[task].class, ClassPlan::RealTime { .. }))
        });
        // A setter whose alarms are all pending gets its value back.
        let never_full = to_real_time || channel.broadcast;
        let mut figures = report.into_iter().flat_map(|report| report.channels());
        let stalled = figures.any(|figures| figures.name == channel.name && figures.late_machine > 0);
        let never_full = never_full && !channel.is_timed() && !stalled && !any_rate;
        if by_real_time && never_full && of(Kind::Drop).next().is_some() {
            return Err(format!("`{}`: a value between real-time tasks was refused", channel.name));
        }
    }
    Ok(())
}

/// Whether the machine stood still for so long that a ring of recorded values was full.
pub(crate) fn lost_values(run: &Run) -> bool {
    run.records.iter().any(|record| record.kind == Kind::ValuesLost)
}

fn dropped<'r>(records: &(impl Iterator<Item = &'r taut_event::Record> + Clone)) -> u64 {
    records.clone().map(|record| record.value).sum()
}
