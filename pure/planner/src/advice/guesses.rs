// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Where the manifest guesses.

use crate::overheads::{overheads, watched};
use crate::placement::Placements;
use taut_model::{Class, Evidence, Fault, KeyPath, Model, codes};

/// A fault at each place where a manifest states a guess, or states nothing so that a default applies.
pub fn guesses(model: &Model) -> Vec<Fault> {
    let mut faults = Vec::new();
    for task in model.tasks() {
        let Class::RealTime(of) = &task.class else { continue };
        if of.wcet.source == Evidence::Guess {
            let message = format!("the execution time of task `{}` is a guess", task.name);
            let place = KeyPath::value(format!("tasks.{}.wcet.source", task.name));
            let help = "measure it, as `taut report` does in a run, and write `source = \"measured\"`";
            faults.push(Fault::error(codes::GUESSED, message, place, "not measured").help(help));
        }
    }
    faults.extend(defaults(model));
    if let Some(guessed) = names(model, Some(Evidence::Guess)) {
        let message = format!("costs of the machine are guesses: {guessed}");
        let place = KeyPath::value("platform.overheads.source");
        let text = "`source` is `\"guess\"`, or left out";
        let help = format!("{BENCH}; or write `source = \"measured\"` if they were");
        faults.push(Fault::error(codes::GUESSED, message, place, text).help(help));
    }
    faults
}

/// A fault if the manifest does not state all costs of the machine: then defaults apply, which no machine was
/// measured for. At most one.
pub fn defaults(model: &Model) -> Vec<Fault> {
    let fault = |defaults| {
        let message = format!("the manifest does not state costs of the machine: {defaults}");
        let place = KeyPath::key("platform.overheads");
        let text = "the plan uses defaults, which are guesses";
        Fault::error(codes::GUESSED, message, place, text).help(BENCH)
    };
    names(model, None).map(fault).into_iter().collect()
}

const BENCH: &str = "let `taut bench --out machine.toml` measure them, and give that with `--overlay`";

/// The costs of the machine with this source that the proof includes; `None` if there is none.
fn names(model: &Model, source: Option<Evidence>) -> Option<String> {
    // Without a real-time task nothing is proven, and no cost counts.
    model.real_time().next()?;
    let by_device = model.real_time().any(|(_, _, task)| task.arrival.device().is_some());
    let watches = by_device && watched::any(model, &Placements::choose(model, None));
    let all = overheads(model, watches);
    let of = all.iter().filter(|overhead| overhead.source == source);
    let names: Vec<String> = of.map(|overhead| format!("`{}`", overhead.name)).collect();
    (!names.is_empty()).then(|| names.join(", "))
}
