// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which scheduler decides on a core: Linux if it can do all that the proof relies on, else a dispatcher.

use taut_model::{Executor, Fault, KeyPath, Model, Overrun, SchedulingPolicy, codes};

use crate::placement::{Placements, Who};

/// Why a dispatcher decides on a core; none if Linux does. `model` is the decided one, in which a state under a
/// lock is a resource.
pub(crate) fn reason(model: &Model, placements: &Placements<'_>, core: usize) -> Option<String> {
    let platform = model.platform();
    if platform.scheduler == SchedulingPolicy::Edf {
        return Some(
            "jobs go by their deadlines, which Linux does not do for threads of one core".to_owned(),
        );
    }
    let here = || placements.placements.iter().filter(move |placement| placement.core == core);
    for placement in here() {
        if let Who::Server(_) = placement.who {
            return Some(format!("server `{}` has a budget", placement.name));
        }
        if let Some(section) = placement.task.sections.first() {
            let resource = &model.resources()[section.resource.index()].name;
            return Some(format!("task `{}` locks `{resource}`", placement.name));
        }
    }
    for placement in here() {
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

/// Refuses a task that a device releases on a core with a dispatcher: its thread waits for the device by itself.
pub(crate) fn devices(model: &Model, placements: &Placements<'_>, faults: &mut Vec<Fault>) {
    for placement in &placements.placements {
        let Some(device) = placement.task.arrival.device() else { continue };
        let Some(reason) = reason(model, placements, placement.core) else { continue };
        let cpu = model.platform().cores[placement.core];
        let message = format!("device `{device}` cannot release task `{}` on CPU {cpu}", placement.name);
        let place = KeyPath::value(format!("tasks.{}.arrival.device", placement.name));
        faults.push(
            Fault::error(
                codes::EXECUTOR_MISFIT,
                message,
                place,
                "Linux must schedule the task that waits for it",
            )
            .note(format!("a dispatcher decides on this core: {reason}"))
            .help("put the task on another core with `core`, and send what it reads to this one"),
        );
    }
}
