// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Faults for deadlines that are not proven where tasks share resources, or under EDF.

use taut_analysis::Core;
use taut_analysis::multi::{Status, Witness};
use taut_model::{Fault, Model, Place, SchedulingPolicy, codes};
use taut_time::Duration;

use super::causes::{advised, longest_due};
use crate::placement::{Placement, Placements};
use crate::response::shared::Shared;
use crate::response::shared::choose::Answer;
use crate::response::shared::explain::{parts, terms};

impl Shared {
    /// Reports a task that is not shown to keep its deadline.
    pub(crate) fn deadline(
        &self,
        model: &Model,
        placements: &Placements<'_>,
        placement: usize,
        faults: &mut Vec<Fault>,
    ) {
        let at = &placements.placements[placement];
        let name = at.name;
        let place = || at.place("deadline");
        let cpu = model.platform().cores[at.core];
        match &self.answer {
            Answer::Kept(..) | Answer::Refused => {}
            Answer::Bounds(_, _, true) => {}
            Answer::Bounds(bounds, charged, false) => {
                let bound = &bounds.tasks[placement];
                if bound.status != Status::Passes {
                    return;
                }
                let message = format!("task `{name}` is not shown to keep its deadline on core {cpu}");
                let past = bound.from_arrival.rounded_above(at.task.deadline);
                let text = format!("{} passed: the bound is at least {past}", at.task.deadline);
                let mut fault = Fault::error(codes::DEADLINE_MISSED, message, place(), text);
                for (what, witness, part) in parts(bound) {
                    fault = witnessed(fault, model, placements, what, witness, part);
                }
                for term in terms(model, placements, placement, bound, charged) {
                    let of = term.of.map_or_else(String::new, |of| format!(", {of}"));
                    fault = fault.note(format!("{}{of}: {}", term.kind, term.time.rounded()));
                }
                let most = parts(bound).into_iter().max_by_key(|(_, _, part)| *part);
                let help = advised(model, at, faults).unwrap_or_else(|| match most {
                    Some((what, _, part)) if part > bound.terms.own => {
                        let part = part.rounded();
                        format!("{what} is the longest part, {part}: shorten what causes it, or move a task")
                    }
                    _ => "its own execution is the longest part: shorten it, or give it more time".to_owned(),
                });
                faults.push(fault.note(format!("test: {}", self.test)).help(help));
            }
            // Report this once, at the first task of the core.
            Answer::Short(core, demand) => {
                let first = placements.cores[*core].members.iter().min();
                if first != Some(&placement) {
                    return;
                }
                let cpu = model.platform().cores[*core];
                let message = format!("deadlines are not shown to be kept on core {cpu}");
                let place = Place::value(format!("platform.cores.{core}"));
                let Some(window) = demand.short else {
                    return self.too_much(model, placements, *core, faults);
                };
                let (asked, length) = (window.demand.rounded_above(window.length), window.length.rounded());
                let text = format!("{asked} are asked for in {length}");
                let mut fault = Fault::error(codes::DEADLINE_MISSED, message, place, text);
                for &member in &placements.cores[*core].members {
                    let placement = &placements.placements[member];
                    if placement.task.deadline <= window.length {
                        let place = Place::value(format!("tasks.{}.deadline", placement.name));
                        fault = fault.also(place, format!("due in time: {} each", placement.cost.rounded()));
                    }
                }
                if !window.blocking.is_zero() {
                    let blocking = window.blocking.rounded();
                    fault = fault.note(format!("a critical section blocks for {blocking} more"));
                }
                // The task to shorten: the longest of those that are due in time.
                let longest = longest_due(placements, *core, demand, None).map(|i| &placements.placements[i]);
                let help = longest.and_then(|longest| {
                    let help = advised(model, longest, faults)?;
                    Some(format!("for `{}`: {help}", longest.name))
                });
                let help = help.unwrap_or_else(|| {
                    "shorten executions or sections, or give more time to what is due first".into()
                });
                let test = format!("test: {}; overheads and the platform probe included", self.test);
                faults.push(fault.note(test).help(help));
            }
            Answer::Nothing(_) if placements.placements.iter().any(Placement::is_server) => {
                beside(model, placements, placement, faults)
            }
            Answer::Nothing(why) => {
                let message = format!("the response time of task `{name}` is not shown");
                faults.push(
                    Fault::error(codes::NOT_SHOWN, message, place(), why.clone())
                        .note(format!("test: {}", self.test)),
                );
            }
        }
    }

