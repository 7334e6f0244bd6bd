// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Earliest deadline first.

pub mod demand;
pub mod dfp;
mod horizon;
pub mod response;
pub(crate) mod sections;
pub mod srp;
