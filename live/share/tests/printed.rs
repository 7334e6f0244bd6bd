// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The mistakes of the printed listings, each on a small model of the listing, beside the same sequence of steps on our
//! object. A module for each family of protocols.
#![cfg(not(any(loom, shuttle)))]
#![allow(clippy::unwrap_used, reason = "a test: helpers too")]

mod meddle;
mod place;

#[path = "buffers/printed.rs"]
mod buffers;
#[path = "claims/printed.rs"]
mod claims;
#[path = "flow/printed.rs"]
mod flow;
#[path = "nonblocking/printed.rs"]
mod nonblocking;
#[path = "queues/printed.rs"]
mod queues;
#[path = "temporal/printed.rs"]
mod temporal;
