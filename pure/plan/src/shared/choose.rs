// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which protocol, and what is proven with it.

use taut_analysis::multi::{Bounds, edf_msrp, fmlp_plus, mpcp_lnr09_sound, msrp_gai01, msrp_holistic};
use taut_analysis::uni::edf::demand::Demand;
use taut_analysis::uni::edf::srp;
use taut_analysis::{Overflow, Verdict, Why};
use taut_model::{Fault, Locking, Model, Place, Scheduler, TaskSet, codes};
use taut_time::Duration;

use super::charge::{Charged, charged};
use crate::seats::{Seat, Seats};

pub(super) enum Answer {
    /// By seat, under fixed priority; whether all keep their deadlines.
    Bounds(Bounds, Charged, bool),
    /// All keep their deadlines, under EDF.
    Kept,
    /// On this core, a window is too short, under EDF.
    Short(usize, Demand),
    /// Neither, and why.
    Nothing(String),
}

/// A protocol for resources of several cores, with its test.
pub(super) struct Candidate {
    pub(super) locking: Locking,
    test: &'static str,
    suspends: bool,
    analysis: fn(&TaskSet) -> Result<Verdict<Bounds>, Overflow>,
}

const SPINNING: Candidate = Candidate {
    locking: Locking::Msrp,
    test: "response-time analysis, fixed priority, MSRP, requests counted together (Brandenburg 2011)",
    suspends: false,
    analysis: msrp_holistic::response_times,
};

pub(super) const CANDIDATES: [Candidate; 3] = [
    SPINNING,
    Candidate {
        locking: Locking::Mpcp,
        test: "response-time analysis, fixed priority, MPCP (Lakshmanan et al. 2009, with the jitter that it lacks)",
        suspends: true,
        analysis: mpcp_lnr09_sound::response_times,
    },
    Candidate {
        locking: Locking::FmlpPlus,
        test: "response-time analysis, fixed priority, FMLP+ (Brandenburg 2011)",
        suspends: true,
        analysis: fmlp_plus::response_times,
    },
];

/// If nothing is shared between cores.
pub(super) const LOCAL: Candidate = Candidate {
    locking: Locking::Srp,
    test: "response-time analysis, fixed priority, immediate ceilings (Baker 1991; Audsley et al. 1993)",
    suspends: false,
    analysis: msrp_gai01::response_times,
};

pub(super) const DEMAND: &str = "processor demand, EDF (Baruah et al. 1990, Zhang & Burns 2009)";
pub(super) const DEMAND_SHARED: &str =
    "processor demand, EDF, the stack resource policy (Baruah 2006, Zhang & Burns 2009)";
pub(super) const DEMAND_SPINNING: &str = "processor demand, EDF, MSRP (Gai et al. 2001, Baruah 2006)";

/// Whether tasks of several cores use a resource.
pub(super) fn is_global(seats: &Seats<'_>, resource: usize) -> bool {
    let mut cores = users(seats, resource).map(|seat| seat.core);
    let first = cores.next();
    cores.any(|core| Some(core) != first)
}

fn users<'s, 'm>(seats: &'s Seats<'m>, resource: usize) -> impl Iterator<Item = &'s Seat<'m>> {
    let uses = move |seat: &&Seat<'_>| seat.task.sections.iter().any(|s| s.resource.index() == resource);
    seats.seats.iter().filter(uses)
}

/// Reports protocols that do not fit; the one that is named for resources of several cores.
pub(super) fn fit(
    model: &Model,
    seats: &Seats<'_>,
    global: &[bool],
    faults: &mut Vec<Fault>,
) -> Option<Locking> {
    let edf = model.platform().scheduler == Scheduler::Edf;
    let mut first: Option<(usize, Locking)> = None;
    for (at, resource) in model.resources().iter().enumerate() {
        let Some(protocol) = resource.protocol else { continue };
        let name = protocol.paper_name();
        let place = |at: usize| Place::value(format!("resources.{}.protocol", model.resources()[at].name));
        let mut refuse = |text: String, help: &str| {
            let message = format!("{name} does not fit resource `{}`", resource.name);
            let mut fault = Fault::error(codes::LOCKING_MISFIT, message, place(at), text).help(help);
            for seat in users(seats, at) {
                let cpu = model.platform().cores[seat.core];
                let core = Place::key(format!("tasks.{}", seat.name));
                fault = fault.also(core, format!("uses it on core {cpu}"));
            }
            faults.push(fault);
        };
        let local = matches!(protocol, Locking::Srp | Locking::Dfp);
        if local && global[at] {
            refuse("for tasks of one core".into(), "use \"auto\", or \"msrp\"");
        } else if !local && !global[at] {
            refuse("for tasks of several cores".into(), "use \"auto\", or \"srp\"");
        } else if protocol == Locking::Dfp && !edf {
            refuse("for cores under EDF".into(), "use \"auto\", or \"srp\"");
        } else if matches!(protocol, Locking::Mpcp | Locking::FmlpPlus) && edf {
            refuse("for cores of fixed priority".into(), "use \"auto\", or \"msrp\"");
        } else if !local {
            match first {
                Some((other, named)) if named != protocol => {
                    let message = "two protocols for resources of several cores";
                    faults.push(
                        Fault::error(codes::LOCKING_MISFIT, message, place(at), name)
                            .also(place(other), named.paper_name())
                            .note("no analysis here bounds how holders of the one delay holders of the other")
                            .help("use the same for both, or \"auto\""),
                    );
                }
                _ => first = Some((at, protocol)),
            }
        }
    }
    first.map(|(_, named)| named)
}

