// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The least memory: branch and bound.
//!
//! ```text
//! Bound       objects that are open wait for nothing and cost each job the least of what their offers add; their bytes
//!             are those of the cheapest offer that is still possible. No completion has shorter responses, and so
//!             none needs less
//! Branch      the object of which most depends on what is taken, its cheapest offer first
//! Probing     an offer that alone, with all else that is open left open, misses a deadline or is too dear is possible
//!             nowhere below; an object with one offer left is decided
//! Start       the published heuristic without refinement, then exchanges: one object gets a lock, and where that does
//!             not fit, another gives up its own
//! Assumes     responses never fall when a cost grows or a guard is added, and bytes never fall when responses grow
//! Verdict     the least, if it ends; else what is least so far, and a bound below which nothing is
//! Cost        exponential in the worst case; it stops at a number of judgements
//! ```
//!
//! The order of everything is fixed, so the answer is a function of the problem and the limit.

use taut_analysis::Overflow;
use taut_analysis::multi::Guard;
use taut_time::Duration;

use super::aim::Aim;
use super::offer::Object;
use super::paper;
use super::problem::{Judged, Problem, Selection};

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

/// Searches until the least is found, after `judgements` of them, or until `go_on`, which is asked between steps, says
/// no. The start is made in any case: with n objects, some 2 n² judgements for the heuristic, and up to n² per offer of
/// an object for each round of exchanges that helps.
///
/// # Errors
/// [`Overflow`] if times or bytes do not fit in 64 bits.
pub fn search(
    problem: &mut Problem,
    judgements: u64,
    go_on: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Answer, Overflow> {
    let limit = problem.judged().saturating_add(judgements);
    let mut best = paper::heuristic(problem, 0)?;
    if let Some((selection, judged)) = &mut best {
        exchange(problem, selection, judged)?;
    }
    let possible = problem.objects().iter().map(all).collect();
    from(problem, possible, best, limit, go_on)
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
    let limit = problem.judged().saturating_add(judgements);
    let mut possible: Vec<u64> = problem.objects().iter().map(all).collect();
    possible[object] &= !(1 << selection[object]);
    from(problem, possible, None, limit, go_on)
}

/// A bit per offer.
fn all(object: &Object) -> u64 {
    object.offers.iter().enumerate().fold(0, |all, (at, _)| all | 1 << at)
}

fn from(
    problem: &mut Problem,
    possible: Vec<u64>,
    best: Option<(Selection, Judged)>,
    limit: u64,
    go_on: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Answer, Overflow> {
    let root =
        Node { selection: vec![None; problem.objects().len()], possible, at_least: 0, responses: Vec::new() };
    let mut search = Search { problem, best, open: vec![root] };
    while let Some(node) = search.open.pop() {
        let at_least = search.at_least().min(node.at_least);
        let value = search.best.as_ref().map(|(_, judged)| search.problem.aim.value(judged));
        let progress = Progress { judged: search.problem.judged(), best: value, at_least };
        if progress.judged >= limit || !go_on(&progress) {
            search.open.push(node);
            break;
        }
        search.expand(node)?;
    }
    let at_least = search.at_least();
    let aim = search.problem.aim;
    let found = search.best.as_ref().map_or(u64::MAX, |(_, judged)| aim.value(judged));
    Ok(Answer { best: search.best, at_least: at_least.min(found), aim })
}

/// A part of all selections.
struct Node {
    selection: Vec<Option<usize>>,
    /// By object, a bit per offer that is possible.
    possible: Vec<u64>,
    at_least: u64,
    /// Of what it is a part of, if that was judged.
    responses: Vec<Duration>,
}

struct Search<'p> {
    problem: &'p mut Problem,
    best: Option<(Selection, Judged)>,
    /// What is still to be looked at; the last comes first.
    open: Vec<Node>,
}

impl Search<'_> {
    /// No selection that is still open needs less.
    fn at_least(&self) -> u64 {
        self.open.iter().map(|node| node.at_least).min().unwrap_or(u64::MAX)
    }

    fn too_dear(&self, value: u64) -> bool {
        self.best.as_ref().is_some_and(|(_, best)| value >= self.problem.aim.value(best))
    }

    /// What is to be small, of a judged part: decided objects as decided, open ones by the cheapest possible offer.
    fn value(&self, node: &Node, judged: &Judged) -> Result<u64, Overflow> {
        if self.problem.aim != Aim::Memory {
            return Ok(self.problem.aim.value(judged));
        }
        let mut sum = 0u64;
        for (at, object) in self.problem.objects().iter().enumerate() {
            let bytes = match node.selection[at] {
                Some(offer) => self.problem.bytes(&object.offers[offer], &judged.responses)?,
                None => {
                    let mut least = u64::MAX;
                    for offer in offers(node.possible[at]) {
                        least = self.problem.bytes(&object.offers[offer], &judged.responses)?.min(least);
                    }
                    least
                }
            };
            sum = sum.checked_add(bytes).ok_or(Overflow)?;
        }
        Ok(sum)
    }

    fn expand(&mut self, mut node: Node) -> Result<(), Overflow> {
        loop {
            if self.too_dear(node.at_least) {
                return Ok(());
            }
            let Some(judged) = self.problem.judge_below(&node.selection, &node.responses)? else {
                return Ok(());
            };
            node.responses.clone_from(&judged.responses);
            node.at_least = self.value(&node, &judged)?.max(node.at_least);
            if self.too_dear(node.at_least) {
                return Ok(());
            }
            if node.selection.iter().all(Option::is_some) {
                let selection = node.selection.iter().flatten().copied().collect();
                if !self.too_dear(self.problem.aim.value(&judged)) {
                    self.best = Some((selection, judged));
                }
                return Ok(());
            }
            let before = node.selection.iter().flatten().count();
            if !self.probe(&mut node)? {
                return Ok(());
            }
            if node.selection.iter().flatten().count() == before {
                return self.branch(&node, &judged);
            }
        }
    }

    /// Rules out offers, and decides objects with one left; whether every object has one.
    fn probe(&mut self, node: &mut Node) -> Result<bool, Overflow> {
        for at in 0..node.selection.len() {
            if node.selection[at].is_some() {
                continue;
            }
            for offer in offers(node.possible[at]) {
                node.selection[at] = Some(offer);
                let possible = match self.problem.judge_below(&node.selection, &node.responses)? {
                    None => false,
                    Some(judged) => !self.too_dear(self.value(node, &judged)?),
                };
                if !possible {
                    node.possible[at] &= !(1 << offer);
                }
            }
            node.selection[at] = None;
            match node.possible[at].count_ones() {
                0 => return Ok(false),
                1 => node.selection[at] = offers(node.possible[at]).next(),
                _ => {}
            }
        }
        Ok(true)
    }

    fn branch(&mut self, node: &Node, judged: &Judged) -> Result<(), Overflow> {
        let mut most: Option<(u64, usize, Prices)> = None;
        for (at, object) in self.problem.objects().iter().enumerate() {
            if node.selection[at].is_some() {
                continue;
            }
            let mut prices = Vec::new();
            for offer in offers(node.possible[at]) {
                prices.push((self.problem.bytes(&object.offers[offer], &judged.responses)?, offer));
            }
            prices.sort_unstable();
            let depends = prices.last().map_or(0, |last| last.0) - prices.first().map_or(0, |first| first.0);
            if most.as_ref().is_none_or(|most| depends > most.0) {
                most = Some((depends, at, prices));
            }
        }
        let Some((_, at, prices)) = most else { return Ok(()) };
        // The dearest first, so that the cheapest is taken next.
        for &(price, offer) in prices.iter().rev() {
            let mut selection = node.selection.clone();
            selection[at] = Some(offer);
            let at_least = match self.problem.aim {
                Aim::Memory => node.at_least.saturating_add(price - prices[0].0),
                Aim::Response | Aim::Slack => node.at_least,
            };
            let (possible, responses) = (node.possible.clone(), node.responses.clone());
            self.open.push(Node { selection, possible, at_least, responses });
        }
        Ok(())
    }
}

