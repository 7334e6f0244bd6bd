// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Fixed priority.

pub mod assignment;
pub mod blocking;
pub mod largest_cost;
pub mod preemptive;
