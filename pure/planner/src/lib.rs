// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Decides cores, priorities, mechanisms, capacities and the memory map, and proves the result.
//!
//! [`Planned::make`] turns a model into a [`Plan`](taut_plan::Plan). The result depends on the model alone: the same
//! model gives the same plan, byte for byte.
#![forbid(unsafe_code)]

// One file draws random systems for the tests in this crate and for the tests of its public items. It names this
// crate `taut_planner`.
#[cfg(test)]
extern crate self as taut_planner;

mod advice;
mod channels;
mod make;
mod memory;
mod modes;
mod overheads;
mod overrides;
mod placement;
mod response;
mod selection;
mod set;

pub use advice::advise::advise_task;
pub use advice::guesses::{defaults, guesses};
use make::PPM_MAX;
pub use make::Planned;
pub use overrides::OverrideError;
pub use selection::decide::why_channel;
pub use selection::select;
pub use set::task_set;
