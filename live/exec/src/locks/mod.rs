// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Resources of one core and of several.

pub(crate) mod across;
pub(crate) mod global;
pub(crate) mod held;
pub(crate) mod lines;
pub(crate) mod local;
pub(crate) mod owned;
