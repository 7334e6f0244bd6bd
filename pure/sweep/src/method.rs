// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The methods applied to a system.

use taut_model::Mechanism;

/// The mechanisms that a file may offer, in the order of offers.
pub const OFFERED: [Mechanism; 4] = [Mechanism::Msrp, Mechanism::Mpcp, Mechanism::Dbp, Mechanism::Tccp];

/// The name of an offer in columns; mechanisms without waiting are named as in [Han14].
pub(crate) fn label(mechanism: Mechanism) -> String {
    let name = mechanism.paper_name();
    if mechanism.locking().is_some() { name.to_owned() } else { format!("WF-{name}") }
}

/// A way to choose mechanisms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// MSRP for every object.
    Msrp,
    /// MPCP for every object.
    Mpcp,
    /// WF-DBP for every object.
    Dbp,
    /// WF-TCCP for every object.
    Tccp,
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
            Self::Msrp => "msrp".into(),
            Self::Mpcp => "mpcp".into(),
            Self::Dbp => "dbp".into(),
            Self::Tccp => "tccp".into(),
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
