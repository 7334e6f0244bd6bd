// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut import`: a task set of another tool as a manifest.

use std::path::Path;

use taut_exchange::{Lost, Options, Source};

use crate::arguments::Import;
use crate::outcome::{Failure, Outcome};
use crate::plan::write;

pub(crate) fn import(arguments: &Import) -> Result<Outcome, Failure> {
    let path = &arguments.file;
    let bytes = std::fs::read(path).map_err(Failure::read(path))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::Usage(format!("{} is not UTF-8 text: byte {at}", path.display()))
    })?;
    if arguments.unit.is_some_and(taut_time::Duration::is_zero) {
        return Err(Failure::Usage("--unit 0s: times of that unit are none".into()));
    }
    let source = arguments.from.as_deref().map(named).transpose()?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let options = Options { source, unit: arguments.unit, name };
    let imported = taut_exchange::import(&text, &options)
        .map_err(|error| Failure::Usage(format!("{}:{error}", path.display())))?;
    put(&imported.manifest, arguments.output.as_deref(), arguments.force)?;
    tell(&imported.lost, Some(path));
    Ok(Outcome::Yes)
}

fn named(name: &str) -> Result<Source, Failure> {
    let found = Source::ALL.iter().find(|(known, _)| *known == name);
    found.map(|(_, source)| *source).ok_or_else(|| {
        let known: Vec<_> = Source::ALL.iter().map(|(name, _)| *name).collect();
        Failure::Usage(format!("--from {name}: read are {}", known.join(", ")))
    })
}

/// Into a file, which must be new, or on stdout.
pub(crate) fn put(text: &str, output: Option<&Path>, force: bool) -> Result<(), Failure> {
    let Some(path) = output else {
        print!("{text}");
        return Ok(());
    };
    if path.exists() && !force {
        return Err(Failure::Usage(format!("{} exists; `--force` replaces it", path.display())));
    }
    write(path, text)?;
    eprintln!("wrote {}", path.display());
    Ok(())
}

/// What could not be carried over, on stderr.
pub(crate) fn tell(lost: &[Lost], path: Option<&Path>) {
    if lost.is_empty() {
        return;
    }
    eprintln!("not carried over as it is:");
    for item in lost {
        match path.filter(|_| item.at.is_some()) {
            Some(path) => eprintln!("  {}:{item}", path.display()),
            None => eprintln!("  {item}"),
        }
    }
}
