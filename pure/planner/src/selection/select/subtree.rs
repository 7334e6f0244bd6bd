// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The tree of [`super::best`]: bounds a subtree of selections, and splits it.

use std::rc::Rc;

use taut_analysis::Overflow;
use taut_analysis::multi::{Guard, Solution};

use super::aim::ppm;
use super::best::SearchProgress;
use super::bound::{normal, spread};
use super::judge::offers;
use super::offer::{ObjectOffers, OfferMemory};
use super::problem::{Judged, Problem, Selection};
use taut_model::Aim;

/// Once in this many steps, the subtree with the least bound comes first.
const TURN: u64 = 4;

/// What to minimise, and the most that the value of another aim may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Goal {
    pub(super) aim: Aim,
    pub(super) within: Option<(Aim, u64)>,
}

/// A subtree of all selections.
pub(super) struct Subtree {
    /// By object, a bit per offer that is possible.
    pub(super) bits: Vec<u64>,
    pub(super) at_least: u64,
    /// The solution of the subtree from which this one was split.
    solution: Option<Rc<Solution>>,
}

pub(super) struct Search<'p> {
    pub(super) problem: &'p mut Problem,
    pub(super) goal: Goal,
    pub(super) best: Option<(Selection, Judged)>,
    /// Whether some bytes depend on responses.
    timed: bool,
    /// The subtrees that the search has not looked at yet; the last comes first.
    pub(super) open: Vec<Subtree>,
}

/// By object and offer, the least by which the value of a selection with that offer exceeds the subtree's bound.
/// Offers that are not possible have `u64::MAX`.
pub(super) type Above = Vec<Vec<u64>>;

impl<'p> Search<'p> {
    /// A search among the selections of these offers.
    pub(super) fn new(
        problem: &'p mut Problem,
        bits: Vec<u64>,
        goal: Goal,
        best: Option<(Selection, Judged)>,
    ) -> Self {
        let timed = |(object, bits): (&ObjectOffers, &u64)| {
            offers(*bits).any(|offer| !matches!(object.offers[offer].memory, OfferMemory::Fixed(_)))
        };
        let timed = problem.objects.iter().zip(&bits).any(timed);
        Self { problem, goal, best, timed, open: vec![Subtree { bits, at_least: 0, solution: None }] }
    }

    /// Whether no subtree is left to look at.
    pub(super) fn is_done(&self) -> bool {
        self.open.is_empty()
    }

    /// Makes a selection the best one, if it is better than the best so far.
    pub(super) fn start_from(&mut self, found: Option<(Selection, Judged)>) {
        let value = |(_, judged): &(Selection, Judged)| judged.value(self.goal.aim);
        if found.as_ref().is_some_and(|found| value(found) < self.known()) {
            self.best = found;
        }
    }

    /// Searches until nothing is left, `limit` judgements are made or `go_on` says no. Returns a bound: no selection
    /// has a lower value.
    pub(super) fn run(
        &mut self,
        limit: u64,
        go_on: &mut dyn FnMut(&SearchProgress) -> bool,
    ) -> Result<u64, Overflow> {
        for step in 0u64.. {
            // Mostly the last subtree, whose completions are near; once in `TURN` steps the one with the least bound.
            let least = || self.open.iter().enumerate().min_by_key(|(_, subtree)| subtree.at_least);
            let next = match step % TURN {
                0 => least().map(|(at, _)| at),
                _ => self.open.len().checked_sub(1),
            };
            let Some(next) = next else { break };
            let subtree = self.open.remove(next);
            let at_least = self.at_least().min(subtree.at_least).min(self.known());
            let best = self.best.as_ref().map(|(_, judged)| judged.value(self.goal.aim));
            let progress = SearchProgress { judged: self.problem.judged, best, at_least };
            if progress.judged >= limit || !go_on(&progress) {
                self.open.push(subtree);
                break;
            }
            self.expand(subtree)?;
        }
        Ok(self.at_least().min(self.known()))
    }

    /// No selection that is still open has a lower value.
    pub(super) fn at_least(&self) -> u64 {
        self.open.iter().map(|subtree| subtree.at_least).min().unwrap_or(u64::MAX)
    }

    /// The value of the best selection so far.
    pub(super) fn known(&self) -> u64 {
        self.best.as_ref().map_or(u64::MAX, |(_, judged)| judged.value(self.goal.aim))
    }

    /// A lower bound on the value of all selections of these offers, memory aside; `None` if none of them can be
    /// better.
    pub(super) fn possible(
        &mut self,
        bits: &[u64],
        above: Option<&Solution>,
    ) -> Result<Option<u64>, Overflow> {
        if self.goal.aim == Aim::Memory && self.goal.within.is_none() {
            let fits = self.problem.may_fit(bits, above)?;
            if !fits || !self.timed {
                return Ok(fits.then_some(0));
            }
        }
        if self.problem.fits(bits, above)? { self.worth(bits) } else { Ok(None) }
    }

