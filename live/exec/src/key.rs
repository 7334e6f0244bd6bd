// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Whether a job may lock a resource, by one look at two words.
//!
//! ```text
//! bits     63..48       47..32     31..0
//! lock     not brand    brand      of what the job lists, its core's first 32 resources
//! key      not brand    brand      the resource's own
//! ```
//!
//! The key fits if the lock has all its bits. A brand of 16 bits has all the bits of another, and those that the other lacks
//! are lacking, only if they are equal. What does not fit into these words has a key that fits nowhere, and a lock that
//! nothing fits: then lists and brands themselves are looked at.

const BITS: u32 = 32;
const BRANDS: u64 = 1 << 16;
/// Of a key that fits nowhere: a lock lacks 16 bits at least.
const NOWHERE: u64 = u64::MAX;

fn brand(brand: u64) -> Option<u64> {
    (brand < BRANDS).then_some((!brand << 48) | (brand << BITS))
}

/// Of the resource at a position of the core of a brand.
pub(crate) fn key(of: u64, index: u32) -> u64 {
    brand(of).filter(|_| index < BITS).map_or(NOWHERE, |brand| brand | 1 << index)
}

/// What the lock lacks, of a job of a core of a brand, which lists these of the first resources.
pub(crate) fn lacks(of: u64, listed: u64) -> u64 {
    brand(of).map_or(u64::MAX, |brand| !(brand | (listed & ((1 << BITS) - 1))))
}

/// Whether the key fits for sure.
#[inline(always)]
pub(crate) fn fits(key: u64, lacks: u64) -> bool {
    key & lacks == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_fits_only_where_brand_and_list_have_it() {
        let brands = [0, 1, 2, 3, 0x7FFF, 0x8000, 0xFFFE, 0xFFFF, 0x1_0000, 0x1_0001, 1 << 48, u64::MAX];
        let lists = [0, 1, 0xAAAA_AAAA, 0x5555_5555, 0xFFFF_FFFF, 1 << 32, u64::MAX];
        let mut fitted = 0;
        for ours in brands {
            for listed in lists {
                for theirs in brands {
                    for index in [0, 1, 2, 15, 16, 30, 31, 32, 33, 63, 64, u32::MAX] {
                        let has = listed.checked_shr(index).unwrap_or(0) & 1 == 1;
                        let fits = fits(key(theirs, index), lacks(ours, listed));
                        assert!(!fits || ours == theirs && has, "{ours} {theirs} {listed:x} {index}");
                        assert!(fits || ours != theirs || !has || index >= BITS || ours >= BRANDS);
                        fitted += usize::from(fits);
                    }
                }
            }
        }
        assert!(fitted > 0);
    }
}
