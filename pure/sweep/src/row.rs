// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::fmt;
use std::ops::Range;

use taut_planner::select::ProblemFault;

use crate::generator::Generator;
use crate::method::MethodResult;

/// The result for one system. The same file, seed and row give the same result, on any machine and in any order;
/// no value in it is a measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The number of the row, from 0.
    pub row: u64,
    /// Its point, as a position among the generator's points.
    pub point: usize,
    /// How many rows of the same point come before it.
    pub repetition: u64,
    /// Number of tasks on all cores.
    pub tasks: u64,
    /// Number of shared objects.
    pub objects: u64,
    /// Sum of the sizes of all objects' values, in bytes.
    pub data_bytes: u64,
    /// The results of the methods, in the generator's order.
    pub answers: Vec<MethodResult>,
}

/// Why there is no row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoRow {
    /// The sweep has fewer rows.
    NotThere {
        /// The row.
        row: u64,
        /// How many rows there are.
        rows: u64,
    },
    /// Every system drawn has fewer objects than required.
    FewObjects {
        /// The row.
        row: u64,
        /// How many objects are required.
        wanted: usize,
    },
    /// Times or bytes do not fit in 64 bits.
    Overflow {
        /// The row.
        row: u64,
    },
    /// No selection problem can be made of the system.
    Problem {
        /// The row.
        row: u64,
        /// The reason.
        why: ProblemFault,
    },
}

impl fmt::Display for NoRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotThere { row, rows } => write!(f, "row {row}: there are {rows}, counted from 0"),
            Self::FewObjects { row, wanted } => write!(
                f,
                "row {row}: none of {} systems has {wanted} objects; lower objects.count, or draw more tasks",
                crate::DRAWS_MAX
            ),
            Self::Overflow { row } => write!(f, "row {row}: times or bytes that do not fit in 64 bits"),
            Self::Problem { row, why } => write!(f, "row {row}: {why}"),
        }
    }
}

impl core::error::Error for NoRow {}

/// A column of a table of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name: lower-case letters, digits and `_`.
    pub name: String,
    /// The kind of its cells.
    pub kind: CellKind,
    /// Whether a cell of it may be empty.
    pub optional: bool,
    /// What it means, with its unit.
    pub about: &'static str,
}

/// The kind of a column's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
    /// Numbers from 0.
    Number,
    /// True or false.
    Truth,
    /// Text.
    Text,
}

/// A cell: the value of a row in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell<'g> {
    /// In a column of [`CellKind::Number`].
    Number(u64),
    /// In a column of [`CellKind::Truth`].
    Truth(bool),
    /// In a column of [`CellKind::Text`].
    Text(&'g str),
    /// Empty, in an optional column.
    Nothing,
}

impl Generator {
    /// Computes a row: draws its system and applies every method.
    ///
    /// # Errors
    /// [`NoRow`]; other rows are not affected.
    pub fn row(&self, row: u64) -> Result<Row, NoRow> {
        let system = self.system(row)?;
        let overflow = |_| NoRow::Overflow { row };
        let offered = self.offered();
        let mut problem = self.problem(row, &system)?;
        let mut answers = Vec::with_capacity(self.methods.len());
        for method in &self.methods {
            answers.push(method.ask(&system, &mut problem, &offered).map_err(overflow)?);
        }
        let bytes = system.objects.iter().try_fold(0u64, |sum, object| sum.checked_add(object.bytes));
        Ok(Row {
            row,
            point: self.point_of(row),
            repetition: row / self.points.len().max(1) as u64,
            tasks: system.set.tasks().len() as u64,
            objects: system.objects.len() as u64,
            data_bytes: bytes.ok_or(NoRow::Overflow { row })?,
            answers,
        })
    }

