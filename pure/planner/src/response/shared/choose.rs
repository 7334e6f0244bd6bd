// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Chooses the protocols, and says what is proven with them.

use taut_analysis::multi::{Bounds, Status};
use taut_analysis::uni::edf::demand::Demand;
use taut_analysis::{Assumption, Overflow, Verdict, Why};
use taut_model::{Fault, KeyPath, LockingProtocol, Model, SchedulingPolicy, codes};

use super::charge::{Charged, charged};
use super::edf::Due;
use super::protocols::{Protocols, guard_of};
use crate::placement::{Placement, Placements};

/// What the analysis covers beside a deferrable server, which may use two budgets back to back.
const DEFERRABLE: &str = "deferrable servers are analysed beside resources of one core";

pub(crate) enum Answer {
    /// By placement, under fixed priorities; and whether all keep their deadlines.
    Bounds(Bounds, Charged, bool),
    /// All keep their deadlines, under EDF; by placement, the response of a job, or why it is not known.
    Kept(Result<Vec<Due>, String>, Charged),
    /// Under EDF, a window on this core is too short for its demand.
    Short(usize, Demand),
    /// No bounds, and why.
    Nothing(String),
    /// No bounds, because the analysis of servers does not cover the application: what it covers.
    Servers(&'static str),
    /// No bounds, and a fault already says why.
    Refused,
}

/// Whether tasks of several cores use a resource.
pub(crate) fn is_global(placements: &Placements<'_>, resource: usize) -> bool {
    let mut cores = users(placements, resource).map(|placement| placement.core);
    let first = cores.next();
    cores.any(|core| Some(core) != first)
}

pub(crate) fn users<'s, 'm>(
    placements: &'s Placements<'m>,
    resource: usize,
) -> impl Iterator<Item = &'s Placement<'m>> {
    let uses = move |placement: &&Placement<'_>| {
        placement.task.sections.iter().any(|s| s.resource.index() == resource)
    };
    placements.placements.iter().filter(uses)
}

