// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Where the manifest guesses.

use crate::overheads::overheads;
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
    if model.real_time().next().is_none() {
        return faults;
    }
    let all = overheads(model);
    let names = |source: Option<Evidence>| {
        let of = all.iter().filter(|overhead| overhead.source == source);
        of.map(|overhead| format!("`{}`", overhead.name)).collect::<Vec<_>>().join(", ")
    };
    let bench = "let `taut bench --out machine.toml` measure them, and give that with `--overlay`";
    let (defaults, guessed) = (names(None), names(Some(Evidence::Guess)));
    if !defaults.is_empty() {
        let message = format!("the manifest does not state costs of the machine: {defaults}");
        let place = KeyPath::key("platform.overheads");
        faults.push(
            Fault::error(codes::GUESSED, message, place, "the plan uses defaults, which are guesses")
                .help(bench),
        );
    }
    if !guessed.is_empty() {
        let message = format!("costs of the machine are guesses: {guessed}");
        let place = KeyPath::value("platform.overheads.source");
        let text = "`source` is `\"guess\"`, or left out";
        let help = format!("{bench}; or write `source = \"measured\"` if they were");
        faults.push(Fault::error(codes::GUESSED, message, place, text).help(help));
    }
    faults
}
