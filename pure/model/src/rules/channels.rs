// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A channel's parties, its payload, and the mechanism that serves them.

use std::collections::HashSet;

use super::bulk;
use super::faults::Faults;
use super::names::{Names, Want};
use crate::{
    CAPACITY_MAX, ChannelDraft, ChannelKind, ClassDraft, Draft, Fault, Flow, KeyPath, Mechanism,
    OverflowPolicy, PartyCounts, PartyId, Reception, codes,
};

/// The resolved names of a channel.
pub(super) struct Link {
    /// The writer, if there is exactly one.
    pub(super) writer: Option<PartyId>,
    /// All writers whose names resolved.
    pub(super) writers: Vec<PartyId>,
    /// All readers whose names resolved, each once.
    pub(super) readers: Vec<PartyId>,
    /// The payload's position.
    pub(super) payload: Option<usize>,
    /// Whether every party was found and none was rejected.
    pub(super) sound: bool,
}

pub(super) fn check(draft: &Draft, names: &Names<'_>, faults: &mut Faults<'_>) -> Vec<Link> {
    let mut links = Vec::with_capacity(draft.channels.len());
    for channel in &draft.channels {
        let link = parties(draft, channel, names, faults);
        // What could be wrong with replies is wrong with their request.
        if channel.answers.is_some() {
            links.push(link);
            continue;
        }
        capacity(channel, faults);
        let drops = overflow(draft, channel, &link, faults) || channel.kind == ChannelKind::State;
        reception(draft, channel, &link, faults);
        // The receiver and the overflow policy of a message have rules of their own, and so has the policy of a broadcast.
        let is_served = match (&channel.lane, channel.broadcast) {
            (None, broadcast) => !broadcast || channel.overflow == OverflowPolicy::Reject,
            (Some(_), _) => {
                let drops = channel.overflow == OverflowPolicy::DropOldest && !channel.is_timed();
                (drops || channel.overflow == OverflowPolicy::Reject)
                    && link.readers.iter().any(|reader| is_real_time(draft, *reader))
            }
        };
        if link.sound && drops && is_served {
            mechanism(draft, channel, &link, faults);
        }
        counts(channel, faults);
        links.push(link);
    }
    bulk::recorded(draft, &links, faults);
    links
}

fn path(channel: &ChannelDraft, key: &str) -> String {
    format!("channels.{}.{key}", channel.table())
}

fn at(channel: &ChannelDraft, key: &str) -> KeyPath {
    KeyPath::value(path(channel, key))
}

fn whole(channel: &ChannelDraft) -> KeyPath {
    KeyPath::key(format!("channels.{}", channel.table()))
}

fn distinct(names: &[String]) -> usize {
    names.iter().collect::<HashSet<_>>().len()
}

fn parties(draft: &Draft, channel: &ChannelDraft, names: &Names<'_>, faults: &mut Faults<'_>) -> Link {
    let mut link =
        Link { writer: None, writers: Vec::new(), readers: Vec::new(), payload: None, sound: true };
    // The writer of replies is the receiver of the request, and their reader is a caller.
    let caller = channel.answers.as_ref().map(|reply| reply.caller);
    for (index, party) in channel.from.iter().enumerate() {
        let place = match caller {
            None => at(channel, &format!("from.{}", channel.place().unwrap_or(index))),
            Some(_) => at(channel, &format!("to.{index}")),
        };
        link.sound &= link.add_writer(channel, party, place, names, faults);
    }
    for (index, party) in channel.to.iter().enumerate() {
        let place = caller.map_or(format!("to.{index}"), |caller| format!("from.{caller}"));
        link.sound &= link.add_reader(channel, party, at(channel, &place), names, faults);
    }
    link.sound &= link.choose_writer(channel, faults);
    link.sound &= has_reader(channel, faults);
    link.sound &= readers_fit(draft, channel, &link, faults);
    link.sound &= bulk::parties(draft, channel, &link, faults);
    link.payload = names.payload(&channel.payload);
    if channel.one_of.len() > 1 {
        super::one_of::check(channel, names, faults);
    } else if channel.payload.is_empty() {
        let message = format!("{} `{}` names no payload", channel.noun(), channel.table());
        let fault = Fault::error(codes::SEVERAL_PAYLOADS, message, at(channel, "payload"), "empty");
        let fault = fault.help("name the type of its values: a name of `[payloads]`");
        faults.push_resting_on(fault, &[&path(channel, "payload")]);
    } else if link.payload.is_none() {
        let key = if caller.is_some() { "reply" } else { "payload" };
        names.dangling(Want::Payload, &channel.payload, at(channel, key), faults);
    }
    link
}

