// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The hash by which generated text recognises its manifest. Generated text contains this function, so what is below the
//! comments stands on its own.

/// FNV-1a, 64 bits.
pub(crate) const fn fnv1a(bytes: &[u8]) -> u64 {
    let (mut hash, mut at) = (0xcbf2_9ce4_8422_2325_u64, 0);
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x100_0000_01b3);
        at += 1;
    }
    hash
}
