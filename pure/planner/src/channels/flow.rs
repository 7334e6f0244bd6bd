// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Decides the mechanism, capacity and latency of each channel.

use taut_analysis::queue::{self, SendingTask, TakingTask};
use taut_model::{
    Arrival, CAPACITY_MAX, Channel, ChannelId, ChannelKind, Class, Fault, KeyPath, LockingProtocol,
    Mechanism, MechanismForm, MessageOrder, Model, OverflowPolicy, PartyId, STAMP_BYTES, Waiting, Way, codes,
};
use taut_time::Duration;

use crate::response::bounds::ResponseBounds;

use crate::channels::alarms;
use crate::channels::aperiodic;
use crate::channels::broadcasts;
use crate::channels::buffers;
use crate::channels::bulk;
use crate::channels::messages;
use crate::channels::requests;
use crate::channels::synchronous;

/// How a channel is realised.
pub(crate) struct Realisation {
    pub(crate) mechanism: Mechanism,
    pub(crate) reason: String,
    /// Copies of the value, for a state whose mechanism counts them.
    pub(crate) buffers: Option<u32>,
    /// How the mechanism protects each reader from the writer, if it has several ways; else empty.
    pub(crate) ways: Vec<Way>,
    pub(crate) capacity: u32,
    pub(crate) capacity_reason: Option<String>,
    pub(crate) latency: Option<Duration>,
    /// The place of a lane among the lanes of its message.
    pub(crate) rank: usize,
    /// What holds for each reader of a broadcast; empty of any other channel, and default of a reader that is not real-time.
    pub(crate) readers: Vec<ReaderBound>,
}

/// What holds for a real-time reader of a broadcast.
#[derive(Clone, Copy, Default)]
pub(crate) struct ReaderBound {
    /// The most values that wait for it.
    pub(crate) waiting: Option<u32>,
    /// From a send to the end of the job that takes the value, if that is proven.
    pub(crate) latency: Option<Duration>,
}

impl Realisation {
    fn of(mechanism: Mechanism) -> Self {
        Self {
            mechanism,
            reason: String::new(),
            buffers: None,
            ways: Vec::new(),
            capacity: 1,
            capacity_reason: None,
            latency: None,
            rank: 0,
            readers: Vec::new(),
        }
    }

    /// A state under a lock.
    fn locked(model: &Model, channel: &Channel, mechanism: Mechanism, locking: LockingProtocol) -> Self {
        let mut locked = Self::of(mechanism);
        locked.buffers = Some(1);
        if mechanism.ways() == [Way::Claims] {
            locked.ways = vec![Way::Claims; channel.readers.len()];
        }
        let by = if channel.mechanism.is_some() { "pinned; " } else { "" };
        let waits = match locking.waiting() {
            None => "on one core, under a ceiling: no task that uses the state preempts its holder",
            Some(Waiting::Spinning) => "on several cores: a waiting job spins",
            Some(Waiting::Suspended) => "on several cores: a waiting job is suspended",
        };
        let copying = model.payloads()[channel.payload]
            .size()
            .and_then(|size| model.platform().overheads.copying(size.checked_add(STAMP_BYTES)?));
        let held = copying.map_or_else(String::new, |time| format!(", held for {}", time.rounded()));
        locked.reason = format!("{by}state of real-time tasks {waits}; one copy{held}");
        locked
    }

    /// Bytes of the object; `None` if they do not fit in 64 bits.
    pub(crate) fn bytes(&self, model: &Model, id: ChannelId) -> Option<u64> {
        let slots = self.buffers.unwrap_or(self.capacity);
        self.mechanism.bytes(model.value_bytes(id)?, slots, self.claims(model.channel(id)))
    }

    /// How many readers have an entry of their own in the object.
    pub(crate) fn claims(&self, channel: &Channel) -> u32 {
        match self.mechanism.preserves_flow() {
            true => u32::try_from(channel.readers.len()).unwrap_or(u32::MAX),
            false => Way::claims(self.ways.iter().copied()),
        }
    }
}

fn too_large(channel: &Channel) -> Fault {
    let message = format!("no mechanism can hold the state of channel `{}`", channel.name);
    let place = KeyPath::key(format!("channels.{}", channel.table()));
    Fault::error(codes::MEMORY_EXCEEDED, message, place, "its size does not fit in 64 bits")
        .help("divide its readers among several channels, or shrink its payload")
}

