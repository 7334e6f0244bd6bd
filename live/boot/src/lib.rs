// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! From a plan to threads, memory and channels.
//!
//! In order: [`LoadedPlan`] reads `taut.lock` and refuses a plan that is stale or unproven; [`Guarantees`] finds out
//! which guarantees the process can keep; [`Applications`] admits the application beside those that run; [`Maps`] takes, locks and prefaults all memory; [`thread`] places threads
//! as the plan says and holds them at a [`StartBarrier`] until release 0.

mod applications;
mod guarantees;
mod loaded;
mod maps;
mod registration;
pub mod thread;

pub use applications::{
    Admission, AdmissionError, Applications, Conflict, EXIT_NOT_ADMITTED, RunningApplication,
};
pub use guarantees::{Guarantee, Guarantees, MissingGuarantee};
pub use loaded::{LoadError, LoadedPlan};
pub use maps::{MapError, Maps};
pub use registration::CoreUse;
pub use thread::StartBarrier;
