// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which protocol, and what is proven with it.

use taut_analysis::multi::{Bounds, fmlp_plus, mpcp_lnr09_sound, msrp_joint};
use taut_analysis::uni::edf::demand::Demand;
use taut_analysis::{Assumption, Overflow, Verdict, Why};
use taut_model::{Fault, Locking, Model, Place, Scheduler, TaskSet, codes};

use super::charge::{Charged, charged};
use super::edf::Due;
use super::local;
use crate::seats::{Seat, Seats};

pub(super) enum Answer {
    /// By seat, under fixed priority; whether all keep their deadlines.
    Bounds(Bounds, Charged, bool),
    /// All keep their deadlines, under EDF; by seat, what a job takes, or why that is not known.
    Kept(Result<Vec<Due>, String>, Charged),
    /// On this core, a window is too short, under EDF.
    Short(usize, Demand),
    /// Neither, and why.
    Nothing(String),
    /// Neither, and it has been said why.
    Refused,
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
    test: "response-time analysis, fixed priority, MSRP, a core's requests counted together (Wieder & Brandenburg 2013)",
    suspends: false,
    analysis: msrp_joint::response_times,
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
    analysis: local::response_times,
};

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

/// What the manifest says of protocols.
pub(super) struct Named {
    /// The one for resources of several cores.
    pub(super) global: Option<Locking>,
    /// Whether resources of one core have deadline floors: one that is named makes it all.
    pub(super) floors: bool,
}

/// Reports protocols that do not fit.
pub(super) fn fit(model: &Model, seats: &Seats<'_>, global: &[bool], faults: &mut Vec<Fault>) -> Named {
    let edf = model.platform().scheduler == Scheduler::Edf;
    // The first that is named for resources of one core, and of several.
    let mut firsts: [Option<(usize, Locking)>; 2] = [None, None];
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
        } else {
            let first = &mut firsts[usize::from(!local)];
            let (several, note) = match local {
                true => ("one core", "ceilings and deadline floors do not know of each other"),
                false => (
                    "several cores",
                    "no analysis here bounds how holders of the one delay holders of the other",
                ),
            };
            match *first {
                Some((other, named)) if named != protocol => {
                    let message = format!("two protocols for resources of {several}");
                    faults.push(
                        Fault::error(codes::LOCKING_MISFIT, message, place(at), name)
                            .also(place(other), named.paper_name())
                            .note(note)
                            .help("use the same for both, or \"auto\""),
                    );
                }
                _ => *first = Some((at, protocol)),
            }
        }
    }
    let [local, global] = firsts.map(|first| first.map(|(_, named)| named));
    Named { global, floors: local == Some(Locking::Dfp) }
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
            Ok((_, Verdict::NotApplicable(Assumption::ConstrainedDeadline))) => Answer::Nothing(
                "some deadline is longer than its period, which is not analysed with resources of several cores".into(),
            ),
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
