// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a task waits for, and what would help.

use taut_analysis::multi::Status;
use taut_analysis::uni::edf::demand::Demand;
use taut_model::{Fault, Model};
use taut_time::Duration;

use crate::advice::deadline;
use crate::advice::room;
use crate::placement::{Placement, Placements, Who};
use crate::response::shared::Shared;
use crate::response::shared::choose::Answer;
use crate::response::shared::explain::parts;

impl Shared {
    /// The task and the resource of the section that this task waits longest for. A resource past the model's last
    /// one stands for the core.
    pub(crate) fn blocked_by(&self, placements: &Placements<'_>, placement: usize) -> Option<(usize, usize)> {
        match &self.answer {
            Answer::Bounds(bounds, ..) => {
                let waits = parts(&bounds.tasks[placement]);
                let (_, witness, _) = waits[..3].iter().max_by_key(|(.., part)| *part)?;
                let resource = witness.resource?;
                let longest = || {
                    let section = |other: &usize| {
                        let of = placements.placements[*other].task.sections.iter();
                        of.filter(|s| s.resource.index() == resource).map(|s| s.longest).max()
                    };
                    let others = (0..placements.placements.len())
                        .filter(|&i| placements.placements[i].core != placements.placements[placement].core);
                    others.filter(|other| section(other).is_some()).max_by_key(section)
                };
                witness.task.or_else(longest).map(|task| (task, resource))
            }
            Answer::Kept(Ok(due), _) => due[placement].response.blocked_by,
            Answer::Short(core, demand) if *core == placements.placements[placement].core => {
                demand.short?.blocked_by
            }
            _ => None,
        }
    }

    /// The task of the same core that delays a task longest; under EDF, if a core is short of time, the longest
    /// task that is due in the window that is too short.
    pub(crate) fn delayed_by(&self, placements: &Placements<'_>, placement: usize) -> Option<usize> {
        match &self.answer {
            Answer::Bounds(bounds, ..) => bounds.tasks[placement].witnesses.interference.task,
            Answer::Short(core, demand) => longest_due(placements, *core, demand, Some(placement)),
            _ => None,
        }
    }

    /// Why nothing is proven of a task that is not late itself: its bound rests on another task that is late, or
    /// another core is short of time.
    pub(crate) fn rests_on(
        &self,
        model: &Model,
        placements: &Placements<'_>,
        placement: usize,
    ) -> Option<String> {
        match &self.answer {
            Answer::Bounds(bounds, _, false) if bounds.tasks[placement].status == Status::Depends => {
                let late = bounds.tasks.iter().position(|task| task.status == Status::Passes)?;
                let name = placements.placements[late].name;
                Some(format!(
                    "it is not late itself: its bound depends on `{name}`, which is late; see `taut explain --task \
                     {name}`"
                ))
            }
            Answer::Short(core, _) if *core != placements.placements[placement].core => {
                let cpu = model.platform().cores[*core];
                let name = placements.placements[*placements.cores[*core].members.first()?].name;
                Some(format!(
                    "core {cpu} is the first whose demand is too high, and the test stops there; see `taut explain \
                     --task {name}`"
                ))
            }
            _ => None,
        }
    }
}

/// The task with the longest execution time, other than `but`, that is due within the window that is too short.
pub(super) fn longest_due(
    placements: &Placements<'_>,
    core: usize,
    demand: &Demand,
    but: Option<usize>,
) -> Option<usize> {
    let length = demand.short.map_or(Duration::MAX, |window| window.length);
    let members = placements.cores[core].members.iter().copied();
    let due = members.filter(|&i| Some(i) != but && placements.placements[i].task.deadline <= length);
    due.max_by_key(|&i| placements.placements[i].cost)
}

/// A help text that says with which execution time a task would fit.
pub(super) fn advised(model: &Model, placement: &Placement<'_>, faults: &[Fault]) -> Option<String> {
    match placement.who {
        Who::Task(id) if deadline::may_advise(faults) => room::help(model, id),
        _ => None,
    }
}
