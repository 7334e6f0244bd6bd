// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Our objects: a file for each, and a line below.

mod bulk;
mod chen;
mod double_buffer;
mod hybrid;
mod nbw_temporal;
mod peterson;
mod presence;
mod qrtr;
mod qrtr_in_place;
mod qrtwc;
mod qrtwo;
mod sdrtr;
mod sdrtw;

use crate::bench::{Bench, OnMemory};
use crate::object::capacity;

/// All our objects.
pub(crate) fn all() -> Vec<Box<dyn Bench>> {
    vec![
        OnMemory::<qrtr::Qrtr>::ours(),
        OnMemory::<qrtr_in_place::InPlace>::ours(),
        OnMemory::<qrtwo::Qrtwo>::ours(),
        OnMemory::<qrtwc::Qrtwc>::ours(),
        OnMemory::<bulk::Bulk>::ours(),
        OnMemory::<sdrtr::Sdrtr>::ours(),
        OnMemory::<sdrtw::Sdrtw>::ours(),
        OnMemory::<hybrid::Hybrid>::ours(),
        OnMemory::<chen::Chen>::ours(),
        OnMemory::<presence::Presence>::ours(),
        OnMemory::<double_buffer::DoubleBuffer>::ours(),
        OnMemory::<peterson::Peterson>::ours(),
        OnMemory::<nbw_temporal::NbwTemporal>::ours(),
    ]
}

/// A reading end with its own memory for values, as a task has it: large values are copied once.
struct ReadAhead<E, const N: usize> {
    end: E,
    values: Box<[[u64; N]]>,
    /// The number of the write that the end read last.
    seen: u64,
}

impl<E, const N: usize> ReadAhead<E, N> {
    fn new(end: E) -> Self {
        Self { end, values: vec![[0; N]; capacity(N) / 2].into_boxed_slice(), seen: 0 }
    }
}

/// The text of an error.
fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}
