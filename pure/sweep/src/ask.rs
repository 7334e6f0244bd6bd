// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Applies methods to systems.

use taut_analysis::Overflow;
use taut_analysis::multi::Guard;
use taut_model::Mechanism;
use taut_planner::select::{Judged, Problem, best, exhaustive, paper};
use taut_time::Duration;

use crate::method::{Method, MethodResult, guard};
use crate::system::System;

impl Method {
    /// Applies the method to a system and its problem, whose objects have these mechanisms on offer.
    ///
    /// # Errors
    /// [`Overflow`] if times or bytes do not fit in 64 bits.
    pub fn ask(
        &self,
        system: &System,
        problem: &mut Problem,
        offered: &[Mechanism],
    ) -> Result<MethodResult, Overflow> {
        let all = |problem: &mut Problem, mechanism| {
            let Some(place) = offered.iter().position(|offered| *offered == mechanism) else {
                return Ok(MethodResult::default());
            };
            let selection = vec![Some(place); problem.objects().len()];
            Ok(MethodResult::of(problem.judge(&selection)?))
        };
        match *self {
            Self::Only(mechanism) => all(problem, mechanism),
            Self::Locks => {
                let first = |by| offered.iter().position(|offered| guard(*offered) == Some(by));
                let locks = first(Guard::Spinning).zip(first(Guard::Suspending));
                locks.map_or(Ok(MethodResult::default()), |locks| split(system, problem, locks))
            }
            Self::Heuristic(depth) => {
                Ok(MethodResult::of(paper::heuristic(problem, depth)?.map(|(_, judged)| judged)))
            }
            Self::Backtracking(depth) => {
                Ok(MethodResult::of(paper::backtracking(problem, depth)?.map(|(_, judged)| judged)))
            }
            Self::Best(judgements) => {
                let found = best::search(problem, judgements, &mut |_| true)?;
                let proven = Some(found.is_proven());
                let at_least = Some(found.at_least).filter(|least| *least < u64::MAX);
                Ok(MethodResult {
                    proven,
                    at_least,
                    ..MethodResult::of(found.best.map(|(_, judged)| judged))
                })
            }
            Self::Exhaustive(most) if problem.objects().len() > most => Ok(MethodResult::default()),
            Self::Exhaustive(_) => {
                let answer = MethodResult::of(exhaustive::search(problem)?.map(|(_, judged)| judged));
                Ok(MethodResult { proven: Some(true), at_least: answer.bytes, ..answer })
            }
        }
    }
}

impl MethodResult {
    fn of(judged: Option<Judged>) -> Self {
        let bytes = judged.map(|judged| judged.bytes);
        Self { schedulable: Some(bytes.is_some()), bytes, proven: None, at_least: None }
    }
}

/// The objects with the longest requests suspend, the others spin: the division that needs the least memory; among
/// equals, the one with the fewest suspending objects.
fn split(
    system: &System,
    problem: &mut Problem,
    (spin, suspend): (usize, usize),
) -> Result<MethodResult, Overflow> {
    let mut lengths = vec![Duration::ZERO; problem.objects().len()];
    for request in (0..system.set.tasks().len()).flat_map(|task| system.set.requests(task)) {
        lengths[request.resource] = lengths[request.resource].max(request.length);
    }
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(lengths[at]));
    let mut selection = vec![Some(spin); order.len()];
    let mut found: Option<Judged> = problem.judge(&selection)?;
    for at in order {
        selection[at] = Some(suspend);
        let judged = problem.judge(&selection)?;
        let better = |judged: &Judged| found.as_ref().is_none_or(|found| judged.bytes < found.bytes);
        if judged.as_ref().is_some_and(better) {
            found = judged;
        }
    }
    Ok(MethodResult::of(found))
}
