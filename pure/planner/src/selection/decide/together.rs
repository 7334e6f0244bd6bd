// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Decides all states and resources as one selection problem, for [`crate::select`].
//!
//! This applies if all cores are under fixed priorities, deadlines are within periods, resources are under protocols
//! that one analysis covers together (neither FMLP+ nor DFP), tasks have no order of segments and no non-preemptive
//! stretches, and there are no servers. The caller proves the result anew.

use std::sync::Arc;

use taut_analysis::multi::Guard;
use taut_analysis::{Overflow, memory};
use taut_model::{
    Aim, ChannelId, Decisions, LockingProtocol, Mechanism, Model, PartyId, SchedulingPolicy, TaskId,
};
use taut_time::Duration;

use super::state::Candidate;
use crate::channels::buffers;
use crate::channels::chains::{Known, Places};
use crate::placement::dispatch;
use crate::placement::{Placement, Placements, Who};
use crate::response::bounds::{ResponseBound, ResponseBounds};
use crate::response::shared::protocols::guard_of;
use crate::response::shared::{self, Layout, Shared};
use crate::selection::select::{
    Constraint, Equations, Footprint, ObjectOffers, Offer, OfferMemory, Problem, best,
};

/// The most judgements of a search: about a second.
const JUDGEMENTS: u64 = 100_000;

/// The decision for which an offer stands.
#[derive(Clone, Copy)]
enum Stands {
    Mechanism(ChannelId, Mechanism),
    Protocol(usize, LockingProtocol),
}

/// Decides everything together, and says whether no other selection is nearer to the aim; `None` if this module does
/// not apply to the application, or the search found no selection that keeps everything.
pub(super) fn select(
    open: &Model,
    candidates: &[Candidate],
    aim: Aim,
    decisions: &Decisions,
) -> Option<(Decisions, bool)> {
    if !is_of_this_kind(open) {
        return None;
    }
    // Give every state a lock: then every access is a section.
    let mut all = decisions.clone();
    for candidate in candidates {
        all.mechanisms[candidate.id.index()] = candidate.locks.first().copied();
    }
    let model = Arc::new(open.decided(&all)?);
    let placements = Placements::choose(&model, None);
    let (stands, tasks, mut problem) = laid_out(open, candidates, &model, &placements).ok()??;
    problem.aim(aim);
    dispatchers(&open.decided(decisions)?, &model, &placements, &mut problem);
    chains(&model, &Places::of(&model, &placements), &tasks, &mut problem);
    let answer = best::search(&mut problem, JUDGEMENTS, &mut |_| true).ok()?;
    let proven = answer.is_proven();
    let (selection, _) = answer.best?;
    let mut selected = decisions.clone();
    for (stands, offer) in stands.iter().zip(selection) {
        match stands[offer] {
            Stands::Mechanism(id, mechanism) => selected.mechanisms[id.index()] = Some(mechanism),
            Stands::Protocol(resource, locking) => {
                if let Some(protocol) = selected.protocols.get_mut(resource) {
                    *protocol = Some(locking);
                }
            }
        }
    }
    Some((selected, proven))
}

fn is_of_this_kind(model: &Model) -> bool {
    model.platform().scheduler == SchedulingPolicy::FixedPriority
        && model.servers().is_empty()
        && (0..model.resources().len()).all(|at| model.protocol(at).is_none_or(is_covered))
        && model.real_time().all(|(.., task)| {
            task.segments.is_empty()
                && task.non_preemptive.is_zero()
                && task.deadline <= task.arrival.period()
        })
}

/// Whether the analysis of a selection covers resources under this protocol.
fn is_covered(protocol: LockingProtocol) -> bool {
    protocol == LockingProtocol::Srp || guard_of(protocol).is_some()
}

/// Tasks by position in a set.
type Tasks = Arc<Vec<TaskId>>;

/// The decision for which each offer stands, by object and offer; the tasks; and the problem.
type LaidOut = (Vec<Vec<Stands>>, Tasks, Problem);

