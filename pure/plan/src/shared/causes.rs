// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Whom a task waits for, and what would help.

use taut_analysis::multi::Status;
use taut_analysis::uni::edf::demand::Demand;
use taut_model::{Fault, Model};
use taut_time::Duration;

use super::Shared;
use super::choose::Answer;
use super::tell::parts;
use crate::seats::{Seat, Seats, Who};
use crate::{room, timing};

impl Shared {
    /// The task and the resource with the section that a task waits longest for, of another; the resource past the last is
    /// the core.
    pub(crate) fn blocked_by(&self, seats: &Seats<'_>, seat: usize) -> Option<(usize, usize)> {
        match &self.answer {
            Answer::Bounds(bounds, ..) => {
                let waits = parts(&bounds.tasks[seat]);
                let (_, witness, _) = waits[..3].iter().max_by_key(|(.., part)| *part)?;
                let resource = witness.resource?;
                let longest = || {
                    let section = |other: &usize| {
                        let of = seats.seats[*other].task.sections.iter();
                        of.filter(|s| s.resource.index() == resource).map(|s| s.longest).max()
                    };
                    let others =
                        (0..seats.seats.len()).filter(|&i| seats.seats[i].core != seats.seats[seat].core);
                    others.filter(|other| section(other).is_some()).max_by_key(section)
                };
                witness.task.or_else(longest).map(|task| (task, resource))
            }
            Answer::Kept(Ok(due), _) => due[seat].response.blocked_by,
            Answer::Short(core, demand) if *core == seats.seats[seat].core => demand.short?.blocked_by,
            _ => None,
        }
    }

    /// The task that delays a task longest, of its core.
    pub(crate) fn delayed_by(&self, seats: &Seats<'_>, seat: usize) -> Option<usize> {
        match &self.answer {
            Answer::Bounds(bounds, ..) => bounds.tasks[seat].witnesses.interference.task,
            Answer::Short(core, demand) => longest_due(seats, *core, demand, Some(seat)),
            _ => None,
        }
    }

    /// Why nothing is proven of a task that is not late itself: another is, on which its bound rests.
    pub(crate) fn rests_on(&self, model: &Model, seats: &Seats<'_>, seat: usize) -> Option<String> {
        match &self.answer {
            Answer::Bounds(bounds, _, false) if bounds.tasks[seat].status == Status::Depends => {
                let late = bounds.tasks.iter().position(|task| task.status == Status::Passes)?;
                let name = seats.seats[late].name;
                Some(format!(
                    "it is not late itself: its bound rests on `{name}`, which is; see `taut explain --task {name}`"
                ))
            }
            Answer::Short(core, _) if *core != seats.seats[seat].core => {
                let cpu = model.platform().cores[*core];
                let name = seats.seats[*seats.cores[*core].members.first()?].name;
                Some(format!(
                    "core {cpu} asks for too much first, and no other is looked at; see `taut explain --task {name}`"
                ))
            }
            _ => None,
        }
    }
}

/// The longest task that is due within the window that is too short.
pub(super) fn longest_due(
    seats: &Seats<'_>,
    core: usize,
    demand: &Demand,
    but: Option<usize>,
) -> Option<usize> {
    let length = demand.short.map_or(Duration::MAX, |window| window.length);
    let members = seats.cores[core].members.iter().copied();
    let due = members.filter(|&i| Some(i) != but && seats.seats[i].task.deadline <= length);
    due.max_by_key(|&i| seats.seats[i].cost)
}

/// With which execution time a task would fit.
pub(super) fn advised(model: &Model, seat: &Seat<'_>, faults: &[Fault]) -> Option<String> {
    match seat.who {
        Who::Task(id) if timing::may_advise(faults) => room::help(model, id),
        _ => None,
    }
}
