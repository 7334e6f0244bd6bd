// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! One file per language.

pub(crate) mod amalthea;
pub(crate) mod cheddar;
pub(crate) mod mast;
pub(crate) mod rtdroid;
pub(crate) mod schedcat;
