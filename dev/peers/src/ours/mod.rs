// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Our objects, a file each, and a line below.

mod chen;
mod hybrid;
mod nbw_temporal;
mod peterson;
mod qrtr;
mod sdrtr;
mod sdrtw;

use crate::bench::{Bench, OnMemory};

/// All of them.
pub(crate) fn all() -> Vec<Box<dyn Bench>> {
    vec![OnMemory::<qrtr::Qrtr>::ours(), OnMemory::<sdrtr::Sdrtr>::ours(), OnMemory::<sdrtw::Sdrtw>::ours()]
}

/// What an error says.
fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}