fn laid_out(
    open: &Model,
    candidates: &[Candidate],
    model: &Arc<Model>,
    placements: &Placements<'_>,
) -> Result<Option<LaidOut>, Overflow> {
    let layout = Layout::of(model, placements)?;
    let task = |placement: &Placement<'_>| match placement.who {
        Who::Task(id) => Some(id),
        Who::Server(_) => None,
    };
    let tasks: Tasks = Arc::new(placements.placements.iter().filter_map(task).collect());
    let inputs = OfferInputs { open, model, placements, layout: &layout, tasks: tasks.clone() };
    let (mut objects, mut stands) = (Vec::new(), Vec::new());
    for (at, resource) in model.resources().iter().enumerate() {
        let found = match model.guarding(at) {
            Some(id) => {
                let candidate = candidates.iter().find(|candidate| candidate.id == id);
                inputs.state(at, id, candidate)?
            }
            None => inputs.resource(at)?,
        };
        let (offers, of): (Vec<Offer>, Vec<Stands>) = found.into_iter().unzip();
        objects.push(ObjectOffers { name: resource.name.clone(), resource: at, offers });
        stands.push(of);
    }
    Ok(Problem::new(&layout.set, objects, |_| Guard::Spinning, Equations::Sound)
        .ok()
        .map(|problem| (stands, tasks, problem)))
}

/// What offers are made from.
struct OfferInputs<'l> {
    open: &'l Model,
    model: &'l Arc<Model>,
    placements: &'l Placements<'l>,
    layout: &'l Layout,
    /// By position in the set.
    tasks: Tasks,
}

impl OfferInputs<'_> {
    /// The offers of a resource of the manifest.
    fn resource(&self, at: usize) -> Result<Vec<(Offer, Stands)>, Overflow> {
        let protocols = match (self.open.protocol(at), self.layout.guards[at].global) {
            (Some(protocol), _) => vec![protocol],
            (None, false) => vec![LockingProtocol::Srp],
            (None, true) => LockingProtocol::ALL.into_iter().filter(|of| guard_of(*of).is_some()).collect(),
        };
        let offer = |locking| Ok((self.lock(at, locking, 0)?, Stands::Protocol(at, locking)));
        protocols.into_iter().map(offer).collect()
    }

    /// The offers of a state: every mechanism if it is open, else the lock that it has.
    fn state(
        &self,
        at: usize,
        id: ChannelId,
        candidate: Option<&Candidate>,
    ) -> Result<Vec<(Offer, Stands)>, Overflow> {
        let given = || self.model.channel(id).decided.into_iter().collect();
        let locks: Vec<Mechanism> = candidate.map_or_else(given, |candidate| candidate.locks.clone());
        let mut offers = Vec::new();
        if candidate.is_some() {
            let serving = buffers::serving(self.open, id).into_iter();
            for mechanism in serving.filter(|mechanism| mechanism.has_ways()) {
                offers.push((self.copies(id, mechanism)?, Stands::Mechanism(id, mechanism)));
            }
        }
        let readers = u32::try_from(self.model.channel(id).readers.len()).map_err(|_| Overflow)?;
        let value = self.model.value_bytes(id).ok_or(Overflow)?;
        for mechanism in locks {
            let Some(locking) = mechanism.locking().filter(|of| is_covered(*of)) else { continue };
            let bytes = mechanism.bytes(value, 1, readers).ok_or(Overflow)?;
            offers.push((self.lock(at, locking, bytes)?, Stands::Mechanism(id, mechanism)));
        }
        Ok(offers)
    }

    fn lock(&self, at: usize, locking: LockingProtocol, bytes: u64) -> Result<Offer, Overflow> {
        let prices = self.layout.guards[at];
        // A resource of one core has a ceiling, which the analysis treats alike under both guards.
        let guard = guard_of(locking).unwrap_or(Guard::Spinning);
        let held = match (guard, prices.global) {
            (Guard::Suspending, _) => prices.suspending,
            (Guard::Spinning, true) => prices.spinning,
            (Guard::Spinning, false) | (Guard::Absent, _) => prices.ceiling,
        };
        let mut added = Vec::new();
        if guard == Guard::Suspending {
            for (task, requests) in (0..self.tasks.len()).map(|task| (task, self.layout.set.requests(task))) {
                let mut requests = requests.iter();
                let count =
                    requests.find(|request| request.resource == at).map_or(0, |request| request.count);
                if count > 0 {
                    let time = self.layout.switching.checked_mul(count.into()).ok_or(Overflow)?;
                    added.push((task, time));
                }
            }
        }
        let name = locking.paper_name().to_owned();
        let words = Shared::words(self.placements, at, locking)?;
        let bytes = bytes.checked_add(words).ok_or(Overflow)?;
        Ok(Offer { name, guard, added, held, memory: OfferMemory::Fixed(bytes) })
    }

    /// The offer of a mechanism without waiting.
    fn copies(&self, id: ChannelId, mechanism: Mechanism) -> Result<Offer, Overflow> {
        let channel = self.open.channel(id);
        let value = self.model.value_bytes(id).ok_or(Overflow)?;
        let copy = self.model.platform().overheads.copying(value).ok_or(Overflow)?;
        let claims = u32::try_from(channel.readers.len()).map_err(|_| Overflow)?;
        let (writes, reads) = mechanism.copies(claims);
        let mut added = Vec::new();
        let parties = [(channel.writer, channel.sends_per_release, writes)].into_iter();
        let parties =
            parties.chain(channel.readers.iter().map(|reader| (*reader, channel.takes_per_release, reads)));
        for (party, count, copies) in parties.filter(|(.., copies)| *copies > 1) {
            let PartyId::Task(task) = party else { continue };
            let Some(at) = self.tasks.iter().position(|other| *other == task) else { continue };
            let times = u64::from(count).checked_mul(u64::from(copies - 1)).ok_or(Overflow)?;
            let time = copy.checked_mul(times).ok_or(Overflow)?;
            added.push((at, self.layout.slower(time)?));
        }
        let footprint = Counted { model: self.model.clone(), id, mechanism, tasks: self.tasks.clone() };
        let memory = match mechanism.rests_on_time() {
            true => OfferMemory::Asked(Arc::new(footprint)),
            // The bytes do not depend on times: pass any.
            false => match footprint.bytes(&vec![Duration::ZERO; self.tasks.len()])? {
                Some(bytes) => OfferMemory::Fixed(bytes),
                None => OfferMemory::Asked(Arc::new(footprint)),
            },
        };
        let name = mechanism.paper_name().to_owned();
        Ok(Offer { name, guard: Guard::Absent, added, held: Duration::ZERO, memory })
    }
}

