// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Chooses a mechanism for each shared object: least memory, shortest responses or most slack, with every deadline
//! kept.
//!
//! A [`Problem`] lists the offers of each object and their prices: a guard that others wait for, time added to each
//! job, bytes. A selection takes one offer per object. One analysis of the whole ([`taut_analysis::multi::mixed`])
//! decides whether the deadlines are kept, so one object's offer may rule out another's. A [`Constraint`] is
//! something else that must be kept, such as an end-to-end latency, and the [`Aim`] is what the search minimises.
//!
//! | file | what it does |
//! |---|---|
//! | [`best`] | branch and bound: the best, or a bound on how far from it; `subtree` is its tree, `bound`, `dive`, `dominance`, `exchange` and `around` are steps of it |
//! | [`paper`] | the published heuristic, with its refinement, and its variant with backtracking |
//! | [`exhaustive`] | every selection: the reference for the others |
//! | [`why()`] | what else an object could have had, and what forbids it |
//!
//! All but `why` ask [`taut_analysis::multi::Trial`], which reuses what has not changed since the last judgement.
//!
//! **More locks are not always worse.** A wait-free copy costs time that a lock may not, so a selection with fewer
//! locks can miss a deadline that a selection with more locks keeps. Nothing here assumes otherwise. The assumption
//! is that the analysis's response times never fall when a cost grows or a guard is added.

mod aim;
mod around;
pub mod best;
mod bound;
mod dive;
mod dominance;
mod exchange;
pub mod exhaustive;
mod judge;
mod offer;
pub mod paper;
mod problem;
mod subtree;
#[cfg(test)]
mod tests;
mod why;

pub use crate::response::shared::protocols::guard_of;
pub use aim::Constraint;
pub use judge::{Judgement, Miss};
pub use offer::{BufferCount, Buffers, Footprint, ObjectOffers, Offer, OfferMemory};
pub use problem::{Equations, Judged, Problem, ProblemFault, Selection};
pub use taut_model::Aim;
pub use why::{Alone, Alternative, why};
