// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut export`: the tasks of a plan in another tool's language.

use taut_exchange::Target;
use taut_plan::Plan;

use crate::arguments::{Export, Screen};
use crate::import::{put, tell};
use crate::input::Files;
use crate::outcome::{Failure, Outcome};

pub(crate) fn export(arguments: &Export, screen: &Screen) -> Result<Outcome, Failure> {
    let language = Target::ALL.iter().find(|(name, _)| *name == arguments.to);
    let Some((_, target)) = language else {
        let known: Vec<_> = Target::ALL.iter().map(|(name, _)| *name).collect();
        return Err(Failure::Usage(format!("--to {}: written are {}", arguments.to, known.join(", "))));
    };
    let text = Files::find(&arguments.manifest)?.load()?;
    let Some(model) = text.model() else {
        text.show(None, screen);
        return Ok(Outcome::Usage);
    };
    let planned = text.plan(model)?;
    let set = Plan::task_set(&planned.model).map_err(|faults| {
        let first = faults.first().map_or_else(String::new, |fault| fault.what.to_string());
        Failure::Usage(format!("this application is no set of tasks: {first}"))
    })?;
    let exported = taut_exchange::export(model, &set, *target);
    put(&exported.text, arguments.output.as_deref(), arguments.force)?;
    tell(&exported.lost, None);
    Ok(Outcome::Yes)
}
