// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut export`: writes the tasks of a plan in another tool's language.

use serde_json::json;
use taut_exchange::{ExportOptions, Exported, Target};
use taut_model::{Fault, KeyPath, Model, codes};

use crate::arguments::{Export, Format, Screen};
use crate::import::{SCHEMA_VERSION, free, put};
use crate::input::Files;
use crate::outcome::{Failure, Outcome};
use crate::plan::write;
use crate::say::outln;

/// How many places of one loss are shown; the others are only counted.
const PLACES: usize = 6;

pub(crate) fn export(arguments: &Export, screen: &Screen) -> Result<Outcome, Failure> {
    let language = Target::ALL.iter().find(|(name, _)| *name == arguments.to);
    let Some((language, target)) = language else {
        let known: Vec<_> = Target::ALL.iter().map(|(name, _)| *name).collect();
        return Err(Failure::Usage(format!(
            "--to {}: unknown language; use {}",
            arguments.to,
            known.join(", ")
        )));
    };
    let text = Files::find(&arguments.manifest)?.load()?;
    let Some(model) = text.model() else {
        text.show(None, screen);
        return Ok(Outcome::Usage);
    };
    let output = arguments.output.as_deref();
    free(output, arguments.force)?;
    let planned = text.plan(model)?;
    let set = taut_planner::task_set(&planned.model).map_err(|faults| {
        let first = faults.first().map_or_else(String::new, |fault| fault.what.to_string());
        Failure::Usage(format!("this application cannot be exported as a set of tasks: {first}"))
    })?;
    let core = arguments.core.map(|cpu| core(model, cpu)).transpose()?;
    if core.is_some_and(|core| set.on_core(core).next().is_none()) {
        return Err(Failure::Usage(format!(
            "--core {}: no task runs on that core",
            arguments.core.unwrap_or_default()
        )));
    }
    if arguments.duration.is_some_and(taut_time::Duration::is_zero) {
        return Err(Failure::Usage("--for 0s: the run needs a duration above 0".into()));
    }
    let options = ExportOptions { target: *target, core, duration: arguments.duration };
    let exported = taut_exchange::export_with(model, &set, &options);
    let faults = faults(&exported);
    match arguments.format {
        Format::Human => {
            put(&exported.text, output)?;
            text.report(&faults, screen);
        }
        Format::Json => {
            output.map_or(Ok(()), |output| write(output, &exported.text))?;
            let lost = exported.lost.iter().map(|lost| json!({ "place": lost.place, "what": lost.what }));
            outln!(
                "{:#}",
                json!({
                    "schema_version": SCHEMA_VERSION,
                    "language": language,
                    "output": output.map(|path| path.display().to_string()),
                    "text": if output.is_none() { Some(&exported.text) } else { None },
                    "lost": lost.collect::<Vec<_>>(),
                    "diagnostics": text.json_of(&faults)["diagnostics"],
                })
            );
        }
    }
    Ok(Outcome::Yes)
}

/// The position of a CPU among the cores.
fn core(model: &Model, cpu: u16) -> Result<usize, Failure> {
    let cpus: Vec<u16> = model.cores().map(|core| model.cpu(core)).collect();
    cpus.iter().position(|one| *one == cpu).ok_or_else(|| {
        let known: Vec<_> = cpus.iter().map(u16::to_string).collect();
        Failure::Usage(format!("--core {cpu}: no such core; the cores are {}", known.join(", ")))
    })
}

/// One fault per kind of loss, at the first of its places; the others become its secondary places.
fn faults(exported: &Exported) -> Vec<Fault> {
    let mut kinds: Vec<(&str, Vec<&str>)> = Vec::new();
    for lost in &exported.lost {
        let place = lost.place.as_deref().unwrap_or_default();
        match kinds.iter_mut().find(|(what, _)| *what == lost.what) {
            Some((_, places)) => places.push(place),
            None => kinds.push((&lost.what, vec![place])),
        }
    }
    let fault = |(what, places): (&str, Vec<&str>)| {
        let (first, others) = places.split_first()?;
        let fault =
            Fault::error(codes::NOT_CARRIED_OVER, what.to_owned(), KeyPath::value(*first), *first).warning();
        let shown = others.iter().take(PLACES - 1);
        let fault = shown.fold(fault, |fault, place| fault.also(KeyPath::value(*place), *place));
        Some(match others.len().checked_sub(PLACES - 1) {
            Some(more @ 1..) => fault.note(format!("and at {more} more places: `--format json` lists all")),
            _ => fault,
        })
    };
    kinds.into_iter().filter_map(fault).collect()
}
