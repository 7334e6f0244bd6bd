// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The events of a run, and their byte layout.
//!
//! A [`Record`] has a fixed size of 32 bytes and is little-endian on disk. The runtime writes records and the report
//! reads them; neither depends on the other. Subjects are positions in the plan's lists, so a record needs no names.
//! [`mod@file`] is the container: a head that embeds the plan and the machine's facts, then blocks of records, each
//! with a checksum.
#![forbid(unsafe_code)]

mod checksum;
mod ending;
pub mod file;
mod foreign;
mod record;
mod stood;

pub use ending::Ending;
pub use foreign::Foreign;
pub use record::{Count, Kind, Record};
pub use stood::{Place, Rest, Stood};