/// Bytes of a state in a mechanism that counts its buffers.
#[derive(Clone, Debug)]
struct Counted {
    model: Arc<Model>,
    id: ChannelId,
    mechanism: Mechanism,
    tasks: Tasks,
}

impl Footprint for Counted {
    fn bytes(&self, responses: &[Duration]) -> Result<Option<u64>, Overflow> {
        let bounds = bounds(&self.model, &self.tasks, responses);
        Ok(buffers::bytes(&self.model, self.id, &bounds, self.mechanism))
    }
}

fn bounds(model: &Model, tasks: &[TaskId], responses: &[Duration]) -> ResponseBounds {
    let mut bounds: ResponseBounds = vec![None; model.tasks().len()];
    for (task, response) in tasks.iter().zip(responses) {
        bounds[task.index()] =
            Some(ResponseBound { response: *response, proven: true, place: None, supply: None });
    }
    bounds
}

/// Charges a dispatcher once for the first lock of a state on a core whose tasks Linux schedules while no state of
/// the core has a lock.
fn dispatchers(without: &Model, model: &Model, placements: &Placements<'_>, problem: &mut Problem) {
    for core in 0..placements.cores.len() {
        if dispatch::reason(without, &Placements::choose(without, None), core).is_none() {
            let here = |at: &usize| shared::users(placements, *at).any(|placement| placement.core == core);
            problem.charge(memory::DISPATCHER_BYTES, (0..model.resources().len()).filter(here).collect());
        }
    }
}

/// Adds the limits of chains as constraints.
fn chains(model: &Arc<Model>, places: &Places, tasks: &Tasks, problem: &mut Problem) {
    for (at, chain) in model.chains().iter().enumerate() {
        let limits = [Some(chain.max_latency), chain.max_reaction];
        for (which, limit) in limits.into_iter().enumerate() {
            let Some(limit) = limit else { continue };
            let (model, tasks, places) = (model.clone(), tasks.clone(), places.clone());
            problem.constrain(Constraint::new(chain.name.clone(), limit, move |responses, guards| {
                let waits = guards.iter().any(|guard| *guard != Guard::Absent);
                let places = places.with_waits(waits);
                let bounds = bounds(&model, &tasks, responses);
                let known = Known { model: &model, places: &places, bounds: &bounds };
                Ok(known.times(&model.chains()[at])?[which])
            }));
        }
    }
}