/// Bytes and offer.
type Prices = Vec<(u64, usize)>;

fn offers(possible: u64) -> impl Iterator<Item = usize> {
    (0..64).filter(move |offer| possible >> offer & 1 == 1)
}

/// Exchanges until none helps: an object gets a cheaper offer; where that does not fit, another object that has a
/// guard gets its cheapest offer without one.
fn exchange(problem: &mut Problem, selection: &mut Selection, judged: &mut Judged) -> Result<(), Overflow> {
    let aim = problem.aim;
    let mut whole: Vec<Option<usize>> = selection.iter().copied().map(Some).collect();
    let mut free = Vec::new();
    for object in problem.objects() {
        let mut cheapest: Option<(u64, usize)> = None;
        for (at, offer) in object.offers.iter().enumerate().filter(|(_, offer)| offer.guard == Guard::Absent)
        {
            let bytes = problem.bytes(offer, &judged.responses)?;
            if cheapest.is_none_or(|cheapest| bytes < cheapest.0) {
                cheapest = Some((bytes, at));
            }
        }
        free.push(cheapest.map(|(_, at)| at));
    }
    let mut again = true;
    while again {
        again = false;
        for at in 0..whole.len() {
            for offer in 0..problem.objects()[at].offers.len() {
                let bytes = |problem: &Problem, offer: Option<usize>| {
                    offer.map_or(Ok(0), |offer| {
                        problem.bytes(&problem.objects()[at].offers[offer], &judged.responses)
                    })
                };
                if bytes(problem, Some(offer))? >= bytes(problem, whole[at])? {
                    continue;
                }
                let before = whole[at].replace(offer);
                let mut found = problem.judge(&whole)?.filter(|found| aim.value(found) < aim.value(judged));
                for other in 0..whole.len() {
                    if found.is_some() {
                        break;
                    }
                    if other == at || free[other].is_none() || free[other] == whole[other] {
                        continue;
                    }
                    let held = std::mem::replace(&mut whole[other], free[other]);
                    found = problem.judge(&whole)?.filter(|found| aim.value(found) < aim.value(judged));
                    if found.is_none() {
                        whole[other] = held;
                    }
                }
                match found {
                    Some(found) => (*judged, again) = (found, true),
                    None => whole[at] = before,
                }
            }
        }
    }
    *selection = whole.into_iter().flatten().collect();
    Ok(())
}
