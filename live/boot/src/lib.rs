// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! From a plan to threads, memory and channels.
//!
//! In order: [`LoadedPlan`] reads `taut.lock` and refuses a plan that is stale or unproven; [`Guarantees`] finds out
//! which guarantees the process can keep; [`Maps`] takes, locks and prefaults all memory; [`thread`] places threads
//! as the plan says and holds them at a [`StartBarrier`] until release 0.

mod guarantees;
mod loaded;
mod maps;
pub mod thread;

pub use guarantees::{Guarantee, Guarantees, MissingGuarantee};
pub use loaded::{LoadError, LoadedPlan};
pub use maps::{MapError, Maps};
pub use thread::StartBarrier;
