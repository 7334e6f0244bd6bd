// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut plan`: decides, and writes taut.lock.

use std::path::Path;

use taut_model::codes;
use taut_plan::{Aim, DecisionPlan, LockError, Wish};

use crate::arguments::{Minimise, Plan, Screen};
use crate::input::Files;
use crate::outcome::{Failure, Outcome};
use crate::say::{errln, out, outln};

pub(crate) fn plan(arguments: &Plan, screen: &Screen) -> Result<Outcome, Failure> {
    let files = Files::find(&arguments.manifest)?;
    let text = files.load()?;
    let asked = Wish { minimise: arguments.minimise.map(aim), pins: arguments.pin.clone() };
    // Who only looks, looks at what there is.
    let looks = (arguments.check || arguments.why.is_some()) && asked.is_empty();
    let text = if looks { text } else { text.wishing(asked) };
    if let (Some(name), Some(model)) = (&arguments.why, text.model()) {
        let why = taut_plan::why_channel(model, text.wish(), name);
        out!("{}", why.map_err(|error| Failure::Usage(error.to_string()))?);
        return Ok(Outcome::Yes);
    }
    let planned = text.planned()?;
    text.show(planned.as_ref(), screen);
    let Some(planned) = planned else {
        return Ok(Outcome::Usage);
    };
    if !planned.plan.proven {
        errln!("not proven: {} is not written", files.lock.display());
        return Ok(Outcome::No);
    }
    let new = planned.plan;
    let lock = new.to_lock().map_err(|error| Failure::Internal(error.to_string()))?;
    let old = files.lock_text();
    if old.as_ref() == Some(&lock) {
        outln!("{} is up to date", files.lock.display());
        return Ok(Outcome::Yes);
    }
    let (mut code, mut state) = (codes::LOCK_STALE, "is out of date");
    let changes = match old.as_deref().map(taut_plan::Plan::from_lock) {
        Some(Ok(old)) => old.differences(&new),
        Some(Err(error)) => {
            if let Some(edited) = error.code() {
                (code, state) = (edited, "is not what `taut plan` wrote");
            }
            match error {
                LockError::Edited(old) => old.differences(&new),
                other => vec![other.to_string()],
            }
        }
        None => {
            state = "is missing";
            Vec::new()
        }
    };
    if arguments.check {
        errln!("error[{code}]: {} {state}; run `taut plan`", files.lock.display());
        for change in &changes {
            errln!("  {change}");
        }
        return Ok(Outcome::No);
    }
    write(&files.lock, &lock)?;
    outln!("wrote {}", files.lock.display());
    if let Some(not) = new.not_executed() {
        errln!("it is proven, and not run: this version does not execute {}", not.what);
        errln!("  help: {}", not.help);
    }
    if let Some(decision) = &new.decision {
        outln!("{}", told(decision));
    }
    for change in &changes {
        outln!("  {change}");
    }
    Ok(Outcome::Yes)
}

/// How states were decided.
fn told(decision: &DecisionPlan) -> String {
    let states = match decision.states {
        1 => "1 state decided".to_owned(),
        states => format!("{states} states decided together"),
    };
    let aim = match decision.minimised {
        Aim::Memory => "least memory",
        Aim::Response => "short responses",
        Aim::Slack => "most slack",
    };
    let best = if decision.best { "no other selection is better" } else { "the best that was found" };
    format!("{states}, for {aim}: {best}")
}

fn aim(minimise: Minimise) -> Aim {
    match minimise {
        Minimise::Memory => Aim::Memory,
        Minimise::Response => Aim::Response,
        Minimise::Slack => Aim::Slack,
    }
}

/// Writes a file whole or not at all.
pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let fresh = path.with_file_name(name);
    std::fs::write(&fresh, content).map_err(Failure::write(&fresh))?;
    std::fs::rename(&fresh, path).map_err(Failure::write(path))
}
