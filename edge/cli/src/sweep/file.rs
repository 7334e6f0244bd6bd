// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The file of all rows, in the format that its name determines.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use taut_sweep::{Cell, Generator, Row};

use crate::outcome::Failure;
use crate::plan;
use crate::sweep::columnar;
use crate::sweep::partial::{Origin, value};

/// A file format for tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Parquet,
    /// With a header line; empty cells have nothing between the commas.
    Csv,
    /// One JSON object per line.
    JsonLines,
}

impl Kind {
    /// The format, by the extension of a file name, if this build has it.
    pub(super) fn of(path: &Path) -> Result<Self, Failure> {
        match path.extension().and_then(|end| end.to_str()) {
            Some("parquet") => columnar::check().map(|()| Self::Parquet),
            Some("csv") => Ok(Self::Csv),
            Some("jsonl") => Ok(Self::JsonLines),
            _ => {
                let path = path.display();
                Err(Failure::Usage(format!("{path}: its name must end in .parquet, .csv or .jsonl")))
            }
        }
    }
}

/// Writes rows to a file, which then exists with all of them or not at all.
pub(super) fn write(
    path: &Path,
    kind: Kind,
    generator: &Generator,
    origin: &Origin,
    rows: impl Iterator<Item = Result<Row, Failure>>,
) -> Result<(), Failure> {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let new = PathBuf::from(new);
    let written = plan::create(&new).map_err(Failure::write(&new)).and_then(|file| match kind {
        Kind::Parquet => columnar::write(file, &new, generator, origin, rows),
        Kind::Csv => lines(file, &new, Some(head(generator)), rows, |row| comma_separated(generator, row)),
        Kind::JsonLines => lines(file, &new, None, rows, |row| object(generator, row)),
    });
    // The rows' source is removed afterwards, so the file must be on the disk, not only in a cache.
    let written = written.and_then(|file| file.sync_all().map_err(Failure::write(&new)));
    let written = written.and_then(|()| std::fs::rename(&new, path).map_err(Failure::write(path)));
    if written.is_err() {
        // A partial file is of no use. If removing it fails too, the first error is the one reported.
        let _ = std::fs::remove_file(&new);
    }
    written
}

fn lines(
    file: File,
    path: &Path,
    head: Option<String>,
    rows: impl Iterator<Item = Result<Row, Failure>>,
    line: impl Fn(&Row) -> String,
) -> Result<File, Failure> {
    let mut file = BufWriter::new(file);
    for text in head.map(Ok).into_iter().chain(rows.map(|row| Ok(line(&row?)))) {
        let text: String = text?;
        writeln!(file, "{text}").map_err(Failure::write(path))?;
    }
    file.into_inner().map_err(|error| Failure::Write(path.to_owned(), error.into_error()))
}

fn head(generator: &Generator) -> String {
    generator.columns().into_iter().map(|column| column.name).collect::<Vec<_>>().join(",")
}

fn comma_separated(generator: &Generator, row: &Row) -> String {
    let cells = generator.cells(row).into_iter().map(|cell| match cell {
        Cell::Number(number) => number.to_string(),
        Cell::Truth(truth) => truth.to_string(),
        Cell::Text(text) if text.contains([',', '"', '\n', '\r']) => {
            format!("\"{}\"", text.replace('"', "\"\""))
        }
        Cell::Text(text) => text.to_owned(),
        Cell::Nothing => String::new(),
    });
    cells.collect::<Vec<_>>().join(",")
}

fn object(generator: &Generator, row: &Row) -> String {
    let cells = generator.columns().into_iter().zip(generator.cells(row));
    // Column names need no escapes; a map would reorder them.
    let entries = cells.map(|(column, cell)| format!("\"{}\":{}", column.name, value(cell)));
    format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
}

#[cfg(all(test, not(feature = "parquet")))]
mod tests {
    use super::*;

    #[test]
    fn a_build_without_parquet_says_what_to_do() {
        let Err(Failure::Usage(why)) = Kind::of(Path::new("rows.parquet")) else { panic!("it was taken") };
        assert!(why.contains("--features parquet"), "{why}");
        assert_eq!(Kind::of(Path::new("rows.csv")).ok(), Some(Kind::Csv));
    }
}
