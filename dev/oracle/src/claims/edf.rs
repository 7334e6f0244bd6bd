// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Claims under EDF.

use taut_analysis::multi::edf_msrp;
use taut_analysis::uni::edf::response::{self, EdfResponse, Locks};
use taut_analysis::uni::edf::{demand, dfp, srp};
use taut_analysis::{Overflow, Verdict, Why};
use taut_model::TaskSet;
use taut_sim::{GlobalRule, LocalRule, Rules};
use taut_time::Duration;

use super::{Claim, Protocol, judged};
use crate::draw::Shares;

type CoreTest = fn(&TaskSet, usize) -> Result<Verdict<demand::Demand>, Overflow>;

/// The protocols under EDF, with their claims.
pub(super) fn protocols(
    set: &TaskSet,
    shares: Shares,
    canary: Option<&str>,
) -> Result<Vec<Protocol>, String> {
    let rules = |core| Rules::all(set, core, GlobalRule::Msrp);
    let verdict = |name, core| verdict(set, canary, name, core);
    let responses = |locks| responses(set, canary, locks);
    let (by_deadline, by_floor) = (Locks::Srp(srp::Levels::Deadline), Locks::Dfp(dfp::Floors::Shared));
    let floor = LocalRule::DfpByClock { jitter: None };
    Ok(match shares {
        Shares::Nothing => vec![Protocol {
            rules: rules(LocalRule::Srp),
            claims: vec![verdict("uni::edf::demand", demand::core)?, responses(by_deadline)?],
        }],
        Shares::Local => vec![
            Protocol {
                rules: rules(LocalRule::Srp),
                claims: vec![verdict("uni::edf::srp", srp::core)?, responses(by_deadline)?],
            },
            Protocol {
                rules: rules(floor),
                claims: vec![verdict("uni::edf::dfp", dfp::core)?, responses(by_floor)?],
            },
        ],
        Shares::Global => {
            vec![Protocol { rules: rules(LocalRule::Srp), claims: global(set, canary)? }]
        }
    })
}

/// The verdict of a test of each core. A weakened analysis ignores blocking: it tests the demand alone.
fn verdict(set: &TaskSet, canary: Option<&str>, name: &'static str, core: CoreTest) -> Result<Claim, String> {
    let core = if canary == Some(name) { demand::core } else { core };
    let mut accepted = true;
    for at in 0..set.cores().len() {
        accepted &= judged(core(set, at))?.holds();
    }
    Ok(Claim { name, bounds: Vec::new(), accepted })
}

fn responses(set: &TaskSet, canary: Option<&str>, locks: Locks) -> Result<Claim, String> {
    let name = "uni::edf::response";
    let mut bounds = vec![None; set.tasks().len()];
    for core in 0..set.cores().len() {
        let found =
            if canary == Some(name) { unblocked(set, core) } else { response::core(set, core, locks) };
        let found = all(judged(found)?);
        set.on_core(core).zip(found).for_each(|(at, response)| bounds[at] = Some(response));
    }
    Ok(of_bounds(set, name, bounds))
}

/// The claims about sets with global resources.
fn global(set: &TaskSet, canary: Option<&str>) -> Result<Vec<Claim>, String> {
    let name = "multi::edf_msrp";
    if canary == Some(name) {
        return Ok(vec![verdict(set, canary, name, demand::core)?]);
    }
    let accepted = judged(edf_msrp::cores(set))?.holds();
    let found = all(judged(edf_msrp::response_times(set))?);
    let mut bounds: Vec<_> = found.into_iter().map(Some).collect();
    bounds.resize(set.tasks().len(), None);
    Ok(vec![
        Claim { name, bounds: Vec::new(), accepted },
        of_bounds(set, "multi::edf_msrp::response_times", bounds),
    ])
}

/// The bounds of a core's tasks, within the deadlines or not; empty if the analysis gives none.
fn all(found: Verdict<Vec<EdfResponse>>) -> Vec<Duration> {
    let found = match found {
        Verdict::Schedulable(found)
        | Verdict::Unschedulable(found)
        | Verdict::NotShown(Why::Passes(found)) => found,
        _ => Vec::new(),
    };
    found.into_iter().map(|response| response.from_arrival).collect()
}

fn of_bounds(set: &TaskSet, name: &'static str, bounds: Vec<Option<Duration>>) -> Claim {
    let fits = |(at, bound): (usize, &Option<Duration>)| bound.is_some_and(|r| r <= set.tasks()[at].deadline);
    Claim { name, accepted: bounds.iter().enumerate().all(fits), bounds }
}

/// The responses of a core as if nothing blocked.
fn unblocked(set: &TaskSet, core: usize) -> Result<Verdict<Vec<EdfResponse>>, Overflow> {
    let tasks: Vec<_> = set.on_core(core).map(|at| demand::EdfTask::of(set, at)).collect();
    let mut found = Vec::new();
    for which in 0..tasks.len() {
        match response::response(&tasks, which, &[], false)? {
            Verdict::Schedulable(one) | Verdict::NotShown(Why::Passes(one)) => found.push(one),
            _ => return Ok(Verdict::NotShown(Why::Rate)),
        }
    }
    Ok(Verdict::Schedulable(found))
}