impl Link {
    /// Adds a writer by its name; returns false if the name is faulty.
    fn add_writer(
        &mut self,
        channel: &ChannelDraft,
        party: &str,
        place: KeyPath,
        names: &Names<'_>,
        faults: &mut Faults<'_>,
    ) -> bool {
        let Some(found) = resolved(party, &place, names, faults) else { return false };
        if self.writers.contains(&found) {
            faults.push(named_twice(channel, party, "from", place));
            return false;
        }
        self.writers.push(found);
        true
    }

    /// Adds a reader by its name; returns false if the name is faulty.
    fn add_reader(
        &mut self,
        channel: &ChannelDraft,
        party: &str,
        place: KeyPath,
        names: &Names<'_>,
        faults: &mut Faults<'_>,
    ) -> bool {
        let Some(found) = resolved(party, &place, names, faults) else { return false };
        if self.readers.contains(&found) {
            faults.push(named_twice(channel, party, "to", place));
            return false;
        }
        self.readers.push(found);
        // A task may set an alarm for itself. Of replies, the request's lane says it.
        let writes = self.writers.contains(&found) && !channel.is_timed() && channel.answers.is_none();
        if writes {
            let message = format!("`{party}` writes to and reads from channel `{}`", channel.name);
            faults.push(
                Fault::error(codes::PARTY_TWICE, message, place, "reads")
                    .also(at(channel, "from"), "writes")
                    .help("keep a task's own data in its persistent scope"),
            );
        }
        !writes
    }

    /// Sets the writer if there is exactly one; returns false if the number of writers is faulty.
    fn choose_writer(&mut self, channel: &ChannelDraft, faults: &mut Faults<'_>) -> bool {
        let name = &channel.name;
        match (channel.from.as_slice(), self.writers.as_slice()) {
            ([], _) => {
                let message = format!("channel `{name}` has no writer");
                let fault = Fault::error(codes::NO_WRITER, message, whole(channel), "no writer")
                    .help("name the task or client that writes: `from = \"…\"`");
                faults.push_resting_on(fault, &[&path(channel, "from")]);
                false
            }
            ([_], [writer]) => {
                self.writer = Some(*writer);
                true
            }
            // Names are counted, so the number is known even if a name does not resolve.
            (names, _) if distinct(names) > 1 => {
                let message = format!("channel `{name}` has {} writers", distinct(names));
                faults.push(
                    Fault::error(codes::MANY_WRITERS, message, at(channel, "from"), "one writer at most")
                        .note("a wait-free write is bounded because the channel has one writer")
                        .help("give each writer a channel of its own"),
                );
                false
            }
            _ => true,
        }
    }
}

fn resolved(party: &str, place: &KeyPath, names: &Names<'_>, faults: &mut Faults<'_>) -> Option<PartyId> {
    let found = names.party(party);
    if found.is_none() {
        names.dangling(Want::Party, party, place.clone(), faults);
    }
    found
}

fn named_twice(channel: &ChannelDraft, party: &str, key: &str, place: KeyPath) -> Fault {
    let message = format!("`{party}` appears twice in `{key}` of channel `{}`", channel.name);
    Fault::error(codes::PARTY_TWICE, message, place, "again").help("name each party once")
}

fn has_reader(channel: &ChannelDraft, faults: &mut Faults<'_>) -> bool {
    if channel.to.is_empty() {
        let message = format!("channel `{}` has no reader", channel.name);
        let fault = Fault::error(codes::NO_READER, message, whole(channel), "no reader")
            .help("name the reader: `to = \"…\"`, or a list of readers; or remove the channel");
        faults.push_resting_on(fault, &[&path(channel, "to")]);
    }
    !channel.to.is_empty()
}