/// The one reader of a queue in the form that the analysis takes, and whether its response is proven; none if
/// nothing bounds when it looks at the queue.
pub(crate) fn reader(model: &Model, id: ChannelId, bounds: &ResponseBounds) -> Option<(TakingTask, bool)> {
    let channel = model.channel(id);
    let [reader] = channel.readers[..] else { return None };
    reader_of(model, id, reader, bounds)
}

/// A reader of a queue or a broadcast, as [`reader`].
pub(crate) fn reader_of(
    model: &Model,
    id: ChannelId,
    party: PartyId,
    bounds: &ResponseBounds,
) -> Option<(TakingTask, bool)> {
    let PartyId::Task(task) = party else { return None };
    let (Class::RealTime(real_time), Some(bound)) = (&model.task(task).class, bounds[task.index()]) else {
        return None;
    };
    let triggered = follows(&real_time.arrival, id)?;
    // Of a task that follows a clock the longest gap counts: so seldom does it look.
    let period = real_time.arrival.max_gap().unwrap_or(real_time.arrival.period());
    let takes = takes(model.channel(id), triggered);
    Some((TakingTask { period, response: bound.response, takes, triggered }, bound.proven))
}

/// How many values a job of a reader takes: one, if the channel is a broadcast and alone releases the reader.
pub(crate) fn takes(channel: &Channel, triggered: bool) -> u32 {
    if channel.broadcast && triggered { 1 } else { channel.takes_per_release }
}

/// Whether a reader's job arrives at each send to a queue, unless the reader's gap delays it; none if nothing bounds when
/// the reader looks at the queue.
///
/// A reader with several triggers, or with a device beside one, looks at each of them as often as a periodic reader
/// does: while a value waits in one
/// of them, a job arrives at the end of each gap. But a value of another trigger may have released a job just before.
pub(crate) fn follows(arrival: &Arrival<ChannelId>, id: ChannelId) -> Option<bool> {
    match arrival {
        Arrival::Periodic { .. } | Arrival::Clocked(_) => Some(false),
        Arrival::Aperiodic { .. } => None,
        Arrival::Sporadic { triggers, .. } => {
            triggers.contains(&id).then_some(arrival.sole_trigger().is_some())
        }
    }
}

/// The writer of a queue in the form that the analysis takes, and whether its response is proven; none if nothing
/// bounds how often it sends.
pub(crate) fn writer(
    model: &Model,
    channel: &Channel,
    bounds: &ResponseBounds,
) -> Option<(SendingTask, bool)> {
    let (period, response, proven) = match channel.writer {
        PartyId::Task(task) => match &model.task(task).class {
            Class::RealTime(real_time) => {
                let bound = bounds[task.index()]?;
                (real_time.arrival.period(), bound.response, bound.proven)
            }
            // An activation ends before the next one starts, so it sends all its values within the gap.
            Class::BestEffort(best_effort) => (best_effort.min_gap?, best_effort.min_gap?, true),
        },
        PartyId::Client(client) => (model.client(client).min_gap?, Duration::ZERO, true),
    };
    (!period.is_zero())
        .then_some((SendingTask { period, response, sends: channel.sends_per_release }, proven))
}

/// Decides everything about a channel except its place in memory.
pub(crate) fn realise(
    model: &Model,
    id: ChannelId,
    bounds: &ResponseBounds,
    faults: &mut Vec<Fault>,
) -> Realisation {
    let mut realisation = carried(model, id, bounds, faults);
    if let Some(source) = &model.channel(id).source {
        let of = |other: &&Channel| other.source.as_ref().is_some_and(|its| its.state == source.state);
        let count = model.channels().iter().filter(of).count();
        realisation.reason = format!("source {} of {count}: {}", source.place + 1, realisation.reason);
    }
    realisation
}

