// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which mechanisms a state can have.

use std::collections::BTreeSet;

use taut_analysis::memory;
use taut_model::{
    ChannelId, Class, Executor, Fault, KeyPath, LockingProtocol, Mechanism, Model, PartyId, RealTime, codes,
};
use taut_time::Duration;

use crate::channels::buffers;
use crate::placement::{Placements, Who};

/// A state whose mechanism is open, and the locks that can guard it.
pub(super) struct Candidate {
    pub(super) id: ChannelId,
    /// The smallest first.
    pub(super) locks: Vec<Mechanism>,
}

/// The states for which locks are tried: none while the cost of a lock is a guess, or if Linux alone executes.
pub(super) fn candidates(model: &Model) -> Vec<Candidate> {
    // Linux alone has none of these locks.
    if model.platform().overheads.sources.lock.is_none() || model.platform().executor == Executor::Native {
        return Vec::new();
    }
    let open = model.channel_ids().filter(|id| model.channel(*id).mechanism.is_none());
    let open: Vec<ChannelId> = open.filter(|id| is_guardable(model, *id)).collect();
    if open.is_empty() {
        return Vec::new();
    }
    let placements = Placements::choose(model, None);
    let candidate = |id| {
        let fits = unlockable(model, id).is_none();
        Candidate { id, locks: if fits { locks(model, &placements, id) } else { Vec::new() } }
    };
    open.into_iter().map(candidate).filter(|candidate| !candidate.locks.is_empty()).collect()
}

/// Whether no other mechanism can be smaller than the first lock, the words of a lock between cores included.
pub(super) fn is_smallest(model: &Model, candidate: &Candidate) -> bool {
    let (Some(lock), Some(value)) = (candidate.locks.first(), model.value_bytes(candidate.id)) else {
        return false;
    };
    let readers = model.channel(candidate.id).readers.len() as u64;
    // At most one core per party spins for it.
    let words = match lock.locking().and_then(LockingProtocol::global) {
        None => Ok(0),
        Some(_) => memory::lock(readers + 1),
    };
    let taken = words.ok().zip(lock.bytes(value, 1, 0)).and_then(|(words, object)| words.checked_add(object));
    let serving = buffers::serving(model, candidate.id).into_iter();
    let mut others =
        serving.filter(|mechanism| mechanism.has_ways()).map(|mechanism| mechanism.bytes_min(value));
    taken.is_some_and(|taken| others.all(|other| other.is_none_or(|other| taken <= other)))
}

/// Whether some lock serves the state's parties, whatever their times are.
pub(super) fn is_guardable(model: &Model, id: ChannelId) -> bool {
    buffers::serving(model, id).iter().any(|mechanism| mechanism.locking().is_some())
}

/// The locks for a state, by the cores on which its parties run.
pub(super) fn locks(model: &Model, placements: &Placements<'_>, id: ChannelId) -> Vec<Mechanism> {
    let channel = model.channel(id);
    let parties = || std::iter::once(&channel.writer).chain(&channel.readers);
    let core = |party: &PartyId| match party {
        PartyId::Task(task) => placements
            .placements
            .iter()
            .find(|placement| placement.who == Who::Task(*task))
            .map(|placement| placement.core),
        PartyId::Client(_) => None,
    };
    let cores: BTreeSet<Option<usize>> = parties().map(core).collect();
    if cores.contains(&None) {
        return Vec::new();
    }
    let (of_one_core, scheduler) = (cores.len() == 1, model.platform().scheduler);
    let fits = |protocol: LockingProtocol| protocol.is_local() == of_one_core && protocol.fits(scheduler);
    let locks = Mechanism::ALL.into_iter();
    locks.filter(|mechanism| mechanism.locking().is_some_and(fits)).collect()
}

/// Why a state cannot have a lock; `None` if it can.
pub(super) fn unlockable(model: &Model, id: ChannelId) -> Option<String> {
    let channel = model.channel(id);
    let copy = model.value_bytes(id).and_then(|bytes| model.platform().overheads.copying(bytes));
    let writes = (channel.writer, channel.sends_per_release);
    let reads = channel.readers.iter().map(|reader| (*reader, channel.takes_per_release));
    for (party, count) in [writes].into_iter().chain(reads) {
        let name = model.party_name(party);
        let Some(task) = real_time(model, party) else {
            return Some(format!("`{name}` is not real-time, and the other parties would wait for it"));
        };
        if task.server.is_some() {
            return Some(format!("`{name}` runs in a server, where a job may not lock"));
        }
        if !task.segments.is_empty() {
            return Some(format!(
                "`{name}` gives the order of its segments, but not the place of this access"
            ));
        }
        let held = task.sections.iter().try_fold(Duration::ZERO, |sum, section| {
            sum.checked_add(section.longest.checked_mul(section.count.into())?)
        });
        let copying = copy.and_then(|copy| copy.checked_mul(count.into()));
        let inside = held.zip(copying).and_then(|(held, copying)| held.checked_add(copying));
        if inside.is_none_or(|inside| inside > task.wcet.value) {
            let copying = copying.map_or_else(|| "no number of ns".to_owned(), Duration::rounded);
            return Some(format!(
                "by `overheads.copy`, `{name}` needs {copying} for copies, but it executes for {}",
                task.wcet.value
            ));
        }
    }
    None
}

fn real_time(model: &Model, party: PartyId) -> Option<&RealTime> {
    let PartyId::Task(id) = party else { return None };
    match &model.task(id).class {
        Class::RealTime(task) => Some(task),
        Class::BestEffort(_) => None,
    }
}

/// The fault for a pinned mechanism that does not fit.
pub(super) fn refused(model: &Model, id: ChannelId, why: &str) -> Fault {
    let channel = model.channel(id);
    let name = channel.mechanism.map_or("it", Mechanism::paper_name);
    let message = format!("{name} does not fit channel `{}`", channel.name);
    let place = KeyPath::value(format!("channels.{}.mechanism", channel.table()));
    Fault::error(codes::MECHANISM_MISFIT, message, place, why.to_owned())
        .help("write \"auto\", which chooses a mechanism without a lock")
}
