// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The published heuristic [Han14, Algorithm 6], under whatever equations and offers a problem has.
//!
//! 1. Every object gets its preferred wait-free offer, the offer of least memory. Objects are ordered by what a lock
//!    saves.
//! 2. For every split of the objects, ordered by their longest sections: objects with longer sections prefer to
//!    suspend, the others to spin.
//! 3. Object by object, it tries the preferred lock, then the other; if neither keeps all deadlines, the object stays
//!    wait-free.
//!
//! The paper describes two refinements in words. *Depth*: for the first `depth` objects that got a lock, every
//! combination of lock and wait-free is tried. We assume that later objects are then decided anew, since otherwise
//! this could gain nothing. *Backtracking*: we assume that the last `depth` decisions of the walk are tried in all
//! ways.
//!
//! The heuristic looks at memory alone, whatever the problem's aim. Where memory depends on response times, those of
//! step 1 count until a selection is whole, and then those of the selection.

use std::collections::HashMap;

use taut_analysis::Overflow;
use taut_analysis::multi::Guard;

use super::problem::{Judged, Problem, Selection};

/// What the heuristic finds with a refinement of this depth; `None` if not even wait-free offers alone keep all
/// deadlines.
///
/// Judgements: (n + 1) · 2ᵈ · (2 n + 1) at most, for n objects and a depth of d; what walks have in common is judged
/// once, which leaves a tenth to a quarter of them.
///
/// # Errors
/// [`Overflow`] if times or bytes do not fit in 64 bits.
pub fn heuristic(problem: &mut Problem, depth: usize) -> Result<Option<(Selection, Judged)>, Overflow> {
    let Some(mut walk) = Walk::new(problem)? else { return Ok(None) };
    let mut best = None;
    for split in 0..=walk.by_length.len() {
        let locks = walk.preferred(split);
        let first = walk.greedy(problem, &locks, &[])?;
        let guarded = walk.order.iter().copied().filter(|&at| first[at] != walk.free[at]);
        let near: Vec<usize> = guarded.take(depth).collect();
        walk.keep(problem, first, &mut best)?;
        for subset in 1..1u64 << near.len() {
            let kept: Vec<usize> = near
                .iter()
                .enumerate()
                .filter(|(bit, _)| subset >> bit & 1 == 1)
                .map(|(_, at)| *at)
                .collect();
            let again = walk.greedy(problem, &locks, &kept)?;
            walk.keep(problem, again, &mut best)?;
        }
    }
    Ok(best)
}

/// What the heuristic finds if instead the last `depth` decisions are tried in all ways.
///
/// Judgements: 2 n + 3ᵈ at most.
///
/// # Errors
/// [`Overflow`] if times or bytes do not fit in 64 bits.
pub fn backtracking(problem: &mut Problem, depth: usize) -> Result<Option<(Selection, Judged)>, Overflow> {
    let Some(mut walk) = Walk::new(problem)? else { return Ok(None) };
    let locks = walk.preferred(0);
    let first = walk.greedy(problem, &locks, &[])?;
    let mut best = None;
    walk.keep(problem, first.clone(), &mut best)?;
    let from = walk.order.len().saturating_sub(depth);
    let mut selection = first;
    for &at in &walk.order[from..] {
        selection[at] = walk.free[at];
    }
    walk.all_ways(problem, &locks, from, &mut selection, &mut best)?;
    Ok(best)
}

/// The offers that guard an object: the preferred one, then the other.
type Locks = [Option<usize>; 2];

struct Walk {
    /// The preferred wait-free offer of each object. For an object without one: the cheapest offer that spins, or else
    /// the cheapest that suspends.
    free: Selection,
    spins: Vec<Option<usize>>,
    suspends: Vec<Option<usize>>,
    /// Objects by what a lock saves, the most first.
    order: Vec<usize>,
    /// Objects by their longest section, the longest first.
    by_length: Vec<usize>,
    /// Whether selections fit, as far as they were judged.
    known: HashMap<Vec<u8>, bool>,
}

