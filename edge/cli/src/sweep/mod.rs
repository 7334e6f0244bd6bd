// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut sweep`: draws random systems from a generator file, and computes a row for each.

#[cfg_attr(not(feature = "parquet"), path = "no_columnar.rs")]
mod columnar;
mod file;
mod merge;
mod partial;
mod table;
mod work;

use std::path::Path;
use std::time::{Duration, Instant};

use taut_manifest::{Diagnostic, SourceText, Span};
use taut_model::Severity;
use taut_sweep::{Generator, Row, Summary};

use crate::arguments::{Format, Screen, Sweep};
use crate::attend::Attendant;
use crate::outcome::{Failure, Outcome};
use crate::say::{err, errln, out, outln};
use crate::sweep::file::Kind;
use crate::sweep::partial::{Origin, Partial};

/// If the process is killed, it loses at most the rows of this interval.
const FLUSHED: Duration = Duration::from_millis(200);

pub(crate) fn sweep(arguments: &Sweep, screen: &Screen) -> Result<Outcome, Failure> {
    let text = crate::input::read(&arguments.generator)?;
    let digest = taut_plan::digest(&text);
    let text = String::from_utf8(text).map_err(|error| {
        let (path, at) = (arguments.generator.display(), error.utf8_error().valid_up_to());
        Failure::Usage(format!("{path} is not UTF-8 text: byte {at}"))
    })?;
    let generator = match Generator::parse(&text) {
        Ok(generator) => generator,
        Err(faults) => {
            show(&arguments.generator, text, faults, screen);
            return Ok(Outcome::Usage);
        }
    };
    let generator = match arguments.seed {
        Some(seed) => generator.with_seed(seed),
        None => generator,
    };
    let origin = Origin { digest, seed: generator.seed() };
    let kind = arguments.out.as_deref().map(Kind::of).transpose()?;
    match arguments.out.as_deref() {
        Some(out) if out.is_dir() => {
            return Err(Failure::Usage(format!("{} is a folder", out.display())));
        }
        Some(out) if out.exists() && !arguments.force => {
            return Err(Failure::Usage(format!("{} exists; `--force` replaces it", out.display())));
        }
        _ => {}
    }
    let made = match (arguments.out.as_deref().zip(kind), &arguments.merge[..]) {
        (Some((out, kind)), []) => keep(arguments, &generator, &origin, (out, kind), screen)?,
        (Some((out, kind)), files) => {
            let summary = merge::merge(&generator, &origin, files, (out, kind))?;
            Made { summary, complete: true }
        }
        (None, _) => only_look(arguments, &generator, screen)?,
    };
    let reported = table::SweepReport {
        generator: &generator,
        origin: &origin,
        rows: if arguments.merge.is_empty() { arguments.shard.rows(&generator) } else { 0..generator.rows() },
        summary: &made.summary,
        out: arguments.out.as_deref().filter(|_| made.complete),
    };
    match arguments.format {
        Format::Human => out!("{}", reported.human()),
        Format::Json => outln!("{}", reported.json()),
    }
    Ok(if made.complete { Outcome::Yes } else { Outcome::Interrupted })
}

/// The rows made so far as a summary, and whether they are all.
struct Made {
    summary: Summary,
    complete: bool,
}

/// Makes rows and keeps them in a file beside `out` until all are there.
fn keep(
    arguments: &Sweep,
    generator: &Generator,
    origin: &Origin,
    (out, kind): (&Path, Kind),
    screen: &Screen,
) -> Result<Made, Failure> {
    let range = arguments.shard.rows(generator);
    let mut partial = Partial::open(out, generator, origin, &range, arguments.resume, arguments.force)?;
    let done = partial.rows();
    if done > 0 && done < range.end - range.start {
        errln!("continuing after {done} of {} rows", range.end - range.start);
    }
    let mut flushed = Instant::now();
    let left = range.start + done..range.end;
    let made = make(arguments, generator, left, screen, &mut |row| {
        if let Some(row) = row {
            partial.add(generator, &row)?;
        }
        if flushed.elapsed() > FLUSHED {
            flushed = Instant::now();
            partial.flush()?;
        }
        Ok(())
    });
    partial.flush()?;
    made?;
    let mut summary = Summary::new(generator);
    let complete = partial.rows() == range.end - range.start;
    if complete {
        let rows = partial.read(generator)?.inspect(|row| {
            if let Ok(row) = row {
                summary.add(row);
            }
        });
        // If this fails, no row is lost: `--resume` writes the file again.
        file::write(out, kind, generator, origin, rows)?;
        partial.remove()?;
    } else {
        for row in partial.read(generator)? {
            summary.add(&row?);
        }
        errln!(
            "interrupted: {} of {} rows are kept in {}; `--resume` continues",
            partial.rows(),
            range.end - range.start,
            partial.path().display()
        );
    }
    Ok(Made { summary, complete })
}

fn only_look(arguments: &Sweep, generator: &Generator, screen: &Screen) -> Result<Made, Failure> {
    let mut summary = Summary::new(generator);
    let range = arguments.shard.rows(generator);
    let complete = make(arguments, generator, range, screen, &mut |row| {
        row.iter().for_each(|row| summary.add(row));
        Ok(())
    })?;
    if !complete {
        errln!("interrupted; without `--out` no row is kept");
    }
    Ok(Made { summary, complete })
}

/// Makes rows and passes them to `each`, which is also called regularly without a row, and shows the progress.
/// Returns whether all rows were made.
fn make(
    arguments: &Sweep,
    generator: &Generator,
    range: std::ops::Range<u64>,
    screen: &Screen,
    each: &mut dyn FnMut(Option<Row>) -> Result<(), Failure>,
) -> Result<bool, Failure> {
    let mut attendant = Attendant::new(screen)?;
    let jobs = match arguments.jobs {
        Some(jobs) => usize::from(jobs),
        None => std::thread::available_parallelism().map_or(1, usize::from),
    };
    let wanted = range.end - range.start;
    let mut made = 0;
    let result = work::rows(generator, range, jobs, &mut |row| {
        made += u64::from(row.is_some());
        each(row)?;
        let spent = attendant.spent();
        attendant.report(|| table::progress(made, wanted, spent));
        Ok(!attendant.interrupted())
    });
    attendant.done();
    result
}

/// Shows the faults of a generator file on stderr.
fn show(path: &Path, text: String, faults: Vec<taut_sweep::GeneratorFault>, screen: &Screen) {
    let source = SourceText { name: path.display().to_string(), text };
    let diagnostic = |fault: taut_sweep::GeneratorFault| Diagnostic {
        code: fault.code,
        severity: Severity::Error,
        message: fault.message,
        primary: Span { file: 0, range: fault.range, text: fault.label },
        secondary: Vec::new(),
        notes: Vec::new(),
        help: fault.help,
    };
    let count = faults.len();
    let diagnostics: Vec<_> = faults.into_iter().map(diagnostic).collect();
    err!("{}", taut_manifest::render(&diagnostics, &[&source], screen.color_err, screen.width));
    errln!("{count} error{}", if count == 1 { "" } else { "s" });
}