/// What carries a channel with one writer.
fn carried(model: &Model, id: ChannelId, bounds: &ResponseBounds, faults: &mut Vec<Fault>) -> Realisation {
    let channel = model.channel(id);
    let serving = buffers::serving(model, id);
    let pinned = channel.mechanism.filter(|pinned| serving.contains(pinned));
    let lock = channel.decided.or(pinned).filter(|decided| decided.locking().is_some());
    let decided = channel.decided.filter(|decided| serving.contains(decided));
    // The model has refused channels that no mechanism serves; the fallback to a state is the safest.
    let mechanism = lock.or(pinned).or(decided).or(serving.first().copied()).unwrap_or(Mechanism::Sdrtw);
    let of_blocks;
    let parties = match (mechanism.form(), model.is_real_time(channel.writer)) {
        (MechanismForm::Lock(locking), _) => return Realisation::locked(model, channel, mechanism, locking),
        (MechanismForm::Buffers | MechanismForm::Flow, _) => {
            return buffered(model, id, (mechanism, &serving), bounds, faults);
        }
        (MechanismForm::Slots, false) => "state of a writer that is not real-time, one real-time reader",
        (MechanismForm::Slots, true) if channel.readers.iter().any(|reader| model.is_real_time(*reader)) => {
            "state of a real-time writer, read by real-time tasks"
        }
        (MechanismForm::Slots, true) => "state of a real-time writer, no real-time reader",
        (MechanismForm::Queue, _) if channel.kind == ChannelKind::Bulk => {
            of_blocks = bulk::parties(model, channel);
            &of_blocks
        }
        (MechanismForm::Queue, _) if channel.is_timed() => {
            "alarms of one setter, which the receiver takes in the order of their instants"
        }
        (MechanismForm::Queue, true) if channel.lane.is_some() => "lane of a message, from a real-time task",
        (MechanismForm::Queue, false) if channel.lane.is_some() && mechanism == Mechanism::Qrtwo => {
            "lane of a message, from a sender that is not real-time; if it is full, the sender's oldest value is dropped"
        }
        (MechanismForm::Queue, false) if channel.lane.is_some() => {
            "lane of a message, from a sender that is not real-time; the sender gets a value back if it is full"
        }
        (MechanismForm::Queue, _) if channel.broadcast => broadcasts::reason(model, id),
        (MechanismForm::Queue, _) if channel.answers.is_some() => "replies of a real-time task to one caller",
        (MechanismForm::Queue, true) if model.parties(id).leave_real_time() => leaving(channel.overflow),
        (MechanismForm::Queue, true) => "queue between real-time tasks",
        (MechanismForm::Queue, false) => "queue from a writer that is not real-time to a real-time reader",
    };
    let mut realisation = Realisation::of(mechanism);
    let by = if pinned.is_some() { "pinned; " } else { "" };
    realisation.reason = format!("{by}{parties}");
    if let Some(task) = aperiodic::released(model, id) {
        aperiodic::bound(model, id, task, bounds, &mut realisation, faults);
        return realisation;
    }
    match &channel.lane {
        Some(_) if channel.is_timed() => alarms::bound(model, id, bounds, &mut realisation, faults),
        Some(lane) => lane_of(model, (id, lane.order), bounds, &mut realisation, faults),
        None if channel.broadcast => broadcasts::bound(model, id, bounds, &mut realisation, faults),
        None if channel.answers.is_some() => requests::bound(model, id, bounds, &mut realisation),
        None => match channel.kind {
            ChannelKind::State => {}
            ChannelKind::Queue => queued(model, id, bounds, &mut realisation, faults),
            ChannelKind::Bulk => bulk::bound(model, id, bounds, &mut realisation, faults),
        },
    }
    realisation
}

/// The capacity and the delivery of a lane of a message.
fn lane_of(
    model: &Model,
    (id, order): (ChannelId, MessageOrder),
    bounds: &ResponseBounds,
    realisation: &mut Realisation,
    faults: &mut Vec<Fault>,
) {
    let channel = model.channel(id);
    let bound = messages::bound(model, id, order, bounds);
    realisation.rank = bound.rank;
    let needed = bound.found().map(|found| (found.capacity, bound.reason(order)));
    hold(model, channel, needed, realisation, faults);
    faults.extend(bound.fault(model, channel));
    if bound.proven {
        realisation.latency = bound.found().map(|found| found.latency);
    }
}

