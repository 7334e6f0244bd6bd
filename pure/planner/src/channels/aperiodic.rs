// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Bounds the channels that release an aperiodic task: how long a value that the channel has taken waits at the most.
//!
//! ```text
//! Equation    K(w) = c + Σ_l (c_l + ⌈(w + R_l) / T_l⌉ · s_l);  X is the least w with X(1 + ⌈K(w) / t⌉) ≤ w
//! Symbols     c, c_l the capacity of the channel, and of each lane of its message whose values may go first;  T_l, R_l, s_l
//!             how often the sender of such a lane comes, within which time it sends, how many it sends;  t, X(n) as in
//!             [`crate::response::backlog`]
//! Assumes     A1 a sender whose lane may go first keeps its rate: a real-time task by its proven response time, another
//!             one by the least gap that the manifest states   A2 those of [`crate::response::backlog`]
//! Verdict     sufficient
//! Cost        pseudo-polynomial; no bound after [`ROUNDS_MAX`] rounds
//! Source      [`crate::response::backlog`]; for the order of lanes, `taut_analysis::queue::lanes`
//! ```
//!
//! A queue takes a value only if there is a place: so at most its capacity waits, and the bound needs no rate. Of a message,
//! the lanes in front may bring values later that go first; their senders' rates bound how many. Without such a rate there is
//! no bound. Under `fifo` a lane of a real-time sender is behind what the others hold, and behind one value of each that was
//! stamped before and sent after it.

use taut_model::{
    Channel, ChannelId, Class, Fault, KeyPath, MessageOrder, Model, NO_DEADLINE, PartyId, RealTime, codes,
};
use taut_time::Duration;

use super::flow::{self, Realisation};
use super::messages;
use crate::response::backlog;
use crate::response::bounds::ResponseBounds;

/// After this many rounds a bound that still grows counts as none.
const ROUNDS_MAX: u32 = 10_000;

/// The aperiodic task that a channel releases.
pub(crate) fn released(model: &Model, id: ChannelId) -> Option<(usize, &RealTime)> {
    model.channel(id).readers.iter().find_map(|reader| {
        let PartyId::Task(task) = *reader else { return None };
        let Class::RealTime(real_time) = &model.task(task).class else { return None };
        let releases = real_time.arrival.is_aperiodic() && real_time.arrival.triggers().contains(&id);
        releases.then_some((task.index(), real_time))
    })
}

/// How many values a channel holds whose reader looks at any time: what the manifest states, or twice what its reader takes.
pub(crate) fn capacity(channel: &Channel) -> u32 {
    channel.capacity.unwrap_or_else(|| flow::without_bound(channel))
}

/// A lane whose values may go before those of another one.
struct Front {
    /// How many of its values may wait.
    waiting: u64,
    /// How many it may bring later that go first, at most; `None` if those that come later come behind.
    rate: Option<taut_analysis::queue::SendingTask>,
}

/// The lanes whose values may go before those of this one; `None` if nothing bounds how many values of one of them do.
fn in_front(model: &Model, id: ChannelId, bounds: &ResponseBounds) -> Option<Vec<Front>> {
    let channel = model.channel(id);
    let Some(order) = channel.lane.as_ref().map(|lane| lane.order) else { return Some(Vec::new()) };
    let lanes = messages::ranked(model, channel.table(), bounds);
    let rank = lanes.iter().position(|lane| *lane == id)?;
    let real_time = |lane: ChannelId| model.is_real_time(model.channel(lane).writer);
    let mut all = Vec::new();
    for (at, lane) in lanes.iter().copied().enumerate() {
        let waiting = u64::from(capacity(model.channel(lane)));
        let of = match (order, real_time(id), real_time(lane)) {
            // Values of its own lane go first only if they say so, which the receiver reads of real-time senders alone.
            (_, urgent, _) if lane == id && !(urgent && order == MessageOrder::Specified) => continue,
            (_, true, false) => continue,
            (MessageOrder::Fifo, true, true) => Front { waiting: waiting + 1, rate: None },
            (MessageOrder::Sender, ..) | (MessageOrder::Specified, false, _) if at > rank => continue,
            _ => {
                let (rate, _) = flow::writer(model, model.channel(lane), bounds)?;
                Front { waiting: if lane == id { 0 } else { waiting }, rate: Some(rate) }
            }
        };
        all.push(of);
    }
    Some(all)
}

/// From the send of a value to the end of the job that takes it; `None` if no bound is shown.
fn delivery(
    model: &Model,
    id: ChannelId,
    task: (usize, &RealTime),
    bounds: &ResponseBounds,
) -> Option<Duration> {
    let channel = model.channel(id);
    let used = bounds[task.0].and_then(|bound| bound.supply)?;
    let front = in_front(model, id, bounds)?;
    let waiting =
        front.iter().try_fold(u64::from(capacity(channel)), |sum, of| sum.checked_add(of.waiting))?;
    let mut time = Duration::ZERO;
    for _ in 0..ROUNDS_MAX {
        let later = front.iter().filter_map(|of| of.rate).try_fold(0_u64, |sum, rate| {
            let window = u128::from(time.as_ns()) + u128::from(rate.response.as_ns());
            let jobs = u64::try_from(window.div_ceil(u128::from(rate.period.as_ns().max(1)))).ok()?;
            sum.checked_add(jobs.checked_mul(u64::from(rate.sends))?)
        })?;
        let values = waiting.checked_add(later)?;
        let next = backlog::within(model, task.1, used, backlog::jobs(values, channel.takes_per_release))?;
        if next <= time {
            return Some(time);
        }
        time = next;
    }
    None
}

/// The capacity of a channel that releases an aperiodic task, and how long a value waits that it has taken.
pub(crate) fn bound(
    model: &Model,
    id: ChannelId,
    task: (usize, &RealTime),
    bounds: &ResponseBounds,
    realisation: &mut Realisation,
    faults: &mut Vec<Fault>,
) {
    let channel = model.channel(id);
    flow::hold(model, channel, None, realisation, faults);
    if channel.lane.is_some() {
        let lanes = messages::ranked(model, channel.table(), bounds);
        realisation.rank = lanes.iter().position(|lane| *lane == id).unwrap_or(lanes.len());
    }
    realisation.latency = delivery(model, id, task, bounds);
    let deadline = task.1.deadline;
    // A server that is not shown to get its budget has a fault of its own.
    if deadline == NO_DEADLINE || bounds[task.0].is_none_or(|bound| bound.supply.is_none()) {
        return;
    }
    let (name, of) = (&model.tasks()[task.0].name, channel.table());
    let from = model.party_name(channel.writer);
    let place = KeyPath::value(format!("tasks.{name}.deadline"));
    let at = KeyPath::key(format!("channels.{of}"));
    let message =
        format!("a value of `{of}` from `{from}` is not shown to be handled by the deadline of `{name}`");
    faults.extend(match realisation.latency {
        Some(bound) if bound <= deadline => None,
        Some(bound) => Some(
            Fault::error(codes::DEADLINE_MISSED, message, place, format!("the bound is {}", bound.rounded()))
                .also(at, format!("holds {}", realisation.capacity))
                .note("test: a full channel through the server, one job after the other")
                .help("let the channel hold fewer values: `capacity`; or give the server a larger budget, or a shorter period"),
        ),
        None => Some(
            Fault::error(codes::NOT_SHOWN, message, place, "no bound")
                .also(at, "values of other senders may go first, at no rate that is stated")
                .help("give the sender a queue of its own, or leave the deadline out"),
        ),
    });
}
