// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! One selection of a subtree: the best offer that fits, object by object.

use taut_analysis::Overflow;
use taut_analysis::multi::Solution;

use super::bound::spread;
use super::judge::offers;
use super::subtree::{Above, Search, Subtree};
use taut_model::Aim;

impl Search<'_> {
    /// Takes for one object after another the best offer that fits. Returns the first object that had to take an
    /// offer that was not free, or for which none fitted; none if there is no such object.
    pub(super) fn dive(
        &mut self,
        subtree: &Subtree,
        above: &Above,
        solution: &Solution,
    ) -> Result<Option<usize>, Overflow> {
        let mut taken = subtree.bits.clone();
        let mut conflict = None;
        let mut order: Vec<usize> = (0..taken.len()).filter(|&at| !taken[at].is_power_of_two()).collect();
        order.sort_by_key(|&at| core::cmp::Reverse(spread(subtree.bits[at], &above[at])));
        for at in order {
            let mut best: Option<((u64, u64), usize)> = None;
            for offer in offers(subtree.bits[at]) {
                if best.is_some_and(|(best, _)| above[at][offer] > best.0) {
                    continue;
                }
                taken[at] = 1 << offer;
                if self.problem.fits(&taken, Some(solution))? {
                    let worth = match self.goal.aim {
                        Aim::Memory | Aim::Response => (above[at][offer], self.value(Aim::Response)?),
                        Aim::Slack => (self.value(Aim::Slack)?, self.value(Aim::Response)?),
                    };
                    if best.is_none_or(|(best, _)| worth < best) {
                        best = Some((worth, offer));
                    }
                }
            }
            let Some((_, offer)) = best else { return Ok(Some(conflict.unwrap_or(at))) };
            if above[at][offer] > 0 && conflict.is_none() {
                conflict = Some(at);
            }
            taken[at] = 1 << offer;
        }
        if self.problem.fits(&taken, Some(solution))?
            && let Some(judged) = self.problem.weigh(&taken)?
        {
            let within = self.goal.within.is_none_or(|(aim, most)| judged.value(aim) <= most);
            if within && judged.value(self.goal.aim) < self.known() {
                let selection = taken.iter().map(|bits| bits.trailing_zeros() as usize).collect();
                self.best = Some((selection, judged));
            }
        }
        Ok(conflict)
    }
}
