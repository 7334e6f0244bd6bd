// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Faults for deadlines that are not proven where tasks share resources, or under EDF.

use taut_analysis::AnalysedCore;
use taut_analysis::multi::{Contribution, Status, TaskBound};
use taut_analysis::uni::edf::demand::Demand;
use taut_model::{Fault, KeyPath, Model, SchedulingPolicy, codes};
use taut_time::Duration;

use super::causes::{advised, longest_due};
use crate::placement::{Placement, Placements};
use crate::response::shared::Shared;
use crate::response::shared::charge::Charged;
use crate::response::shared::choose::{Answer, is_global, users};
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
        match &self.answer {
            Answer::Kept(..) | Answer::Refused | Answer::Bounds(_, _, true) => {}
            Answer::Bounds(bounds, charged, false) => {
                let bound = &bounds.tasks[placement];
                if bound.status == Status::Passes {
                    self.passes(model, placements, placement, (bound, charged), faults);
                }
            }
            // Report this once, at the first task of the core.
            Answer::Short(core, demand) => {
                if placements.cores[*core].members.iter().min() == Some(&placement) {
                    self.short(model, placements, *core, demand, faults);
                }
            }
            // Report this once, at the first server.
            Answer::Servers(beside) => {
                if placements.placements.iter().position(Placement::is_server) == Some(placement) {
                    faults.push(servers(model, placements, placement, beside));
                }
            }
            Answer::Nothing(why) => {
                let at = &placements.placements[placement];
                let message = format!("the response time of task `{}` is not shown", at.name);
                faults.push(
                    Fault::error(codes::NOT_SHOWN, message, at.place("deadline"), why.clone())
                        .note(format!("test: {}", self.test)),
                );
            }
        }
    }

    /// Reports a bound that passes the deadline.
    fn passes(
        &self,
        model: &Model,
        placements: &Placements<'_>,
        placement: usize,
        (bound, charged): (&TaskBound, &Charged),
        faults: &mut Vec<Fault>,
    ) {
        let at = &placements.placements[placement];
        let (name, cpu) = (at.name, model.platform().cores[at.core]);
        let (code, message) = match at.is_server() {
            true => {
                (codes::SERVER_LATE, format!("server `{name}` is not shown to get its budget on core {cpu}"))
            }
            false => (
                codes::DEADLINE_MISSED,
                format!("task `{name}` is not shown to keep its deadline on core {cpu}"),
            ),
        };
        let past = bound.from_arrival.rounded_above(at.task.deadline);
        let text = format!("{} passed: the bound is at least {past}", at.task.deadline);
        let mut fault = Fault::error(code, message, at.place("deadline"), text);
        for (what, witness, part) in parts(bound) {
            fault = witnessed(fault, model, placements, what, witness, part);
        }
        for term in terms(model, placements, placement, bound, charged) {
            let of = term.of.map_or_else(String::new, |of| format!(", {of}"));
            fault = fault.note(format!("{}{of}: {}", term.kind, term.time.rounded()));
        }
        let most = parts(bound).into_iter().max_by_key(|(_, _, part)| *part);
        let advised = if at.is_server() { None } else { advised(model, at, faults) };
        let help = advised.unwrap_or_else(|| match most {
            _ if at.is_server() => {
                "a smaller budget, a longer period, or a higher priority; or another core".to_owned()
            }
            Some((what, _, part)) if part > bound.terms.own => {
                let part = part.rounded();
                format!("{what} is the longest part, {part}: shorten what causes it, or move a task")
            }
            _ => "its own execution is the longest part: shorten it, or allow a longer deadline".to_owned(),
        });
        faults.push(fault.note(format!("test: {}", self.test)).help(help));
    }

    /// Reports a core that does not serve the demand of some window.
    fn short(
        &self,
        model: &Model,
        placements: &Placements<'_>,
        core: usize,
        demand: &Demand,
        faults: &mut Vec<Fault>,
    ) {
        let cpu = model.platform().cores[core];
        let message = format!("deadlines are not shown to be kept on core {cpu}");
        let place = KeyPath::value(format!("platform.cores.{core}"));
        let Some(window) = demand.short else {
            return self.too_much(model, placements, core, faults);
        };
        let (asked, length) = (window.demand.rounded_above(window.length), window.length.rounded());
        let text = format!("jobs demand {asked} in {length}");
        let mut fault = Fault::error(codes::DEADLINE_MISSED, message, place, text);
        for &member in &placements.cores[core].members {
            let placement = &placements.placements[member];
            if placement.task.deadline <= window.length {
                let place = KeyPath::value(format!("tasks.{}.deadline", placement.name));
                fault = fault.also(place, format!("due in time: {} each", placement.cost.rounded()));
            }
        }
        if !window.blocking.is_zero() {
            let blocking = window.blocking.rounded();
            fault = fault.note(format!("a critical section blocks for {blocking} more"));
        }
        // The task to shorten: the longest of those that are due in time.
        let longest = longest_due(placements, core, demand, None).map(|i| &placements.placements[i]);
        let help = longest.and_then(|longest| {
            let help = advised(model, longest, faults)?;
            Some(format!("for `{}`: {help}", longest.name))
        });
        let help = help.unwrap_or_else(|| {
            "shorten executions or sections, or allow longer deadlines for the jobs that are due first".into()
        });
        let test = format!("test: {}; overheads and the platform probe included", self.test);
        faults.push(fault.note(test).help(help));
    }

    /// Reports that a core is asked for more than it has. If that is so before overheads are rounded up, another
    /// fault says so already.
    fn too_much(&self, model: &Model, placements: &Placements<'_>, core: usize, faults: &mut Vec<Fault>) {
        let plain = placements.cores[core].analysis.as_ref().ok().and_then(AnalysedCore::utilisation);
        if plain.is_some_and(|utilisation| !utilisation.fits()) {
            return;
        }
        let cpu = model.platform().cores[core];
        let message = format!("deadlines are not shown to be kept on core {cpu}");
        let place = KeyPath::value(format!("platform.cores.{core}"));
        let text = "the demand exceeds its time, once times are rounded up";
        let mut fault = Fault::error(codes::DEADLINE_MISSED, message, place, text);
        for &member in &placements.cores[core].members {
            let placement = &placements.placements[member];
            let text = format!("{} per {}", placement.cost.rounded(), placement.task.arrival.period());
            fault = fault.also(placement.place("wcet.value"), text);
        }
        faults.push(
            fault
                .note(format!("test: {}; overheads and the platform probe included", self.test))
                .note("the probe slows each job and section by its share, rounded up to a whole ns")
                .help("shorten executions, lengthen the shortest periods, or use another core"),
        );
    }
}

