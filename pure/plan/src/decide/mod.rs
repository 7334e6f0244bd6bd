// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which mechanism for which state, where the manifest leaves that open: all of them together.
//!
//! First each state gets what is smallest for itself and waits for nobody. Then, where the manifest says what a lock
//! costs, locks are tried: one copy and a wait may be had for several copies. Whether a lock fits depends on the locks
//! that others got, so what is decided is proven as a whole, and counts only then.
//!
//! | file | what it does |
//! |---|---|
//! | [`state`] | what a state can have at all |
//! | [`measure`] | what decisions come to: kept or not, bytes, response, slack |
//! | [`together`] | all as one problem of selection, where the analysis for that applies |
//! | [`exchange`] | one state after another gets something else, as long as that helps |
//! | [`why`] | what each other mechanism would come to |

mod exchange;
mod measure;
mod state;
mod together;
mod why;

use taut_model::{Aim, ChannelId, Decisions, Fault, Mechanism, Model, Place, Scheduler, codes};

use crate::{DecisionPlan, waits};
pub(crate) use why::choice;
pub use why::why_channel;

/// Why nothing is known of what is copied more than once.
const COPIES_OVERFLOW: &str = "its copies would take longer than 584 years, which is as far as times go";

/// An application with all mechanisms decided.
pub(crate) struct Decided {
    /// It, decided.
    pub(crate) model: Model,
    /// Before, with pins of the wish.
    pub(crate) open: Model,
    /// What was decided.
    pub(crate) decisions: Decisions,
    pub(crate) decision: Option<DecisionPlan>,
}

impl Decided {
    /// The same with another mechanism for one state; `None` if that cannot be.
    pub(crate) fn with(&self, id: ChannelId, mechanism: Mechanism) -> Option<Model> {
        let mut decisions = self.decisions.clone();
        decisions.mechanisms[id.index()] = Some(mechanism);
        self.open.with_any(id).decided(&decisions).map(|model| waits::settle(&model).into_owned())
    }
}

/// Decides. Locks that the manifest pins and that cannot be are reported; the state then stays undecided.
pub(crate) fn decide(open: Model, aim: Aim, faults: &mut Vec<Fault>) -> Decided {
    let mut decisions = Decisions {
        mechanisms: vec![None; open.channels().len()],
        protocols: vec![None; open.resources().len()],
    };
    let mut open = open;
    for id in open.channel_ids().collect::<Vec<_>>() {
        let pinned = open.channel(id).mechanism.filter(|pinned| pinned.locking().is_some());
        if let Some(why) = pinned.and_then(|_| state::unlockable(&open, id)) {
            faults.push(state::refused(&open, id, &why));
            open = open.with_any(id);
        }
    }
    // Each alone fits; together their parties may copy for longer than they execute, or than numbers go. Nothing is proven with
    // less than what there is: one after the other is added, and what does not fit those before is refused.
    if open.decided(&decisions).is_none() {
        let pinned: Vec<_> = open.channel_ids().filter(|id| open.channel(*id).mechanism.is_some()).collect();
        for (at, &id) in pinned.iter().enumerate() {
            let so_far = pinned[at + 1..].iter().fold(open.clone(), |open, later| open.with_any(*later));
            if so_far.decided(&decisions).is_some() {
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
    let candidates = state::candidates(&open);
    let mut decision = None;
    if !candidates.is_empty() {
        let selected = together::select(&open, &candidates, aim, &decisions);
        let reached = exchange::improve(&open, &candidates, aim, &mut decisions, selected);
        // Under EDF every core has a dispatcher anyway, and one lock fits the parties of a state: where each state has that
        // and nothing else is as small, with what the lock takes besides, there is nothing to search for.
        let edf = open.platform().scheduler == Scheduler::Edf;
        let smallest = |candidate: &state::Candidate| {
            let taken = decisions.mechanisms[candidate.id.index()];
            taken == candidate.locks.first().copied() && state::is_smallest(&open, candidate)
        };
        let smallest = aim == Aim::Memory && edf && candidates.iter().all(smallest);
        // What keeps less than another one may is not the best, whatever it takes.
        let best = reached.is_some_and(|(reached, proven)| reached.kept && (proven || smallest));
        let states = u32::try_from(candidates.len()).unwrap_or(u32::MAX);
        decision = Some(DecisionPlan { states, minimised: aim, best });
    }
    let model = open.decided(&decisions).unwrap_or_else(|| {
        let place = Place::value("platform.overheads.copy");
        let message = "what copies of states take is not shown";
        faults.push(Fault::error(codes::NOT_SHOWN, message, place, COPIES_OVERFLOW));
        open.clone()
    });
    let model = waits::settle(&model).into_owned();
    Decided { model, open, decisions, decision }
}
