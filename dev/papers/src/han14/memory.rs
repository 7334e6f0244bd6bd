// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The memory of each mechanism if it had all objects: Figure 14.

use super::rows::{Row, Rows};
use super::schedulable::SCHEMES;
use crate::figure::{Axis, Body, Figure, Line, Marker, Panel, Stroke, Style, line};
use crate::page::{Values, table};

/// The size of a lock in the mechanisms.
const LOCK_BYTES: u64 = 4;
/// Systems are grouped by their number of objects; a group spans this many numbers.
const TOGETHER: u64 = 4;
/// The fewest systems of which a mean is shown.
const FEWEST: u64 = 5;
const WAYS: [(&str, Style); 3] = [
    ("MSRP, MPCP", line(1, Stroke::Solid, Marker::Square)),
    ("WF-DBP", line(0, Stroke::Solid, Marker::Dot)),
    ("WF-TCCP", line(2, Stroke::Solid, Marker::Triangle)),
];

/// Means of a scheme over systems with about as many objects; the bytes of locks, DBP and TCCP.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Mean {
    objects: f64,
    systems: u64,
    bytes: [f64; 3],
}

/// The bytes of locks, DBP and TCCP. `None` unless all deadlines are met without locks: only then can TCCP's buffers
/// be counted.
fn bytes(row: &Row<'_>) -> Option<[u64; 3]> {
    let locks = row.number("data_bytes")? + LOCK_BYTES * row.number("objects")?;
    Some([locks, row.number("dbp_bytes")?, row.number("tccp_bytes")?])
}

fn mean<'r>(rows: impl Iterator<Item = Row<'r>>) -> Option<Mean> {
    let mut mean = Mean::default();
    for (row, bytes) in rows.filter_map(|row| bytes(&row).map(|bytes| (row, bytes))) {
        mean.systems += 1;
        mean.objects += row.number("objects").unwrap_or(0) as f64;
        for (sum, bytes) in mean.bytes.iter_mut().zip(bytes) {
            *sum += bytes as f64;
        }
    }
    let count = mean.systems as f64;
    mean.objects /= count;
    mean.bytes = mean.bytes.map(|sum| sum / count);
    (mean.systems > 0).then_some(mean)
}

/// The means, by number of objects.
fn means(rows: &Rows, scheme: &str) -> Vec<Mean> {
    let of = |row: &Row<'_>| row.number("objects").unwrap_or(0).div_ceil(TOGETHER);
    let most = rows.iter().map(|row| of(&row)).max().unwrap_or(0);
    let group = |group| mean(rows.iter().filter(|row| row.text("scheme") == scheme && of(row) == group));
    (1..=most).filter_map(group).filter(|mean| mean.systems >= FEWEST).collect()
}

pub(super) fn figure(rows: &Rows, caption: Vec<String>) -> Figure {
    let panels = SCHEMES.map(|scheme| {
        let means = means(rows, scheme);
        let lines = WAYS.iter().enumerate().map(|(at, (_, style))| Line {
            style: *style,
            points: means.iter().map(|mean| (mean.objects, mean.bytes[at])).collect(),
        });
        Panel {
            title: format!("{scheme} communication"),
            x: Axis::linear("shared resources", 0.0, 40.0, 10.0),
            y: Axis::powers("bytes", 2, 5),
            body: Body::Lines(lines.collect()),
        }
    });
    Figure {
        title: "Memory of all shared resources under one mechanism (Fig. 14)".into(),
        caption,
        panels: panels.into(),
        columns: 3,
        legend: WAYS.iter().map(|(name, style)| ((*name).to_owned(), *style)).collect(),
    }
}

pub(super) fn csv(rows: &Rows) -> String {
    let mut text = String::from("scheme,objects,systems,lock_bytes,dbp_bytes,tccp_bytes\n");
    for scheme in SCHEMES {
        for Mean { objects, systems, bytes: [lock, dbp, tccp] } in means(rows, scheme) {
            text += &format!("{scheme},{objects:.1},{systems},{lock:.0},{dbp:.0},{tccp:.0}\n");
        }
    }
    text
}

pub(super) fn report(rows: &Rows, values: &mut Values) {
    let head = ["scheme", "systems", "resources", "MSRP, MPCP", "WF-DBP", "WF-TCCP", "TCCP below DBP in"];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    for scheme in SCHEMES {
        let of = || rows.iter().filter(|row| row.text("scheme") == scheme);
        let Some(mean) = mean(of()) else { continue };
        let less = of().filter_map(|row| bytes(&row)).filter(|[_, dbp, tccp]| tccp < dbp).count();
        let mut line = vec![scheme.to_owned(), mean.systems.to_string(), format!("{:.1}", mean.objects)];
        line.extend(mean.bytes.map(|bytes| format!("{bytes:.0}")));
        line.push(format!("{:.1} %", 100.0 * less as f64 / mean.systems as f64));
        lines.push(line);
    }
    values.set("fig14", table(&lines));
    values.set("fig14 drawn", rows.len());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_of_those_that_keep_their_deadlines() {
        let mut text = String::from("scheme,objects,data_bytes,dbp_bytes,tccp_bytes\n");
        // Six systems with 3 and 4 objects, one that misses a deadline, and one alone with its number.
        text += &"light,3,10,40,30\nlight,4,20,60,90\n".repeat(3);
        text += "light,4,99,,\nlight,5,1,2,3\n";
        let rows = Rows::parse(&text).expect("in order");
        assert_eq!(means(&rows, "light"), [Mean { objects: 3.5, systems: 6, bytes: [29.0, 50.0, 60.0] }]);
    }
}
