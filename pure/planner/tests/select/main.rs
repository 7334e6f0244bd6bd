// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Selections compared with all selections, judged anew by themselves, and run.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stdout, reason = "test code")]

mod aims;
mod large;
mod offers;
mod outcomes;
mod published;
mod recheck;
mod small;
mod system;
mod work;
