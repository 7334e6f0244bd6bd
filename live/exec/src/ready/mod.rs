// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The state of a core: jobs, releases, budgets, servers, and which thread runs which job.

pub(crate) mod admission;
pub(crate) mod calendar;
pub(crate) mod depth;
pub(crate) mod donation;
pub(crate) mod jobs;
pub(crate) mod limits;
pub(crate) mod log;
pub(crate) mod rule;
pub(crate) mod serving;
pub(crate) mod settle;
pub(crate) mod state;
pub(crate) mod worker_priorities;
