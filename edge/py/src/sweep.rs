// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Sweeps: random systems from a generator file, and the results for each.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use arrow_array::builder::{BooleanBuilder, StringDictionaryBuilder, UInt64Builder};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use taut_manifest::{Diagnostic, SourceText, Span};
use taut_model::Severity;
use taut_sweep::{Cell, CellKind, NoRow, Row, Shard};

use crate::set::Set;
use crate::table::Table;
use crate::work::free;

/// Adds the type of this file to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Generator>()
}

/// How often a sweep checks for signals and reports its progress.
const LOOK_UP: Duration = Duration::from_millis(50);
/// How many rows per thread may wait for their turn to enter the columns.
const WAITING: usize = 64;

/// A generator file, read.
#[pyclass(name = "Generator", module = "taut._taut", frozen)]
#[derive(Debug)]
struct Generator(taut_sweep::Generator);

/// A growing column.
enum Column {
    Number(UInt64Builder),
    Truth(BooleanBuilder),
    Text(StringDictionaryBuilder<Int32Type>),
}

impl Column {
    fn of(kind: CellKind) -> Self {
        match kind {
            CellKind::Number => Self::Number(UInt64Builder::new()),
            CellKind::Truth => Self::Truth(BooleanBuilder::new()),
            CellKind::Text => Self::Text(StringDictionaryBuilder::new()),
        }
    }

    fn push(&mut self, cell: Cell<'_>) {
        match (self, cell) {
            (Self::Number(column), Cell::Number(number)) => column.append_value(number),
            (Self::Number(column), _) => column.append_null(),
            (Self::Truth(column), Cell::Truth(truth)) => column.append_value(truth),
            (Self::Truth(column), _) => column.append_null(),
            (Self::Text(column), Cell::Text(text)) => column.append_value(text),
            (Self::Text(column), _) => column.append_null(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Number(column) => Arc::new(column.finish()),
            Self::Truth(column) => Arc::new(column.finish()),
            Self::Text(column) => Arc::new(column.finish()),
        }
    }
}

fn data_type(kind: CellKind) -> DataType {
    match kind {
        CellKind::Number => DataType::UInt64,
        CellKind::Truth => DataType::Boolean,
        CellKind::Text => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
    }
}

/// Rows as columns.
struct Columns<'g> {
    generator: &'g taut_sweep::Generator,
    columns: Vec<Column>,
}

impl<'g> Columns<'g> {
    fn new(generator: &'g taut_sweep::Generator) -> Self {
        let columns = generator.columns().iter().map(|column| Column::of(column.kind)).collect();
        Self { generator, columns }
    }

    fn push(&mut self, row: &Row) {
        for (column, cell) in self.columns.iter_mut().zip(self.generator.cells(row)) {
            column.push(cell);
        }
    }

