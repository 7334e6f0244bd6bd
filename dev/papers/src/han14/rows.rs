// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::collections::BTreeMap;

/// Rows of a sweep, as `taut sweep` writes them to a `.csv`.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    columns: BTreeMap<String, usize>,
    cells: Vec<Vec<String>>,
}

/// One row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'r> {
    rows: &'r Rows,
    cells: &'r [String],
}

impl Rows {
    /// # Errors
    /// A line has another number of cells than the first line, which names them.
    pub(crate) fn parse(csv: &str) -> Result<Self, String> {
        let mut lines = csv.lines();
        // Names and schemes have neither commas nor quotes.
        let split = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
        let names = lines.next().map(split).unwrap_or_default();
        let cells: Vec<_> = lines.map(split).collect();
        if let Some(at) = cells.iter().position(|cells| cells.len() != names.len()) {
            return Err(format!("line {}: not as many cells as the head", at + 2));
        }
        Ok(Self { columns: names.into_iter().enumerate().map(|(at, name)| (name, at)).collect(), cells })
    }

    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        self.cells.iter().map(|cells| Row { rows: self, cells })
    }

    /// The depths of a method that has several: those that have a column.
    pub(crate) fn depths(&self, method: &str) -> Vec<usize> {
        let depth = |name: &String| {
            name.strip_prefix(method)?.strip_prefix('_')?.strip_suffix("_bytes")?.parse().ok()
        };
        let mut depths: Vec<usize> = self.columns.keys().filter_map(depth).collect();
        depths.sort_unstable();
        depths
    }
}

impl Row<'_> {
    /// The text in a column; empty if there is no such column.
    pub(crate) fn text(&self, column: &str) -> &str {
        self.rows.columns.get(column).map_or("", |at| &self.cells[*at])
    }

    pub(crate) fn number(&self, column: &str) -> Option<u64> {
        self.text(column).parse().ok()
    }

    pub(crate) fn truth(&self, column: &str) -> bool {
        self.text(column) == "true"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_found_by_name() {
        let text = "row,scheme,utilisation_permille,heuristic_10_bytes,heuristic_2_bytes,dbp_schedulable\n0,light,450,,7,true\n";
        let rows = Rows::parse(text).expect("in order");
        let row = rows.iter().next().expect("one");
        assert_eq!((row.text("scheme"), row.number("utilisation_permille")), ("light", Some(450)));
        assert_eq!(row.number("heuristic_10_bytes"), None);
        assert!(row.truth("dbp_schedulable") && !row.truth("nothing"));
        assert_eq!(rows.depths("heuristic"), [2, 10]);
        assert!(Rows::parse("a,b\n1\n").is_err());
    }
}
