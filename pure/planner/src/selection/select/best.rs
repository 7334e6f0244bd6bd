// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The best selection: branch and bound.
//!
//! ```text
//! Subtree     by object, the offers that may still be taken. The set carries what they have in common: a guard if all
//!             have it, the least time. No completion has shorter responses, so none keeps what the subtree does not
//! Probing     an offer that does not fit alone, all else open, fits nowhere below; an offer that is too dear is ruled
//!             out, too
//! Bound       each object takes its cheapest offer. As long as these do not fit, a few objects already do not fit so
//!             (objects that do not matter are left open again, one after another): one of them pays for a dearer
//!             offer. The least that it pays is added to the bound, and taken off what the dearer offers of these
//!             objects cost more; and again
//! Branch      the object that could not have its cheapest offer when all were taken one after another, by guards
//! Start       the published heuristic without refinement, and exchanges: one object gets another offer, and if that
//!             does not fit, one more gives up its guard. If that and a short search do not end it: the heuristic with
//!             its refinement, and some objects that contend are chosen anew together, all others as they are
//! Order       mostly the last subtree, whose completions are near; every fourth time the one with the least bound
//! Assumes     responses never fall when a cost grows or a guard is added, and bytes never fall when responses grow
//! Verdict     the best, if the search ends; else the best so far, and a bound below which there is no selection
//! Cost        exponential in the worst case; the search stops at a number of judgements
//! ```
//!
//! The order of all steps is fixed, so the answer is a function of the problem and the limit. Least memory is never
//! more than what the published heuristic finds at a depth of [`DEPTH`], unless the caller stops the search before
//! that.

use core::cell::Cell;

use taut_analysis::Overflow;

use super::around::around;
use super::exchange::exchange;
use super::judge::all;
use super::paper;
use super::problem::{Judged, Problem, Selection};
use super::subtree::{Goal, Search};
use taut_model::Aim;

/// The depth of the published heuristic's refinement, whose answer the search starts from if a short search does
/// not prove the best.
pub const DEPTH: usize = 5;

/// Judgements of a short search, before the search looks around the best selection so far.
const SHORT: u64 = 20_000;

/// How far a search has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchProgress {
    /// Judgements so far.
    pub judged: u64,
    /// [`Judged::value`] of the best selection so far.
    pub best: Option<u64>,
    /// No selection has a lower value.
    pub at_least: u64,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchOutcome {
    /// The best selection, if one was found that keeps everything.
    pub best: Option<(Selection, Judged)>,
    /// No selection has a lower [`Judged::value`]; the greatest number if there is no selection at all.
    pub at_least: u64,
    /// What the search minimised.
    pub aim: Aim,
}

impl SearchOutcome {
    /// Whether the best selection is proven to be the best, or it is proven that there is none.
    pub fn is_proven(&self) -> bool {
        self.at_least == self.best.as_ref().map_or(u64::MAX, |(_, judged)| judged.value(self.aim))
    }
}

/// Searches until the best is proven, until `judgements` are made, or until `go_on`, which the search asks between
/// steps, says no. If a short search does not prove the best, the judgements of the published heuristic at
/// [`DEPTH`] come on top.
///
/// # Errors
/// [`Overflow`] if times or bytes do not fit in 64 bits.
pub fn search(
    problem: &mut Problem,
    judgements: u64,
    go_on: &mut dyn FnMut(&SearchProgress) -> bool,
) -> Result<SearchOutcome, Overflow> {
    let possible = [problem.undominated(problem.aim)?, problem.undominated(Aim::Memory)?];
    among(problem, possible, [SHORT, judgements], true, go_on)
}

/// The best selection in which `object` has another offer than in `selection`; limits as for [`search`].
///
/// # Errors
/// [`Overflow`] if times or bytes do not fit in 64 bits.
pub fn runner_up(
    problem: &mut Problem,
    selection: &[usize],
    object: usize,
    judgements: u64,
    go_on: &mut dyn FnMut(&SearchProgress) -> bool,
) -> Result<SearchOutcome, Overflow> {
    let mut possible = [problem.undominated(problem.aim)?, problem.undominated(Aim::Memory)?];
    for possible in &mut possible {
        possible[object] = all(&problem.objects[object]) & !(1 << selection[object]);
    }
    among(problem, possible, [SHORT, judgements], false, go_on)
}

/// The best selection of these offers: `possible` for the aim, `ties` to decide among equals. The two limits are
/// the judgements of a short search and those of the whole.
pub(super) fn among(
    problem: &mut Problem,
    [possible, ties]: [Vec<u64>; 2],
    [short, judgements]: [u64; 2],
    start: bool,
    go_on: &mut dyn FnMut(&SearchProgress) -> bool,
) -> Result<SearchOutcome, Overflow> {
    let aim = problem.aim;
    if possible.contains(&0) {
        return Ok(SearchOutcome { best: None, at_least: u64::MAX, aim });
    }
    let limit = problem.judged.saturating_add(judgements);
    let mut best = if start && aim == Aim::Memory { paper::heuristic(problem, 0)? } else { None };
    if let Some(found) = &mut best {
        exchange(problem, &possible, aim, found)?;
    }
    let stopped = Cell::new(false);
    let mut go_on = |progress: &SearchProgress| {
        stopped.set(stopped.get() || !go_on(progress));
        !stopped.get()
    };
    // If a short search is enough, it ends here; else improve the best selection first, so that more offers are too
    // dear.
    let (short, middle) = (judgements.min(short), judgements / 2);
    let first = problem.judged;
    let mut search = Search::new(problem, possible.clone(), Goal { aim, within: None }, best);
    search.run(limit.min(first.saturating_add(short)), &mut go_on)?;
    if start && aim == Aim::Memory && !search.is_done() && !stopped.get() {
        let published = paper::heuristic(search.problem, DEPTH)?;
        search.start_from(published);
    }
    around(&mut search, &possible, limit.min(first.saturating_add(middle)), &mut go_on)?;
    let at_least = search.run(limit, &mut go_on)?;
    let mut best = search.best;
    // Among equals, the other measures decide.
    if let Some(found) = &mut best
        && problem.judged < limit
    {
        if aim != Aim::Memory && found.1.value(aim) == at_least {
            let goal = Goal { aim: Aim::Memory, within: Some((aim, at_least)) };
            let mut search = Search::new(problem, ties, goal, Some(found.clone()));
            search.run(limit, &mut |progress| {
                go_on(&SearchProgress { judged: progress.judged, best: Some(at_least), at_least })
            })?;
            best = search.best;
        } else {
            exchange(problem, &possible, aim, found)?;
        }
    }
    Ok(SearchOutcome { best, at_least, aim })
}
