// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Cores, priorities and response times: what is proven of tasks.

pub(crate) mod assignment;
pub(crate) mod backlog;
pub(crate) mod bounds;
pub(crate) mod cores;
pub(crate) mod proof;
pub(crate) mod serve;
pub(crate) mod settle;
pub(crate) mod shared;
pub(crate) mod waits;

/// The test's name in the plan and in faults.
pub(crate) const TEST: &str = "response-time analysis, fixed priority, preemptive";
pub(crate) const TEST_IN_PHASE: &str = "response-time analysis, fixed priority, preemptive, with offsets from a common \
                                        start (Tindell 1994; Palencia & González Harbour 1998)";
