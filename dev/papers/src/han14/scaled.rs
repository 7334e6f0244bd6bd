// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The memory of one system at one load: with each mechanism alone, by the published heuristic, and the least.

use std::fs;
use std::time::Instant;

use taut_planner::select::{Equations, Problem, best, paper};
use taut_sweep::System;

use super::generators::{self, DBP, MPCP, MSRP, TCCP};

/// The memory that a system needs, in bytes; `None` if a deadline is missed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Needed {
    /// One value of each object.
    pub(crate) data: u64,
    /// With all objects under MSRP, MPCP, WF-DBP and WF-TCCP.
    pub(crate) alone: [Option<u64>; 4],
    /// With the cheaper of the two wait-free mechanisms for each object.
    pub(crate) wait_free: Option<u64>,
    pub(crate) heuristic: Option<u64>,
    pub(crate) ours: Option<u64>,
    /// No selection needs less; the greatest number if there is no selection.
    pub(crate) at_least: u64,
    /// Processor time, as for [`Needed::ours_ms`].
    pub(crate) heuristic_ms: f64,
    pub(crate) ours_ms: f64,
}

fn overflow(_: taut_analysis::Overflow) -> String {
    "times do not fit in 64 bits".into()
}

/// The memory with all objects under one mechanism.
fn alone(problem: &mut Problem, offer: usize) -> Result<Option<u64>, String> {
    let selection = vec![Some(offer); problem.objects().len()];
    Ok(problem.judge(&selection).map_err(overflow)?.map(|judged| judged.bytes))
}

/// The memory with the cheaper wait-free mechanism for each object, chosen by the response times under WF-DBP.
fn cheaper(problem: &mut Problem) -> Result<Option<u64>, String> {
    let Some(judged) = problem.judge(&vec![Some(DBP); problem.objects().len()]).map_err(overflow)? else {
        return Ok(None);
    };
    let mut selection = Vec::new();
    for object in problem.objects() {
        let bytes = |offer: usize| problem.bytes(&object.offers[offer], &judged.responses).map_err(overflow);
        selection.push(Some(if bytes(DBP)? <= bytes(TCCP)? { DBP } else { TCCP }));
    }
    Ok(problem.judge(&selection).map_err(overflow)?.map(|judged| judged.bytes))
}

/// Finds all fields of [`Needed`].
///
/// # Errors
/// The analysis does not apply to the system, or times do not fit in 64 bits.
pub(crate) fn needed(
    system: &System,
    equations: Equations,
    depth: usize,
    judgements: u64,
) -> Result<Needed, String> {
    let mut problem = generators::problem(system, equations)?;
    let mut each = [None; 4];
    for offer in [MSRP, MPCP, DBP, TCCP] {
        each[offer] = alone(&mut problem, offer)?;
    }
    let wait_free = cheaper(&mut problem)?;
    let watch = Watch::start();
    let ours = best::search(&mut problem, judgements, &mut |_| true).map_err(overflow)?;
    let ours_ms = watch.ms();
    let watch = Watch::start();
    let heuristic = paper::heuristic(&mut problem, depth).map_err(overflow)?;
    let heuristic_ms = watch.ms();
    Ok(Needed {
        data: system.objects.iter().map(|object| object.bytes).sum(),
        alone: each,
        wait_free,
        heuristic: heuristic.map(|(_, judged)| judged.bytes),
        at_least: ours.at_least,
        ours: ours.best.map(|(_, judged)| judged.bytes),
        heuristic_ms,
        ours_ms,
    })
}

/// The processor time of this thread since the start; the elapsed time if the system does not report it.
struct Watch(Option<u64>, Instant);

impl Watch {
    fn start() -> Self {
        Self(executed_ns(), Instant::now())
    }

    fn ms(&self) -> f64 {
        let executed = self.0.zip(executed_ns()).map(|(from, to)| to.saturating_sub(from) as f64 / 1e6);
        executed.unwrap_or_else(|| self.1.elapsed().as_secs_f64() * 1e3)
    }
}

