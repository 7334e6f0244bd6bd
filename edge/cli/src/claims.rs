// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Claims that `taut refute` tests.

use clap::ValueEnum;
use taut_analysis::multi::unsound::mpcp_lnr09_paper;
use taut_analysis::multi::{
    Bounds, Status, fmlp_plus, mpcp_lnr09_sound, msrp_gai01, msrp_holistic, msrp_joint,
};
use taut_analysis::{Overflow, Verdict, Why};
use taut_model::TaskSet;
use taut_plan::ClassPlan;
use taut_planner::Planned;
use taut_sim::planned::rules;
use taut_sim::{GlobalRule, Rules};
use taut_time::Duration;

use crate::outcome::Failure;

/// Which claims a search tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Analysis {
    /// The plan's own bounds, overheads included.
    Plan,
    /// Every deadline is kept.
    Deadlines,
    /// MSRP, each request by itself (Gai et al. 2001).
    MsrpGai01,
    /// MSRP, a job's requests counted together (Brandenburg 2011).
    MsrpHolistic,
    /// MSRP, a core's requests counted together (Wieder & Brandenburg 2013).
    MsrpJoint,
    /// MPCP with the jitter that suspension needs.
    MpcpLnr09Sound,
    /// MPCP as published: unsound.
    MpcpLnr09Paper,
    /// FMLP+ (Brandenburg 2011).
    FmlpPlus,
}

impl Analysis {
    /// Its name on the command line.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// The claim for each task, `None` if the analysis makes none, and the rules under which it is made.
pub(crate) fn claims(
    analysis: Analysis,
    planned: &Planned,
    set: &TaskSet,
) -> Result<(Vec<Option<Duration>>, Rules), Failure> {
    let plan = &planned.plan;
    let bounds = |found: Result<Verdict<Bounds>, Overflow>| {
        let found = found.map_err(|overflow| Failure::Usage(overflow.to_string()))?;
        let all = match found {
            Verdict::Schedulable(bounds)
            | Verdict::NotShown(Why::Passes(bounds))
            | Verdict::Unschedulable(bounds) => bounds.tasks,
            Verdict::NotApplicable(assumption) => {
                return Err(Failure::Usage(format!("{} does not apply: {assumption}", analysis.name())));
            }
            Verdict::NotShown(_) => Vec::new(),
        };
        Ok(all.iter().map(|task| (task.status == Status::Proven).then_some(task.from_arrival)).collect())
    };
    let (found, global) = match analysis {
        Analysis::Plan => {
            let response = |task: &taut_model::SetTask| {
                let at = plan.task(&task.name)?;
                match &plan.tasks[at].class {
                    ClassPlan::RealTime { response, .. } => *response,
                    ClassPlan::BestEffort {} => None,
                }
            };
            return Ok((set.tasks().iter().map(response).collect(), rules(&planned.plan, set)));
        }
        Analysis::Deadlines => {
            let deadlines = set.tasks().iter().map(|task| Some(task.deadline)).collect();
            return Ok((deadlines, rules(&planned.plan, set)));
        }
        Analysis::MsrpGai01 => (bounds(msrp_gai01::response_times(set))?, GlobalRule::Msrp),
        Analysis::MsrpHolistic => (bounds(msrp_holistic::response_times(set))?, GlobalRule::Msrp),
        Analysis::MsrpJoint => (bounds(msrp_joint::response_times(set))?, GlobalRule::Msrp),
        Analysis::MpcpLnr09Sound => (bounds(mpcp_lnr09_sound::response_times(set))?, GlobalRule::Mpcp),
        Analysis::FmlpPlus => (bounds(fmlp_plus::response_times(set))?, GlobalRule::FmlpLong),
        Analysis::MpcpLnr09Paper => {
            let claims =
                mpcp_lnr09_paper::claims(set).map_err(|overflow| Failure::Usage(overflow.to_string()))?;
            let claims = match claims {
                mpcp_lnr09_paper::Claims::Unsound(claims) => {
                    claims.iter().map(|claim| claim.claimed_to_fit.then_some(claim.claimed)).collect()
                }
                mpcp_lnr09_paper::Claims::NotApplicable(assumption) => {
                    return Err(Failure::Usage(format!("{} does not apply: {assumption}", analysis.name())));
                }
                mpcp_lnr09_paper::Claims::Steps(_) => Vec::new(),
            };
            (claims, GlobalRule::Mpcp)
        }
    };
    Ok((found, Rules::of(set, global)))
}