/// The first candidate that keeps all deadlines, else the first.
pub(super) fn by_priority(
    model: &Model,
    seats: &Seats<'_>,
    global: &[bool],
    candidates: &[&Candidate],
) -> (Locking, &'static str, Answer) {
    let mut first: Option<(Locking, &'static str, Answer)> = None;
    for candidate in candidates {
        let answer = charged(model, seats, global, candidate.suspends)
            .and_then(|charged| (candidate.analysis)(&charged.set).map(|verdict| (charged, verdict)));
        let answer = match answer {
            Err(overflow) => Answer::Nothing(overflow.to_string()),
            // A stretch that is not preempted delays holders, which these do not count.
            Ok(_)
                if candidate.suspends
                    && seats.seats.iter().any(|seat| !seat.task.non_preemptive.is_zero()) =>
            {
                Answer::Nothing("a non-preemptive stretch would delay those who hold a resource".into())
            }
            Ok((charged, Verdict::Schedulable(bounds))) => Answer::Bounds(bounds, charged, true),
            Ok((charged, Verdict::NotShown(Why::Passes(bounds)) | Verdict::Unschedulable(bounds))) => {
                Answer::Bounds(bounds, charged, false)
            }
            Ok((_, Verdict::NotShown(Why::Rate))) => Answer::Nothing("no bound".into()),
            Ok((_, Verdict::NotShown(Why::Steps(n)))) => Answer::Nothing(format!("given up after {n} steps")),
            Ok((_, Verdict::NotApplicable(assumption))) => Answer::Nothing(assumption.to_string()),
        };
        let keeps = matches!(answer, Answer::Bounds(_, _, true));
        let found = (candidate.locking, candidate.test, answer);
        if keeps {
            return found;
        }
        first.get_or_insert(found);
    }
    first.unwrap_or((Locking::Msrp, SPINNING.test, Answer::Nothing("the protocols do not fit".into())))
}

pub(super) fn under_edf(model: &Model, seats: &Seats<'_>, global: &[bool]) -> Answer {
    let charged = match charged(model, seats, global, false) {
        Ok(charged) => charged,
        Err(overflow) => return Answer::Nothing(overflow.to_string()),
    };
    let told = |core: usize, verdict: Verdict<Demand>| match verdict {
        Verdict::Schedulable(_) => None,
        Verdict::Unschedulable(demand) | Verdict::NotShown(Why::Passes(demand)) => {
            Some(Answer::Short(core, demand))
        }
        Verdict::NotShown(Why::Rate) => Some(Answer::Nothing("no bound".into())),
        Verdict::NotShown(Why::Steps(n)) => Some(Answer::Nothing(format!("given up after {n} steps"))),
        Verdict::NotApplicable(assumption) => Some(Answer::Nothing(assumption.to_string())),
    };
    if global.contains(&true) {
        return match edf_msrp::cores(&charged.set) {
            Err(overflow) => Answer::Nothing(overflow.to_string()),
            Ok(Verdict::NotShown(Why::Passes(found))) => match found.last() {
                Some(demand) => Answer::Short(found.len() - 1, *demand),
                None => Answer::Nothing("no bound".into()),
            },
            Ok(verdict) => {
                told(0, verdict.map(|_| Demand { horizon: Duration::ZERO, steps: 0, short: None }))
                    .unwrap_or(Answer::Kept)
            }
        };
    }
    for core in 0..charged.set.cores().len() {
        match srp::core(&charged.set, core) {
            Err(overflow) => return Answer::Nothing(overflow.to_string()),
            Ok(verdict) => {
                if let Some(answer) = told(core, verdict) {
                    return answer;
                }
            }
        }
    }
    Answer::Kept
}
