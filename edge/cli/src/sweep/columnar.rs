// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Parquet: writes rows to a file and reads them back. The same rows give the same bytes.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::Field;
use parquet::schema::parser::parse_message_type;
use taut_sweep::{Cell, CellKind, Generator, Row};

use crate::outcome::Failure;
use crate::sweep::partial::Origin;

/// How many rows are buffered at a time.
const GROUP: usize = 1 << 16;
const DIGEST: &str = "taut-sweep.generator";
const SEED: &str = "taut-sweep.seed";
const VERSION: &str = "taut-sweep.version";

fn schema(generator: &Generator) -> String {
    let columns = generator.columns().into_iter().map(|column| {
        let need = if column.optional { "OPTIONAL" } else { "REQUIRED" };
        let kind = match column.kind {
            CellKind::Number => ["INT64", "(INTEGER(64,false))"],
            CellKind::Truth => ["BOOLEAN", ""],
            CellKind::Text => ["BYTE_ARRAY", "(STRING)"],
        };
        format!("{need} {} {} {};", kind[0], column.name, kind[1])
    });
    format!("message row {{ {} }}", columns.collect::<Vec<_>>().join(" "))
}

/// The origin of the rows, as metadata of a file.
fn marks(origin: &Origin) -> Vec<KeyValue> {
    let mark = |key: &str, value: &str| KeyValue::new(key.to_owned(), value.to_owned());
    vec![
        mark(VERSION, env!("CARGO_PKG_VERSION")),
        mark(DIGEST, &origin.digest),
        mark(SEED, &origin.seed.to_string()),
    ]
}

/// Whether this build reads and writes Parquet.
pub(super) fn check() -> Result<(), Failure> {
    Ok(())
}

/// Writes rows; on return, all of them have been passed to the system.
pub(super) fn write(
    file: File,
    path: &Path,
    generator: &Generator,
    origin: &Origin,
    mut rows: impl Iterator<Item = Result<Row, Failure>>,
) -> Result<File, Failure> {
    let failed = |error: ParquetError| {
        // The message of the file system itself.
        let error = match error {
            ParquetError::External(cause) => std::io::Error::other(cause.to_string()),
            other => std::io::Error::other(other),
        };
        Failure::Write(path.to_owned(), error)
    };
    let schema = parse_message_type(&schema(generator)).map_err(failed)?;
    let properties = WriterProperties::builder()
        .set_created_by(format!("taut {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(marks(origin)));
    let mut writer =
        SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties.build())).map_err(failed)?;
    loop {
        let group: Vec<Row> = rows.by_ref().take(GROUP).collect::<Result<_, _>>()?;
        if group.is_empty() {
            break;
        }
        write_group(&mut writer, generator, &group).map_err(failed)?;
    }
    writer.into_inner().map_err(failed)
}

fn write_group(
    writer: &mut SerializedFileWriter<File>,
    generator: &Generator,
    rows: &[Row],
) -> Result<(), ParquetError> {
    let cells: Vec<Vec<Cell<'_>>> = rows.iter().map(|row| generator.cells(row)).collect();
    let mut group = writer.next_row_group()?;
    for (at, column) in generator.columns().iter().enumerate() {
        let Some(mut writer) = group.next_column()? else { break };
        let cells = || cells.iter().map(|row| row[at]);
        // 1 where the row has a value, which is then in `values`.
        let there: Vec<i16> = cells().map(|cell| i16::from(cell != Cell::Nothing)).collect();
        let there = column.optional.then_some(&there[..]);
        match column.kind {
            CellKind::Number => {
                let number =
                    |cell| if let Cell::Number(number) = cell { Some(number.cast_signed()) } else { None };
                let values: Vec<i64> = cells().filter_map(number).collect();
                writer.typed::<Int64Type>().write_batch(&values, there, None)?;
            }
            CellKind::Truth => {
                let truth = |cell| if let Cell::Truth(truth) = cell { Some(truth) } else { None };
                let values: Vec<bool> = cells().filter_map(truth).collect();
                writer.typed::<BoolType>().write_batch(&values, there, None)?;
            }
            CellKind::Text => {
                let text =
                    |cell| if let Cell::Text(text) = cell { Some(ByteArray::from(text)) } else { None };
                let values: Vec<ByteArray> = cells().filter_map(text).collect();
                writer.typed::<ByteArrayType>().write_batch(&values, there, None)?;
            }
        }
        writer.close()?;
    }
    group.close()?;
    Ok(())
}

/// The rows of a file that [`write()`] wrote for the same origin.
pub(super) fn read<'g>(
    path: &Path,
    generator: &'g Generator,
    origin: &Origin,
) -> Result<impl Iterator<Item = Result<Row, Failure>> + use<'g>, Failure> {
    let path = path.to_owned();
    let unread = move |path: &Path, error: ParquetError| {
        Failure::Usage(format!("{} cannot be read as Parquet: {error}", path.display()))
    };
    let file = File::open(&path).map_err(Failure::read(&path))?;
    let reader = SerializedFileReader::new(file).map_err(|error| unread(&path, error))?;
    let found = reader.metadata().file_metadata().key_value_metadata();
    for (mark, what) in marks(origin).iter().zip(["version of taut", "generator file", "seed"]) {
        if !found.is_some_and(|found| found.contains(mark)) {
            return Err(Failure::Usage(format!("{} is not from this {what}", path.display())));
        }
    }
    Ok(reader.into_iter().map(move |row| {
        let row = row.map_err(|error| unread(&path, error))?;
        let cells = row.get_column_iter().map(|(_, field)| match field {
            Field::ULong(number) => Cell::Number(*number),
            Field::Bool(truth) => Cell::Truth(*truth),
            Field::Str(text) => Cell::Text(text),
            // No cell of ours has another type, so no row matches it.
            _ => Cell::Nothing,
        });
        let wrong = || Failure::Usage(format!("{} has rows that this sweep does not have", path.display()));
        generator.read(&cells.collect::<Vec<_>>()).ok_or_else(wrong)
    }))
}