    /// The columns of this file's rows.
    pub fn columns(&self) -> Vec<Column> {
        let column = |name: &str, kind, about| Column { name: name.into(), kind, optional: false, about };
        let mut columns = vec![
            column("row", CellKind::Number, "which row, from 0"),
            column("scheme", CellKind::Text, "the scheme of sharing"),
            column(
                "utilisation_permille",
                CellKind::Number,
                "load of each core without mechanisms, in 1/1000",
            ),
            column("repetition", CellKind::Number, "rows of the same scheme and load before it"),
            column("tasks", CellKind::Number, "tasks of all cores"),
            column("objects", CellKind::Number, "shared objects"),
            column("data_bytes", CellKind::Number, "bytes of a value of each object, together"),
        ];
        for method in &self.methods {
            let mut of_method = |what: &str, kind, about| {
                let name = format!("{}_{what}", method.name());
                columns.push(Column { name, kind, optional: true, about });
            };
            of_method("schedulable", CellKind::Truth, "whether every deadline is kept; nothing if not asked");
            of_method("bytes", CellKind::Number, "bytes of all objects, if so");
            if method.proves() {
                of_method(
                    "proven",
                    CellKind::Truth,
                    "whether that is shown to be the least, or that there is none",
                );
                of_method("at_least", CellKind::Number, "bytes that no selection is below");
            }
        }
        columns
    }

    /// The row with these cells, as [`Generator::cells`] returned them; `None` if this generator has no such row.
    pub fn read(&self, cells: &[Cell<'_>]) -> Option<Row> {
        let [Cell::Number(row), Cell::Text(_), _, Cell::Number(repetition), rest @ ..] = cells else {
            return None;
        };
        let [Cell::Number(tasks), Cell::Number(objects), Cell::Number(data_bytes), rest @ ..] = rest else {
            return None;
        };
        let mut rest = rest;
        let mut answers = Vec::with_capacity(self.methods.len());
        for method in &self.methods {
            let (own, others) = rest.split_at_checked(if method.proves() { 4 } else { 2 })?;
            let mut answer = MethodResult::default();
            for (at, cell) in own.iter().enumerate() {
                match (at, cell) {
                    (_, Cell::Nothing) => {}
                    (0, Cell::Truth(truth)) => answer.schedulable = Some(*truth),
                    (1, Cell::Number(bytes)) => answer.bytes = Some(*bytes),
                    (2, Cell::Truth(truth)) => answer.proven = Some(*truth),
                    (3, Cell::Number(bytes)) => answer.at_least = Some(*bytes),
                    _ => return None,
                }
            }
            answers.push(answer);
            rest = others;
        }
        let row = Row {
            row: *row,
            point: self.point_of(*row),
            repetition: *repetition,
            tasks: *tasks,
            objects: *objects,
            data_bytes: *data_bytes,
            answers,
        };
        (row.row < self.rows() && self.cells(&row) == cells).then_some(row)
    }

    /// The cells of a row of this generator, in the order of [`Generator::columns`].
    pub fn cells(&self, row: &Row) -> Vec<Cell<'_>> {
        let point = self.points.get(row.point);
        let mut cells = vec![
            Cell::Number(row.row),
            Cell::Text(point.map_or("", |point| &point.scheme)),
            Cell::Number(point.map_or(0, |point| point.utilisation / 1_000)),
            Cell::Number(row.repetition),
            Cell::Number(row.tasks),
            Cell::Number(row.objects),
            Cell::Number(row.data_bytes),
        ];
        for (method, answer) in self.methods.iter().zip(&row.answers) {
            let truth = |truth: Option<bool>| truth.map_or(Cell::Nothing, Cell::Truth);
            let number = |number: Option<u64>| number.map_or(Cell::Nothing, Cell::Number);
            cells.extend([truth(answer.schedulable), number(answer.bytes)]);
            if method.proves() {
                cells.extend([truth(answer.proven), number(answer.at_least)]);
            }
        }
        cells
    }
}

/// A part of a sweep: a range of its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: u64,
    of: u64,
}

impl Shard {
    /// The whole sweep.
    pub const WHOLE: Self = Self { index: 0, of: 1 };

    /// Part `index` of `of` parts, counted from 0; `None` if there is no such part.
    pub fn new(index: u64, of: u64) -> Option<Self> {
        (index < of).then_some(Self { index, of })
    }

    /// The index of the part, from 0.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// The number of parts.
    pub fn of(&self) -> u64 {
        self.of
    }

    /// The rows of this part. The parts, one after the other, make up the sweep, and their numbers of rows differ by at
    /// most one. Successive rows belong to successive points, in turn, so a part with enough rows covers all points.
    pub fn rows(&self, generator: &Generator) -> Range<u64> {
        let rows = u128::from(generator.rows());
        // The quotient is at most `rows`, so it fits in 64 bits.
        let before = |parts: u64| (rows * u128::from(parts) / u128::from(self.of)) as u64;
        before(self.index)..before(self.index + 1)
    }
}
