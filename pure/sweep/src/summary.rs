// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use crate::generator::Generator;
use crate::row::Row;

/// Sums over rows, by point and method. They are whole numbers, so that the order of rows does not matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Number of rows, by point.
    rows: Vec<u64>,
    /// By point and method.
    sums: Vec<Vec<Sums>>,
}

/// The sums of a method over the rows of a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Rows to which the method was applied.
    pub asked: u64,
    /// Rows in which the method's selection keeps every deadline.
    pub schedulable: u64,
    /// Bytes of those selections together.
    pub bytes: u128,
    /// Rows in which the method's result is proven to be optimal.
    pub proven: u64,
}

impl Summary {
    /// A summary of no rows.
    pub fn new(generator: &Generator) -> Self {
        let points = generator.points().len();
        Self { rows: vec![0; points], sums: vec![vec![Sums::default(); generator.methods().len()]; points] }
    }

    /// Adds a row of the same generator.
    pub fn add(&mut self, row: &Row) {
        let (Some(rows), Some(sums)) = (self.rows.get_mut(row.point), self.sums.get_mut(row.point)) else {
            return;
        };
        *rows += 1;
        for (sums, answer) in sums.iter_mut().zip(&row.answers) {
            sums.asked += u64::from(answer.schedulable.is_some());
            sums.schedulable += u64::from(answer.schedulable == Some(true));
            sums.bytes += u128::from(answer.bytes.unwrap_or(0));
            sums.proven += u64::from(answer.proven == Some(true));
        }
    }

    /// The number of rows of a point.
    pub fn rows(&self, point: usize) -> u64 {
        self.rows.get(point).copied().unwrap_or(0)
    }

    /// The sums of each method at a point.
    pub fn of(&self, point: usize) -> &[Sums] {
        self.sums.get(point).map_or(&[], Vec::as_slice)
    }
}

impl Sums {
    /// Share of rows in which the method's selection keeps every deadline, in thousandths of the rows to which the
    /// method was applied, rounded down; `None` if there are no such rows.
    pub fn schedulable_permille(&self) -> Option<u64> {
        let permille = u128::from(self.schedulable) * 1_000;
        permille.checked_div(u128::from(self.asked)).and_then(|permille| u64::try_from(permille).ok())
    }

    /// Share of rows in which the method's result is proven to be optimal, likewise in thousandths.
    pub fn proven_permille(&self) -> Option<u64> {
        let permille = u128::from(self.proven) * 1_000;
        permille.checked_div(u128::from(self.asked)).and_then(|permille| u64::try_from(permille).ok())
    }

    /// Mean bytes of the systems whose deadlines the method's selection keeps, rounded up; `None` if there is none.
    pub fn bytes_mean(&self) -> Option<u64> {
        match self.schedulable {
            0 => None,
            count => u64::try_from(self.bytes.div_ceil(u128::from(count))).ok(),
        }
    }
}