/// The fault of a server in an application that the analysis of servers does not cover; `beside` says what it covers.
fn servers(model: &Model, placements: &Placements<'_>, placement: usize, beside: &str) -> Fault {
    let name = placements.placements[placement].name;
    let message =
        format!("server `{name}` is not shown to get its budget: the analysis of servers does not apply");
    let fault = Fault::error(codes::SERVER_LATE, message, KeyPath::key(format!("servers.{name}")), beside);
    if model.platform().scheduler == SchedulingPolicy::Edf {
        return fault
            .also(KeyPath::value("platform.scheduler"), "deadlines decide")
            .help("write `scheduler = \"fp\"`, or let its tasks run without a server");
    }
    let mut resources = (0..model.resources().len()).filter(|at| is_global(placements, *at));
    let locks = resources.find_map(|at| Some((users(placements, at).next()?.name, at)));
    match locks {
        Some((task, at)) => fault
            .note(format!("`{task}` locks `{}`, as tasks of other cores do", model.resources()[at].name))
            .help("use a polling or a sporadic server, or let the users of the resource be on one core"),
        None => fault,
    }
}

/// Adds a label at the largest cause of a part of a bound.
fn witnessed(
    fault: Fault,
    model: &Model,
    placements: &Placements<'_>,
    what: &str,
    witness: Contribution,
    part: Duration,
) -> Fault {
    let task = witness.task.and_then(|at| placements.placements.get(at));
    let resource = witness.resource.and_then(|at| model.resources().get(at));
    let place = match (task, resource) {
        (Some(placement), Some(resource)) => {
            let is = |section: &taut_model::Section| model.resource(section.resource).name == resource.name;
            match placement.task.sections.iter().position(is).filter(|_| placement.task.segments.is_empty()) {
                Some(index) => KeyPath::value(format!("tasks.{}.sections.{index}.longest", placement.name)),
                None => KeyPath::value(format!("tasks.{}.segments", placement.name)),
            }
        }
        (Some(placement), None) => KeyPath::value(format!("tasks.{}.wcet.value", placement.name)),
        (None, Some(resource)) => KeyPath::key(format!("resources.{}", resource.name)),
        (None, None) => return fault,
    };
    let (part, of) = (part.rounded(), witness.time.rounded());
    fault.also(place, format!("{what}: {part} in all, {of} of it by this"))
}
