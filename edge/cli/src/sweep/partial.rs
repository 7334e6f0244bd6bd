// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The rows of an unfinished run: a text file beside the output file, to which the run only appends lines. The first
//! line gives the origin of the rows; each other line is a row, as a JSON list of its cells. An interruption leaves
//! complete lines, and at most one incomplete line, which is removed when the run resumes.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use taut_sweep::{Cell, Generator, Row};

use crate::outcome::Failure;

/// What the rows were made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    /// The digest of the generator file.
    pub(super) digest: String,
    pub(super) seed: u64,
}

/// The rows of a run, open for appending.
#[derive(Debug)]
pub(super) struct Partial {
    path: PathBuf,
    file: BufWriter<File>,
    rows: u64,
}

fn head(origin: &Origin, range: &Range<u64>) -> Value {
    json!({
        "taut-sweep": env!("CARGO_PKG_VERSION"),
        "generator": origin.digest,
        "seed": origin.seed,
        "from": range.start,
        "to": range.end,
    })
}

impl Partial {
    /// Starts the file, or continues after the rows that it has.
    pub(super) fn open(
        out: &Path,
        generator: &Generator,
        origin: &Origin,
        range: &Range<u64>,
        resume: bool,
        force: bool,
    ) -> Result<Self, Failure> {
        let mut path = out.as_os_str().to_owned();
        path.push(".part");
        let path = PathBuf::from(path);
        let there = path.exists();
        if there && !resume && !force {
            let why = "holds the rows of an interrupted run; `--resume` continues it, `--force` starts over";
            return Err(Failure::Usage(format!("{} {why}", path.display())));
        }
        let file = OpenOptions::new().read(true).append(true).create(true).open(&path);
        let file = file.map_err(Failure::write(&path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::Usage(format!("{}: another run is writing it", path.display())));
            }
            // Some file systems have no locks; there, nothing detects a second run.
            Err(TryLockError::Error(_)) => {}
        }
        let mut partial = Self { path, file: BufWriter::new(file), rows: 0 };
        let head = head(origin, range);
        match there && resume {
            true => partial.go_on(generator, &head, range)?,
            false => partial.cut(0)?,
        }
        if partial.length()? == 0 {
            partial.line(&head)?;
            partial.flush()?;
        }
        Ok(partial)
    }

    /// Reads the existing file: checks its origin and counts its complete rows.
    fn go_on(&mut self, generator: &Generator, head: &Value, range: &Range<u64>) -> Result<(), Failure> {
        let mut whole = 0;
        let mut line = String::new();
        let mut reader = self.reader()?;
        loop {
            line.clear();
            let length = reader.read_line(&mut line).map_err(Failure::read(&self.path))?;
            if !line.ends_with('\n') {
                break;
            }
            if whole == 0 {
                self.same(head, &line)?;
            } else {
                let wanted = range.start + self.rows;
                if row(generator, &line).is_none_or(|row| row.row != wanted) {
                    return Err(self.damaged());
                }
                self.rows += 1;
            }
            whole += length as u64;
        }
        self.cut(whole)
    }

    fn same(&self, head: &Value, line: &str) -> Result<(), Failure> {
        let found: Value = serde_json::from_str(line).map_err(|_| self.damaged())?;
        if found == *head {
            return Ok(());
        }
        let of = [
            ("taut-sweep", "by another version of taut"),
            ("generator", "from another generator file"),
            ("seed", "with another seed"),
            ("from", "for another part"),
            ("to", "for another part"),
        ];
        let other = of
            .iter()
            .find(|(key, _)| found.get(key) != head.get(key))
            .map_or("otherwise", |(_, other)| other);
        let path = self.path.display();
        Err(Failure::Usage(format!("{path} was made {other}; `--force` starts over without its rows")))
    }

    fn damaged(&self) -> Failure {
        let (path, line) = (self.path.display(), self.rows + 2);
        Failure::Usage(format!("{path}: line {line} is not a row of this sweep; `--force` starts over"))
    }

    fn length(&self) -> Result<u64, Failure> {
        Ok(self.file.get_ref().metadata().map_err(Failure::read(&self.path))?.len())
    }

    fn cut(&mut self, length: u64) -> Result<(), Failure> {
        if self.length()? == length {
            return Ok(());
        }
        self.file.get_ref().set_len(length).map_err(Failure::write(&self.path))
    }

    fn reader(&self) -> Result<BufReader<File>, Failure> {
        let mut file = File::open(&self.path).map_err(Failure::read(&self.path))?;
        file.seek(SeekFrom::Start(0)).map_err(Failure::read(&self.path))?;
        Ok(BufReader::new(file))
    }

    fn line(&mut self, value: &Value) -> Result<(), Failure> {
        writeln!(self.file, "{value}").map_err(Failure::write(&self.path))
    }

    /// Appends the next row.
    pub(super) fn add(&mut self, generator: &Generator, row: &Row) -> Result<(), Failure> {
        let cells = generator.cells(row).into_iter().map(value).collect();
        self.line(&Value::Array(cells))?;
        self.rows += 1;
        Ok(())
    }

    /// Writes buffered rows to the file.
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        self.file.flush().map_err(Failure::write(&self.path))
    }

    /// The number of rows.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// All rows, from the first; they must have been flushed.
    pub(super) fn read<'g>(
        &self,
        generator: &'g Generator,
    ) -> Result<impl Iterator<Item = Result<Row, Failure>> + use<'g>, Failure> {
        let path = self.path.clone();
        Ok(self.reader()?.lines().skip(1).map(move |line| {
            let line = line.map_err(Failure::read(&path))?;
            let why = || Failure::Usage(format!("another program changed {}", path.display()));
            row(generator, &line).ok_or_else(why)
        }))
    }

    /// Removes the file, once its rows are in the output file.
    pub(super) fn remove(self) -> Result<(), Failure> {
        std::fs::remove_file(&self.path).map_err(Failure::write(&self.path))
    }
}

/// A cell as JSON.
pub(super) fn value(cell: Cell<'_>) -> Value {
    match cell {
        Cell::Number(number) => number.into(),
        Cell::Truth(truth) => truth.into(),
        Cell::Text(text) => text.into(),
        Cell::Nothing => Value::Null,
    }
}

fn row(generator: &Generator, line: &str) -> Option<Row> {
    let Value::Array(values) = serde_json::from_str(line).ok()? else { return None };
    let cell = |value: &'_ Value| match value {
        Value::Number(number) => number.as_u64().map(Cell::Number),
        Value::Bool(truth) => Some(Cell::Truth(*truth)),
        Value::Null => Some(Cell::Nothing),
        _ => None,
    };
    let mut cells = Vec::with_capacity(values.len());
    for value in &values {
        cells.push(match value {
            Value::String(text) => Cell::Text(text),
            other => cell(other)?,
        });
    }
    generator.read(&cells)
}
