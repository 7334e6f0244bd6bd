// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Buffers of state channels whose reader and writer never wait for each other.
//!
//! | file | computes | verdict |
//! |---|---|---|
//! | [`writes_during_read`] | writes that can touch one read | exact |
//! | [`buffers`] | buffers by protocol, number of readers and their speed | exact |
//! | [`partition`] | which readers to treat as fast | exact |
//! | [`reader_instances`] | buffers by the number of readers' jobs under way | sufficient |
//! | [`lifetime`] | buffers by how long values are used | exact |
//! | [`smallest`] | the least of these | sufficient |
//! | [`flow`] | buffers where flows are preserved | exact |
//! | [`retries`] | how often a read of one buffer is repeated | sufficient |
//!
//! The numbers are those of the theory. An object of `taut-share` that detects a broken timing assumption by a single
//! word of the writer needs one buffer more than [`buffers::temporal`]; its own file says so.

pub mod buffers;
pub mod flow;
pub mod lifetime;
pub mod partition;
pub mod reader_instances;
pub mod retries;
pub mod smallest;
pub mod writes_during_read;
