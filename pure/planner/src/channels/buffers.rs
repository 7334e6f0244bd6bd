// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Chooses the protocol that carries a state, the number of its buffers, and the way in which it protects each reader
//! from the writer.
//!
//! Of the protocols that serve the parties and have [`Way`]s, the plan takes the one with the smallest object.
//! Protocols that rest on time use proven response times, or deadlines in a plan that is not proven and therefore not
//! run. None of them relies on time alone: a reader detects it if the writer overtakes it after all, and does not get
//! a torn value.

use taut_analysis::wait_free::writes_during_read::{self, WriterTiming};
use taut_analysis::wait_free::{buffers, partition};
use taut_model::{
    Channel, ChannelId, Class, Fault, KeyPath, Mechanism, Model, PartyId, STAMP_BYTES, Way, codes,
    lock_mechanisms,
};

use crate::response::bounds::ResponseBounds;

/// The most buffers of an object whose readers are safe by time.
const BUFFERS_MAX: u64 = 256;
/// Spare buffers for readers that look on: with them, the writer needs as many writes more to overtake a reader.
const SPARE_TO_LOOK_ON: u64 = 2;

/// Up to this many bytes, a copy is so quick that two buffers are enough if all readers look on. With one buffer, a
/// writer that does not pause would prevent every reader from ever reading the value.
const SMALL: u32 = 1024;

/// A protocol for a state, and its buffers.
pub(crate) struct Choice {
    pub(crate) mechanism: Mechanism,
    pub(crate) buffers: u32,
    /// One per reader, in the order of the channel's readers.
    pub(crate) ways: Vec<Way>,
    bytes: u64,
    /// How many writes can touch a read, for readers that are safe by time.
    writes: Option<u64>,
}

/// Why a protocol does not fit although it serves the parties.
enum Misfit {
    /// It would need `needed` buffers, because `writes` writes can touch a read of `reader`.
    Buffers { needed: u64, reader: usize, writes: u64 },
    /// Its size is not known, or does not fit in 64 bits.
    Size,
}

/// The mechanisms that serve a channel's parties, in the order of preference among equals.
pub(crate) fn serving(model: &Model, id: ChannelId) -> Vec<Mechanism> {
    let (kind, parties) = (model.channel(id).kind, model.parties(id));
    Mechanism::ALL.into_iter().filter(|mechanism| mechanism.serves(kind, &parties)).collect()
}

/// Chooses among the mechanisms that serve the channel and have [`Way`]s: the pinned one if it fits, else the
/// decided one, else the smallest. `None` if none fits.
pub(crate) fn choose(
    model: &Model,
    id: ChannelId,
    serving: &[Mechanism],
    bounds: &ResponseBounds,
    faults: &mut Vec<Fault>,
) -> Option<(Choice, String)> {
    let channel = model.channel(id);
    let mut fit = Vec::new();
    let mut pin = None;
    for &mechanism in serving.iter().filter(|mechanism| mechanism.has_ways()) {
        match candidate(model, id, bounds, mechanism) {
            Ok(choice) => fit.push(choice),
            Err(misfit) if channel.mechanism == Some(mechanism) => pin = Some((mechanism, misfit)),
            Err(_) => {}
        }
    }
    // The sort is stable: of choices with equal bytes, the first stays first.
    fit.sort_by_key(|choice| choice.bytes);
    if let Some((pinned, misfit)) = pin {
        faults.push(refused(model, channel, (pinned, &misfit), &fit));
    }
    let place = |of: Option<Mechanism>| of.and_then(|of| fit.iter().position(|fit| fit.mechanism == of));
    let (pinned, decided) = (place(channel.mechanism), place(channel.decided));
    if fit.is_empty() {
        return None;
    }
    let choice = fit.remove(pinned.or(decided).unwrap_or(0));
    let reason = reason(model, channel, &choice, fit.first(), pinned.is_some());
    Some((choice, reason))
}

/// Bytes of a state in a mechanism that serves it and has [`Way`]s; `None` if the mechanism does not fit these
/// response bounds.
pub(crate) fn bytes(
    model: &Model,
    id: ChannelId,
    bounds: &ResponseBounds,
    mechanism: Mechanism,
) -> Option<u64> {
    candidate(model, id, bounds, mechanism).ok().map(|choice| choice.bytes)
}

