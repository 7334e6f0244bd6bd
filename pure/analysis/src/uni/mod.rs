// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! One core.

pub mod busy_period;
pub mod edf;
pub mod fp;
pub mod server;
pub mod utilisation;