impl Walk {
    fn new(problem: &mut Problem) -> Result<Option<Self>, Overflow> {
        let open = vec![None; problem.objects().len()];
        let Some(judged) = problem.judge(&open)? else { return Ok(None) };
        let (mut free, mut spins, mut suspends, mut saving) = (vec![], vec![], vec![], vec![]);
        for object in problem.objects() {
            let mut bytes = Vec::with_capacity(object.offers.len());
            for offer in &object.offers {
                // An offer that is not available is dearest.
                bytes.push(problem.bytes(offer, &judged.responses)?.unwrap_or(u64::MAX));
            }
            let cheapest = |guard: Guard| {
                let offers = (0..bytes.len()).filter(|&offer| object.offers[offer].guard == guard);
                offers.min_by_key(|&offer| bytes[offer])
            };
            let [none, spin, suspend] = [Guard::Absent, Guard::Spinning, Guard::Suspending].map(cheapest);
            // Without a wait-free offer, an object starts with a lock.
            let start = none.or(spin).or(suspend).unwrap_or(0);
            let lock = [spin, suspend].into_iter().flatten().map(|offer| bytes[offer]).min();
            saving.push(lock.map_or(0, |lock| bytes[start].saturating_sub(lock)));
            free.push(start);
            spins.push(spin);
            suspends.push(suspend);
        }
        let all: Vec<_> = free.iter().copied().map(Some).collect();
        if problem.judge(&all)?.is_none() {
            return Ok(None);
        }
        let mut order: Vec<usize> = (0..free.len()).collect();
        order.sort_by_key(|&at| core::cmp::Reverse(saving[at]));
        let mut by_length: Vec<usize> = (0..free.len()).collect();
        by_length.sort_by_key(|&at| core::cmp::Reverse(problem.longest(at)));
        Ok(Some(Self { free, spins, suspends, order, by_length, known: HashMap::new() }))
    }

    /// The first `split` objects by length prefer to suspend.
    fn preferred(&self, split: usize) -> Vec<Locks> {
        let mut locks: Vec<Locks> =
            self.spins.iter().zip(&self.suspends).map(|(spins, suspends)| [*spins, *suspends]).collect();
        for &at in &self.by_length[..split] {
            locks[at].reverse();
        }
        locks
    }

    /// Whether a selection, a bit per object, keeps everything; judged once, since walks have much in common.
    fn fits(&mut self, problem: &mut Problem, bits: &[u64]) -> Result<bool, Overflow> {
        let offers: Vec<u8> = bits.iter().map(|bit| bit.trailing_zeros() as u8).collect();
        if let Some(fits) = self.known.get(&offers) {
            return Ok(*fits);
        }
        let fits = problem.may_fit(bits, None)?;
        self.known.insert(offers, fits);
        Ok(fits)
    }

    /// Step 3, except for objects that stay wait-free.
    fn greedy(
        &mut self,
        problem: &mut Problem,
        locks: &[Locks],
        kept: &[usize],
    ) -> Result<Selection, Overflow> {
        let mut selection = self.free.clone();
        let mut bits: Vec<u64> = selection.iter().map(|offer| 1 << offer).collect();
        for at in self.order.clone().into_iter().filter(|at| !kept.contains(at)) {
            for lock in locks[at].into_iter().flatten() {
                bits[at] = 1 << lock;
                if self.fits(problem, &bits)? {
                    selection[at] = lock;
                    break;
                }
                bits[at] = 1 << self.free[at];
            }
        }
        Ok(selection)
    }

    fn keep(
        &self,
        problem: &mut Problem,
        selection: Selection,
        best: &mut Option<(Selection, Judged)>,
    ) -> Result<(), Overflow> {
        let whole: Vec<_> = selection.iter().copied().map(Some).collect();
        if let Some(judged) = problem.judge(&whole)?
            && best.as_ref().is_none_or(|(_, best)| judged.bytes < best.bytes)
        {
            *best = Some((selection, judged));
        }
        Ok(())
    }

    /// Tries all ways for the objects from position `from` in the order on.
    fn all_ways(
        &self,
        problem: &mut Problem,
        locks: &[Locks],
        from: usize,
        selection: &mut Selection,
        best: &mut Option<(Selection, Judged)>,
    ) -> Result<(), Overflow> {
        let Some(&at) = self.order.get(from) else { return self.keep(problem, selection.clone(), best) };
        for offer in locks[at].into_iter().flatten().chain([self.free[at]]) {
            selection[at] = offer;
            self.all_ways(problem, locks, from + 1, selection, best)?;
        }
        selection[at] = self.free[at];
        Ok(())
    }
}
