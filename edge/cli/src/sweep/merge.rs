// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Parts of a sweep to the file that a single run would have written.

use std::path::{Path, PathBuf};

use taut_sweep::{Generator, Row, Summary};

use crate::outcome::Failure;
use crate::sweep::columnar;
use crate::sweep::file::{self, Kind};
use crate::sweep::partial::Origin;

/// Joins the rows of files, given in any order; all rows must be there, each once.
pub(super) fn merge(
    generator: &Generator,
    origin: &Origin,
    files: &[PathBuf],
    (out, kind): (&Path, Kind),
) -> Result<Summary, Failure> {
    let mut parts: Vec<(Vec<Row>, &Path)> = Vec::new();
    for path in files {
        if Kind::of(path)? != Kind::Parquet {
            let why =
                "is not Parquet; parts in other languages are joined by `cat`, .csv without the later heads";
            return Err(Failure::Usage(format!("{} {why}", path.display())));
        }
        parts.push((columnar::read(path, generator, origin)?, path));
    }
    parts.sort_by_key(|(rows, _)| rows.first().map(|row| row.row));
    let mut next = 0;
    for (rows, path) in &parts {
        for row in rows {
            if row.row < next {
                return Err(Failure::Usage(format!("{}: row {} is there before", path.display(), row.row)));
            }
            if row.row > next {
                return Err(missing(next, row.row));
            }
            next += 1;
        }
    }
    if next < generator.rows() {
        return Err(missing(next, generator.rows()));
    }
    let rows = || parts.iter().flat_map(|(rows, _)| rows);
    file::write(out, kind, generator, origin, rows().map(|row| Ok(row.clone())))?;
    let mut summary = Summary::new(generator);
    rows().for_each(|row| summary.add(row));
    Ok(summary)
}

fn missing(from: u64, to: u64) -> Failure {
    Failure::Usage(match to - from {
        1 => format!("row {from} is in none of the files"),
        _ => format!("rows {from} to {} are in none of the files", to - 1),
    })
}
