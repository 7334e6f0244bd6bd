// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Bounds a broadcast: how many values it holds, and what holds for each of its real-time readers.

use taut_analysis::queue::broadcast::{self, ReaderDelivery};
use taut_analysis::queue::{SendingTask, TakingTask};
use taut_analysis::{Overflow, Verdict, Why};
use taut_model::{ChannelId, Fault, KeyPath, Model, PartyId, Way, codes};

use super::flow::{self, ReaderBound, Realisation};
use crate::response::bounds::ResponseBounds;

/// Why a broadcast has its mechanism: who its parties are.
pub(crate) fn reason(model: &Model, id: ChannelId) -> &'static str {
    let parties = model.parties(id);
    match (parties.real_time_writer, parties.real_time_readers) {
        (true, 0) => {
            "broadcast of a real-time task without a real-time reader: each loses its oldest values if it is too slow"
        }
        (true, all) if all == parties.readers => {
            "broadcast of a real-time task: each reader gets every value"
        }
        (true, _) => {
            "broadcast of a real-time task: each real-time reader gets every value, any other may lose the oldest"
        }
        (false, _) => {
            "broadcast of a writer that is not real-time: each real-time reader gets every value, the writer gets one back \
             that does not fit"
        }
    }
}

/// A real-time reader with what the analysis takes.
struct Reader {
    /// Its position among the readers.
    at: usize,
    party: PartyId,
    /// The form that the analysis takes, and whether its response is proven; none if nothing bounds when it looks.
    ends: Option<(TakingTask, bool)>,
}

/// The capacity of a broadcast, and what holds for each of its readers.
pub(crate) fn bound(
    model: &Model,
    id: ChannelId,
    bounds: &ResponseBounds,
    realisation: &mut Realisation,
    faults: &mut Vec<Fault>,
) {
    let channel = model.channel(id);
    let urgent = channel.readers.iter().enumerate().filter(|(_, party)| model.is_real_time(**party));
    let readers: Vec<Reader> = urgent
        .map(|(at, party)| Reader { at, party: *party, ends: flow::reader_of(model, id, *party, bounds) })
        .collect();
    realisation.readers = vec![ReaderBound::default(); channel.readers.len()];
    if !readers.is_empty() {
        realisation.ways = vec![Way::LooksOn; channel.readers.len()];
        readers.iter().for_each(|reader| realisation.ways[reader.at] = Way::Claims);
    }
    let writer = flow::writer(model, channel, bounds);
    let ends: Option<Vec<(TakingTask, bool)>> = readers.iter().map(|reader| reader.ends).collect();
    let known = writer.zip(ends).filter(|_| !readers.is_empty());
    let Some(((writer, writes), ends)) = known else {
        return flow::hold(model, channel, None, realisation, faults);
    };
    let taking: Vec<TakingTask> = ends.iter().map(|(taking, _)| *taking).collect();
    let delivery = broadcast::delivery(&writer, &taking);
    let Ok(Verdict::Schedulable(found)) = &delivery else {
        if model.is_real_time(channel.writer) {
            faults.push(no_bound(model, id, &writer, &readers, &delivery));
        }
        return flow::hold(model, channel, None, realisation, faults);
    };
    let most = found.iter().zip(&taking).zip(&readers).max_by_key(|((found, _), _)| found.waiting);
    let needed = most.map(|((found, taking), reader)| {
        let how = flow::sized(found.waiting, &writer, taking);
        (found.waiting, format!("{how}, by `{}`, for which the most wait", model.party_name(reader.party)))
    });
    flow::hold(model, channel, needed, realisation, faults);
    let from_real_time = model.is_real_time(channel.writer);
    for ((reader, (_, reads)), found) in readers.iter().zip(&ends).zip(found) {
        realisation.readers[reader.at] = ReaderBound {
            waiting: u32::try_from(found.waiting).ok().filter(|waiting| *waiting <= realisation.capacity),
            latency: Some(found.latency).filter(|_| from_real_time && writes && *reads),
        };
    }
    let latencies = readers.iter().map(|reader| realisation.readers[reader.at].latency);
    realisation.latency = latencies.collect::<Option<Vec<_>>>().and_then(|all| all.into_iter().max());
}

/// The fault of a broadcast of a real-time task of which a reader has no bound.
fn no_bound(
    model: &Model,
    id: ChannelId,
    writer: &SendingTask,
    readers: &[Reader],
    delivery: &Result<Verdict<Vec<ReaderDelivery>>, Overflow>,
) -> Fault {
    let channel = model.channel(id);
    let alone = |reader: &&Reader| {
        let Some((taking, _)) = reader.ends else { return true };
        !matches!(broadcast::delivery(writer, &[taking]), Ok(Verdict::Schedulable(_)))
    };
    let reader = readers.iter().find(alone).or(readers.first());
    let name = reader.map_or("", |reader| model.party_name(reader.party));
    let why = match delivery {
        Ok(Verdict::NotShown(Why::Rate)) => "it takes less than is sent".to_owned(),
        Ok(Verdict::NotApplicable(assumption)) => assumption.to_string(),
        Err(overflow) => overflow.to_string(),
        _ => "nothing bounds when it looks".to_owned(),
    };
    let message = format!("broadcast `{}`: the delivery to `{name}` has no bound", channel.name);
    let at = reader.map_or(0, |reader| reader.at);
    Fault::error(
        codes::NO_DELIVERY,
        message,
        KeyPath::value(format!("channels.{}.to.{at}", channel.name)),
        why,
    )
    .help("let the reader run more often, or take more per release: `takes-per-release`")
}
