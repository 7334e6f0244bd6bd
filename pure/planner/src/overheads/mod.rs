// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What the machine adds.

pub(crate) mod budget;
pub(crate) mod watched;

use taut_model::Model;
use taut_plan::OverheadPlan;

/// The costs that the proof of a model includes: `lock` only if a task has sections, `copy` only if a lock guards a
/// state, `device` only if a core has a device thread, as `watches` says.
pub(crate) fn overheads(model: &Model, watches: bool) -> Vec<OverheadPlan> {
    let sections = model.real_time().any(|(_, _, task)| !task.sections.is_empty());
    let states = (0..model.resources().len()).any(|at| model.guarding(at).is_some());
    let counts = |name: &str| match name {
        "lock" => sections,
        "copy" => states,
        "device" => watches,
        _ => true,
    };
    let all = model.platform().overheads.each().into_iter().filter(|(name, ..)| counts(name));
    all.map(|(name, time, source)| OverheadPlan { name: name.to_owned(), time, source }).collect()
}