fn refused(
    model: &Model,
    channel: &Channel,
    (pinned, misfit): (Mechanism, &Misfit),
    fit: &[Choice],
) -> Fault {
    let at = |key: &str| KeyPath::value(format!("channels.{}.{key}", channel.table()));
    let name = pinned.paper_name();
    let words = fit.iter().map(|choice| format!("\"{}\" ({} bytes)", choice.mechanism.word(), choice.bytes));
    let words = words.collect::<Vec<_>>().join(", ");
    let fault = match misfit {
        Misfit::Buffers { needed, reader, writes } => {
            let message = format!("{name} does not fit the times of channel `{}`", channel.name);
            let text = format!("needs {needed} buffers, has {BUFFERS_MAX} at most");
            let reader = model.party_name(channel.readers[*reader]);
            Fault::error(codes::MECHANISM_MISFIT, message, at("mechanism"), text)
                .also(at("to"), format!("{writes} writes can touch a read of `{reader}`"))
                .note("a reader is safe by time if the writer does not reuse a buffer before the end of the job that \
                       reads it")
        }
        Misfit::Size => {
            let message = format!("{name} does not fit channel `{}`", channel.name);
            Fault::error(
                codes::MECHANISM_MISFIT,
                message,
                at("mechanism"),
                "its size does not fit in 64 bits",
            )
        }
    };
    fault.help(format!("write \"auto\", or one of {words}"))
}

/// The buffers, ways and bytes of a mechanism for a channel that it serves.
fn candidate(
    model: &Model,
    id: ChannelId,
    bounds: &ResponseBounds,
    mechanism: Mechanism,
) -> Result<Choice, Misfit> {
    let channel = model.channel(id);
    let payload = model.payloads()[channel.payload].size().ok_or(Misfit::Size)?;
    let value = payload.checked_add(STAMP_BYTES).ok_or(Misfit::Size)?;
    let real_time: Vec<bool> = channel.readers.iter().map(|reader| model.is_real_time(*reader)).collect();
    let urgent = real_time.iter().filter(|real_time| **real_time).count() as u64;
    let all = channel.readers.len() as u64;
    let bytes = |slots: u64, claims: u64| {
        mechanism.bytes(value, u32::try_from(slots).ok()?, u32::try_from(claims).ok()?)
    };
    let looks_on = urgent < all;
    let mut ways: Vec<Way> =
        real_time.iter().map(|&real_time| if real_time { Way::Claims } else { Way::LooksOn }).collect();
    let mut writes = None;
    let (slots, claims) = match mechanism {
        Mechanism::Chen => (buffers::all_slow(buffers::Claim::Buffer, all).map_err(|_| Misfit::Size)?, all),
        Mechanism::Peterson => {
            (buffers::all_slow(buffers::Claim::Buffer, all).map_err(|_| Misfit::Size)?, all)
        }
        Mechanism::DoubleBuffer => {
            (buffers::all_slow(buffers::Claim::Row, all).map_err(|_| Misfit::Size)?, all)
        }
        Mechanism::Presence => (buffers::presence(all).map_err(|_| Misfit::Size)?, all),
        Mechanism::Hybrid if urgent == 0 => (if value > SMALL { 2 + SPARE_TO_LOOK_ON } else { 2 }, 0),
        Mechanism::Hybrid => (urgent + 2 + if looks_on { SPARE_TO_LOOK_ON } else { 0 }, urgent),
        Mechanism::ImprovedChen => {
            let touch = touching(model, channel, bounds).ok_or(Misfit::Size)?;
            let slots = |slow: u64, fast: Option<u64>| {
                let slots = buffers::mixed(buffers::Claim::Buffer, slow, fast).ok()?;
                (slots <= BUFFERS_MAX && slow <= mechanism.claims_max() as u64).then_some(slots)
            };
            let counts: Vec<u64> = touch.iter().map(|(_, writes)| *writes).collect();
            let cost = |slow, fast| bytes(slots(slow, fast)?, slow);
            let fast = partition::cheapest(&counts, cost);
            let fast = fast.ok_or_else(|| too_many(touch.iter().min_by_key(|(_, writes)| *writes)))?;
            writes = fast.iter().map(|&reader| counts[reader]).max();
            for &reader in &fast {
                ways[touch[reader].0] = Way::ByTime;
            }
            let slow = urgent - fast.len() as u64;
            (slots(slow, writes).ok_or(Misfit::Size)?, slow)
        }
        Mechanism::Nbw => {
            let touch = touching(model, channel, bounds).ok_or(Misfit::Size)?;
            for &(reader, _) in &touch {
                ways[reader] = Way::ByTime;
            }
            let slowest = touch.iter().max_by_key(|(_, writes)| *writes);
            writes = slowest.map(|(_, writes)| *writes);
            // One more than time alone needs: one word of the writer tells a reader whether it was overtaken.
            let slots = writes.unwrap_or(0).checked_add(2).filter(|slots| *slots <= BUFFERS_MAX);
            (slots.ok_or_else(|| too_many(slowest))?, 0)
        }
        Mechanism::Sdrtr
        | Mechanism::Sdrtw
        | Mechanism::Qrtr
        | Mechanism::TimedSlots
        | Mechanism::Broadcast
        | Mechanism::Bulk
        | Mechanism::ReservedBulk
        | Mechanism::Qrtwo
        | Mechanism::Qrtwc
        | lock_mechanisms!()
        | Mechanism::Dbp
        | Mechanism::Tccp => return Err(Misfit::Size),
    };
    if mechanism.ways() == [Way::Claims] {
        ways.fill(Way::Claims);
    }
    let bytes = bytes(slots, claims).ok_or(Misfit::Size)?;
    let slots = u32::try_from(slots).map_err(|_| Misfit::Size)?;
    Ok(Choice { mechanism, buffers: slots, ways, bytes, writes })
}

