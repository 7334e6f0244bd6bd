// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Response times and other bounds, one file per theorem.
//!
//! A file states its equation, what it assumes, whether it is exact, and where it comes from. Its path lists the
//! assumptions: [`uni::fp::preemptive`] is one core, fixed priority, preemptive. Every answer is a [`Verdict`]. No
//! verdict uses floating point (a [`waiting::Mean`] may); costs are rounded up, supply is rounded down. A value that
//! does not fit in 64 bits is an [`Overflow`], never a smaller number.
//!
//! | file | bounds | verdict |
//! |---|---|---|
//! | [`uni::fp::preemptive`] | response time | exact for free releases, else sufficient |
//! | [`uni::fp::arbitrary`] | the same, deadlines of any length | exact for free releases, else sufficient |
//! | [`uni::fp::sweep`] | the same for a whole core, fast | sufficient |
//! | [`uni::fp::limited_preemption`] | response time, last region without preemption | exact for free releases |
//! | [`uni::fp::non_preemptive`] | response time without preemption | exact for free releases |
//! | [`uni::fp::offsets`] | response time in transactions with offsets | exact, or sufficient and fast |
//! | [`uni::fp::blocking`] | blocking by less urgent tasks | sufficient |
//! | [`uni::fp::ceiling`] | the same for local locks with ceilings | sufficient |
//! | [`uni::fp::local_locks`] | response times of a core with such locks | sufficient |
//! | [`uni::fp::assignment`] | priorities that keep all deadlines, if any do | exact for the test used |
//! | [`uni::fp::audsley`] | the same for any test | exact for the test used |
//! | [`uni::fp::largest_cost`] | the largest cost that fits | exact for the test used |
//! | [`uni::server`] | requests to polling, deferrable and sporadic servers | sufficient |
//! | [`uni::utilisation`] | utilisation of a core | exact |
//! | [`uni::edf::demand`] | deadlines under EDF | exact for free arrivals, else sufficient |
//! | [`uni::edf::srp`], [`uni::edf::dfp`] | the same with local resources and jitter | sufficient |
//! | [`uni::edf::response`] | response time under EDF, with or without such resources | exact for free arrivals, else sufficient |
//! | [`multi::msrp_gai01`], [`multi::msrp_holistic`], [`multi::msrp_joint`] | response time, global spin locks | sufficient |
//! | [`multi::mpcp_lnr09_sound`] | response time, suspension-based global locks | sufficient |
//! | `multi::mpcp_linear` | the same, behind the feature `linear-programming` | sufficient |
//! | [`multi::unsound`] | published equations that are wrong | none |
//! | [`multi::fmlp_plus`], [`multi::fmlp07`] | response time, global locks, first come, first served | sufficient |
//! | [`multi::edf_msrp`] | deadlines and response time under EDF, spin-based global locks | sufficient |
//! | [`uni::utilisation::liu_layland`], [`uni::utilisation::hyperbolic`] | utilisation limits, fast | sufficient |
//! | [`queue`] | capacity, latency, time to overflow | sufficient |
//! | [`chain`] | age of data, reaction time | sufficient |
//! | [`memory`] | bytes per component | exact |
//! | [`delivery`] | time until a message, an alarm or a sensor's event is handled | see there |
//! | [`wait_free`] | buffers, retries | see there |
//! | [`waiting`] | waiting in buffers: a bound, and means | sufficient; means |
//!
//! [`overheads`] charges what the machine adds. [`AnalysedCore`] is one core with these charges, and names every term
//! of a bound.
#![forbid(unsafe_code)]

pub mod chain;
mod core;
pub mod delivery;
#[cfg(test)]
#[path = "../tests/draw/mod.rs"]
mod draw;
pub mod memory;
pub mod multi;
pub mod overheads;
pub mod queue;
mod recurring;
pub mod uni;
mod verdict;
pub mod wait_free;
pub mod waiting;
mod wide;

pub use crate::core::{AnalysedCore, Bound, BoundTerm, CoreTask, Term};
pub use verdict::{Assumption, Overflow, Verdict, Why};
