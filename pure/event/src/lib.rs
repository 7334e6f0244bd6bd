// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The events of a run, and their byte layout.
//!
//! An [`Event`] has named fields; a [`Record`] is its encoding, with a fixed size of 32 bytes, little-endian on disk.
//! The runtime writes records and the report reads them; neither depends on the other. Subjects are positions in the
//! plan's lists, so a record needs no names. `table.rs` lists all events once: their numbers, their fields, and the
//! words that carry the fields. [`mod@file`] is the container: a head that embeds the plan and the machine's facts,
//! then blocks of records, each with a checksum. [`values`] is the file of recorded values beside it.
#![forbid(unsafe_code)]

mod checksum;
mod ending;
mod event;
mod fields;
pub mod file;
mod foreign;
mod interaction;
mod kind;
pub mod mcap;
mod record;
mod stood;
mod table;
pub mod values;
mod words;

pub use ending::Ending;
pub use event::{Event, Undecodable};
pub use fields::*;
pub use foreign::Foreign;
pub use interaction::{
    CancelOutcome, INTERACTION_BYTES, INTERACTION_SCHEMA, Interaction, JobOutcome, RanCode, Refusal,
};
pub use kind::Kind;
pub use record::Record;
pub use stood::{CodeLocation, SafeStateOutcome, Stood};