/// The misfit for too many buffers: `of` is the reader that needs them, if there is one, and its writes.
fn too_many(of: Option<&(usize, u64)>) -> Misfit {
    of.map_or(Misfit::Size, |&(reader, writes)| Misfit::Buffers {
        needed: writes.saturating_add(2),
        reader,
        writes,
    })
}

/// For each real-time reader, its position among the readers and the number of writes that can touch one of its
/// reads: at least 2, as the objects require. None if the writer or one of these readers has no response bound.
fn touching(model: &Model, channel: &Channel, bounds: &ResponseBounds) -> Option<Vec<(usize, u64)>> {
    let bound = |party: PartyId| match party {
        PartyId::Task(task) => bounds[task.index()].map(|bound| bound.response),
        PartyId::Client(_) => None,
    };
    let writer = match channel.writer {
        PartyId::Task(task) => match &model.task(task).class {
            // Nothing bounds how often it writes.
            Class::RealTime(task) if task.arrival.is_aperiodic() => return None,
            Class::RealTime(task) => {
                WriterTiming { period: task.arrival.period(), within: bound(channel.writer)? }
            }
            Class::BestEffort(_) => return None,
        },
        PartyId::Client(_) => return None,
    };
    let urgent = channel.readers.iter().enumerate().filter(|(_, reader)| model.is_real_time(**reader));
    urgent
        .map(|(at, reader)| {
            // A read lies within a job of its reader, and a write within a job of the writer.
            let jobs = *writes_during_read::most(bound(*reader)?, &writer).ok()?.bound()?;
            let writes = jobs.checked_mul(u64::from(channel.sends_per_release))?;
            Some((at, writes.max(2)))
        })
        .collect()
}

fn reason(model: &Model, channel: &Channel, choice: &Choice, next: Option<&Choice>, pinned: bool) -> String {
    let names = |way: Way| {
        let of = channel.readers.iter().zip(&choice.ways).filter(|(_, of)| **of == way);
        let names = of.map(|(reader, _)| format!("`{}`", model.party_name(*reader))).collect::<Vec<_>>();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let writer =
        if model.is_real_time(channel.writer) { "real-time writer" } else { "writer that is not real-time" };
    let mut parts = Vec::new();
    if pinned {
        parts.push("pinned".to_owned());
    }
    let readers = if channel.readers.iter().any(|reader| model.is_real_time(*reader)) {
        " with a real-time reader"
    } else {
        ", no real-time reader"
    };
    parts.push(format!("state of a {writer}{readers}"));
    parts.push(format!("{} buffers, {} bytes", choice.buffers, choice.bytes));
    if let Some(names) = names(Way::Claims) {
        parts.push(format!("slow, safe whatever time it takes: {names}"));
    }
    if let (Some(names), Some(writes)) = (names(Way::ByTime), choice.writes) {
        parts.push(format!("fast, at most {writes} writes touch a read: {names}"));
    }
    if let Some(names) = names(Way::LooksOn) {
        parts.push(format!("tries again if overtaken: {names}"));
    }
    if let Some(next) = next {
        let (verb, name) = (if pinned { "smallest other" } else { "next" }, next.mechanism.paper_name());
        parts.push(format!("{verb} {name} with {} bytes", next.bytes));
    }
    parts.join("; ")
}
