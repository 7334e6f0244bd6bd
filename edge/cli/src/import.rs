// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut import`: writes a task set of another tool as a manifest.

use std::io::Read;
use std::path::Path;

use serde_json::{Value, json};
use taut_exchange::{Imported, Options, SourceFormat};

use crate::arguments::{Format, Import};
use crate::outcome::{Failure, Outcome};
use crate::plan::write;
use crate::say::{errln, out, outln};

/// The version of the report's format.
pub(crate) const SCHEMA_VERSION: u32 = 1;
/// A larger file is no task set that somebody wrote.
const BYTES_MAX: u64 = 256 << 20;

pub(crate) fn import(arguments: &Import) -> Result<Outcome, Failure> {
    let path = &arguments.file;
    let stdin = path.as_os_str() == "-";
    if arguments.unit.is_some_and(taut_time::Duration::is_zero) {
        return Err(Failure::Usage("--unit 0s: the unit must be above 0".into()));
    }
    let source = match arguments.from.as_deref() {
        None | Some("auto") => None,
        Some(name) => Some(named(name)?),
    };
    free(arguments.output.as_deref(), arguments.force)?;
    let shown = if stdin { "standard input".to_owned() } else { path.display().to_string() };
    let text = text(read(path, stdin)?, &shown)?;
    let name = if stdin {
        String::new()
    } else {
        path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    };
    let options = Options { source, unit: arguments.unit, name };
    let imported = taut_exchange::import(&text, &options).map_err(|error| {
        let colon = if error.at.is_some() { "" } else { " " };
        Failure::Usage(format!("{shown}:{colon}{error}"))
    })?;
    match arguments.format {
        Format::Human => {
            put(&imported.manifest, arguments.output.as_deref())?;
            announce(&imported, &shown);
        }
        Format::Json => {
            let output = arguments.output.as_deref();
            output.map_or(Ok(()), |output| write(output, &imported.manifest))?;
            outln!("{:#}", report(&imported, &shown, output));
        }
    }
    Ok(Outcome::Yes)
}

fn read(path: &Path, stdin: bool) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let input: Box<dyn Read> = match stdin {
        true => Box::new(std::io::stdin()),
        false => Box::new(std::fs::File::open(path).map_err(Failure::read(path))?),
    };
    input.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(Failure::read(path))?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(Failure::Usage(format!("{}: more than {} MiB", path.display(), BYTES_MAX >> 20)));
    }
    Ok(bytes)
}

/// Decodes the bytes as text; if they are not text, the error says what they may be.
fn text(bytes: Vec<u8>, shown: &str) -> Result<String, Failure> {
    let other = match bytes.as_slice() {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("UTF-16"),
        [0x1f, 0x8b, ..] => Some("gzip"),
        [b'P', b'K', 3, 4, ..] => Some("a zip archive"),
        _ => None,
    };
    if let Some(other) = other {
        let help = if other == "UTF-16" {
            ": convert it, as with `iconv -f UTF-16 -t UTF-8`"
        } else {
            ": unpack it"
        };
        return Err(Failure::Usage(format!("{shown} is {other}, not UTF-8 text{help}")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let (at, bytes) = (error.utf8_error().valid_up_to(), error.as_bytes());
        let line = bytes[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        let help = "convert it, as with `iconv -f LATIN1 -t UTF-8`";
        Failure::Usage(format!("{shown} is not UTF-8 text: byte {at}, in line {line}; {help}"))
    })
}

fn named(name: &str) -> Result<SourceFormat, Failure> {
    let found = SourceFormat::ALL.iter().find(|(known, _)| *known == name);
    found.map(|(_, source)| *source).ok_or_else(|| {
        let known: Vec<_> = SourceFormat::ALL.iter().map(|(name, _)| *name).collect();
        Failure::Usage(format!("--from {name}: unknown language; use {}, or auto", known.join(", ")))
    })
}

/// Checks that a file may be written: it does not exist yet, or `--force` allows replacing it.
pub(crate) fn free(output: Option<&Path>, force: bool) -> Result<(), Failure> {
    match output {
        Some(path) if path.exists() && !force => {
            Err(Failure::Usage(format!("{} exists; `--force` replaces it", path.display())))
        }
        _ => Ok(()),
    }
}

/// Writes into a file, or on stdout.
pub(crate) fn put(text: &str, output: Option<&Path>) -> Result<(), Failure> {
    let Some(path) = output else {
        out!("{text}");
        return Ok(());
    };
    write(path, text)?;
    errln!("wrote {}", path.display());
    Ok(())
}

/// Reports on stderr what could not be carried over.
fn announce(imported: &Imported, shown: &str) {
    errln!("read as {}", imported.source.title());
    if imported.lost.is_empty() {
        return;
    }
    errln!("not carried over as it is:");
    for item in &imported.lost {
        match item.at {
            Some(_) => errln!("  {shown}:{item}"),
            None => errln!("  {item}"),
        }
    }
}

/// The report as JSON. It contains the manifest unless that was written into a file.
fn report(imported: &Imported, shown: &str, output: Option<&Path>) -> Value {
    let lost = imported.lost.iter().map(|lost| {
        let (line, column) = lost.at.map(|at| (at.line, at.column)).unzip();
        json!({ "line": line, "column": column, "what": lost.what })
    });
    json!({
        "schema_version": SCHEMA_VERSION,
        "file": shown,
        "language": imported.source.name(),
        "output": output.map(|path| path.display().to_string()),
        "manifest": if output.is_none() { Some(&imported.manifest) } else { None },
        "lost": lost.collect::<Vec<_>>(),
    })
}
