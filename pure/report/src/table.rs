// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Text tables that fit a width by leaving out the least important columns.

/// A column: its head, whether it is a number (aligned right), and its order of omission: 0 never, larger sooner.
pub(crate) struct Column {
    pub(crate) head: &'static str,
    pub(crate) number: bool,
    pub(crate) spare: u8,
}

pub(crate) const fn word(head: &'static str, spare: u8) -> Column {
    Column { head, number: false, spare }
}

pub(crate) const fn number(head: &'static str, spare: u8) -> Column {
    Column { head, number: true, spare }
}

/// A table; the last column takes the rest of the width.
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
    tail_head: &'static str,
    tail_least: usize,
}

const GAP: usize = 2;

impl Table {
    pub(crate) fn new(columns: Vec<Column>, tail_head: &'static str, tail_least: usize) -> Self {
        Self { columns, rows: Vec::new(), tail_head, tail_least }
    }

    /// A row with a cell per column; missing ones are empty.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The head and the rows, each as text and the width left for its tail.
    pub(crate) fn lines(&self, width: usize) -> (String, Vec<(String, usize)>) {
        let cell = |row: &Vec<String>, at: usize| row.get(at).map_or(0, |cell| cell.chars().count());
        let widths: Vec<usize> = self
            .columns
            .iter()
            .enumerate()
            .map(|(at, column)| {
                self.rows.iter().map(|row| cell(row, at)).fold(column.head.chars().count(), usize::max)
            })
            .collect();
        let mut kept: Vec<usize> = (0..self.columns.len()).collect();
        let total = |kept: &[usize]| kept.iter().map(|&at| widths[at] + GAP).sum::<usize>();
        while total(&kept) + self.tail_least > width {
            let sparest = kept.iter().copied().filter(|&at| self.columns[at].spare > 0);
            let Some(gone) = sparest.max_by_key(|&at| self.columns[at].spare) else { break };
            kept.retain(|&at| at != gone);
        }
        let left = width.saturating_sub(total(&kept));
        let line = |cells: &dyn Fn(usize) -> String| {
            let mut line = String::new();
            for &at in &kept {
                let (text, width) = (cells(at), widths[at]);
                let padded = if self.columns[at].number {
                    format!("{text:>width$}")
                } else {
                    format!("{text:<width$}")
                };
                line.push_str(&padded);
                line.push_str(&" ".repeat(GAP));
            }
            line
        };
        let head = line(&|at| self.columns[at].head.to_owned()) + self.tail_head;
        let rows = self.rows.iter().map(|row| (line(&|at| row.get(at).cloned().unwrap_or_default()), left));
        (head, rows.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sparest_column_goes_first() {
        let mut table = Table::new(vec![word("name", 0), number("p50", 2), number("max", 1)], "bar", 4);
        table.row(vec!["audio".to_owned(), "1".to_owned(), "12345".to_owned()]);
        let (head, rows) = table.lines(40);
        assert_eq!(head, "name   p50    max  bar");
        assert_eq!(rows, [("audio    1  12345  ".to_owned(), 21)]);
        assert_eq!(table.lines(20).0, "name     max  bar");
        assert_eq!(table.lines(12).0, "name   bar");
        assert_eq!(table.lines(3).0, "name   bar", "what may not go stays");
    }
}
