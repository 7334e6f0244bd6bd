// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Cores under EDF: the processor demand shows whether deadlines are kept, and response times how soon jobs are
//! done.
//!
//! Each is a bound by itself. If the response times take too long to find, or pass a deadline that the demand shows
//! to be kept, R is D.

use taut_analysis::multi::{Contribution, edf_msrp};
use taut_analysis::overheads::Charges;
use taut_analysis::overheads::probe::Slowdown;
use taut_analysis::uni::edf::demand::{self, Demand};
use taut_analysis::uni::edf::dfp::{self, Floors};
use taut_analysis::uni::edf::response::{self, EdfResponse, Locks};
use taut_analysis::uni::edf::srp::{self, Levels};
use taut_analysis::{Overflow, Verdict, Why};
use taut_model::{Model, TaskSet};
use taut_time::Duration;

use super::charge::charged;
use super::choose::Answer;
use crate::overheads::watched;
use crate::placement::{Placement, Placements};

/// The response of a job under EDF.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due {
    pub(crate) response: EdfResponse,
    /// How long it spins; `spins_for` says for what.
    pub(crate) spin: Duration,
    pub(crate) spins_for: Contribution,
}

/// What guards resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guards {
    /// There are none.
    Nothing,
    /// Ceilings, all of one core.
    Ceilings,
    /// Deadline floors, all of one core.
    Floors,
    /// Ceilings, and spinning where several cores share.
    Spinning,
    /// Deadline floors where one core shares, spinning where several do.
    Mixed,
}

impl Guards {
    /// The test by which deadlines are shown to be kept.
    pub(crate) fn test(self) -> &'static str {
        match self {
            Self::Nothing => "processor demand, EDF (Baruah et al. 1990, Zhang & Burns 2009)",
            Self::Ceilings => {
                "processor demand, EDF, the stack resource policy (Baruah 2006, Zhang & Burns 2009)"
            }
            Self::Floors => "processor demand, EDF, deadline floors (Burns et al. 2015, Zhang & Burns 2009)",
            Self::Spinning | Self::Mixed => "processor demand, EDF, MSRP (Gai et al. 2001, Baruah 2006)",
        }
    }
}

/// Why a verdict has no bound, in words.
fn refused<B>(verdict: Verdict<B>) -> String {
    match verdict {
        Verdict::NotShown(Why::Steps(n)) => format!("given up after {n} steps"),
        Verdict::NotApplicable(assumption) => assumption.to_string(),
        _ => "no bound".into(),
    }
}

/// Analyses all cores.
pub(crate) fn analyse(model: &Model, placements: &Placements<'_>, global: &[bool], guards: Guards) -> Answer {
    if guards == Guards::Mixed {
        return Answer::Nothing("deadline floors beside resources of several cores are not analysed".into());
    }
    let found = charged(model, placements, global, &vec![false; global.len()], None)
        .and_then(|charged| Ok((demands(&charged.set, guards)?, charged)));
    match found {
        Err(overflow) => Answer::Nothing(overflow.to_string()),
        Ok((Some(answer), _)) => answer,
        Ok((None, charged)) => {
            let responses = responses(&charged.set, guards).unwrap_or_else(|e| Err(e.to_string()));
            Answer::Kept(responses, charged)
        }
    }
}

/// What is wrong with the deadlines of a set; none if all are kept.
fn demands(set: &TaskSet, guards: Guards) -> Result<Option<Answer>, Overflow> {
    if guards == Guards::Spinning {
        return Ok(match edf_msrp::cores(set)? {
            Verdict::Schedulable(_) => None,
            Verdict::Unschedulable(found) | Verdict::NotShown(Why::Passes(found)) => {
                let core = found.len().saturating_sub(1);
                Some(match found.last() {
                    Some(demand) => Answer::Short(core, *demand),
                    None => Answer::Nothing("no bound".into()),
                })
            }
            other => Some(Answer::Nothing(refused(other))),
        });
    }
    for core in 0..set.cores().len() {
        let verdict = match guards {
            Guards::Floors => dfp::core(set, core)?,
            _ => srp::core(set, core)?,
        };
        match verdict {
            Verdict::Schedulable(_) => {}
            Verdict::Unschedulable(demand) | Verdict::NotShown(Why::Passes(demand)) => {
                return Ok(Some(Answer::Short(core, demand)));
            }
            other => return Ok(Some(Answer::Nothing(refused(other)))),
        }
    }
    Ok(None)
}

/// By task of a set, the response of a job; or why it is not known.
fn responses(set: &TaskSet, guards: Guards) -> Result<Result<Vec<Due>, String>, Overflow> {
    if guards == Guards::Spinning {
        let spinning = edf_msrp::spinning(set)?;
        return Ok(match edf_msrp::response_times(set)? {
            Verdict::Schedulable(found) | Verdict::NotShown(Why::Passes(found)) => {
                let due = |(response, (spin, spins_for))| Due { response, spin, spins_for };
                Ok(found.into_iter().zip(spinning).map(due).collect())
            }
            other => Err(refused(other)),
        });
    }
    let locks = match guards {
        Guards::Floors => Locks::Dfp(Floors::Shared),
        _ => Locks::Srp(Levels::Deadline),
    };
    let mut by_task: Vec<Option<Due>> = vec![None; set.tasks().len()];
    for core in 0..set.cores().len() {
        match response::core(set, core, locks)? {
            Verdict::Schedulable(found)
            | Verdict::Unschedulable(found)
            | Verdict::NotShown(Why::Passes(found)) => {
                for (at, response) in set.on_core(core).zip(found) {
                    let due = Due { response, spin: Duration::ZERO, spins_for: Contribution::default() };
                    by_task[at] = Some(due);
                }
            }
            other => return Ok(Err(refused(other))),
        }
    }
    Ok(Ok(by_task.into_iter().flatten().collect()))
}

/// Whether tasks that share nothing would keep their deadlines on one core: for choosing cores.
pub(crate) fn fits<'s>(
    model: &'s Model,
    placements: impl Iterator<Item = &'s Placement<'s>> + Clone,
) -> Result<bool, Overflow> {
    let charges = Charges::of(&model.platform().overheads);
    let devices = watched::gaps(&watched::on_core(model, placements.clone()));
    let slowdown = Slowdown::of(&charges, &[devices])?;
    let task = |placement: &Placement<'_>| {
        Ok(demand::EdfTask {
            cost: slowdown.slower(charges.job(placement.cost)?)?,
            period: placement.task.arrival.period(),
            deadline: placement.task.deadline,
            jitter: slowdown.jitter(&charges, placement.task.delay())?,
        })
    };
    let tasks = placements.map(task).collect::<Result<Vec<_>, Overflow>>()?;
    Ok(demand::demand(&tasks, false).is_ok_and(|verdict: Verdict<Demand>| verdict.holds()))
}
