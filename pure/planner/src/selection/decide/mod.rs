// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Decides the mechanism of each state for which the manifest leaves it open, all states together.
//!
//! First each state gets the smallest mechanism in which nobody waits. Then, if the manifest says what a lock
//! costs, locks are tried: one copy and a wait may replace several copies. Whether a lock fits depends on the locks
//! of the other states, so a decision counts only if the whole is proven with it.
//!
//! | file | what it does |
//! |---|---|
//! | [`state`] | which mechanisms a state can have at all |
//! | [`measure`] | measures decisions: kept or not, bytes, response, slack |
//! | [`together`] | decides all states as one selection problem, where the analysis for that applies |
//! | [`exchange`] | gives one state after another something else, as long as that helps |
//! | [`why`] | what the whole would be with each other mechanism |

mod exchange;
mod measure;
mod state;
mod together;
mod why;

use taut_model::{Aim, ChannelId, Decisions, Fault, KeyPath, Mechanism, Model, SchedulingPolicy, codes};
use taut_plan::DecisionPlan;

use crate::response::settle;
pub(crate) use why::choice;
pub use why::why_channel;

/// Why nothing is known of states that are copied more than once.
const COPIES_OVERFLOW: &str = "its copies would take longer than 584 years, which is as far as times go";

/// An application with all mechanisms decided.
pub(crate) struct Decided {
    /// The model with the decisions.
    pub(crate) model: Model,
    /// The model before the decisions, with the pins of the overrides.
    pub(crate) open: Model,
    /// The decisions.
    pub(crate) decisions: Decisions,
    pub(crate) decision: Option<DecisionPlan>,
}

impl Decided {
    /// The model with another mechanism for one state; `None` if the state cannot have it.
    pub(crate) fn with(&self, id: ChannelId, mechanism: Mechanism) -> Option<Model> {
        let mut decisions = self.decisions.clone();
        decisions.mechanisms[id.index()] = Some(mechanism);
        self.open.with_any(id).decided(&decisions).map(|model| settle::settle(&model).into_owned())
    }
}

/// Decides all open mechanisms. A pinned lock that does not fit is reported as a fault; the state is then open.
pub(crate) fn decide(open: Model, aim: Aim, faults: &mut Vec<Fault>) -> Decided {
    let mut decisions = Decisions {
        mechanisms: vec![None; open.channels().len()],
        protocols: vec![None; open.resources().len()],
    };
    let open = pins_that_fit(open, &decisions, faults);
    let candidates = state::candidates(&open);
    let mut decision = None;
    if !candidates.is_empty() {
        let selected = together::select(&open, &candidates, aim, &decisions);
        let reached = exchange::improve(&open, &candidates, aim, &mut decisions, selected);
        // Under EDF every core has a dispatcher anyway, and one lock fits the parties of a state. If each state has
        // that lock and no other mechanism is smaller, all that the lock takes included, there is nothing to search
        // for.
        let edf = open.platform().scheduler == SchedulingPolicy::Edf;
        let smallest = |candidate: &state::Candidate| {
            let taken = decisions.mechanisms[candidate.id.index()];
            taken == candidate.locks.first().copied() && state::is_smallest(&open, candidate)
        };
        let smallest = aim == Aim::Memory && edf && candidates.iter().all(smallest);
        // Decisions that are not kept are not the best, whatever they take: others may be kept.
        let best = reached.is_some_and(|(reached, proven)| reached.kept && (proven || smallest));
        let states = u32::try_from(candidates.len()).unwrap_or(u32::MAX);
        decision = Some(DecisionPlan { states, minimised: aim, best });
    }
    let model = open.decided(&decisions).unwrap_or_else(|| {
        let place = KeyPath::value("platform.overheads.copy");
        let message = "the time for copies of states has no bound";
        faults.push(Fault::error(codes::NOT_SHOWN, message, place, COPIES_OVERFLOW));
        open.clone()
    });
    let model = settle::settle(&model).into_owned();
    Decided { model, open, decisions, decision }
}

/// The model without the pins that do not fit, each of which is reported.
fn pins_that_fit(mut open: Model, decisions: &Decisions, faults: &mut Vec<Fault>) -> Model {
    for id in open.channel_ids().collect::<Vec<_>>() {
        let pinned = open.channel(id).mechanism.filter(|pinned| pinned.locking().is_some());
        if let Some(why) = pinned.and_then(|_| state::unlockable(&open, id)) {
            faults.push(state::refused(&open, id, &why));
            open = open.with_any(id);
        }
    }
    // Each pin fits alone. Together, the parties may copy for longer than they execute, or than 64 bits hold. The
    // proof must not count less than there is, so pins are added one after another, and a pin that does not fit the
    // earlier ones is refused.
    if open.decided(decisions).is_none() {
        let pinned: Vec<_> = open.channel_ids().filter(|id| open.channel(*id).mechanism.is_some()).collect();
        for (at, &id) in pinned.iter().enumerate() {
            let so_far = pinned[at + 1..].iter().fold(open.clone(), |open, later| open.with_any(*later));
            if so_far.decided(decisions).is_some() {
                continue;
            }
            let why = match open.channel(id).mechanism.and_then(Mechanism::locking) {
                Some(_) => {
                    "with the locks of other channels its parties would copy for longer than they execute"
                }
                None => COPIES_OVERFLOW,
            };
            faults.push(state::refused(&open, id, why));
            open = open.with_any(id);
        }
    }
    open
}
