// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What can happen in a run, and its byte layout.
//!
//! A [`Record`] is 32 bytes, fixed, little-endian on disk. The running side writes records, the reporting side
//! reads them; neither knows the other. Subjects are positions in the plan's lists, so a record needs no names.
//! [`mod@file`] is the container: a head that embeds the plan and the machine's facts, then blocks of records, each with a
//! checksum.
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
