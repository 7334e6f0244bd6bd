// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What is proven of an application: placements, tests, and a response bound per task.

use taut_analysis::{AnalysedCore, Verdict, Why};
use taut_model::{Fault, Model};
use taut_time::Duration;

use super::bounds::{ResponseBound, ResponseBounds};
use super::shared::Shared;
use super::{cores, serve, waits};
use crate::placement::{Placements, Who};

/// Placements, and what the tests say of them.
pub(crate) struct Proof<'m> {
    pub(crate) placements: Placements<'m>,
    pub(crate) shared: Option<Shared>,
    pub(crate) bounds: ResponseBounds,
    /// Whether all tasks and servers are shown to keep their deadlines.
    pub(crate) served: bool,
}

/// How much effort an answer takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// All tests.
    Whole,
    /// The same, but with offsets only where that is fast: for callers that ask many times.
    Quick,
}

/// The most jobs with known phases for which quick answers use offsets: the cost rises with the third power of that
/// number.
pub(crate) const JOBS_ASKED_OFTEN: u64 = 12;

/// R of a placement, if it is proven.
pub(crate) fn response(
    placements: &Placements<'_>,
    shared: Option<&Shared>,
    placement: usize,
) -> Option<Duration> {
    match shared {
        Some(shared) => shared.response(placements, placement),
        None => placements.bound(placement).map(|bound| bound.from_arrival),
    }
}

impl<'m> Proof<'m> {
    pub(crate) fn find(model: &'m Model, effort: Effort, faults: &mut Vec<Fault>) -> Self {
        let mut placements = Placements::choose(model, None);
        cores::report(model, &placements, faults);
        waits::order(model, &placements, faults);
        let shared = Shared::analyse(model, &placements, faults);
        if shared.is_none() {
            placements.look_at_phases((effort == Effort::Quick).then_some(JOBS_ASKED_OFTEN));
        }
        let mut served = true;
        let mut bounds: ResponseBounds = vec![None; model.tasks().len()];
        for (i, placement) in placements.placements.iter().enumerate() {
            let bound = response(&placements, shared.as_ref(), i);
            let response = bound.unwrap_or(placement.task.deadline);
            if let Who::Task(id) = placement.who {
                let place = Some((placement.core, placement.priority));
                bounds[id.index()] =
                    Some(ResponseBound { response, proven: bound.is_some(), place, supply: None });
            }
            served &= bound.is_some();
        }
        for (id, _, real_time) in model.real_time() {
            let Some(server) = real_time.server else { continue };
            let found = serve::response(model, &placements, shared.as_ref(), server, real_time);
            let response = found.response.unwrap_or(real_time.deadline);
            bounds[id.index()] = Some(ResponseBound {
                response,
                proven: found.response.is_some(),
                place: None,
                supply: found.supply,
            });
            served &= found.response.is_some();
        }
        Self { placements, shared, bounds, served }
    }

    /// R of a task that is past its deadline, as far as it is known.
    pub(crate) fn past(&self, name: &str) -> Option<Duration> {
        let placement = self
            .placements
            .placements
            .iter()
            .position(|placement| !placement.is_server() && placement.name == name)?;
        match &self.shared {
            Some(shared) => shared.past(placement),
            None => match self.placements.verdict(placement) {
                Ok(Verdict::Unschedulable(past) | Verdict::NotShown(Why::Passes(past))) => {
                    Some(past.from_arrival)
                }
                _ => None,
            },
        }
    }

    /// Whether quick answers may show less than others: offsets may help, but their analysis takes long.
    pub(crate) fn is_hasty(&self) -> bool {
        let slow = |core: &AnalysedCore| core.jobs_in_phase().is_none_or(|jobs| jobs > JOBS_ASKED_OFTEN);
        let mut cores = self.placements.cores.iter().filter_map(|core| core.analysis.as_ref().ok());
        self.shared.is_none() && cores.any(|core| core.has_phases() && slow(core))
    }
}