/// Reports protocols that do not fit. Returns whether resources of one core have deadline floors: if the manifest
/// names them for one resource, all have them.
pub(crate) fn fit(
    model: &Model,
    placements: &Placements<'_>,
    global: &[bool],
    faults: &mut Vec<Fault>,
) -> bool {
    let scheduler = model.platform().scheduler;
    // The first protocol that the manifest names for resources of one core, and of several.
    let mut firsts: [Option<(usize, LockingProtocol)>; 2] = [None, None];
    for (at, resource) in model.resources().iter().enumerate() {
        let Some(protocol) = resource.protocol else { continue };
        let name = protocol.paper_name();
        let state = model.guarding(at).is_some();
        let what = if state { "state" } else { "resource" };
        let place = |at: usize| match model.guarding(at) {
            Some(id) => KeyPath::value(format!("channels.{}.mechanism", model.channel(id).table())),
            None => KeyPath::value(format!("resources.{}.protocol", model.resources()[at].name)),
        };
        let mut refuse = |text: String, help: &str| {
            let message = format!("{name} does not fit {what} `{}`", resource.name);
            let mut fault = Fault::error(codes::LOCKING_MISFIT, message, place(at), text).help(help);
            for placement in users(placements, at) {
                let cpu = model.platform().cores[placement.core];
                let core = KeyPath::key(format!("tasks.{}", placement.name));
                fault = fault.also(core, format!("uses it on core {cpu}"));
            }
            faults.push(fault);
        };
        let local = protocol.is_local();
        let other = if local { "srp" } else { "msrp" };
        if local && global[at] {
            refuse("for tasks of one core".into(), "use \"auto\", or \"msrp\"");
        } else if !local && !global[at] {
            refuse("for tasks of several cores".into(), "use \"auto\", or \"srp\"");
        } else if !protocol.fits(scheduler) {
            let cores = match scheduler {
                SchedulingPolicy::FixedPriority => "for cores under EDF",
                SchedulingPolicy::Edf => "for cores of fixed priority",
            };
            refuse(cores.into(), &format!("use \"auto\", or \"{other}\""));
        } else {
            let first = &mut firsts[usize::from(!local)];
            let (several, note) = match local {
                true => ("one core", "no rule combines ceilings and deadline floors on a core"),
                false => (
                    "several cores",
                    "no analysis here bounds the delay of holders under one protocol by holders under the other",
                ),
            };
            // Spinning and suspending are analysed beside one another, under fixed priority.
            let mixed = |named| [named, protocol].into_iter().all(|of| guard_of(of).is_some());
            match *first {
                Some((other, named)) if named != protocol && !mixed(named) => {
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
    let [local, _] = firsts.map(|first| first.map(|(_, named)| named));
    local == Some(LockingProtocol::Dfp)
}

/// The first candidate that keeps all deadlines, else the first.
pub(crate) fn by_priority(
    model: &Model,
    placements: &Placements<'_>,
    global: &[bool],
) -> (Vec<LockingProtocol>, &'static str, Answer) {
    let mut first: Option<(Vec<LockingProtocol>, &'static str, Answer)> = None;
    for candidate in Protocols::candidates(model, global) {
        let answer = with(&candidate, model, placements, global);
        let keeps = matches!(answer, Answer::Bounds(_, _, true));
        let test = candidate.test();
        let found = (candidate.of, test, answer);
        if keeps {
            return found;
        }
        first.get_or_insert(found);
    }
    // The protocols that the manifest names do not go together, which a fault already says.
    first.unwrap_or_else(|| (vec![LockingProtocol::Msrp; global.len()], "none", Answer::Refused))
}

/// What the analysis says of these protocols.
fn with(protocols: &Protocols, model: &Model, placements: &Placements<'_>, global: &[bool]) -> Answer {
    let placed = &placements.placements;
    let suspending = protocols.suspending();
    // A non-preemptive stretch delays holders, which the analyses of suspending protocols do not count.
    if suspending.contains(&true) && placed.iter().any(|placement| !placement.task.non_preemptive.is_zero()) {
        return Answer::Nothing("a non-preemptive stretch would delay those who hold a resource".into());
    }
    // The analyses of resources of several cores take each deadline to be at most a period after the earliest
    // release.
    let is_deferrable = |placement: &Placement<'_>| !placement.back_to_back.is_zero();
    if global.contains(&true) && placed.iter().any(is_deferrable) {
        return Answer::Servers(DEFERRABLE);
    }
    let found = |own| {
        let charged = charged(model, placements, global, &suspending, own)?;
        let verdict = protocols.response_times(&charged.set)?;
        Ok::<_, Overflow>((bounds(verdict), charged))
    };
    let (mut bounds, charged) = match found(None) {
        Err(overflow) => return Answer::Nothing(overflow.to_string()),
        Ok((Err(why), _)) => return Answer::Nothing(why),
        Ok((Ok(bounds), charged)) => (bounds, charged),
    };
    for (at, _) in placed.iter().enumerate().filter(|(_, placement)| is_deferrable(placement)) {
        match found(Some(at)) {
            Err(overflow) => return Answer::Nothing(overflow.to_string()),
            Ok((Err(why), _)) => return Answer::Nothing(why),
            Ok((Ok(of_its_own), _)) => bounds.tasks[at] = of_its_own.tasks[at],
        }
    }
    let keeps = bounds.tasks.iter().all(|task| task.status == Status::Proven);
    Answer::Bounds(bounds, charged, keeps)
}

/// The bounds of a verdict, or why it has none.
fn bounds(verdict: Verdict<Bounds>) -> Result<Bounds, String> {
    match verdict {
        Verdict::Schedulable(bounds)
        | Verdict::Unschedulable(bounds)
        | Verdict::NotShown(Why::Passes(bounds)) => Ok(bounds),
        Verdict::NotShown(Why::Rate) => Err("no bound".into()),
        Verdict::NotShown(Why::Steps(n)) => Err(format!("given up after {n} steps")),
        Verdict::NotApplicable(Assumption::ConstrainedDeadline) => Err(
            "some deadline is longer than its period, which is not analysed with resources of several cores"
                .into(),
        ),
        Verdict::NotApplicable(assumption) => Err(assumption.to_string()),
    }
}
