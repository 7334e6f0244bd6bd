// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Published rules that are wrong, each in a file that says where. Nothing that ships can name them: they are here to
//! be measured beside ours, and to show by counterexample how they break.
//!
//! | file | rule | wrong |
//! |---|---|---|
//! | `srp_list` | SRP on one list | for nested locks |
//! | `dfp_queue` | DFP with the running task in the queue | for nested locks at equal deadlines |
//! | `from_head` | SRP on one list, searched from its head | a job may go before one with an earlier deadline |
//!
//! `tests` has the counterexamples, in steps and in the simulator.

mod dfp_queue;
mod from_head;
mod srp_list;
#[cfg(test)]
mod tests;

pub(super) use dfp_queue::{DfpQueue, DfpQueueResource, DfpQueueTask};
pub(super) use from_head::FromHead;
pub(super) use srp_list::{SrpList, SrpListResource, SrpListTask};
