// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Draws random systems from a generator file and evaluates each of them; the result for one system is a row.
//!
//! A [`Generator`] says how systems are drawn and which methods are applied to them. [`Generator::system`] draws the
//! system of a row, [`Generator::row`] evaluates it. Both are functions of the file, the seed and the number of the
//! row, so rows may be computed in any order and on any machine: a [`Shard`] is one machine's part.
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
//! | `language`, `question`, `read`, `quantity` | read a file's keys and values, and report all its faults |
//! | `draw`, `system` | draw the system of a row |
//! | `offers`, `method` | the mechanisms that a system's objects can have, and the methods that choose among them |
//! | `row`, `summary` | a row, and the sums over the rows of a point |
#![forbid(unsafe_code)]

mod ask;
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

pub use fault::GeneratorFault;
pub use generator::{Generator, Point};
pub use method::{Method, MethodResult, offerable};
pub use row::{Cell, CellKind, Column, NoRow, Row, Shard};
pub use summary::{Summary, Sums};
pub use system::{DRAWS_MAX, SharedObject, System};
