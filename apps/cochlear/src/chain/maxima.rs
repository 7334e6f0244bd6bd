// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The n largest of m: which bands get a pulse in this cycle.

use crate::ELECTRODES;

/// Marks the `count` largest envelopes. Of equal ones the lower band wins, so the choice is a function of
/// the values alone. NaN never wins. At most 22 × 22 comparisons.
pub(crate) fn largest(envelopes: &[f32; ELECTRODES], count: usize) -> [bool; ELECTRODES] {
    let mut chosen = [false; ELECTRODES];
    for _ in 0..count.min(ELECTRODES) {
        let mut best: Option<usize> = None;
        for band in 0..ELECTRODES {
            let ahead = best.map_or(f32::NEG_INFINITY, |b| envelopes[b]);
            if !chosen[band] && envelopes[band] > ahead {
                best = Some(band);
            }
        }
        match best {
            Some(band) => chosen[band] = true,
            None => break,
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_a_stable_sort() {
        let mut seed = 1_u32;
        for _ in 0..2000 {
            let envelopes: [f32; ELECTRODES] = std::array::from_fn(|_| {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                // Few distinct values: ties are frequent.
                (seed >> 28) as f32
            });
            let mut order: Vec<usize> = (0..ELECTRODES).collect();
            order.sort_by(|&a, &b| envelopes[b].total_cmp(&envelopes[a]));
            for count in [1, 8, 22] {
                let chosen = largest(&envelopes, count);
                assert_eq!(chosen.iter().filter(|&&c| c).count(), count);
                assert!(order[..count].iter().all(|&band| chosen[band]), "{envelopes:?}");
            }
        }
    }

    #[test]
    fn nan_is_never_chosen() {
        let mut envelopes = [f32::NAN; ELECTRODES];
        envelopes[3] = 0.0;
        let chosen = largest(&envelopes, 8);
        assert!(chosen[3] && chosen.iter().filter(|&&c| c).count() == 1);
    }
}
