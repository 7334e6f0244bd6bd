// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The best selection: branch and bound.
//!
//! ```text
//! Part        by object, the offers that may still be taken. What they have in common lies on the set: a guard if all
//!             have it, the least time. No completion has shorter responses, so none keeps what the part does not
//! Probing     an offer that does not fit alone, all else open, is possible nowhere below; neither is one that is too
//!             dear
//! Bound       each object at its cheapest. As long as that does not fit, some few objects already do not fit so (what
//!             does not matter is left open again, one after another): one of them pays for a dearer offer. What it pays
//!             at least is added to the bound, and taken off what these cost more; and again
//! Branch      the object that could not be had at its cheapest when all were taken one after another, by guards
//! Start       the published heuristic without refinement, and exchanges: one object gets another offer, and where that
//!             does not fit, one more gives up its guard. If that and a short search do not end it: the
//!             heuristic with its refinement, and some objects that contend are chosen anew together, all others as they
//!             are
//! Order       mostly the last part, whose completions are near; every fourth time the one that has the least bound
//! Assumes     responses never fall when a cost grows or a guard is added, and bytes never fall when responses grow
//! Verdict     the best, if it ends; else what is best so far, and a bound below which nothing is
//! Cost        exponential in the worst case; it stops at a number of judgements
//! ```
//!
//! The order of everything is fixed, so the answer is a function of the problem and the limit. Least memory is never more
//! than what the published heuristic finds at a depth of [`DEPTH`], unless the search is stopped from outside before that.

use core::cell::Cell;

use taut_analysis::Overflow;

use super::aim::Aim;
use super::around::around;
use super::exchange::exchange;
use super::judge::all;
use super::paper;
use super::part::{Goal, Search};
use super::problem::{Judged, Problem, Selection};

/// Of the published heuristic's refinement, whose answer is looked at where a short search does not prove the best.
pub const DEPTH: usize = 5;

/// Judgements of a search before it looks around the best selection so far.
const SHORT: u64 = 20_000;

/// How far a search has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Judgements so far.
    pub judged: u64,
    /// [`Aim::value`] of the best selection so far.
    pub best: Option<u64>,
    /// No selection has less.
    pub at_least: u64,
}

/// What a search came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The best selection, if one was found that keeps everything.
    pub best: Option<(Selection, Judged)>,
    /// [`Aim::value`] of no selection is less; the greatest number if there is none at all.
    pub at_least: u64,
    /// What was to be small.
    pub aim: Aim,
}

impl Answer {
    /// Whether the best is known to be the least, or that there is none.
    pub fn is_proven(&self) -> bool {
        self.at_least == self.best.as_ref().map_or(u64::MAX, |(_, judged)| self.aim.value(judged))
    }
}

/// Searches until the best is found, after `judgements`, or until `go_on`, which is asked between steps, says no. What
/// the published heuristic takes at [`DEPTH`] comes besides, where a short search does not prove the best.
///
/// # Errors
/// [`Overflow`] if times or bytes do not fit in 64 bits.
pub fn search(
    problem: &mut Problem,
    judgements: u64,
    go_on: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Answer, Overflow> {
    let possible = [problem.undominated(problem.aim)?, problem.undominated(Aim::Memory)?];
    among(problem, possible, [SHORT, judgements], true, go_on)
}

/// The best selection in which an object has another offer than in this one; limits as for [`search`].
///
/// # Errors
/// [`Overflow`] if times or bytes do not fit in 64 bits.
pub fn runner_up(
    problem: &mut Problem,
    selection: &[usize],
    object: usize,
    judgements: u64,
    go_on: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Answer, Overflow> {
    let mut possible = [problem.undominated(problem.aim)?, problem.undominated(Aim::Memory)?];
    for possible in &mut possible {
        possible[object] = all(&problem.objects[object]) & !(1 << selection[object]);
    }
    among(problem, possible, [SHORT, judgements], false, go_on)
}

/// The best of what takes these offers: as far as the aim goes, and between equals. Judgements of a short search come
/// before those of all.
pub(super) fn among(
    problem: &mut Problem,
    [possible, ties]: [Vec<u64>; 2],
    [short, judgements]: [u64; 2],
    start: bool,
    go_on: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Answer, Overflow> {
    let aim = problem.aim;
    if possible.contains(&0) {
        return Ok(Answer { best: None, at_least: u64::MAX, aim });
    }
    let limit = problem.judged.saturating_add(judgements);
    let mut best = if start && aim == Aim::Memory { paper::heuristic(problem, 0)? } else { None };
    if let Some(found) = &mut best {
        exchange(problem, &possible, aim, found)?;
    }
    let stopped = Cell::new(false);
    let mut go_on = |progress: &Progress| {
        stopped.set(stopped.get() || !go_on(progress));
        !stopped.get()
    };
    // What is short is done at once; else what is best is bettered first, so that more is too dear.
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
    // Between equals, the other measures decide.
    if let Some(found) = &mut best
        && problem.judged < limit
    {
        if aim != Aim::Memory && aim.value(&found.1) == at_least {
            let goal = Goal { aim: Aim::Memory, within: Some((aim, at_least)) };
            let mut search = Search::new(problem, ties, goal, Some(found.clone()));
            search.run(limit, &mut |progress| {
                go_on(&Progress { judged: progress.judged, best: Some(at_least), at_least })
            })?;
            best = search.best;
        } else {
            exchange(problem, &possible, aim, found)?;
        }
    }
    Ok(Answer { best, at_least, aim })
}
