// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What each analysis of whole applications says of a task, beside the analysis that was used.

use taut_analysis::multi::{Bounds, Status};
use taut_analysis::uni::edf::dfp::Floors;
use taut_analysis::uni::edf::response::{self, Locks};
use taut_analysis::uni::edf::srp::Levels;
use taut_analysis::{Verdict, Why};
use taut_model::{LockingProtocol, Model, SchedulingPolicy};
use taut_time::Duration;

use crate::advice::alternatives::Row;
use crate::placement::Placements;
use crate::response::shared::Shared;
use crate::response::shared::charge::charged;
use crate::response::shared::choose::{Answer, is_global};
use crate::response::shared::protocols::{Analysis, all_analyses, beside, names};

/// The text for an analysis by which a deadline is not kept. `tried` says whether the plan asked this analysis.
fn passes(placements: &Placements<'_>, bounds: &Bounds, tried: &str) -> String {
    let Some(late) = bounds.tasks.iter().position(|task| task.status == Status::Passes) else {
        return tried.to_owned();
    };
    let (name, deadline) = (placements.placements[late].name, placements.placements[late].task.deadline);
    let past = bounds.tasks[late].from_arrival.rounded_above(deadline);
    format!("{tried}: R of `{name}` is at least {past}, due in {deadline}")
}

/// What other analyses are compared with.
struct Beside {
    /// The manifest states a protocol.
    pinned: bool,
    /// The resources have several protocols.
    mixed: bool,
    chosen: Option<LockingProtocol>,
    /// The response time by the analysis that was used.
    response: Option<Duration>,
}

impl Beside {
    /// The text for an analysis by which all deadlines are kept, with its response time. `first`: it is the first
    /// analysis of its protocol.
    fn kept(&self, locking: LockingProtocol, first: bool, exact: Duration) -> String {
        let (found, is_chosen) = (exact.rounded(), Some(locking) == self.chosen);
        match self.response {
            _ if first && is_chosen && !self.mixed => format!("used: R = {found}"),
            Some(_) if self.mixed => format!("not asked for: would give R = {found}"),
            Some(response) if response == exact && is_chosen => {
                "not needed: would give the same R".to_owned()
            }
            // The bound of a protocol's first analysis is never above the bounds of its others.
            Some(_) if is_chosen => format!("weaker: would give R = {found}"),
            Some(_) if !self.pinned => format!("not needed: would give R = {found}"),
            Some(_) => format!("not asked for: would give R = {found}"),
            // A protocol that no pin excludes has been tried, and would have been taken.
            None => format!("not asked for: would give R = {found}, all deadlines kept"),
        }
    }

    /// Whether the plan asked an analysis by which some deadline is not kept, as text.
    fn tried(&self, locking: LockingProtocol, first: bool) -> &'static str {
        // Candidates are tried in order, up to the first that keeps all deadlines.
        let place = |locking| all_analyses().position(|(other, ..)| Some(other) == locking);
        let used = first && Some(locking) == self.chosen && !self.mixed;
        match self.response {
            None if used => "used, says no",
            None if first && !self.pinned => "tried, says no",
            Some(_) if first && !self.pinned && place(Some(locking)) < place(self.chosen) => "tried, says no",
            _ => "says no",
        }
    }
}

impl Shared {
    /// What each analysis says of a placement.
    pub(crate) fn alternatives(
        &self,
        model: &Model,
        placements: &Placements<'_>,
        placement: usize,
    ) -> Vec<Row> {
        let global: Vec<bool> = (0..model.resources().len()).map(|at| is_global(placements, at)).collect();
        let edf = model.platform().scheduler == SchedulingPolicy::Edf;
        match (edf, global.contains(&true)) {
            (true, any) => self.by_deadline(model, placements, placement, &global, any),
            (false, true) => self.across(model, placements, placement, &global),
            (false, false) => self.ceilings(model, placements, placement),
        }
    }

