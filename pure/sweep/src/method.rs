// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The methods applied to a system.

use taut_analysis::multi::Guard;
use taut_model::{Mechanism, MechanismForm};
use taut_planner::select::guard_of;

/// The mechanisms that a file may offer, in the order of offers: locks that are analysed beside others, and mechanisms
/// that preserve flows.
pub fn offerable() -> impl Iterator<Item = Mechanism> {
    Mechanism::ALL.into_iter().filter(|mechanism| guard(*mechanism).is_some())
}

/// What guards an object in this mechanism; `None` if a file cannot offer it.
pub(crate) fn guard(mechanism: Mechanism) -> Option<Guard> {
    match mechanism.form() {
        MechanismForm::Lock(protocol) => guard_of(protocol),
        MechanismForm::Flow => Some(Guard::Absent),
        MechanismForm::Queue | MechanismForm::Slots | MechanismForm::Buffers => None,
    }
}

/// The name of an offer in columns; mechanisms without waiting are named as in [Han14].
pub(crate) fn label(mechanism: Mechanism) -> String {
    let name = mechanism.paper_name();
    if mechanism.locking().is_some() { name.to_owned() } else { format!("WF-{name}") }
}

/// A way to choose mechanisms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The same mechanism for every object.
    Only(Mechanism),
    /// Locks only: jobs suspend for the objects with the longest sections and spin for the others; of all such
    /// divisions, the one that needs the least memory.
    Locks,
    /// The published heuristic with a refinement of this depth: [`paper::heuristic`](taut_planner::select::paper::heuristic).
    Heuristic(usize),
    /// A variant that backtracks over this many decisions: [`paper::backtracking`](taut_planner::select::paper::backtracking).
    Backtracking(usize),
    /// Our search, stopped after this many judgements: [`best::search`](taut_planner::select::best::search).
    Best(u64),
    /// Every selection, for systems of at most this many objects: [`exhaustive::search`](taut_planner::select::exhaustive::search).
    Exhaustive(usize),
}

/// The result of a method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MethodResult {
    /// Whether its selection keeps every deadline; `None` if the method was not applied (more objects than it takes).
    pub schedulable: Option<bool>,
    /// Bytes of all objects, if the selection keeps every deadline.
    pub bytes: Option<u64>,
    /// Whether it is proven that no selection needs less memory, or that none keeps every deadline; `None` for a
    /// method that cannot prove it.
    pub proven: Option<bool>,
    /// A lower bound on the bytes of any selection; `None` where none is known, or where no selection keeps every
    /// deadline.
    pub at_least: Option<u64>,
}

impl Method {
    /// The prefix of its columns.
    pub fn name(&self) -> String {
        match self {
            Self::Only(mechanism) => mechanism.word().into(),
            Self::Locks => "locks".into(),
            Self::Heuristic(depth) => format!("heuristic_{depth}"),
            Self::Backtracking(depth) => format!("backtracking_{depth}"),
            Self::Best(_) => "best".into(),
            Self::Exhaustive(_) => "exhaustive".into(),
        }
    }

    /// Whether it can prove that no selection needs less memory.
    pub fn proves(&self) -> bool {
        matches!(self, Self::Best(_) | Self::Exhaustive(_))
    }
}