    /// Reports that a core is asked for more than it has. If that is so before overheads are rounded up, another
    /// fault says so already.
    fn too_much(&self, model: &Model, placements: &Placements<'_>, core: usize, faults: &mut Vec<Fault>) {
        let plain = placements.cores[core].analysis.as_ref().ok().and_then(Core::utilisation);
        if plain.is_some_and(|utilisation| !utilisation.fits()) {
            return;
        }
        let cpu = model.platform().cores[core];
        let message = format!("deadlines are not shown to be kept on core {cpu}");
        let place = Place::value(format!("platform.cores.{core}"));
        let text = "more is asked for than it has, once times are rounded up";
        let mut fault = Fault::error(codes::DEADLINE_MISSED, message, place, text);
        for &member in &placements.cores[core].members {
            let placement = &placements.placements[member];
            let text = format!("{} per {}", placement.cost.rounded(), placement.task.arrival.period());
            fault = fault.also(placement.place("wcet.value"), text);
        }
        faults.push(
            fault
                .note(format!("test: {}; overheads and the platform probe included", self.test))
                .note("the probe slows all that runs by its share, rounded up to a whole ns for each job and section")
                .help("shorten executions, lengthen the shortest periods, or use another core"),
        );
    }
}

/// Reports servers beside something that is not analysed with servers: once, at the first server.
fn beside(model: &Model, placements: &Placements<'_>, placement: usize, faults: &mut Vec<Fault>) {
    if placements.placements.iter().position(Placement::is_server) != Some(placement) {
        return;
    }
    let name = placements.placements[placement].name;
    let message =
        format!("server `{name}` is not shown to get its budget beside what is not analysed with servers");
    let text = "servers are analysed beside tasks without resources, under fixed priority";
    let fault = Fault::error(codes::SERVER_LATE, message, Place::key(format!("servers.{name}")), text);
    let locks = placements
        .placements
        .iter()
        .find_map(|placement| Some((placement.name, placement.task.sections.first()?)));
    faults.push(match locks {
        _ if model.platform().scheduler == SchedulingPolicy::Edf => fault
            .also(Place::value("platform.scheduler"), "deadlines decide")
            .help("write `scheduler = \"fp\"`, or let its tasks run without a server"),
        Some((task, section)) => fault
            .note(format!("`{task}` locks `{}`", model.resources()[section.resource.index()].name))
            .help("let its tasks run without a server, or others without locks: states have mechanisms that need none"),
        None => fault,
    });
}

/// Adds a label at the cause of most of a part.
fn witnessed(
    fault: Fault,
    model: &Model,
    placements: &Placements<'_>,
    what: &str,
    witness: Witness,
    part: Duration,
) -> Fault {
    let task = witness.task.and_then(|at| placements.placements.get(at));
    let resource = witness.resource.and_then(|at| model.resources().get(at));
    let place = match (task, resource) {
        (Some(placement), Some(resource)) => {
            let is = |section: &taut_model::Section| model.resource(section.resource).name == resource.name;
            match placement.task.sections.iter().position(is).filter(|_| placement.task.segments.is_empty()) {
                Some(index) => Place::value(format!("tasks.{}.sections.{index}.longest", placement.name)),
                None => Place::value(format!("tasks.{}.segments", placement.name)),
            }
        }
        (Some(placement), None) => Place::value(format!("tasks.{}.wcet.value", placement.name)),
        (None, Some(resource)) => Place::key(format!("resources.{}", resource.name)),
        (None, None) => return fault,
    };
    let (part, of) = (part.rounded(), witness.time.rounded());
    fault.also(place, format!("{what}: {part} in all, {of} of it by this"))
}