/// What a queue from a real-time task to readers that are not does, by its overflow policy.
fn leaving(overflow: OverflowPolicy) -> &'static str {
    match overflow {
        // No queue recalls a value.
        OverflowPolicy::Reject | OverflowPolicy::Recall => {
            "queue from a real-time task to a reader that is not; its writer gets a value back if it is full"
        }
        OverflowPolicy::DropOldest => {
            "queue from a real-time task to readers that are not; a slow reader loses its oldest values"
        }
        OverflowPolicy::Clear => {
            "queue from a real-time task to readers that are not; a slow reader loses all that waits"
        }
    }
}

/// A state in buffers, or a synchronous flow: the mechanism and its buffers follow from times.
fn buffered(
    model: &Model,
    id: ChannelId,
    (mechanism, serving): (Mechanism, &[Mechanism]),
    bounds: &ResponseBounds,
    faults: &mut Vec<Fault>,
) -> Realisation {
    let mut realisation = Realisation::of(mechanism);
    let found = if mechanism.preserves_flow() {
        let found = synchronous::choose(model, id, bounds, faults);
        found.map(|(choice, reason)| (choice.mechanism, choice.buffers, Vec::new(), reason))
    } else {
        let found = buffers::choose(model, id, serving, bounds, faults);
        found.map(|(choice, reason)| (choice.mechanism, choice.buffers, choice.ways, reason))
    };
    match found {
        Some((mechanism, buffers, ways, reason)) => {
            (realisation.mechanism, realisation.buffers) = (mechanism, Some(buffers));
            (realisation.ways, realisation.reason) = (ways, reason);
        }
        None => faults.push(too_large(model.channel(id))),
    }
    realisation
}

/// The capacity of a queue, and its latency if both ends are proven.
fn queued(
    model: &Model,
    id: ChannelId,
    bounds: &ResponseBounds,
    realisation: &mut Realisation,
    faults: &mut Vec<Fault>,
) {
    let channel = model.channel(id);
    let ends = writer(model, channel, bounds).zip(reader(model, id, bounds));
    let needed = ends.and_then(|((writer, _), (reader, _))| {
        let verdict = queue::capacity(&writer, &reader).ok()?;
        verdict.bound().map(|needed| (*needed, sized(*needed, &writer, &reader)))
    });
    hold(model, channel, needed, realisation, faults);
    if let Some(((writer, true), (reader, true))) = ends.filter(|_| model.is_real_time(channel.writer)) {
        realisation.latency =
            queue::latency(&writer, &reader).ok().and_then(|verdict| verdict.bound().copied());
    }
}

/// Decides how many values a queue holds. `needed` says how many can wait, and why; none if nothing bounds that.
pub(crate) fn hold(
    model: &Model,
    channel: &Channel,
    needed: Option<(u64, String)>,
    realisation: &mut Realisation,
    faults: &mut Vec<Fault>,
) {
    // A writer that is not real-time may find a queue full: the send reports that to the writer, and no proof depends
    // on that value.
    let from_real_time = model.is_real_time(channel.writer);
    let fits = |needed: u64| u32::try_from(needed).ok().filter(|needed| *needed <= CAPACITY_MAX);
    // What clients find when they attach is a part of what the queue holds.
    let keep = |capacity: u32, reason: String| match channel.history {
        history if history > capacity => (history, "the values that a client begins with".to_owned()),
        _ => (capacity, reason),
    };
    match (channel.capacity, needed) {
        (Some(capacity), Some((needed, how))) if u64::from(capacity) < needed && from_real_time => {
            // Ask for the memory of the capacity that is needed.
            realisation.capacity = fits(needed).unwrap_or(capacity);
            faults.push(may_be_full(channel, (capacity, needed), fits(needed), how));
        }
        (Some(capacity), _) => realisation.capacity = capacity,
        (None, Some((needed, how))) => match fits(needed) {
            Some(capacity) => {
                let (capacity, how) = keep(capacity.max(channel.sends_per_release), how);
                (realisation.capacity, realisation.capacity_reason) = (capacity, Some(how));
            }
            None => {
                realisation.capacity = CAPACITY_MAX;
                faults.push(too_much(channel, needed));
            }
        },
        (None, None)
            if from_real_time && !channel.readers.iter().any(|reader| model.is_real_time(*reader)) =>
        {
            let (capacity, reason) = second(model, channel);
            let (capacity, reason) = keep(capacity, reason);
            (realisation.capacity, realisation.capacity_reason) = (capacity, Some(reason));
        }
        (None, None) => {
            let nothing = "the number of waiting values has no bound, so the queue can be full: twice what its reader takes at \
                 once";
            let (capacity, reason) = keep(without_bound(channel), nothing.into());
            (realisation.capacity, realisation.capacity_reason) = (capacity, Some(reason));
        }
    }
}

