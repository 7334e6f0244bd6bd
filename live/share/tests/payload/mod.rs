// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A payload that shows tearing: every word is computed from one number, each in a different way.
#![allow(dead_code, reason = "each test binary uses its part of this module")]

/// The payload of `number`.
pub(crate) fn marked<const N: usize>(number: u64) -> [u64; N] {
    core::array::from_fn(|i| number.wrapping_mul(0x9E37_79B9_7F4A_7C15 | (i as u64) << 1) ^ i as u64)
}

/// The number of a payload of small numbers.
///
/// # Panics
///
/// If its words are not all of one number.
pub(crate) fn number<const N: usize>(payload: &[u64; N]) -> u64 {
    // The inverse of the odd factor of word 0.
    let number = payload[0].wrapping_mul(0xF1DE_83E1_9937_733D);
    assert_eq!(*payload, marked(number), "torn");
    number
}
