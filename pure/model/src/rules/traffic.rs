// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! In the long run a reader takes at least as much as is sent.
//!
//! A queue from a writer with least gap Tw, sending s per release, to a reader with period Tr, taking t per
//! release, grows without bound iff s / Tw > t / Tr. Both sides are multiplied out, so the test is exact.
//! A writer that promises no gap is not real-time, and its queue refuses what does not fit.

use taut_time::Duration;

use super::channels::{Link, party_name};
use crate::{ClassDraft, Draft, Fault, Kind, Party, Place, codes};

/// The least time between two activations of a party, and the key that says so.
fn period(draft: &Draft, party: Party) -> Option<(Duration, Place)> {
    let (gap, path) = match party {
        Party::Task(id) => {
            let task = &draft.tasks[id.index()];
            match &task.class {
                ClassDraft::RealTime(real_time) => {
                    let (period, key) = real_time.arrival.period();
                    (Some(period), format!("tasks.{}.arrival.{key}", task.name))
                }
                ClassDraft::BestEffort(best_effort) => {
                    (best_effort.min_gap, format!("tasks.{}.min-gap", task.name))
                }
            }
        }
        Party::Client(id) => {
            let client = &draft.clients[id.index()];
            (client.min_gap, format!("clients.{}.min-gap", client.name))
        }
    };
    gap.filter(|gap| !gap.is_zero()).map(|gap| (gap, Place::value(path)))
}

pub(super) fn check(draft: &Draft, links: &[Link], faults: &mut Vec<Fault>) {
    for (channel, link) in draft.channels.iter().zip(links) {
        let (Kind::Queue, true, Some(writer), [reader]) =
            (channel.kind, link.sound, link.writer, link.readers.as_slice())
        else {
            continue;
        };
        let (Some((sent_every, sent)), Some((taken_every, taken))) =
            (period(draft, writer), period(draft, *reader))
        else {
            continue;
        };
        let (sends, takes) = (u128::from(channel.sends_per_release), u128::from(channel.takes_per_release));
        let (tw, tr) = (u128::from(sent_every.as_ns()), u128::from(taken_every.as_ns()));
        if takes == 0 || sends * tr <= takes * tw {
            continue;
        }
        let needed = (sends * tr).div_ceil(tw);
        // The longest reader's period that keeps up, rounded down.
        let fitting = takes * tw / sends;
        let faster = match u64::try_from(fitting) {
            Ok(ns @ 1..) => {
                format!(
                    "let `{}` run every {} or faster, or ",
                    party_name(draft, *reader),
                    Duration::from_ns(ns)
                )
            }
            _ => String::new(),
        };
        let message = format!("queue `{}` is sent more than is taken from it", channel.name);
        let text = format!("`{}` takes {takes} per {taken_every}", party_name(draft, *reader));
        let also = format!("`{}` sends {sends} per {sent_every}", party_name(draft, writer));
        faults.push(
            Fault::error(codes::RATE_OVERFLOW, message, taken, text)
                .also(sent, also)
                .also(Place::key(format!("channels.{}", channel.name)), "grows without bound")
                .note(format!(
                    "per second {} are sent and {} taken",
                    per_second(sends, tw),
                    per_second(takes, tr)
                ))
                .help(format!("{faster}let it take {needed} per release: `takes-per-release = {needed}`")),
        );
    }
}

/// `count` per `ns` as a number per second, with at most three decimals.
fn per_second(count: u128, ns: u128) -> String {
    let milli = count * 1_000_000_000_000 / ns;
    let (whole, part) = (milli / 1_000, milli % 1_000);
    if part == 0 {
        return whole.to_string();
    }
    format!("{whole}.{part:03}").trim_end_matches('0').to_owned()
}
