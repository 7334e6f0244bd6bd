// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! One state after another: every mechanism is tried, with the proof of the whole, and kept if that is nearer to the
//! aim. Rounds go on until none helps. Needs no particular analysis, so it goes with any scheduler and any model.

use taut_model::{Aim, Decisions, Mechanism, Model};

use super::measure::Measure;
use super::state::Candidate;

/// Rounds at most: each goes over all states, and the last one finds nothing.
const ROUNDS: usize = 8;

/// Improves decisions, beginning with what was selected, if that is kept by the proof of the whole. What all comes to, and
/// whether that is known to be the best.
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
                    // The proof of the whole may show what the search's analysis did not: then there may be more of that.
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

/// What else it can have. What waits for nobody is `None`: it is chosen by its bytes then. A larger object can be nearer to
/// least memory, where it was the last that needed a dispatcher; where the search has proven its selection, it has looked at
/// those.
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
