// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which mechanism for which shared object: least memory, or most slack, with every deadline kept.
//!
//! A [`Problem`] says for each object what can be had and at which price: a guard that others wait for, time that comes
//! to each job, bytes. A selection takes one offer per object. What keeps the deadlines is decided by one analysis of
//! the whole ([`taut_analysis::multi::mixed`]), so one object's offer may rule out another's. A [`Constraint`] is
//! something else to be kept, such as an end-to-end latency, and the [`Aim`] is what shall be small.
//!
//! | file | what it does |
//! |---|---|
//! | [`best`] | branch and bound: the best, or a bound on how far from it; `subtree` is its tree, `bound`, `dive`, `dominance`, `exchange` and `around` are steps of it |
//! | [`paper`] | the published heuristic, with its refinement, and its variant with backtracking |
//! | [`exhaustive`] | every selection: what the others are held against |
//! | [`why()`] | what else an object could have had, and what forbids it |
//!
//! All but `why` ask [`taut_analysis::multi::Trial`], which keeps from one judgement to the next what has not changed.
//!
//! **More is not always worse.** A wait-free copy costs time that a lock may not, so a selection with fewer locks can
//! miss a deadline that one with more keeps. Nothing here assumes otherwise; what is assumed is that the analysis never
//! falls when a cost grows or a guard is added.

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

pub use aim::{Aim, Constraint};
pub use judge::{Miss, Outcome};
pub use offer::{Buffers, Count, Footprint, Memory, Object, Offer};
pub use problem::{Equations, Judged, Problem, ProblemFault, Selection};
pub use why::{Alone, Alternative, why};
