// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which scheduler decides on a core: Linux if it can do all that the proof relies on, else a dispatcher.

use taut_model::{Executor, Model, Overrun, SchedulingPolicy};

use crate::placement::{Placement, Placements, Who};

/// Why a dispatcher decides on a core; none if Linux does. `model` is the decided one, in which a state under a
/// lock is a resource.
pub(crate) fn reason(model: &Model, placements: &Placements<'_>, core: usize) -> Option<String> {
    reason_of(model, placements.placements.iter().filter(|placement| placement.core == core))
}

/// The same, by the placements on the core.
pub(crate) fn reason_of<'a>(
    model: &Model,
    here: impl Iterator<Item = &'a Placement<'a>> + Clone,
) -> Option<String> {
    let platform = model.platform();
    if platform.scheduler == SchedulingPolicy::Edf {
        return Some(
            "jobs go by their deadlines, which Linux does not do for threads of one core".to_owned(),
        );
    }
    for placement in here.clone() {
        if let Who::Server(_) = placement.who {
            return Some(format!("server `{}` has a budget", placement.name));
        }
        if let Some(section) = placement.task.sections.first() {
            let resource = &model.resources()[section.resource.index()].name;
            return Some(format!("task `{}` locks `{resource}`", placement.name));
        }
    }
    for placement in here {
        if placement.task.budget.is_some() {
            return Some(format!("task `{}` has a budget", placement.name));
        }
        match placement.task.on_overrun {
            Overrun::KillJob => return Some(format!("late jobs of task `{}` are ended", placement.name)),
            Overrun::Demote => return Some(format!("late jobs of task `{}` are demoted", placement.name)),
            Overrun::RunOn | Overrun::SkipNext | Overrun::StopApp => {}
        }
    }
    (platform.executor == Executor::Dispatched).then(|| "the manifest asks for it".to_owned())
}
