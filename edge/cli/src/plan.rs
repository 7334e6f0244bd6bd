// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut plan`: decides, and writes taut.lock.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;

use taut_manifest::SourceText;
use taut_model::codes;
use taut_plan::{Aim, DecisionPlan, Input, Overrides, PlanTextError, digest};
use taut_planner::Planned;

use crate::arguments::{Minimise, Plan, Screen};
use crate::input::Files;
use crate::outcome::{Failure, Outcome};
use crate::say::{errln, out, outln};

pub(crate) fn plan(arguments: &Plan, screen: &Screen) -> Result<Outcome, Failure> {
    let files = Files::find(&arguments.manifest)?;
    let text = files.load()?;
    let asked = Overrides { minimise: arguments.minimise.map(aim), pins: arguments.pin.clone() };
    // A command that only inspects uses the requests in the lock.
    let looks = (arguments.check || arguments.why.is_some()) && asked.is_empty();
    let text = if looks { text } else { text.with_overrides(asked) };
    if let (Some(name), Some(model)) = (&arguments.why, text.model()) {
        let why = taut_planner::why_channel(model, text.overrides(), name);
        out!("{}", why.map_err(|error| Failure::Usage(error.to_string()))?);
        return Ok(Outcome::Yes);
    }
    let mut planned = text.planned()?;
    let denied = arguments.denied.judge(&text, &mut planned);
    text.show(planned.as_ref(), screen);
    let Some(planned) = planned else {
        return Ok(Outcome::Usage);
    };
    if !planned.plan.proven {
        errln!("not proven: {} is not written", files.lock.display());
        return Ok(Outcome::No);
    }
    if denied {
        errln!("denied: {}, so {} is not written", arguments.denied, files.lock.display());
        return Ok(Outcome::No);
    }
    let new = planned.plan;
    let lock = new.to_lock().map_err(|error| Failure::Internal(error.to_string()))?;
    let old = files.lock_text();
    if old.as_ref() == Some(&lock) {
        outln!("{} is up to date", files.lock.display());
        return Ok(Outcome::Yes);
    }
    let Stale { code, state, changes } = Stale::of(old.as_deref(), &new);
    if arguments.check {
        errln!("error[{code}]: {} {state}; run `taut plan`", files.lock.display());
        for change in &changes {
            errln!("  {change}");
        }
        return Ok(Outcome::No);
    }
    write(&files.lock, &lock)?;
    outln!("wrote {}", files.lock.display());
    match new.basis().map_or(0, |basis| basis.guesses) {
        0 => {}
        1 => outln!("  it rests on 1 guess, which `taut check` names"),
        guesses => outln!("  it rests on {guesses} guesses, which `taut check` names"),
    }
    if let Some(not) = new.not_executed() {
        errln!("the plan is proven, but cannot run: this version does not execute {}", not.what);
        errln!("  help: {}", not.help);
    }
    if let Some(decision) = &new.decision {
        outln!("{}", reported(decision));
    }
    for change in &changes {
        outln!("  {change}");
    }
    Ok(Outcome::Yes)
}

/// The text of the lock for a new manifest, which is a file `taut.toml` in the lock's folder; `None` if the manifest has faults
/// or is not proven.
pub(crate) fn fresh(manifest: &str) -> Option<String> {
    let name = "taut.toml".to_owned();
    let source = SourceText { name: name.clone(), text: manifest.to_owned() };
    let model = taut_manifest::load(&source, &[]).model?;
    let input = Input { path: name, hash: digest(manifest.as_bytes()) };
    let plan = Planned::make(&model, vec![input]).plan;
    if plan.proven { plan.to_lock().ok() } else { None }
}

/// A lock that is not that of the new plan.
struct Stale {
    code: String,
    /// What is wrong with it, as the end of a sentence.
    state: &'static str,
    changes: Vec<String>,
}

impl Stale {
    fn of(lock: Option<&str>, new: &taut_plan::Plan) -> Self {
        let stale = codes::LOCK_STALE.to_string();
        match lock.map(taut_plan::Plan::from_lock) {
            None => Self { code: stale, state: "is missing", changes: Vec::new() },
            Some(Ok(old)) => Self { code: stale, state: "is out of date", changes: old.differences(new) },
            Some(Err(error)) => {
                let (code, state) = match error.code() {
                    Some(edited) => (edited.to_owned(), "is not what `taut plan` wrote"),
                    None => (stale, "is out of date"),
                };
                let changes = match error {
                    PlanTextError::Edited(old) => old.differences(new),
                    other => vec![other.to_string()],
                };
                Self { code, state, changes }
            }
        }
    }
}

/// How the mechanisms of states were decided.
fn reported(decision: &DecisionPlan) -> String {
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
    let mut file = create(&fresh).map_err(Failure::write(&fresh))?;
    file.write_all(content.as_ref()).map_err(Failure::write(&fresh))?;
    std::fs::rename(&fresh, path).map_err(Failure::write(path))
}

/// Creates a file that replaces another one when it is complete. It removes whatever is in its place, left by a
/// killed command or put there by somebody: so it never writes through a link, and never waits at a pipe.
pub(crate) fn create(fresh: &Path) -> std::io::Result<File> {
    match std::fs::remove_file(fresh) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => File::create_new(fresh),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_through_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (path, fresh) = (folder.path().join("taut.lock"), folder.path().join("taut.lock.new"));
        let target = folder.path().join("target");
        std::fs::write(&target, "precious").unwrap();
        let makers: [&dyn Fn(); 4] = [
            &|| std::fs::write(&fresh, "of a command that was killed").unwrap(),
            &|| std::fs::hard_link(&target, &fresh).unwrap(),
            &|| std::os::unix::fs::symlink(&target, &fresh).unwrap(),
            &|| assert!(std::process::Command::new("mkfifo").arg(&fresh).status().unwrap().success()),
        ];
        for (which, make) in makers.into_iter().enumerate() {
            make();
            let text = format!("plan {which}");
            write(&path, &text).unwrap_or_else(|_| panic!("{which}"));
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
            assert!(std::fs::symlink_metadata(&path).unwrap().is_file() && !fresh.exists());
            assert_eq!(std::fs::read_to_string(&target).unwrap(), "precious", "{which}");
        }
        std::fs::create_dir(&fresh).unwrap();
        assert!(matches!(write(&path, ""), Err(Failure::Write(named, _)) if named == fresh));
    }
}
