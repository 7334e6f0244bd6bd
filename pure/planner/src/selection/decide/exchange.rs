// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! One state after another: tries every mechanism with a proof of the whole, and keeps it if the result is nearer
//! to the aim. Rounds repeat until none helps. This needs no particular analysis, so it works with any scheduler
//! and any model.

use taut_model::{Aim, Decisions, Mechanism, Model};

use super::measure::Measure;
use super::state::Candidate;

/// The most rounds: each goes over all states, and the last one finds nothing.
const ROUNDS: usize = 8;

/// Improves the decisions. It starts from what was selected if the proof of the whole finds that no worse. Returns
/// the measure of the decisions, and whether it is known to be the best.
pub(super) fn improve(
    open: &Model,
    candidates: &[Candidate],
    aim: Aim,
    decisions: &mut Decisions,
    selected: Option<(Decisions, bool)>,
) -> Option<(Measure, bool)> {
    let mut reached = measure(open, decisions)?;
    let mut proven = false;
    if let Some((selected, least)) = selected
        && let Some(found) = measure(open, &selected).filter(|found| !reached.is_better(found, aim))
    {
        (*decisions, reached, proven) = (selected, found, least);
    }
    for _ in 0..ROUNDS {
        let mut again = false;
        for candidate in candidates {
            let at = candidate.id.index();
            let now = decisions.mechanisms[at];
            for other in others(candidate, now, proven && aim == Aim::Memory) {
                let before = std::mem::replace(&mut decisions.mechanisms[at], other);
                match measure(open, decisions).filter(|found| found.is_better(&reached, aim)) {
                    // The proof of the whole may show what the search's analysis did not: then other selections may
                    // be better, too.
                    Some(found) => (reached, again, proven) = (found, true, false),
                    None => decisions.mechanisms[at] = before,
                }
            }
        }
        if !again {
            break;
        }
    }
    Some((reached, proven))
}

/// The other decisions that a state can have. `None` stands for the mechanisms in which nobody waits: the plan then
/// chooses by bytes. A larger object can be nearer to least memory if the state's lock was the last one that needed
/// a dispatcher. If the search has proven its selection, it has looked at those already, and only smaller locks are
/// left.
fn others(candidate: &Candidate, now: Option<Mechanism>, searched: bool) -> Vec<Option<Mechanism>> {
    let all = candidate.locks.iter().copied().map(Some).chain([None]);
    match candidate.locks.iter().position(|lock| Some(*lock) == now) {
        Some(at) if searched => all.take(at).collect(),
        _ => all.filter(|other| *other != now).collect(),
    }
}

fn measure(open: &Model, decisions: &Decisions) -> Option<Measure> {
    open.decided(decisions).map(|model| Measure::of(&model))
}