/// The capacity of a queue in which any number of values may want to wait, if the manifest states none.
pub(crate) fn without_bound(channel: &Channel) -> u32 {
    channel.takes_per_release.saturating_mul(2).max(channel.sends_per_release).min(CAPACITY_MAX)
}

/// The capacity of a queue whose readers are not real-time, if the manifest states none: what a second brings at most.
/// Nothing bounds how long such a reader looks away, so a second is a choice, and no bound.
fn second(model: &Model, channel: &Channel) -> (u32, String) {
    const APERIODIC_JOBS: u32 = 16;
    const SECOND_NS: u64 = 1_000_000_000;
    let period = match channel.writer {
        PartyId::Task(task) => match &model.task(task).class {
            Class::RealTime(task) => task.arrival.period(),
            Class::BestEffort(_) => Duration::ZERO,
        },
        PartyId::Client(_) => Duration::ZERO,
    };
    if period.is_zero() {
        let most = channel.sends_per_release.saturating_mul(APERIODIC_JOBS).min(CAPACITY_MAX);
        let reason =
            "nothing bounds how often its writer sends, nor how seldom a reader looks: what a few jobs send";
        return (most, reason.into());
    }
    let sends = u64::from(channel.sends_per_release);
    let of_a_second = SECOND_NS.div_ceil(period.as_ns().max(1)).saturating_mul(sends);
    let brought = of_a_second.max(2 * sends);
    let capacity = u32::try_from(brought).unwrap_or(CAPACITY_MAX).min(CAPACITY_MAX);
    let reason = if u64::from(capacity) == brought {
        let whose = if brought == of_a_second { "a second brings" } else { "two of its jobs bring" };
        format!("what {whose} at most: {sends} sent per {period}; nothing bounds how seldom a reader looks")
    } else {
        format!(
            "the most that a queue holds; {sends} sent per {period}, and nothing bounds how seldom a reader looks"
        )
    };
    (capacity, reason)
}

fn capacity(channel: &Channel) -> KeyPath {
    KeyPath::value(format!("channels.{}.capacity", channel.table()))
}

/// The fault of a queue whose stated capacity is less than the number of values that can wait in it.
fn may_be_full(channel: &Channel, (stated, needed): (u32, u64), fits: Option<u32>, how: String) -> Fault {
    let message = format!("{} `{}` can be full when its writer sends", noun(channel), channel.name);
    let text = format!("holds {stated}, {needed} can wait");
    let help = match fits {
        Some(needed) => format!("use `capacity = {needed}`, or \"auto\""),
        None => format!("at most {CAPACITY_MAX} fit: let its reader run more often"),
    };
    Fault::error(codes::BAD_CAPACITY, message, capacity(channel), text).note(how).help(help)
}

/// The fault of a queue in which more values can wait than any queue holds.
fn too_much(channel: &Channel, needed: u64) -> Fault {
    let message = format!("{} `{}` would have to hold {needed} values", noun(channel), channel.name);
    let text = format!("at most {CAPACITY_MAX}");
    Fault::error(codes::BAD_CAPACITY, message, capacity(channel), text).help("let its reader run more often")
}

fn noun(channel: &Channel) -> &'static str {
    if channel.broadcast { "broadcast" } else { "queue" }
}

pub(crate) fn sized(needed: u64, writer: &SendingTask, reader: &TakingTask) -> String {
    let (n, tw, rw) = (writer.sends, writer.period, writer.response.rounded());
    let (m, tr, rr) = (reader.takes, reader.period, reader.response.rounded());
    format!("at most {needed} wait: {n} sent per {tw} within {rw}, {m} taken per {tr} within {rr}")
}