    /// The rows for resources of one core each.
    fn ceilings(&self, model: &Model, placements: &Placements<'_>, placement: usize) -> Vec<Row> {
        let shared = "resources are shared";
        let long = placements
            .placements
            .iter()
            .find(|placement| placement.task.deadline > placement.task.arrival.period());
        let several = match long {
            Some(placement) => {
                format!("used: the deadline of `{}` is longer than its period", placement.name)
            }
            None => "not needed: no deadline is longer than its period".to_owned(),
        };
        vec![
            Row::new("immediate ceilings", self.says(model, placements, placement)),
            Row::new("response time, several jobs", several),
            Row::fails("response time, offsets", format!("{shared}, whose holders have no known phase")),
            Row::fails("utilisation bounds", format!("{shared}, and a ceiling blocks")),
            Row::fails(
                &names(SchedulingPolicy::FixedPriority).join(", "),
                "each resource is used on one core only",
            ),
            Row::fails("processor demand, EDF response times, DFP", "the cores go by fixed priority"),
        ]
    }

    /// The rows for resources of several cores, under fixed priorities.
    fn across(
        &self,
        model: &Model,
        placements: &Placements<'_>,
        placement: usize,
        global: &[bool],
    ) -> Vec<Row> {
        let chosen = self.chosen(global);
        let mut guards = global.iter().zip(&self.protocols).filter(|(global, _)| **global);
        let beside_others = Beside {
            pinned: (0..global.len()).any(|at| global[at] && model.protocol(at).is_some()),
            mixed: guards.any(|(_, (locking, _))| Some(*locking) != chosen),
            chosen,
            response: self.response(placements, placement),
        };
        let keeps = placements.placements.iter().any(|placement| !placement.task.non_preemptive.is_zero());
        let mut rows = Vec::new();
        if beside_others.mixed && !matches!(self.answer, Answer::Refused) {
            rows.push(Row::new(beside(), self.says(model, placements, placement)));
        }
        for (locking, Analysis(name, analysis), first) in all_analyses() {
            let suspends = locking.suspends();
            if matches!(self.answer, Answer::Refused) {
                rows.push(Row::fails(name, "resources of several cores do not fit, as reported"));
                continue;
            }
            if suspends && keeps {
                let why = "a `non-preemptive` stretch would delay holders of a resource";
                rows.push(Row::fails(name, why));
                continue;
            }
            let found = charged(model, placements, global, &vec![suspends; global.len()], None)
                .and_then(|charged| analysis(&charged.set));
            let says = match found {
                Ok(Verdict::Schedulable(bounds)) => {
                    beside_others.kept(locking, first, bounds.tasks[placement].from_arrival)
                }
                Ok(Verdict::NotShown(Why::Passes(bounds)) | Verdict::Unschedulable(bounds)) => {
                    passes(placements, &bounds, beside_others.tried(locking, first))
                }
                Ok(Verdict::NotShown(Why::Rate)) => "no bound: the demand exceeds the core's time".to_owned(),
                Ok(Verdict::NotShown(Why::Steps(n))) => format!("no answer: given up after {n} steps"),
                Ok(Verdict::NotApplicable(assumption)) => format!("does not apply: {assumption}"),
                Err(overflow) => format!("no answer: {overflow}"),
            };
            rows.push(Row::new(name, says));
        }
        let at = (0..global.len()).find(|&at| global[at]).map_or("", |at| &model.resources()[at].name);
        let several = format!("`{at}` is used on several cores");
        rows.push(Row::fails("ceilings alone, response time, offsets, utilisation bounds", several));
        rows.push(Row::fails("processor demand, EDF response times, DFP", "the cores go by fixed priority"));
        rows
    }

