// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Decides from two words whether a job may lock a resource.
//!
//! ```text
//! bits     63..48       47..32     31..0
//! lock     not brand    brand      those of its core's first 32 resources that the job lists
//! key      not brand    brand      the resource's own
//! ```
//!
//! The key fits if the lock has all its bits. Both words hold a brand and its complement, so a key fits only a lock
//! of the same brand. A resource that these words cannot express has a key that fits no lock, and a job that they
//! cannot express has a lock that no key fits. Then the caller compares the lists and brands themselves.

const BITS: u32 = 32;
const BRANDS: u64 = 1 << 16;
/// A key that fits no lock: each lock lacks at least 16 bits.
const NOWHERE: u64 = u64::MAX;

fn brand(brand: u64) -> Option<u64> {
    (brand < BRANDS).then_some((!brand << 48) | (brand << BITS))
}

/// The key of the resource at position `index` of the core with this brand.
pub(crate) fn key(of: u64, index: u32) -> u64 {
    brand(of).filter(|_| index < BITS).map_or(NOWHERE, |brand| brand | 1 << index)
}

/// The bits that the lock lacks, for a job of the core with this brand that lists these of the first resources.
pub(crate) fn lacks(of: u64, listed: u64) -> u64 {
    brand(of).map_or(u64::MAX, |brand| !(brand | (listed & ((1 << BITS) - 1))))
}

/// Whether the key fits. If not, the caller compares the lists and brands.
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
