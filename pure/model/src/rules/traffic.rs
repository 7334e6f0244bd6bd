// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! In the long run a reader takes at least as many values as its writer sends.
//!
//! A queue from a writer with least gap Tw, which sends s per release, to a reader with period Tr, which takes t per
//! release, grows without bound iff s / Tw > t / Tr. The test multiplies both sides out, so it is exact. A writer
//! without a guaranteed gap is not real-time, and its queue rejects values that do not fit. Of a message, the sum of all
//! senders counts.

use taut_time::Duration;

use super::channels::{Link, is_real_time, party_name};
use super::faults::Faults;
use crate::{
    ArrivalDraft, ChannelDraft, ChannelKind, ClassDraft, Draft, Fault, KeyPath, PartyId, RealTimeDraft, codes,
};

/// The least time between two activations of a party, and its key.
fn period(draft: &Draft, party: PartyId) -> Option<(Duration, KeyPath)> {
    let (gap, path) = match party {
        PartyId::Task(id) => {
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
        PartyId::Client(id) => {
            let client = &draft.clients[id.index()];
            (client.min_gap, format!("clients.{}.min-gap", client.name))
        }
    };
    gap.filter(|gap| !gap.is_zero()).map(|gap| (gap, KeyPath::value(path)))
}

/// The most time between two looks of a reader, which is the least one unless it follows a clock; and its key.
fn looks_every(draft: &Draft, reader: PartyId) -> Option<(Duration, KeyPath)> {
    let (least, place) = period(draft, reader)?;
    let PartyId::Task(id) = reader else { return Some((least, place)) };
    let most = match &draft.tasks[id.index()].class {
        ClassDraft::RealTime(RealTimeDraft { arrival: ArrivalDraft::Clocked(clock), .. }) => {
            clock.clock().map(|of| of.max_gap())
        }
        _ => None,
    };
    Some((most.unwrap_or(least), place))
}

/// The channel that releases a party, if exactly one does.
fn released_by(draft: &Draft, party: PartyId) -> Option<&str> {
    let PartyId::Task(id) = party else { return None };
    match &draft.tasks[id.index()].class {
        ClassDraft::RealTime(RealTimeDraft { arrival, .. }) => {
            let is_by_device = matches!(arrival, ArrivalDraft::Sporadic { device: Some(_), .. });
            let [only] = arrival.triggers() else { return None };
            (!is_by_device).then_some(&only.channel)
        }
        ClassDraft::BestEffort(_) => None,
    }
}

/// Whether `takes` values every `gap` are in the long run as many as are sent: each entry is a count and how often that many
/// are sent. No time is zero. Exact if the times have a common multiple of 128 bits; else rounded against the reader.
pub fn keeps_up(sent: &[(u32, Duration)], (takes, gap): (u32, Duration)) -> bool {
    let (gap, takes) = (u128::from(gap.as_ns()), u128::from(takes));
    let exact = common_multiple(sent, gap).and_then(|unit| {
        let sent = sent.iter().try_fold(0_u128, |sum, (count, every)| {
            sum.checked_add((unit / u128::from(every.as_ns())).checked_mul((*count).into())?)
        });
        Some(sent? <= takes.checked_mul(unit / gap)?)
    });
    // In parts of 2^32 of a gap: counts have 32 bits and times 64.
    exact.unwrap_or_else(|| shares(sent, gap).is_some_and(|sent| sent <= takes << 32))
}

/// How many parts of 2^32 of a value are sent in each gap, rounded up.
fn shares(sent: &[(u32, Duration)], gap: u128) -> Option<u128> {
    sent.iter().try_fold(0_u128, |sum, (count, every)| {
        let parts = (gap << 32).checked_mul((*count).into())?;
        sum.checked_add(parts.div_ceil(u128::from(every.as_ns())))
    })
}

/// The least common multiple of the times; `None` if it has more than 128 bits.
fn common_multiple(sent: &[(u32, Duration)], gap: u128) -> Option<u128> {
    let divisor = |mut a: u128, mut b: u128| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    sent.iter().try_fold(gap, |multiple, (_, every)| {
        let every = u128::from(every.as_ns());
        (multiple / divisor(multiple, every)).checked_mul(every)
    })
}

/// The messages whose receivers take less than is sent.
fn messages(draft: &Draft, links: &[Link], faults: &mut Faults<'_>) {
    // How many alarms are due does not follow from how often they are set; their number is bounded.
    let lanes = || draft.channels.iter().zip(links).filter(|(channel, _)| !channel.is_timed());
    for (first, link) in
        lanes().filter(|(channel, _)| channel.lane.as_ref().is_some_and(|lane| lane.sender == 0))
    {
        let [reader] = link.readers.as_slice() else { continue };
        let all: Vec<_> = lanes().filter(|(channel, _)| channel.is_lane_of(first.table())).collect();
        let Some((every, taken)) =
            looks_every(draft, *reader).filter(|_| all.iter().all(|(_, link)| link.sound))
        else {
            continue;
        };
        // A sender without a guaranteed gap is not real-time: its values wait behind all others.
        let sends = |(channel, link): &(&ChannelDraft, &Link)| {
            let writer = link.writer?;
            let (period, place) = period(draft, writer)?;
            Some((writer, (channel.sends_per_release, period), place))
        };
        let senders: Vec<_> = all.iter().filter_map(sends).collect();
        let sent: Vec<_> = senders.iter().map(|(_, sent, _)| *sent).collect();
        let takes = first.takes_per_release;
        if takes == 0 || keeps_up(&sent, (takes, every)) {
            continue;
        }
        let (name, reader) = (first.table(), party_name(draft, *reader));
        let message = format!("message `{name}` receives more values than its receiver takes");
        let text = format!("`{reader}` takes {takes} per {every}");
        let mut fault = Fault::error(codes::RATE_OVERFLOW, message, taken, text);
        for (writer, (sends, period), place) in senders {
            fault = fault.also(place, format!("`{}` sends {sends} per {period}", party_name(draft, writer)));
        }
        let needed = shares(&sent, every.as_ns().into()).map(|shares| shares.div_ceil(1 << 32));
        let more = needed.map_or("let the senders send less".to_owned(), |needed| {
            format!("let it take {needed} per release: `takes-per-release = {needed}`, or let `{reader}` run more often")
        });
        let path = |key: &str| format!("channels.{name}.{key}");
        let rests_on =
            ["kind", "from", "to", "sends-per-release", "sends-by-sender", "takes-per-release"].map(path);
        let rests_on: Vec<&str> = rests_on.iter().map(String::as_str).collect();
        faults.push_resting_on(fault.help(more), &rests_on);
    }
}

/// What helps a reader that takes too little: `sends` values come every `tw` ns, and it takes `takes` every `tr` ns.
fn remedy(name: &str, released: bool, (sends, tw): (u128, u128), (takes, tr): (u128, u128)) -> String {
    let needed = (sends * tr).div_ceil(tw);
    // The longest period of the reader with which it keeps up, rounded down.
    let fitting = u64::try_from(takes * tw / sends).ok().filter(|ns| *ns > 0).map(Duration::from_ns);
    let faster = fitting.map(|every| match released {
        true => format!("let `{name}` be released every {every} or faster: `sporadic = \"{every}\"`"),
        false => format!("let `{name}` run every {every} or faster"),
    });
    let more =
        (!released).then(|| format!("let it take {needed} per release: `takes-per-release = {needed}`"));
    match (faster, more) {
        (None, None) => "let the writer send less".to_owned(),
        (faster, more) => [faster, more].into_iter().flatten().collect::<Vec<_>>().join(", or "),
    }
}

pub(super) fn check(draft: &Draft, links: &[Link], faults: &mut Faults<'_>) {
    messages(draft, links, faults);
    let is_alone = |channel: &ChannelDraft| channel.lane.is_none() && channel.answers.is_none();
    for (channel, link) in draft.channels.iter().zip(links).filter(|(channel, _)| is_alone(channel)) {
        let (true, true, Some(writer)) = (channel.kind.is_queued(), link.sound, link.writer) else {
            continue;
        };
        if super::bulk::may_lose(channel) {
            continue;
        }
        // No guarantee makes a reader that is not real-time look often enough: it loses values, or its queue refuses them.
        for reader in link.readers.iter().filter(|reader| is_real_time(draft, **reader)) {
            reader_of(draft, channel, (writer, *reader), faults);
        }
    }
}

/// Checks that a real-time reader of a queue or a broadcast keeps up with its writer.
fn reader_of(
    draft: &Draft,
    channel: &ChannelDraft,
    (writer, reader): (PartyId, PartyId),
    faults: &mut Faults<'_>,
) {
    let (Some((sent_every, sent)), Some((taken_every, taken))) =
        (period(draft, writer), looks_every(draft, reader))
    else {
        return;
    };
    // A receiver takes only the one value that releases it; blocks, it takes by itself.
    let released =
        channel.kind == ChannelKind::Queue && released_by(draft, reader) == Some(channel.name.as_str());
    let taken_at_once = if released { 1 } else { channel.takes_per_release };
    let (sends, takes) = (u128::from(channel.sends_per_release), u128::from(taken_at_once));
    let (tw, tr) = (u128::from(sent_every.as_ns()), u128::from(taken_every.as_ns()));
    if takes == 0 || sends * tr <= takes * tw {
        return;
    }
    let name = party_name(draft, reader);
    let help = remedy(name, released, (sends, tw), (takes, tr));
    let its = if channel.broadcast { "one of its readers takes" } else { "its reader takes" };
    let message = format!("{} `{}` receives more values than {its}", channel.noun(), channel.name);
    let text = format!("`{name}` takes {takes} per {taken_every}");
    let also = format!("`{}` sends {sends} per {sent_every}", party_name(draft, writer));
    let fault = Fault::error(codes::RATE_OVERFLOW, message, taken, text)
        .also(sent, also)
        .also(KeyPath::key(format!("channels.{}", channel.table())), "grows without bound")
        .note(format!("per second {} are sent and {} taken", per_second(sends, tw), per_second(takes, tr)))
        .help(help);
    let path = |key: &str| format!("channels.{}.{key}", channel.table());
    let counts = [path("kind"), path("from"), path("to"), path("sends-per-release")];
    let mut rests_on = counts.iter().map(String::as_str).collect::<Vec<_>>();
    let (takes, overflow) = (path("takes-per-release"), path("overflow"));
    if !released {
        rests_on.push(&takes);
    }
    if channel.kind == ChannelKind::Bulk {
        rests_on.push(&overflow);
    }
    faults.push_resting_on(fault, &rests_on);
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