/// Whether a channel is a queue from a real-time task to readers of which none is real-time.
fn leaves_real_time(draft: &Draft, channel: &ChannelDraft, link: &Link) -> bool {
    channel.kind == ChannelKind::Queue
        && link.writer.is_some_and(|writer| is_real_time(draft, writer))
        && !link.readers.is_empty()
        && !link.readers.iter().any(|reader| is_real_time(draft, *reader))
}

/// Checks that a queue has one reader, or several that may lose values.
fn readers_fit(draft: &Draft, channel: &ChannelDraft, link: &Link, faults: &mut Faults<'_>) -> bool {
    let readers = distinct(&channel.to);
    if !channel.kind.is_queued() || channel.broadcast || readers <= 1 {
        return true;
    }
    let leaves = leaves_real_time(draft, channel, link);
    if leaves && channel.overflow != OverflowPolicy::Reject {
        return true;
    }
    let message = format!("{} `{}` has {readers} readers", channel.noun(), channel.table());
    let fault = Fault::error(codes::MANY_READERS, message, at(channel, "to"), "one reader at most");
    let fault = if channel.kind == ChannelKind::Bulk {
        fault
            .note("a block has one owner at a time")
            .help("give each reader a bulk channel of its own, or let the reader send on what others need")
    } else if leaves {
        fault
            .note("a queue that rejects is full until its slowest reader has taken a value, so it has one reader")
            .help("write `overflow = \"drop-oldest\"`, or give each reader a queue of its own")
    } else {
        fault
            .note("a queue to or from a party that may not lose values delivers each value once")
            .help(match (&channel.lane, link.writer) {
                (None, Some(PartyId::Task(_))) => {
                    "write `kind = \"broadcast\"` if each reader is to get every value, or give each reader a queue of its own"
                }
                _ => "give each reader a queue of its own",
            })
    };
    let ends = ["kind", "overflow", "from"].map(|key| path(channel, key));
    faults.push_resting_on(fault, &ends.each_ref().map(String::as_str));
    false
}

pub(super) fn is_real_time(draft: &Draft, party: PartyId) -> bool {
    match party {
        PartyId::Task(id) => matches!(draft.tasks[id.index()].class, ClassDraft::RealTime(_)),
        PartyId::Client(_) => false,
    }
}

/// Whether a party's class is not known, because the manifest states it wrongly.
fn is_unsure(draft: &Draft, party: PartyId, faults: &Faults<'_>) -> bool {
    match party {
        PartyId::Task(id) => faults.wrong(&format!("tasks.{}.class", draft.tasks[id.index()].name)),
        PartyId::Client(_) => false,
    }
}

pub(super) fn party_name(draft: &Draft, party: PartyId) -> &str {
    match party {
        PartyId::Task(id) => &draft.tasks[id.index()].name,
        PartyId::Client(id) => &draft.clients[id.index()].name,
    }
}

fn mechanism(draft: &Draft, channel: &ChannelDraft, link: &Link, faults: &mut Faults<'_>) {
    let Some(writer) = link.writer else { return };
    let unsure = |party: &PartyId| is_unsure(draft, *party, faults);
    // The rules of flows report why a flow cannot be synchronous.
    if channel.flow == Flow::Synchronous && !super::flows::fits(draft, channel, link) {
        return;
    }
    let ends = ["kind", "from", "to", "flow"].map(|key| format!("channels.{}.{key}", channel.table()));
    if ends.iter().any(|end| faults.spoiled(end)) || unsure(&writer) || link.readers.iter().any(unsure) {
        return;
    }
    let count = |of: &dyn Fn(&PartyId) -> bool| link.readers.iter().filter(|reader| of(reader)).count();
    let parties = PartyCounts {
        real_time_writer: is_real_time(draft, writer),
        readers: link.readers.len(),
        real_time_readers: count(&|reader| is_real_time(draft, *reader)),
        client_readers: count(&|reader| matches!(reader, PartyId::Client(_))),
        synchronous: channel.flow == Flow::Synchronous,
        overflow: channel.overflow,
        timed: channel.is_timed(),
        broadcast: channel.broadcast,
        lane: channel.lane.is_some(),
    };
    let fit = Mechanism::ALL.into_iter().filter(|mechanism| mechanism.serves(channel.kind, &parties));
    let fit: Vec<Mechanism> = fit.collect();
    if fit.is_empty() {
        faults.push(uncovered(draft, channel, link, &parties));
        return;
    }
    if let Some(pinned) = channel.mechanism.filter(|pinned| !fit.contains(pinned)) {
        let message =
            format!("{} does not fit the parties of channel `{}`", pinned.paper_name(), channel.name);
        let words = fit.iter().map(|mechanism| format!("\"{}\"", mechanism.word())).collect::<Vec<_>>();
        let words = words.join(", ");
        let help = match words.rsplit_once(", ") {
            Some((most, last)) => format!("write \"auto\", {most} or {last}"),
            None => format!("write \"auto\" or {words}"),
        };
        let fault = Fault::error(codes::MECHANISM_MISFIT, message, at(channel, "mechanism"), "does not fit");
        faults.push(
            of_parties(fault, draft, channel, link)
                .note(format!("{} {}", pinned.paper_name(), pinned.parties()))
                .help(help),
        );
    }
}