fn executed_ns() -> Option<u64> {
    fs::read_to_string("/proc/thread-self/schedstat").ok()?.split_whitespace().next()?.parse().ok()
}

impl Needed {
    /// Whether our selection is known to be the least, or it is known that there is none.
    pub(crate) fn is_proven(&self) -> bool {
        self.at_least == self.ours.unwrap_or(u64::MAX)
    }

    /// The header of the table.
    pub(crate) fn head() -> String {
        "case,equations,load_permille,data,msrp,mpcp,dbp,tccp,wait_free,heuristic_5,ours,at_least,heuristic_5_ms,ours_ms"
            .into()
    }

    /// A line of the table.
    pub(crate) fn line(&self, (case, equations, load): &(String, String, u64)) -> String {
        let number = |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
        let [msrp, mpcp, dbp, tccp] = self.alone.map(number);
        let [wait_free, heuristic, ours] = [self.wait_free, self.heuristic, self.ours].map(number);
        let at_least = number(Some(self.at_least).filter(|least| *least < u64::MAX));
        format!(
            "{case},{equations},{load},{},{msrp},{mpcp},{dbp},{tccp},{wait_free},{heuristic},{ours},{at_least},{:.1},{:.1}",
            self.data, self.heuristic_ms, self.ours_ms
        )
    }

    /// Parses a line; `None` if it is incomplete.
    pub(crate) fn read(line: &str) -> Option<((String, String, u64), Self)> {
        let cells: Vec<&str> = line.split(',').collect();
        let [
            case,
            equations,
            load,
            data,
            msrp,
            mpcp,
            dbp,
            tccp,
            wait_free,
            heuristic,
            ours,
            at_least,
            h_ms,
            o_ms,
        ] = cells[..]
        else {
            return None;
        };
        let number = |cell: &str| cell.parse().ok();
        let needed = Self {
            data: number(data)?,
            alone: [msrp, mpcp, dbp, tccp].map(number),
            wait_free: number(wait_free),
            heuristic: number(heuristic),
            ours: number(ours),
            at_least: number(at_least).unwrap_or(u64::MAX),
            heuristic_ms: h_ms.parse().ok()?,
            ours_ms: o_ms.parse().ok()?,
        };
        Some(((case.into(), equations.into(), load.parse().ok()?), needed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surrogate::{PRINTED, fuel_injection, search::LOADS};

    /// The surrogate has the sums that the paper prints for the system behind it.
    #[test]
    fn fuel_injection_has_the_printed_sums() {
        let case = fuel_injection();
        let found = LOADS.map(|load| {
            let system = case.system(load).expect("a set");
            let mut problem = generators::problem(&system, Equations::Sound).expect("a problem");
            let sums = [DBP, TCCP].map(|offer| alone(&mut problem, offer).expect("small"));
            (sums, cheaper(&mut problem).expect("small"))
        });
        assert_eq!(case.objects.iter().map(|object| object.bytes).sum::<u64>(), PRINTED.bytes);
        assert_eq!(found[0].0, [Some(PRINTED.dbp), Some(PRINTED.tccp)]);
        assert_eq!(found[1].1, Some(PRINTED.wait_free));
    }

    #[test]
    fn lines_are_read_back() {
        let key = ("a".to_owned(), "sound".to_owned(), 500);
        let needed = Needed {
            data: 1,
            alone: [None, Some(2), Some(3), None],
            wait_free: Some(4),
            heuristic: None,
            ours: Some(6),
            at_least: 5,
            heuristic_ms: 1.5,
            ours_ms: 2.0,
        };
        assert_eq!(Needed::read(&needed.line(&key)), Some((key, needed.clone())));
        assert!(!needed.is_proven() && Needed::read("a,sound,5").is_none());
    }
}
