// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Random systems from a generator file, and what becomes of each: a row.
//!
//! A [`Generator`] says how systems are drawn and what is asked of them. [`Generator::system`] draws the one of a row,
//! [`Generator::row`] answers for it. Both are functions of the file, the seed and the number of the row, so rows may
//! be made in any order and anywhere: [`Shard`] gives each machine its part.
//!
//! ```
//! use taut_sweep::{Generator, Shard};
//!
//! let generator = Generator::parse(r#"
//!     generator = 1
//!     rows-per-point = 10
//!     utilisation = { from = "40%", to = "60%", step = "10%" }
//!     [tasks]
//!     cores = 2
//!     per-core = [2, 4]
//!     periods = ["5ms", "10ms", "20ms"]
//!     [schemes.few]
//!     readers = 1
//!     sizes = ["4B", "48B"]
//!     [sections]
//!     share = ["1%", "10%"]
//!     [mechanisms]
//!     msrp = { time = "1us", bytes = "4B" }
//!     dbp = { write = "500ns", read = "500ns", index = "1B" }
//!     [methods]
//!     msrp = true
//!     heuristic = 2
//! "#).unwrap();
//! assert_eq!(generator.rows(), 30);
//! let second = Shard::new(1, 2).unwrap();
//! let rows: Vec<_> = second.rows(&generator).map(|row| generator.row(row).unwrap()).collect();
//! assert_eq!(rows.len(), 15);
//! assert_eq!(generator.columns()[7].name, "msrp_schedulable");
//! ```
//!
//! | file | what it does |
//! |---|---|
//! | `language`, `question`, `read`, `quantity` | a file's keys and values, with everything that is wrong with them |
//! | `draw`, `system` | a row's system |
//! | `offers`, `method` | what its objects can have, and what is chosen |
//! | `row`, `summary` | a row, and what rows of a point come to |
#![forbid(unsafe_code)]

mod draw;
mod fault;
mod generator;
mod language;
mod method;
mod offers;
mod quantity;
mod question;
mod read;
mod row;
mod summary;
mod system;

pub use fault::Fault;
pub use generator::{Generator, Point};
pub use method::{Answer, Mechanism, Method};
pub use row::{Cell, Column, Kind, NoRow, Row, Shard};
pub use summary::{Summary, Sums};
pub use system::{DRAWS_MAX, Object, System};
