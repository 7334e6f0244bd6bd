// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Merges the parts of a sweep into the file that a single run would have written.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};

use taut_sweep::{Generator, Summary};

use crate::outcome::Failure;
use crate::sweep::columnar;
use crate::sweep::file::{self, Kind};
use crate::sweep::partial::Origin;

/// Merges the rows of files given in any order; every row must be there exactly once.
pub(super) fn merge(
    generator: &Generator,
    origin: &Origin,
    files: &[PathBuf],
    (out, kind): (&Path, Kind),
) -> Result<Summary, Failure> {
    let mut parts = Vec::new();
    for path in files {
        if Kind::of(path)? != Kind::Parquet {
            let why = "is not Parquet; join parts in other formats with `cat`, without the header line of each \
                 later .csv";
            return Err(Failure::Usage(format!("{} {why}", path.display())));
        }
        let mut rows = columnar::read(path, generator, origin)?;
        // A part may be empty.
        if let Some(first) = rows.next().transpose()? {
            parts.push((first, rows, path));
        }
    }
    parts.sort_by_key(|(first, ..)| first.row);
    let mut next = 0;
    let mut summary = Summary::new(generator);
    let mut all = parts.into_iter().flat_map(|(first, rest, path)| {
        std::iter::once(Ok(first)).chain(rest).map(move |row| row.map(|row| (row, path)))
    });
    let in_order = std::iter::from_fn(|| match all.next() {
        None => (next < generator.rows()).then(|| Err(missing(next, generator.rows()))),
        Some(row) => Some(row.and_then(|(row, path)| match row.row.cmp(&next) {
            Ordering::Less => {
                Err(Failure::Usage(format!("{}: row {} is a duplicate", path.display(), row.row)))
            }
            Ordering::Greater => Err(missing(next, row.row)),
            Ordering::Equal => {
                next += 1;
                summary.add(&row);
                Ok(row)
            }
        })),
    });
    file::write(out, kind, generator, origin, in_order)?;
    Ok(summary)
}

fn missing(from: u64, to: u64) -> Failure {
    Failure::Usage(match to - from {
        1 => format!("row {from} is in none of the files"),
        _ => format!("rows {from} to {} are in none of the files", to - 1),
    })
}
