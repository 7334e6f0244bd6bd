// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Who decides which job of a core runs: Linux where it can do all that was proven, else a dispatcher.

use taut_model::{Executor, Model, Overrun, Scheduler};

use crate::seats::{Seats, Who};

/// Why a dispatcher decides on a core; none if Linux does. The model is the decided one: a state under a lock is a
/// resource there.
pub(crate) fn reason(model: &Model, seats: &Seats<'_>, core: usize) -> Option<String> {
    let platform = model.platform();
    if platform.scheduler == Scheduler::Edf {
        return Some(
            "jobs go by their deadlines, which Linux does not do for threads of one core".to_owned(),
        );
    }
    let here = || seats.seats.iter().filter(move |seat| seat.core == core);
    for seat in here() {
        if let Who::Server(_) = seat.who {
            return Some(format!("server `{}` has a budget", seat.name));
        }
        if let Some(section) = seat.task.sections.first() {
            let resource = &model.resources()[section.resource.index()].name;
            return Some(format!("task `{}` locks `{resource}`", seat.name));
        }
    }
    for seat in here() {
        if seat.task.budget.is_some() {
            return Some(format!("task `{}` has a budget", seat.name));
        }
        match seat.task.on_overrun {
            Overrun::KillJob => return Some(format!("late jobs of task `{}` are ended", seat.name)),
            Overrun::Demote => return Some(format!("late jobs of task `{}` are demoted", seat.name)),
            Overrun::RunOn | Overrun::SkipNext | Overrun::StopApp => {}
        }
    }
    (platform.executor == Executor::Dispatched).then(|| "the manifest asks for it".to_owned())
}
