// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What each object does in one thread: values, errors, layout, and the successor of an end that is gone. A module for
//! each family of protocols; that of Chen's protocol is a target of its own, which takes Miri minutes
//! (`claims/behaviour.rs`).
#![cfg(not(any(loom, shuttle)))]
#![allow(clippy::unwrap_used, reason = "a test: helpers too")]

mod meddle;
mod payload;
mod place;

#[path = "buffers/behaviour.rs"]
mod buffers;
#[path = "bulk/behaviour.rs"]
mod bulk;
#[path = "flow/behaviour.rs"]
mod flow;
#[path = "messages/behaviour.rs"]
mod messages;
#[path = "nonblocking/behaviour.rs"]
mod nonblocking;
#[path = "queues/behaviour.rs"]
mod queues;
#[path = "messages/control.rs"]
mod reader_controls;
#[path = "bulk/reserved.rs"]
mod reserved;
#[path = "temporal/behaviour.rs"]
mod temporal;
#[path = "timed/behaviour.rs"]
mod timed;