/// Adds the parties at both ends to the fault.
fn of_parties(mut fault: Fault, draft: &Draft, channel: &ChannelDraft, link: &Link) -> Fault {
    let one = |party: PartyId| {
        let class = match party {
            PartyId::Client(_) => "a client",
            PartyId::Task(_) if is_real_time(draft, party) => "real-time",
            PartyId::Task(_) => "not real-time",
        };
        format!("`{}` is {class}", party_name(draft, party))
    };
    if let Some(writer) = link.writer {
        fault = fault.also(at(channel, "from"), one(writer));
    }
    let readers = link.readers.iter().map(|reader| one(*reader)).collect::<Vec<_>>();
    fault.also(at(channel, "to"), readers.join(", "))
}

/// Why no mechanism of this version serves these parties, and what would work.
fn uncovered(draft: &Draft, channel: &ChannelDraft, link: &Link, parties: &PartyCounts) -> Fault {
    let (what, help) = match (channel.kind, parties.real_time_writer, parties.real_time_readers) {
        (ChannelKind::Queue, _, 1..) if channel.broadcast => (
            "a broadcast to so many real-time readers",
            "at most 250: divide the readers among several broadcasts",
        ),
        (ChannelKind::State, true, _)
        | (ChannelKind::Queue | ChannelKind::Bulk, true, _)
        | (ChannelKind::Queue | ChannelKind::Bulk, false, 1..) => ("these parties", "write \"auto\""),
        (ChannelKind::State, false, 1..) => (
            "the state of a writer that is not real-time for so many real-time readers",
            "divide the readers among several state channels",
        ),
        (_, false, 0) => (
            "parties of which none is real-time",
            "let them communicate as ordinary threads and processes do; no real-time task depends on it",
        ),
    };
    let name = &channel.name;
    let message = format!("channel `{name}`: this version has no mechanism for {what}");
    let fault = Fault::error(codes::NO_MECHANISM, message, at(channel, "kind"), "no mechanism");
    of_parties(fault, draft, channel, link).help(help)
}

fn capacity(channel: &ChannelDraft, faults: &mut Faults<'_>) {
    let Some(capacity) = channel.capacity else { return };
    let (name, place) = (&channel.name, at(channel, "capacity"));
    if channel.kind == ChannelKind::State {
        let message = format!("state channel `{name}` has a capacity");
        faults.push(
            Fault::error(codes::STATE_CAPACITY, message, place, "a state holds one value")
                .also(at(channel, "kind"), "the latest value")
                .help("remove it, or make the channel a queue"),
        );
        return;
    }
    if channel.kind == ChannelKind::Bulk {
        bulk::capacity(channel, capacity, faults);
        return;
    }
    let burst = i64::from(channel.sends_per_release);
    if capacity < 1 || capacity > i64::from(CAPACITY_MAX) {
        let (named, help) = if channel.is_timed() {
            (format!("alarm `{}`", channel.table()), "write how many alarms each setter may have pending")
        } else {
            (format!("{} `{name}`", channel.noun()), "write \"auto\": the analysis sizes it")
        };
        let message = format!("{named} has a capacity of {capacity}");
        let text = format!("not in 1 to {CAPACITY_MAX}");
        faults.push(Fault::error(codes::BAD_CAPACITY, message, place, text).help(help));
    } else if capacity < burst && !channel.is_timed() {
        let noun = channel.noun();
        let message = format!("{noun} `{name}` cannot hold the values that one release of its writer sends");
        faults.push(
            Fault::error(codes::BAD_CAPACITY, message, place, format!("holds {capacity}"))
                .also(at(channel, "sends-per-release"), format!("{burst} at once"))
                .help("write \"auto\": the analysis sizes it"),
        );
    }
}

