// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! From a plan to threads, memory and channels.
//!
//! In order: [`Loaded`] reads `taut.lock` and refuses one that is stale or unproven; [`Posture`] finds out which
//! guarantees the process has the privilege to keep; [`Maps`] takes, locks and prefaults all memory; [`thread`]
//! starts threads as the plan says and holds them at a [`Gate`] until release 0.

mod loaded;
mod maps;
mod posture;
pub mod thread;

pub use loaded::{LoadError, Loaded};
pub use maps::{MapError, Maps};
pub use posture::{Guarantee, Lost, Posture};
pub use thread::Gate;
