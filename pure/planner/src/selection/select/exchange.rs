// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Exchanges: replaces a selection by a better one that differs in an object or two, as long as there is one.

use taut_analysis::Overflow;
use taut_analysis::multi::Guard;

use super::judge::offers;
use super::problem::{Judged, Problem, Selection};
use taut_model::Aim;

/// Exchanges until none helps: an object gets another offer; if that is cheaper and does not fit, another object
/// that has a guard gets its cheapest offer without one.
pub(super) fn exchange(
    problem: &mut Problem,
    possible: &[u64],
    aim: Aim,
    (selection, judged): &mut (Selection, Judged),
) -> Result<(), Overflow> {
    let free = unguarded(problem, possible, judged)?;
    let mut bits: Vec<u64> = selection.iter().map(|offer| 1 << offer).collect();
    let mut again = true;
    while again {
        again = false;
        for at in 0..bits.len() {
            for offer in offers(possible[at]) {
                if selection[at] == offer {
                    continue;
                }
                let bytes = |problem: &Problem, offer: usize| {
                    let offer = &problem.objects[at].offers[offer];
                    problem.bytes(offer, &judged.responses).map(|bytes| bytes.unwrap_or(u64::MAX))
                };
                let (now, then) = (bytes(problem, selection[at])?, bytes(problem, offer)?);
                // A dearer offer may remove what is charged once.
                if aim == Aim::Memory && then > now && problem.charges.is_empty() {
                    continue;
                }
                bits[at] = 1 << offer;
                let mut found = better(problem, &bits, aim, judged)?;
                let mut other = 0;
                while found.is_none() && other < bits.len() && then < now && aim == Aim::Memory {
                    if let Some(instead) = free[other].filter(|free| other != at && *free != selection[other])
                    {
                        bits[other] = 1 << instead;
                        found = better(problem, &bits, aim, judged)?;
                        match found {
                            Some(_) => selection[other] = instead,
                            None => bits[other] = 1 << selection[other],
                        }
                    }
                    other += 1;
                }
                match found {
                    Some(found) => {
                        (*judged, again) = (found, true);
                        selection[at] = offer;
                    }
                    None => bits[at] = 1 << selection[at],
                }
            }
        }
    }
    Ok(())
}

/// By object, its cheapest offer without a guard.
fn unguarded(problem: &Problem, possible: &[u64], judged: &Judged) -> Result<Vec<Option<usize>>, Overflow> {
    let mut free = Vec::with_capacity(possible.len());
    for (object, &bits) in problem.objects.iter().zip(possible) {
        let mut cheapest: Option<(u64, usize)> = None;
        for at in offers(bits).filter(|at| object.offers[*at].guard == Guard::Absent) {
            let bytes = problem.bytes(&object.offers[at], &judged.responses)?.unwrap_or(u64::MAX);
            if cheapest.is_none_or(|cheapest| bytes < cheapest.0) {
                cheapest = Some((bytes, at));
            }
        }
        free.push(cheapest.map(|(_, at)| at));
    }
    Ok(free)
}

/// The measures of these offers, if everything is kept and they are better.
fn better(problem: &mut Problem, bits: &[u64], aim: Aim, than: &Judged) -> Result<Option<Judged>, Overflow> {
    if !problem.may_fit(bits, None)? || !problem.fits(bits, None)? {
        return Ok(None);
    }
    Ok(problem.weigh(bits)?.filter(|found| found.values(aim) < than.values(aim)))
}
