// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Starts a set-up, and stops it.

pub(crate) mod change;
pub(crate) mod exec;
pub(crate) mod outside;
pub(crate) mod start;
