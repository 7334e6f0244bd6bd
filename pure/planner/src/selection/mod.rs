// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which mechanisms channels get.

pub(crate) mod decide;
pub mod select;
