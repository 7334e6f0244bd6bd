// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Instants and durations in integer nanoseconds, sizes in bytes, and how to show times to people.
//!
//! Nothing here wraps, rounds silently or reads a clock. Arithmetic that can overflow reports it: a bound that does
//! not fit in 64 bits (584 years) is an error of its caller, never a small number.
//!
//! ```
//! use taut_time::Duration;
//! let period: Duration = "8ms".parse().unwrap();
//! assert_eq!(period.as_ns(), 8_000_000);
//! assert_eq!(period.to_string(), "8ms");
//! assert_eq!("1.5us".parse::<Duration>().unwrap().as_ns(), 1_500);
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod duration;
mod instant;
pub mod shown;
mod size;

pub use duration::{Duration, ParseDurationError};
pub use instant::Instant;
pub use size::{ParseSizeError, Size};