    /// The same, from the last judgement, which must fit.
    fn worth(&self, bits: &[u64]) -> Result<Option<u64>, Overflow> {
        let value = self.value(self.goal.aim)?;
        let within = match self.goal.within {
            Some((aim, most)) => self.value(aim)? <= most,
            None => true,
        };
        if !within || value >= self.known() {
            return Ok(None);
        }
        // Longer responses may have made every selection of these offers too dear.
        let dear = self.goal.aim == Aim::Memory && self.timed && self.least_bytes(bits)? >= self.known();
        Ok((!dear).then_some(value))
    }

    /// Bytes of the cheapest of these offers of each object, under the responses of the last judgement.
    fn least_bytes(&self, bits: &[u64]) -> Result<u64, Overflow> {
        let mut sum = 0u64;
        for (object, &bits) in self.problem.objects.iter().zip(bits) {
            let mut least = u64::MAX;
            for offer in offers(bits) {
                let bytes = self.problem.bytes(&object.offers[offer], &self.problem.responses)?;
                least = bytes.unwrap_or(u64::MAX).min(least);
            }
            sum = sum.saturating_add(least);
        }
        Ok(sum.saturating_add(self.problem.charged(bits)))
    }

    /// A lower bound from the last judgement, memory aside.
    pub(super) fn value(&self, aim: Aim) -> Result<u64, Overflow> {
        let mut sum = 0u64;
        let parts = self.problem.responses.iter().zip(&self.problem.deadlines);
        let parts = parts.map(|(response, deadline)| ppm(response.as_ns(), *deadline));
        match aim {
            Aim::Memory => return Ok(0),
            Aim::Response => {
                for subtree in parts {
                    sum = sum.checked_add(subtree?).ok_or(Overflow)?;
                }
            }
            Aim::Slack => {
                for subtree in parts {
                    sum = sum.max(subtree?);
                }
            }
        }
        Ok(sum)
    }

    fn expand(&mut self, mut subtree: Subtree) -> Result<(), Overflow> {
        loop {
            if subtree.at_least >= self.known() {
                return Ok(());
            }
            // 1. The subtree itself.
            if !self.problem.fits(&subtree.bits, subtree.solution.as_deref())? {
                return Ok(());
            }
            let Some(value) = self.worth(&subtree.bits)? else { return Ok(()) };
            let solution = Rc::new(self.problem.trial.solution().clone());
            subtree.solution = Some(Rc::clone(&solution));
            let mut above = self.prices(&subtree.bits)?;
            let Some(mut at_least) = normal(&mut above, value) else { return Ok(()) };
            // 2. Each offer alone.
            let mut changed = self.drop_dear(&mut subtree.bits, &above, at_least);
            match self.probe(&mut subtree.bits, &mut above, &solution, value)? {
                None => return Ok(()),
                Some(probed) => changed |= probed,
            }
            if changed {
                continue;
            }
            // 3. Offers that do not fit together.
            if self.goal.aim == Aim::Memory {
                at_least = self.pay(&subtree.bits, &mut above, at_least, &solution)?;
                subtree.at_least = subtree.at_least.max(at_least);
                if subtree.at_least >= self.known() {
                    return Ok(());
                }
                if self.drop_dear(&mut subtree.bits, &above, at_least) {
                    continue;
                }
            }
            subtree.at_least = subtree.at_least.max(at_least);
            // 4. One object after another.
            let conflict = self.dive(&subtree, &above, &solution)?;
            if subtree.at_least >= self.known() {
                return Ok(());
            }
            self.branch(&subtree, &above, at_least, conflict);
            return Ok(());
        }
    }

    fn branch(&mut self, subtree: &Subtree, above: &Above, at_least: u64, conflict: Option<usize>) {
        let open = (0..subtree.bits.len()).filter(|&at| !subtree.bits[at].is_power_of_two());
        let most = open.max_by_key(|&at| spread(subtree.bits[at], &above[at]));
        let Some(at) = conflict.or(most) else { return };
        // Split by guards; if all offers have the same guard, split off the best.
        let with = |guard: Guard| {
            let same = |offer: &usize| self.problem.objects[at].offers[*offer].guard == guard;
            offers(subtree.bits[at]).filter(same).fold(0u64, |bits, offer| bits | 1 << offer)
        };
        let mut classes = [Guard::Absent, Guard::Spinning, Guard::Suspending].map(with).to_vec();
        classes.retain(|class| *class != 0);
        if let [all] = classes[..] {
            let best = offers(all).min_by_key(|&offer| above[at][offer]).map_or(all, |offer| 1 << offer);
            classes = vec![best, all & !best];
        }
        let least = |class: u64| offers(class).map(|offer| above[at][offer]).min().unwrap_or(0);
        // The best class is taken next, so it comes last.
        classes.sort_by_key(|&class| core::cmp::Reverse(least(class)));
        for class in classes {
            let mut bits = subtree.bits.clone();
            bits[at] = class;
            let at_least = at_least.saturating_add(least(class)).max(subtree.at_least);
            self.open.push(Subtree { bits, at_least, solution: subtree.solution.clone() });
        }
    }
}
