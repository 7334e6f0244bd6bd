// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Fixed priority.

pub mod arbitrary;
pub mod assignment;
pub mod audsley;
pub mod blocking;
pub mod ceiling;
pub mod largest_cost;
pub mod limited_preemption;
pub mod local_locks;
pub mod non_preemptive;
pub mod offsets;
pub mod preemptive;
pub mod sweep;
mod window;
