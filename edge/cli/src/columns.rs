// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Tables of names and numbers.

use taut_time::Duration;
use taut_time::shown;

/// A table with a head: the first column is a name, the others are numbers.
pub(crate) fn columns<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let width = |at: usize| {
        let cells = rows.iter().map(|row| row[at].chars().count());
        cells.fold(head[at].chars().count(), usize::max)
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let mut text = String::new();
    let mut line = |cells: [&str; N]| {
        for (at, (cell, width)) in cells.into_iter().zip(widths).enumerate() {
            text += &if at == 0 { format!("  {cell:<width$}") } else { format!("  {cell:>width$}") };
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    };
    line(head);
    rows.iter().for_each(|row| line(std::array::from_fn(|at| row[at].as_str())));
    text
}

/// A time in µs, as in reports; `-` for none.
pub(crate) fn micros(time: Option<Duration>) -> String {
    shown::micros(time.map(Duration::as_ns))
}

/// A rounded time for display; `-` for none.
pub(crate) fn rounded(time: Option<Duration>) -> String {
    time.map_or_else(|| "-".to_owned(), Duration::rounded)
}

/// A response as a share of its bound, given in thousandths, as a percentage; `-` without a bound.
pub(crate) fn share(permille: Option<u64>) -> String {
    permille.map_or_else(|| "-".to_owned(), |permille| format!("{}.{} %", permille / 10, permille % 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_wide_as_needed() {
        let row = |name: &str, time| [name.to_owned(), micros(time), share(Some(905))];
        let rows = [row("a", None), row("a-long-name", Some(Duration::from_ns(12_345_001)))];
        let expected =
            "  task           max   share\n  a                -  90.5 %\n  a-long-name  12346  90.5 %\n";
        assert_eq!(columns(["task", "max", "share"], &rows), expected);
    }
}