    fn batch(mut self) -> PyResult<Table> {
        let field =
            |column: &taut_sweep::Column| Field::new(&column.name, data_type(column.kind), column.optional);
        let schema = Schema::new(self.generator.columns().iter().map(field).collect::<Vec<_>>());
        let columns = self.columns.iter_mut().map(Column::finish).collect();
        let batch = RecordBatch::try_new(Arc::new(schema), columns);
        batch.map(Table::new).map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

/// Makes the rows of a range on several threads and puts them into `columns` in order. From time to time it calls
/// `ask` with the number of rows made; `ask` returns whether to continue.
fn make(
    generator: &taut_sweep::Generator,
    range: &Range<u64>,
    jobs: usize,
    columns: &mut Columns<'_>,
    ask: &mut dyn FnMut(u64) -> bool,
) -> Result<(), NoRow> {
    let next = AtomicU64::new(range.start);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(jobs * WAITING);
        for _ in 0..jobs {
            let (sender, next, stop) = (sender.clone(), &next, &stop);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let row = next.fetch_add(1, Ordering::Relaxed);
                    if row >= range.end || sender.send((row, generator.row(row))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        // Rows that arrived before their turn.
        let (mut early, mut expected, mut asked) = (BTreeMap::new(), range.start, Instant::now());
        let result = loop {
            match receiver.recv_timeout(LOOK_UP) {
                Ok((row, made)) => drop(early.insert(row, made)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break Ok(()),
            }
            while let Some(made) = early.remove(&expected) {
                match made {
                    Ok(row) => columns.push(&row),
                    Err(why) => {
                        stop.store(true, Ordering::Relaxed);
                        return Err(why);
                    }
                }
                expected += 1;
            }
            if asked.elapsed() >= LOOK_UP {
                asked = Instant::now();
                if !ask(expected - range.start) {
                    break Ok(());
                }
            }
        };
        stop.store(true, Ordering::Relaxed);
        // Without a receiver, no thread waits forever to send rows.
        drop(receiver);
        result
    })
}

#[pymethods]
impl Generator {
    /// Reads a text. Raises `ValueError` with the diagnostics as the command shows them, and as JSON.
    #[new]
    fn new(py: Python<'_>, name: String, text: String) -> PyResult<Self> {
        free(py, || taut_sweep::Generator::parse(&text))?.map(Self).map_err(|faults| {
            let diagnostic = |fault: taut_sweep::GeneratorFault| Diagnostic {
                code: fault.code,
                severity: Severity::Error,
                message: fault.message,
                primary: Span { file: 0, range: fault.range, text: fault.label },
                secondary: Vec::new(),
                notes: Vec::new(),
                help: fault.help,
            };
            let diagnostics: Vec<_> = faults.into_iter().map(diagnostic).collect();
            let source = SourceText { name, text };
            let text = taut_manifest::render(&diagnostics, &[&source], false, 100);
            PyValueError::new_err((text, taut_manifest::to_json(&diagnostics, &[&source]).to_string()))
        })
    }

    fn with_seed(&self, seed: u64) -> Self {
        Self(self.0.clone().with_seed(seed))
    }

    fn seed(&self) -> u64 {
        self.0.seed()
    }

    fn rows(&self) -> u64 {
        self.0.rows()
    }

    /// For each point, its scheme and its utilisation in parts per million.
    fn points(&self) -> Vec<(String, u64)> {
        self.0.points().iter().map(|point| (point.scheme.clone(), point.utilisation)).collect()
    }

    /// The columns of a table of rows, with what they mean.
    fn columns(&self) -> Vec<(String, String)> {
        self.0.columns().into_iter().map(|column| (column.name, column.about.to_owned())).collect()
    }

    fn methods(&self) -> Vec<String> {
        self.0.methods().iter().map(taut_sweep::Method::name).collect()
    }

    /// The rows of a part, counted from 0.
    fn shard(&self, index: u64, of: u64) -> PyResult<(u64, u64)> {
        let shard = Shard::new(index, of).ok_or_else(|| PyValueError::new_err("no such part"))?;
        let rows = shard.rows(&self.0);
        Ok((rows.start, rows.end))
    }

    /// The system of a row.
    fn set(&self, py: Python<'_>, row: u64) -> PyResult<Set> {
        let system = free(py, || self.0.system(row))?;
        system.map(|system| Set(system.set)).map_err(|why| PyValueError::new_err(why.to_string()))
    }

    /// The rows from `start` to before `end`. Calls `progress` with the number of rows made so far; the sweep stops,
    /// and returns these rows, if `progress` returns something false other than `None`.
    #[pyo3(signature = (start, end, jobs, progress))]
    fn run(
        &self,
        py: Python<'_>,
        start: u64,
        end: u64,
        jobs: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Table> {
        let range = start..end.min(self.0.rows());
        let mut columns = Columns::new(&self.0);
        let mut raised = None;
        let made = free(py, || {
            make(&self.0, &range, jobs.clamp(1, 1024), &mut columns, &mut |count| {
                let go_on = Python::attach(|py| {
                    py.check_signals()?;
                    let Some(progress) = &progress else { return Ok(true) };
                    let answer = progress.call1(py, (count,))?;
                    Ok(answer.is_none(py) || answer.is_truthy(py)?)
                });
                go_on.unwrap_or_else(|error| {
                    raised = Some(error);
                    false
                })
            })
        })?;
        if let Some(error) = raised {
            return Err(error);
        }
        made.map_err(|why| PyValueError::new_err(why.to_string()))?;
        columns.batch()
    }
}
