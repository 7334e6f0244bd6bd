// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Why an object got its offer: tries each of its offers alone, with all other objects as selected.

use taut_analysis::Overflow;
use taut_time::Duration;

use super::judge::{Judgement, Miss};
use super::problem::{Judged, Problem};

/// An offer of an object, tried in place of the selected one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alternative {
    /// Its position in the object's offers.
    pub offer: usize,
    /// Bytes of the object with it: under its own response times if everything is kept, else under those of the
    /// selection, and it needs no less than that. `None` if it is not available under these.
    pub bytes: Option<u64>,
    /// What the change of this object alone leads to.
    pub alone: Alone,
}

/// What the change of one object alone leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Alone {
    /// No change: this is the selected offer.
    Selected(Judged),
    /// Everything is kept, at this price. If the object itself is cheaper and the whole is not, other objects pay.
    Feasible(Judged),
    /// This is not kept; of several, the first.
    Missed(Miss),
}

/// Each offer of an object, in their order; `None` if the selection itself does not keep what it must.
///
/// One judgement per offer.
///
/// # Errors
/// [`Overflow`] if times or bytes do not fit in 64 bits.
pub fn why(
    problem: &mut Problem,
    selection: &[usize],
    object: usize,
) -> Result<Option<Vec<Alternative>>, Overflow> {
    let Judgement::Feasible(selected) = problem.outcome(selection)? else { return Ok(None) };
    let mut changed = selection.to_vec();
    let mut alternatives = Vec::new();
    for offer in 0..problem.objects()[object].offers.len() {
        changed[object] = offer;
        let alone = match problem.outcome(&changed)? {
            Judgement::Feasible(judged) if offer == selection[object] => Alone::Selected(judged),
            Judgement::Feasible(judged) => Alone::Feasible(judged),
            Judgement::Missed(miss) => Alone::Missed(miss),
        };
        let responses: &[Duration] = match &alone {
            Alone::Selected(judged) | Alone::Feasible(judged) => &judged.responses,
            Alone::Missed(_) => &selected.responses,
        };
        let bytes = problem.bytes(&problem.objects()[object].offers[offer], responses)?;
        alternatives.push(Alternative { offer, bytes, alone });
    }
    Ok(Some(alternatives))
}