/// Whether a party is known to be on the wrong side for a queue that drops values or wakes its readers: a reader that is
/// real-time, or a writer that is not.
fn stays_real_time(draft: &Draft, link: &Link, faults: &Faults<'_>) -> bool {
    let known = |party: &PartyId| !is_unsure(draft, *party, faults);
    let reads = |reader: &PartyId| known(reader) && is_real_time(draft, *reader);
    let writes = |writer: &PartyId| known(writer) && !is_real_time(draft, *writer);
    link.readers.iter().any(reads) || link.writers.iter().any(writes)
}

/// Whether some readers may be not real-time, and the writer may be.
fn leaves_in_part(draft: &Draft, link: &Link, faults: &Faults<'_>) -> bool {
    let is_real_time = |party: &PartyId| is_real_time(draft, *party);
    let unsure = |party: &PartyId| is_unsure(draft, *party, faults);
    link.writers.iter().all(|writer| is_real_time(writer) || unsure(writer))
        && link.readers.iter().any(|reader| !is_real_time(reader) || unsure(reader))
}

/// Checks that waiting values are dropped only where that is possible; returns false if not.
fn overflow(draft: &Draft, channel: &ChannelDraft, link: &Link, faults: &mut Faults<'_>) -> bool {
    // Messages and broadcasts have rules of their own.
    if channel.overflow == OverflowPolicy::Reject || channel.lane.is_some() || channel.broadcast {
        return true;
    }
    if channel.kind != ChannelKind::Bulk && channel.overflow == OverflowPolicy::Recall {
        bulk::recalls(channel, faults);
        return false;
    }
    let (text, help) = match channel.kind {
        ChannelKind::Bulk => return bulk::overflow(channel, faults),
        ChannelKind::State => ("a state never overflows", "remove it: a new value replaces the old one"),
        ChannelKind::Queue if !stays_real_time(draft, link, faults) => return true,
        ChannelKind::Queue => (
            "only readers that are not real-time can lose values, and only to a real-time writer",
            "write \"reject\": the writer gets the value back and decides",
        ),
    };
    let message = format!("channel `{}` cannot drop waiting values", channel.name);
    let fault = Fault::error(codes::BAD_OVERFLOW, message, at(channel, "overflow"), text).help(help);
    faults.push_resting_on(fault, &[&path(channel, "kind")]);
    false
}

/// Checks that readers wait only where the writer can wake them.
fn reception(draft: &Draft, channel: &ChannelDraft, link: &Link, faults: &mut Faults<'_>) {
    if channel.reception == Reception::Poll {
        return;
    }
    let (text, help) = match channel.kind {
        ChannelKind::State => ("a state has a value at any time", "remove it, or make the channel a queue"),
        // Its readers that are not real-time wait, whatever the others do.
        ChannelKind::Queue if channel.broadcast && leaves_in_part(draft, link, faults) => return,
        ChannelKind::Queue | ChannelKind::Bulk if !stays_real_time(draft, link, faults) => return,
        ChannelKind::Queue | ChannelKind::Bulk => (
            "only readers that are not real-time wait, for a real-time writer",
            "remove it: a real-time task waits for a queue if that is its trigger",
        ),
    };
    let message = format!("readers of channel `{}` cannot wait for a value", channel.name);
    let fault = Fault::error(codes::BAD_RECEPTION, message, at(channel, "reception"), text).help(help);
    faults.push_resting_on(fault, &[&path(channel, "kind")]);
}

fn counts(channel: &ChannelDraft, faults: &mut Faults<'_>) {
    let counts =
        [("sends-per-release", channel.sends_per_release), ("takes-per-release", channel.takes_per_release)];
    for (key, count) in counts {
        if count == 0 {
            let message = format!("channel `{}` transfers no value", channel.name);
            faults.push(
                Fault::error(codes::OUT_OF_RANGE, message, at(channel, key), "zero").help("use at least 1"),
            );
        }
    }
}
