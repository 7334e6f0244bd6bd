// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Several cores, each task on one of them, and resources that tasks of several cores use.
//!
//! | file | waiting for a global resource | verdict |
//! |---|---|---|
//! | [`msrp_gai01`] | spinning, first come, first served | sufficient |
//! | [`msrp_holistic`] | the same, no remote section charged more often than it can occur | sufficient |
//! | [`msrp_joint`] | the same, counted for all jobs of a window together | sufficient |
//! | [`mpcp_lnr09_sound`] | suspending, by priority | sufficient |
//! | `mpcp_linear` | the same, no section charged twice; with the feature `linear-programming` | sufficient |
//! | [`fmlp_plus`] | suspending, first come, first served | sufficient |
//! | [`fmlp07`] | spinning for short resources, suspending for long ones | sufficient |
//! | [`mixed`] | spinning as in MSRP for some, suspending as in MPCP for the others | sufficient |
//! | [`edf_msrp`] | spinning; cores under EDF | sufficient |
//! | [`unsound`] | published equations that are wrong | none |
//!
//! [`Trial`] applies [`mixed`] again and again with other guards and costs: for searches.
//!
//! A caller with one protocol in mind may ask several of its analyses and take the best answer.

mod bounds;
mod contention;
#[cfg(test)]
mod drawn;
pub mod edf_msrp;
mod fixed_point;
pub mod fmlp07;
pub mod fmlp_plus;
mod guarded;
#[cfg(feature = "linear-programming")]
mod linear;
pub mod mixed;
mod mpcp_blocking;
#[cfg(feature = "linear-programming")]
pub mod mpcp_linear;
pub mod mpcp_lnr09_sound;
pub mod msrp_gai01;
pub mod msrp_holistic;
pub mod msrp_joint;
mod remote;
mod trial;
pub mod unsound;

pub use bounds::{Bounds, Contribution, Contributions, ResponseTerms, Status, TaskBound};
pub use fixed_point::{ROUNDS_MAX, STEPS_MAX, TERMS_MAX};
pub use guarded::{Guard, GuardedSet};
pub use trial::{Solution, Trial};
