// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The bound of a subtree: rules out offers that fit nowhere in it, and adds the bytes that a selection must pay
//! because other offers do not fit together.

use taut_analysis::Overflow;
use taut_analysis::multi::Solution;

use super::judge::offers;
use super::subtree::{Above, Search};
use taut_model::Aim;

impl Search<'_> {
    /// Bytes of each possible offer, under the responses of the last judgement; 0 if the aim is not memory.
    pub(super) fn prices(&self, bits: &[u64]) -> Result<Above, Overflow> {
        let mut prices = Above::with_capacity(bits.len());
        for (object, &bits) in self.problem.objects.iter().zip(bits) {
            let mut of_object = vec![u64::MAX; object.offers.len()];
            for offer in offers(bits) {
                of_object[offer] = match self.goal.aim {
                    Aim::Memory => {
                        let bytes = self.problem.bytes(&object.offers[offer], &self.problem.responses)?;
                        bytes.unwrap_or(u64::MAX)
                    }
                    Aim::Response | Aim::Slack => 0,
                };
            }
            prices.push(of_object);
        }
        if self.goal.aim == Aim::Memory {
            self.divide(bits, &mut prices);
        }
        Ok(prices)
    }

    /// Divides what is charged once among the offers that cause it.
    ///
    /// A selection pays a charge of f if one of its objects has a guard. Give each object's guarded offers a share,
    /// such that the shares sum to f at most. Then a selection pays no less than the shares of its offers: without a
    /// guard it has no share, and with one it pays f. So prices with shares still sum to no more than any selection
    /// costs. An object that must have a guard gets all that is left. Any other object gets at most the difference by
    /// which its cheapest guarded offer is below its cheapest offer without a guard; more would gain nothing.
    fn divide(&self, bits: &[u64], prices: &mut Above) {
        for charge in &self.problem.charges {
            let mut left = charge.bytes;
            let guarded = |at: usize| self.problem.guarded(at, bits[at]);
            let certain = |at: &usize| guarded(*at) == bits[*at];
            let (first, then): (Vec<usize>, Vec<usize>) = charge.objects.iter().partition(|at| certain(at));
            for at in first.into_iter().chain(then) {
                let with = guarded(at);
                let least = |bits: u64| offers(bits).map(|offer| prices[at][offer]).min().unwrap_or(u64::MAX);
                let share = least(bits[at] & !with).saturating_sub(least(with)).min(left);
                for offer in offers(with).filter(|_| share > 0) {
                    prices[at][offer] = prices[at][offer].saturating_add(share);
                }
                left -= share;
            }
        }
    }

    /// Rules out offers that are too dear; returns whether there were any.
    pub(super) fn drop_dear(&self, bits: &mut [u64], above: &Above, at_least: u64) -> bool {
        let known = self.known();
        let mut changed = false;
        for (bits, above) in bits.iter_mut().zip(above) {
            for offer in offers(*bits) {
                if at_least.saturating_add(above[offer]) >= known {
                    *bits &= !(1 << offer);
                    changed = true;
                }
            }
        }
        changed
    }

    /// Rules out offers that do not fit alone; returns whether there were any. `None` if an object has no offer left.
    pub(super) fn probe(
        &mut self,
        bits: &mut [u64],
        above: &mut Above,
        solution: &Solution,
        value: u64,
    ) -> Result<Option<bool>, Overflow> {
        let mut changed = false;
        for at in 0..bits.len() {
            let all = bits[at];
            if all == 0 {
                return Ok(None);
            }
            if all.is_power_of_two() {
                continue;
            }
            let mut left = all;
            for offer in offers(all) {
                bits[at] = 1 << offer;
                match self.possible(bits, Some(solution))? {
                    None => left &= !(1 << offer),
                    Some(alone) if self.goal.aim != Aim::Memory => {
                        above[at][offer] = alone - value.min(alone)
                    }
                    Some(_) => {}
                }
            }
            bits[at] = left;
            changed |= left != all;
            if left == 0 {
                return Ok(None);
            }
        }
        Ok(Some(changed))
    }

    /// The bound, raised by the bytes that a selection must pay because the cheapest offers do not fit together.
    pub(super) fn pay(
        &mut self,
        bits: &[u64],
        above: &mut Above,
        mut at_least: u64,
        solution: &Solution,
    ) -> Result<u64, Overflow> {
        while at_least < self.known() {
            let mut taken: Vec<u64> =
                bits.iter().zip(&*above).map(|(bits, above)| free(*bits, above)).collect();
            if self.possible(&taken, Some(solution))?.is_some() {
                break;
            }
            // Leave objects open again, first those that would raise the bound least.
            let mut core: Vec<(u64, usize)> = Vec::new();
            for at in (0..bits.len()).filter(|&at| taken[at] != bits[at]) {
                core.push((next(bits[at], &above[at]), at));
            }
            core.sort_unstable();
            let mut kept = Vec::new();
            for (more, at) in core {
                let cheapest = std::mem::replace(&mut taken[at], bits[at]);
                if self.possible(&taken, Some(solution))?.is_some() {
                    taken[at] = cheapest;
                    kept.push((more, at, cheapest));
                }
            }
            let Some(&(least, ..)) = kept.first() else { return Ok(u64::MAX) };
            at_least = at_least.saturating_add(least);
            for (_, at, cheapest) in kept {
                for offer in offers(bits[at] & !cheapest) {
                    above[at][offer] -= least;
                }
            }
        }
        Ok(at_least)
    }
}

/// Subtracts the price of its cheapest offer from each object's prices. Returns the sum of `first` and these prices;
/// `None` if an object has no offer.
pub(super) fn normal(above: &mut Above, first: u64) -> Option<u64> {
    let mut sum = first;
    for of_object in above {
        let least = of_object.iter().copied().min().filter(|least| *least != u64::MAX)?;
        sum = sum.saturating_add(least);
        of_object.iter_mut().filter(|price| **price != u64::MAX).for_each(|price| *price -= least);
    }
    Some(sum)
}

/// The offers that cost nothing above the bound.
pub(super) fn free(bits: u64, above: &[u64]) -> u64 {
    offers(bits).filter(|&offer| above[offer] == 0).fold(0, |bits, offer| bits | 1 << offer)
}

/// How much the next dearer offers cost above the bound; 0 if there are none.
pub(super) fn next(bits: u64, above: &[u64]) -> u64 {
    offers(bits).map(|offer| above[offer]).filter(|more| *more > 0).min().unwrap_or(0)
}

/// How much the choice for an object matters: the most that one of its offers costs above the bound.
pub(super) fn spread(bits: u64, above: &[u64]) -> u64 {
    offers(bits).map(|offer| above[offer]).max().unwrap_or(0)
}