    /// The rows for cores under EDF.
    fn by_deadline(
        &self,
        model: &Model,
        placements: &Placements<'_>,
        placement: usize,
        global: &[bool],
        any: bool,
    ) -> Vec<Row> {
        let at = &placements.placements[placement];
        let mut rows = vec![Row::new("processor demand", self.says(model, placements, placement))];
        let times = match &self.answer {
            Answer::Kept(Ok(found), _) => {
                let (found, deadline) = (found[placement].response.from_arrival, at.task.deadline);
                let shown = found.rounded();
                match found <= deadline {
                    true => format!("used for R = {shown}"),
                    false => format!("weaker: would give R = {shown}, and the demand shows {deadline}"),
                }
            }
            Answer::Kept(Err(why), _) => format!("no answer: {why}"),
            _ => "not run: some deadline is not shown to be kept".to_owned(),
        };
        rows.push(Row::new("EDF response times", times));
        if !any && !model.resources().is_empty() {
            rows.push(self.other_local(model, placements, placement, global));
        }
        let used = placements.cores[at.core]
            .analysis
            .as_ref()
            .ok()
            .and_then(taut_analysis::AnalysedCore::utilisation);
        if let Some(used) = used {
            let figure = taut_time::shown::percent(used.ppm());
            rows.push(match used.fits() {
                true => Row::new("utilisation, Liu & Layland", format!(
                    "not enough: {figure} are within 100 %, which decides only with D = T, no jitter, no sections"
                )),
                false => Row::new("utilisation, Liu & Layland", format!("says no: {figure} are not within 100 %")),
            });
        }
        let under_edf = names(SchedulingPolicy::Edf);
        match (any, model.resources().is_empty()) {
            (true, _) => {
                let mut others = names(SchedulingPolicy::FixedPriority);
                others.retain(|name| !under_edf.contains(name));
                rows.push(Row::fails(&others.join(", "), "the cores go by EDF"));
            }
            (false, false) => {
                rows.push(Row::fails(&under_edf.join(", "), "each resource is used on one core only"));
            }
            (false, true) => {
                let name = format!("ceilings, DFP, {}", under_edf.join(", "));
                rows.push(Row::fails(&name, "there are no resources"));
            }
        }
        rows.push(Row::fails("response times and offsets by priority", "the cores go by EDF"));
        rows
    }

    /// The row for the other of the two ways to guard resources of one core.
    fn other_local(
        &self,
        model: &Model,
        placements: &Placements<'_>,
        placement: usize,
        global: &[bool],
    ) -> Row {
        let at = &placements.placements[placement];
        let floors = self.test.contains("floors");
        let (name, locks) = match floors {
            true => ("ceilings (SRP)", Locks::Srp(Levels::Deadline)),
            false => ("deadline floors (DFP)", Locks::Dfp(Floors::Shared)),
        };
        let found = charged(model, placements, global, &vec![false; global.len()], None)
            .and_then(|charged| response::core(&charged.set, at.core, locks));
        let mine = placements.cores[at.core].members.iter().position(|&member| member == placement);
        let says = match (found, mine) {
            (Ok(Verdict::Schedulable(found)), Some(mine)) => {
                format!("not asked for: would give R = {}", found[mine].from_arrival.rounded())
            }
            _ => "not asked for: would show no bound on R".to_owned(),
        };
        Row::new(name, says)
    }

    /// The protocol of the resources of several cores.
    fn chosen(&self, global: &[bool]) -> Option<LockingProtocol> {
        global.iter().zip(&self.protocols).find_map(|(global, (locking, _))| global.then_some(*locking))
    }

    /// What the test that was used says.
    fn says(&self, model: &Model, placements: &Placements<'_>, placement: usize) -> String {
        let deadline = placements.placements[placement].task.deadline;
        match &self.answer {
            Answer::Bounds(bounds, ..) if bounds.tasks[placement].status == Status::Proven => {
                "used".to_owned()
            }
            Answer::Bounds(bounds, ..) => {
                let past = bounds.tasks[placement].from_arrival.rounded_above(deadline);
                format!("used, says no: R is at least {past}")
            }
            Answer::Kept(..) => format!("used: shows that {deadline} are kept"),
            Answer::Short(core, demand) => {
                let cpu = model.platform().cores[*core];
                match demand.short {
                    Some(window) => {
                        let asked = window.demand.checked_add(window.blocking).unwrap_or(window.demand);
                        let (asked, length) = (asked.rounded_above(window.length), window.length.rounded());
                        format!("used, says no: on core {cpu}, jobs demand {asked} in {length}")
                    }
                    None => format!("used, says no: the demand on core {cpu} exceeds its time"),
                }
            }
            Answer::Nothing(why) => format!("no answer: {why}"),
            Answer::Servers(why) => format!("no answer: {why}"),
            Answer::Refused => "no answer: resources of several cores do not fit, as reported".to_owned(),
        }
    }
}
