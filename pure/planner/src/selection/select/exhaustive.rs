// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Tries every selection: the reference for the other searches.
//!
//! It judges whole selections only, so it does not rest on how open objects are judged. If memory is the aim, it
//! leaves out a branch whose bytes, under response times that are too short (C), are more than those of the best so
//! far.

use taut_analysis::Overflow;

use super::problem::{Judged, Problem, Selection};
use taut_model::Aim;

/// The best selection by [`Judged::values`] among those that keep everything, of equals the first in lexical order;
/// `None` if none keeps everything.
///
/// The work grows with the product of the numbers of offers: for small problems.
///
/// # Errors
/// [`Overflow`] if times or bytes do not fit in 64 bits.
pub fn search(problem: &mut Problem) -> Result<Option<(Selection, Judged)>, Overflow> {
    let costs = problem.costs();
    let mut least = Vec::with_capacity(problem.objects().len());
    for object in problem.objects() {
        let bytes = object.offers.iter().map(|offer| Ok(problem.bytes(offer, &costs)?.unwrap_or(u64::MAX)));
        least.push(bytes.collect::<Result<Vec<u64>, Overflow>>()?);
    }
    // The least bytes of the objects from here on.
    let mut rest = vec![0u64; least.len() + 1];
    for at in (0..least.len()).rev() {
        let of_object = least[at].iter().copied().min().unwrap_or(0);
        rest[at] = rest[at + 1].saturating_add(of_object);
    }
    let mut search = Search { problem, least, rest, best: None };
    let mut selection = vec![None; search.least.len()];
    search.from(0, 0, &mut selection)?;
    Ok(search.best)
}

struct Search<'p> {
    problem: &'p mut Problem,
    least: Vec<Vec<u64>>,
    rest: Vec<u64>,
    best: Option<(Selection, Judged)>,
}

impl Search<'_> {
    fn from(&mut self, at: usize, bytes: u64, selection: &mut [Option<usize>]) -> Result<(), Overflow> {
        let reached = bytes.saturating_add(self.rest[at]);
        let aim = self.problem.aimed_at();
        if aim == Aim::Memory && self.best.as_ref().is_some_and(|(_, best)| reached > best.bytes) {
            return Ok(());
        }
        if at == selection.len() {
            let better = |judged: &Judged, best: &Option<(Selection, Judged)>| {
                best.as_ref().is_none_or(|(_, best)| judged.values(aim) < best.values(aim))
            };
            if let Some(judged) = self.problem.judge(selection)?.filter(|judged| better(judged, &self.best)) {
                self.best = Some((selection.iter().flatten().copied().collect(), judged));
            }
            return Ok(());
        }
        for offer in 0..self.least[at].len() {
            selection[at] = Some(offer);
            let bytes = bytes.saturating_add(self.least[at][offer]);
            self.from(at + 1, bytes, selection)?;
        }
        selection[at] = None;
        Ok(())
    }
}
