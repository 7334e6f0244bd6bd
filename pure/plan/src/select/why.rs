// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Why an object got what it got: each of its offers, tried alone with all others as they were selected.

use taut_analysis::Overflow;
use taut_time::Duration;

use super::judge::{Miss, Outcome};
use super::problem::{Judged, Problem};

/// An offer of an object beside the one that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alternative {
    /// Its position in the object's offers.
    pub offer: usize,
    /// Bytes of the object with it: under its own response times if it fits alone, else under those of the selection,
    /// than which it needs no less. `None`: not to be had under these.
    pub bytes: Option<u64>,
    /// What comes of it.
    pub alone: Alone,
}

/// What comes of changing one object alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Alone {
    /// Nothing: it is what was selected.
    Selected(Judged),
    /// All is kept, at this price. Where the object itself is cheaper and the whole is not, others pay.
    Kept(Judged),
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
    let Outcome::Kept(selected) = problem.outcome(selection)? else { return Ok(None) };
    let mut changed = selection.to_vec();
    let mut alternatives = Vec::new();
    for offer in 0..problem.objects()[object].offers.len() {
        changed[object] = offer;
        let alone = match problem.outcome(&changed)? {
            Outcome::Kept(judged) if offer == selection[object] => Alone::Selected(judged),
            Outcome::Kept(judged) => Alone::Kept(judged),
            Outcome::Missed(miss) => Alone::Missed(miss),
        };
        let responses: &[Duration] = match &alone {
            Alone::Selected(judged) | Alone::Kept(judged) => &judged.responses,
            Alone::Missed(_) => &selected.responses,
        };
        let bytes = problem.bytes(&problem.objects()[object].offers[offer], responses)?;
        alternatives.push(Alternative { offer, bytes, alone });
    }
    Ok(Some(alternatives))
}
